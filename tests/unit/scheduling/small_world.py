"""A cluster made of events, small enough to compute with by hand."""

from typing import Any

from backend.model import events as ev
from backend.model.objects import Job, Node, Pod, Taint, Toleration
from backend.model.state import ClusterState, PodRecord

GIB = 2**30
EVERYTHING = Toleration(operator="Exists")


def node(name: str, cpu: float = 4, memory: float = 16, **fields: Any) -> Node:
    """A node; CPU in cores, memory in GiB."""
    return Node(name, round(cpu * 1000), round(memory * GIB), **fields)


def job(name: str = "new", cpu: float = 1, memory: float = 2, workload: str = "lenet", **fields: Any) -> Job:
    """A job that asks for so many cores and GiB."""
    return Job(name, workload, cpu_request_millis=round(cpu * 1000), memory_bytes=round(memory * GIB), **fields)


def cluster(*nodes: Node) -> ClusterState:
    state = ClusterState()
    for one in nodes:
        state.apply(ev.NodeAdded(0.0, one))
    return state


def pending(state: ClusterState, what: Job | None = None, at: float | None = None) -> PodRecord:
    """A pod of the job that waits for a node."""
    what = what or job()
    time = state.time if at is None else at
    state.apply(ev.JobSubmitted(time, what))
    state.apply(ev.PodCreated(time, Pod(what.name, what.name)))
    return state.pods[what.name]


def running(state: ClusterState, on: str, what: Job, at: float | None = None) -> PodRecord:
    """A pod of the job that runs on a node."""
    record = pending(state, what, at)
    state.apply(ev.PodBound(state.time, what.name, on))
    state.apply(ev.PodStarted(state.time, what.name, on))
    return record


def tainted(*effects: str) -> tuple[Taint, ...]:
    return tuple(Taint(f"key-{number}", effect) for number, effect in enumerate(effects))  # type: ignore[arg-type]
