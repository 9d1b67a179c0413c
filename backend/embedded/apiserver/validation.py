"""Whether an object holds up: every problem a Cause, as the real server lists them in a 422."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from backend.embedded.apiserver import pod_rules
from backend.embedded.apiserver.errors import Cause, Object, bad_value, forbidden_change, required

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS_LABEL = re.compile(rf"{_LABEL}\Z")
_SUBDOMAIN = re.compile(rf"{_LABEL}(\.{_LABEL})*\Z")
_PART = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]\Z")

_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    f"'{_LABEL}(\\.{_LABEL})*')"
)
_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
    f"with an alphanumeric character (e.g. 'my-name', regex used for validation is '{_LABEL}')"
)
_PART_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character"
)
_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character"
)
IMMUTABLE = "field is immutable"

# Names of these may have capitals and colons: "system:node", "kube-system:leader".
_FREE_NAMES = frozenset({"Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"})
_SHORT_NAMES = frozenset({"Namespace", "Service"})
_ANNOTATIONS_BYTES = 256 * 1024


def label_key(field: str, key: str) -> list[Cause]:
    """Problems of a label's or annotation's key."""
    prefix, slash, name = key.rpartition("/")
    if slash and not (prefix and len(prefix) <= 253 and _SUBDOMAIN.match(prefix)):
        return [bad_value(field, key, f"prefix part {_SUBDOMAIN_RULE}")]
    if not name or len(name) > 63 or not _PART.match(name):
        return [bad_value(field, key, "name part must be no more than 63 bytes" if len(name) > 63 else _PART_RULE)]
    return []


def labels(field: str, values: Mapping[str, Any]) -> list[Cause]:
    """Problems of a map of labels."""
    causes: list[Cause] = []
    for key, value in values.items():
        causes += label_key(field, key)
        if not isinstance(value, str):
            causes.append(bad_value(field, value, "must be a string"))
        elif len(value) > 63:
            causes.append(bad_value(field, value, "must be no more than 63 bytes"))
        elif value and not _PART.match(value):
            causes.append(bad_value(field, value, _VALUE_RULE))
    return causes


def metadata(obj: Object) -> list[Cause]:
    """Problems of an object's name, labels, annotations and owners."""
    meta, causes = obj["metadata"], []
    name, kind = meta.get("name", ""), obj["kind"]
    if not name:
        causes.append(required("metadata.name", "name or generateName is required"))
    elif kind in _FREE_NAMES:
        if "/" in name or "%" in name or name in (".", ".."):
            causes.append(bad_value("metadata.name", name, "may not contain '/' or '%'"))
    elif kind in _SHORT_NAMES:
        if len(name) > 63 or not _DNS_LABEL.match(name):
            causes.append(bad_value("metadata.name", name, _LABEL_RULE))
    elif len(name) > 253 or not _SUBDOMAIN.match(name):
        causes.append(bad_value("metadata.name", name, _SUBDOMAIN_RULE))
    if meta.get("labels"):
        causes += labels("metadata.labels", meta["labels"])
    if annotations := meta.get("annotations"):
        for key, value in annotations.items():
            causes += label_key("metadata.annotations", key.lower())
            if not isinstance(value, str):
                causes.append(bad_value("metadata.annotations", value, "must be a string"))
        if sum(len(str(k)) + len(str(v)) for k, v in annotations.items()) > _ANNOTATIONS_BYTES:
            causes.append(
                Cause("metadata.annotations", "Too long: may not be more than 262144 bytes", "FieldValueTooLong")
            )
    for n, owner in enumerate(meta.get("ownerReferences") or ()):
        field = f"metadata.ownerReferences[{n}]"
        causes += [required(f"{field}.{part}") for part in ("apiVersion", "kind", "name", "uid") if not owner.get(part)]
    return causes


def _pod(obj: Object) -> list[Cause]:
    return pod_rules.specification("spec", obj.get("spec"))


def _template(obj: Object, *, restart: tuple[str, ...]) -> list[Cause]:
    template = obj["spec"].get("template")
    if not isinstance(template, dict) or not template.get("spec"):
        return [required("spec.template.spec")]
    causes = labels("spec.template.labels", (template.get("metadata") or {}).get("labels") or {})
    causes += pod_rules.specification("spec.template.spec", template["spec"])
    if (policy := template["spec"].get("restartPolicy")) not in restart:
        causes.append(pod_rules.unsupported("spec.template.spec.restartPolicy", policy, restart))
    return causes


def _count(obj: Object, field: str) -> list[Cause]:
    value = obj["spec"].get(field)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
        return [bad_value(f"spec.{field}", value, "must be greater than or equal to 0")]
    return []


def _job(obj: Object) -> list[Cause]:
    counts = ("parallelism", "completions", "backoffLimit", "ttlSecondsAfterFinished", "activeDeadlineSeconds")
    causes = [cause for field in counts for cause in _count(obj, field)]
    return causes + _template(obj, restart=("Never", "OnFailure"))


