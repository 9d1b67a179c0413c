"""Who may do what: tokens, roles, questions about rights."""

from collections.abc import Iterator

import pytest
from kubernetes import client

from tests.kube.contract.waiting import until
from tests.kube.contract.world import World, config_map

RBAC = "/apis/rbac.authorization.k8s.io/v1"
REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


@pytest.fixture
def reader(world: World, namespace: str) -> Iterator[client.ApiClient]:
    """A service account that nobody has given anything yet."""
    world.must("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": "reader"}})
    request = client.AuthenticationV1TokenRequest(spec=client.V1TokenRequestSpec(audiences=[], expiration_seconds=3600))
    made = world.core.create_namespaced_service_account_token("reader", namespace, request)
    assert made.status.expiration_timestamp
    api = world.with_token(made.status.token)
    yield api
    api.close()


def grant(world: World, namespace: str, resources: list[str], verbs: list[str], names: list[str] | None = None) -> None:
    rule = {"apiGroups": [""], "resources": resources, "verbs": verbs} | ({"resourceNames": names} if names else {})
    where = f"{RBAC}/namespaces/{namespace}"
    world.must("POST", f"{where}/roles", {"metadata": {"name": "r"}, "rules": [rule]})
    binding = {
        "metadata": {"name": "r"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
        "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": namespace}],
    }
    world.must("POST", f"{where}/rolebindings", binding)


def test_a_token_that_nobody_has_is_a_401(world: World) -> None:
    api = world.with_token("nonsense")
    code, body = world.call("GET", "/api/v1/namespaces", api=api)
    api.close()
    assert (code, body["kind"], body["reason"]) == (401, "Status", "Unauthorized")


def test_without_a_token_hardly_anything_is_shown(world: World) -> None:
    api = world.with_token("x")
    api.configuration.api_key = {}
    code, body = world.call("GET", "/api/v1/namespaces", api=api)
    api.close()
    # Clusters differ in whether they know anonymous users at all.
    assert (code, body["reason"]) in ((401, "Unauthorized"), (403, "Forbidden"))


def test_who_has_no_role_gets_a_403_that_says_what_is_missing(
    world: World, namespace: str, reader: client.ApiClient
) -> None:
    code, body = world.call("GET", f"/api/v1/namespaces/{namespace}/pods", api=reader)
    assert (code, body["reason"]) == (403, "Forbidden")
    assert body["message"] == (
        f'pods is forbidden: User "system:serviceaccount:{namespace}:reader" cannot list resource "pods" '
        f'in API group "" in the namespace "{namespace}"'
    )


def test_a_role_allows_its_verbs_in_its_namespace(world: World, namespace: str, reader: client.ApiClient) -> None:
    grant(world, namespace, ["configmaps"], ["get", "list"])
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    until(lambda: world.call("GET", path, api=reader)[0] == 200, "the role's effect")
    assert world.call("POST", path, config_map("c"), api=reader)[0] == 403
    assert world.call("GET", "/api/v1/namespaces/default/configmaps", api=reader)[0] == 403
    assert world.call("GET", "/api/v1/configmaps", api=reader)[0] == 403


def test_a_role_for_one_name(world: World, namespace: str, reader: client.ApiClient) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    for name in ("mine", "other"):
        world.must("POST", path, config_map(name))
    grant(world, namespace, ["configmaps"], ["get"], ["mine"])
    until(lambda: world.call("GET", f"{path}/mine", api=reader)[0] == 200, "the role's effect")
    assert world.call("GET", f"{path}/other", api=reader)[0] == 403


def test_a_subresource_is_granted_apart(world: World, namespace: str, reader: client.ApiClient) -> None:
    grant(world, namespace, ["pods"], ["create"])
    allowed = client.AuthorizationV1Api(reader).create_self_subject_access_review
    wanted = client.V1ResourceAttributes(namespace=namespace, verb="create", resource="pods")

    def may(subresource: str) -> bool:
        attributes = client.V1ResourceAttributes(**{**wanted.to_dict(), "subresource": subresource})
        spec = client.V1SelfSubjectAccessReviewSpec(resource_attributes=attributes)
        return bool(allowed(client.V1SelfSubjectAccessReview(spec=spec)).status.allowed)

    until(lambda: may(""), "the role's effect")
    assert not may("binding")


def test_a_cluster_role_in_a_namespace(world: World, namespace: str, reader: client.ApiClient) -> None:
    binding = {
        "metadata": {"name": "v"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": namespace}],
    }
    world.must("POST", f"{RBAC}/namespaces/{namespace}/rolebindings", binding)
    until(lambda: world.call("GET", f"/api/v1/namespaces/{namespace}/pods", api=reader)[0] == 200, "the role's effect")
    assert world.call("GET", f"/api/v1/namespaces/{namespace}/secrets", api=reader)[0] == 403
    assert world.call("GET", "/api/v1/nodes", api=reader)[0] == 403


def test_a_role_that_goes_takes_its_rights_along(world: World, namespace: str, reader: client.ApiClient) -> None:
    grant(world, namespace, ["configmaps"], ["list"])
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    until(lambda: world.call("GET", path, api=reader)[0] == 200, "the role's effect")
    world.must("DELETE", f"{RBAC}/namespaces/{namespace}/rolebindings/r")
    until(lambda: world.call("GET", path, api=reader)[0] == 403, "the end of the role's effect")


def test_the_administrator_may_do_everything(world: World, namespace: str) -> None:
    wanted = {"verb": "delete", "resource": "nodes"}
    assert world.must("POST", REVIEW, {"spec": {"resourceAttributes": wanted}})["status"]["allowed"] is True


def test_a_path_that_is_no_resource_can_be_asked_about(world: World, reader: client.ApiClient) -> None:
    def may(path: str) -> bool:
        body = {"spec": {"nonResourceAttributes": {"verb": "get", "path": path}}}
        return bool(world.must("POST", REVIEW, body, api=reader)["status"]["allowed"])

    assert may("/version")
    assert not may("/metrics")


def test_rules_are_listed(world: World, namespace: str, reader: client.ApiClient) -> None:
    grant(world, namespace, ["configmaps"], ["list"])
    path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"

    def listed() -> bool:
        rules = world.must("POST", path, {"spec": {"namespace": namespace}}, api=reader)["status"]["resourceRules"]
        return any("configmaps" in rule["resources"] and rule["verbs"] == ["list"] for rule in rules)

    until(listed, "the rule in the list")


def test_a_token_says_whose_it_is(world: World, namespace: str, reader: client.ApiClient) -> None:
    path = "/apis/authentication.k8s.io/v1/tokenreviews"
    token = reader.configuration.api_key["BearerToken"].removeprefix("Bearer ")
    status = world.must("POST", path, {"spec": {"token": token}})["status"]
    assert status["authenticated"] is True
    assert status["user"]["username"] == f"system:serviceaccount:{namespace}:reader"
    assert not world.must("POST", path, {"spec": {"token": "nonsense"}})["status"].get("authenticated")
