"""What an implementation of the Skippy scheduler has to return for the golden documents, whatever it looks like inside.

An implementation is brought to a document by an adapter. `check_scenario` and `check_scoring` replay a document that
conforms; `check_corrected` asserts the right behaviour for a document that records a bug of the original.
"""

import builtins
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pytest

from tests.golden.documents import Document, conforms

VRAM_LABEL = "device.edgerun.io/vram"
TOLERANCE = 1e-9
NOTHING = 1e-12  # what may be left where sums cancel each other out
MAX_PRIORITY = 10
ORDER_DEPENDENT = "CapabilityMatchingPriority"


class Untold:
    """Stands for a field of an outcome that an implementation does not reveal; it is not compared."""


UNTOLD = Untold()


@dataclass
class Outcome:
    """What one `schedule` step returned; the fields are those of `expect` (schema skippy-scenario/1)."""

    start_index: int | Untold
    predicates_failed: dict[str, list[str]] | Untold
    num_nodes_to_find: int | Untold
    feasible: list[str] | Untold
    priorities: list[dict[str, Any]] | Untold
    total: list[float] | Untold
    chosen: str | None
    feasible_nodes: int
    needed_images: list[str] | Untold | None
    next_start_index: int | Untold
    chosen_allocatable_after: dict[str, int] | Untold | None


class Adapter(Protocol):
    """An implementation of the scheduler, as a scenario sees it."""

    def build(self, document: Document) -> None:
        """Make the cluster and the scheduler of the document; everything before is forgotten."""

    def schedule(self, pod: Document) -> Outcome:
        """Schedule (and place) the pod of a step."""

    def remove_pod(self, node: str, pod: str) -> None:
        """Give the resources of the pod back."""

    def remove_pod_images(self, node: str, pod: str) -> None:
        """Forget the images of a pod, which may be gone already, on the node."""

    def allocatable(self, node: str) -> dict[str, int]:
        """What is left of the node: `cpu_millis` and `memory`."""

    def images_on_node(self, node: str) -> list[str]:
        """Full names of the images on the node, in any order."""

    def final_state(self) -> Document:
        """The object `final_state` of the schema."""


class ScoringAdapter(Protocol):
    """An implementation of the raith21 filters and scores, as a scoring document sees it.

    The names are those of the documents. Predicates: CanRunPred, HasEnoughRamPredicate, NodeHasAcceleratorPred,
    NodeHasFreeTpu, NodeHasFreeGpu, NodeHasFreeGpu(use_vram). Priorities: CapabilityMatchingPriority,
    ExecutionTimePriority, ContentionPriority (the published rule, in which the pod's own load counts as a gain).
    """

    def build(self, document: Document) -> None:
        """Make the nodes of the document with their running pods."""

    def failed(self, pod: Document, predicate: str, nodes: Sequence[str]) -> list[str]:
        """Which of the nodes the predicate alone rejects for the pod, in the order given."""

    def scores(self, pod: Document, priority: str, nodes: Sequence[str]) -> tuple[list[float], list[float]]:
        """Raw and normalised scores of the nodes for the pod, in the order given."""


def check_scenario(document: Document, adapter: Adapter) -> None:
    """Replay a conforming scenario and compare every step and the final state."""
    adapter.build(document)
    for number, step in enumerate(document["steps"]):
        where = f"{document['id']} step {number}"
        expect = step["expect"]
        if step["op"] == "schedule":
            if expect["error"] is not None:
                with pytest.raises(getattr(builtins, expect["error"], Exception)):
                    adapter.schedule(step["pod"])
            else:
                _check_outcome(where, adapter.schedule(step["pod"]), expect)
        else:
            remove = adapter.remove_pod if step["op"] == "remove_pod" else adapter.remove_pod_images
            remove(step["node"], step["pod"])
            if "allocatable_after" in expect:
                _same(f"{where} allocatable", adapter.allocatable(step["node"]), expect["allocatable_after"])
            images = sorted(adapter.images_on_node(step["node"]))
            _same(f"{where} images", images, sorted(expect["images_on_node_after"]))
    _check_final_state(document["id"], adapter.final_state(), document["final_state"])


