"""Tables of logs made by hand, exact to the cell."""

import json
from bisect import bisect_right
from typing import Any

import pytest

from backend.folds import tables as folds
from backend.folds.schemas import SCHEMAS
from backend.folds.tables import Fold, fold
from backend.model import events as ev
from backend.model.objects import Node
from tests.unit.folds.logs import GIB, created, finished, node, one_job, run, started, submitted, tables_of

MIGRATION: list[ev.Event] = [
    started(),
    node(0, "n1"),
    node(0, "n2"),
    submitted(5),
    created(5),
    *run(6, starts=10),
    ev.MigrationStarted(40, 1, "a", "a", "n1", "n2", "converged", "n2 is emptier"),
    ev.PodEvicted(43, "a", "n1", "migration 1 to n2", 8, 7, core_s=120, lost_core_s=15),
    created(43, "a-migrated", incarnation=1, node="n2", migration=1),
    *run(43, "a-migrated", "n2", starts=52),
    ev.MigrationFinished(52, 1, "a", "a-migrated", "n2", 12),
    *finished(100, "a-migrated", "a", "n2", core_s=200),
    ev.RunEnded(100),
]
"""A job that waits from 5 to 10, works to 40, moves until 52 and works to 100."""

ROLLBACK: list[ev.Event] = [
    started(),
    node(0, "n1"),
    node(0, "n2"),
    submitted(0),
    created(0),
    *run(0),
    ev.MigrationStarted(20, 1, "a", "a", "n1", "n2", "converged", "n2 is emptier"),
    ev.PodEvicted(22, "a", "n1", "migration 1 to n2", 8, 7, core_s=20, lost_core_s=2),
    created(22, "a-migrated", incarnation=1, node="n2", migration=1),
    ev.PodBound(22, "a-migrated", "n2"),
    ev.PodEvicted(30, "a-migrated", "n2", "node lost"),
    ev.MigrationRolledBack(30, 1, "a", "no pod could stay on n2: node lost"),
    created(30, "a-restarted", incarnation=2, node="n1"),
    *run(30, "a-restarted", "n1", starts=36),
    *finished(80, "a-restarted", "a", "n1", core_s=44),
]
"""A move that its target spoils: the job does not work from 20 to 36."""

NODE_LOSS: list[ev.Event] = [
    started(),
    node(0, "n1"),
    node(0, "n2"),
    submitted(0),
    created(0),
    *run(0),
    ev.NodeRemoved(30, "n1", "failed"),
    ev.PodEvicted(30, "a", "n1", "node lost", 9, 6, core_s=30, lost_core_s=10),
    created(30, "a-restarted", incarnation=1),
    *run(45, "a-restarted", "n2", starts=50),
    *finished(90, "a-restarted", "a", "n2", core_s=40),
]


def test_the_job_row_of_a_migration() -> None:
    assert tables_of(MIGRATION)["jobs"] == [
        {
            "job": "a",
            "workload": "lenet",
            "submitted_s": 5.0,
            "started_s": 10.0,
            "ended_s": 100.0,
            "outcome": "finished",
            "completion_s": 95.0,
            "waiting_s": 5.0,
            "downtime_s": 12.0,
            "migrations": 1,
            "pods": 2,
            "core_s": 320.0,
            "lost_core_s": 15.0,
            "first_node": "n1",
            "last_node": "n2",
            "reason": "",
        }
    ]


def test_the_segments_of_a_migration_are_the_pods_of_one_job() -> None:
    assert tables_of(MIGRATION)["segments"] == [
        {
            "job": "a",
            "pod": "a",
            "node": "n1",
            "incarnation": 0,
            "bound_s": 6.0,
            "started_s": 10.0,
            "end_s": 43.0,
            "end": "migrated",
            "migration": None,
        },
        {
            "job": "a",
            "pod": "a-migrated",
            "node": "n2",
            "incarnation": 1,
            "bound_s": 43.0,
            "started_s": 52.0,
            "end_s": 100.0,
            "end": "finished",
            "migration": 1,
        },
    ]


def test_the_migration_row_of_a_migration() -> None:
    assert tables_of(MIGRATION)["migrations"] == [
        {
            "migration": 1,
            "job": "a",
            "from_pod": "a",
            "to_pod": "a-migrated",
            "source": "n1",
            "target": "n2",
            "cause": "converged",
            "reason": "n2 is emptier",
            "started_s": 40.0,
            "ended_s": 52.0,
            "outcome": "finished",
            "downtime_s": 12.0,
            "lost_core_s": 15.0,
            "outcome_reason": "",
        }
    ]


