"""A plain reference of the Skippy scheduler: one object per node, one function per rule, no arrays.

It is written from the functional specification (`skippy-faas-sim.md`, sections 1 to 3, 9.4 and 9.5), to be read next to
it and to be compared with the array implementation. Where the specification marks a bug of the original, this does the
right thing. Nothing here is fast, and nothing is imported from the backend.

    cluster = Cluster([Node("n1", 4000, 8 * GIB)], images={"fn:1": {"amd64": 5_000_000}}, bandwidth={...})
    reference = Reference(cluster)
    decision = reference.schedule(Pod("p1", containers=[("fn:1", 1000, None)]))
"""

import ast
import json
import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from decimal import Decimal
from typing import Any, Protocol, TypeAlias

log = logging.getLogger(__name__)

MIB = 2**20
GIB = 2**30
DEFAULT_CPU_MILLIS = 100
DEFAULT_MEMORY_BYTES = 200 * MIB
REGISTRY = "registry"

ARCHITECTURE = "beta.kubernetes.io/arch"
LOCALITY = "locality.skippy.io/type"
CAPABILITY = "capability.skippy.io"
STORAGE = "data.skippy.io/storage"
RECEIVES_PATH = "data.skippy.io/receives-from-storage/path"
SENDS_SIZE = "data.skippy.io/sends-to-storage"
SENDS_PATH = "data.skippy.io/sends-to-storage/path"
ACCELERATOR = "device.edgerun.io/accelerator"
VRAM = "device.edgerun.io/vram"
REQUIREMENTS = "device.edgerun.io/requirements"
DISK = "device.edgerun.io/disk"
LOCATION = "device.edgerun.io/location"

Container: TypeAlias = tuple[str, int | None, int | None]
"""Image, requested cpu in millis and requested memory in bytes; None stands for the default."""


# --- Texts ------------------------------------------------------------------------------------------------------------

UNITS = {"": 1}
UNITS |= {unit: 1000**power for power, unit in enumerate("KMGTPE", start=1)}
UNITS |= {f"{unit}i": 1024**power for power, unit in enumerate("KMGTPE", start=1)}


def size_in_bytes(text: str) -> int:
    """`58M` → 58000000, `1Ki` → 1024, `7` → 7; anything but digits and one known unit is a ValueError."""
    match = re.fullmatch(r"([0-9]+)([A-Za-z]*)", text)
    if match is None or match[2] not in UNITS:
        raise ValueError(f"not a size: {text!r}")
    return int(match[1]) * UNITS[match[2]]


def cpu_in_millis(text: str) -> int:
    """`250m` → 250, `1` → 1000, `0.5` → 500; anything else is a ValueError."""
    if re.fullmatch(r"[0-9]+m", text):
        return int(text[:-1])
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
        return int(Decimal(text) * 1000)
    raise ValueError(f"not a cpu quantity: {text!r}")


def full_image_name(name: str) -> str:
    """The name with `:latest` behind it if its last part has no tag (a port of the registry is no tag)."""
    return name if ":" in name.rsplit("/", maxsplit=1)[-1] else f"{name}:latest"


# --- Data model -------------------------------------------------------------------------------------------------------


@dataclass
class Pod:
    """What is to be placed."""

    name: str
    labels: dict[str, str] = field(default_factory=dict)
    containers: list[Container] = field(default_factory=list)

    @property
    def cpu_millis(self) -> int:
        """Requested cpu of all containers."""
        return sum(DEFAULT_CPU_MILLIS if cpu is None else cpu for _, cpu, _ in self.containers)

    @property
    def memory_bytes(self) -> int:
        """Requested memory of all containers."""
        return sum(DEFAULT_MEMORY_BYTES if memory is None else memory for _, _, memory in self.containers)

    @property
    def images(self) -> list[str]:
        """Full names of the images in container order, each once."""
        return list(dict.fromkeys(full_image_name(image) for image, _, _ in self.containers))


