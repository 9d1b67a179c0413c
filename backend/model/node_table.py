"""The cluster as columns: one row a node, so that a filter or score sees all nodes in a few array operations.

A row belongs to a node's name for good (a node that comes back finds its row again); rows keep the order in
which the nodes joined. `ClusterState` is the only writer.
"""

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from backend.model.objects import Job, Node, Taint

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

DEFAULT_SCORING_CPU_MILLIS = 100
"""What kube-scheduler's scores take as the CPU request of a pod that names none (util.DefaultMilliCPURequest)."""
DEFAULT_SCORING_MEMORY_BYTES = 200 * 1024 * 1024
"""The same for memory (util.DefaultMemoryRequest)."""

MAX_CHANGED = 1_000_000
"""Length of the list of changed rows at which it begins anew: 8 MB."""

_INT_COLUMNS = (
    "cpu_millis",
    "memory_bytes",
    "max_pods",
    "requested_cpu_millis",
    "requested_memory_bytes",
    "scoring_cpu_millis",
    "scoring_memory_bytes",
    "pods",
)
_COUNTED = ("requested_cpu_millis", "requested_memory_bytes", "scoring_cpu_millis", "scoring_memory_bytes", "pods")
"""What `place` counts up and down."""
_FLOAT_COLUMNS = ("per_cpu_milli", "per_memory_byte")
_BOOL_COLUMNS = ("present", "ready", "unschedulable")


def scoring_requests(job: Job) -> tuple[int, int]:
    """Millicores and bytes a pod of this job counts for in scores."""
    return (
        job.cpu_request_millis or DEFAULT_SCORING_CPU_MILLIS,
        job.memory_bytes or DEFAULT_SCORING_MEMORY_BYTES,
    )