@pytest.mark.parametrize(
    ("log", "downtime_s"),
    [
        pytest.param(one_job(submit=0, start=7, end=20), 0.0, id="waiting-is-none"),
        pytest.param(MIGRATION, 12.0, id="migration-from-its-start-on"),
        pytest.param(ROLLBACK, 16.0, id="rollback-until-the-job-works-again"),
        pytest.param(NODE_LOSS, 20.0, id="node-loss"),
        pytest.param(MIGRATION[:10], 0.0, id="not-over-yet"),
    ],
)
def test_downtime_is_what_lies_between_two_times_of_work(log: list[ev.Event], downtime_s: float) -> None:
    assert tables_of(log)["jobs"][0]["downtime_s"] == downtime_s


def test_two_moves_of_a_job_add_up() -> None:
    again: list[ev.Event] = [
        ev.MigrationStarted(60, 2, "a", "a-migrated", "n2", "n1", "converged", ""),
        ev.PodEvicted(60, "a-migrated", "n2", "migration 2 to n1", core_s=50, lost_core_s=5),
        created(60, "a-migrated-2", incarnation=2, node="n1", migration=2),
        *run(60, "a-migrated-2", "n1", starts=63),
        ev.MigrationFinished(63, 2, "a", "a-migrated-2", "n1", 3),
        *finished(100, "a-migrated-2", "a", "n1", core_s=30),
    ]
    (job,) = tables_of(MIGRATION[:-3], again)["jobs"]
    assert (job["migrations"], job["downtime_s"], job["pods"]) == (2, 15.0, 3)
    assert (job["core_s"], job["lost_core_s"]) == (200.0, 20.0)


def test_a_pod_that_finishes_while_it_is_to_be_moved_leaves_no_downtime() -> None:
    log: list[ev.Event] = [
        *MIGRATION[:8],
        *finished(41, core_s=100),
        ev.MigrationRolledBack(41, 1, "a", "a finished first"),
    ]
    tables = tables_of(log)
    assert tables["jobs"][0]["downtime_s"] == 0.0
    assert [row["end"] for row in tables["segments"]] == ["finished"]
    assert [(row["outcome"], row["outcome_reason"]) for row in tables["migrations"]] == [
        ("rolled-back", "a finished first")
    ]


def test_a_rolled_back_migration_has_neither_pod_nor_downtime() -> None:
    (row,) = tables_of(ROLLBACK)["migrations"]
    assert (row["outcome"], row["to_pod"], row["downtime_s"], row["ended_s"]) == ("rolled-back", None, None, 30.0)
    assert tables_of(ROLLBACK)["jobs"][0]["migrations"] == 0


def test_a_migration_that_is_not_over_is_under_way() -> None:
    (row,) = tables_of(MIGRATION[:10])["migrations"]
    assert (row["outcome"], row["ended_s"], row["lost_core_s"]) == ("under-way", None, 15.0)


@pytest.mark.parametrize(
    ("log", "ends"),
    [
        pytest.param(MIGRATION, ["migrated", "finished"], id="migration"),
        pytest.param(ROLLBACK, ["migrated", "node-lost", "finished"], id="rollback"),
        pytest.param(NODE_LOSS, ["node-lost", "finished"], id="node-loss"),
        pytest.param(MIGRATION[:7], ["open"], id="running"),
        pytest.param([*MIGRATION[:7], ev.PodFinished(9, "a", "n1", False, "oom")], ["failed"], id="failure"),
        pytest.param([*MIGRATION[:7], ev.PodEvicted(9, "a", "n1", "deleted by hand")], ["deleted"], id="deletion"),
        pytest.param([*MIGRATION[:5], ev.PodEvicted(9, "a", None, "no such node")], [], id="never-bound"),
        pytest.param(
            [
                *MIGRATION[:8],
                ev.MigrationRolledBack(50, 1, "a", "a did not stop in time"),
                ev.PodEvicted(60, "a", "n1", "migration 1 to n2", lost_core_s=3),
            ],
            ["deleted"],
            id="gone-after-its-migration-was-called-off",
        ),
    ],
)
def test_a_segment_says_what_ended_it(log: list[ev.Event], ends: list[str]) -> None:
    assert [row["end"] for row in tables_of(log)["segments"]] == ends


def test_lost_work_is_that_of_all_evictions() -> None:
    assert [tables_of(log)["jobs"][0]["lost_core_s"] for log in (MIGRATION, ROLLBACK, NODE_LOSS)] == [15.0, 2.0, 10.0]


