"""Jobs, replica sets and deployments make their pods."""

import pytest
from kubernetes import client

from tests.kube.contract.waiting import until
from tests.kube.contract.world import Json, World, pod


@pytest.fixture
def pods(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods"


def template(app: str, image: str = "registry.k8s.io/pause:3.9", **spec: object) -> Json:
    body = pod("x")["spec"] | {"containers": [{"name": "main", "image": image}]} | spec
    return {"metadata": {"labels": {"app": app}}, "spec": body}


def deployment(replicas: int, image: str = "registry.k8s.io/pause:3.9") -> Json:
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "d"}}, "template": template("d", image)}
    return {"metadata": {"name": "d"}, "spec": spec}


def living(world: World, pods: str) -> list[Json]:
    return [p for p in world.must("GET", pods)["items"] if "deletionTimestamp" not in p["metadata"]]


def many(world: World, pods: str, count: int) -> list[Json]:
    until(lambda: len(living(world, pods)) == count, f"{count} pods")
    return living(world, pods)


def test_a_job_runs_to_its_completions(world: World, namespace: str, pods: str, node_name: str) -> None:
    api = client.BatchV1Api(world.api)
    spec = {"completions": 3, "parallelism": 2, "template": template("j", restartPolicy="Never")}
    made = api.create_namespaced_job(namespace, {"metadata": {"name": "j"}, "spec": spec})
    assert (made.spec.backoff_limit, made.spec.completions) == (6, 3)
    for _ in range(3):
        waiting = until(
            lambda: [p for p in living(world, pods) if not p["spec"].get("nodeName")], "a pod of the job to run"
        )
        owner = waiting[0]["metadata"]["ownerReferences"][0]
        assert (owner["kind"], owner["name"], owner["controller"]) == ("Job", "j", True)
        assert waiting[0]["metadata"]["name"].startswith("j-")
        world.run(namespace, waiting[0]["metadata"]["name"], node_name, phase="Succeeded")
    done = until(lambda: api.read_namespaced_job("j", namespace).status.completion_time, "the job's completion", 60)
    assert done
    status = api.read_namespaced_job("j", namespace).status
    assert status.succeeded == 3
    assert ("Complete", "True") in {(c.type, c.status) for c in status.conditions}
    assert len(world.must("GET", pods)["items"]) == 3


def test_a_job_that_fails_too_often_has_failed(world: World, namespace: str, pods: str, node_name: str) -> None:
    api = client.BatchV1Api(world.api)
    spec = {"backoffLimit": 0, "template": template("j", restartPolicy="Never")}
    api.create_namespaced_job(namespace, {"metadata": {"name": "j"}, "spec": spec})
    (only,) = many(world, pods, 1)
    world.run(namespace, only["metadata"]["name"], node_name, phase="Failed")

    def failed() -> bool:
        conditions = api.read_namespaced_job("j", namespace).status.conditions or []
        return ("Failed", "True") in {(c.type, c.status) for c in conditions}

    until(failed, "the job's condition Failed", 60)


def test_a_suspended_job_has_no_pods_until_it_is_resumed(world: World, namespace: str, pods: str) -> None:
    api = client.BatchV1Api(world.api)
    spec = {"suspend": True, "template": template("j", restartPolicy="Never")}
    api.create_namespaced_job(namespace, {"metadata": {"name": "j"}, "spec": spec})
    until(lambda: api.read_namespaced_job("j", namespace).status is not None, "the job's status")
    assert living(world, pods) == []
    api.patch_namespaced_job("j", namespace, {"spec": {"suspend": False}})
    many(world, pods, 1)


def test_a_deployment_makes_as_many_pods_as_it_says(world: World, namespace: str, pods: str) -> None:
    api = client.AppsV1Api(world.api)
    api.create_namespaced_deployment(namespace, deployment(3))
    found = many(world, pods, 3)
    sets = api.list_namespaced_replica_set(namespace).items
    assert [s.metadata.owner_references[0].name for s in sets] == ["d"]
    assert {p["metadata"]["ownerReferences"][0]["name"] for p in found} == {sets[0].metadata.name}
    until(lambda: api.read_namespaced_deployment("d", namespace).status.replicas == 3, "the deployment's count")


def test_a_deployment_is_scaled(world: World, namespace: str, pods: str) -> None:
    api = client.AppsV1Api(world.api)
    api.create_namespaced_deployment(namespace, deployment(3))
    many(world, pods, 3)
    scale = api.read_namespaced_deployment_scale("d", namespace)
    assert (scale.spec.replicas, scale.status.selector) == (3, "app=d")
    api.patch_namespaced_deployment_scale("d", namespace, {"spec": {"replicas": 1}})
    many(world, pods, 1)
    scale = api.read_namespaced_deployment_scale("d", namespace)
    scale.spec.replicas = 2
    api.replace_namespaced_deployment_scale("d", namespace, scale)
    many(world, pods, 2)


def test_a_pod_that_is_lost_is_made_again(world: World, namespace: str, pods: str) -> None:
    client.AppsV1Api(world.api).create_namespaced_deployment(namespace, deployment(1))
    (first,) = many(world, pods, 1)
    world.must("DELETE", f"{pods}/{first['metadata']['name']}")
    until(
        lambda: [p for p in living(world, pods) if p["metadata"]["uid"] != first["metadata"]["uid"]], "another pod", 60
    )


def test_a_new_template_is_rolled_out_when_it_is_ready(world: World, namespace: str, pods: str, node_name: str) -> None:
    api = client.AppsV1Api(world.api)
    api.create_namespaced_deployment(namespace, deployment(1))
    (old,) = many(world, pods, 1)
    world.run(namespace, old["metadata"]["name"], node_name)
    api.patch_namespaced_deployment("d", namespace, deployment(1, "registry.k8s.io/pause:3.10"))

    def newer() -> list[Json]:
        images = ((p, p["spec"]["containers"][0]["image"]) for p in living(world, pods))
        return [p for p, image in images if image.endswith("3.10")]

    until(newer, "a pod of the new template", 60)
    if not newer()[0]["spec"].get("nodeName"):
        world.run(namespace, newer()[0]["metadata"]["name"], node_name)
    with world.kubelet(namespace):
        until(lambda: len(world.must("GET", pods)["items"]) == 1, "the end of the old pod", 60)
    assert newer()


def test_all_goes_with_the_deployment(world: World, namespace: str, pods: str) -> None:
    api = client.AppsV1Api(world.api)
    api.create_namespaced_deployment(namespace, deployment(2))
    many(world, pods, 2)
    api.delete_namespaced_deployment("d", namespace)
    until(
        lambda: not living(world, pods) and not api.list_namespaced_replica_set(namespace).items, "the end of all", 60
    )
