"""KubernetesCluster against the embedded API server: over TLS, with its token, and with the faults that it has."""

import random
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from backend.control.controller import Controller
from backend.control.loop import drive
from backend.embedded.apiserver import ApiServer
from backend.kube.client import ApiError, connect
from backend.kube.cluster import KubernetesCluster
from backend.kube.convert import job_of
from backend.kube.lease import Lease
from backend.kube.names import pods_path
from backend.kube.pod_logs import PodLogs
from backend.kube.pods import Scope
from backend.kube.progress import RunningPod
from backend.kube.records import Record, Recorder
from backend.migration.life import LifeParameters, MigrationLife
from backend.migration.policies import NoMigration
from backend.model import events as ev
from backend.model.actions import Action, Bind, CreatePod, DeletePod
from backend.model.objects import Pod
from backend.scheduling.profiles import DefaultScheduler
from tests.unit.kube.fake_server import node, pod
from tests.unit.kube.test_cluster import WHOLE, Answers, Script, cluster, last, live, story

Json = dict[str, Any]
PATIENCE_S = 10.0


class World:
    """The server with a kubelet that runs what is bound, and ends what is to end."""

    def __init__(self, folder: Path) -> None:
        self.server = ApiServer()
        self.server.start()
        self.api = connect(kubeconfig=self.server.kubeconfig(folder / "kubeconfig"), read_s=5)
        self.server.inside.kubelet_takes_over()
        self.finishes: set[str] = set()
        self._work: list[tuple[str, Json] | None] = []
        self._change = threading.Condition()
        self._unwatch = self.server.inside.watch("pods", self._told)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._unwatch()
        with self._change:
            self._work.insert(0, None)
            self._change.notify_all()
        self._thread.join(PATIENCE_S)
        self.api.close()
        self.server.stop()

    def node(self, name: str) -> None:
        item = node(name)
        self.server.inside.create("nodes", "", {"apiVersion": "v1", "kind": "Node", **item})
        self.server.inside.update_status("nodes", "", name, item["status"])

    def pod(self, name: str, **spec: Any) -> None:
        self.api.post(pods_path("default"), {"apiVersion": "v1", "kind": "Pod", **pod(name, **spec)})

    def finish(self, name: str) -> None:
        item = self.server.inside.get("pods", "default", name)
        assert item is not None
        self._report(item, "Succeeded", {"terminated": {"exitCode": 0, "finishedAt": "2020-01-01T00:00:00Z"}})

    def _told(self, kind: str, item: Json) -> None:
        with self._change:
            self._work.append((kind, item))
            self._change.notify_all()

    def _run(self) -> None:
        while True:
            with self._change:
                self._change.wait_for(lambda: self._work)
                entry = self._work.pop(0)
            if entry is None:
                return
            kind, item = entry
            about = item["metadata"]
            if kind == "DELETED" or not item["spec"].get("nodeName"):
                continue
            if about.get("deletionTimestamp"):
                self.server.inside.delete("pods", about["namespace"], about["name"], grace_s=0, uid=about["uid"])
            elif (item.get("status") or {}).get("phase", "Pending") == "Pending":
                self._report(item, "Running", {"running": {}})

    def _report(self, item: Json, phase: str, state: Json) -> None:
        about = item["metadata"]
        status = {**item.get("status", {}), "phase": phase, "containerStatuses": [{"name": "main", "state": state}]}
        self.server.inside.update_status("pods", about["namespace"], about["name"], status, about["uid"])


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    world.node("node-1")
    world.node("node-2")
    yield world
    world.close()


def migrating(world: World, at_start: Script = lambda event: ()) -> Script:
    """Deletes `a` when it runs, creates `a-migrated` on node-2 when it is gone, and finishes that."""

    def script(event: ev.Event) -> Iterator[Action]:
        if isinstance(event, ev.PodStarted) and event.pod == "a":
            yield from at_start(event)
            yield DeletePod("a", "migration 1 to node-2", 5.0)
        if isinstance(event, ev.PodStarted) and event.pod == "a-migrated":
            world.finish("a-migrated")
        if isinstance(event, ev.PodEvicted):
            yield CreatePod(Pod("a-migrated", "a", 1, "node-2", 1))

    return script


