from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.figures.lanes import PENDING, Swimlane, swimlane
from tests.unit.dashboard import sample


def arrange(**changed) -> Swimlane:
    given = {
        "segments": sample.SEGMENTS,
        "jobs": sample.JOBS,
        "migrations": sample.MIGRATIONS,
        "categories": sample.CATEGORIES,
        "nodes": sample.NODES,
        "end": 120.0,
    }
    return swimlane(**{**given, **changed})


def bars(swim: Swimlane, job: str) -> list[tuple[str, str, float, float]]:
    return [(bar.lane, bar.state, bar.start, bar.end) for bar in swim.bars if bar.job == job]


def test_a_migrated_job_is_one_job_on_two_nodes() -> None:
    assert bars(arrange(), "a") == [
        ("n1", "starting", 0.0, 2.0),
        ("n1", "progressing", 2.0, 40.0),
        ("n1", "watching", 40.0, 55.0),
        ("n1", "converged", 55.0, 60.0),
        ("n1", "transit", 60.0, 62.0),
        ("n2", "transit", 62.0, 70.0),
        ("n2", "progressing", 70.0, 120.0),
    ]


def test_a_migration_is_one_arrow_from_the_stop_of_work_to_its_start() -> None:
    (arrow,) = arrange().arrows
    assert (arrow.job, arrow.source, arrow.target, arrow.start, arrow.end) == ("a", "n1", "n2", 60.0, 70.0)


def test_a_job_that_waits_is_on_the_lane_on_top() -> None:
    swim = arrange()
    assert swim.lanes == [PENDING, "n1", "n2"]
    assert bars(swim, "c")[0] == (PENDING, "pending", 20.0, 35.0)


def test_a_segment_without_end_reaches_to_the_end_of_the_data_and_grows_with_it() -> None:
    ends = [[bar.end for bar in arrange(end=end).bars if bar.open] for end in (120.0, 150.0)]
    assert ends == [[120.0], [150.0]]


def test_without_a_classifying_policy_jobs_are_just_running() -> None:
    swim = arrange(categories=sample.empty(sample.CATEGORIES))
    assert {bar.state for bar in swim.bars} == {"pending", "starting", "running", "transit"}


def test_a_record_without_placements_has_no_bars_and_nobody_waits() -> None:
    swim = arrange(segments=sample.empty(sample.SEGMENTS), migrations=sample.empty(sample.MIGRATIONS))
    assert swim.bars == []


def test_a_job_that_never_got_a_node_waits_until_the_end() -> None:
    jobs = {name: [*column] for name, column in sample.JOBS.items()}
    for name, value in {"job": "d", "submitted_s": 50.0, "ended_s": None, "outcome": "unfinished"}.items():
        jobs[name].append(value)
    for name, column in jobs.items():
        if len(column) == 3:
            jobs[name].append(None)
    assert bars(arrange(jobs=jobs), "d") == [(PENDING, "pending", 50.0, 120.0)]


moments = st.tuples(st.floats(0, 100), st.floats(0.1, 50))


@given(st.lists(moments, min_size=1, max_size=25))
def test_bars_of_a_node_never_cover_each_other_and_need_no_more_rows_than_pods_at_once(spans) -> None:
    spans = [(start, start + length) for start, length in spans]
    names = [f"j{i}" for i in range(len(spans))]
    segments = {
        "job": names,
        "pod": names,
        "node": ["n"] * len(spans),
        "bound_s": [start for start, _ in spans],
        "started_s": [start for start, _ in spans],
        "end_s": [end for _, end in spans],
        "migration": [None] * len(spans),
        "incarnation": [0] * len(spans),
    }
    nothing = sample.empty
    swim = swimlane(
        segments=segments,
        jobs=nothing(sample.JOBS),
        migrations=nothing(sample.MIGRATIONS),
        categories=nothing(sample.CATEGORIES),
        nodes=["n"],
        end=200.0,
    )
    for one, other in combinations(swim.bars, 2):
        assert one.row != other.row or one.end <= other.start or other.end <= one.start
    at_once = max(sum(start <= moment < end for start, end in spans) for moment, _ in spans)
    assert swim.rows["n"] == at_once


@pytest.mark.parametrize("column", ["end_s", "started_s"])
def test_missing_times_are_no_fault(column: str) -> None:
    segments = {**sample.SEGMENTS, column: [None] * 4}
    assert arrange(segments=segments).bars