def _selecting(obj: Object) -> list[Cause]:
    causes = _count(obj, "replicas")
    selector = obj["spec"].get("selector")
    if not selector:
        return [*causes, required("spec.selector")]
    causes += _template(obj, restart=("Always",))
    wanted = selector.get("matchLabels") or {}
    have = ((obj["spec"].get("template") or {}).get("metadata") or {}).get("labels") or {}
    if any(have.get(key) != value for key, value in wanted.items()):
        causes.append(bad_value("spec.template.metadata.labels", have, "`selector` does not match template `labels`"))
    return causes


def _node(obj: Object) -> list[Cause]:
    causes: list[Cause] = []
    for n, taint in enumerate(obj["spec"].get("taints") or ()):
        field = f"spec.taints[{n}]"
        causes += label_key(f"{field}.key", taint.get("key", ""))
        effects = ("NoSchedule", "PreferNoSchedule", "NoExecute")
        if taint.get("effect") not in effects:
            causes.append(pod_rules.unsupported(f"{field}.effect", taint.get("effect"), effects))
    for part in ("capacity", "allocatable"):
        causes += pod_rules.quantities(f"status.{part}", (obj.get("status") or {}).get(part) or {})
    return causes


def _budget(obj: Object) -> list[Cause]:
    spec = obj.get("spec") or {}
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        return [bad_value("spec", "", "minAvailable and maxUnavailable cannot be both set")]
    causes = []
    for part in ("minAvailable", "maxUnavailable"):
        value = spec.get(part)
        if isinstance(value, str) and not re.fullmatch(r"\d+%", value):
            causes.append(bad_value(f"spec.{part}", value, "a valid percent string must be a number followed by '%'"))
        elif isinstance(value, int) and value < 0:
            causes.append(bad_value(f"spec.{part}", value, "must be greater than or equal to 0"))
    return causes


def _definition(obj: Object) -> list[Cause]:
    spec = obj["spec"]
    causes = [required(f"spec.{part}") for part in ("group", "names", "scope", "versions") if not spec.get(part)]
    if causes:
        return causes
    causes += [required(f"spec.names.{part}") for part in ("plural", "kind") if not spec["names"].get(part)]
    if spec["scope"] not in ("Namespaced", "Cluster"):
        causes.append(pod_rules.unsupported("spec.scope", spec["scope"], ("Cluster", "Namespaced")))
    if (name := obj["metadata"]["name"]) != f"{spec['names'].get('plural')}.{spec['group']}":
        causes.append(bad_value("metadata.name", name, 'must be spec.names.plural+"."+spec.group'))
    return causes


def _event(obj: Object) -> list[Cause]:
    where = obj.get("involvedObject")
    if not isinstance(where, dict):
        return [required("involvedObject")]
    space = obj["metadata"].get("namespace")
    # Events about things without a namespace (nodes) live in "default".
    if where.get("namespace", "") != space and not (not where.get("namespace") and space in ("default", "kube-system")):
        return [bad_value("involvedObject.namespace", where.get("namespace", ""), "does not match event.namespace")]
    return []


def _lease(obj: Object) -> list[Cause]:
    duration = (obj.get("spec") or {}).get("leaseDurationSeconds")
    if duration is not None and duration <= 0:
        return [bad_value("spec.leaseDurationSeconds", duration, "must be greater than 0")]
    return []


CREATE: Mapping[str, Callable[[Object], list[Cause]]] = {
    "pods": _pod,
    "nodes": _node,
    "events": _event,
    "jobs.batch": _job,
    "deployments.apps": _selecting,
    "replicasets.apps": _selecting,
    "statefulsets.apps": _selecting,
    "daemonsets.apps": _selecting,
    "leases.coordination.k8s.io": _lease,
    "poddisruptionbudgets.policy": _budget,
    "customresourcedefinitions.apiextensions.k8s.io": _definition,
}

# Fields that never change after the creation, as paths.
FIXED: Mapping[str, tuple[str, ...]] = {
    "jobs.batch": ("spec.completions", "spec.selector", "spec.template", "spec.completionMode"),
    "deployments.apps": ("spec.selector",),
    "replicasets.apps": ("spec.selector",),
    "statefulsets.apps": ("spec.selector", "spec.serviceName"),
    "daemonsets.apps": ("spec.selector",),
    "services": ("spec.clusterIP",),
    "secrets": ("type",),
    "priorityclasses.scheduling.k8s.io": ("value", "preemptionPolicy"),
    "rolebindings.rbac.authorization.k8s.io": ("roleRef",),
    "clusterrolebindings.rbac.authorization.k8s.io": ("roleRef",),
    "customresourcedefinitions.apiextensions.k8s.io": ("spec.group", "spec.names.kind", "spec.scope"),
}


def _at(obj: Any, path: str) -> Any:
    for part in path.split("."):
        obj = obj.get(part) if isinstance(obj, dict) else None
    return obj


def change(collection: str, new: Object, old: Object) -> list[Cause]:
    """Problems of the step from one object to the next."""
    causes = [
        bad_value(path, _at(new, path), IMMUTABLE)
        for path in FIXED.get(collection, ())
        if _at(new, path) != _at(old, path)
    ]
    if collection in ("configmaps", "secrets") and old.get("immutable"):
        causes += [
            forbidden_change(part, "field is immutable when `immutable` is set")
            for part in ("data", "binaryData", "immutable")
            if new.get(part) != old.get(part)
        ]
    if collection == "pods":
        causes += pod_rules.change(new, old)
    return causes
