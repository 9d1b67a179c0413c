"""What the API server says of nodes and pods, read as ours. Pure functions of JSON."""

import sys
from datetime import datetime, timedelta
from typing import Any

import msgspec
from msgspec import Struct

from backend.kube import names
from backend.kube.affinity import HOSTNAME, InexpressibleError, node_selector, refusal
from backend.kube.manifests import clean
from backend.kube.requests import cpu_limit, other_requests, pod_requests
from backend.model.objects import Job, Node, Taint, Toleration
from backend.model.quantities import cpu_millis, memory_bytes

Json = dict[str, Any]

DEFAULT_MAX_PODS = 110
DOCKER_HUB = ("docker.io/library/", "docker.io/")
"""What runtimes put in front of the short names that pods have."""
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
MIRROR = "kubernetes.io/config.mirror"
DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"
DISPLACED = frozenset(
    {
        "Evicted",
        "NodeLost",
        "NodeShutdown",
        "NodeAffinity",
        "OutOfcpu",
        "OutOfmemory",
        "OutOfpods",
        "Preempting",
        "Shutdown",
        "Terminated",
        "UnexpectedAdmissionError",
    }
)
"""Reasons of a failed pod's status that a node or a scheduler gives, not the pod's own work."""


class SeenNode(Struct, frozen=True):
    """A node as the API server has it."""

    node: Node
    sizes: dict[str, int] = {}
    """Image -> bytes, of those it holds."""


class SeenPod(Struct, frozen=True):
    """A pod as the API server has it."""

    name: str
    """In our log."""
    uid: str
    job: Job
    incarnation: int
    node: str | None
    phase: str
    """Pending, Running, Succeeded, Failed or Unknown."""
    scheduler: str
    created: str = ""
    """RFC 3339, so that texts sort as times do."""
    run: str = ""
    migration: int | None = None
    stopping: bool = False
    """Somebody asked it to stop."""
    ended_first: bool = False
    """It is stopping, but its containers had ended before anybody asked for it."""
    owned: bool = False
    """A controller (a ReplicaSet, a DaemonSet, a Job) creates another one for it."""
    displaced: bool = False
    """It failed, or is stopping, because of its node or for the sake of others."""
    worked: bool = False
    """A container of it ran or runs."""
    reason: str = ""
    """What its status says of its end."""
    refusal: str = ""
    """Why our scheduler must not place it."""
    container: str = ""
    """Whose log it is that people mean."""
    progress: str = ""
    """What it says of its progress in its annotation."""
    move_to: str = ""
    """Where a person asks it to be moved."""
    manifest: bytes = b""
    """What a new pod for its job is made from; empty for those that are not ours to create."""


def seen_node(item: Json) -> SeenNode:
    """A node with the sizes of its images. Raises as node_of."""
    return SeenNode(node_of(item), image_sizes(item))


def node_of(item: Json) -> Node:
    """A node. Raises QuantityError for amounts that are none, KeyError for an object without a name."""
    about, spec, status = item["metadata"], item.get("spec") or {}, item.get("status") or {}
    offers = {**(status.get("capacity") or {}), **(status.get("allocatable") or {})}
    ready = [c.get("status") for c in status.get("conditions") or () if c.get("type") == "Ready"]
    return Node(
        name=str(about["name"]),
        cpu_millis=cpu_millis(offers.get("cpu", 0)),
        memory_bytes=memory_bytes(offers.get("memory", 0)),
        max_pods=int(offers.get("pods", DEFAULT_MAX_PODS)),
        labels={HOSTNAME: str(about["name"])} | _texts(about.get("labels")),
        taints=tuple(
            Taint(str(taint["key"]), taint["effect"], str(taint.get("value") or ""))
            for taint in spec.get("taints") or ()
            if taint.get("effect") in EFFECTS
        ),
        images=tuple(image_sizes(item)),
        ready=ready == ["True"],
        unschedulable=bool(spec.get("unschedulable")),
    )


def image_sizes(item: Json) -> dict[str, int]:
    """Image -> bytes, of those that a node holds, under every name that a pod may have for it."""
    sizes: dict[str, int] = {}
    for image in (item.get("status") or {}).get("images") or ():
        size = max(0, int(image.get("sizeBytes") or 0))
        for name in image.get("names") or ():
            sizes[sys.intern(str(name))] = size
            for prefix in DOCKER_HUB:
                if str(name).startswith(prefix):
                    sizes.setdefault(sys.intern(str(name).removeprefix(prefix)), size)
    return sizes


def pod_of(item: Json, *, keep: bool = False) -> SeenPod:
    """A pod and its job. `keep`: with the manifest for the pods that may follow it.

    Raises QuantityError for amounts that are none, KeyError for an object without a name.
    """
    about, spec, status = item["metadata"], item.get("spec") or {}, item.get("status") or {}
    name = names.qualified(str(about.get("namespace") or names.DEFAULT_NAMESPACE), str(about["name"]))
    labels, notes = _texts(about.get("labels")), _texts(about.get("annotations"))
    owners = [owner for owner in about.get("ownerReferences") or () if owner.get("controller")]
    stopping, ended_first = _stopping(about, status)
    return SeenPod(
        name=name,
        uid=str(about.get("uid") or ""),
        job=job_of(item),
        incarnation=_number(labels.get(names.INCARNATION)) or 0,
        node=spec.get("nodeName") or None,
        phase=str(status.get("phase") or "Pending"),
        scheduler=str(spec.get("schedulerName") or ""),
        created=str(about.get("creationTimestamp") or ""),
        run=labels.get(names.RUN, ""),
        migration=_number(labels.get(names.MIGRATION)),
        stopping=stopping,
        ended_first=ended_first,
        owned=bool(owners),
        displaced=_displaced(status),
        worked=_worked(status),
        reason=_reason(status),
        refusal=_refusal(spec),
        container=notes.get(DEFAULT_CONTAINER) or str((spec.get("containers") or [{}])[0].get("name") or ""),
        progress=notes.get(names.PROGRESS, ""),
        move_to=notes.get(names.MOVE_TO, ""),
        manifest=msgspec.json.encode(clean(item)) if keep and not owners else b"",
    )


