"""Defaults, refusals with their causes, and what of a pod may still change."""

from typing import Any

import pytest
from kubernetes import client

from tests.kube.contract.world import Json, World, pod


@pytest.fixture
def path(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods"


def container(**fields: Any) -> Json:
    return {"name": "main", "image": "registry.k8s.io/pause:3.9", **fields}


def test_a_pod_gets_its_defaults(world: World, path: str) -> None:
    made = world.must("POST", path, pod("p", containers=[container(image="busybox", ports=[{"containerPort": 80}])]))
    spec = made["spec"]
    wanted = {
        "restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "terminationGracePeriodSeconds": 30, "priority": 0,
        "schedulerName": "podshift-contract", "enableServiceLinks": True, "serviceAccountName": "default",
    }  # fmt: skip
    assert {key: spec.get(key) for key in wanted} == wanted
    first = spec["containers"][0]
    assert (first["imagePullPolicy"], first["ports"][0]["protocol"]) == ("Always", "TCP")
    assert {t["key"] for t in spec["tolerations"]} == {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}
    assert made["status"]["phase"] == "Pending"


def test_limits_are_requests_where_there_are_none(world: World, path: str) -> None:
    limits = {"cpu": "500m", "memory": "64Mi"}
    made = world.must("POST", path, pod("p", containers=[container(resources={"limits": limits})]))
    assert made["spec"]["containers"][0]["resources"]["requests"] == limits
    assert made["status"]["qosClass"] == "Guaranteed"


@pytest.mark.parametrize(
    ("resources", "quality"),
    [({}, "BestEffort"), ({"requests": {"cpu": "1"}}, "Burstable"), ({"limits": {"cpu": "1"}}, "Burstable")],
)
def test_the_quality_of_service_follows_from_the_resources(
    world: World, path: str, resources: Json, quality: str
) -> None:
    assert (
        world.must("POST", path, pod("p", containers=[container(resources=resources)]))["status"]["qosClass"] == quality
    )


BROKEN: dict[str, tuple[Json, list[tuple[str, str]]]] = {
    "no containers": ({"containers": []}, [("spec.containers", "FieldValueRequired")]),
    "no image": ({"containers": [{"name": "main"}]}, [("spec.containers[0].image", "FieldValueRequired")]),
    "no name": ({"containers": [{"image": "i"}]}, [("spec.containers[0].name", "FieldValueRequired")]),
    "a name with capitals": (
        {"containers": [container(name="Main")]},
        [("spec.containers[0].name", "FieldValueInvalid")],
    ),
    "the same name twice": (
        {"containers": [container(), container()]},
        [("spec.containers[1].name", "FieldValueDuplicate")],
    ),
    "a restart policy of its own": ({"restartPolicy": "Sometimes"}, [("spec.restartPolicy", "FieldValueNotSupported")]),
    "more requested than allowed": (
        {"containers": [container(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}})]},
        [("spec.containers[0].resources.requests", "FieldValueInvalid")],
    ),
    "a mount of no volume": (
        {"containers": [container(volumeMounts=[{"name": "none", "mountPath": "/x"}])]},
        [("spec.containers[0].volumeMounts[0].name", "FieldValueNotFound")],
    ),
    "a port out of range": (
        {"containers": [container(ports=[{"containerPort": 70000}])]},
        [("spec.containers[0].ports[0].containerPort", "FieldValueInvalid")],
    ),
    "two things at once": (
        {"containers": [container(image="")], "restartPolicy": "Sometimes"},
        [("spec.containers[0].image", "FieldValueRequired"), ("spec.restartPolicy", "FieldValueNotSupported")],
    ),
}


