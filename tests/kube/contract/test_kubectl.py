"""The commands that people type."""

import json
import queue
import subprocess
import threading
from collections.abc import Iterable, Iterator

import pytest
import yaml

from backend.embedded.apiserver import ApiServer
from backend.embedded.apiserver.providers import Usage
from tests.kube.contract.waiting import until
from tests.kube.contract.world import Kubectl, World, config_map, pod


@pytest.fixture
def running(world: World, kubectl: Kubectl, node_name: str) -> str:
    """A pod that runs. Returns its name."""
    world.core.create_namespaced_pod(kubectl.namespace, pod("p", labels={"app": "x"}))
    world.run(kubectl.namespace, "p", node_name)
    return "p"


def manifest(*objects: object) -> str:
    return yaml.safe_dump_all(objects)


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_version(kubectl: Kubectl) -> None:
    assert json.loads(kubectl("version", "-o", "json"))["serverVersion"]["major"] == "1"


def test_api_resources(kubectl: Kubectl) -> None:
    names = {row[0] for row in rows(kubectl("api-resources", "--no-headers"))}
    assert {"pods", "nodes", "jobs", "deployments", "leases", "poddisruptionbudgets", "events"} <= names


def test_get_shows_pods(kubectl: Kubectl, running: str) -> None:
    head, row = rows(kubectl("get", "pods"))
    assert head == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert row[:4] == ["p", "0/1", "Running", "0"]


def test_get_wide_shows_the_node(kubectl: Kubectl, running: str, node_name: str) -> None:
    head, row = rows(kubectl("get", "pods", "-o", "wide"))
    assert "NODE" in head
    assert node_name in row


@pytest.mark.parametrize(
    "kind",
    ["nodes", "namespaces", "jobs", "deployments", "replicasets", "services", "configmaps", "secrets", "events", "pdb",
     "serviceaccounts", "leases", "crd", "clusterroles", "roles", "rolebindings", "priorityclasses", "all"],
)  # fmt: skip
def test_get_of_every_kind(kubectl: Kubectl, kind: str) -> None:
    kubectl("get", kind, "-o", "wide")


def test_get_as_json_and_yaml(kubectl: Kubectl, running: str, node_name: str) -> None:
    assert json.loads(kubectl("get", "pod", "p", "-o", "json"))["spec"]["nodeName"] == node_name
    assert yaml.safe_load(kubectl("get", "pod", "p", "-o", "yaml"))["kind"] == "Pod"
    assert json.loads(kubectl("get", "pods", "-o", "json"))["items"][0]["metadata"]["name"] == "p"


def test_get_custom_columns_jsonpath_and_names(kubectl: Kubectl, running: str, node_name: str) -> None:
    columns = "custom-columns=NAME:.metadata.name,NODE:.spec.nodeName"
    assert rows(kubectl("get", "pods", "-o", columns)) == [["NAME", "NODE"], ["p", node_name]]
    assert kubectl("get", "pod", "p", "-o", "jsonpath={.status.phase}") == "Running"
    assert kubectl("get", "pods", "-o", "name").strip() == "pod/p"


def test_get_by_selectors_and_sorted(world: World, kubectl: Kubectl, running: str) -> None:
    world.core.create_namespaced_pod(kubectl.namespace, pod("another"))
    assert kubectl("get", "pods", "-l", "app=x", "-o", "name").split() == ["pod/p"]
    assert kubectl("get", "pods", "--field-selector", "status.phase=Pending", "-o", "name").split() == ["pod/another"]
    assert [row[0] for row in rows(kubectl("get", "pods", "--sort-by=.metadata.name", "--no-headers"))] == [
        "another",
        "p",
    ]


def test_get_of_nothing_fails_and_says_so(kubectl: Kubectl) -> None:
    done = kubectl.run("get", "pod", "none")
    assert done.returncode == 1
    assert 'Error from server (NotFound): pods "none" not found' in done.stderr


