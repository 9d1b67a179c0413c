"""Deletes: grace, finalizers, preconditions, dependents, namespaces."""

import pytest
from kubernetes import client

from tests.kube.contract.waiting import until
from tests.kube.contract.watching import Watching
from tests.kube.contract.world import Json, World, config_map, pod

MERGE = "application/merge-patch+json"


@pytest.fixture
def pods(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods"


@pytest.fixture
def maps(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps"


def gone(world: World, path: str) -> bool:
    return world.call("GET", path)[0] == 404


def test_a_deleted_object_is_reported_and_gone(world: World, maps: str) -> None:
    made = world.must("POST", maps, config_map("c"))
    status = world.must("DELETE", f"{maps}/c")
    assert (status["kind"], status["status"]) == ("Status", "Success")
    assert status["details"] == {"name": "c", "kind": "configmaps", "uid": made["metadata"]["uid"]}
    assert world.call("DELETE", f"{maps}/c")[0] == 404


def test_a_pod_without_a_node_goes_at_once(world: World, pods: str) -> None:
    world.must("POST", pods, pod("p"))
    assert world.must("DELETE", f"{pods}/p")["kind"] == "Pod"
    assert gone(world, f"{pods}/p")


def test_a_bound_pod_has_its_grace_period(world: World, pods: str, namespace: str, node_name: str) -> None:
    world.must("POST", pods, pod("p", terminationGracePeriodSeconds=25))
    world.run(namespace, "p", node_name)
    marked = world.must("DELETE", f"{pods}/p")["metadata"]
    assert marked["deletionGracePeriodSeconds"] == 25
    assert marked["deletionTimestamp"]
    assert world.must("GET", f"{pods}/p")["metadata"]["deletionTimestamp"] == marked["deletionTimestamp"]


def test_a_second_delete_can_only_hurry(world: World, pods: str, namespace: str, node_name: str) -> None:
    world.must("POST", pods, pod("p"))
    world.run(namespace, "p", node_name)

    def seconds(grace: int) -> int:
        body = {"gracePeriodSeconds": grace}
        return int(world.must("DELETE", f"{pods}/p", body)["metadata"]["deletionGracePeriodSeconds"])

    assert [seconds(20), seconds(10), seconds(60)] == [20, 10, 10]


def test_no_grace_is_now(world: World, pods: str, namespace: str, node_name: str) -> None:
    world.must("POST", pods, pod("p"))
    world.run(namespace, "p", node_name)
    world.must("DELETE", f"{pods}/p", {"gracePeriodSeconds": 0})
    assert gone(world, f"{pods}/p")


def test_a_finished_pod_goes_at_once(world: World, pods: str, namespace: str, node_name: str) -> None:
    world.must("POST", pods, pod("p"))
    world.run(namespace, "p", node_name, phase="Succeeded")
    world.must("DELETE", f"{pods}/p")
    assert gone(world, f"{pods}/p")


def test_watchers_see_the_mark_and_then_the_end(world: World, pods: str, namespace: str, node_name: str) -> None:
    world.must("POST", pods, pod("p"))
    version = world.run(namespace, "p", node_name)["metadata"]["resourceVersion"]
    world.must("DELETE", f"{pods}/p")
    world.must("DELETE", f"{pods}/p", {"gracePeriodSeconds": 0})
    with Watching(world, pods, resourceVersion=version) as events:
        seen = []
        while not seen or seen[-1][0] != "DELETED":
            seen.append(events.next())
    assert seen[0][0] == "MODIFIED"
    assert seen[0][1]["metadata"]["deletionTimestamp"]


def test_a_finalizer_holds_an_object_until_it_is_removed(world: World, maps: str) -> None:
    body = config_map("c")
    body["metadata"]["finalizers"] = ["example.com/hold"]
    world.must("POST", maps, body)
    assert world.must("DELETE", f"{maps}/c")["metadata"]["deletionTimestamp"]
    # Deleted a second time it is still held.
    assert world.must("DELETE", f"{maps}/c")["metadata"]["finalizers"] == ["example.com/hold"]
    more = {"metadata": {"finalizers": ["example.com/hold", "example.com/another"]}}
    assert world.call("PATCH", f"{maps}/c", more, media_type=MERGE)[0] == 422
    world.must("PATCH", f"{maps}/c", {"metadata": {"finalizers": None}}, media_type=MERGE)
    assert gone(world, f"{maps}/c")


@pytest.mark.parametrize("condition", ["uid", "resourceVersion"])
def test_a_precondition_that_does_not_hold_is_a_409(world: World, maps: str, condition: str) -> None:
    made = world.must("POST", maps, config_map("c"))["metadata"]
    wrong = {"uid": "00000000-0000-0000-0000-000000000000", "resourceVersion": "1"}[condition]
    code, body = world.call("DELETE", f"{maps}/c", {"preconditions": {condition: wrong}})
    assert (code, body["reason"]) == (409, "Conflict")
    assert not gone(world, f"{maps}/c")
    world.must("DELETE", f"{maps}/c", {"preconditions": {condition: made[condition]}})
    assert gone(world, f"{maps}/c")


def test_a_collection_is_deleted_by_selector(world: World, maps: str) -> None:
    for name, app in (("a", "x"), ("b", "x"), ("c", "y")):
        world.must("POST", maps, config_map(name, labels={"app": app}))
    world.must("DELETE", maps, labelSelector="app%3Dx")
    left = {item["metadata"]["name"] for item in world.must("GET", maps)["items"]}
    assert left & {"a", "b", "c"} == {"c"}


def owned(name: str, *owners: Json, blocking: bool = False) -> Json:
    body = config_map(name)
    body["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": o["metadata"]["name"], "uid": o["metadata"]["uid"],
         "blockOwnerDeletion": blocking}
        for o in owners
    ]  # fmt: skip
    return body


def test_dependents_go_when_their_owner_has_gone(world: World, maps: str) -> None:
    owner = world.must("POST", maps, config_map("owner"))
    child = world.must("POST", maps, owned("child", owner))
    world.must("POST", maps, owned("grandchild", child))
    world.must("DELETE", f"{maps}/owner")
    until(lambda: gone(world, f"{maps}/child") and gone(world, f"{maps}/grandchild"), "the dependents' end", 60)


def test_a_dependent_of_two_stays_with_the_other(world: World, maps: str) -> None:
    first, second = (world.must("POST", maps, config_map(name)) for name in ("first", "second"))
    world.must("POST", maps, owned("child", first, second))
    world.must("DELETE", f"{maps}/first")

    def owners() -> list[str]:
        return [o["name"] for o in world.must("GET", f"{maps}/child")["metadata"]["ownerReferences"]]

    until(lambda: owners() == ["second"], "the reference's removal", 60)


def test_in_the_foreground_the_owner_waits(world: World, maps: str) -> None:
    owner = world.must("POST", maps, config_map("owner"))
    child = owned("child", owner, blocking=True)
    child["metadata"]["finalizers"] = ["example.com/hold"]
    world.must("POST", maps, child)
    world.must("DELETE", f"{maps}/owner", {"propagationPolicy": "Foreground"})
    until(lambda: world.must("GET", f"{maps}/child")["metadata"].get("deletionTimestamp"), "the child's mark", 60)
    assert world.must("GET", f"{maps}/owner")["metadata"]["finalizers"] == ["foregroundDeletion"]
    world.must("PATCH", f"{maps}/child", {"metadata": {"finalizers": None}}, media_type=MERGE)
    until(lambda: gone(world, f"{maps}/owner"), "the owner's end", 60)


def test_orphans_stay(world: World, maps: str) -> None:
    owner = world.must("POST", maps, config_map("owner"))
    world.must("POST", maps, owned("child", owner))
    world.must("DELETE", f"{maps}/owner", {"propagationPolicy": "Orphan"})
    until(lambda: gone(world, f"{maps}/owner"), "the owner's end", 60)
    assert not world.must("GET", f"{maps}/child")["metadata"].get("ownerReferences")


def test_who_names_an_owner_that_is_none_goes(world: World, maps: str) -> None:
    owner = world.must("POST", maps, config_map("owner"))
    world.must("DELETE", f"{maps}/owner")
    world.must("POST", maps, owned("late", owner))
    until(lambda: gone(world, f"{maps}/late"), "the late one's end", 60)


@pytest.mark.parametrize(("policy", "left"), [("", True), ("Background", False)])
def test_pods_of_a_job_stay_unless_asked(world: World, namespace: str, pods: str, policy: str, left: bool) -> None:
    jobs = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    template = {"spec": pod("x")["spec"] | {"restartPolicy": "Never"}}
    world.must("POST", jobs, {"metadata": {"name": "j"}, "spec": {"template": template}})
    until(lambda: world.must("GET", pods)["items"], "the job's pod")
    world.must("DELETE", f"{jobs}/j", {"propagationPolicy": policy} if policy else None)
    until(lambda: gone(world, f"{jobs}/j"), "the job's end", 60)
    if left:
        assert world.must("GET", pods)["items"]
    else:
        until(lambda: not world.must("GET", pods)["items"], "the pod's end", 60)


def test_a_namespace_takes_all_with_it(world: World, namespace: str, maps: str, pods: str) -> None:
    held = config_map("c")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    world.must("POST", maps, held)
    world.must("POST", pods, pod("p"))
    world.must("DELETE", f"/api/v1/namespaces/{namespace}")
    until(lambda: world.must("GET", f"{maps}/c")["metadata"].get("deletionTimestamp"), "the mark on what is in it", 60)
    assert world.core.read_namespace(namespace).status.phase == "Terminating"
    code, body = world.call("POST", maps, config_map("late"))
    assert (code, body["details"]["causes"][0]["reason"]) == (403, "NamespaceTerminating")
    world.must("PATCH", f"{maps}/c", {"metadata": {"finalizers": None}}, media_type=MERGE)
    until(lambda: gone(world, f"/api/v1/namespaces/{namespace}"), "the namespace's end", 60)


def test_the_default_namespace_stays(world: World) -> None:
    assert world.call("DELETE", "/api/v1/namespaces/default")[0] == 403


def test_the_typed_client_deletes(world: World, namespace: str) -> None:
    world.core.create_namespaced_pod(namespace, pod("p"))
    options = client.V1DeleteOptions(grace_period_seconds=0, propagation_policy="Background")
    assert world.core.delete_namespaced_pod("p", namespace, body=options).metadata.name == "p"
    world.core.create_namespaced_config_map(namespace, config_map("c"))
    assert world.core.delete_namespaced_config_map("c", namespace)["status"] == "Success"
