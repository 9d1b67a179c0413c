"""`images`, `storage` and `network` of a specification's cluster, and the labels of jobs."""

from typing import Any

import pytest

from backend.experiments.build import build_arm
from backend.experiments.errors import SpecificationError
from backend.experiments.specification import Specification, parse
from backend.model import events as ev
from backend.model.bandwidth import LocalityBandwidth, MatrixBandwidth
from backend.model.storage import StoredObject

MIB = 2**20


def document(**cluster: Any) -> dict[str, Any]:
    return {
        "name": "facts",
        "cluster": {"nodes": {"count": 2, "cpu": "4", "memory": "8Gi"}, **cluster},
        "workload": {"models": ["lenet"], "jobs": 1, "submissions": {"every": 1}},
        "arms": [{"name": "default"}],
    }


def catalogue(**cluster: Any) -> ev.CatalogueDeclared | None:
    specification = parse(document(**cluster))
    assert parse(specification.to_yaml()) == specification, "what is written again says the same"
    return specification.cluster.build_catalogue()


def test_without_any_nothing_is_declared() -> None:
    assert catalogue() is None


def test_images_have_a_size_or_one_for_each_architecture() -> None:
    made = catalogue(images={"a": "5Mi", "b:1": {"amd64": "1Gi", "arm64": 10}})
    assert made is not None
    assert made.images == {"a": {"any": 5 * MIB}, "b:1": {"amd64": 1024 * MIB, "arm64": 10}}


def test_storage() -> None:
    made = catalogue(storage=[{"bucket": "data", "nodes": ["node-1"], "objects": {"raw/x": "12Mi"}}])
    assert made is not None
    assert made.buckets == {"data": ("node-1",)}
    assert made.objects == (StoredObject("data", "raw/x", 12 * MIB),)


def test_a_network_by_place_or_link_by_link() -> None:
    by_place = catalogue(network={"edge_edge": "2M"})
    assert by_place is not None
    assert by_place.bandwidth == LocalityBandwidth(edge_edge=2e6)
    links = catalogue(network={"links": {"registry": {"node-1": "100M"}}})
    assert links is not None
    assert links.bandwidth == MatrixBandwidth({"registry": {"node-1": 1e8}}, LocalityBandwidth())


@pytest.mark.parametrize(
    ("cluster", "field", "says"),
    [
        pytest.param({"images": {"a": "5MB"}}, "cluster.images.a", "not a quantity", id="no unit of ours"),
        pytest.param({"images": {"a": "10 Mi"}}, "cluster.images.a", "not a quantity", id="a blank inside"),
        pytest.param({"images": {"a": {"arm": -5}}}, "cluster.images.a.arm", "negative", id="negative"),
        pytest.param({"images": {"a": "9999999E"}}, "cluster.images.a", "out of range", id="absurd"),
        pytest.param({"images": {"a": {}}}, "cluster.images.a", "at least 1", id="no architecture"),
        pytest.param(
            {"storage": [{"bucket": "b", "nodes": []}]}, "cluster.storage.0.nodes", "at least 1", id="no nodes"
        ),
        pytest.param(
            {"storage": [{"bucket": "b", "nodes": ["node-3"]}]},
            "cluster.storage.0.nodes.0",
            "no node is called 'node-3'",
            id="unknown node",
        ),
        pytest.param(
            {"storage": [{"bucket": "b/c", "nodes": ["node-1"]}]}, "cluster.storage.0.bucket", "", id="slash in a name"
        ),
        pytest.param(
            {"storage": [{"bucket": "b", "nodes": ["node-1"]}] * 2},
            "cluster.storage.1.bucket",
            "two buckets are called 'b'",
            id="twice",
        ),
        pytest.param({"network": {"edge_edge": 0}}, "cluster.network.edge_edge", "", id="no bandwidth"),
        pytest.param({"network": {"edge": 5}}, "cluster.network.edge", "", id="unknown place"),
        pytest.param(
            {"network": {"links": {"node-9": {"node-1": 5}}}},
            "cluster.network.links.node-9",
            "no node is called 'node-9'",
            id="link of an unknown node",
        ),
    ],
)
def test_what_cannot_be(cluster: dict[str, Any], field: str, says: str) -> None:
    with pytest.raises(SpecificationError) as caught:
        parse(document(**cluster))
    found = {error.field: error.message for error in caught.value.errors}
    assert any(name.startswith(field) for name in found), found
    assert any(says in message for message in found.values()), found


