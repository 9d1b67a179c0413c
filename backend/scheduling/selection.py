"""How one of the feasible nodes is chosen: which are scored, and which of the best is taken."""

import random
from typing import NamedTuple, Protocol

import numpy as np

from backend.model.events import PluginScores
from backend.model.node_table import Ints
from backend.scheduling.kept import KeptShape
from backend.scheduling.scores import Floats


class Chosen(NamedTuple):
    """A choice, with what a decision lists of the scored nodes: the chosen one, then the other best ones."""

    rows: list[int]
    totals: tuple[float, ...]
    scores: tuple[PluginScores, ...]
    among: str
    """The rest of the sentence that explains the choice."""


class Selection(Protocol):
    """Chooses among the feasible nodes, of which there is at least one."""

    def choose(self, kept: KeptShape, shown: int) -> Chosen:
        """A choice that lists at most `shown` nodes."""
        ...


class DrawnAmongEquals:
    """All feasible nodes are scored; among equals a seeded draw decides, as in kube-scheduler."""

    def __init__(self, ties: random.Random) -> None:
        self._ties = ties

    def choose(self, kept: KeptShape, shown: int) -> Chosen:
        """See Selection."""
        kept.total()
        equals = kept.equals(shown)
        count = kept.count
        among = f"the highest of {count} feasible nodes" if count > 1 else "the only feasible node"
        best = equals[0]
        if len(equals) > 1:
            best = equals[self._ties.randrange(len(equals))]
            among = f"drawn from {len(equals)} equals, {among}"
        return _of_all(kept, best, shown, among)


def _of_all(kept: KeptShape, best: int, shown: int, among: str) -> Chosen:
    rows = chosen_first(kept.ranked(shown), best)
    return Chosen(rows, kept.totals_of(rows), kept.show(rows), among)


def chosen_first(ranked: list[int], best: int) -> list[int]:
    """The rows with the chosen one in front, as many as before."""
    return ranked if ranked[0] == best else [best, *[row for row in ranked if row != best]][: len(ranked)]


ALL = 100
ADAPTIVE_SHARE, ADAPTIVE_PER_NODE, ADAPTIVE_LEAST = 50.0, 125.0, 5.0
FEWEST_TO_FIND = 100
FEWEST_NODES = 5


def nodes_to_find(nodes: int, percentage: int) -> int:
    """How many feasible nodes are looked for among `nodes`; may exceed their number (Skippy specification, section 2).

    A percentage of 0 adapts: 50 less one for each 125 nodes, at least 5. At least 100 nodes are looked for.
    """
    if nodes < FEWEST_NODES or percentage >= ALL:
        return nodes
    share = float(percentage)
    if percentage <= 0:
        share = max(ADAPTIVE_SHARE - nodes / ADAPTIVE_PER_NODE, ADAPTIVE_LEAST)
    return max(int(nodes * share / 100), FEWEST_TO_FIND)


class FirstInWalk:
    """Walks the nodes once from where the last walk ended, scores the first feasible ones, takes the first of the best.

    Skippy specification, section 2. The next walk starts behind the last node that was scored.
    """

    def __init__(self, percentage: int) -> None:
        """`percentage` of the nodes is to be scored; 0 adapts to their number, 100 is all."""
        self._percentage = percentage
        self.start = 0
        """Row at which the next walk starts."""

    def choose(self, kept: KeptShape, shown: int) -> Chosen:
        """See Selection."""
        rows = len(kept.feasible)
        start = self.start % rows
        count = kept.count
        to_find = nodes_to_find(kept.nodes, self._percentage)
        if to_find < count:
            return self._among_first(kept, start, to_find, shown)
        kept.total()
        equals = kept.equals(shown)
        best = equals[0]
        if best < start and len(equals) > 1:
            best = next((row for row in equals if row >= start), best)
        self.start = (_last(kept, start) + 1) % rows
        return _of_all(kept, best, shown, _among(len(equals), count, count))

    def _among_first(self, kept: KeptShape, start: int, to_find: int, shown: int) -> Chosen:
        feasible = kept.feasible.nonzero()[0]
        split = int(feasible.searchsorted(start))
        rows = np.concatenate((feasible[split:], feasible[:split]))[:to_find]
        raws, values, totals = kept.of_rows(rows)
        self.start = (rows.item(-1) + 1) % len(kept.feasible)
        best = int(totals.argmax())  # the first of the best, in the order of the walk
        equals = int(np.count_nonzero(totals == totals.item(best)))
        places = np.array(chosen_first(_best_places(totals, rows, shown), best))
        scores = [
            PluginScores(
                one.score.name,
                one.weight,
                tuple(value.take(places).tolist()),
                tuple(raw.take(places).tolist()) if one.normalises else (),
            )
            for one, value, raw in zip(kept.scores, values, raws, strict=True)
        ]
        listed = rows.take(places).tolist()
        among = _among(equals, len(rows), kept.count)
        return Chosen(listed, tuple(totals.take(places).tolist()), tuple(scores), among)


def _best_places(totals: Floats, rows: Ints, shown: int) -> list[int]:
    """Places of the highest totals, best first and equals in node order."""
    order = np.lexsort((rows, -totals))
    places: list[int] = order[:shown].tolist()
    return places


def _last(kept: KeptShape, start: int) -> int:
    """The last feasible row of a walk from `start`."""
    feasible = kept.feasible
    nodes = len(feasible)
    if kept.count == nodes:
        return (start - 1) % nodes
    before = feasible[:start][::-1]
    if start:
        place = int(before.argmax())
        if before[place]:
            return start - 1 - place
    return nodes - 1 - int(feasible[::-1].argmax())


def _among(equals: int, scored: int, feasible: int) -> str:
    if scored == 1:
        return "the only feasible node"
    what = f"{scored} feasible nodes" if scored == feasible else f"{scored} scored of {feasible} feasible nodes"
    return f"the highest of {what}" if equals == 1 else f"the first in the walk of {equals} equals, highest of {what}"
