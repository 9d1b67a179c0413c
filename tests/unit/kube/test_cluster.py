"""KubernetesCluster both ways: what the server says becomes events, actions become calls, faults lose and double
nothing."""

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from backend.control.loop import drive
from backend.kube.calls import Calls
from backend.kube.client import Api
from backend.kube.cluster import KubernetesCluster
from backend.kube.convert import job_of
from backend.kube.pods import Scope
from backend.kube.progress import Sample
from backend.kube.watch import Backoff
from backend.model import events as ev
from backend.model.actions import Action, Bind, CreatePod, DeletePod, Wake
from backend.model.objects import Pod
from backend.model.state import ClusterState
from tests.unit.kube.fake_server import FakeServer, node, pod

Script = Callable[[ev.Event], Iterable[Action]]


def cluster(api: Api, scope: Scope | None = None, **options: Any) -> KubernetesCluster:
    quick = Backoff(0.01, 0.05)
    calls = Calls(first_delay_s=0.01)
    return KubernetesCluster(api, scope, calls=calls, informing={"backoff": quick}, **options)


class Answers:
    """A controller as small as can be: creates what is submitted, binds what is not bound; `script` adds to it."""

    def __init__(self, binds_to: str | None = "node-1", script: Script = lambda event: ()) -> None:
        self.binds_to = binds_to
        self.script = script
        self.state = ClusterState()

    def handle(self, event: ev.Event) -> Iterator[Action]:
        self.state.apply(event)
        if isinstance(event, ev.JobSubmitted):
            yield CreatePod(Pod(event.job.name, event.job.name))
        if isinstance(event, ev.PodCreated) and event.pod.node is None and self.binds_to:
            yield Bind(event.pod.name, self.binds_to)
        yield from self.script(event)


def live(subject: KubernetesCluster, answers: Answers, until: Callable[[ev.Event], bool]) -> list[ev.Event]:
    """The log up to an event; the test fails if it does not come."""
    log: list[ev.Event] = []
    watchdog = threading.Timer(15, subject.stop)
    watchdog.start()
    ended = drive(subject, answers, log, should_stop=until)  # type: ignore[arg-type]
    watchdog.cancel()
    assert not ended, f"what the test waits for did not come after {[ev.kind(event) for event in log]}"
    return log


def story(log: Iterable[ev.Event], name: str) -> list[str]:
    """The kinds of what happened to a pod."""
    told = []
    for event in log:
        about = getattr(event, "pod", None)
        if name in (about, getattr(about, "name", None)):
            told.append(ev.kind(event))
    return told


def last(kind: type[ev.Event], name: str) -> Callable[[ev.Event], bool]:
    return lambda event: isinstance(event, kind) and getattr(event, "pod", None) == name


WHOLE = ["pod_created", "pod_bound", "pod_started", "pod_finished"]


def test_nodes_come_first_and_a_pod_lives_its_life(server: FakeServer, api: Api) -> None:
    server.put("nodes", node("node-1"))
    server.put("nodes", node("node-2"))
    server.put("pods", pod("a"))

    def script(event: ev.Event) -> Iterable[Action]:
        if isinstance(event, ev.PodBound):
            server.status("a", "Running")
        if isinstance(event, ev.PodStarted):
            server.status("a", "Succeeded")
        return ()

    log = live(cluster(api), Answers(script=script), last(ev.PodFinished, "a"))
    kinds = [ev.kind(event) for event in log]
    assert kinds == ["node_added", "node_added", "job_submitted", *WHOLE]
    assert [event.time for event in log] == sorted(event.time for event in log)
    assert server.get("a")["spec"]["nodeName"] == "node-1"  # type: ignore[index]
    assert server.count("POST .*/binding") == 1


def test_now_is_the_time_of_the_event_at_hand(server: FakeServer, api: Api) -> None:
    server.put("nodes", node("node-1"))
    subject = cluster(api)
    for event in subject.events():
        assert subject.now() == event.time
        break


