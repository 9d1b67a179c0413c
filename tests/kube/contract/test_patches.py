"""The four patch formats."""

from typing import Any

import pytest

from tests.kube.contract.world import Json, World, config_map, node, pod

JSON = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"


@pytest.fixture
def path(world: World, namespace: str) -> str:
    where = f"/api/v1/namespaces/{namespace}/configmaps"
    world.must("POST", where, config_map("c", labels={"app": "x"}, a="1", b="2"))
    return f"{where}/c"


@pytest.mark.parametrize(
    ("operations", "data"),
    [
        ([{"op": "add", "path": "/data/c", "value": "3"}], {"a": "1", "b": "2", "c": "3"}),
        ([{"op": "replace", "path": "/data/a", "value": "9"}], {"a": "9", "b": "2"}),
        ([{"op": "remove", "path": "/data/a"}], {"b": "2"}),
        ([{"op": "move", "from": "/data/a", "path": "/data/z"}], {"b": "2", "z": "1"}),
        ([{"op": "copy", "from": "/data/a", "path": "/data/z"}], {"a": "1", "b": "2", "z": "1"}),
        (
            [{"op": "test", "path": "/data/a", "value": "1"}, {"op": "add", "path": "/data/x~1y", "value": "4"}],
            {"a": "1", "b": "2", "x/y": "4"},
        ),
    ],
    ids=lambda value: value[0]["op"] if isinstance(value, list) else "",
)
def test_json_patch(world: World, path: str, operations: list[Json], data: Json) -> None:
    if "x/y" in data:
        # A key with a slash is no key of a ConfigMap; it is one of an annotation.
        operations[1]["path"] = "/metadata/annotations"
        operations[1]["value"] = {"x/y": "4"}
        after = world.must("PATCH", path, operations, media_type=JSON)
        operations = [{"op": "replace", "path": "/metadata/annotations/x~1y", "value": "5"}]
        after = world.must("PATCH", path, operations, media_type=JSON)
        assert after["metadata"]["annotations"] == {"x/y": "5"}
    else:
        assert world.must("PATCH", path, operations, media_type=JSON)["data"] == data


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/data/a", "value": "other"},
        {"op": "remove", "path": "/data/none"},
        {"op": "replace", "path": "/none/none", "value": 1},
    ],
    ids=["test", "remove", "replace"],
)
def test_a_json_patch_that_does_not_fit_changes_nothing(world: World, path: str, operation: Json) -> None:
    before = world.must("GET", path)
    first = {"op": "add", "path": "/data/c", "value": "3"}
    code, _ = world.call("PATCH", path, [first, operation], media_type=JSON)
    assert code in (400, 422)
    assert world.must("GET", path) == before


def test_merge_patch_deletes_by_null(world: World, path: str) -> None:
    after = world.must("PATCH", path, {"data": {"a": None, "c": "3"}}, media_type=MERGE)
    assert after["data"] == {"b": "2", "c": "3"}


def test_a_patch_with_a_stale_version_is_a_409(world: World, path: str) -> None:
    patch = {"metadata": {"resourceVersion": "1"}, "data": {"a": "3"}}
    assert world.call("PATCH", path, patch, media_type=MERGE)[0] == 409


def test_a_patch_of_nothing_is_a_404(world: World, namespace: str) -> None:
    assert world.call("PATCH", f"/api/v1/namespaces/{namespace}/configmaps/none", {}, media_type=MERGE)[0] == 404


def test_a_format_that_is_not_known_is_a_415(world: World, path: str) -> None:
    code, body = world.call("PATCH", path, {}, media_type="application/json")
    assert (code, body["reason"]) == (415, "UnsupportedMediaType")


DEPLOYMENT: Json = {
    "metadata": {"name": "d"},
    "spec": {
        "replicas": 0,
        "selector": {"matchLabels": {"app": "d"}},
        "template": {
            "metadata": {"labels": {"app": "d"}},
            "spec": {
                "containers": [
                    {
                        "name": "one",
                        "image": "one:1",
                        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                    },
                    {"name": "two", "image": "two:1"},
                ],
                "tolerations": [{"key": "a", "operator": "Exists"}],
            },
        },
    },
}


def _template(world: World, namespace: str, patch: Any) -> Json:
    where = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    world.must("POST", where, DEPLOYMENT)
    patch = {"spec": {"template": {"spec": patch}}}
    return world.must("PATCH", f"{where}/d", patch, media_type=STRATEGIC)["spec"]["template"]["spec"]


def test_strategic_merge_finds_containers_and_env_by_name(world: World, namespace: str) -> None:
    patch = {"containers": [{"name": "one", "env": [{"name": "B", "value": "9"}, {"name": "C", "value": "3"}]}]}
    spec = _template(world, namespace, patch)
    assert [(c["name"], c["image"]) for c in spec["containers"]] == [("one", "one:1"), ("two", "two:1")]
    env = {e["name"]: e["value"] for e in spec["containers"][0]["env"]}
    assert env == {"A": "1", "B": "9", "C": "3"}


def test_strategic_merge_deletes_an_item_by_directive(world: World, namespace: str) -> None:
    spec = _template(world, namespace, {"containers": [{"name": "two", "$patch": "delete"}]})
    assert [c["name"] for c in spec["containers"]] == ["one"]


def test_strategic_merge_replaces_a_list_by_directive(world: World, namespace: str) -> None:
    patch = {"containers": [{"name": "three", "image": "three:1"}, {"$patch": "replace"}]}
    assert [c["name"] for c in _template(world, namespace, patch)["containers"]] == ["three"]


