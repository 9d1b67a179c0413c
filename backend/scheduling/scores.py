"""Scores: each rates the nodes that passed the filters, 0 to 100, more is better. Names are kube-scheduler's.

Source of formulas and default weights: kube-scheduler's default configuration (v1 API: NodeResourcesFit 1,
NodeResourcesBalancedAllocation 1, ImageLocality 1, PodTopologySpread 2, TaintToleration 3). kube-scheduler cuts
scores to whole numbers; these keep their fractions, which makes fewer equals and else the same order.
"""

from collections.abc import Callable, Hashable
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from backend.model.node_table import Bools, NodeTable, scoring_requests
from backend.model.objects import Job, Node
from backend.scheduling.rows import parts_in_use

Floats = NDArray[np.float64]
MAX_SCORE = 100.0
IMAGE_MIN_BYTES = 23 * 2**20
"""Below this size an image is worth nothing (kube-scheduler's minThreshold)."""
IMAGE_MAX_BYTES = 1000 * 2**20
"""From this size on an image counts in full (its maxContainerThreshold, for one container)."""


class Score(Protocol):
    """Rates nodes. It may look at a job's requests, images, workload, labels, node selector and tolerations: pods that
    are equal in these share what is kept of the raw values. One that looks at more of a job defines
    `key(job) -> Hashable` with what it looks at.
    """

    name: str
    normalises: bool
    """Whether `normalise` changes anything."""

    def raw(self, job: Job, table: NodeTable) -> Floats | None:
        """Raw values, shape (nodes,), which the caller may write into; None if all nodes are equal to it.

        A score that gives None counts for nothing and is not shown in the decision."""
        ...

    def normalise(self, raw: Floats, feasible: Bools | None) -> Floats:
        """Values over the feasible nodes (all if None), as the weights take them; elsewhere they mean nothing.

        Only called if `normalises`.
        """
        ...

    def revision(self, job: Job, table: NodeTable) -> Hashable:
        """What the raw values depend on besides what the nodes are: they are asked for again when this changes.

        A score with `revised_by_images = True` is not asked while `NodeTable.images_version` stays.
        """
        ...


@runtime_checkable
class RowScore(Score, Protocol):
    """A score whose raw value for a node depends on that node and what runs there, so that it is renewed row by row.

    Its raw values are never None, and it is not asked for revisions. It may have
    `rows(job, table) -> Callable[[int], float]` as well: `at` for one job until a node changes.
    """

    def at(self, job: Job, table: NodeTable, row: int) -> float:
        """What `raw` says of one row."""
        ...


class Ranged:
    """A score that is normalised by the least and the most of the raw values over the feasible nodes.

    While these two stay, a change of one raw value changes one value, and only that is computed again.
    """

    normalises = True

    def extremes(self, raw: Floats, feasible: Bools | None) -> tuple[float, float]:
        """Least and most over the feasible nodes (all if None); 0 and 0 if there are none."""
        values = raw if feasible is None else raw.compress(feasible)
        if not len(values):
            return 0.0, 0.0
        return values.item(values.argmin()), values.item(values.argmax())  # quicker than min() and max()

    def scaled(self, raw: Floats, least: float, most: float) -> Floats:
        """Values for raw ones; a new array."""
        raise NotImplementedError

    def scaled_at(self, raw: float, least: float, most: float) -> float:
        """What `scaled` says of one value, bit for bit."""
        raise NotImplementedError

    def normalise(self, raw: Floats, feasible: Bools | None) -> Floats:
        """See Score."""
        return self.scaled(raw, *self.extremes(raw, feasible))


class _Plain:
    """Raw values that are values already and change with the nodes only."""

    normalises = False

    def normalise(self, raw: Floats, feasible: Bools | None) -> Floats:
        """See Score."""
        return raw

    def revision(self, job: Job, table: NodeTable) -> Hashable:
        """See Score."""
        return None


def cpu_part(job: Job, table: NodeTable) -> Floats:
    """Part of each node's CPU in use with the pod on it, at most 1; shape (nodes,)."""
    return np.minimum((table.scoring_cpu_millis + scoring_requests(job)[0]) * table.per_cpu_milli, 1.0)


def memory_part(job: Job, table: NodeTable) -> Floats:
    """Part of each node's memory in use with the pod on it, at most 1; shape (nodes,)."""
    return np.minimum((table.scoring_memory_bytes + scoring_requests(job)[1]) * table.per_memory_byte, 1.0)