def test_what_runs_already_counts_before_anybody_is_placed(server: FakeServer, api: Api) -> None:
    server.put("nodes", node("node-1"))
    server.put("pods", pod("a-waits"))
    server.put(
        "pods", pod("b-runs", nodeName="node-1", scheduler="default-scheduler") | {"status": {"phase": "Running"}}
    )
    server.put("pods", pod("c-ended", nodeName="node-1") | {"status": {"phase": "Succeeded"}})
    server.put("pods", pod("d-waits-for-others", scheduler="default-scheduler"))
    answers = Answers()
    log = live(cluster(api), answers, last(ev.PodBound, "a-waits"))
    assert story(log, "b-runs") == WHOLE[:3]
    names = [event.job.name for event in log if isinstance(event, ev.JobSubmitted)]
    assert names == ["b-runs", "a-waits"]
    assert answers.state.jobs["b-runs"].job.migratable is False
    assert answers.state.jobs["a-waits"].job.migratable is True
    row = answers.state.nodes.row_of["node-1"]
    assert int(answers.state.nodes.requested_cpu_millis[row]) == 1000


def test_a_pod_we_must_not_place_is_left_alone_until_it_may_be_placed(server: FakeServer, api: Api) -> None:
    server.put("nodes", node("node-1"))
    gated = server.put("pods", pod("a", schedulingGates=[{"name": "quota"}]))
    subject = cluster(api)

    def script(event: ev.Event) -> Iterable[Action]:
        if isinstance(event, ev.TimerFired):
            assert subject.health().not_placed == {"a": "its scheduling gates are closed: quota"}
            gated["spec"]["schedulingGates"] = []
            server.put("pods", gated)
        if isinstance(event, ev.NodeAdded):
            server.wait(lambda: server.count("GET /api/v1/pods") > 1)
            return (Wake(0.0, "look"),)
        return ()

    log = live(subject, Answers(script=script), last(ev.PodBound, "a"))
    assert [ev.kind(event) for event in log][:3] == ["node_added", "timer_fired", "job_submitted"]


def created_by_us(server: FakeServer) -> Script:
    """Runs what is bound; deletes `a` when it runs and creates its next pod on node-2 when it is gone."""

    def script(event: ev.Event) -> Iterator[Action]:
        if isinstance(event, ev.PodBound):
            server.status(event.pod, "Running")
        if isinstance(event, ev.PodStarted) and event.pod == "a":
            yield DeletePod("a", "migration 1 to node-2")
            yield DeletePod("a", "again")
            server.wait(lambda: (server.get("a") or {}).get("metadata", {}).get("deletionTimestamp"))
            server.remove("pods", "a", "default")
        if isinstance(event, ev.PodEvicted):
            yield CreatePod(Pod("a-migrated", "a", 1, "node-2", 1))

    return script


@pytest.fixture
def two_nodes(server: FakeServer) -> FakeServer:
    server.put("nodes", node("node-1"))
    server.put("nodes", node("node-2"))
    server.put("pods", pod("a"))
    return server


def test_a_migration_deletes_and_creates_once(two_nodes: FakeServer, api: Api) -> None:
    server = two_nodes
    log = live(cluster(api), Answers(script=created_by_us(server)), last(ev.PodStarted, "a-migrated"))
    assert story(log, "a") == [*WHOLE[:3], "pod_evicted"]
    assert story(log, "a-migrated") == WHOLE[:3]
    (evicted,) = [event for event in log if isinstance(event, ev.PodEvicted)]
    assert (evicted.node, evicted.reason) == ("node-1", "migration 1 to node-2")
    made = server.get("a-migrated")
    assert made is not None
    assert made["spec"]["nodeName"] == "node-2"
    assert made["metadata"]["labels"] == {
        "podshift.io/job": "a",
        "podshift.io/incarnation": "1",
        "podshift.io/migration": "1",
    }
    evictions = [body for body in server.bodies if "deleteOptions" in body]
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 30, "preconditions": {"uid": "uid-3"}}
    assert evictions[0]["deleteOptions"] == options


