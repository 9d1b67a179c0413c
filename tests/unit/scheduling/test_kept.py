"""What is kept of a shape equals what would be computed anew, whatever happens in between."""

import math
import random
from collections.abc import Hashable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.model import events as ev
from backend.model.node_table import NodeTable
from backend.model.objects import Job
from backend.model.state import ClusterState
from backend.scheduling.filters import ResourcesFit
from backend.scheduling.framework import Profile
from backend.scheduling.kept import LARGEST_VALUE, KeptShape
from backend.scheduling.scores import Floats, Ranged
from backend.scheduling.selection import DrawnAmongEquals, FirstInWalk
from tests.unit.scheduling.small_world import cluster, job, node, pending, running


class Given:
    """A score whose values a test sets row by row."""

    name = "Given"
    normalises = False

    def __init__(self, values: list[float]) -> None:
        self.values = values

    def raw(self, job: Job, table: NodeTable) -> Floats:
        return np.array(self.values, np.float64)

    def at(self, job: Job, table: NodeTable, row: int) -> float:
        return self.values[row]

    def normalise(self, raw: Floats, feasible: Any) -> Floats:
        return raw

    def revision(self, job: Job, table: NodeTable) -> Hashable:
        return None


class Relative(Ranged, Given):
    """The same in relation to the feasible nodes' least and most."""

    name = "Relative"
    normalises = True

    def scaled(self, raw: Floats, least: float, most: float) -> Floats:
        return np.zeros(len(raw)) if least == most else (raw - least) / (most - least)

    def scaled_at(self, raw: float, least: float, most: float) -> float:
        return 0.0 if least == most else (raw - least) / (most - least)

    def normalise(self, raw: Floats, feasible: Any) -> Floats:
        return Ranged.normalise(self, raw, feasible)


def kept_of(state: ClusterState, scores: list[tuple[Any, float]]) -> KeptShape:
    table = state.nodes
    return KeptShape(job(), table, np.ones(len(table), np.bool_), [ResourcesFit()], scores)


def said(kept: KeptShape, shown: int) -> tuple[Any, ...]:
    kept.total()
    rows = kept.ranked(shown)
    return (
        kept.count,
        kept.feasible.tolist(),
        kept.totals.tolist(),
        list(rows),
        kept.equals(shown),
        kept.totals_of(rows),
        kept.show(rows),
    )


steps = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 3), st.sampled_from(["value", "relative", "fill", "free"])),
    max_size=25,
)


@given(st.lists(st.integers(0, 3), min_size=8, max_size=8), steps, st.integers(1, 8), st.sampled_from([1.0, 0.3]))
def test_kept_equals_new_after_any_changes(
    start: list[int], changes: list[tuple[int, int, str]], shown: int, weight: float
) -> None:
    state = cluster(*[node(f"n{k}") for k in range(8)])
    table = state.nodes
    plain, relative = Given([float(value) for value in start]), Relative([float(value) for value in reversed(start)])
    scores = [(plain, weight), (relative, 1.0)]
    kept = kept_of(state, scores)
    big = job(cpu=4, memory=1)
    full: set[int] = set()
    for row, value, what in changes:
        if what == "value":
            plain.values[row] = float(value)
        elif what == "relative":
            relative.values[row] = float(value)
        elif what == "fill" and row not in full and len(full) < 7:
            table.place(row, big)
            full.add(row)
        elif what == "free" and row in full:
            table.place(row, big, -1)
            full.discard(row)
        table.changed.append(row)
        kept.update(table)
        if value:  # sometimes several changes come together
            assert said(kept, shown) == said(kept_of(state, scores), shown)
    assert said(kept, shown) == said(kept_of(state, scores), shown)


def test_the_ranking_is_by_total_then_in_node_order() -> None:
    values = [2, 3, 1, 3, 2, 0, 3]
    kept = kept_of(cluster(*[node(f"n{k}") for k in range(7)]), [(Given([float(v) for v in values]), 1.0)])
    kept.total()
    assert kept.ranked(5) == [1, 3, 6, 0, 4]
    assert kept.equals(5) == [1, 3, 6]
    assert kept.equals(1) == [1, 3, 6]
    assert kept.ranked(99) == [1, 3, 6, 0, 4, 2, 5]


@pytest.mark.parametrize("strange", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("selection", [DrawnAmongEquals(random.Random(1)), FirstInWalk(100), FirstInWalk(1)])
@pytest.mark.parametrize("kind", [Given, Relative])
def test_a_score_that_gives_no_number_does_not_end_a_round(strange: float, selection: Any, kind: Any) -> None:
    """Of 120 nodes one in three gets what is no number: 0, or the largest value there is."""
    state = cluster(*[node(f"n{k}") for k in range(120)])
    score = kind([strange if k % 3 == 0 else 5.0 for k in range(120)])
    profile = Profile("own", [(score, 1.0)], selection, explain_nodes=20)
    for number in range(3):
        decision = profile.place(pending(state, job(f"j{number}")), state)
        assert decision.node is not None
        assert all(math.isfinite(total) and abs(total) <= LARGEST_VALUE for total in decision.totals)
        state.apply(decision)
    assert ev.decode(ev.encode(decision)) == decision


def test_nodes_that_left_are_not_looked_for() -> None:
    """150 rows of which 30 are gone: 80 % of 120 nodes are 96, and at least 100 are looked for, not 120."""
    state = cluster(*[node(f"n{k}") for k in range(150)])
    for k in range(0, 150, 5):
        state.apply(ev.NodeRemoved(1.0, f"n{k}", "gone"))
    profile = Profile("own", [(Given([1.0] * 150), 1.0)], FirstInWalk(80), explain_nodes=3)
    assert "100 scored of 120" in profile.place(pending(state), state).reason


def test_an_absurd_request_fits_nowhere() -> None:
    state = cluster(node("a"))
    running(state, "a", job("old"))
    absurd = Job("j", "w", memory_bytes=2**63 - 1)
    table = state.nodes
    assert (ResourcesFit().mask(absurd, table).tolist(), ResourcesFit().at(absurd, table, 0)) == ([False], False)