class NodeTable:
    """Columns over the nodes. All arrays have length `len(table)`; rows of nodes that left have present False."""

    cpu_millis: Ints
    memory_bytes: Ints
    max_pods: Ints
    requested_cpu_millis: Ints
    requested_memory_bytes: Ints
    scoring_cpu_millis: Ints
    """Requests with kube-scheduler's defaults for pods that name none."""
    scoring_memory_bytes: Ints
    pods: Ints
    """Pods bound to or reserved on the node."""
    per_cpu_milli: Floats
    """1 / cpu_millis: the part of the node that a millicore is."""
    per_memory_byte: Floats
    present: Bools
    ready: Bools
    unschedulable: Bools

    def __init__(self) -> None:
        self.names: list[str] = []
        self.row_of: dict[str, int] = {}
        self.nodes: list[Node] = []
        self.version = 0
        """Raised by every change of what nodes are (not of what runs on them): key for cached masks."""
        self.changed: list[int] = []
        """Rows on which something was placed or ended, in order: who keeps values by row sees here what to renew."""
        self.present_count = 0
        self.soft_taints = 0
        """PreferNoSchedule taints on all nodes together."""
        self._capacity = 0
        self._counted: list[memoryview] = []
        self._storage: dict[str, NDArray[np.generic]] = {}
        self._holds: dict[str, Bools] = {}
        self._workloads: dict[str, Floats] = {}
        self._workload_views: dict[str, tuple[Floats, Any]] = {}
        self.images_version = 0
        """Raised when a node gets or loses an image."""
        self._expose()

    def __len__(self) -> int:
        return len(self.names)

    def put_node(self, node: Node) -> int:
        """Add a node or replace what is known of it; its row."""
        row = self.row_of.get(node.name)
        if row is None:
            row = len(self.names)
            self.names.append(node.name)
            self.nodes.append(node)
            self.row_of[node.name] = row
            self._grow()
        else:
            self.soft_taints -= _soft_taints(self.nodes[row])
        self.soft_taints += _soft_taints(node)
        self.nodes[row] = node
        self.cpu_millis[row] = node.cpu_millis
        self.memory_bytes[row] = node.memory_bytes
        self.max_pods[row] = node.max_pods
        self.per_cpu_milli[row] = 1.0 / node.cpu_millis if node.cpu_millis else np.inf
        self.per_memory_byte[row] = 1.0 / node.memory_bytes if node.memory_bytes else np.inf
        self.present_count += not self.present[row]
        self.present[row] = True
        self.ready[row] = node.ready
        self.unschedulable[row] = node.unschedulable
        self.version += 1
        return row

    def remove_node(self, name: str) -> None:
        """Mark a node as gone, with its images; what runs on it is released pod by pod."""
        row = self.row_of[name]
        self.present_count -= bool(self.present[row])
        self.present[row] = False
        for mask in self._holds.values():
            mask[row] = False
        self.images_version += 1
        self.version += 1

    def taints(self, row: int) -> tuple[Taint, ...]:
        """The taints of the node in a row."""
        return self.nodes[row].taints

    def place(self, row: int, job: Job, sign: int = 1) -> None:
        """Count a pod of the job on a row (sign 1) or take it off (sign -1)."""
        cpu, memory = job.cpu_request_millis, job.memory_bytes
        requested_cpu, requested_memory, scoring_cpu, scoring_memory, pods = self._counted
        requested_cpu[row] += sign * cpu
        requested_memory[row] += sign * memory
        scoring_cpu[row] += sign * (cpu or DEFAULT_SCORING_CPU_MILLIS)
        scoring_memory[row] += sign * (memory or DEFAULT_SCORING_MEMORY_BYTES)
        pods[row] += sign
        self._workload(job.workload)[1][row] += sign
        self.changed.append(row)
        if len(self.changed) >= MAX_CHANGED:
            self.changed.clear()
            self.version += 1

    def workload_counts(self, workload: str) -> Floats:
        """Pods of that workload on each node, as whole floats: scores compute with them. Not to be changed."""
        return self._workload(workload)[0]

    def _workload(self, workload: str) -> tuple[Floats, Any]:
        views = self._workload_views.get(workload)
        if views is None:
            counts = self._workloads.get(workload)
            if counts is None:
                counts = self._workloads[workload] = np.zeros(self._capacity)
            counts = counts[: len(self.names)]
            views = self._workload_views[workload] = counts, memoryview(cast(Any, counts))
        return views

    def hold_image(self, row: int, image: str) -> None:
        """The node of that row holds the image from now on."""
        mask = self._holds.get(image)
        if mask is None:
            mask = self._holds[image] = np.zeros(self._capacity, np.bool_)
        mask[row] = True
        self.images_version += 1

    def holders(self, image: str) -> Bools | None:
        """Which nodes hold the image; None if no node ever did."""
        mask = self._holds.get(image)
        return None if mask is None else mask[: len(self.names)]

    def _grow(self) -> None:
        if len(self.names) > self._capacity:
            self._capacity = max(16, 2 * self._capacity)
            for store in (self._storage, self._holds, self._workloads):
                for name, old in store.items():
                    new = np.zeros(self._capacity, old.dtype)
                    new[: len(old)] = old
                    store[name] = new
        self._expose()

    def _expose(self) -> None:
        size = len(self.names)
        for name in _INT_COLUMNS:
            stored = self._storage.setdefault(name, np.zeros(self._capacity, np.int64))
            setattr(self, name, stored[:size])
        for name in _FLOAT_COLUMNS:
            stored = self._storage.setdefault(name, np.zeros(self._capacity, np.float64))
            setattr(self, name, stored[:size])
        for name in _BOOL_COLUMNS:
            stored = self._storage.setdefault(name, np.zeros(self._capacity, np.bool_))
            setattr(self, name, stored[:size])
        # Views of the same memory, because single items are read and written several times faster through them.
        self._counted = [memoryview(getattr(self, name)) for name in _COUNTED]
        self._workload_views.clear()


def _soft_taints(node: Node) -> int:
    return sum(taint.effect == "PreferNoSchedule" for taint in node.taints)
