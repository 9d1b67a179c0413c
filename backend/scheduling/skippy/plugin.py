"""What Skippy's filters and scores have in common, and how raw values become scores from 0 to the highest priority."""

from collections.abc import Hashable
from typing import ClassVar

import numpy as np
from pydantic import BaseModel

from backend.model.fields import Parameters
from backend.model.node_table import Bools, NodeTable
from backend.model.objects import Job
from backend.scheduling.scores import Floats

MAX_PRIORITY = 10


class NoOptions(Parameters):
    """Nothing to set."""


class SkippyScore:
    """A score from 0 to `max_priority`. Raw values are whole numbers held as floats, unless a score says otherwise."""

    Options: ClassVar[type[BaseModel]] = NoOptions
    normalises = False

    def __init__(self, options: BaseModel | None = None, max_priority: int = MAX_PRIORITY) -> None:
        self.options = self.Options() if options is None else options
        self.max_priority = float(max_priority)

    def normalise(self, raw: Floats, feasible: Bools | None) -> Floats:
        """See Score."""
        return raw

    def revision(self, job: Job, table: NodeTable) -> Hashable:
        """See Score."""
        return None


class ScaledScore(SkippyScore):
    """A score whose best feasible node gets the highest priority and whose worst gets 0."""

    normalises = True

    def normalise(self, raw: Floats, feasible: Bools | None) -> Floats:
        """See Score."""
        return scale(raw, feasible, self.max_priority)


def _extremes(raw: Floats, feasible: Bools | None) -> tuple[float, float]:
    values = raw if feasible is None else raw.compress(feasible)
    if not len(values):
        return 0.0, 0.0
    return values.item(values.argmin()), values.item(values.argmax())


def scale(raw: Floats, feasible: Bools | None, highest: float) -> Floats:
    """int((x - least) / (most - least) x highest) over the feasible nodes; 0 for all where they are equal."""
    least, most = _extremes(raw, feasible)
    if most == least:
        return np.zeros(len(raw))
    return np.trunc((raw - least) / (most - least) * highest)


def inverse_scale(raw: Floats, feasible: Bools | None, highest: float) -> Floats:
    """int((x - most) / (least - most) x highest): the least is the best; 0 for all where they are equal."""
    least, most = _extremes(raw, feasible)
    if most == least:
        return np.zeros(len(raw))
    return np.trunc((raw - most) / (least - most) * highest) + 0.0  # 0 for the worst node, and not minus 0


def keep_share(raw: Floats, feasible: Bools | None, highest: float) -> Floats:
    """int(highest x (most - x + least) / most): a worse node keeps its share of the best; 0 for all if most is 0."""
    least, most = _extremes(raw, feasible)
    if most == 0:
        return np.zeros(len(raw))
    return np.trunc(highest * (most - raw + least) / most)