@pytest.mark.parametrize(("spec", "causes"), BROKEN.values(), ids=BROKEN.keys())
def test_a_pod_that_does_not_hold_up_is_a_422_with_every_cause(
    world: World, path: str, spec: Json, causes: list[tuple[str, str]]
) -> None:
    code, body = world.call("POST", path, pod("p", **spec))
    assert (code, body["reason"], body["details"]["name"]) == (422, "Invalid", "p")
    assert set(causes) <= {(cause["field"], cause["reason"]) for cause in body["details"]["causes"]}
    assert body["message"].startswith('Pod "p" is invalid: ')


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        ({"name": "Not_A_Name"}, "metadata.name"),
        ({"name": "x" * 254}, "metadata.name"),
        ({"name": "p", "labels": {"app": "no label!"}}, "metadata.labels"),
        ({"name": "p", "labels": {"-app": "x"}}, "metadata.labels"),
        ({"name": "p", "annotations": {"not a key": "x"}}, "metadata.annotations"),
        ({}, "metadata.name"),
    ],
)
def test_names_and_labels_have_a_form(world: World, path: str, metadata: Json, field: str) -> None:
    code, body = world.call("POST", path, pod("p") | {"metadata": metadata})
    assert code == 422
    assert field in {cause["field"] for cause in body["details"]["causes"]}


@pytest.mark.parametrize("spec", ["text", {"containers": "text"}, {"containers": [1]}], ids=str)
def test_a_body_of_another_shape_is_a_400(world: World, path: str, spec: Any) -> None:
    assert world.call("POST", path, pod("p") | {"spec": spec})[0] in (400, 422)