def labelled(**job: Any) -> Specification:
    made = document()
    made["workload"] = {
        "models": [{"name": "m", "labels": {"a": "b"}}],
        "jobs": [{"name": "j", "at": 0, **job}],
    }
    return parse(made)


DATA = "data.skippy.io/"


@pytest.mark.parametrize(
    ("labels", "key", "says"),
    [
        pytest.param({"sends-to-storage": "500 Mi"}, "sends-to-storage", "is no size", id="a blank inside"),
        pytest.param({"sends-to-storage": "-5Mi"}, "sends-to-storage", "is no size", id="below 0"),
        pytest.param({"receives-from-storage": "5MB"}, "receives-from-storage", "is no size", id="no unit of ours"),
        pytest.param(
            {"receives-from-storage/path": "dato/raw"},
            "receives-from-storage/path",
            "no bucket is called 'dato'; did you mean 'data'?",
            id="unknown bucket",
        ),
        pytest.param(
            {"receives-from-storage/path": "data/rwa"},
            "receives-from-storage/path",
            "holds no object 'rwa'; did you mean 'raw'?",
            id="unknown object",
        ),
        pytest.param({"sends-to-storage/path": "data/"}, "sends-to-storage/path", "names no object", id="no object"),
        pytest.param({"sends-to-storage/path": ""}, "sends-to-storage/path", "no bucket is called ''", id="nothing"),
    ],
)
@pytest.mark.parametrize("where", ["models", "jobs"])
def test_data_labels_that_lead_nowhere(labels: dict[str, str], key: str, says: str, where: str) -> None:
    made = document(storage=[{"bucket": "data", "nodes": ["node-1"], "objects": {"raw": "5Mi"}}])
    given = {DATA + name: value for name, value in labels.items()}
    made["workload"] = {
        "models": [{"name": "m", **({"labels": given} if where == "models" else {})}],
        "jobs": [{"name": "j", "at": 0, **({"labels": given} if where == "jobs" else {})}],
    }
    with pytest.raises(SpecificationError) as caught:
        parse(made)
    (error,) = caught.value.errors
    assert error.field == f"workload.{where}.0.labels.{DATA}{key}"
    assert says in error.message


def test_data_labels_that_lead_somewhere() -> None:
    made = document(storage=[{"bucket": "data", "nodes": ["node-1"], "objects": {"raw": "5Mi"}}])
    labels = {"receives-from-storage/path": "data/raw", "sends-to-storage/path": "data/new", "sends-to-storage": "3K"}
    model = {"name": "m", "labels": {DATA + name: value for name, value in labels.items()}}
    made["workload"] = {"models": [model], "jobs": 1, "submissions": {"every": 1}}
    assert parse(made).workload.models[0].labels == model["labels"]


@pytest.mark.parametrize(
    ("job", "labels"),
    [
        pytest.param({}, {"a": "b"}, id="of the model"),
        pytest.param({"labels": {"c": "d"}}, {"c": "d"}, id="of the job"),
    ],
)
def test_labels_of_jobs(job: dict[str, Any], labels: dict[str, str]) -> None:
    cluster, _ = build_arm(labelled(**job), "default", 1)
    submitted = next(event for event in cluster.events() if isinstance(event, ev.JobSubmitted))
    assert submitted.job.labels == labels
