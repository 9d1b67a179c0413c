"""Nodes and pods as the server has them, read as ours."""

from typing import Any

import pytest

from backend.kube.convert import image_sizes, job_of, node_of, pod_of
from backend.model.objects import Taint, Toleration
from backend.model.quantities import QuantityError
from tests.unit.kube.fake_server import node, pod

Json = dict[str, Any]


def container(cpu: object = None, memory: object = None, name: str = "main", **fields: Any) -> Json:
    requests = {key: value for key, value in (("cpu", cpu), ("memory", memory)) if value is not None}
    return {"name": name, "image": f"{name}:1", "resources": {"requests": requests}, **fields}


def asked(*containers: Json, **spec: Any) -> tuple[int, int]:
    job = job_of(pod("a", containers=list(containers), **spec))
    return job.cpu_request_millis, job.memory_bytes


CPU = {
    "1": 1000,
    "2": 2000,
    "0.5": 500,
    "1.5": 1500,
    "500m": 500,
    "1500m": 1500,
    "1e3": 1_000_000,
    "1E-1": 100,
    "100u": 1,
    "1n": 1,
    "2k": 2_000_000,
    "0": 0,
    "0.0001": 1,
}
MEMORY = {
    "128974848": 128974848,
    "129e6": 129_000_000,
    "129M": 129_000_000,
    "123Mi": 123 * 2**20,
    "1G": 10**9,
    "1Gi": 2**30,
    "1.5Gi": 3 * 2**29,
    "100Ki": 102_400,
    "100k": 100_000,
    "1T": 10**12,
    "1Ti": 2**40,
    "1P": 10**15,
    "1Pi": 2**50,
    "1E": 10**18,
    "1Ei": 2**60,
    "128974848000m": 128_974_848,
    "1500m": 2,
    "0": 0,
}


@pytest.mark.parametrize("text", CPU, ids=str)
def test_cpu_of_pods_and_nodes(text: str) -> None:
    assert asked(container(cpu=text))[0] == CPU[text]
    assert node_of(node("n", cpu=text)).cpu_millis == CPU[text]


@pytest.mark.parametrize("text", MEMORY, ids=str)
def test_memory_of_pods_and_nodes(text: str) -> None:
    assert asked(container(memory=text))[1] == MEMORY[text]
    assert node_of(node("n", memory=text)).memory_bytes == MEMORY[text]


@pytest.mark.parametrize("text", ["", "one", "1GB", "1 Gi", "--1", "NaN", "inf", True, "1e99"], ids=str)
def test_what_is_no_quantity_is_refused(text: Any) -> None:
    with pytest.raises(QuantityError):
        node_of(node("n", cpu=text))


