"""Custom kinds: their definition, their schema, their objects."""

from collections.abc import Iterator

import pytest
from kubernetes import client

from tests.kube.contract.waiting import until
from tests.kube.contract.watching import Watching
from tests.kube.contract.world import Json, World

MERGE = "application/merge-patch+json"


@pytest.fixture
def group(world: World, namespace: str) -> Iterator[str]:
    """A definition of its own for each test: `trainings` in a group that nobody else has."""
    group = f"{namespace}.example.com"
    size = {"type": "integer", "minimum": 1}
    spec = {
        "type": "object",
        "required": ["size"],
        "properties": {
            "size": size,
            "mode": {"type": "string", "enum": ["fast", "slow"], "default": "fast"},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    status = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}},
        "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
    }  # fmt: skip
    names = {"plural": "trainings", "kind": "Training", "shortNames": ["tr"]}
    body = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"trainings.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    }
    api = client.ApiextensionsV1Api(world.api)
    api.create_custom_resource_definition(body)

    def established() -> bool:
        conditions = api.read_custom_resource_definition(f"trainings.{group}").status.conditions or []
        return any(c.type == "Established" and c.status == "True" for c in conditions)

    until(established, "the definition's condition Established")
    until(lambda: world.call("GET", f"/apis/{group}/v1")[0] == 200, "the group in the discovery")
    yield group
    world.call("DELETE", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/trainings.{group}")


@pytest.fixture
def path(group: str, namespace: str) -> str:
    return f"/apis/{group}/v1/namespaces/{namespace}/trainings"


def training(path: str, name: str = "t", **spec: object) -> Json:
    return {
        "apiVersion": "/".join(path.split("/")[2:4]), "kind": "Training", "metadata": {"name": name},
        "spec": {"size": 3} | spec,
    }  # fmt: skip


def test_a_custom_kind_is_discovered(world: World, group: str) -> None:
    listed = world.must("GET", f"/apis/{group}/v1")["resources"]
    assert {(r["name"], r["kind"]) for r in listed} == {("trainings", "Training"), ("trainings/status", "Training")}


def test_the_clients_custom_objects(world: World, group: str, namespace: str, path: str) -> None:
    api = client.CustomObjectsApi(world.api)
    where = (group, "v1", namespace, "trainings")
    made = api.create_namespaced_custom_object(*where, training(path))
    assert (made["spec"], made["metadata"]["generation"]) == ({"size": 3, "mode": "fast"}, 1)
    assert [o["metadata"]["name"] for o in api.list_namespaced_custom_object(*where)["items"]] == ["t"]
    changed = made | {"spec": {"size": 4, "mode": "slow"}}
    assert api.replace_namespaced_custom_object(*where, "t", changed)["metadata"]["generation"] == 2
    api.delete_namespaced_custom_object(*where, "t")
    assert api.list_namespaced_custom_object(*where)["items"] == []


@pytest.mark.parametrize(
    ("spec", "field"),
    [({"size": 0}, "spec.size"), ({"size": "three"}, "spec.size"), ({"mode": "other"}, "spec.mode")],
    ids=["minimum", "type", "enum"],
)
def test_the_schema_is_checked(world: World, path: str, spec: Json, field: str) -> None:
    code, body = world.call("POST", path, training(path, **spec))
    assert code == 422
    assert field in {cause["field"] for cause in body["details"]["causes"]}


def test_a_required_field_is_required(world: World, path: str) -> None:
    body = training(path)
    del body["spec"]["size"]
    code, answer = world.call("POST", path, body)
    assert (code, answer["details"]["causes"][0]["field"]) == (422, "spec.size")


def test_what_the_schema_does_not_know_is_dropped(world: World, path: str) -> None:
    made = world.must("POST", path, training(path, unknown=1, free={"anything": 1}))
    assert made["spec"] == {"size": 3, "mode": "fast", "free": {"anything": 1}}


def test_the_status_is_apart(world: World, path: str) -> None:
    made = world.must("POST", path, training(path) | {"status": {"done": 1}})
    assert "status" not in made
    after = world.must("PUT", f"{path}/t/status", made | {"status": {"done": 2}, "spec": {"size": 9}})
    assert (after["status"], after["spec"]["size"], after["metadata"]["generation"]) == ({"done": 2}, 3, 1)
    after = world.must("PATCH", f"{path}/t", {"spec": {"size": 5}, "status": {"done": 3}}, media_type=MERGE)
    assert (after["status"], after["spec"]["size"], after["metadata"]["generation"]) == ({"done": 2}, 5, 2)


def test_an_update_needs_a_version(world: World, path: str) -> None:
    world.must("POST", path, training(path))
    code, body = world.call("PUT", f"{path}/t", training(path, size=4))
    assert (code, body["details"]["causes"][0]["field"]) == (422, "metadata.resourceVersion")


def test_a_strategic_merge_is_a_415(world: World, path: str) -> None:
    world.must("POST", path, training(path))
    media_type = "application/strategic-merge-patch+json"
    assert world.call("PATCH", f"{path}/t", {"spec": {"size": 4}}, media_type=media_type)[0] == 415


def test_apply_takes_custom_objects(world: World, path: str) -> None:
    query = {"media_type": "application/apply-patch+yaml", "fieldManager": "me"}
    assert world.call("PATCH", f"{path}/t", training(path), **query)[0] == 201
    assert world.must("PATCH", f"{path}/t", training(path, size=7), **query)["spec"]["size"] == 7


def test_custom_objects_are_watched(world: World, path: str) -> None:
    with Watching(world, path) as events:
        world.must("POST", path, training(path))
        verb, obj = events.next()
        assert (verb, obj["kind"], obj["spec"]["size"]) == ("ADDED", "Training", 3)
        world.must("DELETE", f"{path}/t")
        assert events.next()[0] == "DELETED"


def test_the_declared_columns_are_shown(world: World, path: str) -> None:
    world.must("POST", path, training(path))
    table = world.must("GET", path, accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    assert [c["name"] for c in table["columnDefinitions"]] == ["Name", "Size"]
    assert table["rows"][0]["cells"] == ["t", 3]


def test_objects_go_with_their_definition(world: World, group: str, path: str) -> None:
    world.must("POST", path, training(path))
    world.must("DELETE", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/trainings.{group}")
    until(lambda: world.call("GET", path)[0] == 404, "the end of the kind", 60)
