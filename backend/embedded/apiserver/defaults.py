"""What the server fills in when a client leaves it out."""

import itertools
from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Any

from backend.embedded.apiserver.errors import Object

_NOT_READY = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
# Seconds that a pod stays on a node which is lost; the real server's admission sets the same.
_TOLERATED_S = 300


def _always_pulled(image: str) -> bool:
    # A tag stands after the last slash: "host:5000/image" has none.
    last = image.rpartition("/")[2]
    return "@" not in last and (":" not in last or last.endswith(":latest"))


def container(spec: Object) -> None:
    """The defaults of one container."""
    spec.setdefault("terminationMessagePath", "/dev/termination-log")
    spec.setdefault("terminationMessagePolicy", "File")
    if isinstance(spec.get("image"), str):
        spec.setdefault("imagePullPolicy", "Always" if _always_pulled(spec["image"]) else "IfNotPresent")
    resources = spec.setdefault("resources", {})
    if limits := resources.get("limits"):
        resources["requests"] = {**limits, **(resources.get("requests") or {})}
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")


def pod_spec(spec: Object) -> None:
    """The defaults of a pod's specification, in a pod or in a template."""
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("securityContext", {})
    if spec.get("terminationGracePeriodSeconds") is None:
        spec["terminationGracePeriodSeconds"] = 30
    for item in itertools.chain(spec.get("containers") or (), spec.get("initContainers") or ()):
        container(item)


def quality(spec: Object) -> str:
    """The quality-of-service class of a pod: from whether its containers say what they need, and how firmly."""
    everything = [c.get("resources") or {} for c in (*spec["containers"], *(spec.get("initContainers") or ()))]
    if not any(r.get("requests") or r.get("limits") for r in everything):
        return "BestEffort"
    firm = all(
        {"cpu", "memory"} <= (r.get("limits") or {}).keys()
        and all((r.get("requests") or {}).get(name) == value for name, value in r["limits"].items())
        for r in everything
    )
    return "Guaranteed" if firm else "Burstable"


def pod(obj: Object) -> None:
    """The defaults of a pod, with what admission adds."""
    spec = obj["spec"]
    pod_spec(spec)
    spec.setdefault("enableServiceLinks", True)
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
    spec.setdefault("priority", 0)
    account = spec.setdefault("serviceAccountName", spec.get("serviceAccount") or "default")
    spec.setdefault("serviceAccount", account)
    tolerations = spec.setdefault("tolerations", [])
    for key in _NOT_READY:
        if not any(t.get("key") in (key, None) and t.get("effect") in ("NoExecute", None) for t in tolerations):
            tolerations.append(
                {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _TOLERATED_S}
            )


def new_pod_status(obj: Object) -> Object:
    """The status that every new pod starts with, whatever the client sent."""
    return {"phase": "Pending", "qosClass": quality(obj["spec"])}


def job(obj: Object) -> None:
    """The defaults of a job; its selector is the job's own uid, as nobody else may have its pods."""
    spec = obj["spec"]
    spec.setdefault("backoffLimit", 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    pod_spec(spec["template"]["spec"])
    if not spec.get("manualSelector") and "selector" not in spec:
        uid = obj["metadata"]["uid"]
        spec["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
        labels = spec["template"].setdefault("metadata", {}).setdefault("labels", {})
        labels["batch.kubernetes.io/controller-uid"] = labels["controller-uid"] = uid
        labels["batch.kubernetes.io/job-name"] = labels["job-name"] = obj["metadata"]["name"]


def deployment(obj: Object) -> None:
    """The defaults of a deployment."""
    spec = obj["spec"]
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    strategy = spec.setdefault("strategy", {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxSurge", "25%")
        rolling.setdefault("maxUnavailable", "25%")
    pod_spec(spec["template"]["spec"])


def replicas(obj: Object) -> None:
    """The defaults of a replica set and of a stateful set."""
    obj["spec"].setdefault("replicas", 1)
    pod_spec(obj["spec"]["template"]["spec"])


def daemon_set(obj: Object) -> None:
    """The defaults of a daemon set."""
    pod_spec(obj["spec"]["template"]["spec"])


def namespace(obj: Object) -> None:
    """A namespace is active and carries its own name as a label, so that selectors can name it."""
    metadata = obj["metadata"]
    metadata.setdefault("labels", {}).setdefault("kubernetes.io/metadata.name", metadata["name"])
    obj.setdefault("spec", {}).setdefault("finalizers", ["kubernetes"])
    obj.setdefault("status", {}).setdefault("phase", "Active")


def secret(obj: Object) -> None:
    """A secret's plain strings become data."""
    obj.setdefault("type", "Opaque")
    if plain := obj.pop("stringData", None):
        data = obj["data"] = dict(obj.get("data") or {})
        data.update({key: b64encode(value.encode()).decode() for key, value in plain.items()})


def event(obj: Object) -> None:
    """An event that happened once."""
    obj.setdefault("type", "Normal")
    obj.setdefault("source", {})


def node(obj: Object) -> None:
    """A node has a specification, be it empty."""
    obj.setdefault("spec", {})
    obj.setdefault("status", {})


def priority_class(obj: Object) -> None:
    """A priority class preempts unless it says otherwise."""
    obj.setdefault("preemptionPolicy", "PreemptLowerPriority")


def custom_definition(obj: Object) -> None:
    """A definition's names, from its kind."""
    names = obj["spec"]["names"]
    kind = names["kind"]
    names.setdefault("singular", kind.lower())
    names.setdefault("listKind", f"{kind}List")
    obj["spec"].setdefault("conversion", {"strategy": "None"})


def role_binding(obj: Object) -> None:
    """A binding names the API groups of its role and of its subjects."""
    obj["roleRef"].setdefault("apiGroup", "rbac.authorization.k8s.io")
    for subject in obj.get("subjects") or ():
        if subject.get("kind") != "ServiceAccount":
            subject.setdefault("apiGroup", "rbac.authorization.k8s.io")


DEFAULTS: dict[str, Callable[[Object], None]] = {
    "pods": pod,
    "nodes": node,
    "namespaces": namespace,
    "secrets": secret,
    "events": event,
    "jobs.batch": job,
    "deployments.apps": deployment,
    "replicasets.apps": replicas,
    "statefulsets.apps": replicas,
    "daemonsets.apps": daemon_set,
    "priorityclasses.scheduling.k8s.io": priority_class,
    "customresourcedefinitions.apiextensions.k8s.io": custom_definition,
    "rolebindings.rbac.authorization.k8s.io": role_binding,
    "clusterrolebindings.rbac.authorization.k8s.io": role_binding,
}


class ClusterAddresses:
    """Hands out the virtual addresses of services."""

    def __init__(self) -> None:
        self._free: Iterator[int] = itertools.count(2)

    def service(self, obj: Object) -> None:
        """The defaults of a service, with an address of its own unless it is headless."""
        spec: dict[str, Any] = obj.setdefault("spec", {})
        spec.setdefault("type", "ClusterIP")
        spec.setdefault("sessionAffinity", "None")
        for port in spec.get("ports") or ():
            port.setdefault("protocol", "TCP")
            port.setdefault("targetPort", port.get("port"))
        if spec["type"] != "ExternalName" and not spec.get("clusterIP"):
            number = next(self._free)
            spec["clusterIP"] = f"10.96.{number // 256 % 256}.{number % 256}"
            spec["clusterIPs"] = [spec["clusterIP"]]
        obj.setdefault("status", {"loadBalancer": {}})