def whole_story(world: World, subject: KubernetesCluster, script: Script) -> None:
    log = live(subject, Answers(script=script), last(ev.PodFinished, "a-migrated"))
    assert story(log, "a") == [*WHOLE[:3], "pod_evicted"]
    assert story(log, "a-migrated") == WHOLE
    (found,) = world.server.inside.items("pods", "default")
    assert found["metadata"]["name"] == "a-migrated"
    assert found["spec"]["nodeName"] == "node-2"


def test_a_pod_is_bound_run_deleted_created_and_finished(world: World) -> None:
    world.pod("a")
    whole_story(world, cluster(world.api), migrating(world))


FAULTS = {
    "410": lambda faults: faults.expire(),
    "watches are cut": lambda faults: faults.cut_watches(),
    "history is forgotten and watches are cut": lambda faults: (faults.expire(), faults.cut_watches()),
    "away": lambda faults: faults.pause(0.3),
    "forty errors": lambda faults: faults.fail(0.7, 40),
    "twenty answers are lost": lambda faults: faults.fail(0.5, 20, lost=True),
    "slow": lambda faults: faults.slow(0.02),
}


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_faults_in_the_middle_lose_and_double_nothing(world: World, fault: str) -> None:
    world.pod("a")

    def strike(event: ev.Event) -> Iterable[Action]:
        FAULTS[fault](world.server.faults)
        return ()

    whole_story(world, cluster(world.api), migrating(world, strike))


def test_nodes_come_change_and_go(world: World) -> None:
    inside = world.server.inside

    def script(event: ev.Event) -> Iterable[Action]:
        if isinstance(event, ev.NodeAdded) and event.node.name == "node-2":
            spec = {"unschedulable": True, "taints": [{"key": "k", "effect": "NoSchedule"}]}
            inside.mutate("nodes", "", "node-2", lambda item: {**item, "spec": spec})
        if isinstance(event, ev.NodeChanged):
            inside.delete("nodes", "", "node-2")
        return ()

    log = live(cluster(world.api), Answers(script=script), lambda event: isinstance(event, ev.NodeRemoved))
    (changed,) = [event.node for event in log if isinstance(event, ev.NodeChanged)]
    assert (changed.unschedulable, changed.taints[0].key, changed.cpu_millis) == (True, "k", 4000)


def test_a_pod_that_is_bound_already_refuses_another_node(world: World) -> None:
    world.pod("a")
    subject = cluster(world.api)

    def script(event: ev.Event) -> Iterable[Action]:
        if isinstance(event, ev.PodCreated):
            world.server.inside.bind("default", "a", "node-2")
            return (Bind("a", "node-1"),)
        return ()

    log = live(subject, Answers(None, script), last(ev.PodStarted, "a"))
    assert [event.node for event in log if isinstance(event, ev.PodBound)] == ["node-2"]


