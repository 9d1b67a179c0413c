"""What clients ask first: version, health, and which kinds there are."""

import pytest
from kubernetes import client

from tests.kube.contract.world import World, pod


def test_version_is_one_that_clients_can_parse(world: World) -> None:
    version = client.VersionApi(world.api).get_code()
    assert version.major == "1"
    assert int(version.minor.rstrip("+")) >= 20


@pytest.mark.parametrize("path", ["/livez", "/readyz"])
def test_health_pages_say_ok(world: World, path: str) -> None:
    assert world.call("GET", path) == (200, "ok")


def test_core_and_groups_are_listed(world: World) -> None:
    assert client.CoreApi(world.api).get_api_versions().versions == ["v1"]
    groups = {group.name for group in client.ApisApi(world.api).get_api_versions().groups}
    assert groups >= {
        "apps", "batch", "coordination.k8s.io", "events.k8s.io", "policy", "rbac.authorization.k8s.io",
        "authorization.k8s.io", "apiextensions.k8s.io",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("path", "kinds"),
    [
        (
            "/api/v1",
            {"pods", "pods/status", "pods/binding", "pods/eviction", "pods/log", "nodes", "nodes/status", "namespaces",
             "events", "configmaps", "secrets", "services", "serviceaccounts", "serviceaccounts/token", "bindings"},
        ),
        ("/apis/apps/v1", {"deployments", "deployments/scale", "replicasets", "replicasets/status"}),
        ("/apis/batch/v1", {"jobs", "jobs/status"}),
        ("/apis/coordination.k8s.io/v1", {"leases"}),
        ("/apis/policy/v1", {"poddisruptionbudgets"}),
        ("/apis/events.k8s.io/v1", {"events"}),
    ],
)  # fmt: skip
def test_kinds_of_a_version_are_listed(world: World, path: str, kinds: set[str]) -> None:
    listed = world.must("GET", path)["resources"]
    assert {entry["name"] for entry in listed} >= kinds
    assert all({"name", "kind", "namespaced", "verbs"} <= entry.keys() for entry in listed)


def test_an_eviction_says_that_its_kind_is_of_the_policy_group(world: World) -> None:
    # kubectl drain decides by this entry whether it may evict or has to delete.
    entry = next(r for r in world.must("GET", "/api/v1")["resources"] if r["name"] == "pods/eviction")
    assert (entry["group"], entry["version"], entry["kind"]) == ("policy", "v1", "Eviction")


@pytest.mark.parametrize("path", ["/apis/nothing.example.com", "/apis/apps/v99", "/api/v1/nothing", "/nothing"])
def test_what_is_not_served_is_a_404_with_a_status(world: World, path: str) -> None:
    code, body = world.call("GET", path)
    assert code == 404
    assert not isinstance(body, dict) or (body["kind"], body["reason"]) == ("Status", "NotFound")


def test_a_method_that_a_path_does_not_know_is_a_405(world: World, namespace: str) -> None:
    code, body = world.call("PUT", f"/api/v1/namespaces/{namespace}/pods", {})
    assert (code, body["reason"]) == (405, "MethodNotAllowed")


@pytest.mark.parametrize(
    ("method", "part"),
    [("DELETE", "status"), ("POST", "status"), ("PUT", "binding"), ("GET", "eviction"), ("PATCH", "log")],
)
def test_a_subresource_knows_its_own_methods_only(world: World, namespace: str, method: str, part: str) -> None:
    world.must("POST", f"/api/v1/namespaces/{namespace}/pods", pod("p"))
    media_type = "application/merge-patch+json" if method == "PATCH" else "application/json"
    code, _ = world.call(method, f"/api/v1/namespaces/{namespace}/pods/p/{part}", {}, media_type=media_type)
    assert code == 405
    assert world.call("GET", f"/api/v1/namespaces/{namespace}/pods/p")[0] == 200
