"""The story of a pod, told once and in order whatever the server says in which order."""

from itertools import count, permutations
from typing import Any

import msgspec
import pytest

from backend.kube.convert import SeenPod, pod_of
from backend.kube.kept import ManifestFolder
from backend.kube.pods import PodBook, Scope
from backend.model import events as ev
from backend.model.objects import Job, Node, Pod
from backend.model.state import ClusterState
from tests.unit.kube.fake_server import pod


def book(scope: Scope | None = None, kept: Any = None) -> PodBook:
    times = count(1)
    return PodBook(scope or Scope(), lambda: float(next(times)), {} if kept is None else kept)


def seen(name: str, phase: str = "Pending", *, uid: str = "", node: str | None = None, **changes: Any) -> SeenPod:
    read = pod_of(pod(name), keep=True)
    job = changes.pop("job", None)
    if job:
        changes["job"] = msgspec.structs.replace(read.job, name=job)
    return msgspec.structs.replace(read, uid=uid or f"uid-{name}", phase=phase, node=node, **changes)


def kinds(events: Any) -> list[str]:
    return [ev.kind(event) for event in events]


def run(subject: PodBook, name: str, node: str = "n1") -> None:
    list(subject.seen(seen(name)))
    subject.adopt(Pod(name, name))
    list(subject.seen(seen(name, "Running", node=node)))


def test_a_state_that_is_told_twice_or_late_says_nothing_new() -> None:
    """All orders in which a watch and the answers of calls may tell of one pod."""
    states = [seen("a"), seen("a", node="n1"), seen("a", "Running", node="n1"), seen("a", "Succeeded", node="n1")]
    for order in permutations(states):
        subject = book()
        log = list(subject.seen(order[0]))
        log += subject.adopt(Pod("a", "a")) or []
        for state in (*order[1:], *order):
            log += subject.seen(state)
        log += subject.gone(states[3])
        for state in order:
            log += subject.seen(state)  # an answer from before it went
        told = kinds(log)
        assert told == ["job_submitted", "pod_created", "pod_bound", "pod_started", "pod_finished"], order


def test_a_pod_that_ended_unseen_has_its_whole_story() -> None:
    subject = book()
    log = list(subject.seen(seen("a", "Succeeded", node="n1")))
    log += subject.adopt(Pod("a", "a")) or []
    assert kinds(log) == ["job_submitted", "pod_created", "pod_bound", "pod_started", "pod_finished"]


def test_a_pod_that_failed_before_it_ran_was_never_started() -> None:
    subject = book()
    list(subject.seen(seen("a")))
    subject.adopt(Pod("a", "a"))
    assert kinds(subject.seen(seen("a", "Failed", node="n1"))) == ["pod_bound", "pod_finished"]


ENDS: dict[str, tuple[Scope, dict[str, Any], list[str]]] = {
    "deleted": (Scope(), {}, ["pod_evicted"]),
    "deleted, and deleted jobs are not to go on": (Scope(restarts=False), {}, ["pod_finished"]),
    "deleted, with a controller that makes another": (Scope(), {"owned": True, "manifest": b""}, ["pod_finished"]),
    "deleted, of another scheduler": (Scope(), {"scheduler": "other"}, ["pod_finished"]),
    "deleted, of another scheduler, made by us": (
        Scope(run="r1"),
        {"scheduler": "other", "run": "r1"},
        ["pod_evicted"],
    ),
    "stopped by request, code 0": (Scope(), {"phase": "Succeeded", "stopping": True}, ["pod_evicted"]),
    "finished, then asked to stop": (
        Scope(),
        {"phase": "Succeeded", "stopping": True, "ended_first": True},
        ["pod_finished"],
    ),
    "evicted by its node": (Scope(), {"phase": "Failed", "displaced": True}, ["pod_evicted"]),
    "failed": (Scope(), {"phase": "Failed"}, ["pod_finished"]),
}


@pytest.mark.parametrize("case", ENDS, ids=str)
def test_how_pods_end(case: str) -> None:
    scope, changes, expected = ENDS[case]
    phase = changes.pop("phase", "Running") if "phase" in changes else "Running"
    subject = book(scope)
    still = {key: value for key, value in changes.items() if key in ("owned", "manifest", "scheduler", "run")}
    list(subject.seen(seen("a", "Running", node="n1", **still)))
    subject.adopt(Pod("a", "a"))
    log = list(subject.seen(seen("a", phase, node="n1", **changes)))
    log += subject.gone(seen("a", phase, node="n1", **changes))
    changes["phase"] = phase
    assert kinds(log) == expected


