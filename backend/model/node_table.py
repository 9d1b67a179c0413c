"""The cluster as columns: one row a node, so that a filter or score sees all nodes in a few array operations.

A row belongs to a node's name for good (a node that comes back finds its row again); rows keep the order in
which the nodes joined. `ClusterState` is the only writer.
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from backend.model.facts import ClusterFacts
from backend.model.images import normalise_image
from backend.model.labels import architecture
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
    "architecture_codes",
)
_FLOAT_COLUMNS = ("per_cpu_milli", "per_memory_byte")
_BOOL_COLUMNS = ("present", "ready", "unschedulable")
COLUMNS = (*_INT_COLUMNS, *_FLOAT_COLUMNS, *_BOOL_COLUMNS)


def scoring_requests(job: Job) -> tuple[int, int]:
    """Millicores and bytes a pod of this job counts for in scores."""
    return (
        job.cpu_request_millis or DEFAULT_SCORING_CPU_MILLIS,
        job.memory_bytes or DEFAULT_SCORING_MEMORY_BYTES,
    )


class RowItems:
    """The same memory as the columns of that name, for reading single items: several times faster than through NumPy.

    Renewed when the table grows.
    """

    __slots__ = (
        "cpu_millis",
        "max_pods",
        "memory_bytes",
        "per_cpu_milli",
        "per_memory_byte",
        "pods",
        "requested_cpu_millis",
        "requested_memory_bytes",
        "scoring_cpu_millis",
        "scoring_memory_bytes",
    )

    def __init__(self, table: "NodeTable") -> None:
        self.cpu_millis: Any = memoryview(cast(Any, table.cpu_millis))
        self.memory_bytes: Any = memoryview(cast(Any, table.memory_bytes))
        self.max_pods: Any = memoryview(cast(Any, table.max_pods))
        self.pods: Any = memoryview(cast(Any, table.pods))
        self.requested_cpu_millis: Any = memoryview(cast(Any, table.requested_cpu_millis))
        self.requested_memory_bytes: Any = memoryview(cast(Any, table.requested_memory_bytes))
        self.scoring_cpu_millis: Any = memoryview(cast(Any, table.scoring_cpu_millis))
        self.scoring_memory_bytes: Any = memoryview(cast(Any, table.scoring_memory_bytes))
        self.per_cpu_milli: Any = memoryview(cast(Any, table.per_cpu_milli))
        self.per_memory_byte: Any = memoryview(cast(Any, table.per_memory_byte))


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
    architecture_codes: Ints
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
        self._storage: dict[str, NDArray[np.generic]] = {}
        self._holds: dict[str, Bools] = {}
        self._expected: dict[str, Bools] = {}
        self._expected_views: dict[str, tuple[Bools, Any]] = {}
        self._workloads: dict[str, Floats] = {}
        self._workload_views: dict[str, tuple[Floats, Any]] = {}
        self.images_version = 0
        """Raised when a node gets or loses an image, or is expected to get one."""
        self._expected_versions: dict[str, int] = {}
        self.architectures: list[str] = [""]
        """What the codes of `architecture_codes` stand for; 0 is an unknown one."""
        self.facts = ClusterFacts()
        """Images, data and links, as far as they were declared."""
        self.jobs_on: Callable[[str], Sequence[Job]] = lambda node: ()
        """Jobs of the pods that are bound to or reserved on a node; the ClusterState puts its own here."""
        self._labelled: dict[tuple[str, str], Bools] = {}
        self._links: dict[tuple[str, bool], Floats] = {}
        self._cached_version = -1
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
        named = architecture(node.labels)
        if named not in self.architectures:
            self.architectures.append(named)
        self.architecture_codes[row] = self.architectures.index(named)
        self.version += 1
        return row

    def remove_node(self, name: str) -> None:
        """Mark a node as gone, with its images; what runs on it is released pod by pod."""
        row = self.row_of[name]
        self.present_count -= bool(self.present[row])
        self.present[row] = False
        for mask in (*self._holds.values(), *self._expected.values()):
            mask[row] = False
        self.images_version += 1
        self.version += 1

    def taints(self, row: int) -> tuple[Taint, ...]:
        """The taints of the node in a row."""
        return self.nodes[row].taints

    def place(self, row: int, job: Job, sign: int = 1) -> None:
        """Count a pod of the job on a row (sign 1) or take it off (sign -1)."""
        cpu, memory = job.cpu_request_millis, job.memory_bytes
        items = self.items
        items.requested_cpu_millis[row] += sign * cpu
        items.requested_memory_bytes[row] += sign * memory
        items.scoring_cpu_millis[row] += sign * (cpu or DEFAULT_SCORING_CPU_MILLIS)
        items.scoring_memory_bytes[row] += sign * (memory or DEFAULT_SCORING_MEMORY_BYTES)
        items.pods[row] += sign
        self._workload(job.workload)[1][row] += sign
        if sign > 0 and job.image:
            self._expect(row, job)
        self.changed.append(row)
        if len(self.changed) >= MAX_CHANGED:
            self.changed.clear()
            self.version += 1

    def workload_counts(self, workload: str) -> Floats:
        """Pods of that workload on each node, as whole floats: scores compute with them. Not to be changed."""
        return self._workload(workload)[0]

    def workload_items(self, workload: str) -> Any:
        """The same for reading single items, until the table grows."""
        return self._workload(workload)[1]

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
        name = normalise_image(image)
        mask = self._holds.get(name)
        if mask is None:
            mask = self._holds[name] = np.zeros(self._capacity, np.bool_)
        mask[row] = True
        self._expected_view(name)[1][row] = True
        self._expected_versions[name] = self._expected_versions.get(name, 0) + 1
        self.images_version += 1

    def forget_image(self, row: int, image: str) -> None:
        """The node of that row does not hold the image any more."""
        name = normalise_image(image)
        for store in (self._holds, self._expected):
            mask = store.get(name)
            if mask is not None:
                mask[row] = False
        self._expected_versions[name] = self._expected_versions.get(name, 0) + 1
        self.images_version += 1

    def holders(self, image: str) -> Bools | None:
        """Which nodes hold the image; None if no node ever did."""
        mask = self._holds.get(normalise_image(image))
        return None if mask is None else mask[: len(self.names)]

    def expected(self, image: str) -> Bools:
        """Which nodes hold the image or will, because a pod that needs it was placed there. Not to be changed."""
        return self._expected_view(normalise_image(image))[0]

    def is_expected(self, row: int, image: str) -> bool:
        """What `expected` says of one row; `image` is a canonical name."""
        return bool(self._expected_view(image)[1][row])

    def expected_version(self, image: str) -> int:
        """Raised when `expected` changes for this image (canonical name); nodes that come or go raise `version`."""
        return self._expected_versions.get(image, 0)

    def _expected_view(self, name: str) -> tuple[Bools, Any]:
        views = self._expected_views.get(name)
        if views is None:
            mask = self._expected.get(name)
            if mask is None:
                mask = self._expected[name] = np.zeros(self._capacity, np.bool_)
            mask = mask[: len(self.names)]
            views = self._expected_views[name] = mask, memoryview(cast(Any, mask))
        return views

    def _expect(self, row: int, job: Job) -> None:
        for name in job.images() if job.more_images else (normalise_image(job.image),):
            view = self._expected_view(name)[1]
            if not view[row]:
                view[row] = True
                self._expected_versions[name] = self._expected_versions.get(name, 0) + 1
                self.images_version += 1

    def labelled(self, key: str, value: str | None = None) -> Bools:
        """Which nodes carry the label with that value, or at all if none is given. Not to be changed."""
        self._renew()
        asked = (key, "\0" if value is None else value)  # a label's value holds no such character
        mask = self._labelled.get(asked)
        if mask is None:
            if value is None:
                found = (key in node.labels for node in self.nodes)
            else:
                found = (node.labels.get(key) == value for node in self.nodes)
            mask = self._labelled[asked] = np.fromiter(found, np.bool_, len(self.nodes))
        return mask

    def outbound(self, source: str) -> Floats:
        """Bandwidth from a node or the registry to each node in bytes a second. Not to be changed."""
        return self._link(source, True)

    def inbound(self, target: str) -> Floats:
        """Bandwidth from each node to a node in bytes a second. Not to be changed."""
        return self._link(target, False)

    def _link(self, end: str, outbound: bool) -> Floats:
        self._renew()
        vector = self._links.get((end, outbound))
        if vector is None:
            bandwidth = self.facts.bandwidth
            made = bandwidth.outbound if outbound else bandwidth.inbound
            vector = self._links[end, outbound] = made(end, self.nodes, self.row_of)
        return vector

    def _renew(self) -> None:
        """Forget what was kept of nodes that have changed since."""
        if self._cached_version != self.version:
            self._cached_version = self.version
            self._labelled.clear()
            self._links.clear()

    def _grow(self) -> None:
        if len(self.names) > self._capacity:
            self._capacity = max(16, 2 * self._capacity)
            for store in (self._storage, self._holds, self._expected, self._workloads):
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
        self.items = RowItems(self)
        self._workload_views.clear()
        self._expected_views.clear()


def _soft_taints(node: Node) -> int:
    return sum(taint.effect == "PreferNoSchedule" for taint in node.taints)