def test_a_failed_job_has_a_reason_and_no_completion_time() -> None:
    (job,) = tables_of(submitted(1), ev.JobFailed(9, "a", "fits on no node"))["jobs"]
    assert (job["outcome"], job["reason"], job["ended_s"], job["completion_s"]) == (
        "failed",
        "fits on no node",
        9,
        None,
    )


def test_a_job_that_never_started_has_no_waiting_time() -> None:
    (job,) = tables_of(submitted(1), created(1))["jobs"]
    assert (job["outcome"], job["started_s"], job["waiting_s"], job["first_node"]) == ("unfinished", None, None, None)


def test_a_node_that_left_and_came_back_has_two_rows() -> None:
    rows = tables_of(node(0), ev.NodeRemoved(30, "n1", "failed"), node(50))["nodes"]
    assert [(row["node"], row["joined_s"], row["left_s"]) for row in rows] == [("n1", 0, 30), ("n1", 50, None)]


def test_a_node_that_changed_its_capacity_has_a_row_for_each() -> None:
    rows = tables_of(node(0), ev.NodeChanged(10, Node("n1", 8_000, 64 * GIB)))["nodes"]
    assert [(row["cpu_millis"], row["joined_s"], row["left_s"]) for row in rows] == [(16_000, 0, 10), (8_000, 10, None)]


def test_a_node_that_only_changed_its_readiness_has_one_row() -> None:
    assert len(tables_of(node(0), ev.NodeChanged(10, Node("n1", 16_000, 64 * GIB, ready=False)))["nodes"]) == 1


def test_usage_has_a_row_for_each_node_with_its_capacity_at_that_time() -> None:
    rows = tables_of(
        node(0, "n1"),
        node(0, "n2", 8_000),
        ev.UsageSampled(5, ("n1", "n2"), (1000.0, 2000.0), (1.0, 2.0)),
        ev.NodeChanged(6, Node("n2", 4_000, 64 * GIB)),
        ev.UsageSampled(10, ("n2",), (3000.0,), (3.0,)),
    )["usage"]
    assert [tuple(row.values()) for row in rows] == [
        (5.0, "n1", 1000.0, 1.0, 16_000),
        (5.0, "n2", 2000.0, 2.0, 8_000),
        (10.0, "n2", 3000.0, 3.0, 4_000),
    ]


def test_progress_has_a_row_for_each_pod_with_its_job_and_node() -> None:
    reported = ev.ProgressReported(8, ("a", "b"), (3.0, 4.0), (0.5, None), (1000.0, 0.0), (2.0, 0.0))
    rows = tables_of(submitted(0), created(0), run(0), submitted(1, "b"), created(1, "b", "b"), reported)["progress"]
    assert [tuple(row.values()) for row in rows] == [
        (8.0, "a", "a", "n1", 3.0, 0.5, 1000.0, 2.0),
        (8.0, "b", "b", None, 4.0, None, 0.0, 0.0),
    ]


def test_a_consideration_keeps_its_place_in_the_log_and_its_candidates() -> None:
    considered = ev.MigrationConsidered(
        9, 2, "a", "a", "n1", "n2", "no-better-node", "converged", "stays", 0.5, 1.0, {"n2": {"running": 3.0}}
    )
    (row,) = tables_of(started(), submitted(0), considered)["considerations"]
    assert json.loads(row.pop("candidates")) == {"n2": {"running": 3.0}}
    assert list(row.values()) == [
        2, 9.0, 2, "a", "a", "n1", "n2", "no-better-node", "converged", "stays", 0.5, 1.0,
    ]  # fmt: skip


def test_a_decision_keeps_its_scores_and_the_job_of_its_pod() -> None:
    scores = (ev.PluginScores("fit", 2.0, (1.0, 0.5), (30.0, 15.0)),)
    made = ev.DecisionMade(
        1,
        "a-migrated",
        "n1",
        "default",
        "n1 is emptiest",
        2,
        ("n1", "n2"),
        (2.0, 1.0),
        scores,
        {"taint": ("n3",)},
        {"taint": 4},
        False,
        ("img:1",),
    )
    (row,) = tables_of(submitted(0), created(0, "a-migrated"), made)["decisions"]
    assert json.loads(row.pop("detail")) == {
        "nodes": ["n1", "n2"],
        "totals": [2.0, 1.0],
        "scores": [{"plugin": "fit", "weight": 2.0, "normalised": [1.0, 0.5], "raw": [30.0, 15.0]}],
        "refused": {"taint": ["n3"]},
        "needed_images": ["img:1"],
    }
    assert list(row.values()) == [
        2, 1.0, "a-migrated", "a", "n1", "default", "n1 is emptiest", 2, False, '{"taint":4}',
    ]  # fmt: skip


