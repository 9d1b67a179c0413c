"""Create, read, update and patch: what the server does with an object, without the HTTP around it."""

import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from backend.embedded.apiserver import apply, defaults, forms, patches, schema, validation
from backend.embedded.apiserver.clock import Clock, stamp
from backend.embedded.apiserver.errors import (
    ApiError,
    Cause,
    Object,
    already_exists,
    bad_request,
    bad_value,
    conflict,
    forbidden,
    forbidden_change,
    invalid,
    not_found,
)
from backend.embedded.apiserver.resources import Registry, Resource
from backend.embedded.apiserver.store import Store

# No vowels, so that a generated name is never a word; nor 0, 1 and 3, that look like letters.
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
STALE = "the object has been modified; please apply your changes to the latest version and try again"
# A client may never set these; they are taken over from the stored object.
_SERVERS_OWN = (
    "name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation",
    "generateName",
)  # fmt: skip
# Kinds whose metadata.generation counts the changes of their specification.
_GENERATIONS = frozenset(
    {"pods", "jobs.batch", "deployments.apps", "replicasets.apps", "statefulsets.apps", "daemonsets.apps",
     "poddisruptionbudgets.policy", "customresourcedefinitions.apiextensions.k8s.io"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Options:
    """How to write: for show only, in whose name, and whether to take fields away from other managers."""

    dry_run: bool = False
    manager: str = "unknown"
    force: bool = False


PLAIN = Options()


class Rest:
    """The verbs on stored objects. Safe to use from several threads."""

    def __init__(self, store: Store, registry: Registry, clock: Clock) -> None:
        self.store = store
        self.registry = registry
        self.clock = clock
        self._names = random.Random()
        addresses = defaults.ClusterAddresses()
        self._defaults: dict[str, Callable[[Object], None]] = {**defaults.DEFAULTS, "services": addresses.service}

    def now(self) -> str:
        """The time, as objects have it."""
        return stamp(self.clock())

    def get(self, resource: Resource, namespace: str, name: str) -> Object:
        """One object as it is stored.

        Raises:
            ApiError: 404.
        """
        obj = self.store.get(resource.stored_as, namespace, name)
        if obj is None:
            raise not_found(resource, name)
        return obj

    def create(self, resource: Resource, namespace: str, obj: Object, options: Options = PLAIN) -> Object:
        """Store a new object; `obj` is handed over and may be changed.

        Raises:
            ApiError: 400, 403 (namespace is going), 404 (no such namespace), 409 (name is taken), 422.
        """
        obj = forms.incoming(resource, self._addressed(resource, namespace, obj))
        metadata = obj["metadata"]
        if metadata.get("resourceVersion"):
            raise ApiError(500, "InternalError", "resourceVersion should not be set on objects to be created")
        for own in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion", "generation"):
            metadata.pop(own, None)
        if not metadata.get("name") and metadata.get("generateName"):
            metadata["name"] = metadata["generateName"] + "".join(self._names.choices(_LETTERS, k=5))
        metadata["uid"] = str(uuid.uuid4())
        metadata["creationTimestamp"] = self.now()
        if resource.custom or resource.stored_as in _GENERATIONS:
            metadata["generation"] = 1
        with self.store.lock:
            self._admit(resource, namespace, obj)
            self._checked(resource, obj)
            self._start(resource, obj)
            if self.store.get(resource.stored_as, namespace, metadata["name"]) is not None:
                raise already_exists(resource, metadata["name"])
            if options.dry_run:
                return obj
            return self.store.insert(resource.stored_as, obj)

    def update(
        self, resource: Resource, namespace: str, name: str, obj: Object, part: str = "", options: Options = PLAIN
    ) -> Object:
        """Put an object in the place of the stored one; with `part` "status", only its status.

        Raises:
            ApiError: 400, 404, 409 (the object has changed since), 422.
        """
        obj = forms.incoming(resource, self._addressed(resource, namespace, obj))
        if obj["metadata"].setdefault("name", name) != name:
            got = obj["metadata"]["name"]
            raise bad_request(f"the name of the object ({got}) does not match the name on the URL ({name})")
        with self.store.lock:
            old = self.get(resource, namespace, name)
            if not obj["metadata"].get("resourceVersion") and not resource.unconditional and not part:
                cause = bad_value("metadata.resourceVersion", "0x0", "must be specified for an update")
                raise invalid(resource, name, [cause])
            return self._commit(resource, old, obj, part, options)

    def patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        media_type: str,
        patch: Any,
        part: str = "",
        options: Options = PLAIN,
    ) -> tuple[Object, bool]:
        """Patch an object; an apply patch may create it. Returns it and whether it is new.

        Raises:
            ApiError: 400, 404, 409, 415, 422.
        """
        with self.store.lock:
            old = self.store.get(resource.stored_as, namespace, name)
            if media_type == patches.APPLY:
                return self._apply(resource, namespace, name, old, patch, part, options)
            if old is None:
                raise not_found(resource, name)
            new = patches.patched(resource, forms.outgoing(resource, old), media_type, patch)
            new = forms.incoming(resource, new)
            new["metadata"].setdefault("name", name)
            return self._commit(resource, old, new, part, options), False

    def mutate(
        self, resource: Resource, namespace: str, name: str, change: Callable[[Object], Object], part: str = ""
    ) -> Object:
        """Replace an object by what `change` makes of it. `change` must return a new object, not alter the old."""
        with self.store.lock:
            old = self.get(resource, namespace, name)
            return self._commit(resource, old, change(old), part, PLAIN)

    def _apply(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        old: Object | None,
        wanted: Any,
        part: str,
        options: Options,
    ) -> tuple[Object, bool]:
        if not isinstance(wanted, dict) or not options.manager:
            raise bad_request("an apply patch is an object, and needs the parameter fieldManager")
        wanted = forms.incoming(resource, self._addressed(resource, namespace, wanted))
        wanted["metadata"].setdefault("name", name)
        if old is None and part:
            raise not_found(resource, name)
        new = apply.applied(resource, old, wanted, options.manager, self.now(), force=options.force)
        if old is None:
            return self.create(resource, namespace, new, options), True
        new["metadata"].setdefault("name", name)
        return self._commit(resource, old, new, part, options, applying=True), False

    def _addressed(self, resource: Resource, namespace: str, obj: Any) -> Object:
        """The object with what the path says about it: kind, version and namespace."""
        if not isinstance(obj, dict) or not isinstance(obj.setdefault("metadata", {}), dict):
            raise bad_request(f"the body is no {resource.kind}")
        got = obj.setdefault("apiVersion", resource.api_version), obj.setdefault("kind", resource.kind)
        if got != (resource.api_version, resource.kind):
            message = f"{got[1]} in version {got[0]!r} cannot be handled as a {resource.kind} in {resource.api_version}"
            raise bad_request(message)
        if not resource.namespaced:
            obj["metadata"].pop("namespace", None)
        elif (obj["metadata"].get("namespace") or namespace) != namespace:
            raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
        else:
            obj["metadata"]["namespace"] = namespace
        return obj

    def _admit(self, resource: Resource, namespace: str, obj: Object) -> None:
        """What the real server's admission does: the namespace must live, a priority class must exist."""
        if resource.namespaced:
            home = self.store.get("namespaces", "", namespace)
            if home is None:
                raise not_found(self.registry.named("namespaces"), namespace)
            if home["metadata"].get("deletionTimestamp"):
                why = f"unable to create new content in namespace {namespace} because it is being terminated"
                cause = {
                    "reason": "NamespaceTerminating",
                    "message": f"namespace {namespace} is being terminated",
                    "field": "metadata.namespace",
                }
                raise forbidden(resource, obj["metadata"].get("name", ""), why, [cause])
        if resource.stored_as == "pods" and isinstance(obj.get("spec"), dict):
            self._prioritise(resource, obj)

    def _prioritise(self, resource: Resource, pod: Object) -> None:
        spec, name = pod["spec"], pod["spec"].get("priorityClassName")
        kind = "priorityclasses.scheduling.k8s.io"
        if name:
            found = self.store.get(kind, "", name)
            if found is None:
                why = f"no PriorityClass with name {name} was found"
                raise forbidden(resource, pod["metadata"].get("name", ""), why)
        else:
            found = next((c for c in self.store.items(kind) if c.get("globalDefault")), None)
            if found is None:
                return
            spec["priorityClassName"] = found["metadata"]["name"]
        spec["priority"] = found["value"]
        spec["preemptionPolicy"] = found.get("preemptionPolicy", "PreemptLowerPriority")

    def _checked(self, resource: Resource, obj: Object, old: Object | None = None) -> None:
        """Fill in the defaults and refuse what does not hold up."""
        kind, name = resource.stored_as, obj["metadata"].get("name", "")
        try:
            causes = validation.metadata(obj)
            if not causes or resource.custom:
                if resource.custom:
                    causes += schema.shaped(resource.definition, obj)
                elif kind in validation.CREATE:
                    causes += self._defaulted(kind, obj)
                elif kind in self._defaults:
                    self._defaults[kind](obj)
            if old is not None:
                causes += validation.change(kind, obj, old)
        except (AttributeError, KeyError, TypeError, ValueError) as problem:
            # A list where a map belongs, and the like: the real server cannot decode such a body at all.
            message = (
                f"{resource.kind} in version {resource.version!r} cannot be handled as a {resource.kind}: {problem}"
            )
            raise bad_request(message) from problem
        if causes:
            raise invalid(resource, name, causes)

    def _defaulted(self, kind: str, obj: Object) -> list[Cause]:
        """Defaults, then rules. A specification too incomplete for the defaults is left to the rules to judge."""
        fill = self._defaults.get(kind)
        if fill is not None:
            try:
                fill(obj)
            except KeyError:
                obj.setdefault("spec", {})
        return validation.CREATE[kind](obj)

    def _start(self, resource: Resource, obj: Object) -> None:
        """The status of a new object. Nodes bring theirs with them; all others begin without."""
        kind = resource.stored_as
        if kind == "pods":
            obj["status"] = defaults.new_pod_status(obj)
        elif kind == "customresourcedefinitions.apiextensions.k8s.io":
            obj["status"] = self._established(obj)
        elif "status" in resource.subresources and kind not in ("nodes", "namespaces", "services"):
            obj.pop("status", None)
            if not resource.custom:
                obj["status"] = {}

    def _established(self, crd: Object) -> Object:
        conditions = [
            {"type": kind, "status": "True", "lastTransitionTime": self.now(), "reason": reason, "message": message}
            for kind, reason, message in (
                ("NamesAccepted", "NoConflicts", "no conflicts found"),
                ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
            )
        ]
        stored = [v["name"] for v in crd["spec"]["versions"] if v.get("storage")]
        return {"acceptedNames": crd["spec"]["names"], "conditions": conditions, "storedVersions": stored}

    def _commit(
        self, resource: Resource, old: Object, new: Object, part: str, options: Options, *, applying: bool = False
    ) -> Object:
        """The common end of every write to an object that exists. `new` is handed over, its parts may be shared."""
        name, had = old["metadata"]["name"], old["metadata"]
        metadata = dict(new["metadata"])
        if metadata.get("uid") not in (None, "", had["uid"]):
            why = f"Precondition failed: UID in precondition: {metadata['uid']}, UID in object meta: {had['uid']}"
            raise conflict(resource, name, why)
        if metadata.get("resourceVersion") not in (None, "", had["resourceVersion"]):
            raise conflict(resource, name, STALE)
        for own in _SERVERS_OWN:
            metadata.pop(own, None)
            if own in had:
                metadata[own] = had[own]
        metadata["resourceVersion"] = had["resourceVersion"]
        if not applying:
            metadata.pop("managedFields", None)
            if "managedFields" in had:
                metadata["managedFields"] = had["managedFields"]
        new = self._within(resource, old, {**new, "metadata": metadata}, part)
        metadata = new["metadata"]
        if had.get("deletionTimestamp"):
            added = set(metadata.get("finalizers") or ()) - set(had.get("finalizers") or ())
            if added:
                why = "no new finalizers can be added if the object is being deleted, "
                why += f"found new finalizers {sorted(added)}"
                raise invalid(resource, name, [forbidden_change("metadata.finalizers", why)])
        if part != "status":
            self._checked(resource, new, old)
            if "generation" in had and _specification(new) != _specification(old):
                metadata["generation"] = had["generation"] + 1
        if _same(new, old):
            return old
        if not applying and not part:
            apply.noted(resource, old, new, options.manager, self.now())
        if options.dry_run:
            return new
        if self._finished(resource, new):
            return self.store.remove(resource.stored_as, new)
        return self.store.replace(resource.stored_as, new, old)

    def _within(self, resource: Resource, old: Object, new: Object, part: str) -> Object:
        """The new object confined to what the endpoint may change."""
        if part == "status":
            result = {**old, "status": new.get("status") or {}}
            # Pods and nodes let a kubelet write labels and annotations together with the status.
            if resource.stored_as in ("pods", "nodes"):
                kept = {k: v for k, v in new["metadata"].items() if k != "ownerReferences"}
                owners = old["metadata"].get("ownerReferences")
                result["metadata"] = kept | ({"ownerReferences": owners} if owners else {})
            else:
                result["metadata"] = dict(old["metadata"])
                if "managedFields" in new["metadata"]:
                    result["metadata"]["managedFields"] = new["metadata"]["managedFields"]
            return result
        if "status" in resource.subresources:
            new.pop("status", None)
            if "status" in old:
                new["status"] = old["status"]
        if resource.stored_as == "services":
            old_ip = old["spec"].get("clusterIP")
            if old_ip and not new.get("spec", {}).get("clusterIP"):
                new["spec"] = {**new.get("spec", {}), "clusterIP": old_ip, "clusterIPs": old["spec"]["clusterIPs"]}
        if resource.stored_as == "namespaces" and part != "finalize":
            new["spec"] = old["spec"]
        return new

    def _finished(self, resource: Resource, obj: Object) -> bool:
        """Whether an object that is being deleted has nothing left to wait for."""
        metadata = obj["metadata"]
        if not metadata.get("deletionTimestamp") or metadata.get("finalizers"):
            return False
        if resource.stored_as == "namespaces":
            return not obj["spec"].get("finalizers")
        return not metadata.get("deletionGracePeriodSeconds")


def _specification(obj: Object) -> Object:
    """What a generation counts: everything but the metadata and the status."""
    return {field: value for field, value in obj.items() if field not in ("metadata", "status")}


def _same(new: Object, old: Object) -> bool:
    """Whether nothing changed. The time in managedFields alone is no change."""

    def content(obj: Object) -> Object:
        metadata = dict(obj["metadata"])
        if entries := metadata.get("managedFields"):
            metadata["managedFields"] = [{k: v for k, v in entry.items() if k != "time"} for entry in entries]
        # An empty map of labels and none at all are the same thing.
        return {**obj, "metadata": {k: v for k, v in metadata.items() if v not in ({}, [], None)}}

    return content(new) == content(old)