def test_strategic_merge_replaces_tolerations_whole(world: World, namespace: str) -> None:
    spec = _template(world, namespace, {"tolerations": [{"key": "b", "operator": "Exists"}]})
    assert [t["key"] for t in spec["tolerations"]] == ["b"]


def test_strategic_merge_replaces_taints_whole_and_merges_conditions_by_type(world: World, node_name: str) -> None:
    path = f"/api/v1/nodes/{node_name}"
    for key in "ab":
        patch = {"spec": {"taints": [{"key": key, "effect": "NoSchedule"}]}}
        after = world.must("PATCH", path, patch, media_type=STRATEGIC)
    assert "a" not in {t["key"] for t in after["spec"]["taints"]}
    patch = {"status": {"conditions": [{"type": "MemoryPressure", "status": "False"}]}}
    after = world.must("PATCH", f"{path}/status", patch, media_type=STRATEGIC)
    assert {"Ready", "MemoryPressure"} <= {c["type"] for c in after["status"]["conditions"]}


def test_strategic_merge_deletes_a_finalizer_by_directive(world: World, path: str) -> None:
    both = {"metadata": {"finalizers": ["example.com/a", "example.com/b"]}}
    world.must("PATCH", path, both, media_type=STRATEGIC)
    less = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a", "example.com/b"]}}
    assert not world.must("PATCH", path, less, media_type=STRATEGIC)["metadata"].get("finalizers")


def _apply(world: World, path: str, data: Json, manager: str, **query: Any) -> tuple[int, Json]:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": data}
    return world.call("PATCH", path, body, media_type=APPLY, fieldManager=manager, **query)


@pytest.fixture
def applied(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps/applied"


def test_apply_creates_and_then_changes(world: World, applied: str) -> None:
    assert _apply(world, applied, {"a": "1"}, "me")[0] == 201
    code, after = _apply(world, applied, {"a": "2"}, "me")
    assert (code, after["data"]) == (200, {"a": "2"})
    (entry,) = after["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("me", "Apply")
    assert entry["fieldsV1"]["f:data"]["f:a"] == {}


def test_apply_needs_a_manager(world: World, applied: str) -> None:
    body = config_map("applied")
    assert world.call("PATCH", applied, body, media_type=APPLY, fieldManager="")[0] in (400, 422)


def test_apply_removes_what_its_manager_no_longer_says(world: World, applied: str) -> None:
    _apply(world, applied, {"a": "1", "b": "2"}, "me")
    assert _apply(world, applied, {"a": "1"}, "me")[1]["data"] == {"a": "1"}


def test_two_managers_apply_different_fields(world: World, applied: str) -> None:
    _apply(world, applied, {"a": "1"}, "me")
    assert _apply(world, applied, {"b": "2"}, "you")[1]["data"] == {"a": "1", "b": "2"}
    assert _apply(world, applied, {"c": "3"}, "me")[1]["data"] == {"b": "2", "c": "3"}


def test_two_managers_disagree_until_one_forces(world: World, applied: str) -> None:
    _apply(world, applied, {"a": "1"}, "me")
    code, body = _apply(world, applied, {"a": "2"}, "you")
    assert (code, body["reason"]) == (409, "Conflict")
    (cause,) = body["details"]["causes"]
    assert (cause["reason"], cause["field"]) == ("FieldManagerConflict", ".data.a")
    code, after = _apply(world, applied, {"a": "2"}, "you", force="true")
    assert (code, after["data"]) == (200, {"a": "2"})


def test_two_managers_share_a_field_that_they_agree_on(world: World, applied: str) -> None:
    _apply(world, applied, {"a": "1"}, "me")
    assert _apply(world, applied, {"a": "1"}, "you")[0] == 200
    assert _apply(world, applied, {"b": "1"}, "me")[1]["data"] == {"a": "1", "b": "1"}


def test_an_update_takes_a_field_over(world: World, applied: str) -> None:
    _apply(world, applied, {"a": "1"}, "me")
    world.must("PATCH", applied, {"data": {"a": "2"}}, media_type=MERGE, fieldManager="editor")
    assert _apply(world, applied, {"a": "3"}, "me")[0] == 409


def test_apply_removes_an_item_of_a_list_by_its_key(world: World, namespace: str) -> None:
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/d"
    body = DEPLOYMENT | {"apiVersion": "apps/v1", "kind": "Deployment"}
    world.must("PATCH", path, body, media_type=APPLY, fieldManager="me")
    spec = body["spec"]["template"]["spec"]
    template = body["spec"]["template"] | {"spec": spec | {"containers": spec["containers"][:1]}}
    less = body | {"spec": body["spec"] | {"template": template}}
    after = world.must("PATCH", path, less, media_type=APPLY, fieldManager="me")
    assert [c["name"] for c in after["spec"]["template"]["spec"]["containers"]] == ["one"]


def test_a_patch_is_validated(world: World, namespace: str) -> None:
    where = f"/api/v1/namespaces/{namespace}/pods"
    world.must("POST", where, pod("p"))
    patch = {"metadata": {"labels": {"app": "not a label!"}}}
    code, body = world.call("PATCH", f"{where}/p", patch, media_type=MERGE)
    assert (code, body["details"]["causes"][0]["field"]) == (422, "metadata.labels")


def test_a_node_is_cordoned_by_a_patch(world: World, node_name: str) -> None:
    after = world.core.patch_node(node_name, {"spec": {"unschedulable": True}})
    assert after.spec.unschedulable
    assert node(node_name)["metadata"]["name"] == node_name
