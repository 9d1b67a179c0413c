"""Experiments on a cluster that others use as well: only what a run created is deleted, however it ends."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from backend.embedded.cluster import EmbeddedCluster
from backend.experiments.errors import UnreachableError
from backend.experiments.execute import run_arm
from backend.experiments.live import label_of
from backend.experiments.runner import recover
from backend.experiments.specification import Specification, parse
from backend.kube.client import Api, connect
from backend.kube.clock import ClusterClock
from backend.model import events as ev
from backend.model.objects import Node
from backend.store.store import Store

Json = dict[str, Any]
GIB = 2**30
SPEED = 100.0
PATIENCE_S = 60.0


@pytest.fixture
def machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddedCluster]:
    """A cluster that looks like anybody's, on which a pod of somebody else runs."""
    nodes = [Node(f"node-{number}", 16_000, 64 * GIB) for number in (1, 2)]
    with EmbeddedCluster(nodes, speed=SPEED) as cluster:
        cluster.start()
        monkeypatch.setenv("PODSHIFT_KUBECONFIG", str(cluster.kubeconfig(tmp_path / "kubeconfig")))
        monkeypatch.delenv("PODSHIFT_PROMETHEUS", raising=False)
        yield cluster


@pytest.fixture
def api(machines: EmbeddedCluster) -> Iterator[Api]:
    with closing(connect(kubeconfig=os.environ["PODSHIFT_KUBECONFIG"])) as api:
        api.post("/api/v1/namespaces/default/pods", foreign("somebody", node="node-1"))
        yield api


def foreign(name: str, *, node: str) -> Json:
    container = {"name": "main", "image": "nginx", "resources": {"requests": {"cpu": "2"}}}
    spec = {"nodeName": node, "containers": [container]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def specification(**changes: Any) -> Specification:
    return parse(
        {
            "name": "two-jobs",
            "target": "live",
            "cluster": {"nodes": {"count": 2, "cpu": "16", "memory": "64Gi"}},
            "workload": {
                "models": [{"name": "short", "iterations": 10, "core_s_per_iteration": 20, "cpu_request": "1"}],
                "jobs": 2,
                "submissions": {"at": [0, 10]},
            },
            "arms": [{"name": "default"}],
            **changes,
        }
    )


def slow() -> Json:
    """Jobs that do not end while a test looks."""
    changed = specification().to_mapping()
    changed["workload"]["models"] = [{"name": "slow", "iterations": 1000, "core_s_per_iteration": 800}]
    return changed


def names(api: Api) -> set[str]:
    return {pod["metadata"]["name"] for pod in api.get("/api/v1/pods")["items"]}


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.05)


def test_jobs_run_and_their_pods_are_deleted_at_the_end(api: Api) -> None:
    log: list[ev.Event] = []
    outcome = run_arm(specification(), "default", 1, log)
    assert (outcome.status, outcome.jobs_done) == ("finished", outcome.jobs)
    assert {event.job for event in log if isinstance(event, ev.JobFinished)} == {"short-1", "short-2"}
    assert names(api) == {"somebody"}


def test_what_others_use_counts(api: Api) -> None:
    log: list[ev.Event] = []
    run_arm(specification(), "default", 1, log)
    first = next(event for event in log if isinstance(event, ev.DecisionMade))
    assert first.node == "node-2", "node-1 has somebody else's pod"


def test_times_are_those_of_the_clusters_own_clock(machines: EmbeddedCluster, api: Api) -> None:
    log: list[ev.Event] = []
    run_arm(specification(), "default", 1, log)
    ended = next(event for event in log if isinstance(event, ev.PodFinished))
    started = next(e for e in log if isinstance(e, ev.PodStarted) and e.pod == ended.pod)
    # 200 core-seconds on at most 8 cores; the two jobs share nothing
    assert ended.time - started.time == pytest.approx(25, abs=5)