@dataclass
class Node:
    """A node: its size, and what is left of it (at the start `allocatable`, by default the whole size)."""

    name: str
    cpu_millis: int = 1000
    memory_bytes: int = GIB
    labels: dict[str, str] = field(default_factory=dict)
    images: list[str] = field(default_factory=list)
    allocatable: InitVar[tuple[int, int] | None] = None
    free_cpu_millis: int = field(init=False)
    free_memory_bytes: int = field(init=False)
    pods: list[Pod] = field(init=False, default_factory=list)

    def __post_init__(self, allocatable: tuple[int, int] | None) -> None:
        self.images = list(dict.fromkeys(full_image_name(image) for image in self.images))
        self.free_cpu_millis, self.free_memory_bytes = allocatable or (self.cpu_millis, self.memory_bytes)

    @property
    def architecture(self) -> str | None:
        """The architecture label, None when there is none."""
        return self.labels.get(ARCHITECTURE)

    @property
    def device(self) -> str:
        """The device type: the name up to its last underscore."""
        return self.name.rsplit("_", maxsplit=1)[0]


@dataclass
class Storage:
    """Which nodes hold which bucket, and the sizes of the items in the buckets."""

    buckets: dict[str, list[str]] = field(default_factory=dict)
    items: dict[tuple[str, str], int] = field(default_factory=dict)

    def make_bucket(self, bucket: str, node: str) -> None:
        """Let the node hold the bucket, with all its items."""
        holders = self.buckets.setdefault(bucket, [])
        if node not in holders:
            holders.append(node)

    def put(self, bucket: str, item: str, size: int) -> None:
        """Store an item; KeyError when no node holds the bucket."""
        if not self.nodes(bucket):
            raise KeyError(bucket)
        self.items[bucket, item] = size

    def nodes(self, bucket: str) -> list[str]:
        """The nodes that hold the bucket, in the order they got it."""
        return self.buckets.get(bucket, [])

    def size(self, bucket: str, item: str) -> int | None:
        """The size of an item, None when it is unknown."""
        return self.items.get((bucket, item))


class Cluster:
    """The nodes in scheduling order, image sizes per architecture, bandwidths in bytes/s, storage; and the booking."""

    def __init__(
        self,
        nodes: Sequence[Node],
        images: Mapping[str, Mapping[str, int]] | None = None,
        bandwidth: Mapping[str, Mapping[str, float]] | None = None,
        storage: Storage | None = None,
    ) -> None:
        self.nodes = list(nodes)
        self.images = {full_image_name(name): dict(sizes) for name, sizes in (images or {}).items()}
        self.bandwidth = bandwidth or {}
        self.storage = storage or Storage()

    def node(self, name: str) -> Node:
        """The node of that name."""
        return next(node for node in self.nodes if node.name == name)

    def nodes_with_image(self, image: str) -> int:
        """How many nodes hold the image (full name)."""
        return sum(image in node.images for node in self.nodes)

    def image_sizes(self, image: str) -> dict[str, int]:
        """Size per architecture; an unknown image has none, which makes it count as 0 bytes everywhere."""
        if image not in self.images:
            log.warning("unknown image %s", image)
        return self.images.get(image, {})

    def needed_images(self, pod: Pod, node: Node) -> list[str]:
        """The images of the pod that the node lacks."""
        return [image for image in pod.images if image not in node.images]

    def place(self, pod: Pod, node: Node) -> None:
        """Book the pod on the node, which then also holds its images."""
        node.images += self.needed_images(pod, node)
        node.free_cpu_millis -= pod.cpu_millis
        node.free_memory_bytes -= pod.memory_bytes
        node.pods.append(pod)

    def remove(self, pod: Pod, node: Node) -> None:
        """Take the pod off the node; the images stay."""
        node.pods.remove(pod)
        node.free_cpu_millis += pod.cpu_millis
        node.free_memory_bytes += pod.memory_bytes

    def remove_images(self, pod: Pod, node: Node) -> None:
        """Forget the images of the pod on the node."""
        node.images = [image for image in node.images if image not in pod.images]


# --- Filters ----------------------------------------------------------------------------------------------------------


class Filter(Protocol):
    """Says whether a pod may go to a node."""

    def passes(self, cluster: Cluster, pod: Pod, node: Node) -> bool: ...


class FitsResources:
    """What the pod requests is left on the node; exactly enough is enough."""

    def passes(self, cluster: Cluster, pod: Pod, node: Node) -> bool:
        return pod.cpu_millis <= node.free_cpu_millis and pod.memory_bytes <= node.free_memory_bytes


@dataclass
class AllOf:
    """Several filters as one. The general, essential and non-critical filters of the original are all this."""

    filters: Sequence[Filter] = (FitsResources(),)

    def passes(self, cluster: Cluster, pod: Pod, node: Node) -> bool:
        return all(part.passes(cluster, pod, node) for part in self.filters)