@pytest.fixture
def watched(kubectl: Kubectl) -> Iterator["queue.Queue[str]"]:
    """The lines of `kubectl get pods -w`."""
    process = subprocess.Popen(
        kubectl.command("get", "pods", "-w", "--no-headers"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    lines: queue.Queue[str] = queue.Queue()
    assert process.stdout is not None
    output: Iterable[str] = process.stdout

    def read() -> None:
        for line in output:
            lines.put(line)

    reader = threading.Thread(target=read)
    reader.start()
    yield lines
    process.terminate()
    process.wait(10)
    reader.join(10)


def test_get_watch_follows(world: World, kubectl: Kubectl, running: str, watched: "queue.Queue[str]") -> None:
    assert watched.get(timeout=20).split()[:3] == ["p", "0/1", "Running"]
    world.report(kubectl.namespace, "p", "Succeeded")
    seen = watched.get(timeout=20).split()[:3]
    assert seen[2] in ("Succeeded", "Completed")
    world.core.create_namespaced_pod(kubectl.namespace, pod("q"))
    assert watched.get(timeout=20).split()[:3] == ["q", "0/1", "Pending"]


def test_describe_a_pod_with_its_events(world: World, kubectl: Kubectl, running: str, node_name: str) -> None:
    about = world.must("GET", f"/api/v1/namespaces/{kubectl.namespace}/pods/p")["metadata"]
    involved = {"kind": "Pod", "namespace": kubectl.namespace, "name": "p", "uid": about["uid"], "apiVersion": "v1"}
    body = {
        "metadata": {"name": "e"}, "involvedObject": involved, "reason": "Scheduled", "message": "it has a node",
        "type": "Normal", "source": {"component": "podshift"}, "firstTimestamp": about["creationTimestamp"],
        "lastTimestamp": about["creationTimestamp"], "count": 1,
    }  # fmt: skip
    world.must("POST", f"/api/v1/namespaces/{kubectl.namespace}/events", body)
    text = kubectl("describe", "pod", "p")
    assert f"Node:             {node_name}/" in text or f"Node:         {node_name}/" in text
    assert "it has a node" in text


def test_describe_a_node_with_its_pods(kubectl: Kubectl, running: str, node_name: str) -> None:
    text = kubectl("describe", "node", node_name)
    assert "Allocated resources" in text
    assert kubectl.namespace in text


@pytest.mark.parametrize("kind", ["namespace", "deployment", "job", "service", "pdb", "configmap"])
def test_describe_of_other_kinds(kubectl: Kubectl, kind: str) -> None:
    template = {"metadata": {"labels": {"app": "d"}}, "spec": pod("x")["spec"]}
    selector = {"matchLabels": {"app": "d"}}
    never = {**template, "spec": template["spec"] | {"restartPolicy": "Never"}}
    bodies = {
        "deployment": ("apps/v1", "Deployment", {"replicas": 1, "selector": selector, "template": template}),
        "job": ("batch/v1", "Job", {"template": never}),
        "service": ("v1", "Service", {"ports": [{"port": 80}], "selector": {"app": "d"}}),
        "pdb": ("policy/v1", "PodDisruptionBudget", {"minAvailable": 1, "selector": selector}),
    }
    if kind in bodies:
        version, name, spec = bodies[kind]
        body = {"apiVersion": version, "kind": name, "metadata": {"name": "d"}, "spec": spec}
    else:
        body = config_map("d", a="1")
    kubectl("create", "-f", "-", stdin=json.dumps(body))
    assert "Name:" in kubectl("describe", kind, kubectl.namespace if kind == "namespace" else "d")


def test_create_and_again(kubectl: Kubectl) -> None:
    text = manifest(config_map("a"), pod("p"))
    assert kubectl("create", "-f", "-", stdin=text).split("\n")[:2] == ["configmap/a created", "pod/p created"]
    done = kubectl.run("create", "-f", "-", stdin=text)
    assert done.returncode == 1
    assert "AlreadyExists" in done.stderr


def test_apply_creates_changes_and_leaves_alone(kubectl: Kubectl) -> None:
    said = [
        kubectl("apply", "-f", "-", stdin=manifest(config_map("c", **data))).strip()
        for data in ({"a": "1", "b": "2"}, {"a": "1", "b": "2"}, {"a": "9"})
    ]
    assert said == ["configmap/c created", "configmap/c unchanged", "configmap/c configured"]
    assert json.loads(kubectl("get", "cm", "c", "-o", "json"))["data"] == {"a": "9"}


def test_apply_of_a_deployment_merges_by_container(kubectl: Kubectl) -> None:
    def deployment(*containers: tuple[str, str]) -> str:
        listed = [{"name": name, "image": image} for name, image in containers]
        template = {"metadata": {"labels": {"app": "d"}}, "spec": pod("x")["spec"] | {"containers": listed}}
        spec = {"replicas": 0, "selector": {"matchLabels": {"app": "d"}}, "template": template}
        return json.dumps({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec})

    kubectl("apply", "-f", "-", stdin=deployment(("one", "i:1"), ("two", "i:1")))
    kubectl("apply", "-f", "-", stdin=deployment(("two", "i:2"), ("three", "i:1")))
    path = "jsonpath={range .spec.template.spec.containers[*]}{.name}={.image} {end}"
    assert set(kubectl("get", "deployment", "d", "-o", path).split()) == {"two=i:2", "three=i:1"}


def test_apply_on_the_server(kubectl: Kubectl) -> None:
    text = manifest(config_map("c", a="1"))
    assert kubectl("apply", "--server-side", "-f", "-", stdin=text).strip() == "configmap/c serverside-applied"
    other = manifest(config_map("c", a="2"))
    done = kubectl.run("apply", "--server-side", "--field-manager=you", "-f", "-", stdin=other)
    assert done.returncode == 1
    assert "conflict" in done.stderr
    kubectl("apply", "--server-side", "--field-manager=you", "--force-conflicts", "-f", "-", stdin=other)


def test_a_dry_run_on_the_server_leaves_no_trace(kubectl: Kubectl) -> None:
    text = manifest(config_map("c", a="1"))
    assert "created (server dry run)" in kubectl("apply", "--dry-run=server", "-f", "-", stdin=text)
    assert kubectl("get", "cm", "c", "--ignore-not-found") == ""
    done = kubectl.run("apply", "--dry-run=server", "-f", "-", stdin=manifest(pod("p", restartPolicy="Sometimes")))
    assert done.returncode == 1
    assert "spec.restartPolicy: Unsupported value" in done.stderr


def test_diff_shows_what_an_apply_would_change(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=manifest(config_map("c", a="1")))
    done = kubectl.run("diff", "-f", "-", stdin=manifest(config_map("c", a="2")))
    assert done.returncode == 1, done.stderr
    assert '+  a: "2"' in done.stdout


def test_delete_waits_until_it_is_gone(world: World, kubectl: Kubectl, running: str) -> None:
    with world.kubelet(kubectl.namespace):
        assert 'pod "p" deleted' in kubectl("delete", "pod", "p")
    assert kubectl("get", "pods", "-o", "name") == ""


def test_delete_by_force_by_file_and_by_label(world: World, kubectl: Kubectl, running: str) -> None:
    kubectl("delete", "pod", "p", "--grace-period=0", "--force")
    text = manifest(config_map("a", labels={"app": "x"}), config_map("b", labels={"app": "z"}))
    kubectl("create", "-f", "-", stdin=text)
    kubectl("delete", "cm", "-l", "app=x")
    assert kubectl.run("get", "cm", "a").returncode == 1
    kubectl("delete", "-f", "-", "--ignore-not-found", stdin=text)
    assert kubectl.run("get", "cm", "b").returncode == 1


def test_label_annotate_patch_edit_and_scale(kubectl: Kubectl) -> None:
    kubectl("create", "configmap", "c", "--from-literal=a=1")
    kubectl("label", "cm", "c", "app=x")
    kubectl("annotate", "cm", "c", "note=hello")
    kubectl("patch", "cm", "c", "-p", '{"data":{"b":"2"}}')
    found = json.loads(kubectl("get", "cm", "c", "-o", "json"))
    assert found["metadata"]["labels"] == {"app": "x"}
    assert (found["metadata"]["annotations"]["note"], found["data"]) == ("hello", {"a": "1", "b": "2"})
    kubectl("create", "deployment", "d", "--image=registry.k8s.io/pause:3.9")
    kubectl("scale", "deployment", "d", "--replicas=2")
    assert kubectl("get", "deployment", "d", "-o", "jsonpath={.spec.replicas}") == "2"


def test_wait_for_a_condition(world: World, kubectl: Kubectl, running: str) -> None:
    assert "condition met" in kubectl("wait", "--for=condition=Ready", "pod/p", "--timeout=20s")


def test_cordon_and_uncordon(kubectl: Kubectl, node_name: str) -> None:
    assert kubectl("cordon", node_name).strip() == f"node/{node_name} cordoned"
    assert "SchedulingDisabled" in kubectl("get", "node", node_name)
    assert kubectl("uncordon", node_name).strip() == f"node/{node_name} uncordoned"
    assert "SchedulingDisabled" not in kubectl("get", "node", node_name)


def test_taint_and_untaint(kubectl: Kubectl, node_name: str) -> None:
    kubectl("taint", "node", node_name, "podshift=full:NoSchedule")
    path = "jsonpath={.spec.taints[*].key}"
    assert "podshift" in kubectl("get", "node", node_name, "-o", path).split()
    kubectl("taint", "node", node_name, "podshift-")
    assert "podshift" not in kubectl("get", "node", node_name, "-o", path).split()


def test_drain_evicts_what_runs_there(world: World, kubectl: Kubectl, running: str, node_name: str) -> None:
    with world.kubelet(kubectl.namespace):
        said = kubectl("drain", node_name, "--force", "--ignore-daemonsets", "--timeout=30s")
    assert "drained" in said or "evicted" in said
    assert kubectl("get", "pods", "-o", "name") == ""
    assert "SchedulingDisabled" in kubectl("get", "node", node_name)


def test_drain_is_held_by_a_budget(world: World, kubectl: Kubectl, running: str, node_name: str) -> None:
    body = {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}}}
    path = f"/apis/policy/v1/namespaces/{kubectl.namespace}/poddisruptionbudgets"
    world.must("POST", path, body)
    until(lambda: world.must("GET", f"{path}/b").get("status", {}).get("currentHealthy") == 1, "the budget's count")
    done = kubectl.run("drain", node_name, "--force", "--ignore-daemonsets", "--timeout=1s")
    assert done.returncode == 1
    assert "violate the pod's disruption budget" in done.stderr
    assert kubectl("get", "pods", "-o", "name").strip() == "pod/p"


