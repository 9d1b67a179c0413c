"""What a profile keeps for pods of one shape: feasibility and the scores that depend on one node alone.

Between two pods of a shape only the nodes change on which something was placed or ended. The NodeTable notes them, and
only their rows are computed again, so the cost of a placement hardly grows with the cluster.
"""

import math
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from backend.model.node_table import Bools, NodeTable
from backend.model.objects import Job
from backend.scheduling.filters import RowFilter
from backend.scheduling.scores import Context, Floats, RowScore, row_context

SHAPES_KEPT = 64
"""Shapes of pods whose scores are kept; a workload has a handful."""
MANY_ROWS = 16
"""From so many changed rows on, computing all at once is quicker than row by row."""


class KeptShape:
    """Feasible nodes and local scores for pods that ask for the same. Arrays have shape (nodes,)."""

    __slots__ = (
        "_base_items",
        "_feasible_items",
        "_filters",
        "_job",
        "_noted",
        "_scores",
        "_static",
        "_value_items",
        "base",
        "count",
        "feasible",
        "values",
        "version",
    )

    def __init__(
        self,
        job: Job,
        table: NodeTable,
        static: Bools,
        filters: Sequence[RowFilter],
        scores: Sequence[tuple[RowScore, float]],
    ) -> None:
        self._job = job
        self._static = static
        self._filters = filters
        self._scores = scores
        self.version = table.version
        self._noted = 0
        """How many of the table's changes are in the values."""
        self._compute(table)

    def update(self, table: NodeTable) -> None:
        """Bring the rows up to date on which something changed."""
        changed = table.changed
        fresh = len(changed) - self._noted
        if fresh == 0:
            return
        if fresh > MANY_ROWS:
            self._compute(table)
            return
        for row in set(changed[self._noted :]):
            self._compute_row(table, row)
        self._noted = len(changed)

    def _compute(self, table: NodeTable) -> None:
        job = self._job
        feasible = self._static.copy()
        for one in self._filters:
            feasible &= one.mask(job, table)
        context = Context(job, table)
        self.values: list[Floats] = [score.score(job, table, context) for score, _ in self._scores]
        base = np.zeros(len(table))
        for (_, weight), values in zip(self._scores, self.values, strict=True):
            base += weight * values
        base[~feasible] = -np.inf
        self.feasible = feasible
        self.base = base
        """Weighted sum of the values; minus infinity where the node is not feasible."""
        self.count = int(np.count_nonzero(feasible))
        """Feasible nodes."""
        self._feasible_items = _items(feasible)
        self._base_items = _items(base)
        self._value_items = [
            (score, weight, _items(values)) for (score, weight), values in zip(self._scores, self.values, strict=True)
        ]
        self._noted = len(table.changed)

    def _compute_row(self, table: NodeTable, row: int) -> None:
        job = self._job
        fits = self._static.item(row)
        for one in self._filters:
            fits = fits and one.at(job, table, row)
        self.count += fits - self._feasible_items[row]
        self._feasible_items[row] = fits
        cpu, memory = row_context(job, table, row)
        total = 0.0
        for score, weight, items in self._value_items:
            items[row] = value = score.at(cpu, memory)
            total += weight * value
        self._base_items[row] = total if fits else -math.inf


def _items(values: Floats | Bools) -> Any:
    """A view of the same memory, through which single items are read and written several times faster."""
    return memoryview(cast(Any, values))


class KeptShapes:
    """What is kept of the newest shapes."""

    def __init__(self, filters: Sequence[RowFilter], scores: Sequence[tuple[RowScore, float]]) -> None:
        self._filters = filters
        self._scores = scores
        self._shapes: OrderedDict[object, KeptShape] = OrderedDict()

    def of(self, job: Job, table: NodeTable, static: Bools, key: object) -> KeptShape:
        """What is kept for the shape of a job, up to date. `static` is the mask of the static filters for `key`."""
        shape = (job.cpu_request_millis, job.memory_bytes, key)
        kept = self._shapes.get(shape)
        if kept is None or kept.version != table.version:
            kept = self._shapes[shape] = KeptShape(job, table, static, self._filters, self._scores)
            while len(self._shapes) > SHAPES_KEPT:
                self._shapes.popitem(last=False)
        else:
            kept.update(table)
        return kept