@dataclass
class LabelPresence:
    """The node has all of the labels, or none of them; the values do not matter."""

    labels: Sequence[str]
    present: bool

    def passes(self, cluster: Cluster, pod: Pod, node: Node) -> bool:
        return all((label in node.labels) == self.present for label in self.labels)


# --- Normalisers: raw scores of the feasible nodes → scores from 0 to the maximum -------------------------------------


def scale(raw: Sequence[float], maximum: int) -> list[int]:
    """The largest gets the maximum, the smallest 0; all 0 when they are equal."""
    low, high = min(raw, default=0), max(raw, default=0)
    return [0 if low == high else int((x - low) / (high - low) * maximum) for x in raw]


def inverse_scale(raw: Sequence[float], maximum: int) -> list[int]:
    """The smallest gets the maximum, the largest 0; all 0 when they are equal."""
    low, high = min(raw, default=0), max(raw, default=0)
    return [0 if low == high else int((x - high) / (low - high) * maximum) for x in raw]


def keep_share(raw: Sequence[float], maximum: int) -> list[int]:
    """The smallest gets the maximum, the others lose by how much worse they are, relative to the largest (0: all 0)."""
    low, high = min(raw, default=0), max(raw, default=0)
    return [0 if high == 0 else int(maximum * (high - x + low) / high) for x in raw]


# --- Scores -----------------------------------------------------------------------------------------------------------


class Score(Protocol):
    """Rates a node for a pod (higher is better after `normalise`)."""

    def raw(self, cluster: Cluster, pod: Pod, node: Node, maximum: int) -> float: ...

    def normalise(self, raw: Sequence[float], maximum: int) -> list[float]: ...


class AsItIs:
    """Base of the scores whose raw value is the score."""

    def normalise(self, raw: Sequence[float], maximum: int) -> list[float]:
        return list(raw)


class Scaled:
    """Base of the scores that are scaled between the smallest and the largest."""

    def normalise(self, raw: Sequence[float], maximum: int) -> list[float]:
        return [*scale(raw, maximum)]


class Equal(AsItIs):
    """Every node alike."""

    def raw(self, cluster: Cluster, pod: Pod, node: Node, maximum: int) -> float:
        return 1


class BalancedResources(AsItIs):
    """Nodes of which the pod takes a like share of the cpu and of the memory that is left."""

    def raw(self, cluster: Cluster, pod: Pod, node: Node, maximum: int) -> float:
        return balance(pod.cpu_millis, pod.memory_bytes, node.free_cpu_millis, node.free_memory_bytes, maximum)


def balance(cpu: int, memory: int, free_cpu: int, free_memory: int, maximum: int) -> int:
    """How alike the two shares are; 0 when a resource would be used up."""
    cpu_share = cpu / (free_cpu or 1)
    memory_share = memory / (free_memory or 1)
    if cpu_share >= 1 or memory_share >= 1:
        return 0
    return int((1 - abs(cpu_share - memory_share)) * maximum)


class ImageLocality(AsItIs):
    """Nodes that hold the images of the pod, weighted with size and spread (the rule of stock Kubernetes)."""

    def raw(self, cluster: Cluster, pod: Pod, node: Node, maximum: int) -> float:
        weighted_bytes = 0
        for image in pod.images:
            if image in node.images:
                size = cluster.image_sizes(image).get(node.architecture or "", 0)
                spread = cluster.nodes_with_image(image) / len(cluster.nodes)  # first, as in the original: it rounds
                weighted_bytes += int(size * spread)
        return image_locality(weighted_bytes, maximum)


def image_locality(weighted_bytes: int, maximum: int) -> int:
    """From 23 MiB (or less) to 1000 MiB (or more), linearly."""
    low, high = 23 * MIB, 1000 * MIB
    clamped = min(max(weighted_bytes, low), high)
    return int(maximum * (clamped - low) / (high - low))


class LatencyAwareImageLocality:
    """Nodes that get the missing images from the registry soonest; the raw value is whole seconds."""

    def raw(self, cluster: Cluster, pod: Pod, node: Node, maximum: int) -> float:
        missing = sum(download_size(cluster, image, node) for image in cluster.needed_images(pod, node))
        return seconds(missing, cluster.bandwidth[REGISTRY][node.name])

    def normalise(self, raw: Sequence[float], maximum: int) -> list[float]:
        return [*keep_share(raw, maximum)]


