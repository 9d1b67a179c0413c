"""Server-side apply: each manager owns the fields it applied, and two may not disagree about one."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from backend.embedded.apiserver import patches, strategic
from backend.embedded.apiserver.errors import Object, conflict
from backend.embedded.apiserver.resources import Resource
from backend.embedded.apiserver.store import copied

Path = tuple[str, ...]
# What identifies an object, and what the server writes itself, belongs to nobody.
_UNOWNED = frozenset({"apiVersion", "kind"})
_UNOWNED_METADATA = frozenset(
    {"name", "namespace", "uid", "resourceVersion", "creationTimestamp", "generation", "managedFields",
     "deletionTimestamp", "deletionGracePeriodSeconds", "generateName", "selfLink"}
)  # fmt: skip


def leaves(obj: Mapping[str, Any], *, custom: bool) -> dict[Path, Any]:
    """The owned fields of an object: each path, in the notation of managedFields, with its value."""
    found: dict[Path, Any] = {}
    for field, value in obj.items():
        if field == "metadata":
            named = {k: v for k, v in value.items() if k not in _UNOWNED_METADATA}
            found.update({("f:metadata", *path): leaf for path, leaf in _walk(named, custom) if path})
        elif field not in _UNOWNED:
            found.update({(f"f:{field}", *path): leaf for path, leaf in _walk_field(field, value, custom)})
    return found


def _walk(value: Any, custom: bool) -> Iterator[tuple[Path, Any]]:
    if not isinstance(value, Mapping) or not value:
        yield (), value
        return
    for field, inner in value.items():
        for path, leaf in _walk_field(field, inner, custom):
            yield (f"f:{field}", *path), leaf


def _walk_field(field: str, value: Any, custom: bool) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, list) and not custom:
        key = strategic.merge_key(field, value)
        if field in strategic.MERGED_VALUES:
            yield from (((f"v:{msgspec.json.encode(item).decode()}",), item) for item in value)
            return
        if key is not None and all(isinstance(item, Mapping) and key in item for item in value):
            for item in value:
                part = "k:" + msgspec.json.encode({key: item[key]}).decode()
                # The item itself is a leaf: who owns it keeps the item in the list.
                yield (part, "."), item[key]
                yield from ((((part, *path)), leaf) for path, leaf in _walk(item, custom))
            return
    yield from _walk(value, custom) if isinstance(value, Mapping) else [((), value)]


def encoded(paths: Iterable[Path]) -> Object:
    """Paths as the `fieldsV1` of managedFields."""
    tree: Object = {}
    for path in sorted(paths):
        branch = tree
        for part in path:
            branch = branch.setdefault(part, {})
    return tree


def decoded(tree: Mapping[str, Any]) -> set[Path]:
    """The paths in a `fieldsV1`."""
    found: set[Path] = set()
    for part, branch in tree.items():
        found |= {(part, *path) for path in decoded(branch)} if branch else {(part,)}
    return found


def _entry(manager: str, operation: str, api_version: str, paths: Iterable[Path], now: str) -> Object:
    return {
        "manager": manager, "operation": operation, "apiVersion": api_version, "time": now, "fieldsType": "FieldsV1",
        "fieldsV1": encoded(paths),
    }  # fmt: skip


def _delete(value: Any, path: Path) -> None:
    """Remove what a path names, if it is there."""
    part, rest = path[0], path[1:]
    if part.startswith("f:") and isinstance(value, dict):
        field = part[2:]
        if not rest:
            value.pop(field, None)
        elif field in value:
            _delete(value[field], rest)
    elif part.startswith("k:") and isinstance(value, list):
        ((key, wanted),) = msgspec.json.decode(part[2:]).items()
        for item in [item for item in value if item.get(key) == wanted]:
            if rest == (".",):
                value.remove(item)
            elif rest[0] != f"f:{key}":
                _delete(item, rest)
    elif part.startswith("v:") and isinstance(value, list):
        wanted = msgspec.json.decode(part[2:])
        if wanted in value:
            value.remove(wanted)


def applied(resource: Resource, live: Object | None, wanted: Object, manager: str, now: str, *, force: bool) -> Object:
    """The object after `manager` applied `wanted`; `live` is None when it is new.

    Raises:
        ApiError: 409 with one cause for each field that another manager owns and that would change, unless `force`.
    """
    wanted = copied(wanted)
    wanted["metadata"].pop("managedFields", None)
    mine = leaves(wanted, custom=resource.custom)
    result = copied(live) if live is not None else {"metadata": {}}
    have = leaves(result, custom=resource.custom)
    entries = result["metadata"].pop("managedFields", [])
    own: set[Path] = set()
    others: list[tuple[Object, set[Path]]] = []
    for entry in entries:
        paths = decoded(entry.get("fieldsV1") or {})
        if entry["manager"] == manager and entry["operation"] == "Apply":
            own |= paths
        else:
            others.append((entry, paths))
    causes = []
    for entry, paths in others:
        disputed = {path for path in paths & mine.keys() if have.get(path) != mine[path]}
        paths.difference_update(disputed)
        causes += [_cause(entry, path) for path in sorted(disputed)]
    if causes and not force:
        why = f"Apply failed with {len(causes)} conflict{'s' if len(causes) > 1 else ''}: " + ", ".join(
            f"{cause['message']}: {cause['field']}" for cause in causes
        )
        raise conflict(resource, wanted["metadata"]["name"], why, causes)
    kept_by_others = set().union(*(paths for _, paths in others)) if others else set()
    # Deepest first, so that the items of a list go after their fields.
    for path in sorted(own - mine.keys() - kept_by_others, key=len, reverse=True):
        _delete(result, path)
    merge = patches.merge_patch if resource.custom else strategic.merge
    result = copied(merge(result, wanted))
    result["metadata"]["managedFields"] = [
        *(_with_paths(entry, paths) for entry, paths in others if paths),
        _entry(manager, "Apply", resource.api_version, mine, now),
    ]
    return result


def _with_paths(entry: Object, paths: set[Path]) -> Object:
    return {**entry, "fieldsV1": encoded(paths)}


def _cause(entry: Object, path: Path) -> Object:
    dotted = "".join(f".{part[2:]}" if part.startswith("f:") else f"[{part[2:]}]" for part in path)
    using = f" using {entry['apiVersion']}" if entry["operation"] == "Update" else ""
    return {"reason": "FieldManagerConflict", "message": f'conflict with "{entry["manager"]}"{using}', "field": dotted}


def noted(resource: Resource, old: Object, new: Object, manager: str, now: str) -> None:
    """Record in `new` that an update by `manager` took over the fields it changed.

    Only objects that somebody applied carry managedFields here: for all others nobody could ask.
    """
    entries = old["metadata"].get("managedFields")
    if not entries:
        return
    before, after = leaves(old, custom=resource.custom), leaves(new, custom=resource.custom)
    changed = {path for path in before.keys() | after.keys() if before.get(path, _NOTHING) != after.get(path, _NOTHING)}
    if not changed:
        return
    kept = []
    gained = changed & after.keys()
    for entry in entries:
        paths = decoded(entry.get("fieldsV1") or {}) - changed
        if entry["manager"] == manager and entry["operation"] == "Update":
            gained |= paths
        elif paths:
            kept.append(_with_paths(entry, paths))
    new["metadata"]["managedFields"] = [*kept, _entry(manager, "Update", resource.api_version, gained, now)]


_NOTHING = object()