def test_may_i(kubectl: Kubectl) -> None:
    assert kubectl("auth", "can-i", "create", "pods").strip() == "yes"
    who = f"system:serviceaccount:{kubectl.namespace}:default"
    done = kubectl.run("auth", "can-i", "create", "pods", "--as", who)
    assert (done.returncode, done.stdout.strip()) == (1, "no")


def test_logs(kubectl: Kubectl, running: str, server: ApiServer) -> None:
    lines = [f"podshift progress step={n} total=5" for n in range(5)]
    asked = []

    def provider(namespace: str, name: str, container: str, tail: int | None, follow: bool) -> list[str]:
        asked.append((namespace, name, container, follow))
        return lines if tail is None else lines[-tail:]

    server.inside.serve_logs(provider)
    assert kubectl("logs", "p").splitlines() == lines
    assert kubectl("logs", "p", "--tail=2").splitlines() == lines[-2:]
    assert kubectl("logs", "-f", "p").splitlines() == lines
    assert asked[0] == (kubectl.namespace, "p", "main", False)
    assert asked[-1][3]
    assert kubectl.run("logs", "p", "-c", "none").returncode == 1


def test_top(kubectl: Kubectl, running: str, node_name: str, server: ApiServer) -> None:
    class Measured:
        def nodes(self) -> dict[str, Usage]:
            return {node_name: Usage(2000, 4 << 30)}

        def pods(self) -> dict[tuple[str, str], Usage]:
            return {(kubectl.namespace, "p"): Usage(1500, 1 << 30)}

    server.inside.serve_usage(Measured())
    assert rows(kubectl("top", "node", node_name, "--no-headers")) == [[node_name, "2000m", "25%", "4096Mi", "25%"]]
    assert rows(kubectl("top", "pods", "--no-headers")) == [["p", "1500m", "1024Mi"]]