def download_size(cluster: Cluster, image: str, node: Node) -> int:
    """Size for the node's architecture; without such a size (or label) that of the first listed architecture."""
    sizes = cluster.image_sizes(image)
    if node.architecture in sizes:
        return sizes[node.architecture]
    if sizes:
        log.error("image %s lacks the architecture of node %s", image, node.name)
    return next(iter(sizes.values()), 0)


def seconds(size: int, bandwidth: float) -> int:
    """Whole seconds of a transfer."""
    return int(size / bandwidth)


class LocalityType(AsItIs):
    """Edge nodes."""

    def raw(self, cluster: Cluster, pod: Pod, node: Node, maximum: int) -> float:
        return maximum if node.labels.get(LOCALITY) == "edge" else 0


class DataLocality:
    """Nodes that exchange the data of the pod with storage soonest; whole seconds in and whole seconds out."""

    def raw(self, cluster: Cluster, pod: Pod, node: Node, maximum: int) -> float:
        return self._receive(cluster, pod, node) + self._send(cluster, pod, node)

    def normalise(self, raw: Sequence[float], maximum: int) -> list[float]:
        return [*inverse_scale(raw, maximum)]

    def _receive(self, cluster: Cluster, pod: Pod, node: Node) -> int:
        bucket, _, item = pod.labels.get(RECEIVES_PATH, "").partition("/")
        size = cluster.storage.size(bucket, item)
        return self._transfer(cluster, node, bucket, size, lambda holder: cluster.bandwidth[holder][node.name])

    def _send(self, cluster: Cluster, pod: Pod, node: Node) -> int:
        bucket, _, item = pod.labels.get(SENDS_PATH, "").partition("/")
        size = cluster.storage.size(bucket, item)
        if size is None:  # a new object
            size = size_or_none(pod.labels.get(SENDS_SIZE, ""))
        return self._transfer(cluster, node, bucket, size, lambda holder: cluster.bandwidth[node.name][holder])

    @staticmethod
    def _transfer(
        cluster: Cluster, node: Node, bucket: str, size: int | None, bandwidth: Callable[[str], float]
    ) -> int:
        """With the best connected holder of the bucket; 0 if that is the node itself or there is nothing to do."""
        holders = cluster.storage.nodes(bucket)
        if size is None or not holders or node.name in holders:
            return 0
        return seconds(size, max(bandwidth(holder) for holder in holders))


def size_or_none(text: str) -> int | None:
    """The size that a label tells, None when it tells none."""
    try:
        return size_in_bytes(text)
    except ValueError:
        return None


class Capability(Scaled):
    """Nodes that have the capabilities the pod asks for."""

    def raw(self, cluster: Cluster, pod: Pod, node: Node, maximum: int) -> float:
        return sum(CAPABILITY in key and pod.labels.get(key) == value for key, value in node.labels.items())


# --- Filters and scores of the heterogeneous edge evaluation (raith21) ------------------------------------------------


@dataclass(frozen=True)
class Usage:
    """What one running function takes of its device: shares of cpu, gpu and ram, bytes/s of disk and network."""

    cpu: float
    blkio: float
    gpu: float
    net: float
    ram: float


class Measurements:
    """Execution times and resource usages by (device type, image)."""

    def __init__(
        self, execution_seconds: Mapping[tuple[str, str], float], usage: Mapping[tuple[str, str], Usage]
    ) -> None:
        self._seconds = {(device, full_image_name(image)): x for (device, image), x in execution_seconds.items()}
        self._usage = {(device, full_image_name(image)): x for (device, image), x in usage.items()}

    def execution_seconds(self, pod: Pod, node: Node) -> float | None:
        """Execution time of the pod's images on this type of device, None when one of them was not measured."""
        found = [self._seconds.get((node.device, image)) for image in pod.images]
        return None if not found or None in found else sum(x for x in found if x is not None)

    def usage(self, pod: Pod, node: Node) -> list[Usage]:
        """Usages of the pod's images on this type of device; one that was not measured takes nothing."""
        keys = [(node.device, image) for image in pod.images]
        return [self._usage[key] for key in keys if key in self._usage]

    def known(self, pod: Pod, node: Node) -> bool:
        """Whether all of the pod's images were measured on this type of device."""
        return self.execution_seconds(pod, node) is not None and len(self.usage(pod, node)) == len(pod.images)


