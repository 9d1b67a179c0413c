"""The array implementation returns what the golden documents say."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest

from backend.model import events as ev
from backend.model.images import normalise_image
from backend.model.objects import Job, Node
from backend.model.quantities import QuantityError, memory_bytes
from backend.model.state import ClusterState
from backend.model.storage import labelled_size
from backend.scheduling.selection import nodes_to_find
from backend.scheduling.skippy import plugin, scores
from tests.golden.array_adapter import ArrayAdapter, ArrayScoringAdapter
from tests.golden.documents import Document, cases, row_cases
from tests.golden.reference_skippy import DEFAULT_CPU_MILLIS, DEFAULT_MEMORY_BYTES, balance
from tests.golden.scenarios import check_corrected, check_scenario, check_scoring


@pytest.mark.parametrize("document", cases("skippy-scenario/1", conform=True))
def test_scenarios(document: Document) -> None:
    check_scenario(document, ArrayAdapter())


@pytest.mark.parametrize("document", cases("skippy-scenario/1", conform=False))
def test_bugs_of_the_original_are_not_repeated(document: Document) -> None:
    check_corrected(document, ArrayAdapter())


@pytest.mark.parametrize("document", cases("raith21-scoring/1", conform=True))
def test_scoring_on_heterogeneous_edges(document: Document) -> None:
    check_scoring(document, ArrayScoringAdapter())


UNITS = {"n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1), "k": Fraction(1000)}
UNITS |= {unit: Fraction(1000**power) for power, unit in enumerate("MGTPE", start=2)}
UNITS |= {f"{unit}i": Fraction(1024**power) for power, unit in enumerate("KMGTPE", start=1)}


def kubernetes_bytes(text: str) -> int | None:
    """Bytes of a Kubernetes quantity, parts rounded up; None for another text. Blanks around it do no harm."""
    match = re.fullmatch(r"\s*([+-]?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,2})?)([A-Za-z]*)\s*", text, re.ASCII)
    return None if match is None or match[2] not in UNITS else math.ceil(Fraction(match[1]) * UNITS[match[2]])


@pytest.mark.parametrize("row", row_cases("size-strings", label=lambda row: row["input"]))
def test_size_strings(row: Document) -> None:
    """Sizes are Kubernetes quantities, in which 1,000 is k; a data label may have Skippy's K as well."""
    text = row["input"]
    skippy = row["value"] if "error" not in row and row["conform"] else None
    wanted = kubernetes_bytes(text)
    if wanted is None or wanted >= 2**63:
        with pytest.raises(QuantityError, match="is not a quantity" if wanted is None else "out of range"):
            memory_bytes(text)
    else:
        assert memory_bytes(text) == wanted
        assert skippy in {None, wanted}
    labelled = labelled_size({"size": text}, "size")
    usable = wanted if skippy is None else skippy
    assert labelled == (usable if usable is not None and 0 <= usable < 2**63 else 0)


@pytest.mark.parametrize("row", row_cases("image-names", conform=True, label=lambda row: row["input"]))
def test_image_names(row: Document) -> None:
    wanted = row["value"] if row["input"] else ""  # a pod without an image has none
    assert normalise_image(row["input"]) == wanted


@pytest.mark.parametrize("row", row_cases("nodes-to-find", conform=True))
def test_nodes_to_find(row: Document) -> None:
    assert nodes_to_find(row["nodes"], row["percentage"]) == row["nodes_to_find"]


@pytest.mark.parametrize("row", row_cases("score-normalisation", conform=True))
def test_score_normalisation(row: Document) -> None:
    """Alone, and among nodes that are not feasible."""
    values, highest = row["scores"], int(row["t_max"])
    alone = np.array(values, np.float64)
    mixed = np.array([x for value in values for x in (-1e6, value, 1e6)], np.float64)
    feasible = np.array([False, True, False] * len(values), np.bool_)
    rules = {
        "scale": plugin.ScaledScore,
        "scale_inverse": plugin.InverseScaledScore,
        "locality_reduce": plugin.KeptShareScore,
    }
    for name, rule in rules.items():
        if name in row:
            score = rule(max_priority=highest)
            assert score.normalise(alone, None).tolist() == row[name]
            assert score.normalise(mixed, feasible)[feasible].tolist() == row[name]
            extremes = score.extremes(alone, None)
            assert [score.scaled_at(float(value), *extremes) for value in values] == row[name]


@pytest.mark.parametrize("row", row_cases("balanced-resource", conform=True))
def test_balanced_resource(row: Document) -> None:
    """All nodes at once, and the row alone."""
    asked, left = row["requested"], row["allocatable"]
    wanted = row["score"]
    if not asked["cpu_millis"] or not asked["memory"]:  # a job that requests 0 requests nothing: the default counts
        defaults = asked["cpu_millis"] or DEFAULT_CPU_MILLIS, asked["memory"] or DEFAULT_MEMORY_BYTES
        wanted = balance(*defaults, left["cpu_millis"], left["memory"], 10)
    state = ClusterState()
    state.apply(ev.NodeAdded(0.0, Node("n", left["cpu_millis"], left["memory"])))
    job = Job("j", "w", cpu_request_millis=asked["cpu_millis"], memory_bytes=asked["memory"])
    score = scores.BalancedResource()
    assert score.raw(job, state.nodes).tolist() == [score.at(job, state.nodes, 0)] == [wanted]


@pytest.mark.parametrize("row", row_cases("image-locality-clamp", conform=True))
def test_image_locality_clamp(row: Document) -> None:
    state = ClusterState()
    state.apply(ev.NodeAdded(0.0, Node("n", 1000, 2**30, images=("i",))))
    state.apply(ev.CatalogueDeclared(0.0, {"i": {"": row["sum_scores"]}}))
    assert scores.ImageLocality().raw(Job("j", "w", image="i"), state.nodes).tolist() == [row["score"]]
