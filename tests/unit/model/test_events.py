from typing import get_args

import msgspec
import pytest

from backend.model import events as ev
from backend.model.bandwidth import MatrixBandwidth
from backend.model.objects import Job, Node, Pod, Taint, Toleration
from backend.model.storage import StoredObject

SAMPLES: list[ev.Event] = [
    ev.RunStarted(0.0, "e.default.s1", "e", "default", 1),
    ev.RunEnded(9.5),
    ev.RunStopped(9.5, "stopped by a person"),
    ev.TimerFired(10.0, "round"),
    ev.NodeAdded(0.0, Node("node-1", 16_000, 2**36, labels={"zone": "a"}, taints=(Taint("key1"),), images=("a:1",))),
    ev.NodeChanged(1.0, Node("node-1", 16_000, 2**36, ready=False)),
    ev.NodeRemoved(2.0, "node-1", "failed"),
    ev.JobSubmitted(3.0, Job("lenet-1", "lenet", iterations=150, tolerations=(Toleration("key1", "Exists"),))),
    ev.JobFinished(4.0, "lenet-1"),
    ev.JobFailed(4.0, "lenet-1", "no node has 1 TiB of memory"),
    ev.PodCreated(3.0, Pod("lenet-1-migrated", "lenet-1", 1, "node-2", 1)),
    ev.PodBound(3.0, "lenet-1", "node-1"),
    ev.BindFailed(3.0, "lenet-1", "node-1", "409 Conflict: the pod is bound already"),
    ev.PodStarted(3.5, "lenet-1", "node-1", 12.0),
    ev.PodFinished(8.0, "lenet-1", "node-1", True, "", 300.0),
    ev.PodEvicted(8.0, "lenet-1", "node-1", "migration", 20.5, 20.0, 41.0, 1.0),
    ev.DecisionMade(
        3.0,
        "lenet-1",
        "node-1",
        "default",
        "bound to node-1: highest total of 2",
        2,
        ("node-1", "node-2"),
        (180.0, 170.5),
        (ev.PluginScores("LeastAllocated", 1.0, (90.0, 85.25), (9.0, 8.0)),),
        {"ResourcesFit": ("node-3",)},
        {"ResourcesFit": 1},
    ),
    ev.ProgressReported(10.0, ("lenet-1",), (5.0,), (None,), (4000.0,), (2.5,)),
    ev.UsageSampled(10.0, ("node-1",), (4000.0,), (2.0**30,)),
    ev.WorkMeasured(9.0, ("lenet-1",), (36.5,)),
    ev.ImagePulled(3.2, "node-1", "a:1", 10**9, 8.0),
    ev.ImageRemoved(4.0, "node-1", "a:1"),
    ev.CatalogueDeclared(
        0.0,
        {"a:1": {"amd64": 10**9, "arm64": 9 * 10**8}},
        {"models": ("node-1",)},
        (StoredObject("models", "resnet", 10**8),),
        MatrixBandwidth({"registry": {"node-1": 1.25e7}}),
    ),
    ev.CategoryChanged(30.0, "lenet-1", "lenet-1", "node-1", "watching", "converged", 0.04, 0.05, 0.1, "slower still"),
    ev.MigrationConsidered(
        30.0, 1, "lenet-1", "lenet-1", "node-1", None, "nobody-to-help", "converged", "nobody", None, 0.0, {}
    ),
    ev.MigrationStarted(30.0, 1, "lenet-1", "lenet-1", "node-1", "node-2", "converged", "frees node-1"),
    ev.MigrationFinished(42.0, 1, "lenet-1", "lenet-1-migrated", "node-2", 12.0),
    ev.MigrationRolledBack(42.0, 1, "lenet-1", "finished first"),
    ev.MigrationAsked(43.0, "lenet-1", "node-2", "ada"),
    ev.MigrationsPaused(44.0, True, "ada"),
]


def test_every_kind_has_a_sample() -> None:
    assert {type(sample) for sample in SAMPLES} == set(get_args(ev.AnyEvent))


@pytest.mark.parametrize("event", SAMPLES, ids=ev.kind)
def test_a_decoded_event_equals_the_encoded_one(event: ev.Event) -> None:
    assert ev.decode(ev.encode(event)) == event


def test_lines_come_back_in_order() -> None:
    assert list(ev.decode_lines(ev.encode_lines(SAMPLES))) == SAMPLES


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="kind"):
        ev.decode(b'{"kind":"node_exploded","time":1.0}')


def test_a_missing_field_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="node"):
        ev.decode(b'{"kind":"pod_bound","time":1.0,"pod":"a"}')


def test_an_event_cannot_be_changed() -> None:
    event = ev.PodBound(1.0, "a", "node-1")
    with pytest.raises(AttributeError):
        event.time = 2.0  # type: ignore[misc]