@dataclass
class CanRun:
    """The functions of the pod were measured on this type of device; the registry runs nothing."""

    measurements: Measurements

    def passes(self, cluster: Cluster, pod: Pod, node: Node) -> bool:
        return node.name != REGISTRY and self.measurements.known(pod, node)


ROUNDING = 1e-9
"""Shares are sums of measured decimals; what exceeds 1 by less than this is rounding."""


@dataclass
class HasEnoughRam:
    """The ram shares of the running pods and of this one fit together."""

    measurements: Measurements

    def passes(self, cluster: Cluster, pod: Pod, node: Node) -> bool:
        return sum(self._share(one, node) for one in (*node.pods, pod)) <= 1 + ROUNDING

    def _share(self, pod: Pod, node: Node) -> float:
        return sum(usage.ram for usage in self.measurements.usage(pod, node))


class HasAccelerator:
    """The node has the accelerator that the pod asks for, if it asks for one."""

    def passes(self, cluster: Cluster, pod: Pod, node: Node) -> bool:
        wanted = pod.labels.get(ACCELERATOR)
        return not wanted or wanted == node.labels.get(ACCELERATOR)


@dataclass
class FreeAccelerator:
    """If the pod asks for this accelerator (`GPU`, `TPU`), no running pod of the node uses it."""

    accelerator: str

    def passes(self, cluster: Cluster, pod: Pod, node: Node) -> bool:
        return not uses(pod, self.accelerator) or not any(uses(other, self.accelerator) for other in node.pods)


class EnoughGpuMemory:
    """If the pod asks for a GPU, what it and the running GPU pods reserve of its memory fits.

    A label that is missing or that holds no number from 0 on is 0.
    """

    def passes(self, cluster: Cluster, pod: Pod, node: Node) -> bool:
        if not uses(pod, "GPU"):
            return True
        reserved = sum(gpu_memory(one.labels) for one in (*node.pods, pod) if uses(one, "GPU"))
        return reserved <= gpu_memory(node.labels)


def gpu_memory(labels: Mapping[str, str]) -> float:
    """What the label tells."""
    text = labels.get(VRAM, "")
    return float(text) if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text) else 0


def uses(pod: Pod, accelerator: str) -> bool:
    """Whether the pod asks for that accelerator."""
    return pod.labels.get(ACCELERATOR) == accelerator


class CapabilityMatching(Scaled):
    """Nodes whose labels have the values that the requirements of the pod give large shares."""

    def raw(self, cluster: Cluster, pod: Pod, node: Node, maximum: int) -> float:
        wanted = requirements(pod)
        return sum(shares.get(node.labels[label], 0) for label, shares in wanted.items() if label in node.labels)


def requirements(pod: Pod) -> dict[str, dict[str, float]]:
    """Attribute → value → share: JSON, or the text of a Python dict as in the published documents, or else nothing."""
    text = pod.labels.get(REQUIREMENTS, "{}")
    found: Any
    try:
        found = json.loads(text)
    except json.JSONDecodeError:
        try:
            found = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            return {}
    return found if isinstance(found, dict) else {}


@dataclass
class ExecutionTime(Scaled):
    """Nodes that execute the pod fastest. A node whose time is unknown is as bad as the worst that is known."""

    measurements: Measurements

    def raw(self, cluster: Cluster, pod: Pod, node: Node, maximum: int) -> float:
        found = self.measurements.execution_seconds(pod, node)
        if found is not None:
            return -found
        times = [self.measurements.execution_seconds(pod, one) for one in cluster.nodes]
        return -max((x for x in times if x is not None), default=0)


DISK_SPEED = {"NVME": 2500e6, "SSD": 500e6, "HDD": 250e6, "FLASH": 150e6, "SD": 50e6}


@dataclass
class Contention(Scaled):
    """Nodes on which the pod and the running ones together take least of disk, network, cpu and gpu.

    The published rule (`published`) counts what the pod itself takes as a gain instead.
    """

    measurements: Measurements
    published: bool = False

    def raw(self, cluster: Cluster, pod: Pod, node: Node, maximum: int) -> float:
        own = self._load([pod], node)
        running = self._load(node.pods, node)
        return own - running if self.published else -(own + running)

    def _load(self, pods: Iterable[Pod], node: Node) -> float:
        disk = DISK_SPEED.get(node.labels.get(DISK, ""), 1)
        network = 1000e6 if node.labels.get(LOCATION) == "CLOUD" else 125e6
        return sum(
            sum(one.blkio / disk + one.net / network + one.cpu + one.gpu for one in self.measurements.usage(pod, node))
            for pod in pods
        )


