"""Status objects as a kubelet writes them: of a node, and of a pod through its life."""

from collections.abc import Mapping
from typing import Any, Literal

from backend.model.labels import architecture
from backend.model.objects import Node
from backend.model.quantities import format_cpu, format_memory

Object = dict[str, Any]
KUBELET_VERSION = "v1.37.0"
_CONDITIONS = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


def node(of: Node, images: Mapping[str, int], now: str, since: str, address: str) -> Object:
    """The status of a node that is well. `images` are those it holds, with their bytes."""
    amounts = {
        "cpu": format_cpu(of.cpu_millis),
        "memory": format_memory(of.memory_bytes),
        "pods": str(of.max_pods),
    }
    times = {"lastHeartbeatTime": now, "lastTransitionTime": since}
    return {
        "capacity": amounts,
        "allocatable": dict(amounts),
        "conditions": [
            {"type": kind, "status": said, "reason": reason, "message": message, **times}
            for kind, said, reason, message in _CONDITIONS
        ],
        "addresses": [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": of.name}],
        "nodeInfo": {
            "architecture": architecture(of.labels) or "amd64",
            "operatingSystem": "linux",
            "osImage": "Podshift embedded node",
            "kernelVersion": "simulated",
            "containerRuntimeVersion": "podshift://embedded",
            "kubeletVersion": KUBELET_VERSION,
            "kubeProxyVersion": KUBELET_VERSION,
            "machineID": of.name,
            "systemUUID": of.name,
            "bootID": of.name,
        },
        "images": [{"names": [name], "sizeBytes": size} for name, size in sorted(images.items())],
    }


def waiting(pod: Object, now: str, reason: str = "ContainerCreating", message: str = "") -> Object:
    """Bound, and its containers do not run yet."""
    state = {"reason": reason} | ({"message": message} if message else {})
    return _status(pod, now, "Pending", {"waiting": state}, ready=False)


def running(pod: Object, now: str, address: str, *, restarts: int = 0, last: Object | None = None) -> Object:
    """Its containers run. `last` is the state in which the run before ended."""
    status = _status(pod, now, "Running", {"running": {"startedAt": now}}, ready=True, restarts=restarts, last=last)
    return {**status, "podIP": address, "podIPs": [{"ip": address}]}


def ended(pod: Object, now: str, code: int, reason: str, message: str = "", *, restarts: int = 0) -> Object:
    """All its containers have ended and will not be started again."""
    state = terminated(pod, now, code, reason, message)
    phase: Literal["Succeeded", "Failed"] = "Failed" if code else "Succeeded"
    return _status(pod, now, phase, {"terminated": state}, ready=False, restarts=restarts)


def refused(pod: Object, now: str, reason: str, message: str) -> Object:
    """The kubelet does not admit the pod to its node."""
    before = pod.get("status") or {}
    return {**before, "phase": "Failed", "reason": reason, "message": message, "startTime": now}


def terminated(pod: Object, now: str, code: int, reason: str, message: str = "") -> Object:
    """State of a container that ended."""
    state: Object = {"exitCode": code, "reason": reason, "startedAt": _started(pod) or now, "finishedAt": now}
    return state | ({"message": message} if message else {})


def _started(pod: Object) -> str:
    for container in (pod.get("status") or {}).get("containerStatuses") or ():
        at = ((container.get("state") or {}).get("running") or {}).get("startedAt")
        if at:
            return str(at)
    return ""


def _status(
    pod: Object,
    now: str,
    phase: str,
    state: Object,
    *,
    ready: bool,
    restarts: int = 0,
    last: Object | None = None,
) -> Object:
    before = pod.get("status") or {}
    said = {True: "True", False: "False"}
    values = {"Initialized": True, "Ready": ready, "ContainersReady": ready, "PodScheduled": True}
    old = {condition["type"]: condition for condition in before.get("conditions") or ()}
    conditions = []
    for kind, value in values.items():
        known = old.pop(kind, None)
        same = known is not None and known.get("status") == said[value]
        since = known.get("lastTransitionTime") if known is not None and same else now
        conditions.append({"type": kind, "status": said[value], "lastTransitionTime": since or now})
    containers = [
        {
            "name": container["name"],
            "image": container.get("image", ""),
            "imageID": "",
            "ready": ready,
            "started": ready,
            "restartCount": restarts,
            "state": state,
            "lastState": {"terminated": last} if last else {},
        }
        for container in pod["spec"]["containers"]
    ]
    kept = {key: value for key, value in before.items() if key in ("qosClass", "podIP", "podIPs", "hostIP")}
    return {
        **kept,
        "phase": phase,
        "conditions": [*old.values(), *conditions],
        "containerStatuses": containers,
        "startTime": before.get("startTime") or now,
    }
