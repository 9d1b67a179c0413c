"""Which node each pod is on: the two columns NODE NAME of kubectl's custom-columns, and job_node_info.csv.

`kubectl get pods -o custom-columns=NODE:.spec.nodeName,NAME:.metadata.name` is how the authors' scripts recorded the
default placement; job_node_info.csv holds the same as lines `job,node`, with or without a first line of that name.
"""

import re
from collections.abc import Collection, Mapping, Sequence

from backend.model import events as ev
from backend.model.objects import Job, Node, Pod
from backend.traces.errors import TraceError
from backend.traces.migration_log import NODE_CPU_MILLIS, NODE_MEMORY_BYTES
from backend.traces.tables import base_job, check_name, csv_rows, pod_order, text_of

_PLAIN = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
NOT_BOUND = "<none>"
"""What kubectl writes for a pod without a node."""


def is_listing_header(words: Collection[str]) -> bool:
    """Whether a first line with these words is that of kubectl's listing."""
    return sorted(word.upper() for word in words) == ["NAME", "NODE"]


def is_job_node_info_header(cells: Sequence[str]) -> bool:
    """Whether a first line with these cells, in small letters, is the one that job_node_info.csv may have."""
    return list(cells) in (["job", "node"], ["name", "node"])


def read_listing(content: bytes, name: str = "node listing") -> dict[str, str]:
    """Pod -> node, in the order of the lines; pods without a node are left out. Raises TraceError."""
    found: dict[str, str] = {}
    columns: tuple[int, int] | None = None
    for line, text in enumerate(text_of(content, name).splitlines(), 1):
        cells = text.split()
        if not cells:
            continue
        if columns is None:
            if not is_listing_header(cells):
                raise TraceError(name, line, "the first line must be NODE NAME")
            columns = (0, 1) if cells[0].upper() == "NODE" else (1, 0)
            continue
        if len(cells) != 2:
            raise TraceError(name, line, f"must hold a node and a pod, not {len(cells)} words")
        node, pod = (check_name(cells[column], name, line) for column in columns)
        if pod in found:
            raise TraceError(name, line, f"pod '{pod[:60]}' is there already")
        if node != NOT_BOUND:
            found[pod] = node
    if columns is None:
        raise TraceError(name, None, "is empty")
    if not found:
        raise TraceError(name, None, "holds no pod that is on a node")
    return found


def read_job_node_info(content: bytes, name: str = "job_node_info.csv") -> dict[str, str]:
    """Job -> node of its first pod, in the order of the lines; `x-migrated` only counts where there is no x.

    Raises TraceError.
    """
    found: dict[str, str] = {}
    pods: dict[str, str] = {}
    seen: set[str] = set()
    for number, (line, cells) in enumerate(csv_rows(content, name)):
        if number == 0 and is_job_node_info_header([cell.lower() for cell in cells[:2]]):
            continue
        if len(cells) != 2 or not all(cells):
            raise TraceError(name, line, "must be job,node")
        pod, node = (check_name(cell, name, line) for cell in cells)
        job = base_job(pod)
        if pod in seen:
            raise TraceError(name, line, f"'{pod[:60]}' is there already")
        seen.add(pod)
        if job not in pods or pod_order(pod) < pod_order(pods[job]):
            pods[job], found[job] = pod, node
    if not found:
        raise TraceError(name, None, "holds no job")
    return found


def write_job_node_info(placements: Mapping[str, str]) -> str:
    """job_node_info.csv of job -> node. Raises TraceError for a name that the authors' scripts could not read.

    They split lines at commas and know no quotes; and a spreadsheet must not take a name for a formula.
    """
    for name in (*placements, *placements.values()):
        if not _PLAIN.fullmatch(name):
            raise TraceError("job_node_info.csv", None, f"{name[:60]!r} cannot stand in it: it is no Kubernetes name")
    return "job,node\n" + "".join(f"{job},{node}\n" for job, node in placements.items())


def to_events(
    pods: Mapping[str, str], *, run: str = "node-listing", experiment: str = "node-listing"
) -> list[ev.Event]:
    """A log that says where each pod was at the moment of the listing; `x` and `x-migrated` are pods of job x."""
    log: list[ev.Event] = [ev.RunStarted(0.0, run, experiment, "listing", 0)]
    log += [ev.NodeAdded(0.0, Node(node, NODE_CPU_MILLIS, NODE_MEMORY_BYTES)) for node in sorted(set(pods.values()))]
    jobs: dict[str, int] = {}
    for pod, node in sorted(pods.items(), key=lambda item: pod_order(item[0])):
        job = base_job(pod)
        if job not in jobs:
            log.append(ev.JobSubmitted(0.0, Job(job, "unknown")))
        incarnation = jobs[job] = jobs.get(job, -1) + 1
        log += [
            ev.PodCreated(0.0, Pod(pod, job, incarnation)),
            ev.PodBound(0.0, pod, node),
            ev.PodStarted(0.0, pod, node),
        ]
    log.append(ev.RunEnded(0.0))
    return log