def test_two_started_at_once_bind_each_pod_once(world: World) -> None:
    """Without a lease even: what one has bound the other is told."""
    for n in range(20):
        world.pod(f"p{n}")
    logs: list[list[ev.Event]] = []

    def run(target: str) -> None:
        left = {f"p{n}" for n in range(20)}

        def until(event: ev.Event) -> bool:
            if isinstance(event, ev.PodStarted):
                left.discard(event.pod)
            return not left

        logs.append(live(cluster(world.api), Answers(target), until))

    threads = [threading.Thread(target=run, args=(target,)) for target in ("node-1", "node-2")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    bound = [{e.pod: e.node for e in log if isinstance(e, ev.PodBound)} for log in logs]
    assert len(bound) == 2
    assert bound[0] == bound[1]
    assert len(bound[0]) == 20


def test_under_the_real_controller(world: World) -> None:
    """It spreads what waits over the nodes, beside what another scheduler has put there, and ends the jobs."""
    world.pod("other", scheduler="default-scheduler", nodeName="node-1")
    for n in range(6):
        world.pod(f"p{n}")
    nothing = NoMigration(NoMigration.Parameters())
    scheduler = DefaultScheduler(DefaultScheduler.Parameters(), random.Random(0))
    controller = Controller(scheduler, nothing, MigrationLife(LifeParameters()), pinned_by="somebody else")
    subject, log = cluster(world.api), list[ev.Event]()

    def until(event: ev.Event) -> bool:
        if isinstance(event, ev.PodStarted) and event.pod != "other":
            world.finish(event.pod)
        jobs = controller.state.jobs.values()
        return len(jobs) == 7 and all(job.ended_at is not None for job in jobs if job.job.name != "other")

    watchdog = threading.Timer(15, subject.stop)
    watchdog.start()
    assert not drive(subject, controller, log, should_stop=until)
    watchdog.cancel()
    bound = [event.node for event in log if isinstance(event, ev.PodBound) and event.pod != "other"]
    assert len(bound) == 6
    assert min(bound.count("node-1"), bound.count("node-2")) >= 2
    assert sum(isinstance(event, ev.JobFinished) for event in log) == 6
    assert not any(isinstance(event, ev.PodEvicted | ev.JobFailed | ev.BindFailed) for event in log)


def test_a_run_deletes_only_what_is_its_own(world: World) -> None:
    world.pod("a")
    manifest = pod("train-1")
    subject = cluster(world.api, Scope(run="run-7"))
    subject.submit(job_of(manifest), manifest)
    log = live(subject, Answers(), last(ev.PodStarted, "train-1"))
    assert story(log, "train-1") == WHOLE[:3]
    mine = world.api.get(pods_path("default"), {"labelSelector": "podshift.io/run=run-7"})
    assert [item["metadata"]["name"] for item in mine["items"]] == ["train-1"]


def test_records_and_lease_and_logs(world: World) -> None:
    world.pod("a")
    recorder = Recorder(world.api)
    body = recorder.body(Record("a", "Scheduled", "to node-1"), "", 1_767_225_600.0)
    assert world.api.post("/api/v1/namespaces/default/events", body)["reason"] == "Scheduled"
    one, two = (Lease(world.api, "podshift", name) for name in ("one", "two"))
    assert [one.attempt(), two.attempt(), one.attempt()] == [True, False, True]
    one.release()
    assert two.attempt()
    world.server.inside.bind("default", "a", "node-1")
    lines = ["loading", "podshift progress step=3 loss=0.5"]
    world.server.inside.serve_logs(lambda namespace, name, container, tail, follow: iter(lines))
    logs = PodLogs(world.api)
    assert [(s.pod, s.iteration, s.value) for s in logs.poll({"a": RunningPod("a")}, 0.0)] == [("a", 3, 0.5)], (
        logs.errors
    )
    logs.close()


def test_a_wrong_token_is_an_error_that_says_so(world: World, tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(path.read_text().replace(str(world.server.token), "wrong"))
    with pytest.raises(ApiError, match="401 Unauthorized"):
        connect(kubeconfig=path).get("/api/v1/nodes")


def test_a_person_asks_for_a_job_to_be_moved_by_an_annotation(world: World) -> None:
    def script(event: ev.Event) -> Iterable[Action]:
        if isinstance(event, ev.PodStarted):
            note = {"metadata": {"annotations": {"podshift.io/migrate-to": "node-2"}}}
            world.api.patch("/api/v1/namespaces/default/pods/a", note)
        return ()

    world.pod("a")
    log = live(cluster(world.api), Answers(script=script), lambda event: isinstance(event, ev.MigrationAsked))
    asked = [(event.job, event.target) for event in log if isinstance(event, ev.MigrationAsked)]
    assert asked == [("a", "node-2")]