def check_scoring(document: Document, adapter: ScoringAdapter) -> None:
    """Compare predicates and priorities of every conforming case."""
    adapter.build(document)
    labels = {node["name"]: node["labels"] for node in document["nodes"]}
    for number, case in enumerate(document["cases"]):
        if not conforms(case):
            continue
        where, pod, expected = f"{document['id']} case {number}", case["pod"], case["predicates_failed"]
        can_run = [name for name in labels if name not in expected["CanRunPred"]]
        with_vram = [name for name in labels if VRAM_LABEL in labels[name]]
        asked_on = {"HasEnoughRamPredicate (on CanRun nodes)": can_run, "NodeHasFreeGpu(use_vram)": with_vram}
        for name, failed in expected.items():
            got = adapter.failed(pod, name.partition(" ")[0], asked_on.get(name, list(labels)))
            _same(f"{where} {name}", got, failed)
        _same(f"{where} scored nodes", can_run, case["scored_nodes"])
        for priority in case["priorities"]:
            if conforms(priority):
                raw, normalised = adapter.scores(pod, priority["name"], case["scored_nodes"])
                _close(f"{where} {priority['name']} raw", raw, priority["raw"])
                forgiven = _on_the_edge(priority, normalised) if priority["name"] == ORDER_DEPENDENT else set()
                wanted = [got if i in forgiven else x for i, (got, x) in enumerate(_pairs(normalised, priority))]
                _same(f"{where} {priority['name']} normalised", normalised, wanted)


def _pairs(normalised: Sequence[float], priority: Document) -> list[tuple[float, float]]:
    return list(zip(normalised, priority["normalised"], strict=True))


def _on_the_edge(priority: Document, normalised: Sequence[float]) -> set[int]:
    """Positions that are one off because the exact scaled score is a whole number.

    There the last bit of a sum decides whether truncation gives the number or the one below, and the documents do not
    tell the order of summation (their keys are sorted).
    """
    raw = priority["raw"]
    low, high = min(raw, default=0), max(raw, default=0)
    edge = set()
    for i, (got, wanted) in enumerate(_pairs(normalised, priority)):
        exact = (raw[i] - low) / (high - low) * MAX_PRIORITY if low < high else 0
        if abs(exact - round(exact)) < TOLERANCE and {got, wanted} == {round(exact), round(exact) - 1}:
            edge.add(i)
    return edge


def _check_outcome(where: str, outcome: Outcome, expect: Document) -> None:
    """Exact in everything but raw scores, weights and totals."""
    for name in (
        "start_index",
        "predicates_failed",
        "num_nodes_to_find",
        "feasible",
        "feasible_nodes",
        "chosen",
        "needed_images",
        "next_start_index",
    ):
        _same(f"{where} {name}", getattr(outcome, name), expect[name])
    if not isinstance(outcome.priorities, Untold):
        _same(f"{where} priorities", [one["name"] for one in outcome.priorities], _names(expect["priorities"]))
        for got, wanted in zip(outcome.priorities, expect["priorities"], strict=True):
            _close(f"{where} {wanted['name']} weight", [got["weight"]], [wanted["weight"]])
            _close(f"{where} {wanted['name']} raw", got["raw"], wanted["raw"])
            _same(f"{where} {wanted['name']} normalised", got["normalised"], wanted["normalised"])
    if not isinstance(outcome.total, Untold):
        _close(f"{where} total", outcome.total, expect["total"])
    wanted_left = expect.get("chosen_allocatable_after")
    _same(f"{where} allocatable of the chosen node", outcome.chosen_allocatable_after, wanted_left)


def _check_final_state(where: str, got: Document, wanted: Document) -> None:
    _same(f"{where} final start index", got["last_scored_node_index"], wanted["last_scored_node_index"])
    _same(f"{where} final nodes", sorted(got["nodes"]), sorted(wanted["nodes"]))
    for name, node in wanted["nodes"].items():
        _same(f"{where} final allocatable of {name}", got["nodes"][name]["allocatable"], node["allocatable"])
        for part in ("pods", "images"):
            _same(f"{where} final {part} of {name}", sorted(got["nodes"][name][part]), sorted(node[part]))
    counts = {image: got["image_num_nodes"].get(image, 0) for image in wanted["image_num_nodes"]}
    _same(f"{where} final nodes per image", counts, wanted["image_num_nodes"])


def _names(parts: Sequence[Document]) -> list[str]:
    return [part["name"] for part in parts]


def _same(where: str, got: Any, wanted: Any) -> None:
    assert isinstance(got, Untold) or got == wanted, f"{where}: {got!r} instead of {wanted!r}"


def _close(where: str, got: Sequence[float], wanted: Sequence[float]) -> None:
    wanted = [float(x) for x in wanted]
    assert [float(x) for x in got] == pytest.approx(wanted, rel=TOLERANCE, abs=NOTHING), f"{where}: {got} not {wanted}"


# --- Documents that record a bug of the original: the right behaviour, from their notes -------------------------------


