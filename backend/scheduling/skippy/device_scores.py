"""Scores of the heterogeneous edge evaluation (skippy-faas-sim.md, section 9.5)."""

import ast
import json
import math
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import BaseModel, Field

from backend.model.fields import Parameters
from backend.model.labels import REQUIREMENTS
from backend.model.node_table import NodeTable
from backend.model.objects import Job
from backend.scheduling.scores import Floats
from backend.scheduling.skippy.devices import RowSums, contention, execution_s
from backend.scheduling.skippy.plugin import MAX_PRIORITY, ScaledScore


@lru_cache(maxsize=1024)
def read_requirements(text: str) -> dict[str, dict[str, float]]:
    """Label key -> value -> share, from JSON or from the text of a Python dictionary, as the originals write it.

    Empty for a text that is neither: a label that nobody can read asks for nothing. What is no text or no number in it,
    or a number beyond all measure, is left out.
    """
    found: Any = None
    for read in (json.loads, ast.literal_eval):
        try:
            found = read(text)
            break
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
    if not isinstance(found, dict):
        return {}
    return {
        key: {value: float(share) for value, share in shares.items() if isinstance(value, str) and _is_share(share)}
        for key, shares in found.items()
        if isinstance(key, str) and isinstance(shares, dict)
    }


MOST_SHARE = 1e9
"""A share is a part of 1; what exceeds this is a mistake, and sums of such could exceed what a float holds."""


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and abs(value) <= MOST_SHARE


class CapabilityMatching(ScaledScore):
    """Devices that the pod's requirements label prefers."""

    name = "CapabilityMatching"

    def raw(self, job: Job, table: NodeTable) -> Floats:
        """Sum of the shares that the label gives to the values of the node's labels."""
        total = np.zeros(len(table))
        for key, shares in read_requirements(job.labels.get(REQUIREMENTS, "")).items():
            for value, share in shares.items():
                if share:
                    total += np.where(table.labelled(key, value), share, 0.0)
        return total


class ExecutionTime(ScaledScore):
    """Devices on which the pod's image runs quickest."""

    name = "ExecutionTime"

    def raw(self, job: Job, table: NodeTable) -> Floats:
        """Minus the mean seconds; a device without a measurement gets the worst value of the nodes that are there.

        (In the original it gets the best.)
        """
        seconds = np.array([_nan(execution_s(job, node)) for node in table.nodes], np.float64)
        known = ~np.isnan(seconds)
        there = known & table.present
        worst = float(seconds[there].max()) if there.any() else 0.0
        return -np.where(known, seconds, worst)


def _nan(value: float | None) -> float:
    return math.nan if value is None else value


class ContentionOptions(Parameters):
    """Options of Contention."""

    own_use: Literal["against", "for"] = Field(
        "against",
        description="whether the pod's own use counts against a node, or for it as in the published evaluation",
    )


class Contention(ScaledScore):
    """Devices whose disk, network, CPU and GPU the pods there leave alone, by measured use."""

    name = "Contention"
    Options: ClassVar[type[BaseModel]] = ContentionOptions

    def __init__(self, options: BaseModel | None = None, max_priority: int = MAX_PRIORITY) -> None:
        super().__init__(options, max_priority)
        assert isinstance(self.options, ContentionOptions)
        self._sign = 1.0 if self.options.own_use == "for" else -1.0
        self._running = RowSums(contention)

    def raw(self, job: Job, table: NodeTable) -> Floats:
        """Own use (negative, unless own_use is "for") less the use of the pods there."""
        own = [contention(job, node) for node in table.nodes]
        return self._sign * np.array(own, np.float64) - self._running.of(table)

    def at(self, job: Job, table: NodeTable, row: int) -> float:
        """See RowScore."""
        return self._sign * contention(job, table.nodes[row]) - self._running.at(table, row)
