"""What a profile keeps for pods of one shape: feasible nodes, raw scores, normalised scores and totals.

Between two pods of a shape only the nodes change on which something was placed or ended. The NodeTable notes them, and
only their rows are computed again, so the cost of a placement hardly grows with the cluster. Totals are always added up
in the order of the scores: sums of floats then equal those of any other program that adds in that order.
"""

import math
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any, cast

import numpy as np

from backend.model.node_table import Bools, Ints, NodeTable
from backend.model.objects import Job
from backend.scheduling.filters import RowFilter
from backend.scheduling.scores import Floats, RowScore, Score

VALUES_KEPT = 30_000_000
"""Scores kept in all, about 240 MB: many shapes on a small cluster, few on a large one."""
FEWEST_SHAPES, MOST_SHAPES = 4, 256
MANY_ROWS = 16
"""From so many changed rows on, computing all at once is quicker than row by row."""

Weighted = Sequence[tuple[Score, float]]


class KeptScore:
    """What is kept of one score. Arrays have shape (nodes,)."""

    __slots__ = (
        "at",
        "index",
        "normalises",
        "raw",
        "raw_items",
        "revision",
        "score",
        "values",
        "weight",
        "weighted",
        "weighted_items",
    )

    def __init__(self, index: int, score: Score, weight: float, job: Job, table: NodeTable) -> None:
        self.index = index
        self.score = score
        self.weight = weight
        self.normalises = score.normalises
        self.at = score.at if isinstance(score, RowScore) else None
        self.renew(job, table)

    def renew(self, job: Job, table: NodeTable) -> None:
        """Take the raw values as they are now; without normalising they are the values as well."""
        self.revision: Hashable = None if self.at else self.score.revision(job, table)
        self.raw: Any = self.score.raw(job, table)
        if self.raw is None:
            return
        self.raw_items = _items(self.raw)
        if not self.normalises:
            self.weigh(self.raw)

    def weigh(self, values: Floats) -> None:
        """Take normalised values."""
        self.values = values
        self.weighted = values if self.weight == 1.0 else values * self.weight
        self.weighted_items = _items(self.weighted)


