"""Evictions, and the budgets that may forbid them."""

import pytest
from kubernetes import client
from kubernetes.client.exceptions import ApiException

from tests.kube.contract.waiting import until
from tests.kube.contract.world import Json, World, pod


@pytest.fixture
def running(world: World, namespace: str, node_name: str) -> str:
    """Two pods of one application, both ready."""
    for name in ("a", "b"):
        world.core.create_namespaced_pod(namespace, pod(name, labels={"app": "x"}))
        world.run(namespace, name, node_name)
    return namespace


def budget(world: World, namespace: str, name: str = "budget", **spec: object) -> None:
    body = {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": {"app": "x"}}} | spec}
    world.must("POST", f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets", body)

    def counted() -> bool:
        status = world.must("GET", f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets/{name}").get("status")
        return bool(status) and status.get("currentHealthy") == 2

    until(counted, "the budget's count")


def evict(world: World, namespace: str, name: str, **options: object) -> tuple[int, Json]:
    body: Json = {"metadata": {"name": name, "namespace": namespace}}
    if options:
        body["deleteOptions"] = options
    return world.call("POST", f"/api/v1/namespaces/{namespace}/pods/{name}/eviction", body)


def marked(world: World, namespace: str, name: str) -> bool:
    code, body = world.call("GET", f"/api/v1/namespaces/{namespace}/pods/{name}")
    return code == 404 or "deletionTimestamp" in body["metadata"]


def test_without_a_budget_a_pod_is_evicted(world: World, running: str) -> None:
    code, body = evict(world, running, "a")
    assert (code, body["status"]) == (201, "Success")
    assert marked(world, running, "a")


def test_a_budget_forbids_with_a_429_and_a_cause(world: World, running: str) -> None:
    budget(world, running, minAvailable=2)
    code, body = evict(world, running, "a")
    assert (code, body["reason"]) == (429, "TooManyRequests")
    assert body["message"] == "Cannot evict pod as it would violate the pod's disruption budget."
    (cause,) = body["details"]["causes"]
    assert cause["reason"] == "DisruptionBudget"
    assert not marked(world, running, "a")


@pytest.mark.parametrize(
    "spec",
    [{"minAvailable": 1}, {"maxUnavailable": 1}],
    ids=lambda spec: next(iter(spec)),
)
def test_a_budget_for_one_allows_one(world: World, running: str, spec: Json) -> None:
    # maxUnavailable counts what controllers ask for, and these pods have none; the real server then allows nothing.
    if "maxUnavailable" in spec and world.server is None:
        pytest.skip("only pods of a controller have a scale")
    budget(world, running, **spec)
    assert evict(world, running, "a")[0] == 201
    assert evict(world, running, "b")[0] == 429
    assert not marked(world, running, "b")


def test_a_budgets_status_counts(world: World, running: str) -> None:
    budget(world, running, minAvailable=1)
    path = f"/apis/policy/v1/namespaces/{running}/poddisruptionbudgets/budget"
    status = world.must("GET", path)["status"]
    counts = {k: status[k] for k in ("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods")}
    assert counts == {"currentHealthy": 2, "desiredHealthy": 1, "disruptionsAllowed": 1, "expectedPods": 2}
    world.report(running, "a", "Failed")
    until(lambda: world.must("GET", path)["status"]["disruptionsAllowed"] == 0, "the count after a failure")


def test_a_pending_pod_is_evicted_whatever_a_budget_says(world: World, running: str) -> None:
    budget(world, running, minAvailable=2)
    world.core.create_namespaced_pod(running, pod("c", labels={"app": "x"}))
    assert evict(world, running, "c")[0] == 201


def test_two_budgets_over_a_pod_are_an_error(world: World, running: str) -> None:
    for name in ("one", "two"):
        budget(world, running, name, minAvailable=1)
    assert evict(world, running, "a")[0] == 500


def test_a_dry_run_evicts_nothing(world: World, running: str) -> None:
    assert evict(world, running, "a", dryRun=["All"])[0] == 201
    assert not marked(world, running, "a")


def test_an_eviction_of_another_uid_is_a_409(world: World, running: str) -> None:
    wrong = {"uid": "00000000-0000-0000-0000-000000000000"}
    assert evict(world, running, "a", preconditions=wrong)[0] == 409
    assert not marked(world, running, "a")


def test_a_pod_that_is_not_there_is_a_404(world: World, namespace: str) -> None:
    assert evict(world, namespace, "none")[0] == 404


def test_the_typed_client_evicts(world: World, running: str) -> None:
    budget(world, running, minAvailable=2)
    body = client.V1Eviction(metadata=client.V1ObjectMeta(name="a", namespace=running))
    with pytest.raises(ApiException) as refused:
        world.core.create_namespaced_pod_eviction("a", running, body, _preload_content=False)
    assert refused.value.status == 429