@pytest.mark.parametrize(
    ("operation", "allowed"),
    [
        ({"op": "replace", "path": "/spec/containers/0/image", "value": "registry.k8s.io/pause:3.10"}, True),
        ({"op": "add", "path": "/spec/activeDeadlineSeconds", "value": 60}, True),
        ({"op": "add", "path": "/spec/tolerations/-", "value": {"key": "x", "operator": "Exists"}}, True),
        ({"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}, True),
        ({"op": "replace", "path": "/spec/schedulerName", "value": "other"}, False),
        ({"op": "add", "path": "/spec/nodeName", "value": "n1"}, False),
        ({"op": "add", "path": "/spec/containers/0/command", "value": ["sh"]}, False),
        ({"op": "add", "path": "/spec/containers/-", "value": {"name": "two", "image": "i"}}, False),
        ({"op": "add", "path": "/spec/nodeSelector", "value": {"a": "b"}}, False),
        ({"op": "remove", "path": "/spec/tolerations/0"}, False),
        ({"op": "replace", "path": "/spec/priority", "value": 7}, False),
    ],
    ids=lambda value: value["path"] if isinstance(value, dict) else "",
)
def test_of_a_pods_specification_only_little_may_change(
    world: World, path: str, operation: Json, allowed: bool
) -> None:
    before = world.must("POST", path, pod("p", tolerations=[{"key": "own", "operator": "Exists"}]))
    code, body = world.call("PATCH", f"{path}/p", [operation], media_type="application/json-patch+json")
    if allowed:
        assert code == 200
        assert body["metadata"]["resourceVersion"] != before["metadata"]["resourceVersion"]
    else:
        assert (code, body["reason"]) == (422, "Invalid")
        assert all(cause["field"].startswith("spec") for cause in body["details"]["causes"])
        assert world.must("GET", f"{path}/p") == before


def test_a_gated_pod_may_still_be_sent_elsewhere(world: World, path: str) -> None:
    world.must("POST", path, pod("p", schedulingGates=[{"name": "example.com/wait"}]))
    merge = "application/merge-patch+json"
    world.must("PATCH", f"{path}/p", {"spec": {"nodeSelector": {"a": "b"}}}, media_type=merge)
    world.must("PATCH", f"{path}/p", {"spec": {"schedulingGates": None}}, media_type=merge)
    again = {"spec": {"schedulingGates": [{"name": "example.com/wait"}]}}
    assert world.call("PATCH", f"{path}/p", again, media_type=merge)[0] == 422


def test_a_priority_class_gives_its_value(world: World, path: str, namespace: str) -> None:
    name = f"{namespace}-high"
    client.SchedulingV1Api(world.api).create_priority_class({"metadata": {"name": name}, "value": 1000})
    try:
        assert world.must("POST", path, pod("p", priorityClassName=name))["spec"]["priority"] == 1000
        assert world.call("POST", path, pod("q", priorityClassName="no-such-class"))[0] == 403
    finally:
        client.SchedulingV1Api(world.api).delete_priority_class(name)


@pytest.mark.parametrize(
    ("kind", "spec", "field"),
    [
        (
            "apis/batch/v1/{}/jobs",
            {"template": {"spec": {"containers": [container()]}}},
            "spec.template.spec.restartPolicy",
        ),
        ("apis/apps/v1/{}/deployments", {"template": {"spec": {"containers": [container()]}}}, "spec.selector"),
        (
            "apis/apps/v1/{}/deployments",
            {
                "selector": {"matchLabels": {"app": "x"}},
                "template": {"metadata": {"labels": {"app": "y"}}, "spec": {"containers": [container()]}},
            },
            "spec.template.metadata.labels",
        ),
        ("apis/coordination.k8s.io/v1/{}/leases", {"leaseDurationSeconds": 0}, "spec.leaseDurationSeconds"),
        ("apis/policy/v1/{}/poddisruptionbudgets", {"minAvailable": 1, "maxUnavailable": 1}, "spec"),
    ],
)
def test_other_kinds_are_validated_too(world: World, namespace: str, kind: str, spec: Json, field: str) -> None:
    code, body = world.call(
        "POST", "/" + kind.format(f"namespaces/{namespace}"), {"metadata": {"name": "x"}, "spec": spec}
    )
    assert code == 422
    assert field in {cause["field"] for cause in body["details"]["causes"]}


def test_the_template_of_a_job_is_fixed(world: World, namespace: str) -> None:
    path = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    template = {"spec": {"restartPolicy": "Never", "containers": [container()]}}
    world.must("POST", path, {"metadata": {"name": "j"}, "spec": {"suspend": True, "template": template}})
    patch = {"spec": {"template": {"spec": {"containers": [container(image="other")]}}}}
    code, body = world.call("PATCH", f"{path}/j", patch, media_type="application/merge-patch+json")
    assert (code, body["details"]["causes"][0]["field"]) == (422, "spec.template")


def test_a_new_pods_status_is_the_servers(world: World, path: str) -> None:
    made = world.must("POST", path, pod("p") | {"status": {"phase": "Running", "podIP": "1.2.3.4"}})
    assert (made["status"]["phase"], "podIP" in made["status"]) == ("Pending", False)


def test_the_status_has_a_door_of_its_own(world: World, path: str) -> None:
    made = world.must("POST", path, pod("p"))
    after = world.must("PUT", f"{path}/p", made | {"status": {"phase": "Running"}})
    assert after["status"]["phase"] == "Pending"
    other = made["spec"] | {"schedulerName": "other"}
    after = world.must("PUT", f"{path}/p/status", made | {"status": {"phase": "Running"}, "spec": other})
    assert (after["status"]["phase"], after["spec"]["schedulerName"]) == ("Running", "podshift-contract")
    assert world.must("GET", f"{path}/p/status")["status"]["phase"] == "Running"


def test_a_node_brings_its_status_and_keeps_it_through_an_update(world: World, node_name: str) -> None:
    path = f"/api/v1/nodes/{node_name}"
    made = world.must("GET", path)
    assert made["status"]["allocatable"]["cpu"] == "8"
    labels = made["metadata"]["labels"] | {"zone": "a"}
    after = world.must("PUT", path, made | {"metadata": made["metadata"] | {"labels": labels}, "status": {}})
    assert (after["metadata"]["labels"]["zone"], after["status"]["allocatable"]["cpu"]) == ("a", "8")
