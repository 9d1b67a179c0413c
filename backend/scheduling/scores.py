"""Scores: each rates the nodes that passed the filters, 0 to 100, more is better. Names are kube-scheduler's.

Source of formulas and default weights: kube-scheduler's default configuration (v1 API: NodeResourcesFit 1,
NodeResourcesBalancedAllocation 1, ImageLocality 1, PodTopologySpread 2, TaintToleration 3). kube-scheduler cuts
scores to whole numbers; these keep their fractions, which makes fewer equals and else the same order.
"""

from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from backend.model.node_table import Bools, NodeTable, scoring_requests
from backend.model.objects import Job, Node, Toleration

Floats = NDArray[np.float64]
MAX_SCORE = 100.0
IMAGE_MIN_BYTES = 23 * 2**20
"""Below this size an image is worth nothing (kube-scheduler's minThreshold)."""
IMAGE_MAX_BYTES = 1000 * 2**20
"""From this size on an image counts in full (its maxContainerThreshold, for one container)."""


class Context:
    """What several scores of one decision need: the parts of the nodes' resources in use with the pod on it."""

    def __init__(self, job: Job, table: NodeTable) -> None:
        self._job = job
        self._table = table

    @cached_property
    def cpu(self) -> Floats:
        """Part of the CPU, at most 1; shape (nodes,)."""
        table = self._table
        return np.minimum((table.scoring_cpu_millis + scoring_requests(self._job)[0]) * table.per_cpu_milli, 1.0)

    @cached_property
    def memory(self) -> Floats:
        """Part of the memory, at most 1; shape (nodes,)."""
        table = self._table
        return np.minimum((table.scoring_memory_bytes + scoring_requests(self._job)[1]) * table.per_memory_byte, 1.0)


def row_context(job: Job, table: NodeTable, row: int) -> tuple[float, float]:
    """What Context holds, of one row."""
    cpu, memory = scoring_requests(job)
    cpu_part = (table.scoring_cpu_millis.item(row) + cpu) * table.per_cpu_milli.item(row)
    memory_part = (table.scoring_memory_bytes.item(row) + memory) * table.per_memory_byte.item(row)
    return (cpu_part if cpu_part < 1.0 else 1.0), (memory_part if memory_part < 1.0 else 1.0)


class Score(Protocol):
    """Rates nodes."""

    name: str

    def score(self, job: Job, table: NodeTable, context: Context) -> Floats | None:
        """Raw values, shape (nodes,); None if all nodes are equal to it (they then get 0)."""
        ...

    def normalise(self, raw: Floats, feasible: Bools) -> Floats | None:
        """Values from 0 to 100 over the feasible nodes; None if the raw values are that already."""
        ...


@runtime_checkable
class RowScore(Protocol):
    """A score from 0 to 100 that depends on the use of one node alone; it needs no normalising and can be kept."""

    name: str

    def score(self, job: Job, table: NodeTable, context: Context) -> Floats:
        """Values, shape (nodes,)."""
        ...

    def at(self, cpu: float, memory: float) -> float:
        """What `score` says of a node with these parts of its resources in use."""
        ...


class LeastAllocated:
    """Mean free part of CPU and memory: spreads load (NodeResourcesFit with the strategy LeastAllocated)."""

    name = "NodeResourcesFit"

    def score(self, job: Job, table: NodeTable, context: Context) -> Floats:
        """See RowScore."""
        return MAX_SCORE - (MAX_SCORE / 2) * (context.cpu + context.memory)

    def at(self, cpu: float, memory: float) -> float:
        """See RowScore."""
        return MAX_SCORE - (MAX_SCORE / 2) * (cpu + memory)