def check_corrected(document: Document, adapter: Adapter) -> None:
    """Assert the right behaviour for a document with `conform` false; skips one that nobody has written down here."""
    check = CORRECTED.get(document["id"])
    if check is None and any(step["expect"].get("error") for step in document["steps"]):
        check = _does_not_abort
    if check is None:
        pytest.skip(f"no assertion for {document['id']}: {document['note']}")
    adapter.build(document)
    check(document, adapter)


def _outcomes(document: Document, adapter: Adapter) -> list[Outcome]:
    return [adapter.schedule(step["pod"]) for step in document["steps"]]


def _column(outcome: Outcome, name: str) -> tuple[dict[str, float], dict[str, float]]:
    """Raw and normalised scores of one priority by node."""
    assert not isinstance(outcome.priorities, Untold)
    assert not isinstance(outcome.feasible, Untold)
    column = next(one for one in outcome.priorities if one["name"] == name)
    raw = dict(zip(outcome.feasible, column["raw"], strict=True))
    return raw, dict(zip(outcome.feasible, column["normalised"], strict=True))


def _fallback_per_container(document: Document, adapter: Adapter) -> None:
    """s014: the architecture is looked up anew per container: (400e6 + 100e6) / 12.5e6 s on pi, 1300e6 / … on x86."""
    (outcome,) = _outcomes(document, adapter)
    raw, normalised = _column(outcome, "LatencyAwareImageLocalityPriority")
    _same("s014 raw", raw, {"pi": 40, "x86": 104})
    _same("s014 normalised", normalised, {"pi": 10, "x86": 3})  # int(10 · (104 − 104 + 40) / 104)
    _same("s014 chosen", outcome.chosen, "pi")


def _best_connected_storage(document: Document, adapter: Adapter) -> None:
    """s020: of several holders of a bucket the one with the highest bandwidth counts, in both directions."""
    receive, send = _outcomes(document, adapter)
    raw, normalised = _column(receive, "DataLocalityPriority")
    _same("s020 receive raw", raw, {"w1": 100, "w2": 10, "w3": 10})
    _same("s020 receive normalised", normalised, {"w1": 0, "w2": 10, "w3": 10})
    _same("s020 receive chosen", receive.chosen, "w2")
    raw, normalised = _column(send, "DataLocalityPriority")
    _same("s020 send raw", raw, {"w1": 200, "w2": 100, "w3": 100})
    _same("s020 send normalised", normalised, {"w1": 0, "w2": 10, "w3": 10})
    _same("s020 send chosen", send.chosen, "w2")


def _image_counts_once(document: Document, adapter: Adapter) -> None:
    """s028: 100 MB at 1 MB/s and at 2 MB/s, once although two containers use the image."""
    (outcome,) = _outcomes(document, adapter)
    raw, _ = _column(outcome, "LatencyAwareImageLocalityPriority")
    _same("s028 raw", raw, {"n1": 100, "n2": 50})
    _same("s028 needed images", outcome.needed_images, ["fn/a:1"])
    _same("s028 chosen", outcome.chosen, "n2")
    _same("s028 allocatable", adapter.allocatable("n2"), {"cpu_millis": 3800, "memory": 8170504192})


def _unknown_architecture(document: Document, adapter: Adapter) -> None:
    """s029: without the label the first listed architecture counts, here the one that the other node has."""
    (outcome,) = _outcomes(document, adapter)
    raw, normalised = _column(outcome, "LatencyAwareImageLocalityPriority")
    _same("s029 raw", raw["n1"], raw["n2"])
    _same("s029 normalised", normalised, {"n1": 10, "n2": 10})
    _same("s029 chosen", outcome.chosen, "n1")


def _does_not_abort(document: Document, adapter: Adapter) -> None:
    """Where the original first raised, an implementation has to choose one of the feasible nodes."""
    for step in document["steps"]:
        if step["op"] != "schedule":
            return
        outcome, expect = adapter.schedule(step["pod"]), step["expect"]
        _same(f"{document['id']} feasible", outcome.feasible, expect["feasible"])
        if expect["error"] is not None:
            assert outcome.chosen in expect["feasible"], f"{document['id']}: chose {outcome.chosen!r}"
            return


CORRECTED: dict[str, Callable[[Document, Adapter], None]] = {
    "s014-image-arch-fallback-sticky": _fallback_per_container,
    "s020-data-two-storage-nodes": _best_connected_storage,
    "s028-same-image-twice-in-pod": _image_counts_once,
    "s029-missing-arch-label": _unknown_architecture,
}
