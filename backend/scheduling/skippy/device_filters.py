"""Filters of the heterogeneous edge evaluation (skippy-faas-sim.md, section 9.4)."""

import math
from typing import ClassVar

import numpy as np
from pydantic import BaseModel, Field

from backend.model.bandwidth import REGISTRY
from backend.model.fields import Parameters
from backend.model.labels import ACCELERATOR, VRAM
from backend.model.node_table import Bools, NodeTable
from backend.model.objects import Job, Node
from backend.scheduling.scores import Floats
from backend.scheduling.skippy.devices import RowSums, measured, ram
from backend.scheduling.skippy.plugin import SkippyFilter

ROUNDING = 1e-9
"""Shares are sums of measured decimals; what exceeds 1 by less than this is rounding."""


class CanRun(SkippyFilter):
    """Devices on which all of the pod's images were measured: those without a measurement cannot run it."""

    name = "CanRun"
    static = True
    lasting = True

    def mask(self, job: Job, table: NodeTable) -> Bools:
        """See Filter."""
        fits = (node.name != REGISTRY and measured(job, node) for node in table.nodes)
        return np.fromiter(fits, np.bool_, len(table))

    def explain(self, job: Job, table: NodeTable, refused: Bools) -> str:
        """See Filter."""
        return f"of a kind on which {' or '.join(job.images()) or 'a pod without an image'} was never measured"

    @staticmethod
    def key(job: Job) -> tuple[str, ...]:
        """What it looks at."""
        return job.images()


class HasEnoughRam(SkippyFilter):
    """Devices whose memory holds the measured shares of all pods there and of this one."""

    name = "HasEnoughRam"
    static = False

    def __init__(self, options: BaseModel | None = None) -> None:
        super().__init__(options)
        self._taken = RowSums(ram)

    def mask(self, job: Job, table: NodeTable) -> Bools:
        """See Filter."""
        own = np.array([ram(job, node) for node in table.nodes], np.float64)
        fits: Bools = self._taken.of(table) + own <= 1.0 + ROUNDING
        return fits

    def at(self, job: Job, table: NodeTable, row: int) -> bool:
        """See RowFilter."""
        return self._taken.at(table, row) + ram(job, table.nodes[row]) <= 1.0 + ROUNDING

    def explain(self, job: Job, table: NodeTable, refused: Bools) -> str:
        """See Filter."""
        return "without enough memory for the share that was measured"


class NodeHasAccelerator(SkippyFilter):
    """Nodes with the accelerator that the pod's label names, if it names one."""

    name = "NodeHasAccelerator"
    static = True
    lasting = True

    def mask(self, job: Job, table: NodeTable) -> Bools:
        """See Filter."""
        wanted = job.labels.get(ACCELERATOR)
        return table.labelled(ACCELERATOR, wanted) if wanted else np.ones(len(table), np.bool_)

    def explain(self, job: Job, table: NodeTable, refused: Bools) -> str:
        """See Filter."""
        return f"without the accelerator {job.labels.get(ACCELERATOR)}"

    @staticmethod
    def key(job: Job) -> str | None:
        """What it looks at."""
        return job.labels.get(ACCELERATOR)


class _FreeAccelerator(SkippyFilter):
    """Nodes on which no pod has the accelerator that this pod asks for."""

    static = False
    accelerator: ClassVar[str]

    def __init__(self, options: BaseModel | None = None) -> None:
        super().__init__(options)
        self._holders = RowSums(lambda job, node: float(job.labels.get(ACCELERATOR) == self.accelerator))

    def mask(self, job: Job, table: NodeTable) -> Bools:
        """See Filter."""
        if job.labels.get(ACCELERATOR) != self.accelerator:
            return np.ones(len(table), np.bool_)
        free: Bools = self._holders.of(table) == 0
        return free

    def at(self, job: Job, table: NodeTable, row: int) -> bool:
        """See RowFilter."""
        return job.labels.get(ACCELERATOR) != self.accelerator or self._holders.at(table, row) == 0

    def explain(self, job: Job, table: NodeTable, refused: Bools) -> str:
        """See Filter."""
        return f"whose {self.accelerator} another pod has"


class NodeHasFreeTpu(_FreeAccelerator):
    """Nodes on which no pod has the TPU, for a pod that asks for one."""

    name = "NodeHasFreeTpu"
    accelerator = "TPU"


class FreeGpu(Parameters):
    """Options of NodeHasFreeGpu."""

    use_vram: bool = Field(False, description="share a GPU among pods as far as its memory goes")


class NodeHasFreeGpu(_FreeAccelerator):
    """Nodes on which no pod has the GPU or, with use_vram, enough of its memory is left; for pods that ask for one."""

    name = "NodeHasFreeGpu"
    accelerator = "GPU"
    Options: ClassVar[type[BaseModel]] = FreeGpu

    def __init__(self, options: BaseModel | None = None) -> None:
        super().__init__(options)
        assert isinstance(self.options, FreeGpu)
        self._by_memory = self.options.use_vram
        self._reserved = RowSums(_vram_reserved)

    def mask(self, job: Job, table: NodeTable) -> Bools:
        """See Filter."""
        if not self._by_memory or job.labels.get(ACCELERATOR) != self.accelerator:
            return super().mask(job, table)
        there: Floats = np.array([_number(node.labels.get(VRAM)) for node in table.nodes], np.float64)
        fits: Bools = self._reserved.of(table) + _number(job.labels.get(VRAM)) <= there
        return fits

    def at(self, job: Job, table: NodeTable, row: int) -> bool:
        """See RowFilter."""
        if not self._by_memory or job.labels.get(ACCELERATOR) != self.accelerator:
            return super().at(job, table, row)
        there = _number(table.nodes[row].labels.get(VRAM))
        return self._reserved.at(table, row) + _number(job.labels.get(VRAM)) <= there

    def explain(self, job: Job, table: NodeTable, refused: Bools) -> str:
        """See Filter."""
        return "without enough free GPU memory" if self._by_memory else super().explain(job, table, refused)


def _vram_reserved(job: Job, node: Node) -> float:
    return _number(job.labels.get(VRAM)) if job.labels.get(ACCELERATOR) == "GPU" else 0.0


def _number(text: str | None) -> float:
    """The number that a label holds; 0 where it holds none or a negative one."""
    try:
        value = float(text or 0)
    except ValueError:
        return 0.0
    return value if 0 <= value < math.inf else 0.0
