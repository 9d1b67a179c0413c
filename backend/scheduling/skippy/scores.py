"""Skippy's scores ("priorities"; skippy-faas-sim.md, section 2.2). Whole numbers are cut, not rounded, as published."""

from collections.abc import Callable, Hashable, Sequence

import numpy as np

from backend.model.bandwidth import REGISTRY
from backend.model.labels import CAPABILITY, LOCALITY
from backend.model.node_table import NodeTable, scoring_requests
from backend.model.objects import Job
from backend.model.quantities import MAX_BASE_UNITS
from backend.scheduling.rows import balance_of_free
from backend.scheduling.scores import Floats
from backend.scheduling.skippy.plugin import InverseScaledScore, KeptShareScore, ScaledScore, SkippyScore

IMAGE_MIN_BYTES = 23 * 2**20
IMAGE_MAX_BYTES = 1000 * 2**20
ANY_ARCHITECTURE = "any"
"""What a specification says for an image that has the same size everywhere."""
MOST_SECONDS = 1e15
"""A transfer that takes longer takes this long: with an infinite one nothing could be compared."""


class Equal(SkippyScore):
    """1 for every node."""

    name = "Equal"

    def raw(self, job: Job, table: NodeTable) -> Floats:
        """See Score."""
        return np.ones(len(table))


class BalancedResource(SkippyScore):
    """Nodes of whose free CPU and free memory the pod takes about the same part."""

    name = "BalancedResource"

    def raw(self, job: Job, table: NodeTable) -> Floats:
        """int((1 - |f - g|) x highest) for the parts f, g that the pod takes of what is free; 0 if either is 1 or more.

        Nothing free counts as 1.
        """
        cpu, memory = scoring_requests(job)
        free_cpu = table.cpu_millis - table.scoring_cpu_millis
        free_memory = table.memory_bytes - table.scoring_memory_bytes
        free_cpu[free_cpu == 0] = 1
        free_memory[free_memory == 0] = 1
        cpu_part, memory_part = cpu / free_cpu, memory / free_memory
        values = np.trunc((1 - np.abs(cpu_part - memory_part)) * self.max_priority)
        values[(cpu_part >= 1) | (memory_part >= 1)] = 0.0
        return values

    def at(self, job: Job, table: NodeTable, row: int) -> float:
        """See RowScore."""
        return self.rows(job, table)(row)

    def rows(self, job: Job, table: NodeTable) -> Callable[[int], float]:
        """See RowScore."""
        return balance_of_free(table.items, *scoring_requests(job), self.max_priority)


def image_sizes(image: str, job: Job, table: NodeTable, *, estimate: bool = True) -> Floats:
    """Bytes of an image on each node's architecture; shape (nodes,).

    An architecture that the image does not name counts as the first that it does name, or 0 bytes without `estimate`
    (unless it has a size for any). An image that nobody declared has the size that the job itself gives for its images,
    or 0.
    """
    sizes = table.facts.images.sizes(image)
    if not sizes:
        return np.full(len(table), _bytes(job.image_bytes))
    other = next(iter(sizes.values())) if estimate else sizes.get(ANY_ARCHITECTURE, 0)
    by_code = np.array([_bytes(sizes.get(name, other)) for name in table.architectures])
    return by_code.take(table.architecture_codes)


def _bytes(size: int) -> float:
    """A size as a float; one beyond what a quantity may be counts as the most or the least that it may be."""
    return float(min(max(size, 0), MAX_BASE_UNITS))


def _seconds(size: Floats | float, link: Floats) -> Floats:
    """Whole seconds of transfers."""
    with np.errstate(over="ignore"):
        return np.minimum(np.trunc(size / link), MOST_SECONDS)


class ImageLocality(SkippyScore):
    """Nodes that hold the pod's images: their size, times the part of nodes that hold them (as in Kubernetes)."""

    name = "ImageLocality"
    revised_by_images = True

    def raw(self, job: Job, table: NodeTable) -> Floats:
        """int(highest x (size - 23 MiB) / 977 MiB), size within 23 and 1,000 MiB.

        An image counts nothing on an architecture that it does not name.
        """
        total = np.zeros(len(table))
        nodes = max(1, table.present_count)
        for image in job.images():
            held = table.expected(image)
            share = int(np.count_nonzero(held & table.present)) / nodes
            total += np.where(held, np.trunc(image_sizes(image, job, table, estimate=False) * share), 0.0)
        clamped = np.clip(total, IMAGE_MIN_BYTES, IMAGE_MAX_BYTES)
        return np.trunc(self.max_priority * (clamped - IMAGE_MIN_BYTES) / (IMAGE_MAX_BYTES - IMAGE_MIN_BYTES))

    def revision(self, job: Job, table: NodeTable) -> Hashable:
        """See Score."""
        return tuple([table.expected_version(image) for image in job.images()])


class LatencyAwareImageLocality(KeptShareScore):
    """Nodes that have the pod's images soonest: the seconds to pull what is missing from the registry."""

    name = "LatencyAwareImageLocality"
    revised_by_images = True

    def raw(self, job: Job, table: NodeTable) -> Floats:
        """Whole seconds."""
        missing = np.zeros(len(table))
        for image in job.images():
            missing += np.where(table.expected(image), 0.0, image_sizes(image, job, table))
        return _seconds(missing, table.outbound(REGISTRY))

    def revision(self, job: Job, table: NodeTable) -> Hashable:
        """See Score."""
        return tuple([table.expected_version(image) for image in job.images()])


class LocalityType(SkippyScore):
    """Nodes at the edge."""

    name = "LocalityType"

    def raw(self, job: Job, table: NodeTable) -> Floats:
        """The highest priority where the label says edge, else 0."""
        return np.where(table.labelled(LOCALITY, "edge"), self.max_priority, 0.0)


class DataLocality(InverseScaledScore):
    """Nodes that get the pod's data from storage, and send it there, soonest; the closest storage node counts."""

    name = "DataLocality"

    def raw(self, job: Job, table: NodeTable) -> Floats:
        """Whole seconds to receive plus whole seconds to send."""
        storage = table.facts.storage
        received = self._transfer(table, *storage.received(job.labels), outbound=True)
        return received + self._transfer(table, *storage.sent(job.labels), outbound=False)

    @staticmethod
    def _transfer(table: NodeTable, holders: Sequence[str], size: int, *, outbound: bool) -> Floats:
        if not holders or size <= 0:
            return np.zeros(len(table))
        link = table.outbound if outbound else table.inbound
        fastest = link(holders[0])
        for holder in holders[1:]:
            fastest = np.maximum(fastest, link(holder))
        seconds = _seconds(_bytes(size), fastest)
        for holder in holders:
            row = table.row_of.get(holder)
            if row is not None:
                seconds[row] = 0.0
        return seconds


class Capability(ScaledScore):
    """Nodes whose capability labels the pod asks for."""

    name = "Capability"

    def raw(self, job: Job, table: NodeTable) -> Floats:
        """How many of the capability labels of node and pod are equal."""
        count = np.zeros(len(table))
        for key, value in job.labels.items():
            if CAPABILITY in key:
                count += table.labelled(key, value)
        return count
