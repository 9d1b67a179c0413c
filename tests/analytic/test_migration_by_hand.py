"""A migration with all its costs, done on paper."""

import random

import pytest

from backend.control.controller import Controller
from backend.control.loop import drive
from backend.folds.tables import fold
from backend.migration.life import LifeParameters, MigrationLife
from backend.model import events as ev
from backend.model.actions import Wake
from backend.scheduling.profiles import DefaultScheduler
from backend.simulation.cluster import Costs, SimulatedCluster, Submission, Telemetry
from tests.unit.simulation.toy_cluster import model, node


class MoveOnce:
    """Moves job c from node-1 to node-2 at second 10."""

    Parameters = DefaultScheduler.Parameters

    def handle(self, event, state):  # type: ignore[no-untyped-def]
        if isinstance(event, ev.NodeAdded) and event.node.name == "node-1":
            return (Wake(10.0, "move"),)
        if isinstance(event, ev.TimerFired) and event.timer == "move":
            return (
                ev.MigrationConsidered(
                    event.time, 1, "c", "c", "node-1", "node-2", "migrate", "manual", "asked for", None, None, {}
                ),
            )
        return ()


def test_three_jobs_and_one_migration() -> None:
    """Two nodes of 4 cores; jobs a, b, c of 20 iterations x 4 core-seconds (80), all on node-1 from 0 on.

    Costs: stop 1 s, checkpoint 200 bytes at 100 bytes/s = 2 s, image 500 bytes at 100 bytes/s = 5 s,
    start 3 s, loading the checkpoint 2 s. The image is on node-1, so all three start at 3 s (start cost).

    3..10: each at 4/3 cores: 28/3 core-seconds done each, c has reached 28/3 / 4 = 7/3 iterations; 2 are kept, so
      (7/3 - 2) x 4 = 4/3 core-seconds are lost.
    10: c stops. Old pod gone at 10 + 1 + 2 = 13. New pod on node-2 at 13: pull 5, start 3, load 2 -> runs at 23.
      Downtime 23 - 10 = 13 s.
    10..: a and b at 2 cores each with 80 - 28/3 = 212/3 left: end at 10 + 106/3 = 136/3 (45.333).
    23..: c alone with 18 iterations x 4 = 72 at 4 cores: ends at 23 + 18 = 41.
    Without the move all three would have ended at 3 + 240/4 = 63.
    """
    kind = model(iterations=20, core_s_per_iteration=4.0, parallelism="4", image_size=500, checkpoint_size=200)
    cluster = SimulatedCluster(
        [node("node-1", 4, images=("toy:1",)), node("node-2", 4)],
        [Submission(0.0, kind.job(name), kind, 20) for name in "abc"],
        seed=1,
        telemetry=Telemetry(progress=0, usage=0),
        costs=Costs(image_bandwidth=100, checkpoint_bandwidth=100, container_start_s=3, stop_s=1),
    )
    controller = Controller(
        DefaultScheduler(DefaultScheduler.Parameters(), random.Random(1)),
        MoveOnce(),  # type: ignore[arg-type]
        MigrationLife(LifeParameters()),
        pinned=dict.fromkeys("abc", "node-1"),
    )
    log: list[ev.Event] = []
    drive(cluster, controller, log)  # type: ignore[arg-type]
    tables = fold(log)
    jobs = {row["job"]: row for row in tables["jobs"].to_pylist()}
    assert jobs["a"]["completion_s"] == pytest.approx(136 / 3)
    assert jobs["b"]["completion_s"] == pytest.approx(136 / 3)
    assert jobs["c"]["completion_s"] == pytest.approx(41.0)
    assert jobs["c"]["downtime_s"] == pytest.approx(13.0)
    assert jobs["c"]["lost_core_s"] == pytest.approx(4 / 3)
    (moved,) = tables["migrations"].to_pylist()
    assert (moved["started_s"], moved["ended_s"], moved["downtime_s"]) == pytest.approx((10.0, 23.0, 13.0))
    assert (moved["from_pod"], moved["to_pod"], moved["outcome"]) == ("c", "c-migrated", "finished")
    lanes = [(s["pod"], s["node"], s["end"]) for s in tables["segments"].to_pylist() if s["job"] == "c"]
    assert lanes == [("c", "node-1", "migrated"), ("c-migrated", "node-2", "finished")]