def test_a_job_that_we_migrate_goes_on_even_where_deleted_jobs_do_not() -> None:
    subject = book(Scope(restarts=False))
    run(subject, "a")
    subject.entry("a").asked = "migration 1"  # type: ignore[union-attr]
    (evicted,) = subject.gone(seen("a", "Running", node="n1"))
    assert isinstance(evicted, ev.PodEvicted)
    assert evicted.reason == "migration 1"


def test_a_second_pod_under_the_name_of_a_job_at_work_is_a_job_of_its_own() -> None:
    subject = book()
    run(subject, "a")
    (submitted,) = subject.seen(seen("b", job="a"))
    assert isinstance(submitted, ev.JobSubmitted)
    assert submitted.job.name == "b"


def test_the_next_pod_of_a_job_is_no_submission() -> None:
    subject = book()
    run(subject, "a")
    list(subject.gone(seen("a", "Running", node="n1")))
    (created,) = subject.seen(seen("a-migrated", job="a", incarnation=1))
    assert created == ev.PodCreated(created.time, Pod("a-migrated", "a", 1))


def test_a_name_used_again_is_a_new_submission() -> None:
    """As a StatefulSet does, or somebody who deletes and creates."""
    subject = book(Scope(restarts=False))
    run(subject, "a")
    assert kinds(subject.seen(seen("a", uid="another"))) == ["pod_finished", "job_submitted"]


def test_pods_of_a_node_that_comes_back_count_again() -> None:
    subject = book()
    list(subject.seen(seen("a", "Running", node="n1", scheduler="other")))
    subject.adopt(Pod("a", "a"))
    assert kinds(subject.node_gone("n1", "node lost")) == ["pod_finished"]
    assert kinds(subject.nodes_changed("n2")) == []
    assert kinds(subject.nodes_changed("n1")) == ["job_submitted"]


def state_of(*events: ev.Event) -> ClusterState:
    state = ClusterState()
    for event in events:
        state.apply(event)
    return state


BEGUN = (ev.NodeAdded(0, Node("n1", 4000, 2**34)), ev.JobSubmitted(0, Job("a", "a")), ev.PodCreated(0, Pod("a", "a")))
BOUND = (*BEGUN, ev.PodBound(1, "a", "n1"))
RUNNING = (*BOUND, ev.PodStarted(2, "a", "n1"))

RESUMED: dict[str, tuple[tuple[ev.Event, ...], SeenPod | None, list[str]]] = {
    "nothing happened": (RUNNING, seen("a", "Running", node="n1"), []),
    "it was bound": (BEGUN, seen("a", node="n1"), ["pod_bound"]),
    "it started": (BOUND, seen("a", "Running", node="n1"), ["pod_started"]),
    "it finished": (BEGUN, seen("a", "Succeeded", node="n1"), ["pod_bound", "pod_started", "pod_finished"]),
    "it failed": (RUNNING, seen("a", "Failed", node="n1"), ["pod_finished"]),
    "it went": (RUNNING, None, ["pod_evicted"]),
    "another came": ((), seen("b"), ["job_submitted"]),
}


@pytest.mark.parametrize("case", RESUMED, ids=str)
def test_after_a_restart_only_what_is_new_is_told(case: str) -> None:
    events, found, expected = RESUMED[case]
    subject = book(kept={"a": b"{}"})
    subject.resume(state_of(*events))
    log = list(subject.seen(found, first=True)) if found else []
    log += subject.unseen()
    assert kinds(log) == expected


def test_what_a_job_goes_on_from_is_kept_over_a_restart(tmp_path: Any) -> None:
    kept = ManifestFolder(tmp_path / "manifests")
    subject = book(kept=kept)
    run(subject, "a")
    list(subject.gone(seen("a", "Running", node="n1")))
    again = book(kept=ManifestFolder(tmp_path / "manifests"))
    again.resume(state_of(*RUNNING, ev.PodEvicted(3, "a", "n1", "gone")))
    assert msgspec.json.decode(again.manifest("a"))["metadata"]["name"] == "a"


def test_what_is_kept_is_forgotten_when_its_job_ends(tmp_path: Any) -> None:
    kept = ManifestFolder(tmp_path)
    subject = book(kept=kept)
    run(subject, "ml.a/b")
    subject.keep("ml.a/b")
    run(subject, "a")
    subject.keep("a")
    assert len(kept) == len(list(kept)) >= 1
    list(subject.seen(seen("a", "Succeeded", node="n1")))
    assert "a" not in kept
    with pytest.raises(KeyError):
        del kept["a"]


def test_a_refusal_does_not_end_another_pod_of_the_name() -> None:
    subject = book()
    run(subject, "a")
    assert list(subject.refused(Pod("a", "other"), "taken")) == []
    assert kinds(subject.refused(Pod("c", "a"), "no")) == ["pod_created", "pod_evicted"]
    assert kinds(subject.refused(Pod("c", "unknown"), "no")) == ["pod_evicted"]
