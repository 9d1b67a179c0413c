"""The node and pod lists of the openb trace format (Alibaba's cluster trace of 2023, GPU sharing): CSV with a header.

Nodes: sn,cpu_milli,memory_mib,gpu,model. Pods: name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,
creation_time,deletion_time,scheduled_time; gpu_spec lists the models that will do, with `|` between them. Columns may
stand in any order, and others beside them.
"""

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from backend.model.labels import ACCELERATOR, ARCHITECTURE, CAPABILITY, LOCALITY
from backend.model.objects import Job, Node
from backend.traces.errors import TraceError
from backend.traces.tables import fitted, header_and_rows, seconds

NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
POD_COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec", "creation_time")
OPTIONAL_POD_COLUMNS = ("qos", "pod_phase", "deletion_time", "scheduled_time")
MIB = 2**20
MOST = 10**9
"""No machine has as many millicores, MiB or GPUs, and sums of thousands of them stay within 64 bits."""
GPU = f"{CAPABILITY}/nvidia-gpu"
MODEL = f"{CAPABILITY}/gpu-"
"""Followed by a model: the capability of having GPUs of that model."""

Kind = Literal["nodes", "pods"]


class TraceNode(Struct, frozen=True, gc=False):
    """A line of the node list."""

    name: str
    cpu_millis: int
    memory_bytes: int
    gpus: int
    model: str


class TracePod(Struct, frozen=True, gc=False):
    """A line of the pod list."""

    name: str
    cpu_millis: int
    memory_bytes: int
    gpus: int
    gpu_millis: int
    """Thousandths of each GPU."""
    models: tuple[str, ...]
    """Models that will do; empty: any."""
    qos: str
    phase: str
    created_s: float
    deleted_s: float | None
    scheduled_s: float | None


def kind_of(content: bytes, name: str) -> Kind:
    """Which of the two lists a file is, by its header. Raises TraceError."""
    line, columns, _ = header_and_rows(content, name)
    if set(NODE_COLUMNS) <= set(columns):
        return "nodes"
    if set(POD_COLUMNS) <= set(columns):
        return "pods"
    raise TraceError(
        name,
        line,
        f"must be the header of a node list ({','.join(NODE_COLUMNS)}) or a pod list ({','.join(POD_COLUMNS)})",
    )


def read_nodes(content: bytes, name: str = "node list") -> list[TraceNode]:
    """The nodes, in the order of the lines. Raises TraceError."""
    found: list[TraceNode] = []
    for line, cells in _rows(content, name, NODE_COLUMNS, ()):
        node = TraceNode(
            cells["sn"],
            _whole(cells, "cpu_milli", name, line, least=1),
            _whole(cells, "memory_mib", name, line, least=1) * MIB,
            _whole(cells, "gpu", name, line),
            cells["model"],
        )
        if node.gpus and not node.model:
            raise TraceError(name, line, f"'{node.name[:60]}' has {node.gpus} GPUs of no model")
        found.append(node)
    return found


def read_pods(content: bytes, name: str = "pod list") -> list[TracePod]:
    """The pods, in the order of the lines. Raises TraceError."""
    found: list[TracePod] = []
    for line, cells in _rows(content, name, POD_COLUMNS, OPTIONAL_POD_COLUMNS):
        created = _time(cells, "creation_time", name, line)
        if created is None:
            raise TraceError(name, line, "must say the creation_time")
        found.append(
            TracePod(
                cells["name"],
                _whole(cells, "cpu_milli", name, line),
                _whole(cells, "memory_mib", name, line) * MIB,
                _whole(cells, "num_gpu", name, line),
                _whole(cells, "gpu_milli", name, line),
                tuple(model.strip() for model in cells["gpu_spec"].split("|") if model.strip()),
                cells["qos"],
                cells["pod_phase"],
                created,
                _time(cells, "deletion_time", name, line),
                _time(cells, "scheduled_time", name, line),
            )
        )
    return found


def to_node(node: TraceNode, name: str = "") -> Node:
    """A node of the cluster, by its own or another name. GPUs become labels: that there are some, and their model."""
    labels = {ARCHITECTURE: "amd64", LOCALITY: "cloud"}
    if node.gpus:
        labels |= {ACCELERATOR: "GPU", GPU: "", f"{MODEL}{node.model}": ""}
    return Node(name or node.name, node.cpu_millis, node.memory_bytes, labels=labels)


def to_job(pod: TracePod, name: str = "") -> Job:
    """A job of one pod, by its own or another name. A pod with GPUs asks for a node with GPUs, and prefers the models
    that it names."""
    labels = {}
    if pod.gpus:
        labels = {ACCELERATOR: "GPU", GPU: "", **{f"{MODEL}{model}": "" for model in pod.models}}
    return Job(
        name or pod.name,
        pod.qos or "unknown",
        cpu_request_millis=pod.cpu_millis,
        memory_bytes=pod.memory_bytes,
        labels=labels,
    )


def _rows(
    content: bytes, name: str, needed: tuple[str, ...], optional: tuple[str, ...]
) -> Iterator[tuple[int, dict[str, str]]]:
    first, columns, rows = header_and_rows(content, name)
    missing = [column for column in needed if column not in columns]
    if missing:
        raise TraceError(name, first, f"lacks the column {' and '.join(missing)}")
    key = needed[0]
    seen: set[str] = set()
    for line, written in rows:
        cells = dict.fromkeys(optional, "") | dict(
            zip(columns, fitted(written, columns, name, line, needed=columns.index(key) + 1), strict=True)
        )
        if not cells[key]:
            raise TraceError(name, line, f"must say the {key}")
        if cells[key] in seen:
            raise TraceError(name, line, f"'{cells[key][:60]}' is there already")
        seen.add(cells[key])
        yield line, cells
    if not seen:
        raise TraceError(name, None, "has no row below the header")


def _whole(cells: dict[str, str], column: str, name: str, line: int, least: int = 0) -> int:
    text = cells[column]
    value = int(text) if text.isascii() and text.isdecimal() and len(text) <= 10 else -1
    if not least <= value <= MOST:
        raise TraceError(name, line, f"{column} is {text[:40]!r}, and must be a whole number from {least} to {MOST:,}")
    return value


def _time(cells: dict[str, str], column: str, name: str, line: int) -> float | None:
    text = cells[column]
    if not text:
        return None
    value = seconds(text)
    if value is None:
        raise TraceError(name, line, f"{column} is {text[:40]!r}, and must be a number of seconds")
    return value
