"""Lists: selectors, pages that all show the same moment, and the envelope around the items."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from backend.embedded.apiserver import forms, selectors
from backend.embedded.apiserver.errors import Object, bad_request, expired, too_large_version
from backend.embedded.apiserver.resources import Resource
from backend.embedded.apiserver.store import CompactedError, Store


@dataclass(frozen=True, slots=True)
class Page:
    """Some of a list's objects, the version that they are of, and where the rest begins."""

    items: list[Object]
    version: int
    token: str = ""
    remaining: int | None = None

    def metadata(self) -> Object:
        """The list's metadata."""
        metadata: Object = {"resourceVersion": str(self.version)}
        if self.token:
            metadata["continue"] = self.token
            if self.remaining is not None:
                metadata["remainingItemCount"] = self.remaining
        return metadata

    def body(self, resource: Resource) -> Object:
        """The list as a body."""
        items = [forms.outgoing(resource, obj) for obj in self.items]
        kind = f"{resource.kind}List"
        return {"kind": kind, "apiVersion": resource.api_version, "metadata": self.metadata(), "items": items}


def predicate(resource: Resource, query: Mapping[str, str], name: str = "") -> selectors.Predicate | None:
    """The selectors of a list, watch or collection delete, and the one name when the path has it."""
    declared = frozenset(
        field["jsonPath"].lstrip(".") for field in resource.definition.get("selectableFields") or () if resource.custom
    )
    chosen = selectors.both(
        selectors.labels(query.get("labelSelector", "")),
        selectors.fields(query.get("fieldSelector", ""), resource.stored_as, declared),
    )
    return selectors.both(chosen, (lambda obj: obj["metadata"]["name"] == name) if name else None)


def version_of(query: Mapping[str, str]) -> int | None:
    """The resourceVersion of a query; None when it has none."""
    text = query.get("resourceVersion", "")
    if not text:
        return None
    if not text.isdigit():
        raise bad_request(f'Invalid value: "{text}": resourceVersion must be a number')
    return int(text)


def number_of(query: Mapping[str, str], name: str) -> int | None:
    """A whole number of a query; None when it is not there."""
    text = query.get(name, "")
    if not text:
        return None
    try:
        return int(text)
    except ValueError:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid value for {name}') from None


def _start(token: str) -> tuple[int, tuple[str, str]]:
    try:
        version, space, name = msgspec.json.decode(base64.urlsafe_b64decode(token), type=tuple[int, str, str])
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        raise bad_request("continue key is not valid: " + token) from None
    return version, (space, name)


def page(store: Store, resource: Resource, namespace: str | None, query: Mapping[str, str], name: str = "") -> Page:
    """The objects that a list asks for.

    Raises:
        ApiError: 400 for a bad selector or token, 410 for one that is too old, 504 for a version of the future.
    """
    chosen = predicate(resource, query, name)
    limit = number_of(query, "limit") or 0
    wanted = version_of(query)
    after: tuple[str, str] | None = None
    with store.lock:
        version = store.version
        if token := query.get("continue", ""):
            version, after = _start(token)
            items = store.items_at(resource.stored_as, namespace, version)
        elif wanted and query.get("resourceVersionMatch") == "Exact":
            version = wanted
            items = store.items_at(resource.stored_as, namespace, version)
        else:
            if wanted and wanted > version:
                raise too_large_version(wanted, version)
            items = store.items(resource.stored_as, namespace)
    if after is not None:
        items = [obj for obj in items if (obj["metadata"].get("namespace", ""), obj["metadata"]["name"]) > after]
    if chosen is not None:
        items = [obj for obj in items if chosen(obj)]
    if not limit or len(items) <= limit:
        return Page(items, version)
    last = items[limit - 1]["metadata"]
    place = msgspec.json.encode((version, last.get("namespace", ""), last["name"]))
    # With a selector the real server cannot say how many are left.
    remaining = len(items) - limit if chosen is None else None
    return Page(items[:limit], version, base64.urlsafe_b64encode(place).decode(), remaining)


def check_version(store: Store, collection: str, version: int) -> None:
    """Refuse a version that the history no longer reaches back to.

    Raises:
        ApiError: 410.
    """
    try:
        store.since(collection, version)
    except CompactedError:
        raise expired(f"too old resource version: {version} ({store.version})") from None
