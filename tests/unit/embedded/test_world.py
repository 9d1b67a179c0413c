"""The machines of the embedded cluster: simulated time that follows the wall's clock."""

import math
import random
from typing import Any

import pytest

from backend.embedded.exporter import page
from backend.embedded.world import NodeUse, World
from backend.model import events as ev
from backend.model.objects import Node, Pod
from backend.simulation.cluster import Costs, Telemetry
from tests.unit.simulation import toy_cluster
from tests.unit.simulation.toy_cluster import model, node, submission


class Clock:
    """A wall clock that the test moves."""

    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        return self.time


def world(clock: Clock, speed: float = 10.0, nodes: int = 2, **options: Any) -> World:
    return World(
        [node(f"node-{k}") for k in range(1, nodes + 1)],
        seed=1,
        speed=speed,
        clock=clock,
        costs=options.pop("costs", Costs.zero()),
        telemetry=options.pop("telemetry", Telemetry(progress=0, usage=0)),
        **options,
    )


def pod(name: str, on: str = "node-1", job: str | None = None, incarnation: int = 0) -> Pod:
    return Pod(name, job or name, incarnation, on)


def kinds(events: list[ev.Event]) -> list[tuple[str, float]]:
    return [(ev.kind(event), event.time) for event in events]


def test_simulated_time_is_wall_clock_time_times_the_speed() -> None:
    clock = Clock()
    made = world(clock, speed=20.0)
    clock.time += 3.0
    assert made.now() == 60.0
    made.set_speed(2.0)
    clock.time += 5.0
    assert made.now() == 70.0


@pytest.mark.parametrize("speed", [0.0, 0.05, 1000.5, -1.0, math.nan, math.inf])
def test_a_speed_out_of_bounds_is_refused_and_changes_nothing(speed: float) -> None:
    made = world(Clock(), speed=10.0)
    with pytest.raises(ValueError, match=r"it must be from 0\.1 to 1000"):
        made.set_speed(speed)
    assert made.speed == 10.0


def test_a_pod_starts_and_ends_when_the_simulator_says() -> None:
    """40 core-seconds on 4 cores: 10 simulated seconds, 1 s on the wall."""
    clock = Clock()
    made = world(clock)
    assert kinds(made.turn()) == [("node_added", 0.0), ("node_added", 0.0)]
    made.start(submission(0.0, "j"), pod("j"))
    expected = ["pod_created", "pod_bound", "image_pulled", "pod_started"]
    assert kinds(made.turn()) == [(kind, 0.0) for kind in expected]
    assert made.next_in() == pytest.approx(1.0)
    clock.time += 0.9
    assert made.turn() == []
    clock.time += 0.1
    assert kinds(made.turn()) == [("pod_finished", 10.0)]
    assert made.next_in() == math.inf


def test_jobs_take_as_long_as_in_a_run_of_the_simulator() -> None:
    rng = random.Random(3)
    jobs = [submission(rng.uniform(0, 60), f"j{k}", model(core_s_per_iteration=rng.uniform(2, 9))) for k in range(12)]
    log = toy_cluster.run(jobs, nodes=[node("node-1")], costs=Costs())
    expected = {event.pod: event.time for event in log if isinstance(event, ev.PodFinished)}
    clock = Clock()
    made = world(clock, speed=40.0, nodes=1, costs=Costs())
    began = clock.time
    seen: list[ev.Event] = []
    for one in sorted(jobs, key=lambda one: one.time):
        clock.time = began + one.time / 40.0
        made.start(one, pod(one.job.name))
        seen += made.turn()
    while (wait := made.next_in()) < math.inf:
        clock.time += wait + 1e-9
        seen += made.turn()
    ended = {event.pod: event.time for event in seen if isinstance(event, ev.PodFinished)}
    assert ended == pytest.approx(expected, rel=1e-6)


def test_nothing_is_lost_when_somebody_looks_between_two_turns() -> None:
    clock = Clock()
    made = world(clock)
    made.start(submission(0.0, "j"), pod("j"))
    clock.time += 5.0
    made.use()
    made.start(submission(0.0, "k"), pod("k", on="node-2"))
    begins = ["pod_created", "pod_bound", "image_pulled", "pod_started"]
    expected = ["node_added", "node_added", *begins, "pod_finished", *begins]
    assert [ev.kind(event) for event in made.turn()] == expected


def test_a_job_goes_on_from_its_checkpoint_in_its_next_pod() -> None:
    clock = Clock()
    made = world(clock)
    made.start(submission(0.0, "j"), pod("j"))
    clock.time += 0.55
    made.stop("j", "moved", 30.0)
    made.start(submission(0.0, "j"), pod("j-migrated", on="node-2", job="j", incarnation=1))
    started = [event for event in made.turn() if isinstance(event, ev.PodStarted)]
    assert [(event.pod, event.iteration) for event in started] == [("j", 0.0), ("j-migrated", 5.0)]


def test_a_lost_node_takes_its_pods_along_and_comes_back_empty() -> None:
    clock = Clock()
    made = world(clock)
    made.start(submission(0.0, "j"), pod("j"))
    made.turn()
    clock.time += 0.2
    made.lose("node-1")
    made.lose("node-1")
    assert kinds(made.turn()) == [("node_removed", 2.0), ("pod_evicted", 2.0)]
    assert [use.node.name for use in made.use()] == ["node-2"]
    made.join(node("node-1"))
    with pytest.raises(ValueError, match="node 'node-1' is there already"):
        made.join(node("node-1"))
    assert [ev.kind(event) for event in made.turn()] == ["node_added"]


def test_a_pod_without_a_node_is_not_started() -> None:
    with pytest.raises(ValueError, match="pod 'j' has no node yet"):
        world(Clock()).start(submission(0.0, "j"), Pod("j", "j"))


def test_busy_time_is_counted_on_the_wall_through_changes_of_speed() -> None:
    """4 of 4 cores in use, for 10 simulated seconds: 0.5 s at speed 10, 1 s at speed 5, then idle."""
    clock = Clock()
    made = world(clock)
    made.use()
    made.start(submission(0.0, "j"), pod("j"))
    clock.time += 0.5
    made.set_speed(5.0)
    clock.time += 0.5
    assert [use.busy_core_s for use in made.use()] == pytest.approx([4.0, 0.0])
    clock.time += 2.0
    first, second = made.use()
    assert (first.busy_core_s, first.up_s, first.used_cores) == pytest.approx((6.0, 3.0, 0.0))
    assert second.busy_core_s == 0.0


USE = NodeUse(Node('n"1', 2000, 100, labels={"kubernetes.io/arch": "arm64"}), 3.0, 10.0, 1.5, 40)


def test_the_exporter_shows_what_node_exporter_would() -> None:
    lines = page([USE], named=False).splitlines()
    assert 'node_cpu_seconds_total{cpu="0",mode="user"} 1.500000' in lines
    assert 'node_cpu_seconds_total{cpu="1",mode="idle"} 8.500000' in lines
    assert "node_memory_MemAvailable_bytes 60" in lines
    assert 'node_uname_info{nodename="n\\"1",machine="arm64",sysname="Linux"} 1' in lines


def test_a_page_of_several_nodes_names_them() -> None:
    lines = page([USE, USE]).splitlines()
    assert lines.count('node_memory_MemTotal_bytes{node="n\\"1"} 100') == 2
    assert sum(line.startswith("# TYPE") for line in lines) == 5
