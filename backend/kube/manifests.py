"""Manifests of new pods: a copy of the pod that was, or of a template, without what belonged to that one pod alone."""

from typing import Any

from backend.kube import names
from backend.model.objects import Pod

Json = dict[str, Any]

OF_ONE_POD = {
    "nodeName",
    "serviceAccount",
    "priority",
    "preemptionPolicy",
    "ephemeralContainers",
    "schedulingGates",
}
"""Parts of a spec that the server filled in, or that hold for one pod only."""
TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 (a path)
GIVEN_TOLERATIONS = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
"""The server gives each pod these two for 300 seconds; the new pod gets its own."""
PASSING_NOTES = ("kubectl.kubernetes.io/last-applied-configuration", names.PROGRESS, names.MOVE_TO)
OURS = frozenset({names.JOB, names.RUN, names.INCARNATION, names.MIGRATION})


def clean(item: Json) -> Json:
    """A pod's manifest as somebody might have written it: no status, no node, no uid, no token volumes.

    It shares what it does not change with `item`.
    """
    about = item.get("metadata") or {}
    spec = {key: value for key, value in (item.get("spec") or {}).items() if key not in OF_ONE_POD}
    _forget_tokens(spec)
    tolerations = [t for t in spec.get("tolerations") or () if not _was_given(t)]
    spec.pop("tolerations", None)
    if tolerations:
        spec["tolerations"] = tolerations
    metadata: Json = {
        "name": about.get("name"),
        "namespace": about.get("namespace") or names.DEFAULT_NAMESPACE,
        "labels": dict(about.get("labels") or {}),
    }
    notes = {key: value for key, value in (about.get("annotations") or {}).items() if key not in PASSING_NOTES}
    if notes:
        metadata["annotations"] = notes
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def for_pod(manifest: Json, pod: Pod, *, run: str = "", scheduler: str = "") -> Json:
    """The manifest of one incarnation of a job; on its node from the start if the pod names one.

    Raises ValueError for a name that no pod can have.
    """
    namespace, own = names.located(pod.name)
    if not names.is_pod_name(own):
        raise ValueError(f"no pod can be called '{own}': names are of small letters, digits, '-' and '.'")
    made = clean(manifest)
    metadata, spec = made["metadata"], made["spec"]
    metadata["name"], metadata["namespace"] = own, namespace
    labels = {key: value for key, value in metadata["labels"].items() if key not in OURS}
    _, job = names.located(pod.job)
    if names.is_label_value(job):
        labels[names.JOB] = job
    else:
        metadata["annotations"] = {**metadata.get("annotations", {}), names.JOB: job}
    labels[names.INCARNATION] = str(pod.incarnation)
    if run:
        labels[names.RUN] = run
    if pod.migration is not None:
        labels[names.MIGRATION] = str(pod.migration)
    metadata["labels"] = labels
    if scheduler:
        spec["schedulerName"] = scheduler
    if pod.node is not None:
        spec["nodeName"] = pod.node
    return made


def is_incarnation(item: Json, pod: Pod, run: str = "") -> bool:
    """Whether a pod that exists is the one that was to be created: then its creation is done."""
    about = item.get("metadata") or {}
    labels, notes = about.get("labels") or {}, about.get("annotations") or {}
    _, job = names.located(pod.job)
    return (
        (labels.get(names.JOB) or notes.get(names.JOB)) == job
        and labels.get(names.INCARNATION) == str(pod.incarnation)
        and labels.get(names.RUN, "") == run
    )


def binding(pod: str, uid: str | None, node: str) -> Json:
    """A Binding; with the uid it is refused for another pod of the same name."""
    namespace, own = names.located(pod)
    metadata = {"name": own, "namespace": namespace} | ({"uid": uid} if uid else {})
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    return {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}


def deletion(uid: str | None, grace_s: float) -> Json:
    """DeleteOptions; with the uid it is refused for another pod of the same name."""
    options: Json = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": round(grace_s)}
    if uid:
        options["preconditions"] = {"uid": uid}
    return options


def eviction(pod: str, uid: str | None, grace_s: float) -> Json:
    """An Eviction; without version and kind, old and new servers both take it."""
    namespace, own = names.located(pod)
    options = deletion(uid, grace_s)
    return {"metadata": {"name": own, "namespace": namespace}, "deleteOptions": options}


def _forget_tokens(spec: Json) -> None:
    tokens = {str(v.get("name")) for v in spec.get("volumes") or () if _is_token(v)}
    volumes = [volume for volume in spec.get("volumes") or () if str(volume.get("name")) not in tokens]
    spec.pop("volumes", None)
    if volumes:
        spec["volumes"] = volumes
    for part in ("containers", "initContainers"):
        if spec.get(part):
            spec[part] = [_without_tokens(container, tokens) for container in spec[part]]


def _without_tokens(container: Json, tokens: set[str]) -> Json:
    kept = {key: value for key, value in container.items() if key != "volumeMounts"}
    mounts = [mount for mount in container.get("volumeMounts") or () if not _is_token_mount(mount, tokens)]
    return kept | ({"volumeMounts": mounts} if mounts else {})


def _is_token(volume: Json) -> bool:
    """The projected volume that the server adds to each pod, and the secret that older ones add."""
    name = str(volume.get("name"))
    sources = (volume.get("projected") or {}).get("sources") or ()
    if any("serviceAccountToken" in source for source in sources) and name.startswith("kube-api-access-"):
        return True
    secret = (volume.get("secret") or {}).get("secretName") or ""
    return "-token-" in secret and secret == name


def _is_token_mount(mount: Json, tokens: set[str]) -> bool:
    return str(mount.get("name")) in tokens or mount.get("mountPath") == TOKEN_PATH


def _was_given(toleration: Json) -> bool:
    return (
        toleration.get("key") in GIVEN_TOLERATIONS
        and toleration.get("operator") == "Exists"
        and toleration.get("effect") == "NoExecute"
        and toleration.get("tolerationSeconds") == 300
    )
