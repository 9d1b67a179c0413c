"""Strategic merge patch: maps merge, and lists merge where Kubernetes says by which key."""

from collections.abc import Iterable, Mapping
from typing import Any

from backend.embedded.apiserver.errors import bad_request

# The merge key of each list that has one, by the name of its field. A list that is not here (tolerations, taints,
# command, args ...) is replaced whole.
MERGE_KEYS: Mapping[str, str] = {
    "addresses": "type",
    "conditions": "type",
    "containers": "name",
    "env": "name",
    "ephemeralContainers": "name",
    "hostAliases": "ip",
    "imagePullSecrets": "name",
    "initContainers": "name",
    "ownerReferences": "uid",
    "podIPs": "ip",
    "resourceClaims": "name",
    "schedulingGates": "name",
    "secrets": "name",
    "topologySpreadConstraints": "topologyKey",
    "volumeDevices": "devicePath",
    "volumeMounts": "mountPath",
    "volumes": "name",
}
# Lists of plain values that grow by what a patch names.
MERGED_VALUES = frozenset({"finalizers", "podCIDRs"})

_ORDER = "$setElementOrder/"
_DROP = "$deleteFromPrimitiveList/"


def merge_key(field: str, items: Iterable[Any]) -> str | None:
    """By which key the items of a list are the same one; None when the list is replaced whole."""
    if field == "ports":
        # Ports of a container are known by containerPort, those of a Service by port.
        return "containerPort" if any("containerPort" in p for p in items if isinstance(p, Mapping)) else "port"
    return MERGE_KEYS.get(field)


def merge(current: Any, patch: Any) -> Any:
    """The value after a strategic merge patch. Neither argument is changed; the result shares parts with both."""
    if not isinstance(patch, Mapping):
        return patch
    base = dict(current) if isinstance(current, Mapping) else {}
    directive = patch.get("$patch", "merge")
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != "$patch"}
    if directive == "delete":
        return {}
    if directive != "merge":
        raise bad_request(f"unknown patch type {directive!r}")
    if "$retainKeys" in patch:
        base = {key: value for key, value in base.items() if key in patch["$retainKeys"]}
    for key, value in patch.items():
        if key.startswith("$"):
            if key.startswith(_DROP):
                field = key.removeprefix(_DROP)
                base[field] = [item for item in base.get(field) or () if item not in value]
        elif value is None:
            base.pop(key, None)
        elif isinstance(value, list):
            base[key] = _merge_list(key, base.get(key) or [], value)
        else:
            base[key] = merge(base.get(key), value)
    for key, order in patch.items():
        if key.startswith(_ORDER):
            field = key.removeprefix(_ORDER)
            if isinstance(base.get(field), list):
                base[field] = _ordered(field, base[field], order)
    return base


def _merge_list(field: str, current: list[Any], patch: list[Any]) -> list[Any]:
    if field in MERGED_VALUES:
        return [*current, *(item for item in patch if item not in current)]
    key = merge_key(field, [*current, *patch])
    if key is None or not all(isinstance(item, Mapping) for item in patch):
        return patch
    if any(item.get("$patch") == "replace" for item in patch):
        return [item for item in patch if item.get("$patch") != "replace"]
    merged = list(current)
    for item in patch:
        if key not in item:
            raise bad_request(f"map: {dict(item)} does not contain declared merge key: {key}")
        at = next((n for n, have in enumerate(merged) if have.get(key) == item[key]), None)
        if item.get("$patch") == "delete":
            if at is not None:
                del merged[at]
        elif at is None:
            merged.append(merge(None, item))
        else:
            merged[at] = merge(merged[at], item)
    return merged


def _ordered(field: str, items: list[Any], order: list[Any]) -> list[Any]:
    key = merge_key(field, items)

    def name(item: Any) -> Any:
        return item.get(key) if key is not None and isinstance(item, Mapping) else item

    places = {name(wanted): place for place, wanted in enumerate(order)}
    # What the patch does not know keeps its order and comes last; sorted() is stable.
    return sorted(items, key=lambda item: places.get(name(item), len(places)))