class KeptShape:
    """Feasible nodes and scores for pods that ask for the same. Arrays have shape (nodes,).

    Scores that say that all nodes are equal to them (raw None) are left out.
    """

    def __init__(
        self, job: Job, table: NodeTable, static: Bools, filters: Sequence[RowFilter], scores: Weighted
    ) -> None:
        self._job = job
        self._static = static
        self._filters = filters
        self._weighted = scores
        self.version = table.version
        self._noted = 0
        """How many of the table's changes are in the values."""
        self.refusals: Any = None
        """Whatever the profile wants to keep of the nodes that are not feasible; forgotten when these change."""
        self._compute(table)

    def update(self, table: NodeTable) -> None:
        """Bring the feasible nodes and the raw values up to date."""
        changed = table.changed
        fresh = len(changed) - self._noted
        if fresh:
            if fresh > MANY_ROWS:
                self._compute(table)
                return
            rows = {changed[-1]} if fresh == 1 else set(changed[self._noted :])
            self._noted = len(changed)
            self._update_rows(table, rows)
        for kept in self._revised:
            if kept.score.revision(self._job, table) != kept.revision:
                was_equal = kept.raw is None
                kept.renew(self._job, table)
                if was_equal != (kept.raw is None):
                    self._compute(table)
                    return
                self._stale.add(kept.index)

    def total(self) -> Floats:
        """Weighted sums of the values, minus infinity where a node is not feasible; some node must be feasible.

        Not to be changed.
        """
        if self._stale:
            feasible = None if self.count == len(self.feasible) else self.feasible
            for kept in self.scores:
                if kept.normalises and kept.index in self._stale:
                    kept.weigh(kept.score.normalise(kept.raw, feasible))
            self._stale.clear()
            self._total_all()
        else:
            for row in self._stale_rows:
                self._total_row(row)
        self._stale_rows.clear()
        return self.totals

    def of_rows(self, rows: Ints) -> tuple[list[Floats], list[Floats], Floats]:
        """Raw values, values and totals of some feasible rows alone, normalised over these; shape (rows,) each."""
        raws = [kept.raw.take(rows) for kept in self.scores]
        values = []
        totals = np.zeros(len(rows))
        for kept, raw in zip(self.scores, raws, strict=True):
            normalised = kept.score.normalise(raw, None) if kept.normalises else raw
            values.append(normalised)
            totals += normalised if kept.weight == 1.0 else normalised * kept.weight
        return raws, values, totals

    def _update_rows(self, table: NodeTable, rows: set[int]) -> None:
        job = self._job
        feasible, static = self._feasible_items, self._static_items
        for row in rows:
            fits = static[row]
            for one in self._filters:
                fits = fits and one.at(job, table, row)
            if fits != feasible[row]:
                feasible[row] = fits
                self.count += 1 if fits else -1
                self.refusals = None
                self._stale |= self._normalising
        for kept in self._by_row:
            items, at = kept.raw_items, kept.at
            if kept.normalises:
                for row in rows:
                    value = at(job, table, row)
                    if value != items[row]:
                        items[row] = value
                        self._stale.add(kept.index)
            elif kept.weight == 1.0:  # raw and weighted values are one array
                for row in rows:
                    items[row] = at(job, table, row)
            else:
                weighted, weight = kept.weighted_items, kept.weight
                for row in rows:
                    items[row] = value = at(job, table, row)
                    weighted[row] = weight * value
        self._stale_rows |= rows

    def _compute(self, table: NodeTable) -> None:
        job = self._job
        feasible = self._static.copy()
        for one in self._filters:
            feasible &= one.mask(job, table)
        self.feasible = feasible
        self.count = int(np.count_nonzero(feasible))
        """Feasible nodes."""
        self.refusals = None
        self.totals = np.empty(len(feasible))
        self._feasible_items = _items(feasible)
        self._static_items = _items(self._static)
        self._total_items = _items(self.totals)
        all_scores = [KeptScore(index, *one, job, table) for index, one in enumerate(self._weighted)]
        self.scores = [kept for kept in all_scores if kept.raw is not None]
        self._by_row: list[Any] = [kept for kept in self.scores if kept.at]
        self._revised = [kept for kept in all_scores if kept.revision is not None]
        self._normalising = {kept.index for kept in self.scores if kept.normalises}
        self._stale = set(self._normalising)
        """Scores whose raw values or feasible nodes have changed since they were normalised."""
        self._stale_rows: set[int] = set()
        """Rows that have changed since the totals were added up."""
        if not self._stale:
            self._total_all()
        self._noted = len(table.changed)

    def _total_all(self) -> None:
        totals = self.totals
        weighted = [kept.weighted for kept in self.scores]
        if len(weighted) > 1:
            np.add(weighted[0], weighted[1], out=totals)
            for values in weighted[2:]:
                totals += values
        else:
            totals[:] = weighted[0] if weighted else 0.0
        if self.count < len(totals):
            np.putmask(totals, ~self.feasible, -math.inf)

    def _total_row(self, row: int) -> None:
        total = 0.0
        if self._feasible_items[row]:
            for kept in self.scores:
                total += kept.weighted_items[row]
        else:
            total = -math.inf
        self._total_items[row] = total


def _items(values: Floats | Bools) -> Any:
    """A view of the same memory, through which single items are read and written several times faster."""
    return memoryview(cast(Any, values))


class KeptShapes:
    """What is kept of the newest shapes."""

    def __init__(self, filters: Sequence[RowFilter], scores: Weighted) -> None:
        self._filters = filters
        self._scores = scores
        self._keys: list[Callable[[Job], Hashable]] = [
            one.key for one in (*filters, *(score for score, _ in scores)) if hasattr(one, "key")
        ]
        self._shapes: OrderedDict[Hashable, KeptShape] = OrderedDict()

    def of(self, job: Job, table: NodeTable, static: Bools, static_key: Hashable) -> KeptShape:
        """What is kept for the shape of a job, up to date. `static` is the mask of the static filters for its key."""
        shape: Hashable = (
            job.cpu_request_millis,
            job.memory_bytes,
            job.image,
            job.image_bytes,
            job.workload,
            static_key,
        )
        if job.labels or job.more_images:
            shape = (shape, job.more_images, tuple(job.labels.items()))
        if self._keys:
            shape = (shape, tuple([key(job) for key in self._keys]))
        kept = self._shapes.get(shape)
        if kept is None or kept.version != table.version:
            kept = self._shapes[shape] = KeptShape(job, table, static, self._filters, self._scores)
            self._forget_old(len(table))
        else:
            kept.update(table)
        return kept

    def _forget_old(self, nodes: int) -> None:
        each = max(1, nodes * (3 * len(self._scores) + 1))
        most = min(MOST_SHAPES, max(FEWEST_SHAPES, VALUES_KEPT // each))
        while len(self._shapes) > most:
            self._shapes.popitem(last=False)
