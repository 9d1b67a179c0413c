"""The plain reference returns what the golden documents say."""

import pytest

from tests.golden.documents import Document, cases, row_cases
from tests.golden.reference_adapter import ReferenceAdapter, ReferenceScoringAdapter
from tests.golden.reference_skippy import (
    Cluster,
    Contention,
    DataLocality,
    EnoughGpuMemory,
    ExecutionTime,
    FreeAccelerator,
    LatencyAwareImageLocality,
    Measurements,
    Node,
    Pod,
    Reference,
    Storage,
    Usage,
    balance,
    cpu_in_millis,
    full_image_name,
    image_locality,
    inverse_scale,
    keep_share,
    nodes_to_find,
    requirements,
    scale,
    size_in_bytes,
)
from tests.golden.scenarios import check_corrected, check_scenario, check_scoring


@pytest.mark.parametrize("document", cases("skippy-scenario/1", conform=True))
def test_scenarios(document: Document) -> None:
    check_scenario(document, ReferenceAdapter())


@pytest.mark.parametrize("document", cases("skippy-scenario/1", conform=False))
def test_bugs_of_the_original_are_not_repeated(document: Document) -> None:
    check_corrected(document, ReferenceAdapter())


@pytest.mark.parametrize("document", cases("raith21-scoring/1", conform=True))
def test_scoring_on_heterogeneous_edges(document: Document) -> None:
    check_scoring(document, ReferenceScoringAdapter())


@pytest.mark.parametrize("row", row_cases("size-strings", label=lambda row: row["input"]))
def test_size_strings(row: Document) -> None:
    if "error" in row or row["conform"] is False:  # the original reads only the beginning, the whole has to match
        with pytest.raises(ValueError, match="not a size"):
            size_in_bytes(row["input"])
    else:
        assert size_in_bytes(row["input"]) == row["value"]


@pytest.mark.parametrize("row", row_cases("image-names", conform=True, label=lambda row: row["input"]))
def test_image_names(row: Document) -> None:
    assert full_image_name(row["input"]) == row["value"]


@pytest.mark.parametrize("row", row_cases("nodes-to-find", conform=True))
def test_nodes_to_find(row: Document) -> None:
    assert nodes_to_find(row["nodes"], row["percentage"]) == row["nodes_to_find"]


@pytest.mark.parametrize("row", row_cases("score-normalisation", conform=True))
def test_score_normalisation(row: Document) -> None:
    scores, maximum = row["scores"], row["t_max"]
    assert scale(scores, maximum) == row["scale"]
    assert inverse_scale(scores, maximum) == row["scale_inverse"]
    if "locality_reduce" in row:
        assert keep_share(scores, maximum) == row["locality_reduce"]


@pytest.mark.parametrize("row", row_cases("balanced-resource", conform=True))
def test_balanced_resource(row: Document) -> None:
    asked, left = row["requested"], row["allocatable"]
    assert balance(asked["cpu_millis"], asked["memory"], left["cpu_millis"], left["memory"], 10) == row["score"]


@pytest.mark.parametrize("row", row_cases("image-locality-clamp", conform=True))
def test_image_locality_clamp(row: Document) -> None:
    assert image_locality(row["sum_scores"], 10) == row["score"]


# --- Corrected behaviour that no golden document shows ----------------------------------------------------------------


@pytest.mark.parametrize(("text", "millis"), [("250m", 250), ("1", 1000), ("0.5", 500), ("0", 0)])
def test_cpu_quantities(text: str, millis: int) -> None:
    assert cpu_in_millis(text) == millis


@pytest.mark.parametrize("text", ["", "m", "-1", "1.5m", "1 ", "1\n", "1k", ".5"])
def test_other_texts_are_no_cpu_quantity(text: str) -> None:
    with pytest.raises(ValueError, match="not a cpu quantity"):
        cpu_in_millis(text)


@pytest.mark.parametrize("text", ["10Mi\n", "١", "1iK", "K"])
def test_other_texts_are_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="not a size"):
        size_in_bytes(text)


def test_all_of_a_node_is_allocatable_unless_given() -> None:
    node = Node("n", cpu_millis=4000, memory_bytes=123)
    assert (node.free_cpu_millis, node.free_memory_bytes) == (4000, 123)


def test_an_unknown_image_counts_as_nothing_and_is_placed() -> None:
    cluster = Cluster([Node("a"), Node("b")], bandwidth={"registry": {"a": 1.0, "b": 1.0}})
    decision = Reference(cluster, scores=[(1, LatencyAwareImageLocality())]).schedule(Pod("p", {}, [("x", None, None)]))
    assert (decision.chosen, decision.scores[0].raw, decision.needed_images) == ("a", [0, 0], ["x:latest"])
    assert cluster.nodes_with_image("x:latest") == 1