class BalancedAllocation:
    """100 x (1 - standard deviation of the used parts of CPU and memory), which is |cpu - memory| / 2 for two."""

    name = "NodeResourcesBalancedAllocation"

    def score(self, job: Job, table: NodeTable, context: Context) -> Floats:
        """See RowScore."""
        apart: Floats = np.abs(context.cpu - context.memory)
        return MAX_SCORE - (MAX_SCORE / 2) * apart

    def at(self, cpu: float, memory: float) -> float:
        """See RowScore."""
        return MAX_SCORE - (MAX_SCORE / 2) * abs(cpu - memory)


class ImageLocality:
    """Nodes that hold the image: its size between the two thresholds, times the part of nodes that hold it."""

    name = "ImageLocality"

    def __init__(self) -> None:
        self._versions = (-1, -1)
        self._kept: dict[tuple[str, int], Floats | None] = {}
        """Image and size -> scores, until a node or the images on one change."""

    def score(self, job: Job, table: NodeTable, context: Context) -> Floats | None:
        """See Score."""
        versions = (table.version, table.images_version)
        if versions != self._versions:
            self._versions = versions
            self._kept.clear()
        key = (job.image, job.image_bytes)
        if key not in self._kept:
            self._kept[key] = self._score(job, table)
        return self._kept[key]

    def _score(self, job: Job, table: NodeTable) -> Floats | None:
        holders = table.holders(job.image)
        if holders is None:
            return None
        spread = int(np.count_nonzero(holders)) / max(1, table.present_count)
        size = min(max(job.image_bytes * spread, IMAGE_MIN_BYTES), IMAGE_MAX_BYTES)
        value = MAX_SCORE * (size - IMAGE_MIN_BYTES) / (IMAGE_MAX_BYTES - IMAGE_MIN_BYTES)
        return holders.astype(np.float64) * value if value else None

    def normalise(self, raw: Floats, feasible: Bools) -> Floats | None:
        """See Score."""
        return None


class Spreading:
    """Fewer pods of the same workload are better: PodTopologySpread's default over host names."""

    name = "PodTopologySpread"

    def score(self, job: Job, table: NodeTable, context: Context) -> Floats | None:
        """See Score."""
        return table.workload_counts(job.workload)

    def normalise(self, raw: Floats, feasible: Bools) -> Floats | None:
        """100 x (max + min - count) / max over the feasible nodes; 100 for all where none has such a pod."""
        counts = raw.compress(feasible)
        most = counts.item(counts.argmax())  # quicker than max()
        least = counts.item(counts.argmin())
        if most == 0:
            return np.full(len(raw), MAX_SCORE)
        scaled: Floats = most + least - raw
        scaled *= MAX_SCORE / most
        return scaled


class PreferredTaints:
    """Fewer PreferNoSchedule taints that the pod does not tolerate are better (TaintToleration's score)."""

    name = "TaintToleration"

    def __init__(self) -> None:
        self._version = -1
        self._kept: dict[tuple[Toleration, ...], Floats | None] = {}
        """Tolerations -> counts, until a node changes."""

    def score(self, job: Job, table: NodeTable, context: Context) -> Floats | None:
        """See Score."""
        if not table.soft_taints:
            return None
        if table.version != self._version:
            self._version = table.version
            self._kept.clear()
        if job.tolerations not in self._kept:
            counts = [_disliked(job, node) for node in table.nodes]
            self._kept[job.tolerations] = np.array(counts, np.float64) if any(counts) else None
        return self._kept[job.tolerations]

    def normalise(self, raw: Floats, feasible: Bools) -> Floats | None:
        """100 x (1 - count / max); 100 for all where no node has such a taint."""
        most = float(raw.compress(feasible).max())
        return np.full(len(raw), MAX_SCORE) if most == 0 else MAX_SCORE * (1.0 - raw / most)


def _disliked(job: Job, node: Node) -> int:
    """PreferNoSchedule taints of the node that the job does not tolerate."""
    return sum(
        taint.effect == "PreferNoSchedule" and not any(t.tolerates(taint) for t in job.tolerations)
        for taint in node.taints
    )
