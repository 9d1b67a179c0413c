"""Decisions as a list and in full, out of the table that a log folds into."""

import pyarrow as pa
import pytest

from backend.folds import decisions
from backend.folds.tables import fold
from backend.model import events as ev
from tests.unit.folds.logs import created, node, started, submitted

SCORES = (
    ev.PluginScores("own-score", 2.0, (10.0, 10.0, 5.0), (7.0, 7.0, 3.5)),
    ev.PluginScores("plain", 1.0, (5.0, 5.0, 0.0)),
)
PLACED = ev.DecisionMade(
    7, "a", "n2", "default", "n2: drawn from 2 equals", 5, ("n1", "n2", "n3"), (25.0, 25.0, 10.0), SCORES,
    {"fit": ("n4",)}, {"fit": 3}, False, ("img:1",),
)  # fmt: skip
REFUSED = ev.DecisionMade(
    5, "a", None, "default", "no node fits", refused={"fit": ("n1", "n2"), "taint": ("n3",)},
    refused_counts={"fit": 2, "taint": 1}, permanent=True,
)  # fmt: skip


@pytest.fixture(scope="module")
def made() -> pa.Table:
    return fold([started(), node(0, "n1"), submitted(0), created(0), REFUSED, PLACED])["decisions"]


def test_a_list_has_no_nodes_and_counts_refusals(made: pa.Table) -> None:
    first, second = decisions.entries(made)
    assert (first["seq"], first["node"], first["job"], first["refused"], first["permanent"]) == (4, None, "a", 3, True)
    assert (second["seq"], second["node"], second["feasible"], second["refused"]) == (5, "n2", 5, 3)
    assert "detail" not in first
    assert "refused_counts" not in first


def test_scores_are_raw_normalised_and_weighted(made: pa.Table) -> None:
    found = decisions.in_full(made, 5, {"plain": "Something."})
    assert found is not None
    own, plain = found["scores"]
    assert (own["plugin"], own["description"], own["weight"]) == ("own-score", "", 2.0)
    assert (own["raw"], own["normalised"], own["weighted"]) == ([7.0, 7.0, 3.5], [10.0, 10.0, 5.0], [20.0, 20.0, 10.0])
    assert (plain["description"], plain["raw"], plain["weighted"]) == ("Something.", [5.0, 5.0, 0.0], [5.0, 5.0, 0.0])
    assert [sum(parts) for parts in zip(own["weighted"], plain["weighted"], strict=True)] == found["totals"]
    assert found["ranks"] == [1, 1, 3]
    assert found["needed_images"] == ["img:1"]


def test_a_refused_pod_says_per_filter_how_many_and_which(made: pa.Table) -> None:
    found = decisions.in_full(made, 4, {"fit": "Enough left."})
    assert found is not None
    assert found["nodes"] == found["scores"] == []
    assert found["refusals"] == [
        {"filter": "fit", "description": "Enough left.", "count": 2, "nodes": ["n1", "n2"]},
        {"filter": "taint", "description": "", "count": 1, "nodes": ["n3"]},
    ]


@pytest.mark.parametrize("seq", [0, 3, 6, 2**63 - 1])
def test_another_event_is_no_decision(made: pa.Table, seq: int) -> None:
    assert decisions.in_full(made, seq, {}) is None


@pytest.mark.parametrize(
    ("asked", "seqs"),
    [({}, [4, 5]), ({"placed": True}, [5]), ({"placed": False}, [4]), ({"job": "a"}, [4, 5]), ({"job": "b"}, [])],
)
def test_some_of_the_decisions(made: pa.Table, asked: dict, seqs: list[int]) -> None:
    assert [row["seq"] for row in decisions.entries(decisions.select(made, **asked))] == seqs


def test_equals_share_a_rank_and_what_has_no_total_has_none() -> None:
    assert decisions.ranks([3.0, None, 7.0, 3.0, 1.0]) == [2, None, 1, 2, 4]
    assert decisions.ranks([]) == []
