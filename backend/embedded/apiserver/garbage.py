"""What goes when something else has gone: dependents of an owner, the contents of a namespace."""

from collections import deque
from collections.abc import Callable

from backend.embedded.apiserver.deletion import FOREGROUND, ORPHAN, DeleteOptions, Deletion
from backend.embedded.apiserver.errors import ApiError, Object
from backend.embedded.apiserver.resources import Resource
from backend.embedded.apiserver.rest import Rest
from backend.embedded.apiserver.store import Change

# Where an object is: collection, namespace, name.
Place = tuple[str, str, str]

BACKGROUND = DeleteOptions(propagation="Background")


def place_of(collection: str, obj: Object) -> Place:
    """Where an object is."""
    metadata = obj["metadata"]
    return collection, metadata.get("namespace", ""), metadata["name"]


def _owners(obj: Object) -> tuple[str, ...]:
    return tuple(owner["uid"] for owner in obj["metadata"].get("ownerReferences") or ())


class Garbage:
    """Follows who owns whom, and deletes what nobody owns any more."""

    def __init__(self, rest: Rest, deletion: Deletion) -> None:
        self._rest = rest
        self._store = rest.store
        self._deletion = deletion
        self._alive: set[str] = set()
        self._dependents: dict[str, set[Place]] = {}
        self._doubtful: deque[Place] = deque()
        self._leaving: dict[Place, None] = {}

    def observe(self, change: Change) -> None:
        """Take note of a change."""
        obj, place = change.obj, place_of(change.collection, change.obj)
        uid = obj["metadata"]["uid"]
        before = _owners(change.old) if change.old is not None else ()
        after = _owners(obj) if change.type != "DELETED" else ()
        if before != after:
            for owner in set(before) - set(after):
                self._disown(owner, place)
            for owner in set(after) - set(before):
                self._dependents.setdefault(owner, set()).add(place)
                if owner not in self._alive:
                    self._doubtful.append(place)
        if change.type == "ADDED":
            self._alive.add(uid)
        elif change.type == "DELETED":
            self._alive.discard(uid)
            self._doubtful.extend(self._dependents.get(uid, ()))
            self._leaving.pop(place, None)
        if change.type != "DELETED" and obj["metadata"].get("deletionTimestamp"):
            notes = obj["metadata"].get("finalizers") or ()
            if FOREGROUND in notes or ORPHAN in notes:
                self._leaving[place] = None

    def _disown(self, owner: str, place: Place) -> None:
        places = self._dependents.get(owner)
        if places:
            places.discard(place)
            if not places:
                del self._dependents[owner]

    def dependents(self, uid: str, collection: str = "") -> list[Object]:
        """The objects that name an owner (those of one collection)."""
        found = []
        for place in sorted(self._dependents.get(uid, ())):
            if not collection or place[0] == collection:
                obj = self._store.get(*place)
                if obj is not None:
                    found.append(obj)
        return found

    def work(self) -> None:
        """Delete and disown what has become due."""
        while self._doubtful:
            self._judge(self._doubtful.popleft())
        for place in list(self._leaving):
            obj = self._store.get(*place)
            if obj is None:
                self._leaving.pop(place, None)
            else:
                self._see_off(place, obj)

    def _judge(self, place: Place) -> None:
        """An object one of whose owners is gone: it goes too when all are, else it drops the reference."""
        obj, resource = self._store.get(*place), self._resource(place[0])
        if obj is None or resource is None:
            return
        gone = {uid for uid in _owners(obj) if uid not in self._alive}
        if not gone:
            return
        if len(gone) == len(_owners(obj)):
            self._quietly(lambda: self._deletion.delete(resource, place[1], place[2], BACKGROUND))
        else:
            self._drop_references(resource, place, gone)

    def _drop_references(self, resource: Resource, place: Place, uids: set[str]) -> None:
        def without(obj: Object) -> Object:
            kept = [owner for owner in obj["metadata"].get("ownerReferences") or () if owner["uid"] not in uids]
            return {**obj, "metadata": {**obj["metadata"], "ownerReferences": kept}}

        self._quietly(lambda: self._rest.mutate(resource, place[1], place[2], without))

    def _see_off(self, place: Place, obj: Object) -> None:
        """An object that waits for its dependents: to be orphaned, or to be gone before it."""
        resource, uid = self._resource(place[0]), obj["metadata"]["uid"]
        if resource is None:
            return
        note = ORPHAN if ORPHAN in obj["metadata"]["finalizers"] else FOREGROUND
        waiting = False
        for dependent in sorted(self._dependents.get(uid, ())):
            kind, child = self._resource(dependent[0]), self._store.get(*dependent)
            if kind is None or child is None:
                continue
            if note == ORPHAN:
                self._drop_references(kind, dependent, {uid})
                continue
            if not child["metadata"].get("deletionTimestamp"):
                kind_now, where = kind, dependent
                self._quietly(lambda k=kind_now, w=where: self._deletion.delete(k, w[1], w[2], BACKGROUND))  # type: ignore[misc]
            child = self._store.get(*dependent)
            blocking = child is not None and any(
                owner["uid"] == uid and owner.get("blockOwnerDeletion")
                for owner in child["metadata"]["ownerReferences"]
            )
            waiting = waiting or blocking
        if not waiting:
            self._leaving.pop(place, None)

            def released(current: Object) -> Object:
                left = [f for f in current["metadata"].get("finalizers") or () if f != note]
                return {**current, "metadata": {**current["metadata"], "finalizers": left}}

            self._quietly(lambda: self._rest.mutate(resource, place[1], place[2], released))

    def _resource(self, collection: str) -> Resource | None:
        return next((r for r in self._rest.registry if r.stored_as == collection and "delete" in r.verbs), None)

    def _quietly(self, step: Callable[[], object]) -> None:
        try:
            step()
        except ApiError as problem:
            # Gone or changed meanwhile: the change that did it is observed in its turn.
            if problem.code not in (404, 409):
                raise