def test_a_stop_deletes_what_the_run_created_and_nothing_else(api: Api) -> None:
    log: list[ev.Event] = []
    outcome = run_arm(
        parse(slow()),
        "default",
        1,
        log,
        should_stop=lambda: any(isinstance(event, ev.PodStarted) for event in log),
    )
    assert outcome.status == "stopped"
    assert names(api) == {"somebody"}


def test_after_a_crash_the_pods_are_deleted_at_the_next_start(api: Api, tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text(parse(slow()).to_yaml())
    home = tmp_path / "home"
    command = [sys.executable, "-m", "backend.cli", "run", str(spec), "--home", str(home)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        wait_until(lambda: len(names(api)) > 1)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert len(names(api)) > 1
    store = Store(home)
    wait_until(lambda: bool(recover(store)))
    wait_until(lambda: names(api) == {"somebody"})
    assert [run.status for run in store.runs()[0]] == ["interrupted"]
    store.close()


def test_a_cluster_that_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PODSHIFT_KUBECONFIG", str(tmp_path / "none"))
    log: list[ev.Event] = []
    with pytest.raises(UnreachableError, match="no telling which cluster"):
        run_arm(specification(), "default", 1, log)
    assert log == []


def test_a_cluster_that_does_not_answer_is_said(machines: EmbeddedCluster) -> None:
    machines.server.stop()
    with pytest.raises(UnreachableError, match="cannot be used"):
        run_arm(specification(), "default", 1, [])


def test_a_label_holds_any_run() -> None:
    assert label_of("seven-jobs-1fo3.default.s1") == "seven-jobs-1fo3.default.s1"
    assert len(label_of("x" * 100)) == 32 != label_of("y" * 100)


def test_the_clock_follows_a_change_of_speed(machines: EmbeddedCluster, api: Api) -> None:
    clock = ClusterClock(api)
    clock.start()
    try:
        assert clock.embedded
        assert clock.speed() == SPEED
        machines.set_speed(5)
        wait_until(lambda: clock.speed() == 5)
        before = clock.now()
        assert before == pytest.approx(machines.world.now(), abs=5)
        assert clock.now() >= before
    finally:
        clock.stop()


def templated() -> Json:
    """One job, made from the template 'vgg'."""
    changed = specification().to_mapping()
    changed["workload"]["models"][0]["template"] = "vgg"
    return changed


def test_pods_are_made_from_their_template_and_go_where_it_says(
    api: Api, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PODSHIFT_TEMPLATES", str(tmp_path))
    pod = {"kind": "Pod", "metadata": {"annotations": {"podshift.io/run-seconds": "7"}, "labels": {"team": "a"}}}
    container = {"name": "main", "image": "vgg:1", "resources": {"requests": {"cpu": "500m"}}}
    pod["spec"] = {"nodeName": "node-1", "containers": [container]}
    (tmp_path / "vgg.yaml").write_text(json.dumps(pod))
    log: list[ev.Event] = []
    seen: list[Json] = []
    outcome = run_arm(
        parse(templated()),
        "default",
        1,
        log,
        should_stop=lambda: bool(seen.extend(api.get("/api/v1/pods", {"labelSelector": "team=a"})["items"])),
    )
    assert outcome.status == "finished"
    bound = {event.pod: event.node for event in log if isinstance(event, ev.PodBound)}
    assert (bound["short-1"], bound["short-2"]) == ("node-1", "node-1")
    submitted = {event.job.name: event.job.cpu_request_millis for event in log if isinstance(event, ev.JobSubmitted)}
    assert (submitted["short-1"], submitted["short-2"]) == (500, 500)
    assert {one["metadata"]["name"] for one in seen} == {"short-1", "short-2"}
    assert {one["spec"]["containers"][0]["image"] for one in seen} == {"vgg:1"}


def test_a_template_that_is_missing_is_said_before_anything_is_made(
    api: Api, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PODSHIFT_TEMPLATES", str(tmp_path))
    log: list[ev.Event] = []
    with pytest.raises(UnreachableError, match="There is no template 'vgg'"):
        run_arm(parse(templated()), "default", 1, log)
    assert log == []
    assert names(api) == {"somebody"}
