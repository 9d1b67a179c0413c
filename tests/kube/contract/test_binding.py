"""Binding: a pod gets its node once."""

import threading

import pytest
from kubernetes.client.exceptions import ApiException

from tests.kube.contract.watching import Watching
from tests.kube.contract.world import World, pod


@pytest.fixture
def pods(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods"


def test_a_bound_pod_has_its_node_and_says_so(world: World, namespace: str, pods: str, node_name: str) -> None:
    world.must("POST", pods, pod("p"))
    world.bind(namespace, "p", node_name)
    bound = world.core.read_namespaced_pod("p", namespace)
    assert bound.spec.node_name == node_name
    assert [(c.type, c.status) for c in bound.status.conditions] == [("PodScheduled", "True")]


def test_the_answer_is_a_status(world: World, pods: str, node_name: str) -> None:
    world.must("POST", pods, pod("p"))
    code, body = world.call("POST", f"{pods}/p/binding", {"target": {"kind": "Node", "name": node_name}})
    assert (code, body["kind"], body["status"]) == (201, "Status", "Success")


def test_the_collection_of_bindings_binds_too(world: World, namespace: str, pods: str, node_name: str) -> None:
    world.must("POST", pods, pod("p"))
    body = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": node_name}}
    world.must("POST", f"/api/v1/namespaces/{namespace}/bindings", body)
    assert world.must("GET", f"{pods}/p")["spec"]["nodeName"] == node_name


def test_a_pod_that_has_a_node_is_a_409(world: World, namespace: str, pods: str, node_name: str) -> None:
    world.must("POST", pods, pod("p"))
    world.bind(namespace, "p", node_name)
    with pytest.raises(ApiException) as refused:
        world.bind(namespace, "p", "another")
    assert refused.value.status == 409
    assert world.must("GET", f"{pods}/p")["spec"]["nodeName"] == node_name


def test_of_two_schedulers_one_wins(world: World, pods: str, node_name: str) -> None:
    world.must("POST", pods, pod("p"))
    codes: list[int] = []
    body = {"target": {"kind": "Node", "name": node_name}}
    threads = [
        threading.Thread(target=lambda: codes.append(world.call("POST", f"{pods}/p/binding", body)[0]))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(codes) == [201] + [409] * 7


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"target": {"kind": "Node", "name": ""}}, 422),
        ({"target": {"kind": "Node", "name": "n"}, "metadata": {"uid": "00000000-0000-0000-0000-000000000000"}}, 409),
    ],
    ids=["no target", "another uid"],
)
def test_a_binding_that_is_refused(world: World, pods: str, body: dict[str, object], code: int) -> None:
    world.must("POST", pods, pod("p"))
    assert world.call("POST", f"{pods}/p/binding", body)[0] == code
    assert "nodeName" not in world.must("GET", f"{pods}/p")["spec"]


def test_a_pod_that_is_not_there_is_a_404(world: World, pods: str, node_name: str) -> None:
    assert world.call("POST", f"{pods}/none/binding", {"target": {"kind": "Node", "name": node_name}})[0] == 404


def test_a_gated_pod_is_not_bound(world: World, pods: str, node_name: str) -> None:
    world.must("POST", pods, pod("p", schedulingGates=[{"name": "example.com/wait"}]))
    assert world.call("POST", f"{pods}/p/binding", {"target": {"kind": "Node", "name": node_name}})[0] == 409


def test_a_dry_run_binds_nothing(world: World, pods: str, node_name: str) -> None:
    world.must("POST", pods, pod("p"))
    world.must("POST", f"{pods}/p/binding", {"target": {"kind": "Node", "name": node_name}}, dryRun="All")
    assert "nodeName" not in world.must("GET", f"{pods}/p")["spec"]


def test_a_binding_is_seen_by_the_kubelets_watch(world: World, pods: str, namespace: str, node_name: str) -> None:
    with Watching(world, pods, fieldSelector=f"spec.nodeName%3D{node_name}") as events:
        world.must("POST", pods, pod("p"))
        world.bind(namespace, "p", node_name)
        assert events.named(1) == [("ADDED", "p")]
