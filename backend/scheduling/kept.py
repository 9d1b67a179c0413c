"""What a profile keeps for pods of one shape: feasible nodes, raw scores, normalised scores, totals and their ranking.

Between two pods of a shape only the nodes change on which something was placed or ended. The NodeTable notes them, and
only their rows are computed again, so the cost of a placement hardly grows with the cluster. Totals are always added up
in the order of the scores: sums of floats then equal those of any other program that adds in that order.
"""

import math
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, cast

import numpy as np

from backend.model.events import PluginScores
from backend.model.node_table import Bools, Ints, NodeTable
from backend.model.objects import Job
from backend.scheduling.filters import RowFilter
from backend.scheduling.scores import Floats, Ranged, RowScore, Score

VALUES_KEPT = 30_000_000
"""Scores kept in all, about 240 MB: many shapes on a small cluster, few on a large one."""
FEWEST_SHAPES, MOST_SHAPES = 4, 256
MANY_ROWS = 16
"""From so many changed rows on, computing all at once is quicker than row by row."""
LARGEST_VALUE = 1e15
"""What stands for infinity where somebody's score gives it; a value that is no number counts 0."""

Weighted = Sequence[tuple[Score, float]]


def finite(values: Floats) -> Floats:
    """The values, with 0 for what is no number and the largest value for infinity: nothing else could be ranked."""
    if np.isfinite(values).all():
        return values
    return np.nan_to_num(values, nan=0.0, posinf=LARGEST_VALUE, neginf=-LARGEST_VALUE)


def finite_at(value: float) -> float:
    """What `finite` makes of one value."""
    if math.isfinite(value):
        return value
    return 0.0 if math.isnan(value) else math.copysign(LARGEST_VALUE, value)


def row_function(plugin: Any, job: Job, table: NodeTable) -> Callable[[int], Any]:
    """What a filter or score says of a row, for one job until a node changes."""
    made = getattr(plugin, "rows", None)
    return made(job, table) if made is not None else partial(plugin.at, job, table)


