"""Short names for the events that logs made by hand consist of."""

from typing import Any

from backend.folds.tables import fold
from backend.model import events as ev
from backend.model.objects import Job, Node, Pod

GIB = 2**30


def started() -> ev.RunStarted:
    return ev.RunStarted(0.0, "x.one.s1", "x", "one", 1)


def node(time: float, name: str = "n1", cpu: int = 16_000) -> ev.NodeAdded:
    return ev.NodeAdded(time, Node(name, cpu, 64 * GIB))


def submitted(time: float, job: str = "a") -> ev.JobSubmitted:
    return ev.JobSubmitted(time, Job(job, "lenet"))


def created(time: float, pod: str = "a", job: str = "a", **more: Any) -> ev.PodCreated:
    return ev.PodCreated(time, Pod(pod, job, **more))


def run(time: float, pod: str = "a", node: str = "n1", starts: float | None = None) -> list[ev.Event]:
    """Bound at `time`, running from `starts` on."""
    return [ev.PodBound(time, pod, node), ev.PodStarted(time if starts is None else starts, pod, node)]


def finished(time: float, pod: str = "a", job: str = "a", node: str = "n1", core_s: float = 0.0) -> list[ev.Event]:
    return [ev.PodFinished(time, pod, node, core_s=core_s), ev.JobFinished(time, job)]


def one_job(
    job: str = "a", submit: float = 0.0, start: float = 0.0, end: float = 10.0, core_s: float = 0.0
) -> list[ev.Event]:
    """A job that runs through on n1."""
    return [
        submitted(submit, job),
        created(submit, job, job),
        *run(start, job),
        *finished(end, job, job, core_s=core_s),
    ]


def tables_of(*events: ev.Event | list[ev.Event]) -> dict[str, list[dict[str, Any]]]:
    """Table -> its rows, of a log; lists among the events are laid flat. The log is put in the order of its times."""
    flat = [one for event in events for one in (event if isinstance(event, list) else [event])]
    return {name: table.to_pylist() for name, table in fold(sorted(flat, key=lambda one: one.time)).items()}
