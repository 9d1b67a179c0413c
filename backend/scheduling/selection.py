"""How one of the feasible nodes is chosen: which are scored, and which of the best is taken."""

import random
from typing import NamedTuple, Protocol

import numpy as np

from backend.model.node_table import Ints
from backend.scheduling.kept import KeptShape
from backend.scheduling.scores import Floats


class Part(NamedTuple):
    """Some feasible rows and their scores alone, one entry a row."""

    rows: Ints
    raws: list[Floats]
    values: list[Floats]


class Chosen(NamedTuple):
    """The scores of a decision and the place in them that is taken. Arrays have one entry a place."""

    place: int
    equals: Ints
    """Places with the highest total."""
    totals: Floats
    part: Part | None
    """What the places are and their scores, where not all feasible nodes were scored; else places are rows."""
    scored: int
    """Feasible nodes among the places."""
    among: str
    """The rest of the sentence that explains the choice."""


class Selection(Protocol):
    """Chooses among the feasible nodes, of which there is at least one."""

    def choose(self, kept: KeptShape) -> Chosen:
        """See Chosen."""
        ...


class DrawnAmongEquals:
    """All feasible nodes are scored; among equals a seeded draw decides, as in kube-scheduler."""

    def __init__(self, ties: random.Random) -> None:
        self._ties = ties

    def choose(self, kept: KeptShape) -> Chosen:
        """See Selection."""
        totals = kept.total()
        best = int(totals.argmax())
        equals = (totals == totals.item(best)).nonzero()[0]
        count = kept.count
        among = f"the highest of {count} feasible nodes" if count > 1 else "the only feasible node"
        if len(equals) > 1:
            best = equals.item(self._ties.randrange(len(equals)))
            among = f"drawn from {len(equals)} equals, {among}"
        return Chosen(best, equals, totals, None, count, among)


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

    def choose(self, kept: KeptShape) -> Chosen:
        """See Selection."""
        nodes = len(kept.feasible)
        start = self.start % nodes
        to_find = nodes_to_find(nodes, self._percentage)
        if to_find < kept.count:
            return self._among_first(kept, start, to_find)
        count = kept.count
        totals = kept.total()
        best = int(totals.argmax())
        highest = totals.item(best)
        equals = (totals == highest).nonzero()[0]
        if best < start:
            later = equals[equals.searchsorted(start) :]
            if len(later):
                best = later.item(0)
        self.start = (_last(kept, start) + 1) % nodes
        return Chosen(best, equals, totals, None, count, _among(len(equals), count, count))

    def _among_first(self, kept: KeptShape, start: int, to_find: int) -> Chosen:
        feasible = kept.feasible.nonzero()[0]
        split = int(feasible.searchsorted(start))
        rows = np.concatenate((feasible[split:], feasible[:split]))[:to_find]
        raws, values, totals = kept.of_rows(rows)
        part = Part(rows, raws, values)
        best = int(totals.argmax())
        equals = (totals == totals.item(best)).nonzero()[0]
        self.start = (rows.item(-1) + 1) % len(kept.feasible)
        among = _among(len(equals), len(rows), kept.count)
        return Chosen(best, equals, totals, part, len(rows), among)


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
