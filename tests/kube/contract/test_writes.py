"""Create and update: names, the optimistic lock, writes that change nothing, dry runs."""

import pytest
from kubernetes import client
from kubernetes.client.exceptions import ApiException

from tests.kube.contract.waiting import until
from tests.kube.contract.world import World, config_map, node, pod


@pytest.fixture
def path(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps"


def test_a_new_object_gets_what_the_server_gives(world: World, namespace: str) -> None:
    made = world.core.create_namespaced_pod(namespace, pod("p"))
    assert made.metadata.uid
    assert made.metadata.resource_version
    assert made.metadata.creation_timestamp
    assert made.metadata.namespace == namespace
    assert made.status.phase == "Pending"


def test_a_name_is_made_from_a_prefix(world: World, namespace: str) -> None:
    names = {world.core.create_namespaced_pod(namespace, pod()).metadata.name for _ in range(3)}
    assert len(names) == 3
    assert all(name.startswith("pod-") and len(name) == len("pod-") + 5 for name in names)


def test_a_name_that_is_taken_is_a_409(world: World, namespace: str) -> None:
    world.core.create_namespaced_pod(namespace, pod("p"))
    with pytest.raises(ApiException) as refused:
        world.core.create_namespaced_pod(namespace, pod("p"))
    assert (refused.value.status, "AlreadyExists" in refused.value.body) == (409, True)


def test_an_object_that_is_not_there_is_a_404_status(world: World, namespace: str) -> None:
    code, body = world.call("GET", f"/api/v1/namespaces/{namespace}/pods/none")
    assert code == 404
    assert body == {
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "NotFound", "code": 404,
        "message": 'pods "none" not found', "details": {"name": "none", "kind": "pods"},
    }  # fmt: skip


def test_a_namespace_that_is_not_there_is_a_404(world: World) -> None:
    code, body = world.call("POST", "/api/v1/namespaces/no-such-place/configmaps", config_map("c"))
    assert (code, body["details"]["kind"]) == (404, "namespaces")


def test_another_namespace_in_the_body_is_a_400(world: World, path: str) -> None:
    body = config_map("c") | {"metadata": {"name": "c", "namespace": "elsewhere"}}
    assert world.call("POST", path, body)[0] == 400


def test_another_kind_in_the_body_is_a_400(world: World, path: str) -> None:
    assert world.call("POST", path, node("n"))[0] == 400


def test_a_body_that_is_no_json_is_a_400(world: World, path: str) -> None:
    assert world.call("POST", path, "not an object")[0] == 400


def test_a_stale_update_is_a_409_and_changes_nothing(world: World, path: str) -> None:
    old = world.must("POST", path, config_map("c", a="1"))
    world.must("PUT", f"{path}/c", old | {"data": {"a": "2"}})
    code, body = world.call("PUT", f"{path}/c", old | {"data": {"a": "3"}})
    assert (code, body["reason"]) == (409, "Conflict")
    assert "the object has been modified" in body["message"]
    assert world.must("GET", f"{path}/c")["data"] == {"a": "2"}


def test_an_update_without_a_version_is_taken(world: World, path: str) -> None:
    world.must("POST", path, config_map("c", a="1"))
    assert world.must("PUT", f"{path}/c", config_map("c", a="2"))["data"] == {"a": "2"}


def test_a_lease_is_updated_with_a_version_only(world: World, namespace: str) -> None:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
    world.must("POST", path, {"metadata": {"name": "l"}, "spec": {"holderIdentity": "a"}})
    code, body = world.call("PUT", f"{path}/l", {"metadata": {"name": "l"}, "spec": {"holderIdentity": "b"}})
    assert (code, body["details"]["causes"][0]["field"]) == (422, "metadata.resourceVersion")


def test_an_update_of_another_uid_is_a_409(world: World, path: str) -> None:
    made = world.must("POST", path, config_map("c"))
    made["metadata"] |= {"uid": "00000000-0000-0000-0000-000000000000", "resourceVersion": ""}
    assert world.call("PUT", f"{path}/c", made)[0] == 409


def test_a_write_that_changes_nothing_keeps_the_version(world: World, path: str) -> None:
    made = world.must("POST", path, config_map("c", a="1"))
    version = made["metadata"]["resourceVersion"]
    assert world.must("PUT", f"{path}/c", made)["metadata"]["resourceVersion"] == version
    patched = world.must("PATCH", f"{path}/c", {"data": {"a": "1"}}, media_type="application/merge-patch+json")
    assert patched["metadata"]["resourceVersion"] == version


def test_a_client_cannot_change_what_is_the_servers(world: World, path: str) -> None:
    made = world.must("POST", path, config_map("c"))
    changed = {
        **made,
        "metadata": {**made["metadata"], "creationTimestamp": "2001-01-01T00:00:00Z"},
        "data": {"a": "1"},
    }
    after = world.must("PUT", f"{path}/c", changed)["metadata"]
    assert (after["creationTimestamp"], after["uid"]) == (
        made["metadata"]["creationTimestamp"],
        made["metadata"]["uid"],
    )


def test_the_name_in_the_path_and_in_the_body_agree(world: World, path: str) -> None:
    world.must("POST", path, config_map("c"))
    assert world.call("PUT", f"{path}/c", config_map("d"))[0] == 400


def test_a_dry_run_answers_and_leaves_no_trace(world: World, namespace: str, path: str) -> None:
    made = world.must("POST", path, config_map("dry", a="1"), dryRun="All")
    assert made["metadata"]["uid"]
    assert world.call("GET", f"{path}/dry")[0] == 404
    kept = world.must("POST", path, config_map("c", a="1"))
    assert world.must("PUT", f"{path}/c", kept | {"data": {"a": "2"}}, dryRun="All")["data"] == {"a": "2"}
    merge = "application/merge-patch+json"
    assert world.must("PATCH", f"{path}/c", {"data": {"a": "3"}}, media_type=merge, dryRun="All")["data"] == {"a": "3"}
    world.must("DELETE", f"{path}/c", {"dryRun": ["All"]})
    assert world.must("GET", f"{path}/c") == kept
    code, body = world.call("POST", f"/api/v1/namespaces/{namespace}/pods", pod("x", containers=[]), dryRun="All")
    assert (code, body["reason"]) == (422, "Invalid")


def test_a_dry_run_of_something_else_is_a_400(world: World, path: str) -> None:
    assert world.call("POST", path, config_map("c"), dryRun="Some")[0] == 400


def test_plain_strings_of_a_secret_become_data(world: World, namespace: str) -> None:
    body = {"metadata": {"name": "s"}, "stringData": {"password": "x"}}
    made = world.core.create_namespaced_secret(namespace, body)
    assert (made.type, made.data, made.string_data) == ("Opaque", {"password": "eA=="}, None)


def test_a_service_gets_an_address(world: World, namespace: str) -> None:
    body = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}], "selector": {"app": "x"}}}
    made = world.core.create_namespaced_service(namespace, body)
    assert made.spec.type == "ClusterIP"
    assert made.spec.cluster_ip.count(".") == 3
    assert made.spec.ports[0].target_port == 80


def test_a_new_namespace_is_active_and_has_a_service_account(world: World, namespace: str) -> None:
    assert world.core.read_namespace(namespace).status.phase == "Active"
    accounts = client.CoreV1Api(world.api).list_namespaced_service_account
    until(lambda: [a for a in accounts(namespace).items if a.metadata.name == "default"], "a default service account")


def test_a_body_that_is_too_large_is_a_413(world: World, path: str) -> None:
    code, body = world.call("POST", path, config_map("c", a="x" * (4 << 20)))
    assert (code, body["reason"]) == (413, "RequestEntityTooLarge")