SIDECAR = {"restartPolicy": "Always"}
REQUESTS: dict[str, tuple[list[Json], Json, int]] = {
    "none": ([{"name": "main"}], {}, 0),
    "one": ([container("300m")], {}, 300),
    "sum": ([container("300m"), container("1")], {}, 1300),
    "limit without request": ([{"resources": {"limits": {"cpu": "2"}}}], {}, 2000),
    "request beside limit": ([{"resources": {"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}}], {}, 1000),
    "small init": ([container("1")], {"initContainers": [container("500m")]}, 1000),
    "large init": ([container("1")], {"initContainers": [container("3"), container("2")]}, 3000),
    "inits are not added": ([container("1")], {"initContainers": [container("800m"), container("900m")]}, 1000),
    "sidecar is added": ([container("1")], {"initContainers": [container("500m", **SIDECAR)]}, 1500),
    "init beside a sidecar before it": (
        [container("1")],
        {"initContainers": [container("500m", **SIDECAR), container("2")]},
        2500,
    ),
    "init before a sidecar": (
        [container("1")],
        {"initContainers": [container("2"), container("500m", **SIDECAR)]},
        2000,
    ),
    "overhead": ([container("1")], {"overhead": {"cpu": "250m"}}, 1250),
    "overhead on a large init": (
        [container("1")],
        {"initContainers": [container("3")], "overhead": {"cpu": "250m"}},
        3250,
    ),
    "the pod as a whole": ([container("1")], {"resources": {"requests": {"cpu": "4"}}}, 4000),
}


@pytest.mark.parametrize("case", REQUESTS, ids=str)
def test_requests_of_a_pod(case: str) -> None:
    containers, spec, millis = REQUESTS[case]
    assert asked(*containers, **spec)[0] == millis


LIMITS = {"all": (["1", "500m"], 1500), "one without": (["1", None], None), "none": ([None], None)}


@pytest.mark.parametrize("case", LIMITS, ids=str)
def test_limit_of_a_pod(case: str) -> None:
    limits, millis = LIMITS[case]
    containers = [{"resources": {"limits": {"cpu": limit}} if limit else {}} for limit in limits]
    assert job_of(pod("a", containers=containers)).cpu_limit_millis == millis


def required(*terms: Json) -> Json:
    selector = {"nodeSelectorTerms": list(terms)}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}}


def term(key: str, operator: str, *values: str) -> Json:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


HOST = "kubernetes.io/hostname"
AFFINITY: dict[str, tuple[Json, dict[str, str], str]] = {
    "none": ({}, {}, ""),
    "selector": ({"nodeSelector": {"disk": "ssd"}}, {"disk": "ssd"}, ""),
    "one value": (required(term("disk", "In", "ssd")), {"disk": "ssd"}, ""),
    "two expressions": (
        required(
            {"matchExpressions": [*term("a", "In", "1")["matchExpressions"], *term("b", "In", "2")["matchExpressions"]]}
        ),
        {"a": "1", "b": "2"},
        "",
    ),
    "beside a selector": (
        {"nodeSelector": {"zone": "a"}} | required(term("disk", "In", "ssd")),
        {"zone": "a", "disk": "ssd"},
        "",
    ),
    "same as the selector": ({"nodeSelector": {"a": "1"}} | required(term("a", "In", "1")), {"a": "1"}, ""),
    "against the selector": (
        {"nodeSelector": {"a": "1"}} | required(term("a", "In", "2")),
        {"a": "1"},
        "both a=1 and a=2",
    ),
    "name of a node": (
        required({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}),
        {HOST: "n1"},
        "",
    ),
    "a term that is empty": (required(term("disk", "In", "ssd"), {}), {"disk": "ssd"}, ""),
    "two values": (required(term("disk", "In", "ssd", "nvme")), {}, "one of 2 values"),
    "not in": (required(term("disk", "NotIn", "hdd")), {}, "NotIn"),
    "exists": (required(term("gpu", "Exists")), {}, "Exists"),
    "greater": (required(term("cores", "Gt", "4")), {}, "Gt"),
    "two terms": (required(term("a", "In", "1"), term("b", "In", "2")), {}, "2 terms of which one is enough"),
    "no term": (required(), {}, "no term that a node could match"),
    "another field": (
        required({"matchFields": [{"key": "spec.x", "operator": "In", "values": ["1"]}]}),
        {},
        "the field spec.x",
    ),
    "preferred only": (
        {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}}},
        {},
        "",
    ),
    "gates": ({"schedulingGates": [{"name": "quota"}]}, {}, "scheduling gates are closed: quota"),
    "pod anti-affinity": (
        {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{}]}}},
        {},
        "required pod anti-affinity",
    ),
    "spread that must be": (
        {"topologySpreadConstraints": [{"topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]},
        {},
        "spread over zone",
    ),
    "spread that may be": (
        {"topologySpreadConstraints": [{"topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]},
        {},
        "",
    ),
    "host port": ({"containers": [{"ports": [{"hostPort": 80}]}]}, {}, "port 80"),
    "gpu": ({"containers": [{"resources": {"limits": {"nvidia.com/gpu": 1}}}]}, {}, "nvidia.com/gpu"),
    "no gpu": ({"containers": [{"resources": {"limits": {"nvidia.com/gpu": 0}}}]}, {}, ""),
    "scratch space": ({"containers": [{"resources": {"requests": {"ephemeral-storage": "1Gi"}}}]}, {}, ""),
}


@pytest.mark.parametrize("case", AFFINITY, ids=str)
def test_what_keeps_a_pod_to_some_nodes(case: str) -> None:
    spec, selector, refusal = AFFINITY[case]
    seen = pod_of(pod("a", **spec))
    assert seen.job.node_selector == selector
    assert refusal in seen.refusal
    assert bool(refusal) == bool(seen.refusal)


NAMES = {
    "default namespace": ("default", "train-1", {}, "train-1", "train-1"),
    "other namespace": ("ml", "train-1", {}, "ml.train-1", "ml.train-1"),
    "dot in the default namespace": ("default", "train.v1", {}, "default.train.v1", "default.train.v1"),
    "labelled": ("default", "train-1-migrated", {"podshift.io/job": "train-1"}, "train-1-migrated", "train-1"),
    "labelled elsewhere": (
        "ml",
        "train-1-migrated",
        {"podshift.io/job": "train-1"},
        "ml.train-1-migrated",
        "ml.train-1",
    ),
    "label that no pod could have": ("default", "train-1", {"podshift.io/job": "My_Job"}, "train-1", "train-1"),
}


@pytest.mark.parametrize("case", NAMES, ids=str)
def test_names(case: str) -> None:
    namespace, own, labels, name, job = NAMES[case]
    item = pod(own, namespace)
    item["metadata"]["labels"] = labels
    seen = pod_of(item)
    assert (seen.name, seen.job.name) == (name, job)


def owner(kind: str) -> Json:
    return {"ownerReferences": [{"kind": kind, "name": "x", "controller": True}]}


def note(value: str) -> Json:
    return {"annotations": {"podshift.io/migratable": value}}


MIGRATABLE: dict[str, tuple[Json, list[Json], bool]] = {
    "plain": ({}, [], True),
    "said no": (note("false"), [], False),
    "said no in capitals": (note("False"), [], False),
    "said no as a label": ({"labels": {"podshift.io/migratable": "false"}}, [], False),
    "DaemonSet": (owner("DaemonSet"), [], False),
    "DaemonSet that says yes": (owner("DaemonSet") | note("true"), [], False),
    "static": (owner("Node"), [], False),
    "mirror": ({"annotations": {"kubernetes.io/config.mirror": "abc"}}, [], False),
    "scratch": ({}, [{"name": "s", "emptyDir": {}}], False),
    "disk of the node": ({}, [{"name": "s", "hostPath": {"path": "/x"}}], False),
    "disk of the node, said to be shared": (note("true"), [{"name": "s", "hostPath": {"path": "/x"}}], True),
    "configuration": ({}, [{"name": "s", "configMap": {"name": "c"}}], True),
    "claim": ({}, [{"name": "s", "persistentVolumeClaim": {"claimName": "c"}}], True),
}


@pytest.mark.parametrize("case", MIGRATABLE, ids=str)
def test_what_may_be_migrated(case: str) -> None:
    about, volumes, migratable = MIGRATABLE[case]
    item = pod("a", volumes=volumes)
    item["metadata"] |= about
    assert job_of(item).migratable is migratable


def test_a_pod_with_all_it_can_say() -> None:
    item = pod(
        "a",
        containers=[container("1", name="main"), container("1", name="log")],
        tolerations=[
            {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"},
            {"key": "zone", "value": "edge"},
            {"operator": "Exists"},
            {"key": "n", "operator": "Gt", "value": "3"},
        ],
    )
    item["metadata"] |= {
        "uid": "u1",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": {"podshift.io/run": "r1", "podshift.io/incarnation": "2", "podshift.io/workload": "lenet"},
        "annotations": {
            "podshift.io/iterations": "150",
            "podshift.io/metric": "accuracy",
            "podshift.io/progress": "step=3",
        },
    }
    seen = pod_of(item)
    job = seen.job
    assert (seen.uid, seen.run, seen.incarnation, seen.container) == ("u1", "r1", 2, "main")
    assert (seen.created, seen.progress, seen.scheduler) == ("2026-01-01T00:00:00Z", "step=3", "podshift")
    assert (job.workload, job.iterations, job.metric) == ("lenet", 150, "accuracy")
    assert (job.image, job.more_images) == ("main:1", ("log:1",))
    assert job.tolerations == (
        Toleration("gpu", "Exists", "", "NoSchedule"),
        Toleration("zone", "Equal", "edge"),
        Toleration("", "Exists"),
    )


def ended(**status: Any) -> Json:
    return {"status": {"phase": "Failed", **status}}


ENDS: dict[str, tuple[Json, bool, str]] = {
    "its own fault": (
        ended(containerStatuses=[{"name": "main", "state": {"terminated": {"exitCode": 3, "reason": "Error"}}}]),
        False,
        "container main ended with code 3 (Error)",
    ),
    "evicted by its node": (ended(reason="Evicted", message="low on memory"), True, "Evicted: low on memory"),
    "refused by its node": (ended(reason="OutOfcpu"), True, "OutOfcpu"),
    "too long": (ended(reason="DeadlineExceeded"), False, "DeadlineExceeded"),
    "disrupted": (ended(conditions=[{"type": "DisruptionTarget", "status": "True"}]), True, ""),
}


@pytest.mark.parametrize("case", ENDS, ids=str)
def test_ends(case: str) -> None:
    status, displaced, reason = ENDS[case]
    seen = pod_of(pod("a") | status)
    assert (seen.displaced, seen.reason) == (displaced, reason)


STOPS = {
    "before it was asked": ("2026-01-01T00:00:29Z", True),
    "in the same second": ("2026-01-01T00:00:30Z", False),
    "after it was asked": ("2026-01-01T00:00:31Z", False),
    "not yet": (None, False),
}


@pytest.mark.parametrize("case", STOPS, ids=str)
def test_whether_a_stopping_pod_had_ended_before(case: str) -> None:
    """Asked at :30 with a grace of 30 s, so that the server says it is to be gone at 1:00."""
    at, first = STOPS[case]
    item = pod("a")
    item["metadata"] |= {"deletionTimestamp": "2026-01-01T00:01:00Z", "deletionGracePeriodSeconds": 30}
    state = {"terminated": {"exitCode": 0, "finishedAt": at}} if at else {"running": {}}
    item["status"] = {"phase": "Running", "containerStatuses": [{"name": "main", "state": state}]}
    seen = pod_of(item)
    assert (seen.stopping, seen.ended_first) == (True, first)


def test_a_node_with_all_it_can_say() -> None:
    item = node("n", allocatable={"cpu": "3920m", "memory": "15Gi", "pods": "58"})
    item["spec"] = {
        "unschedulable": True,
        "taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}, {"key": "x", "effect": "NoExecute"}],
    }
    read = node_of(item)
    assert (read.cpu_millis, read.memory_bytes, read.max_pods) == (3920, 15 * 2**30, 58)
    assert read.taints == (Taint("gpu", "NoSchedule", "yes"), Taint("x", "NoExecute"))
    assert (read.ready, read.unschedulable) == (True, True)


READY = {"True": True, "False": False, "Unknown": False, None: False}


@pytest.mark.parametrize("status", READY, ids=str)
def test_ready(status: str | None) -> None:
    conditions = [{"type": "Ready", "status": status}] if status else []
    assert node_of(node("n", conditions=conditions)).ready is READY[status]


def test_what_is_allocatable_counts_before_capacity() -> None:
    read = node_of(node("n", allocatable={"cpu": "1"}, capacity={"cpu": "2", "memory": "1Gi", "pods": "5"}))
    assert (read.cpu_millis, read.memory_bytes, read.max_pods) == (1000, 2**30, 5)


def test_a_node_has_a_hostname_to_be_selected_by() -> None:
    item = node("n")
    item["metadata"]["labels"] = None
    assert node_of(item).labels == {HOST: "n"}


def test_images_are_known_by_all_names_that_pods_have_for_them() -> None:
    item = node(
        "n",
        images=[
            {"names": ["docker.io/library/nginx@sha256:1", "docker.io/library/nginx:1.25"], "sizeBytes": 70},
            {"names": ["docker.io/me/tool:2"], "sizeBytes": 30},
            {"names": ["ghcr.io/me/tool:2"]},
            {"names": None},
        ],
    )
    assert image_sizes(item) == {
        "docker.io/library/nginx@sha256:1": 70,
        "nginx@sha256:1": 70,
        "library/nginx@sha256:1": 70,
        "docker.io/library/nginx:1.25": 70,
        "nginx:1.25": 70,
        "library/nginx:1.25": 70,
        "docker.io/me/tool:2": 30,
        "me/tool:2": 30,
        "ghcr.io/me/tool:2": 0,
    }
    assert "nginx:1.25" in node_of(item).images