def test_a_category_and_an_image_are_copied() -> None:
    tables = tables_of(
        ev.CategoryChanged(3, "a", "a", "n1", "progressing", "watching", 0.05, 0.2, 0.1, "slow"),
        ev.ImagePulled(4, "n1", "lenet:1", 500, 2.5),
    )
    assert [tuple(row.values()) for row in tables["categories"]] == [
        (0, 3.0, "a", "a", "n1", "progressing", "watching", 0.05, 0.2, 0.1, "slow")
    ]
    assert [tuple(row.values()) for row in tables["images"]] == [(4.0, "n1", "lenet:1", 500, 2.5)]


@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("log", [[], MIGRATION], ids=["empty-log", "migration"])
def test_every_table_has_its_schema(name: str, log: list[ev.Event]) -> None:
    assert fold(log)[name].schema.equals(SCHEMAS[name])


def test_only_the_tables_asked_for_are_made() -> None:
    assert list(Fold().tables(["usage", "jobs"])) == ["usage", "jobs"]


def test_a_table_that_there_is_not_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="jabs"):
        Fold().tables(["jabs"])


def test_a_fold_counts_its_events_and_knows_the_time() -> None:
    folded = Fold()
    for event in MIGRATION[:9]:
        folded.add(event)
    assert (folded.events, folded.time_s) == (9, 43.0)


def test_a_table_of_several_batches_is_the_table_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    log = [*MIGRATION[:7], *(ev.ProgressReported(t, ("a",), (t,), (None,), (0.0,), (1.0,)) for t in range(10, 40))]
    whole = fold(log)["progress"]
    monkeypatch.setattr(folds, "BATCH_ROWS", 7)
    assert fold(log)["progress"].equals(whole)


def strangers() -> list[Any]:
    """Events that speak of what the log never introduced, or say again what it said."""
    return [
        ev.NodeChanged(50, Node("no", 1, 1)),
        ev.NodeRemoved(50, "no", ""),
        node(50, "n1"),
        ev.UsageSampled(50, ("no",), (1.0,), (1.0,)),
        ev.JobFinished(50, "no"),
        ev.JobFailed(50, "no", ""),
        created(50, "no", "no"),
        created(50, "a-migrated", "a"),
        submitted(50, "a"),
        ev.PodBound(50, "no", "n1"),
        ev.PodStarted(50, "no", "n1"),
        ev.PodFinished(50, "no", "n1", core_s=5),
        ev.PodEvicted(50, "no", "n1", "node lost", core_s=5, lost_core_s=5),
        ev.PodEvicted(50, "a", "n1", "gone already", core_s=5, lost_core_s=5),
        ev.ProgressReported(50, ("no",), (1.0,), (1.0,), (1.0,), (1.0,)),
        ev.ProgressReported(50, (), (1.0,), (1.0,), (1.0,), (1.0,)),
        ev.MigrationStarted(50, 7, "a", "no", "n1", "n2", "", ""),
        ev.MigrationStarted(50, 7, "no", "a-migrated", "n1", "n2", "", ""),
        ev.MigrationStarted(50, 1, "a", "a-migrated", "n2", "n1", "", ""),
        ev.MigrationFinished(50, 7, "a", "a", "n1", 5.0),
        ev.MigrationFinished(52, 1, "a", "a-migrated", "n2", 99.0),
        ev.MigrationRolledBack(52, 1, "a", "too late"),
        ev.MigrationRolledBack(50, 7, "a", ""),
        ev.TimerFired(50, "no"),
        ev.RunStopped(50, ""),
    ]


@pytest.mark.parametrize("event", strangers(), ids=lambda event: type(event).__name__)
def test_an_event_for_what_is_not_there_changes_no_table(event: ev.Event) -> None:
    place = bisect_right(MIGRATION, event.time, key=lambda one: one.time)
    changed = [*MIGRATION[:place], event, *MIGRATION[place:]]
    assert {n: t.to_pylist() for n, t in fold(changed).items()} == {
        n: t.to_pylist() for n, t in fold(MIGRATION).items()
    }


def test_columns_of_unequal_length_give_the_rows_that_are_whole() -> None:
    torn = ev.ProgressReported(8, ("a", "no", "a"), (3.0, 4.0), (0.5,), (1.0, 1.0, 1.0), (2.0, 2.0))
    assert len(tables_of(submitted(0), created(0), run(0), torn)["progress"]) == 1


def test_a_job_ends_once() -> None:
    (job,) = tables_of(one_job(), ev.JobFailed(50, "a", "late"))["jobs"]
    assert (job["outcome"], job["ended_s"], job["reason"]) == ("finished", 10.0, "")
