"""What a request is about, from its path and method."""

from collections.abc import Mapping
from dataclasses import dataclass

from backend.embedded.apiserver.errors import method_not_allowed, no_such_path
from backend.embedded.apiserver.resources import Registry, Resource, subresource_verbs

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}


@dataclass(frozen=True, slots=True)
class Target:
    """A resource and a verb. `namespace` None: of all namespaces, or of none."""

    verb: str
    resource: Resource
    namespace: str | None = None
    name: str = ""
    subresource: str = ""

    @property
    def home(self) -> str:
        """The namespace as the store has it."""
        return self.namespace or ""


def of(method: str, path: str, query: Mapping[str, str], registry: Registry) -> Target:
    """The target of a request below /api/VERSION or /apis/GROUP/VERSION.

    Raises:
        ApiError: 404 when there is no such endpoint, 405 when it does not know the method.
    """
    parts = path.strip("/").split("/")
    if parts[0] == "api":
        group, version, rest = "", parts[1], parts[2:]
    else:
        group, version, rest = parts[1], parts[2], parts[3:]
    namespace: str | None = None
    # /namespaces/x/pods is below a namespace; /namespaces/x and /namespaces/x/status are the namespace itself.
    if len(rest) > 2 and rest[0] == "namespaces" and rest[2] not in ("status", "finalize"):
        namespace, rest = rest[1], rest[2:]
    watching = query.get("watch", "") in ("true", "1")
    if rest[:1] == ["watch"]:
        raise no_such_path()
    resource = registry.find(group, version, rest[0]) if rest else None
    if resource is None or len(rest) > 3 or (namespace is not None and not resource.namespaced):
        raise no_such_path()
    name, part = rest[1] if len(rest) > 1 else "", rest[2] if len(rest) > 2 else ""
    if resource.namespaced and namespace is None and name:
        raise no_such_path()
    if part and part not in resource.subresources:
        raise no_such_path()
    verb = _verb(method, name, watching=watching)
    if verb not in (subresource_verbs(part) if part else resource.verbs):
        raise method_not_allowed()
    return Target(verb, resource, namespace, name, part)


def _verb(method: str, name: str, *, watching: bool) -> str:
    if method in ("GET", "HEAD"):
        if watching:
            return "watch"
        return "get" if name else "list"
    if method == "DELETE":
        return "delete" if name else "deletecollection"
    verb = _VERBS.get(method)
    if verb is None or (verb in ("update", "patch") and not name):
        raise method_not_allowed()
    return verb
