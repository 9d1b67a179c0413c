"""What a pod's specification must be, and which few of its fields may change."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from backend.embedded.apiserver.errors import Cause, Object, bad_value, forbidden_change, required
from backend.model.quantities import QuantityError, parse_quantity

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?\Z")
_NAME_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
    "with an alphanumeric character (e.g. 'my-name', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "restartPolicy": ("Always", "OnFailure", "Never"),
    "dnsPolicy": ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"),
    "preemptionPolicy": ("PreemptLowerPriority", "Never"),
}
_QUANTITY_RULE = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_MAY_CHANGE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def unsupported(field: str, value: object, allowed: Sequence[str]) -> Cause:
    """A value outside a list of choices."""
    listed = ", ".join(f'"{choice}"' for choice in allowed)
    return Cause(field, f'Unsupported value: "{value}": supported values: {listed}', "FieldValueNotSupported")


def _name(field: str, value: object) -> list[Cause]:
    if not value:
        return [required(field)]
    if not isinstance(value, str) or len(value) > 63 or not _NAME.match(value):
        return [bad_value(field, value, _NAME_RULE)]
    return []


def quantities(field: str, values: Mapping[str, Any]) -> list[Cause]:
    """Problems of a map of quantities."""
    causes = []
    for name, value in values.items():
        try:
            if parse_quantity(value) < 0:
                causes.append(bad_value(f"{field}[{name}]", value, "must be greater than or equal to 0"))
        except QuantityError:
            causes.append(bad_value(f"{field}[{name}]", value, _QUANTITY_RULE))
    return causes


def _resources(field: str, resources: Mapping[str, Any]) -> list[Cause]:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    causes = quantities(f"{field}.limits", limits) + quantities(f"{field}.requests", requests)
    if causes:
        return causes
    return [
        bad_value(f"{field}.requests", requests[name], f"must be less than or equal to {name} limit of {limits[name]}")
        for name in requests.keys() & limits.keys()
        if parse_quantity(requests[name]) > parse_quantity(limits[name])
    ]


def _container(field: str, container: Object, volumes: set[str]) -> list[Cause]:
    causes = _name(f"{field}.name", container.get("name"))
    if not container.get("image"):
        causes.append(required(f"{field}.image"))
    policy = container.get("imagePullPolicy")
    if policy is not None and policy not in ("Always", "IfNotPresent", "Never"):
        causes.append(unsupported(f"{field}.imagePullPolicy", policy, ("Always", "IfNotPresent", "Never")))
    causes += _resources(f"{field}.resources", container.get("resources") or {})
    for n, variable in enumerate(container.get("env") or ()):
        if not variable.get("name"):
            causes.append(required(f"{field}.env[{n}].name"))
    for n, mount in enumerate(container.get("volumeMounts") or ()):
        if not mount.get("mountPath"):
            causes.append(required(f"{field}.volumeMounts[{n}].mountPath"))
        if mount.get("name") not in volumes:
            missing = Cause(
                f"{field}.volumeMounts[{n}].name", f'Not found: "{mount.get("name")}"', "FieldValueNotFound"
            )
            causes.append(missing)
    for n, port in enumerate(container.get("ports") or ()):
        number = port.get("containerPort")
        if not isinstance(number, int) or not 0 < number < 65536:
            causes.append(
                bad_value(f"{field}.ports[{n}].containerPort", number, "must be between 1 and 65535, inclusive")
            )
    return causes


def specification(field: str, spec: Any) -> list[Cause]:
    """Problems of a pod's specification, in a pod or in a template."""
    if not isinstance(spec, dict):
        return [required(field)]
    causes: list[Cause] = []
    if not spec.get("containers"):
        causes.append(required(f"{field}.containers"))
    volumes: set[str] = set()
    for n, volume in enumerate(spec.get("volumes") or ()):
        causes += _name(f"{field}.volumes[{n}].name", volume.get("name"))
        volumes.add(volume.get("name", ""))
    seen: set[str] = set()
    for part in ("initContainers", "containers"):
        for n, container in enumerate(spec.get(part) or ()):
            where = f"{field}.{part}[{n}]"
            causes += _container(where, container, volumes)
            name = container.get("name", "")
            if name in seen:
                causes.append(Cause(f"{where}.name", f'Duplicate value: "{name}"', "FieldValueDuplicate"))
            seen.add(name)
    for name, allowed in _CHOICES.items():
        if name in spec and spec[name] not in allowed:
            causes.append(unsupported(f"{field}.{name}", spec[name], allowed))
    for name, least in (("terminationGracePeriodSeconds", 0), ("activeDeadlineSeconds", 1)):
        value = spec.get(name)
        if value is not None and (not isinstance(value, int) or value < least):
            causes.append(bad_value(f"{field}.{name}", value, f"must be greater than or equal to {least}"))
    return causes + _tolerations(f"{field}.tolerations", spec.get("tolerations") or ())


def _tolerations(field: str, tolerations: Sequence[Mapping[str, Any]]) -> list[Cause]:
    causes = []
    for n, toleration in enumerate(tolerations):
        operator = toleration.get("operator", "Equal")
        if operator not in ("Equal", "Exists"):
            causes.append(unsupported(f"{field}[{n}].operator", operator, ("Equal", "Exists")))
        if operator == "Exists" and toleration.get("value"):
            causes.append(
                bad_value(f"{field}[{n}].operator", toleration, "value must be empty when `operator` is 'Exists'")
            )
        if not toleration.get("key") and operator != "Exists":
            why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            causes.append(bad_value(f"{field}[{n}].operator", operator, why))
    return causes


def _changeable(spec: Object, *, gated: bool) -> Object:
    """The specification without the fields that may change."""
    kept = {k: v for k, v in spec.items() if k not in ("activeDeadlineSeconds", "tolerations", "schedulingGates")}
    for part in ("containers", "initContainers"):
        if part in kept:
            kept[part] = [{k: v for k, v in container.items() if k != "image"} for container in kept[part]]
    if gated:
        # Until its gates are gone nobody has looked where the pod may go.
        kept.pop("nodeSelector", None)
        kept.pop("affinity", None)
    return kept


def change(new: Object, old: Object) -> list[Cause]:
    """Problems of the step from one pod to the next: almost all of the specification is fixed."""
    before, after = old["spec"], new["spec"]
    if before == after:
        return []
    causes: list[Cause] = []
    gates_before = [gate.get("name") for gate in before.get("schedulingGates") or ()]
    gates_after = [gate.get("name") for gate in after.get("schedulingGates") or ()]
    if not set(gates_after) <= set(gates_before):
        causes.append(forbidden_change("spec.schedulingGates", "only deletion is allowed"))
    gone = [t for t in before.get("tolerations") or () if t not in (after.get("tolerations") or ())]
    # A toleration may be kept with another number of seconds.
    keys = {(t.get("key"), t.get("operator"), t.get("effect")) for t in after.get("tolerations") or ()}
    if any((t.get("key"), t.get("operator"), t.get("effect")) not in keys for t in gone):
        causes.append(
            forbidden_change("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")
        )
    deadline, was = after.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")
    if was is not None and (deadline is None or deadline > was):
        why = "must be less than or equal to previous value" if deadline is not None else "must not be unset"
        causes.append(bad_value("spec.activeDeadlineSeconds", deadline, why))
    gated = bool(gates_before)
    if _changeable(before, gated=gated) != _changeable(after, gated=gated):
        causes.append(forbidden_change("spec", _MAY_CHANGE))
    return causes
