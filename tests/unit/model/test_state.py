"""ClusterState: what events add up to. That a rebuilt state equals the kept one is in tests/properties."""

import pytest

from backend.model import events as ev
from backend.model.objects import Job, Node, Pod
from backend.model.state import ClusterState
from tests.unit.model.test_events import SAMPLES

JOB = Job("a", "toy", cpu_request_millis=2000, memory_bytes=2**30)
PLACED: list[ev.Event] = [
    ev.NodeAdded(0.0, Node("node-1", 4000, 2**32)),
    ev.NodeAdded(0.0, Node("node-2", 4000, 2**32)),
    ev.JobSubmitted(1.0, JOB),
    ev.PodCreated(1.0, Pod("a", "a")),
    ev.DecisionMade(1.0, "a", "node-1", "default", "why"),
]
RUNNING = [*PLACED, ev.PodBound(1.0, "a", "node-1"), ev.PodStarted(2.0, "a", "node-1")]


def state_of(*events: ev.Event) -> ClusterState:
    state = ClusterState()
    for event in events:
        state.apply(event)
    return state


def requested(state: ClusterState) -> list[int]:
    return state.nodes.requested_cpu_millis.tolist()


def test_a_decision_reserves_the_node() -> None:
    state = state_of(*PLACED)
    assert (state.pods["a"].phase, requested(state)) == ("reserved", [2000, 0])


def test_binding_a_reserved_pod_counts_it_once() -> None:
    state = state_of(*PLACED, ev.PodBound(1.0, "a", "node-1"))
    assert (state.pods["a"].phase, requested(state)) == ("bound", [2000, 0])


def test_a_bind_elsewhere_moves_the_reservation() -> None:
    assert requested(state_of(*PLACED, ev.PodBound(1.0, "a", "node-2"))) == [0, 2000]


@pytest.mark.parametrize(
    "end",
    [ev.PodFinished(9.0, "a", "node-1"), ev.PodEvicted(9.0, "a", "node-1", "deleted", 5.5, 5.0)],
    ids=["finished", "evicted"],
)
def test_an_ended_pod_gives_back_what_it_held(end: ev.Event) -> None:
    state = state_of(*RUNNING, end)
    assert (requested(state), state.pods, state.jobs["a"].pod) == ([0, 0], {}, None)


def test_an_eviction_keeps_the_checkpoint_of_the_job() -> None:
    state = state_of(*RUNNING, ev.PodEvicted(9.0, "a", "node-1", "deleted", 5.5, 5.0))
    assert (state.jobs["a"].kept_iteration, state.jobs["a"].phase) == (5.0, "pending")


def test_a_removed_node_is_gone_and_its_pods_leave_one_by_one() -> None:
    state = state_of(*RUNNING, ev.NodeRemoved(5.0, "node-1", "failed"))
    assert (state.nodes.present.tolist(), requested(state)) == ([False, True], [2000, 0])
    state.apply(ev.PodEvicted(5.0, "a", "node-1", "node lost"))
    assert requested(state) == [0, 0]


def test_progress_is_kept_with_the_pod() -> None:
    record = state_of(*RUNNING, ev.ProgressReported(9.0, ("a",), (3.0,), (0.5,), (2000.0,), (2.0,))).pods["a"]
    assert (record.iteration, record.value, record.cpu_millis, record.iteration_s) == (3.0, 0.5, 2000.0, 2.0)


def test_a_migration_counts_when_it_reaches_its_target() -> None:
    moved = [
        *RUNNING,
        ev.MigrationStarted(10.0, 1, "a", "a", "node-1", "node-2", "converged", "why"),
        ev.PodEvicted(11.0, "a", "node-1", "migration 1"),
        ev.PodCreated(11.0, Pod("a-migrated", "a", 1, "node-2", 1)),
        ev.PodBound(11.0, "a-migrated", "node-2"),
        ev.PodStarted(12.0, "a-migrated", "node-2"),
        ev.MigrationFinished(12.0, 1, "a", "a-migrated", "node-2", 2.0),
    ]
    during, after = state_of(*moved[:8]), state_of(*moved)
    assert (during.jobs["a"].phase, list(during.migrations)) == ("migrating", [1])
    job = after.jobs["a"]
    assert (job.phase, job.migrations, job.migrated_at, after.migrations) == ("running", 1, 12.0, {})


@pytest.mark.parametrize(
    "event", [e for e in SAMPLES if not isinstance(e, ev.NodeAdded | ev.JobSubmitted)], ids=ev.kind
)
def test_events_of_what_is_not_known_change_nothing(event: ev.Event) -> None:
    before = state_of().as_dict() | {"time": event.time}
    assert state_of(event).as_dict() == before
