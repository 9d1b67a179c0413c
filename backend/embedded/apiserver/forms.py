"""Objects that are served in another form than they are stored in.

Events have two faces, core/v1 and events.k8s.io/v1, over one store; they are stored as core/v1.
"""

from collections.abc import Mapping

from backend.embedded.apiserver.errors import Object
from backend.embedded.apiserver.resources import Resource

# Name in events.k8s.io/v1 -> name in core/v1.
_RENAMED: Mapping[str, str] = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_BACK = {core: newer for newer, core in _RENAMED.items()}


def incoming(resource: Resource, obj: Object) -> Object:
    """An object as it is stored."""
    if resource.group == "events.k8s.io":
        obj = {_RENAMED.get(field, field): value for field, value in obj.items()}
    if resource.stored_version:
        obj["apiVersion"] = resource.stored_version
    return obj


def outgoing(resource: Resource, obj: Object) -> Object:
    """A stored object as `resource` shows it; the object itself where nothing differs."""
    if obj.get("apiVersion") == resource.api_version:
        return obj
    if resource.group == "events.k8s.io":
        obj = {_BACK.get(field, field): value for field, value in obj.items()}
    return {**obj, "apiVersion": resource.api_version, "kind": resource.kind}