class _OfParts(_Plain):
    """A score that is made of the parts of CPU and memory in use with the pod on the node."""

    def of(self, cpu: Any, memory: Any) -> Any:
        """The score of parts in use: arrays of them, or those of one node."""
        raise NotImplementedError

    def raw(self, job: Job, table: NodeTable) -> Floats:
        """See Score."""
        values: Floats = self.of(cpu_part(job, table), memory_part(job, table))
        return values

    def at(self, job: Job, table: NodeTable, row: int) -> float:
        """See RowScore."""
        return self.rows(job, table)(row)

    def rows(self, job: Job, table: NodeTable) -> Callable[[int], float]:
        """See RowScore."""
        parts, of = parts_in_use(table.items, *scoring_requests(job)), self.of
        return lambda row: of(*parts(row))


class LeastAllocated(_OfParts):
    """Mean free part of CPU and memory: spreads load (NodeResourcesFit with the strategy LeastAllocated)."""

    name = "NodeResourcesFit"

    def of(self, cpu: Any, memory: Any) -> Any:
        """See _OfParts."""
        return MAX_SCORE - (MAX_SCORE / 2) * (cpu + memory)


class BalancedAllocation(_OfParts):
    """100 x (1 - standard deviation of the used parts of CPU and memory), which is |cpu - memory| / 2 for two."""

    name = "NodeResourcesBalancedAllocation"

    def of(self, cpu: Any, memory: Any) -> Any:
        """See _OfParts."""
        return MAX_SCORE - (MAX_SCORE / 2) * abs(cpu - memory)


class ImageLocality(_Plain):
    """Nodes that hold the image: its size between the two thresholds, times the part of nodes that hold it."""

    name = "ImageLocality"
    revised_by_images = True

    def raw(self, job: Job, table: NodeTable) -> Floats | None:
        """See Score."""
        holders = table.holders(job.image)
        if holders is None:
            return None
        spread = int(np.count_nonzero(holders)) / max(1, table.present_count)
        size = min(max(job.image_bytes * spread, IMAGE_MIN_BYTES), IMAGE_MAX_BYTES)
        value = MAX_SCORE * (size - IMAGE_MIN_BYTES) / (IMAGE_MAX_BYTES - IMAGE_MIN_BYTES)
        return holders.astype(np.float64) * value if value else None

    def revision(self, job: Job, table: NodeTable) -> Hashable:
        """See Score."""
        return table.images_version


class Spreading(Ranged):
    """Fewer pods of the same workload are better: PodTopologySpread's default over host names."""

    name = "PodTopologySpread"

    def raw(self, job: Job, table: NodeTable) -> Floats:
        """See Score."""
        return table.workload_counts(job.workload).copy()

    def at(self, job: Job, table: NodeTable, row: int) -> float:
        """See RowScore."""
        return table.workload_counts(job.workload).item(row)

    def rows(self, job: Job, table: NodeTable) -> Callable[[int], float]:
        """See RowScore."""
        look_up: Callable[[int], float] = table.workload_items(job.workload).__getitem__
        return look_up

    def scaled(self, raw: Floats, least: float, most: float) -> Floats:
        """100 x (most + least - count) / most over the feasible nodes; 100 for all where none has such a pod."""
        if most == 0:
            return np.full(len(raw), MAX_SCORE)
        scaled: Floats = most + least - raw
        scaled *= MAX_SCORE / most
        return scaled

    def scaled_at(self, raw: float, least: float, most: float) -> float:
        """See Ranged."""
        return MAX_SCORE if most == 0 else (most + least - raw) * (MAX_SCORE / most)

    def revision(self, job: Job, table: NodeTable) -> Hashable:
        """See Score."""
        return None


class PreferredTaints(Ranged):
    """Fewer PreferNoSchedule taints that the pod does not tolerate are better (TaintToleration's score)."""

    name = "TaintToleration"

    def raw(self, job: Job, table: NodeTable) -> Floats | None:
        """See Score."""
        if not table.soft_taints:
            return None
        counts = [_disliked(job, node) for node in table.nodes]
        return np.array(counts, np.float64) if any(counts) else None

    def scaled(self, raw: Floats, least: float, most: float) -> Floats:
        """100 x (1 - count / most); 100 for all where no node has such a taint."""
        return np.full(len(raw), MAX_SCORE) if most == 0 else MAX_SCORE * (1.0 - raw / most)

    def scaled_at(self, raw: float, least: float, most: float) -> float:
        """See Ranged."""
        return MAX_SCORE if most == 0 else MAX_SCORE * (1.0 - raw / most)

    def revision(self, job: Job, table: NodeTable) -> Hashable:
        """See Score."""
        return None


def _disliked(job: Job, node: Node) -> int:
    """PreferNoSchedule taints of the node that the job does not tolerate."""
    return sum(
        taint.effect == "PreferNoSchedule" and not any(t.tolerates(taint) for t in job.tolerations)
        for taint in node.taints
    )
