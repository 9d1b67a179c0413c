"""The columns that `kubectl get` shows for each kind."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from backend.embedded.apiserver.clock import age, duration, parsed
from backend.embedded.apiserver.errors import Object

Read = Callable[[Object, datetime], Any]


@dataclass(frozen=True, slots=True)
class Column:
    """One column; `wide` ones are shown with `-o wide` only."""

    name: str
    read: Read
    wide: bool = False
    type: str = "string"
    format: str = ""

    def definition(self) -> Object:
        """The column as the head of a Table has it."""
        return {
            "name": self.name, "type": self.type, "format": self.format, "description": self.name,
            "priority": int(self.wide),
        }  # fmt: skip


def at(obj: Any, *path: str, default: Any = "<none>") -> Any:
    """The value at a path, or the default where there is none."""
    for part in path:
        obj = obj.get(part) if isinstance(obj, dict) else None
        if obj is None:
            return default
    return obj


def _read(*path: str, default: Any = "<none>") -> Read:
    return lambda obj, now: at(obj, *path, default=default)


def _age(obj: Object, now: datetime) -> str:
    return age(obj["metadata"].get("creationTimestamp"), now)


NAME = Column("Name", _read("metadata", "name"), format="name")
AGE = Column("Age", _age)


def _joined(*path: str, key: str = "") -> Read:
    def read(obj: Object, now: datetime) -> str:
        items = at(obj, *path, default=[])
        return ",".join(str(item[key] if key else item) for item in items) or "<none>"

    return read


def _selector(obj: Object, now: datetime) -> str:
    chosen = at(obj, "spec", "selector", default={})
    labels = chosen.get("matchLabels", chosen)
    return ",".join(f"{k}={v}" for k, v in labels.items() if isinstance(v, str)) or "<none>"


def _ready(obj: Object, now: datetime) -> str:
    statuses = at(obj, "status", "containerStatuses", default=[])
    return f"{sum(bool(s.get('ready')) for s in statuses)}/{len(at(obj, 'spec', 'containers', default=[]))}"


def pod_state(obj: Object) -> str:
    """A pod's state in a word: what keeps it, else its phase."""
    if obj["metadata"].get("deletionTimestamp"):
        return "Terminating"
    for status in at(obj, "status", "containerStatuses", default=[]):
        state = status.get("state") or {}
        for kind in ("waiting", "terminated"):
            if reason := (state.get(kind) or {}).get("reason"):
                return str(reason)
    if at(obj, "spec", "schedulingGates", default=None):
        return "SchedulingGated"
    return str(at(obj, "status", "reason", default="") or at(obj, "status", "phase", default="Unknown"))


def _restarts(obj: Object, now: datetime) -> str:
    return str(sum(s.get("restartCount", 0) for s in at(obj, "status", "containerStatuses", default=[])))


def _gates(obj: Object, now: datetime) -> str:
    gates = at(obj, "spec", "readinessGates", default=[])
    return "<none>" if not gates else f"0/{len(gates)}"


def _node_state(obj: Object, now: datetime) -> str:
    conditions = {c["type"]: c["status"] for c in at(obj, "status", "conditions", default=[])}
    word = {"True": "Ready", "False": "NotReady"}.get(conditions.get("Ready", ""), "Unknown")
    return word + (",SchedulingDisabled" if at(obj, "spec", "unschedulable", default=False) else "")


def _roles(obj: Object, now: datetime) -> str:
    prefix = "node-role.kubernetes.io/"
    labels = at(obj, "metadata", "labels", default={})
    return ",".join(sorted(key.removeprefix(prefix) for key in labels if key.startswith(prefix))) or "<none>"


def _address(kind: str) -> Read:
    def read(obj: Object, now: datetime) -> str:
        found = (a["address"] for a in at(obj, "status", "addresses", default=[]) if a["type"] == kind)
        return next(found, "<none>")

    return read


def _completions(obj: Object, now: datetime) -> str:
    wanted = at(obj, "spec", "completions", default=None)
    done = at(obj, "status", "succeeded", default=0)
    return f"{done}/{wanted}" if wanted is not None else f"{done}/1 of {at(obj, 'spec', 'parallelism', default=1)}"


def _job_state(obj: Object, now: datetime) -> str:
    for condition in at(obj, "status", "conditions", default=[]):
        if condition["status"] == "True" and condition["type"] in ("Complete", "Failed"):
            return str(condition["type"])
    return "Suspended" if at(obj, "spec", "suspend", default=False) else "Running"


def _took(obj: Object, now: datetime) -> str:
    start, end = at(obj, "status", "startTime", default=""), at(obj, "status", "completionTime", default="")
    if not start:
        return ""
    return duration((parsed(end) if end else now) - parsed(start))


def _images(*path: str) -> Column:
    return Column("Images", _joined(*path, key="image"), wide=True)


def _names(*path: str) -> Column:
    return Column("Containers", _joined(*path, key="name"), wide=True)


def _replicas(obj: Object, now: datetime) -> str:
    return f"{at(obj, 'status', 'readyReplicas', default=0)}/{at(obj, 'spec', 'replicas', default=0)}"


def _number(name: str, *path: str) -> Column:
    return Column(name, _read(*path, default=0), type="integer")


def _ports(obj: Object, now: datetime) -> str:
    return ",".join(f"{p['port']}/{p['protocol']}" for p in at(obj, "spec", "ports", default=[])) or "<none>"


def _event_object(obj: Object, now: datetime) -> str:
    return f"{at(obj, 'involvedObject', 'kind', default='').lower()}/{at(obj, 'involvedObject', 'name', default='')}"


