"""Comparing runs of a store: from ids to what `backend.experiments.comparison` takes."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec

from backend.experiments.comparison import compare
from backend.experiments.errors import SpecificationError
from backend.experiments.measures import RunData
from backend.experiments.specification import Specification, parse
from backend.store.store import Store

MAX_RUNS = 1_000
"""Runs on one side."""
_TABLES = ("jobs", "usage", "nodes")


class ComparisonError(ValueError):
    """Groups of runs that cannot be compared; the message says why."""


def compare_runs(store: Store, a: Sequence[str], b: Sequence[str]) -> dict[str, Any]:
    """The comparison of two groups of runs. Raises ComparisonError, and UnknownError for a run that is not there."""
    a, b = list(dict.fromkeys(a)), list(dict.fromkeys(b))
    for side in (a, b):
        if not 1 <= len(side) <= MAX_RUNS:
            raise ComparisonError(f"Name 1 to {MAX_RUNS:,} runs on either side, not {len(side):,}.")
    twice = sorted(set(a) & set(b))
    if twice:
        raise ComparisonError(f"The run {twice[0]} is on both sides; a run is compared with others.")
    specifications: dict[str, Specification | None] = {}
    sides = [[_data(store, run, specifications) for run in side] for side in (a, b)]
    try:
        return compare(*sides)
    except ValueError as error:
        raise ComparisonError(f"These runs cannot be compared: {error}.") from None


def _data(store: Store, run: str, specifications: dict[str, Specification | None]) -> RunData:
    row = store.run(run)
    if row.experiment not in specifications:
        specifications[row.experiment] = stored_specification(store, row.experiment)
    return RunData(
        row=msgspec.to_builtins(row),
        specification=specifications[row.experiment],
        tables={name: store.table(run, name) for name in _TABLES},
    )


def stored_specification(store: Store, experiment: str) -> Specification | None:
    """The specification of an experiment; None if it has none, or one that this version cannot read."""
    stored = store.experiment(experiment).specification
    return None if stored is None else _parse(msgspec.json.encode(stored))


@lru_cache(maxsize=256)  # the same few are asked for with every look at a run
def _parse(text: bytes) -> Specification | None:
    try:
        return parse(text)
    except SpecificationError:
        return None
