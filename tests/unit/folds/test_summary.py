"""The numbers of a run, computed by hand."""

import math
from typing import Any

import pytest

from backend.folds.schemas import SCHEMAS
from backend.folds.summary import summarise
from backend.folds.tables import fold
from backend.model import events as ev
from tests.unit.folds.logs import created, node, one_job, run, submitted
from tests.unit.folds.test_tables import MIGRATION, NODE_LOSS, ROLLBACK


def summary_of(*parts: ev.Event | list[ev.Event]) -> dict[str, Any]:
    flat = [one for part in parts for one in (part if isinstance(part, list) else [part])]
    return summarise(fold(sorted(flat, key=lambda one: one.time)))


FOUR = [
    node(0),
    one_job("a", submit=10, start=10, end=20, core_s=10),  # 10 s, 1 core
    one_job("b", submit=10, start=15, end=30, core_s=40),  # 20 s, 2 cores
    one_job("c", submit=20, start=30, end=50, core_s=30),  # 30 s, 1 core
    one_job("d", submit=30, start=50, end=130, core_s=400),  # 100 s, 4 cores
]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("jobs", 4),
        ("finished", 4),
        ("failed", 0),
        ("unfinished", 0),
        ("first_submitted_s", 10.0),
        ("last_ended_s", 130.0),
        ("makespan_s", 120.0),
        ("mean_completion_s", 40.0),
        ("median_completion_s", 25.0),
        ("p95_completion_s", 30 + 0.85 * 70),  # at place 0.95 * 3 = 2.85
        ("max_completion_s", 100.0),
        ("sum_completion_s", 160.0),
        ("mean_waiting_s", (0 + 5 + 10 + 20) / 4),
        ("core_s", 480.0),
        ("cpu_share_mean", 480 / (16 * 120)),
        ("fairness_jain", (1 + 2 + 1 + 4) ** 2 / (4 * (1 + 4 + 1 + 16))),
        ("lost_core_s", 0.0),
        ("downtime_s", 0.0),
    ],
)
def test_the_numbers_of_four_jobs(name: str, value: float) -> None:
    assert summary_of(*FOUR)[name] == pytest.approx(value)


def test_equal_speeds_are_fair() -> None:
    jobs = [one_job(name, end=end, core_s=2 * end) for name, end in (("a", 10), ("b", 70), ("c", 33))]
    assert summary_of(*jobs)["fairness_jain"] == pytest.approx(1.0)


def test_speed_counts_useful_work_only() -> None:
    """a: (320 - 15) / 95, b: 95 / 95."""
    speeds = 305 / 95, 1.0
    summary = summary_of(MIGRATION, one_job("b", submit=5, start=5, end=100, core_s=95))
    assert summary["fairness_jain"] == pytest.approx(sum(speeds) ** 2 / (2 * sum(x * x for x in speeds)))


def test_the_makespan_ends_with_the_last_finish_not_with_a_failure() -> None:
    summary = summary_of(one_job(end=10), submitted(2, "b"), ev.JobFailed(500, "b", "fits nowhere"))
    assert (summary["makespan_s"], summary["last_ended_s"]) == (10.0, 500.0)
    assert (summary["finished"], summary["failed"]) == (1, 1)


def test_the_makespan_begins_with_the_first_submission_of_any_job() -> None:
    assert summary_of(submitted(1, "b"), one_job(submit=5, start=5, end=10))["makespan_s"] == 9.0


@pytest.mark.parametrize(
    ("log", "migrations", "rolled_back", "downtime_s", "lost_core_s"),
    [
        pytest.param(MIGRATION, 1, 0, 12.0, 15.0, id="migration"),
        pytest.param(ROLLBACK, 0, 1, 16.0, 2.0, id="rollback"),
        pytest.param(NODE_LOSS, 0, 0, 20.0, 10.0, id="node-loss"),
    ],
)
def test_moves_are_counted_with_what_they_cost(
    log: list[ev.Event], migrations: int, rolled_back: int, downtime_s: float, lost_core_s: float
) -> None:
    summary = summary_of(log)
    assert (summary["migrations"], summary["rolled_back"]) == (migrations, rolled_back)
    assert (summary["downtime_s"], summary["lost_core_s"]) == (downtime_s, lost_core_s)


def test_nodes_offer_what_they_have_while_they_are_there() -> None:
    """16 cores over the job's 100 s, 8 cores from 60 to 80; n3 came too late."""
    summary = summary_of(
        node(0, "n1"),
        node(60, "n2", 8_000),
        ev.NodeRemoved(80, "n2", ""),
        one_job(submit=0, start=0, end=100, core_s=880),
        node(200, "n3"),
    )
    assert summary["cpu_share_mean"] == pytest.approx(880 / (1600 + 160))


def test_a_run_without_jobs_has_no_numbers_to_compute() -> None:
    summary = summary_of(node(0))
    assert summary["jobs"] == 0
    assert {name for name, value in summary.items() if value is None} == {
        "first_submitted_s",
        "last_ended_s",
        "makespan_s",
        "mean_completion_s",
        "median_completion_s",
        "p95_completion_s",
        "max_completion_s",
        "sum_completion_s",
        "mean_waiting_s",
        "cpu_share_mean",
        "core_s",
        "lost_core_s",
        "fairness_jain",
    }


def test_a_run_in_which_nothing_finished_has_no_makespan() -> None:
    summary = summary_of(submitted(0), created(0), run(0))
    assert (summary["unfinished"], summary["makespan_s"], summary["mean_completion_s"]) == (1, None, None)


def test_the_jobs_alone_are_enough() -> None:
    summary = summarise({"jobs": fold(MIGRATION)["jobs"]})
    assert (summary["mean_completion_s"], summary["migrations"], summary["cpu_share_mean"]) == (95.0, 0, None)


def test_empty_tables_are_enough() -> None:
    assert summarise({name: schema.empty_table() for name, schema in SCHEMAS.items()})["jobs"] == 0


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_numbers_too_large_to_be_added_are_none() -> None:
    jobs = [one_job(name, end=1.5e308, core_s=1.5e308) for name in ("a", "b")]
    summary = summary_of(node(0), *jobs)
    assert (summary["core_s"], summary["sum_completion_s"]) == (None, None)
    assert all(math.isfinite(value) for value in summary.values() if value is not None)
