"""Deletes: preconditions, the grace period of pods, finalizers and what is to become of dependents."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from backend.embedded.apiserver.clock import stamp
from backend.embedded.apiserver.errors import ApiError, Object, bad_request, conflict, forbidden
from backend.embedded.apiserver.resources import Resource
from backend.embedded.apiserver.rest import Rest
from backend.embedded.apiserver.selectors import Predicate

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
_FINISHED = ("Succeeded", "Failed")
_POLICIES = ("Background", "Foreground", "Orphan")
# The namespaces that the cluster cannot be without.
_KEPT = frozenset({"default", "kube-system", "kube-public"})
_GRACE_S = 30


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """How to delete. `grace_s` None is the object's own grace period."""

    grace_s: int | None = None
    uid: str = ""
    version: str = ""
    propagation: str = ""
    dry_run: bool = False

    @staticmethod
    def parsed(query: Mapping[str, str], body: Any) -> "DeleteOptions":
        """The options of a request; what the body says goes before the query."""
        given: Mapping[str, Any] = body if isinstance(body, dict) else {}
        conditions = given.get("preconditions") or {}
        grace = given.get("gracePeriodSeconds", query.get("gracePeriodSeconds"))
        propagation = given.get("propagationPolicy") or query.get("propagationPolicy", "")
        if given.get("orphanDependents") or query.get("orphanDependents") == "true":
            propagation = "Orphan"
        if propagation and propagation not in _POLICIES:
            raise bad_request(f"invalid propagationPolicy {propagation!r}: one of {', '.join(_POLICIES)}")
        try:
            grace_s = None if grace in (None, "") else int(str(grace))
        except ValueError:
            raise bad_request(f"invalid gracePeriodSeconds {grace!r}") from None
        return DeleteOptions(
            grace_s,
            conditions.get("uid") or "",
            conditions.get("resourceVersion") or "",
            propagation,
            bool(given.get("dryRun") or query.get("dryRun")),
        )


class Deletion:
    """Deletes objects, or marks them for whoever has to finish them first."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest
        self._store = rest.store

    def delete(
        self, resource: Resource, namespace: str, name: str, options: DeleteOptions | None = None
    ) -> tuple[Object, bool]:
        """Delete one object. Returns it and whether it is gone already.

        Raises:
            ApiError: 403 for a namespace that has to stay, 404, 409 for a precondition that does not hold.
        """
        options = options or DeleteOptions()
        with self._store.lock:
            obj = self._rest.get(resource, namespace, name)
            self._preconditions(resource, obj, options)
            if resource.stored_as == "namespaces":
                return self._namespace(resource, obj, options)
            marked = self._marked(resource, obj, options)
            if marked is obj:
                return obj, False
            metadata = marked["metadata"]
            if metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds"):
                if options.dry_run:
                    return marked, False
                return self._store.replace(resource.stored_as, marked, obj), False
            return (obj if options.dry_run else self._store.remove(resource.stored_as, obj)), True

    def delete_all(
        self, resource: Resource, namespace: str | None, chosen: Predicate | None, options: DeleteOptions
    ) -> list[Object]:
        """Delete what a predicate chooses. Returns the objects."""
        deleted = []
        for obj in self._store.items(resource.stored_as, namespace):
            if chosen is None or chosen(obj):
                metadata = obj["metadata"]
                try:
                    self.delete(resource, metadata.get("namespace", ""), metadata["name"], replace(options, uid=""))
                except ApiError as problem:
                    # Somebody else was quicker; a collection delete is about the ones that are there.
                    if problem.code != 404:
                        raise
                deleted.append(obj)
        return deleted

    def _preconditions(self, resource: Resource, obj: Object, options: DeleteOptions) -> None:
        metadata = obj["metadata"]
        for word, wanted, have in (
            ("UID", options.uid, metadata["uid"]),
            ("ResourceVersion", options.version, metadata["resourceVersion"]),
        ):
            if wanted and wanted != have:
                why = f"Precondition failed: {word} in precondition: {wanted}, {word} in object meta: {have}"
                raise conflict(resource, metadata["name"], why)

    def _grace_s(self, resource: Resource, obj: Object, options: DeleteOptions) -> int:
        """Seconds that a kubelet may take; only pods on a node have any."""
        if resource.stored_as != "pods":
            return 0
        spec = obj["spec"]
        if not spec.get("nodeName") or obj.get("status", {}).get("phase") in _FINISHED:
            return 0
        if options.grace_s is not None:
            return max(options.grace_s, 0)
        own: int = spec.get("terminationGracePeriodSeconds", _GRACE_S)
        return own

    def _marked(self, resource: Resource, obj: Object, options: DeleteOptions) -> Object:
        """The object with the marks of a deletion; the same object when it is marked well enough already."""
        metadata = dict(obj["metadata"])
        finalizers = list(metadata.get("finalizers") or ())
        self._propagate(resource, finalizers, options)
        grace_s = self._grace_s(resource, obj, options)
        if metadata.get("deletionTimestamp"):
            left: int = metadata.get("deletionGracePeriodSeconds", 0)
            # A second delete can only hurry the first one.
            if grace_s >= left and finalizers == (metadata.get("finalizers") or []) and (finalizers or left):
                return obj
            grace_s = min(grace_s, left)
        metadata["deletionTimestamp"] = stamp(self._rest.clock() + timedelta(seconds=grace_s))
        metadata["deletionGracePeriodSeconds"] = grace_s
        if finalizers:
            metadata["finalizers"] = finalizers
        else:
            metadata.pop("finalizers", None)
        if "generation" in metadata:
            metadata["generation"] += 1
        return {**obj, "metadata": metadata}

    def _propagate(self, resource: Resource, finalizers: list[str], options: DeleteOptions) -> None:
        """Leave a note for the garbage collector, as a finalizer, about what to do with the dependents."""
        policy = options.propagation
        if not policy and resource.stored_as == "jobs.batch" and ORPHAN not in finalizers:
            # The real server leaves the pods of a job behind unless told otherwise, for the sake of old clients.
            policy = "Orphan"
        wanted = {"Foreground": FOREGROUND, "Orphan": ORPHAN}.get(policy)
        if policy:
            for note in (FOREGROUND, ORPHAN):
                if note in finalizers and note != wanted:
                    finalizers.remove(note)
        if wanted and wanted not in finalizers:
            finalizers.append(wanted)

    def _namespace(self, resource: Resource, obj: Object, options: DeleteOptions) -> tuple[Object, bool]:
        """A namespace goes when the last object in it has gone; until then it is Terminating."""
        metadata = obj["metadata"]
        if metadata["name"] in _KEPT:
            raise forbidden(resource, metadata["name"], "this namespace may not be deleted")
        if metadata.get("deletionTimestamp"):
            return obj, False
        marked = {
            **obj,
            "metadata": {**metadata, "deletionTimestamp": self._rest.now()},
            "status": {**obj.get("status", {}), "phase": "Terminating"},
        }
        if options.dry_run:
            return marked, False
        return self._store.replace(resource.stored_as, marked, obj), False
