"""The patch formats that change an object without knowing who owns which field: JSON patch, merge, strategic."""

from typing import Any

import msgspec

from backend.embedded.apiserver import strategic
from backend.embedded.apiserver.errors import ApiError, Object, bad_request, invalid, unsupported_media
from backend.embedded.apiserver.resources import Resource
from backend.embedded.apiserver.store import copied

JSON = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"


def patched(resource: Resource, current: Object, media_type: str, patch: Any) -> Object:
    """A new object: the current one after a patch.

    Raises:
        ApiError: 400 for a patch that cannot be read, 415 for a format that this kind does not take, 422 for a JSON
            patch whose test fails or whose path is not there.
    """
    if media_type == JSON:
        if not isinstance(patch, list):
            raise bad_request("a JSON patch is a list of operations")
        try:
            return json_patch(current, patch)
        except _UnpatchableError as problem:
            error = invalid(resource, current["metadata"]["name"], ())
            raise ApiError(422, "Invalid", f"the server rejected our request: {problem}", error.details) from None
    if not isinstance(patch, dict):
        raise bad_request("a merge patch is an object")
    if media_type == MERGE:
        return copied(merge_patch(current, patch))
    if media_type == STRATEGIC and not resource.custom:
        return copied(strategic.merge(current, patch))
    accepted = [JSON, MERGE, APPLY] if resource.custom else [JSON, MERGE, STRATEGIC, APPLY]
    raise unsupported_media(media_type, accepted)


def merge_patch(current: Any, patch: Any) -> Any:
    """RFC 7386: maps merge, null deletes, everything else replaces."""
    if not isinstance(patch, dict):
        return patch
    base = dict(current) if isinstance(current, dict) else {}
    for key, value in patch.items():
        if value is None:
            base.pop(key, None)
        else:
            base[key] = merge_patch(base.get(key), value)
    return base


class _UnpatchableError(Exception):
    """An operation of a JSON patch that does not fit the document."""


def json_patch(current: Object, operations: list[Any]) -> Object:
    """RFC 6902: a list of add, remove, replace, move, copy and test, all or nothing."""
    document: Any = copied(current)
    for operation in operations:
        try:
            document = _step(document, operation)
        except (KeyError, IndexError, ValueError, TypeError, AttributeError) as problem:
            raise _UnpatchableError(f"{msgspec.json.encode(operation).decode()} does not apply: {problem}") from None
    if not isinstance(document, dict):
        raise _UnpatchableError("the result is no object")
    return document


def _step(document: Any, operation: Object) -> Any:
    verb, path = operation["op"], _pointer(operation["path"])
    if verb == "add":
        return _put(document, path, operation["value"], insert=True)
    if verb == "replace":
        _read(document, path)
        return _put(document, path, operation["value"], insert=False)
    if verb == "remove":
        _take(document, path)
        return document
    if verb == "test":
        if _read(document, path) != operation["value"]:
            raise ValueError("testing the value failed")
        return document
    source = _pointer(operation["from"])
    if verb == "move":
        return _put(document, path, _take(document, source), insert=True)
    if verb == "copy":
        value = msgspec.json.decode(msgspec.json.encode(_read(document, source)))
        return _put(document, path, value, insert=True)
    raise ValueError(f"unknown operation {verb!r}")


def _pointer(text: str) -> list[str]:
    if text and not text.startswith("/"):
        raise ValueError(f"{text!r} is no JSON pointer")
    return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:]]


def _index(items: list[Any], part: str, *, end: int) -> int:
    # Negative numbers would count from the end in Python; a JSON pointer has none.
    number = int(part)
    if not 0 <= number < end or str(number) != part:
        raise IndexError(f"no element {part}")
    return number


def _child(value: Any, part: str) -> Any:
    return value[_index(value, part, end=len(value))] if isinstance(value, list) else value[part]


def _read(document: Any, path: list[str]) -> Any:
    for part in path:
        document = _child(document, part)
    return document


def _put(document: Any, path: list[str], value: Any, *, insert: bool) -> Any:
    if not path:
        return value
    parent, last = _read(document, path[:-1]), path[-1]
    if not isinstance(parent, list):
        parent[last] = value
    elif last == "-":
        parent.append(value)
    elif insert:
        parent.insert(_index(parent, last, end=len(parent) + 1), value)
    else:
        parent[_index(parent, last, end=len(parent))] = value
    return document


def _take(document: Any, path: list[str]) -> Any:
    parent, last = _read(document, path[:-1]), path[-1]
    return parent.pop(_index(parent, last, end=len(parent)) if isinstance(parent, list) else last)