# --- The scheduler ----------------------------------------------------------------------------------------------------

DEFAULT_FILTERS: tuple[Filter, ...] = (FitsResources(), LabelPresence([STORAGE], present=False))
DEFAULT_SCORES: tuple[tuple[float, Score], ...] = (
    (1.0, BalancedResources()),
    (1.0, LatencyAwareImageLocality()),
    (1.0, LocalityType()),
    (1.0, DataLocality()),
    (1.0, Capability()),
)


def nodes_to_find(nodes: int, percentage: float) -> int:
    """How many feasible nodes are enough; may be more than there are. 0 % (or less) adapts to the cluster size."""
    if nodes < 5 or percentage >= 100:
        return nodes
    share = percentage if percentage > 0 else max(50 - nodes / 125, 5)
    return max(int(nodes * share / 100), 100)


@dataclass
class ScoreColumn:
    """One score over the feasible nodes in walk order."""

    weight: float
    raw: list[float]
    normalised: list[float]


@dataclass
class Decision:
    """Everything about one call of `schedule`; lists over nodes are in walk order except `failures` (node order)."""

    start_index: int
    nodes_to_find: int
    failures: list[list[str]]
    """Per filter, the nodes that it alone rejects."""
    feasible: list[str]
    scores: list[ScoreColumn]
    totals: list[float]
    chosen: str | None
    needed_images: list[str] | None
    next_start_index: int


class Reference:
    """The scheduler: walks the nodes from a rotating start, scores those that pass, takes the first best, books it."""

    def __init__(
        self,
        cluster: Cluster,
        filters: Sequence[Filter] = DEFAULT_FILTERS,
        scores: Sequence[tuple[float, Score]] = DEFAULT_SCORES,
        percentage: float = 100,
        max_priority: int = 10,
    ) -> None:
        self.cluster = cluster
        self.filters = filters
        self.scores = scores
        self.percentage = percentage
        self.max_priority = max_priority
        self.start_index = 0

    def schedule(self, pod: Pod) -> Decision:
        """Choose a node for the pod and place it there."""
        start_index = self.start_index
        enough = nodes_to_find(len(self.cluster.nodes), self.percentage)
        failures = [self._rejected(part, pod) for part in self.filters]
        feasible = self._walk(pod, enough)
        scores = [self._rate(weight, score, pod, feasible) for weight, score in self.scores]
        totals = [sum(column.weight * column.normalised[i] for column in scores) for i in range(len(feasible))]

        chosen, needed = None, None
        if feasible:
            chosen = feasible[totals.index(max(totals))]
            needed = self.cluster.needed_images(pod, chosen)
            self.cluster.place(pod, chosen)
        return Decision(
            start_index=start_index,
            nodes_to_find=enough,
            failures=failures,
            feasible=[node.name for node in feasible],
            scores=scores,
            totals=totals,
            chosen=None if chosen is None else chosen.name,
            needed_images=needed,
            next_start_index=self.start_index,
        )

    def _rejected(self, part: Filter, pod: Pod) -> list[str]:
        return [node.name for node in self.cluster.nodes if not part.passes(self.cluster, pod, node)]

    def _walk(self, pod: Pod, enough: int) -> list[Node]:
        """The feasible nodes from the start index on, around, until there are enough; moves the start index."""
        nodes, start = self.cluster.nodes, self.start_index
        kept: list[Node] = []
        for step in range(len(nodes)):
            position = (start + step) % len(nodes)
            if all(part.passes(self.cluster, pod, nodes[position]) for part in self.filters):
                kept.append(nodes[position])
                self.start_index = (position + 1) % len(nodes)
                if len(kept) == enough:
                    break
        return kept

    def _rate(self, weight: float, score: Score, pod: Pod, nodes: Sequence[Node]) -> ScoreColumn:
        raw = [score.raw(self.cluster, pod, node, self.max_priority) for node in nodes]
        return ScoreColumn(weight, raw, score.normalise(raw, self.max_priority))
