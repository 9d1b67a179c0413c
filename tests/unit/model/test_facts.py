"""Images, storage and bandwidth: what schedulers know besides the nodes."""

import pytest

from backend.model import events as ev
from backend.model.bandwidth import REGISTRY, BandwidthModel, LocalityBandwidth, MatrixBandwidth, RandomBandwidth
from backend.model.facts import ClusterFacts
from backend.model.images import ImageCatalogue, normalise_image
from backend.model.objects import Job, Node, Pod
from backend.model.state import ClusterState
from backend.model.storage import StorageIndex, StoredObject, split_path

EDGE = {"locality.skippy.io/type": "edge"}


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        pytest.param("a", "a:latest", id="no tag"),
        pytest.param("a:1", "a:1", id="a tag"),
        pytest.param("reg:5000/a", "reg:5000/a:latest", id="a port is no tag"),
        pytest.param("reg:5000/a:1", "reg:5000/a:1", id="a port and a tag"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_canonical_names_of_images(name: str, canonical: str) -> None:
    assert normalise_image(name) == canonical


def test_a_catalogue_knows_images_by_any_of_their_names_and_creates_none_by_reading() -> None:
    catalogue = ImageCatalogue()
    catalogue.add("a", {"amd64": 10})
    catalogue.add("a:latest", {"arm": 7})
    assert (dict(catalogue.sizes("a")), dict(catalogue.sizes("b")), catalogue.names()) == (
        {"amd64": 10, "arm": 7},
        {},
        ["a:latest"],
    )


def test_a_negative_size_is_refused() -> None:
    with pytest.raises(ValueError, match="image 'a' is -1 bytes on arm"):
        ImageCatalogue().add("a", {"arm": -1})


def test_all_nodes_of_a_bucket_hold_its_objects_those_that_join_later_too() -> None:
    index = StorageIndex()
    index.make_bucket("b", "n1")
    index.put(StoredObject("b", "x", 5))
    index.make_bucket("b", "n2")
    assert index.object_nodes("b", "x") == ["n1", "n2"]
    assert index.holdings("n2") == [StoredObject("b", "x", 5)]
    assert index.listing() == ["/n1/b/x", "/n2/b/x"]


def test_reading_of_an_unknown_bucket_creates_nothing() -> None:
    index = StorageIndex()
    assert (index.bucket_nodes("b"), index.stat("b", "x"), index.object_nodes("b", "x"), index.buckets()) == (
        [],
        None,
        [],
        {},
    )


def test_an_object_needs_a_node_that_holds_its_bucket() -> None:
    with pytest.raises(KeyError, match="no node holds the bucket 'b'"):
        StorageIndex().put(StoredObject("b", "x", 5))


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        pytest.param("b/x", ("b", "x"), id="bucket and object"),
        pytest.param("b/x/y", ("b", "x/y"), id="split at the first slash"),
        pytest.param("b", ("b", ""), id="no object"),
    ],
)
def test_paths(path: str, parts: tuple[str, str]) -> None:
    assert split_path(path) == parts


NODES = [Node("c1", 1, 1), Node("c2", 1, 1), Node("e1", 1, 1, labels=EDGE), Node("e2", 1, 1, labels=EDGE)]
ROWS = {node.name: row for row, node in enumerate(NODES)}
BY_PLACE = LocalityBandwidth(
    edge_edge=1, edge_cloud=2, cloud_edge=3, cloud_cloud=4, itself=5, registry_cloud=6, registry_edge=7
)


@pytest.mark.parametrize(
    ("end", "outbound", "inbound"),
    [
        pytest.param("c1", [5, 4, 3, 3], [5, 4, 2, 2], id="cloud"),
        pytest.param("e1", [2, 2, 5, 1], [3, 3, 5, 1], id="edge"),
        pytest.param("elsewhere", [4, 4, 3, 3], [4, 4, 2, 2], id="an unknown node is in the cloud"),
    ],
)
def test_bandwidth_by_place(end: str, outbound: list[float], inbound: list[float]) -> None:
    assert BY_PLACE.outbound(end, NODES, ROWS).tolist() == outbound
    assert BY_PLACE.inbound(end, NODES, ROWS).tolist() == inbound


def test_bandwidth_from_the_registry() -> None:
    assert BY_PLACE.outbound(REGISTRY, NODES, ROWS).tolist() == [6, 6, 7, 7]