class Namespaces:
    """Empties namespaces that are being deleted, and gives new ones their service account."""

    def __init__(self, rest: Rest, deletion: Deletion) -> None:
        self._rest = rest
        self._deletion = deletion
        self._leaving: set[str] = set()
        self._new: list[str] = []

    def observe(self, change: Change) -> None:
        """Take note of a change."""
        if change.collection != "namespaces":
            return
        name = change.obj["metadata"]["name"]
        if change.type == "DELETED":
            self._leaving.discard(name)
        elif change.obj["metadata"].get("deletionTimestamp"):
            self._leaving.add(name)
        elif change.type == "ADDED":
            self._new.append(name)

    def work(self) -> None:
        """Furnish the new ones, empty the old ones."""
        while self._new:
            name = self._new.pop()
            account = self._rest.registry.named("serviceaccounts")
            try:
                self._rest.create(account, name, {"metadata": {"name": "default"}})
            except ApiError as problem:
                # There already, or the namespace is leaving again.
                if problem.code not in (403, 404, 409):
                    raise
        for name in list(self._leaving):
            self._empty(name)

    def _empty(self, name: str) -> None:
        left = 0
        for resource in self._rest.registry.collections(namespaced=True):
            for obj in self._rest.store.items(resource.stored_as, name):
                if not obj["metadata"].get("deletionTimestamp"):
                    self._deletion.delete(resource, name, obj["metadata"]["name"], BACKGROUND)
            left += len(self._rest.store.items(resource.stored_as, name))
        if not left:
            self._leaving.discard(name)

            def released(current: Object) -> Object:
                left = [f for f in current.get("spec", {}).get("finalizers") or () if f != "kubernetes"]
                return {**current, "spec": {**current.get("spec", {}), "finalizers": left}}

            with self._rest.store.lock:
                if self._rest.store.get("namespaces", "", name) is not None:
                    self._rest.mutate(self._rest.registry.named("namespaces"), "", name, released, "finalize")