def _last_seen(obj: Object, now: datetime) -> str:
    since = obj.get("lastTimestamp") or obj.get("eventTime") or obj.get("firstTimestamp")
    return age(since or obj["metadata"].get("creationTimestamp"), now)


def _count(field: str) -> Read:
    return lambda obj, now: len(obj.get(field) or ())


def _renewed(obj: Object, now: datetime) -> str:
    renewed = at(obj, "spec", "renewTime", default="")
    return duration(max(now - parsed(renewed), timedelta())) if renewed else "<unknown>"


_TEMPLATE = ("spec", "template", "spec", "containers")
_ROLE = Column("Role", lambda obj, now: f"{obj['roleRef']['kind']}/{obj['roleRef']['name']}")
_CREATED = Column("Created At", _read("metadata", "creationTimestamp"))

COLUMNS: Mapping[str, tuple[Column, ...]] = {
    "pods": (
        NAME,
        Column("Ready", _ready),
        Column("Status", lambda obj, now: pod_state(obj)),
        Column("Restarts", _restarts),
        AGE,
        Column("IP", _read("status", "podIP"), wide=True),
        Column("Node", _read("spec", "nodeName"), wide=True),
        Column("Nominated Node", _read("status", "nominatedNodeName"), wide=True),
        Column("Readiness Gates", _gates, wide=True),
    ),
    "nodes": (
        NAME,
        Column("Status", _node_state),
        Column("Roles", _roles),
        AGE,
        Column("Version", _read("status", "nodeInfo", "kubeletVersion", default="")),
        Column("Internal-IP", _address("InternalIP"), wide=True),
        Column("External-IP", _address("ExternalIP"), wide=True),
        Column("OS-Image", _read("status", "nodeInfo", "osImage", default="<unknown>"), wide=True),
        Column("Kernel-Version", _read("status", "nodeInfo", "kernelVersion", default="<unknown>"), wide=True),
        Column(
            "Container-Runtime", _read("status", "nodeInfo", "containerRuntimeVersion", default="<unknown>"), wide=True
        ),
    ),
    "namespaces": (NAME, Column("Status", _read("status", "phase")), AGE),
    "events": (
        Column("Last Seen", _last_seen),
        Column("Type", _read("type")),
        Column("Reason", _read("reason")),
        Column("Object", _event_object),
        Column("Subobject", _read("involvedObject", "fieldPath", default=""), wide=True),
        Column("Source", _read("source", "component", default=""), wide=True),
        Column("Message", lambda obj, now: str(obj.get("message") or "").strip()),
        Column("Count", _read("count", default=1), wide=True, type="integer"),
        Column("Name", _read("metadata", "name"), wide=True, format="name"),
    ),
    "jobs.batch": (
        NAME,
        Column("Status", _job_state),
        Column("Completions", _completions),
        Column("Duration", _took),
        AGE,
        _names(*_TEMPLATE),
        _images(*_TEMPLATE),
        Column("Selector", _selector, wide=True),
    ),
    "deployments.apps": (
        NAME,
        Column("Ready", _replicas),
        _number("Up-to-date", "status", "updatedReplicas"),
        _number("Available", "status", "availableReplicas"),
        AGE,
        _names(*_TEMPLATE),
        _images(*_TEMPLATE),
        Column("Selector", _selector, wide=True),
    ),
    "replicasets.apps": (
        NAME,
        _number("Desired", "spec", "replicas"),
        _number("Current", "status", "replicas"),
        _number("Ready", "status", "readyReplicas"),
        AGE,
        _names(*_TEMPLATE),
        _images(*_TEMPLATE),
        Column("Selector", _selector, wide=True),
    ),
    "services": (
        NAME,
        Column("Type", _read("spec", "type")),
        Column("Cluster-IP", _read("spec", "clusterIP")),
        Column("External-IP", lambda obj, now: "<none>"),
        Column("Port(s)", _ports),
        AGE,
        Column("Selector", _selector, wide=True),
    ),
    "configmaps": (NAME, Column("Data", _count("data"), type="integer"), AGE),
    "secrets": (NAME, Column("Type", _read("type")), Column("Data", _count("data"), type="integer"), AGE),
    "serviceaccounts": (NAME, Column("Secrets", _count("secrets"), type="integer"), AGE),
    "leases.coordination.k8s.io": (
        NAME,
        Column("Holder", _read("spec", "holderIdentity", default="")),
        AGE,
        Column("Renewed", _renewed, wide=True),
    ),
    "poddisruptionbudgets.policy": (
        NAME,
        Column("Min Available", _read("spec", "minAvailable", default="N/A")),
        Column("Max Unavailable", _read("spec", "maxUnavailable", default="N/A")),
        _number("Allowed Disruptions", "status", "disruptionsAllowed"),
        AGE,
    ),
    "priorityclasses.scheduling.k8s.io": (
        NAME,
        _number("Value", "value"),
        Column("Global-Default", _read("globalDefault", default=False), type="boolean"),
        AGE,
    ),
    "roles.rbac.authorization.k8s.io": (NAME, _CREATED),
    "clusterroles.rbac.authorization.k8s.io": (NAME, _CREATED),
    "rolebindings.rbac.authorization.k8s.io": (NAME, _ROLE, AGE),
    "clusterrolebindings.rbac.authorization.k8s.io": (NAME, _ROLE, AGE),
    "customresourcedefinitions.apiextensions.k8s.io": (NAME, _CREATED),
}