def test_storage_creates_nothing_on_reading_and_paths_split_at_the_first_slash() -> None:
    storage = Storage()
    assert storage.nodes("none") == []
    assert storage.buckets == {}
    with pytest.raises(KeyError):
        storage.put("none", "x", 1)
    storage.make_bucket("b", "s")
    storage.put("b", "deep/x", 100)
    nodes = [Node("n"), Node("s"), Node("t")]
    cluster = Cluster(nodes, bandwidth={"s": {"n": 10, "t": 20}}, storage=storage)
    pod = Pod("p", {"data.skippy.io/receives-from-storage/path": "b/deep/x"})
    assert [DataLocality().raw(cluster, pod, node, 10) for node in nodes] == [10, 0, 5]
    storage.make_bucket("b", "t")  # gets the items that are there already
    assert DataLocality().raw(cluster, pod, nodes[2], 10) == 0


def test_a_new_object_is_sent_with_the_size_of_its_label() -> None:
    node = Node("n")
    cluster = Cluster([node], bandwidth={"n": {"s": 10}}, storage=Storage({"b": ["s"]}))
    path = {"data.skippy.io/sends-to-storage/path": "b/new"}
    assert DataLocality().raw(cluster, Pod("p", path), node, 10) == 0
    assert DataLocality().raw(cluster, Pod("p", path | {"data.skippy.io/sends-to-storage": "1K"}), node, 10) == 100
    assert DataLocality().raw(cluster, Pod("p", path | {"data.skippy.io/sends-to-storage": "1k"}), node, 10) == 0


MEASURED = Measurements(
    {("rpi3", "f"): 4.0, ("nuc", "f"): 2.0, ("tx2", "f"): 1.0},
    {("rpi3", "f"): Usage(0.9, 0, 0, 0, 0.1), ("nuc", "f"): Usage(0.2, 0, 0, 0, 0.1)},
)
FUNCTION = Pod("p", {}, [("f", None, None)])


def test_contention_prefers_the_node_on_which_less_runs_then() -> None:
    nodes = [Node("rpi3_0"), Node("nuc_0")]
    cluster, score = Cluster(nodes), Contention(MEASURED)
    cluster.place(Pod("other", {}, [("f", None, None)]), nodes[1])
    raw = [score.raw(cluster, FUNCTION, node, 10) for node in nodes]
    assert raw == pytest.approx([-0.9, -0.4])
    assert score.normalise(raw, 10) == [0, 10]


def test_an_unknown_execution_time_is_not_the_best() -> None:
    nodes = [Node("rpi3_0"), Node("unheard_0"), Node("nuc_0"), Node("tx2_0")]
    score = ExecutionTime(MEASURED)
    raw = [score.raw(Cluster(nodes), FUNCTION, node, 10) for node in nodes]
    assert raw == [-4, -4, -2, -1]
    assert score.normalise(raw, 10) == [0, 0, 6, 10]


def test_requirements_are_json() -> None:
    shares = {"device.edgerun.io/arch": {"ARM32": 0.25}}
    for text in ('{"device.edgerun.io/arch": {"ARM32": 0.25}}', "{'device.edgerun.io/arch': {'ARM32': 0.25}}"):
        assert requirements(Pod("p", {"device.edgerun.io/requirements": text})) == shares


def test_gpu_memory_of_a_node_that_tells_none() -> None:
    gpu = {"device.edgerun.io/accelerator": "GPU"}
    cluster = Cluster([Node("n")])
    rule = EnoughGpuMemory()
    assert rule.passes(cluster, Pod("p", gpu), cluster.nodes[0])
    assert not rule.passes(cluster, Pod("p", gpu | {"device.edgerun.io/vram": "1"}), cluster.nodes[0])


def test_a_busy_tpu_is_left_alone_by_pods_that_ask_for_one() -> None:
    tpu = {"device.edgerun.io/accelerator": "TPU"}
    cluster = Cluster([Node("coral_0", labels=tpu)])
    (node,) = cluster.nodes
    rule = FreeAccelerator("TPU")
    assert rule.passes(cluster, Pod("p", tpu), node)
    cluster.place(Pod("other", tpu), node)
    assert not rule.passes(cluster, Pod("p", tpu), node)
    assert rule.passes(cluster, Pod("p"), node)
