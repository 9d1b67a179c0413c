"""What Skippy's filters and scores have in common, and how raw values become scores from 0 to the highest priority."""

from collections.abc import Hashable
from typing import ClassVar

import numpy as np
from pydantic import BaseModel

from backend.model.fields import Parameters
from backend.model.node_table import Bools, NodeTable
from backend.model.objects import Job
from backend.scheduling.scores import Floats, Ranged

MAX_PRIORITY = 10


class NoOptions(Parameters):
    """Nothing to set."""


class SkippyFilter:
    """A filter with options, or with none."""

    Options: ClassVar[type[BaseModel]] = NoOptions

    def __init__(self, options: BaseModel | None = None) -> None:
        self.options = self.Options() if options is None else options


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


class ScaledScore(Ranged, SkippyScore):
    """A score whose best feasible node gets the highest priority and whose worst gets 0."""

    normalises = True

    def scaled(self, raw: Floats, least: float, most: float) -> Floats:
        """int((x - least) / (most - least) x highest) over the feasible nodes; 0 for all where they are equal."""
        if most == least:
            return np.zeros(len(raw))
        return np.trunc((raw - least) / (most - least) * self.max_priority)

    def scaled_at(self, raw: float, least: float, most: float) -> float:
        """See Ranged."""
        return 0.0 if most == least else float(int((raw - least) / (most - least) * self.max_priority))


class InverseScaledScore(Ranged, SkippyScore):
    """A score whose least feasible raw value gets the highest priority and whose most gets 0."""

    normalises = True

    def scaled(self, raw: Floats, least: float, most: float) -> Floats:
        """int((x - most) / (least - most) x highest) over the feasible nodes; 0 for all where they are equal."""
        if most == least:
            return np.zeros(len(raw))
        return np.trunc((raw - most) / (least - most) * self.max_priority) + 0.0  # 0 for the worst, and not minus 0

    def scaled_at(self, raw: float, least: float, most: float) -> float:
        """See Ranged."""
        return 0.0 if most == least else float(int((raw - most) / (least - most) * self.max_priority))


class KeptShareScore(Ranged, SkippyScore):
    """A score where a worse node keeps its share of the best: 10 s against 12 s give 10 and 8."""

    normalises = True

    def scaled(self, raw: Floats, least: float, most: float) -> Floats:
        """int(highest x (most - x + least) / most) over the feasible nodes; 0 for all if most is 0."""
        if most == 0:
            return np.zeros(len(raw))
        return np.trunc(self.max_priority * (most - raw + least) / most)

    def scaled_at(self, raw: float, least: float, most: float) -> float:
        """See Ranged."""
        return 0.0 if most == 0 else float(int(self.max_priority * (most - raw + least) / most))