@pytest.mark.parametrize(
    ("arguments", "path", "value"),
    [
        (("configmap", "x", "--from-literal=a=1"), "{.data.a}", "1"),
        (("secret", "generic", "x", "--from-literal=a=1"), "{.data.a}", "MQ=="),
        (("serviceaccount", "x"), "{.metadata.name}", "x"),
        (("deployment", "x", "--image=i:1"), "{.spec.template.spec.containers[0].image}", "i:1"),
        (
            ("job", "x", "--image=i:1", "--", "sleep", "1"),
            "{.spec.template.spec.containers[0].command}",
            '["sleep","1"]',
        ),
        (("service", "clusterip", "x", "--tcp=80:8080"), "{.spec.ports[0].targetPort}", "8080"),
        (("role", "x", "--verb=get", "--resource=pods"), "{.rules[0].resources[0]}", "pods"),
        (("rolebinding", "x", "--role=x", "--serviceaccount=a:b"), "{.subjects[0].namespace}", "a"),
        (("pdb", "x", "--selector=app=x", "--min-available=1"), "{.spec.minAvailable}", "1"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_create_without_a_file(kubectl: Kubectl, arguments: tuple[str, ...], path: str, value: str) -> None:
    # These go over the wire as protobuf.
    kubectl("create", *arguments)
    assert kubectl("get", arguments[0], "x", "-o", f"jsonpath={path}") == value


def test_a_token_for_a_service_account(world: World, kubectl: Kubectl) -> None:
    done = kubectl.run("create", "token", "default")
    if "unknown command" in done.stderr or "must specify" in done.stderr or "-f and --filename" in done.stderr:
        pytest.skip("this kubectl is from before 1.24, where the command began")
    api = world.with_token(done.stdout.strip())
    code, body = world.call("GET", "/api/v1/nodes", api=api)
    api.close()
    assert code == 403, done.stderr
    assert f"system:serviceaccount:{kubectl.namespace}:default" in body["message"]