def test_a_pair_that_is_named_goes_before_the_place() -> None:
    matrix = MatrixBandwidth({"c1": {"e1": 9.0}, REGISTRY: {"c2": 8.0}, "gone": {"c1": 1.0}}, BY_PLACE)
    assert matrix.outbound("c1", NODES, ROWS).tolist() == [5, 4, 9, 3]
    assert matrix.inbound("e1", NODES, ROWS).tolist() == [9, 3, 5, 1]
    assert matrix.outbound(REGISTRY, NODES, ROWS).tolist() == [6, 8, 7, 7]


def test_random_bandwidth_is_the_same_whenever_it_is_asked_for() -> None:
    first, other = RandomBandwidth(1), RandomBandwidth(2)
    values = first.outbound("a", NODES * 100, ROWS)
    assert values.tolist() == RandomBandwidth(1).outbound("a", NODES * 100, ROWS).tolist()
    assert values.tolist() != other.outbound("a", NODES * 100, ROWS).tolist()
    assert values.tolist() != first.inbound("a", NODES * 100, ROWS).tolist()
    assert 10 <= values.min() <= values.max() <= 1000


@pytest.mark.parametrize(
    ("model", "complaint"),
    [
        pytest.param(LocalityBandwidth(edge_edge=0), "bandwidth edge_edge is 0", id="zero"),
        pytest.param(MatrixBandwidth({"a": {"b": -1.0}}), "bandwidth from a to b is -1.0", id="negative"),
        pytest.param(MatrixBandwidth({}, LocalityBandwidth(itself=float("nan"))), "itself is nan", id="no number"),
    ],
)
def test_bandwidth_that_cannot_be(model: BandwidthModel, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        ClusterFacts().declare({}, {}, (), model)


def declared() -> ClusterState:
    state = ClusterState()
    for node in NODES:
        state.apply(ev.NodeAdded(0.0, node))
    state.apply(ev.CatalogueDeclared(0.0, bandwidth=BY_PLACE))
    return state


def test_vectors_follow_a_node_that_joins_or_changes() -> None:
    state = declared()
    assert state.nodes.outbound(REGISTRY).tolist() == [6, 6, 7, 7]
    state.apply(ev.NodeAdded(1.0, Node("e3", 1, 1, labels=EDGE)))
    state.apply(ev.NodeChanged(1.0, Node("c2", 1, 1, labels=EDGE)))
    assert state.nodes.outbound(REGISTRY).tolist() == [6, 7, 7, 7, 7]
    assert state.nodes.labelled("locality.skippy.io/type", "edge").tolist() == [False, True, True, True, True]
    assert state.nodes.labelled("locality.skippy.io/type").tolist() == [False, True, True, True, True]


def placed(state: ClusterState, node: str, **fields: object) -> None:
    name = f"job-{len(state.jobs)}"
    state.apply(ev.JobSubmitted(1.0, Job(name, "w", **fields)))  # type: ignore[arg-type]
    state.apply(ev.PodCreated(1.0, Pod(name, name)))
    state.apply(ev.DecisionMade(1.0, name, node, "p", "r"))


def test_an_image_is_expected_where_a_pod_that_needs_it_was_placed() -> None:
    state = declared()
    before = state.nodes.expected_version("a:latest")
    placed(state, "e1", image="a", more_images=("b:1", "a:latest"))
    assert state.nodes.expected("a").tolist() == [False, False, True, False]
    assert state.nodes.expected("b:1").tolist() == [False, False, True, False]
    assert state.nodes.holders("a") is None, "it is not there before it is pulled"
    assert state.nodes.expected_version("a:latest") > before
    placed(state, "e1", image="a")
    assert state.nodes.expected_version("a:latest") == before + 1, "nothing new"


def test_an_image_that_is_removed_is_expected_no_more() -> None:
    state = declared()
    state.apply(ev.ImagePulled(1.0, "c1", "a", 1, 1.0))
    state.apply(ev.ImageRemoved(2.0, "c1", "a:latest"))
    holders = state.nodes.holders("a")
    assert holders is not None
    assert (holders.any(), state.nodes.expected("a").any()) == (False, False)


def test_a_node_that_left_holds_no_images() -> None:
    state = declared()
    placed(state, "c1", image="a")
    state.apply(ev.NodeRemoved(2.0, "c1", "failed"))
    assert not state.nodes.expected("a").any()


def test_a_node_without_an_architecture_has_the_code_of_an_unknown_one() -> None:
    state = ClusterState()
    for name, labels in (
        ("a", {"kubernetes.io/arch": "arm64"}),
        ("b", {}),
        ("c", {"beta.kubernetes.io/arch": "arm64"}),
    ):
        state.apply(ev.NodeAdded(0.0, Node(name, 1, 1, labels=labels)))
    table = state.nodes
    assert [table.architectures[code] for code in table.architecture_codes.tolist()] == ["arm64", "", "arm64"]