FAULTS = {
    "create is done, its answer is lost": ("POST .*/pods", 1, "lost"),
    "create meets a server's failure": ("POST .*/pods", 3, 500),
    "create meets too many requests": ("POST .*/pods", 2, 429),
    "bind is done, its answer is lost": ("POST .*/binding", 1, "lost"),
    "bind meets a server's failure": ("POST .*/binding", 3, 503),
    "evict is done, its answer is lost": ("POST .*/eviction", 1, "lost"),
    "evict is forbidden for a while": ("POST .*/eviction", 3, 429),
    "lists fail": ("GET /api/v1/(pods|nodes)", 6, 500),
    "lists give no JSON": ("GET /api/v1/(pods|nodes)", 2, (200, "<html>")),
    "errors without a body": (".*", 8, (502, "")),
}


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_faults_lose_and_double_nothing(two_nodes: FakeServer, api: Api, fault: str) -> None:
    two_nodes.fault(*FAULTS[fault])
    log = live(cluster(api), Answers(script=created_by_us(two_nodes)), last(ev.PodStarted, "a-migrated"))
    assert story(log, "a") == [*WHOLE[:3], "pod_evicted"]
    assert story(log, "a-migrated") == WHOLE[:3]
    assert set(two_nodes.objects["pods"]) == {"default/a-migrated"}


@pytest.mark.parametrize(
    "moment", [ev.PodCreated, ev.PodBound, ev.PodStarted, ev.PodEvicted], ids=lambda kind: kind.__name__
)
def test_the_server_is_away_for_a_while(two_nodes: FakeServer, api: Api, moment: type[ev.Event]) -> None:
    server, inner = two_nodes, created_by_us(two_nodes)
    server.put("pods", pod("bystander", nodeName="node-2", scheduler="other") | {"status": {"phase": "Running"}})
    subject = cluster(api)

    def script(event: ev.Event) -> Iterator[Action]:
        if type(event) is moment and (subject.uid("a") or moment is ev.PodEvicted):
            with server.outage():
                before = len(server.requests)
                server.remove("pods", "bystander", "default")
                server.wait(lambda: len(server.requests) > before + 3)
        yield from inner(event)

    ends = {"a-migrated", "bystander"}

    def until(event: ev.Event) -> bool:
        if isinstance(event, ev.PodStarted | ev.PodFinished):
            ends.discard(event.pod if event.pod != "bystander" or isinstance(event, ev.PodFinished) else "")
        return not ends

    log = live(subject, Answers(script=script), until)
    assert story(log, "a") == [*WHOLE[:3], "pod_evicted"]
    assert story(log, "a-migrated") == WHOLE[:3]
    assert story(log, "bystander") == WHOLE
    assert subject.health().pods.lists >= 2


def test_a_bind_that_the_server_refuses_is_an_event(server: FakeServer, api: Api) -> None:
    server.put("nodes", node("node-1"))
    server.put("pods", pod("a"))
    server.fault("POST .*/binding", 1, (409, {"reason": "Conflict", "message": "something else was quicker"}))

    def script(event: ev.Event) -> Iterable[Action]:
        return (Bind("a", "node-1"),) if isinstance(event, ev.BindFailed) else ()

    log = live(cluster(api), Answers(script=script), last(ev.PodBound, "a"))
    assert story(log, "a") == ["pod_created", "bind_failed", "pod_bound"]
    (failed,) = [event for event in log if isinstance(event, ev.BindFailed)]
    assert failed.reason == "409 Conflict: something else was quicker"


def test_a_pod_that_somebody_else_bound_first_is_where_they_put_it(server: FakeServer, api: Api) -> None:
    server.put("nodes", node("node-1"))
    server.put("nodes", node("node-2"))
    made = server.put("pods", pod("a"))
    answers = Answers(binds_to=None)

    def script(event: ev.Event) -> Iterable[Action]:
        if isinstance(event, ev.PodCreated):
            made["spec"]["nodeName"] = "node-2"
            server.put("pods", made)
            return (Bind("a", "node-1"),)
        return ()

    answers.script = script
    log = live(cluster(api), answers, last(ev.PodBound, "a"))
    assert [event.node for event in log if isinstance(event, ev.PodBound)] == ["node-2"]


UNBINDABLE = {"node is not there": ("node-9", "node node-9 is not there"), "pod is gone": ("node-1", "404 NotFound")}


