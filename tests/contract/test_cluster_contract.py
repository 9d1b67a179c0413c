"""What every Cluster keeps to, run over every implementation. A new one is added to CLUSTERS."""

from collections.abc import Callable, Iterable

import pytest

from backend.control.loop import drive
from backend.model import events as ev
from backend.model.actions import Action, DeletePod
from backend.model.seam import Cluster
from backend.model.state import ClusterState
from backend.simulation.cluster import Costs, Fault, SimulatedCluster, Telemetry
from backend.simulation.replay import ReplayedCluster
from tests.unit.simulation.toy_cluster import OnNode, at, node, submission


class Recorder:
    """A controller that hands on to another one and remembers what it answered to what."""

    def __init__(self, inner: OnNode) -> None:
        self.inner = inner
        self.actions: list[Action] = []

    def handle(self, event: ev.Event) -> Iterable[Action]:
        for action in self.inner.handle(event):
            self.actions.append(action)
            yield action


def controller() -> Recorder:
    """Puts d on a node that is not there, and at 4 deletes b, twice, and a pod that never was."""
    deletions = at(4, DeletePod("b", "test"), DeletePod("b", "again"), DeletePod("x", "no such"))
    return Recorder(OnNode({"a": "node-1", "b": "node-1", "c": "node-2", "d": "node-9"}, deletions))


def simulated() -> SimulatedCluster:
    return SimulatedCluster(
        [node("node-1"), node("node-2")],
        [submission(0, "a"), submission(1, "b"), submission(2, "c"), submission(3, "d")],
        seed=1,
        telemetry=Telemetry(progress=2, usage=3),
        costs=Costs(image_bandwidth=1e9),
        faults=[Fault("node-2", 8)],
    )


def replayed() -> ReplayedCluster:
    log: list[ev.Event] = []
    drive(simulated(), controller(), log)  # type: ignore[arg-type]
    return ReplayedCluster(log)


CLUSTERS: dict[str, Callable[[], Cluster]] = {"simulated": simulated, "replayed": replayed}


@pytest.fixture(params=CLUSTERS, ids=str)
def log(request: pytest.FixtureRequest) -> list[ev.Event]:
    events: list[ev.Event] = []
    assert drive(CLUSTERS[request.param](), controller(), events)  # type: ignore[arg-type]
    return events


@pytest.fixture(params=CLUSTERS, ids=str)
def cluster(request: pytest.FixtureRequest) -> Cluster:
    return CLUSTERS[request.param]()


def test_time_never_goes_back(log: list[ev.Event]) -> None:
    assert len(log) > 20
    assert [event.time for event in log] == sorted(event.time for event in log)


def test_now_is_the_time_of_the_event_at_hand(cluster: Cluster) -> None:
    answers = controller()
    for event in cluster.events():
        assert cluster.now() == event.time
        for action in answers.handle(event):
            cluster.execute(action)


def test_nodes_come_before_anything_else(log: list[ev.Event]) -> None:
    assert [ev.kind(event) for event in log[:2]] == ["node_added", "node_added"]


def test_a_pod_is_created_bound_started_and_ended_in_this_order(log: list[ev.Event]) -> None:
    rank = {ev.PodCreated: 0, ev.PodBound: 1, ev.PodStarted: 2, ev.PodFinished: 3, ev.PodEvicted: 3}
    stories: dict[str, list[int]] = {}
    for event in log:
        if type(event) in rank:
            name = event.pod.name if isinstance(event, ev.PodCreated) else event.pod  # type: ignore[attr-defined]
            stories.setdefault(name, []).append(rank[type(event)])
    assert set(stories) == {"a", "b", "c", "d"}
    for story in stories.values():
        assert story == sorted(set(story))
        assert story[-1] == 3


def test_a_removed_node_says_so_before_its_pods(log: list[ev.Event]) -> None:
    (removed,) = [k for k, event in enumerate(log) if isinstance(event, ev.NodeRemoved)]
    lost = [k for k, event in enumerate(log) if isinstance(event, ev.PodEvicted) and event.node == "node-2"]
    assert lost == [removed + 1]


def test_a_bind_that_cannot_be_comes_back_as_an_eviction_from_no_node(log: list[ev.Event]) -> None:
    (evicted,) = [event for event in log if isinstance(event, ev.PodEvicted) and event.pod == "d"]
    assert evicted.node is None
    assert "node-9" in evicted.reason
    assert not any(isinstance(event, ev.PodBound) and event.pod == "d" for event in log)


def test_a_deleted_pod_is_evicted_once_and_what_never_was_is_not(log: list[ev.Event]) -> None:
    evicted = [(event.pod, event.reason) for event in log if isinstance(event, ev.PodEvicted)]
    assert [entry for entry in evicted if entry[0] in ("b", "x")] == [("b", "test")]


def test_core_seconds_add_up_to_work_done_and_work_lost(log: list[ev.Event]) -> None:
    """a finishes its 40 core-seconds; b and c leave what their checkpoints hold and what is lost, 4 an iteration."""
    for event in log:
        if isinstance(event, ev.PodFinished):
            assert event.core_s == pytest.approx(40.0)
        elif isinstance(event, ev.PodEvicted):
            assert event.core_s == pytest.approx(4.0 * event.kept_iteration + event.lost_core_s)


def test_timers_fire_when_and_as_often_as_they_were_asked_for(log: list[ev.Event]) -> None:
    """The script asks once for each of the two nodes."""
    assert [(event.time, event.timer) for event in log if isinstance(event, ev.TimerFired)] == [(4.0, "test")] * 2


def test_a_cluster_leaves_decisions_to_the_controller(cluster: Cluster) -> None:
    kinds = set()
    answers = controller()
    for event in cluster.events():
        kinds.add(type(event))
        for action in answers.handle(event):
            cluster.execute(action)
    assert kinds.isdisjoint({ev.DecisionMade, ev.JobFinished, ev.JobFailed, ev.MigrationStarted, ev.RunEnded})


def test_columns_are_of_one_length(log: list[ev.Event]) -> None:
    reports = [event for event in log if isinstance(event, ev.ProgressReported)]
    samples = [event for event in log if isinstance(event, ev.UsageSampled)]
    assert reports
    assert samples
    for report in reports:
        columns = (report.pods, report.iterations, report.values, report.cpu_millis, report.iteration_s)
        assert {len(column) for column in columns} == {len(report.pods)}
    for sample in samples:
        assert {len(sample.cpu_millis), len(sample.memory_bytes)} == {len(sample.nodes)}


def test_every_event_can_be_written_and_read(log: list[ev.Event]) -> None:
    assert list(ev.decode_lines(ev.encode_lines(log))) == log


def test_the_log_adds_up_to_a_state_without_active_pods(log: list[ev.Event]) -> None:
    state = ClusterState()
    for event in log:
        state.apply(event)
    assert state.pods == {}
    assert int(state.nodes.pods.sum()) == 0


def test_a_replay_asks_for_the_same_actions() -> None:
    """The same controller over the recorded events comes to the same actions, though none is carried out."""
    first = controller()
    log: list[ev.Event] = []
    drive(simulated(), first, log)  # type: ignore[arg-type]
    again = controller()
    replay = ReplayedCluster(log)
    drive(replay, again, [])  # type: ignore[arg-type]
    assert again.actions == first.actions == replay.ignored