def job_of(item: Json) -> Job:
    """The job that a pod is an incarnation of, as far as its pod tells."""
    about, spec = item["metadata"], item.get("spec") or {}
    namespace, own = str(about.get("namespace") or names.DEFAULT_NAMESPACE), str(about["name"])
    labels, notes = _texts(about.get("labels")), _texts(about.get("annotations"))
    said = labels.get(names.JOB) or notes.get(names.JOB) or ""
    name = names.qualified(namespace, said if names.is_pod_name(said) else own)
    cpu, memory = pod_requests(spec)
    images = [str(container.get("image") or "") for container in spec.get("containers") or ()]
    try:
        selector = node_selector(spec)
    except InexpressibleError:
        selector = _texts(spec.get("nodeSelector"))
    return Job(
        name=name,
        workload=_workload(about, labels) or name,
        image=images[0] if images else "",
        cpu_request_millis=cpu,
        cpu_limit_millis=cpu_limit(spec),
        memory_bytes=memory,
        iterations=_number(notes.get(names.ITERATIONS)) or None,
        metric=notes.get(names.METRIC) or "loss",
        node_selector=selector,
        tolerations=_tolerations(spec),
        migratable=_migratable(about, spec, labels, notes),
        labels=labels,
        more_images=tuple(images[1:]),
    )


def _workload(about: Json, labels: dict[str, str]) -> str:
    said = labels.get(names.WORKLOAD) or labels.get("app.kubernetes.io/name") or labels.get("app")
    owners = [str(owner.get("name") or "") for owner in about.get("ownerReferences") or () if owner.get("controller")]
    return said or "".join(owners[:1])


def _tolerations(spec: Json) -> tuple[Toleration, ...]:
    read = []
    for entry in spec.get("tolerations") or ():
        operator: Any = entry.get("operator") or "Equal"
        effect: Any = entry.get("effect") or ""
        if operator in ("Equal", "Exists") and effect in ("", *EFFECTS):
            key, value = str(entry.get("key") or ""), str(entry.get("value") or "")
            read.append(Toleration(key, operator, value, effect))
    return tuple(read)


def _migratable(about: Json, spec: Json, labels: dict[str, str], notes: dict[str, str]) -> bool:
    kinds = {str(owner.get("kind")) for owner in about.get("ownerReferences") or ()}
    if MIRROR in notes or kinds & {"DaemonSet", "Node"}:
        return False
    said = (notes.get(names.MIGRATABLE) or labels.get(names.MIGRATABLE) or "").lower()
    if said in ("false", "true"):
        return said == "true"
    return not any("hostPath" in volume or "emptyDir" in volume for volume in spec.get("volumes") or ())


def _refusal(spec: Json) -> str:
    others = other_requests(spec)
    if others:
        return f"it requests {', '.join(others)}, which Podshift does not count"
    return refusal(spec)


def _stopping(about: Json, status: Json) -> tuple[bool, bool]:
    """Whether it is stopping, and whether its containers had ended before that was asked for."""
    asked = _time(about.get("deletionTimestamp"))
    if asked is None:
        return False, False
    asked -= timedelta(seconds=int(about.get("deletionGracePeriodSeconds") or 0))
    states = [(c.get("state") or {}).get("terminated") for c in status.get("containerStatuses") or ()]
    ends = [_time(state.get("finishedAt")) if state else None for state in states]
    return True, bool(ends) and all(end is not None and end < asked for end in ends)


def _displaced(status: Json) -> bool:
    if status.get("reason") in DISPLACED:
        return True
    conditions = status.get("conditions") or ()
    return any(c.get("type") == "DisruptionTarget" and c.get("status") == "True" for c in conditions)


def _worked(status: Json) -> bool:
    for container in status.get("containerStatuses") or ():
        for state in (container.get("state") or {}, container.get("lastState") or {}):
            if "running" in state or "terminated" in state:
                return True
    return False


def _reason(status: Json) -> str:
    """What the status says of the end of a pod, in words."""
    said = [str(status[key]) for key in ("reason", "message") if status.get(key)]
    for container in status.get("containerStatuses") or ():
        ended = (container.get("state") or {}).get("terminated") or {}
        if ended.get("exitCode"):
            detail = ended.get("message") or ended.get("reason") or "Error"
            said.append(f"container {container.get('name')} ended with code {ended['exitCode']} ({detail})")
    return ": ".join(said)[:500]


def _texts(value: Any) -> dict[str, str]:
    return {sys.intern(str(key)): sys.intern(str(text)) for key, text in (value or {}).items()}


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() and len(text) < 16 else None


def _time(text: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(str(text)) if text else None
    except ValueError:
        return None