@pytest.mark.parametrize("case", UNBINDABLE, ids=str)
def test_a_bind_that_cannot_be(server: FakeServer, api: Api, case: str) -> None:
    target, reason = UNBINDABLE[case]
    server.put("nodes", node("node-1"))
    server.put("pods", pod("a"))
    if case == "pod is gone":
        server.fault("POST .*/binding", 1, (404, {"reason": "NotFound", "message": "no such pod"}))
    log = live(cluster(api), Answers(target), last(ev.BindFailed, "a"))
    (failed,) = [event for event in log if isinstance(event, ev.BindFailed)]
    assert failed.node == target
    assert reason in failed.reason


def test_a_bind_that_finds_no_answer_has_failed_after_a_while(
    server: FakeServer, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backend.kube.cluster.BIND_PATIENCE_S", 0.05)
    server.put("nodes", node("node-1"))
    server.put("pods", pod("a"))
    server.fault("POST .*/binding", 1000, 503)
    log = live(cluster(api), Answers(), last(ev.BindFailed, "a"))
    assert story(log, "a") == ["pod_created", "bind_failed"]
    assert server.count("POST .*/binding") > 1


def test_a_delete_of_what_is_gone_is_done(two_nodes: FakeServer, api: Api) -> None:
    two_nodes.fault("POST .*/eviction", 1, (404, {"reason": "NotFound"}))
    log = live(cluster(api), Answers(script=created_by_us_without_eviction(two_nodes)), last(ev.PodEvicted, "a"))
    assert story(log, "a") == [*WHOLE[:3], "pod_evicted"]
    assert two_nodes.count("POST .*/eviction") == 1


def created_by_us_without_eviction(server: FakeServer) -> Script:
    def script(event: ev.Event) -> Iterator[Action]:
        if isinstance(event, ev.PodBound):
            server.status(event.pod, "Running")
        if isinstance(event, ev.PodStarted):
            yield DeletePod("a", "test")
            yield DeletePod("never was", "test")
            server.wait(lambda: server.count("POST .*/eviction"))
            server.remove("pods", "a", "default")

    return script


def test_a_budget_that_forbids_keeps_the_pod(two_nodes: FakeServer, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backend.kube.cluster.BUDGET_PATIENCE_S", 0.05)
    two_nodes.forbid_eviction = True
    subject = cluster(api)

    def script(event: ev.Event) -> Iterator[Action]:
        if isinstance(event, ev.PodBound):
            two_nodes.status("a", "Running")
        if isinstance(event, ev.PodStarted):
            yield DeletePod("a", "migration 1")
            two_nodes.wait(lambda: two_nodes.count("POST .*/eviction") >= 2)
            two_nodes.status("a", "Succeeded")

    log = live(subject, Answers(script=script), last(ev.PodFinished, "a"))
    assert story(log, "a") == WHOLE


def test_a_job_that_finishes_before_it_is_asked_to_stop_has_finished(two_nodes: FakeServer, api: Api) -> None:
    """Its containers ended at 00:00:00 or before; the server was asked at 00:00:00 + 30 s - 30 s."""
    ended = {"terminated": {"exitCode": 0, "finishedAt": "2029-12-31T23:59:58Z"}}

    def script(event: ev.Event) -> Iterator[Action]:
        if isinstance(event, ev.PodBound):
            two_nodes.status("a", "Running")
        if isinstance(event, ev.PodStarted):
            yield DeletePod("a", "migration 1")
            two_nodes.wait(lambda: two_nodes.count("POST .*/eviction"))
            two_nodes.status("a", "Succeeded", containerStatuses=[{"name": "main", "state": ended}])

    log = live(cluster(api), Answers(script=script), last(ev.PodFinished, "a"))
    assert story(log, "a") == WHOLE


def test_a_lost_node_takes_its_pods_with_it(two_nodes: FakeServer, api: Api) -> None:
    server = two_nodes
    server.put("pods", pod("other", nodeName="node-1", scheduler="other") | {"status": {"phase": "Running"}})

    def script(event: ev.Event) -> Iterator[Action]:
        if isinstance(event, ev.PodBound) and event.pod == "a":
            server.status("a", "Running")
        if isinstance(event, ev.PodStarted) and event.pod == "a":
            server.remove("nodes", "node-1")
        if isinstance(event, ev.PodEvicted):
            yield CreatePod(Pod("a-restarted", "a", 1, "node-2"))

    log = live(cluster(api), Answers(script=script), last(ev.PodBound, "a-restarted"))
    kinds = [(ev.kind(event), getattr(event, "pod", "")) for event in log]
    removed = kinds.index(("node_removed", ""))
    assert set(kinds[removed + 1 : removed + 3]) == {("pod_evicted", "a"), ("pod_finished", "other")}
    server.wait(lambda: server.get("a") is None)
    assert server.get("other") is not None


REFUSED_CREATES = {
    "name is taken": ("taken", None, "exists in default already"),
    "node is not there": ("a-2", "node-9", "node node-9 is not there"),
    "no name for a pod": ("A_2", None, "no pod can be called"),
}


@pytest.mark.parametrize("case", REFUSED_CREATES, ids=str)
def test_a_pod_that_cannot_be_created_is_evicted_from_no_node(two_nodes: FakeServer, api: Api, case: str) -> None:
    name, target, reason = REFUSED_CREATES[case]
    two_nodes.put("pods", pod("taken", scheduler="other"))

    def script(event: ev.Event) -> Iterator[Action]:
        if isinstance(event, ev.PodBound):
            two_nodes.remove("pods", "a", "default")
        if isinstance(event, ev.PodEvicted):
            yield CreatePod(Pod(name, "a", 1, target))

    log = live(cluster(api), Answers(script=script), last(ev.PodEvicted, name))
    assert story(log, name) == ["pod_created", "pod_evicted"]
    (evicted,) = [event for event in log if isinstance(event, ev.PodEvicted) and event.pod == name]
    assert evicted.node is None
    assert reason in evicted.reason
    assert two_nodes.get("taken")["spec"]["schedulerName"] == "other"  # type: ignore[index]


def test_a_pod_that_came_and_went_before_a_second_attempt_is_not_created_again(two_nodes: FakeServer, api: Api) -> None:
    """The answer to its creation is lost; it runs, finishes and is cleaned away before the call is made again."""
    server, inner = two_nodes, created_by_us(two_nodes)
    subject = cluster(api)
    server.fault("POST .*/pods", 1, "lost")
    asked = threading.Event()
    may = threading.Event()
    make = subject._calls.submit

    def submit(key: str, call: Any, *rest: Any) -> None:
        def late() -> Any:
            if key == "a-migrated" and asked.is_set():
                assert may.wait(10)
            asked.set() if key == "a-migrated" else None
            return call()

        make(key, late, *rest)

    subject._calls.submit = submit  # type: ignore[method-assign]

    def script(event: ev.Event) -> Iterator[Action]:
        yield from inner(event)
        if isinstance(event, ev.PodStarted) and event.pod == "a-migrated":
            server.status("a-migrated", "Succeeded")
        if isinstance(event, ev.PodFinished):
            server.remove("pods", "a-migrated", "default")
            yield Wake(subject.elapsed() + 0.05, "gone")
        if isinstance(event, ev.TimerFired):
            may.set()
            yield Wake(subject.elapsed() + 0.05, "later")

    log = live(
        subject, Answers(script=script), lambda event: isinstance(event, ev.TimerFired) and event.timer == "later"
    )
    assert story(log, "a-migrated") == WHOLE
    assert server.count("POST .*/pods") == 1


def test_a_job_never_runs_twice_at_a_time(two_nodes: FakeServer, api: Api) -> None:
    def script(event: ev.Event) -> Iterator[Action]:
        if isinstance(event, ev.PodBound):
            yield CreatePod(Pod("a-2", "a", 1, "node-2"))
            yield Wake(0.0, "then")

    log = live(cluster(api), Answers(script=script), lambda event: isinstance(event, ev.TimerFired))
    assert story(log, "a-2") == []
    assert two_nodes.count("POST .*/pods") == 0


def test_other_peoples_pods_are_never_deleted_and_never_made(two_nodes: FakeServer, api: Api) -> None:
    two_nodes.put("pods", pod("other", nodeName="node-1", scheduler="other") | {"status": {"phase": "Running"}})

    def script(event: ev.Event) -> Iterator[Action]:
        if isinstance(event, ev.PodStarted) and event.pod == "other":
            yield DeletePod("other", "test")
            yield CreatePod(Pod("other-migrated", "other", 1, "node-2"))
        if isinstance(event, ev.PodBound) and event.pod == "a":
            two_nodes.remove("pods", "other", "default")

    log = live(cluster(api), Answers(script=script), last(ev.PodFinished, "other"))
    assert story(log, "other") == WHOLE
    assert two_nodes.count("(DELETE|POST) .*other.*") == 0
    assert two_nodes.get("other-migrated") is None


def test_a_pod_that_finds_no_place_stays_and_gets_another_chance(server: FakeServer, api: Api) -> None:
    server.put("nodes", node("node-1"))
    server.put("pods", pod("a"))
    answers = Answers(binds_to=None)

    def script(event: ev.Event) -> Iterator[Action]:
        if isinstance(event, ev.PodCreated) and not answers.binds_to:
            yield DeletePod("a", "the job can never be placed", 0.0)
        if isinstance(event, ev.PodEvicted):
            answers.binds_to = "node-2"
            server.put("nodes", node("node-2"))

    answers.script = script
    log = live(cluster(api), answers, last(ev.PodBound, "a"))
    assert story(log, "a") == ["pod_created", "pod_evicted", "pod_created", "pod_bound"]
    assert server.count("DELETE .*") == 0


def test_jobs_submitted_by_us_are_created_from_their_manifest(server: FakeServer, api: Api) -> None:
    server.put("nodes", node("node-1"))
    manifest = pod("train-1")
    subject = cluster(api, Scope(run="run-7"))
    subject.submit(job_of(manifest), manifest)
    log = live(subject, Answers(), last(ev.PodBound, "train-1"))
    assert story(log, "train-1") == ["pod_created", "pod_bound"]
    labels = server.get("train-1")["metadata"]["labels"]  # type: ignore[index]
    assert labels == {"podshift.io/job": "train-1", "podshift.io/incarnation": "0", "podshift.io/run": "run-7"}


def test_timers_fire_by_the_clock_that_was_given(server: FakeServer, api: Api) -> None:
    server.put("nodes", node("node-1"))
    time = [100.0]
    subject = cluster(api, clock=lambda: time[0])

    def script(event: ev.Event) -> Iterable[Action]:
        if isinstance(event, ev.NodeAdded):
            return (Wake(60.0, "later"), Wake(30.0, "sooner"))
        if isinstance(event, ev.CatalogueDeclared | ev.TimerFired):
            pass
        return ()

    def forward() -> None:
        time[0] += 61.0
        subject.wake()

    threading.Timer(0.05, forward).start()
    log = live(
        subject, Answers(script=script), lambda event: isinstance(event, ev.TimerFired) and event.timer == "later"
    )
    assert [(event.timer, event.time) for event in log if isinstance(event, ev.TimerFired)] == [
        ("sooner", 61.0),
        ("later", 61.0),
    ]


def test_progress_comes_in_columns_and_is_told_when_a_pod_is_evicted(two_nodes: FakeServer, api: Api) -> None:
    inner = created_by_us(two_nodes)
    subject = cluster(api)

    def script(event: ev.Event) -> Iterator[Action]:
        if isinstance(event, ev.PodStarted) and event.pod == "a":
            subject.report([Sample("a", 12.0, 0.5, 900.0, 2.0, 10.0), Sample("unknown", 1.0)])
        if isinstance(event, ev.ProgressReported):
            yield from inner(ev.PodStarted(event.time, "a", "node-1"))
        elif not isinstance(event, ev.PodStarted):
            yield from inner(event)

    log = live(subject, Answers(script=script), last(ev.PodBound, "a-migrated"))
    (report,) = [event for event in log if isinstance(event, ev.ProgressReported)]
    assert (report.pods, report.iterations, report.values) == (("a",), (12.0,), (0.5,))
    (evicted,) = [event for event in log if isinstance(event, ev.PodEvicted)]
    assert (evicted.iteration, evicted.kept_iteration) == (12.0, 10.0)


def test_stop_ends_all_threads(server: FakeServer, api: Api) -> None:
    server.put("nodes", node("node-1"))
    before = {thread.name for thread in threading.enumerate()}
    subject = cluster(api)
    for _ in subject.events():
        server.wait(lambda: server.count("GET /api/v1/nodes") > 1)
        subject.stop()
    left = {t.name for t in threading.enumerate() if t.name.startswith(("watch", "calls"))}
    assert left <= before