class KeptScore:
    """What is kept of one score. Arrays have shape (nodes,)."""

    __slots__ = (
        "at",
        "extremes",
        "index",
        "normalises",
        "ranged",
        "raw",
        "raw_items",
        "revision",
        "score",
        "shown",
        "value_items",
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
        self.at = row_function(score, job, table) if isinstance(score, RowScore) else None
        self.ranged = score if score.normalises and isinstance(score, Ranged) else None
        self.extremes: tuple[float, float] | None = None
        """Least and most by which the values were normalised."""
        self.shown: PluginScores | None = None
        """How a decision shows the ranked rows; None when a value or the ranking has changed since."""
        self.renew(job, table)

    def renew(self, job: Job, table: NodeTable) -> None:
        """Take the raw values as they are now; without normalising they are the values as well."""
        self.revision: Hashable = None if self.at else self.score.revision(job, table)
        self.raw: Any = self.score.raw(job, table)
        self.extremes = None
        if self.raw is None:
            return
        self.raw = finite(self.raw)
        self.raw_items = _items(self.raw)
        if not self.normalises:
            self.weigh(self.raw)

    def weigh(self, values: Floats) -> None:
        """Take normalised values."""
        self.values = values = finite(values)
        self.weighted = values if self.weight == 1.0 else values * self.weight
        self.value_items = _items(values)
        self.weighted_items = _items(self.weighted)
        self.shown = None

    def set_value(self, row: int, value: float) -> None:
        """Take one normalised value."""
        if value != self.value_items[row]:
            self.value_items[row] = value = finite_at(value)
            self.weighted_items[row] = self.weight * value
            self.shown = None

    def show(self, rows: Sequence[int]) -> PluginScores:
        """The score of some rows as a decision shows it."""
        items = self.value_items
        values = tuple([items[row] for row in rows])
        if not self.normalises:
            return PluginScores(self.score.name, self.weight, values)
        items = self.raw_items
        return PluginScores(self.score.name, self.weight, values, tuple([items[row] for row in rows]))


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
        self.nodes = table.present_count
        """Nodes that are there, feasible or not."""
        self._noted = 0
        """How many of the table's changes are in the values."""
        self._images = table.images_version
        self._ranked: list[int] | None = None
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
            self._update_rows(rows)
        if self._revised and table.images_version == self._images and self._by_images:
            return
        self._images = table.images_version
        for kept in self._revised:
            if kept.score.revision(self._job, table) != kept.revision:
                was_equal = kept.raw is None
                kept.renew(self._job, table)
                if was_equal != (kept.raw is None):
                    self._compute(table)
                    return
                self._anew = True
                self._touched |= self._normalising

    def total(self) -> Floats:
        """Weighted sums of the values, minus infinity where a node is not feasible; some node must be feasible.

        Not to be changed.
        """
        rows = self._stale_rows
        if self._touched:
            self._normalise(rows)
        if self._anew:
            self._total_all()
            self._anew = False
            self._ranked = None
        elif rows:
            for row in rows:
                self._total_row(row)
            if self._ranked is not None:
                self._rank_rows(rows)
        rows.clear()
        return self.totals

    def ranked(self, shown: int) -> list[int]:
        """The rows with the highest totals, best first and equals in node order; at most `shown` and the feasible ones.

        The totals must be up to date. Not to be changed.
        """
        shown = min(shown, self.count)
        if self._ranked is None or len(self._ranked) != shown:
            self._rank(shown)
        assert self._ranked is not None
        return self._ranked

    def equals(self, shown: int) -> list[int]:
        """All rows with the highest total, in node order."""
        ranked = self.ranked(shown)
        totals = self._total_items
        highest = totals[ranked[0]]
        if len(ranked) == self.count or totals[ranked[-1]] < highest:
            if len(ranked) == 1 or totals[ranked[1]] < highest:
                return ranked[:1]
            return [row for row in ranked if totals[row] == highest]
        equals: list[int] = (self.totals == highest).nonzero()[0].tolist()
        return equals

    def of_rows(self, rows: Ints) -> tuple[list[Floats], list[Floats], Floats]:
        """Raw values, values and totals of some feasible rows alone, normalised over these; shape (rows,) each."""
        raws = [kept.raw.take(rows) for kept in self.scores]
        values = []
        totals = np.zeros(len(rows))
        for kept, raw in zip(self.scores, raws, strict=True):
            normalised = finite(kept.score.normalise(raw, None)) if kept.normalises else raw
            values.append(normalised)
            totals += normalised if kept.weight == 1.0 else normalised * kept.weight
        return raws, values, totals

    def show(self, rows: list[int]) -> tuple[PluginScores, ...]:
        """All scores of some rows; those of the ranked rows are kept until they change."""
        if rows is not self._ranked:
            return tuple([kept.show(rows) for kept in self.scores])
        for kept in self.scores:
            if kept.shown is None:
                kept.shown = kept.show(rows)
        return tuple([kept.shown for kept in self.scores if kept.shown is not None])

    def totals_of(self, rows: Sequence[int]) -> tuple[float, ...]:
        """Totals of some rows."""
        items = self._total_items
        return tuple([items[row] for row in rows])

    # -- keeping up

    def _compute(self, table: NodeTable) -> None:
        job = self._job
        feasible = self._static.copy()
        for one in self._filters:
            feasible &= one.mask(job, table)
        self._fits = [row_function(one, job, table) for one in self._filters]
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
        self._by_images = all(getattr(kept.score, "revised_by_images", False) for kept in self._revised)
        """Whether all of these change with the images on nodes alone."""
        self._images = table.images_version
        self._normalising = {kept.index for kept in self.scores if kept.normalises}
        self._touched = set(self._normalising)
        """Normalising scores of which a raw value or the feasible nodes have changed."""
        self._stale_rows: set[int] = set()
        """Rows that have changed since the totals were added up."""
        self._anew = True
        """Whether all totals must be added up."""
        self._ranked = None
        self._outside = (-math.inf, 0)
        """(total, minus row) that no row outside the ranking exceeds."""
        self._noted = len(table.changed)

    def _update_rows(self, rows: set[int]) -> None:
        feasible, static = self._feasible_items, self._static_items
        for row in rows:
            fits = static[row]
            for one in self._fits:
                fits = fits and one(row)
            if fits != feasible[row]:
                feasible[row] = fits
                self.count += 1 if fits else -1
                self.refusals = None
                self._touched |= self._normalising
        for kept in self._by_row:
            at = kept.at
            if kept.normalises:
                items = kept.raw_items
                for row in rows:
                    value = at(row)
                    if value != items[row]:
                        items[row] = finite_at(value)
                        kept.shown = None
                        self._touched.add(kept.index)
            else:
                for row in rows:
                    kept.set_value(row, at(row))
        self._stale_rows |= rows

    def _normalise(self, rows: set[int]) -> None:
        feasible = None if self.count == len(self.feasible) else self.feasible
        for kept in self.scores:
            if kept.index not in self._touched:
                continue
            ranged = kept.ranged
            if ranged is None:
                kept.weigh(kept.score.normalise(kept.raw, feasible))
                self._anew = True
                continue
            extremes = ranged.extremes(kept.raw, feasible)
            if extremes == kept.extremes:
                for row in rows:
                    kept.set_value(row, ranged.scaled_at(kept.raw_items[row], *extremes))
                continue
            kept.extremes = extremes
            kept.weigh(ranged.scaled(kept.raw, *extremes))
            self._anew = True
        self._touched.clear()

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

    # -- ranking

    def _rank(self, shown: int) -> None:
        totals = self.totals
        size = len(totals)
        wanted = min(shown + 1, size)  # one more: the best of those outside
        if wanted < size:
            parted = totals.copy()
            parted.partition(size - wanted)
            least = parted.item(size - wanted)
            # What `partition` puts where among equals differs between machines, so only its value is used.
            rows = (totals > least).nonzero()[0].tolist()
            rows += (totals == least).nonzero()[0][: wanted - len(rows)].tolist()
        else:
            rows = list(range(size))
        items = self._total_items
        rows.sort(key=lambda row: (-items[row], row))
        self._ranked = rows[:shown]
        self._outside = (items[rows[shown]], -rows[shown]) if shown < len(rows) else (-math.inf, 0)
        self._forget_shown()

    def _rank_rows(self, rows: set[int]) -> None:
        """Keep the ranking where the changed rows leave the same nodes in it."""
        ranked = self._ranked
        assert ranked is not None
        items = self._total_items
        moved = False
        for row in rows:
            if row in ranked:
                moved = True
            elif (items[row], -row) > self._outside:
                self._outside = (items[row], -row)
        if moved and not self._in_order(ranked):
            self._ranked = ranked = sorted(ranked, key=lambda row: (-items[row], row))
            self._forget_shown()
        last = ranked[-1]
        if (items[last], -last) < self._outside:
            self._ranked = None

    def _in_order(self, rows: list[int]) -> bool:
        items = self._total_items
        before, last = math.inf, -1
        for row in rows:
            total = items[row]
            if total > before or (total == before and row < last):
                return False
            before, last = total, row
        return True

    def _forget_shown(self) -> None:
        for kept in self.scores:
            kept.shown = None


def _items(values: Floats | Bools) -> Any:
    """A view of the same memory, through which single items are read and written several times faster."""
    return memoryview(cast(Any, values))


class KeptShapes:
    """What is kept of the newest shapes."""

    def __init__(self, filters: Sequence[Any], scores: Weighted) -> None:
        """`filters` are all filters of the profile, those that need no keeping here included."""
        self._rows = [one for one in filters if isinstance(one, RowFilter) and not one.static]
        self._scores = scores
        self._keys: list[Callable[[Job], Hashable]] = [
            one.key for one in (*filters, *(score for score, _ in scores)) if hasattr(one, "key")
        ]
        self._shapes: OrderedDict[Hashable, KeptShape] = OrderedDict()

    def of(self, job: Job, table: NodeTable, static: Callable[[Job, NodeTable], Bools]) -> KeptShape:
        """What is kept for the shape of a job, up to date. `static` gives the mask of the static filters."""
        selector, labels = job.node_selector, job.labels
        shape: Hashable = (
            job.cpu_request_millis,
            job.memory_bytes,
            job.image,
            job.image_bytes,
            job.workload,
            job.tolerations,
            job.more_images,
            tuple(selector.items()) if selector else None,
            tuple(labels.items()) if labels else None,
        )
        if self._keys:
            shape = (shape, tuple([key(job) for key in self._keys]))
        kept = self._shapes.get(shape)
        if kept is None or kept.version != table.version:
            kept = self._shapes[shape] = KeptShape(job, table, static(job, table), self._rows, self._scores)
            self._forget_old(len(table))
        else:
            kept.update(table)
        return kept

    def _forget_old(self, nodes: int) -> None:
        each = max(1, nodes * (3 * len(self._scores) + 1))
        most = min(MOST_SHAPES, max(FEWEST_SHAPES, VALUES_KEPT // each))
        while len(self._shapes) > most:
            self._shapes.popitem(last=False)
