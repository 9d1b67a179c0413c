"""The objects, one global version, and a bounded history of changes for the watchers.

A stored object is never changed in place: whoever writes hands over a new one. So readers, the history and
encoded copies may share it without locks.
"""

import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from backend.embedded.apiserver.errors import Object, expired

Verb = Literal["ADDED", "MODIFIED", "DELETED"]
Key = tuple[str, str]

# How many changes of one collection a watcher may be behind. At 3,000 changes a second (600 pods a second
# through their whole life) that is more than two seconds; a client that slept longer lists again.
HISTORY = 8192
# How many of them stay encoded: nearly all watchers have read a change within milliseconds, and for the few that come
# later it is encoded again.
_FRESH = 256


class Change:
    """One write: the object after it (before it, for a removal) and the one it replaced."""

    __slots__ = ("_line", "collection", "obj", "old", "type", "version")

    def __init__(self, version: int, verb: Verb, collection: str, obj: Object, old: Object | None) -> None:
        self.version = version
        self.type = verb
        self.collection = collection
        self.obj = obj
        self.old = old
        self._line: bytes | None = None

    def line(self) -> bytes:
        """The change as a line of a watch. Encoded once for all watchers."""
        if self._line is None:
            self._line = msgspec.json.encode({"type": self.type, "object": self.obj}) + b"\n"
        return self._line

    def forget_line(self) -> None:
        """Give the encoded form's memory back."""
        self._line = None


class CompactedError(Exception):
    """The history no longer reaches back to the version asked for."""


class History:
    """The latest changes of one collection, oldest first."""

    def __init__(self, limit: int, floor: int) -> None:
        self._limit = limit
        self._changes: list[Change] = []
        # The version of the newest change that is no longer kept.
        self._floor = floor

    def append(self, change: Change) -> None:
        """Keep one more. Trimmed by an eighth at a time, so that a trim costs next to nothing per change."""
        self._changes.append(change)
        if len(self._changes) > _FRESH:
            self._changes[-_FRESH].forget_line()
        spare = self._limit // 8 + 1
        if len(self._changes) >= self._limit + spare:
            self._floor = self._changes[spare - 1].version
            del self._changes[:spare]

    def since(self, version: int) -> list[Change]:
        """The changes after a version.

        Raises:
            CompactedError: some of them are no longer kept.
        """
        if version < self._floor:
            raise CompactedError
        if not self._changes or self._changes[-1].version <= version:
            return []
        return self._changes[bisect_right(self._changes, version, key=lambda change: change.version) :]

    def clear(self, floor: int) -> None:
        """Forget everything up to a version."""
        self._changes.clear()
        self._floor = floor


class Store:
    """Objects by collection, namespace and name. Safe to use from several threads."""

    def __init__(self, history: int = HISTORY) -> None:
        self.lock = threading.RLock()
        # Versions of an earlier life of the server lie below this one's first, so that a client which comes
        # back with one is told to list again (410) and not that it is from the future.
        self.version = int(time.time() * 10_000)
        self._limit = history
        self._floor = self.version
        self._objects: dict[str, dict[str, dict[str, Object]]] = {}
        self._history: dict[str, History] = {}
        self._listeners: list[Callable[[Change], None]] = []

    def get(self, collection: str, namespace: str, name: str) -> Object | None:
        """One object, or None."""
        return self._objects.get(collection, {}).get(namespace, {}).get(name)

    def items(self, collection: str, namespace: str | None = None) -> list[Object]:
        """The objects of a collection (of one namespace), by namespace and name."""
        with self.lock:
            spaces = self._objects.get(collection, {})
            names = sorted(spaces) if namespace is None else [namespace]
            return [spaces[space][name] for space in names if space in spaces for name in sorted(spaces[space])]

    def items_at(self, collection: str, namespace: str | None, version: int) -> list[Object]:
        """The objects as they were at a version: the present with the changes since then undone.

        Raises:
            ApiError: 410 when the history does not reach back that far.
        """
        with self.lock:
            try:
                later = self.since(collection, version)
            except CompactedError:
                raise expired(
                    "The provided continue parameter is too old to display a consistent list result."
                ) from None
            if not later:
                return self.items(collection, namespace)
            then = {_key(obj): obj for obj in self.items(collection, namespace)}
            for change in reversed(later):
                key = _key(change.obj)
                if namespace is not None and key[0] != namespace:
                    continue
                if change.old is None:
                    then.pop(key, None)
                else:
                    then[key] = change.old
            return [then[key] for key in sorted(then)]

    def count(self, collection: str) -> int:
        """How many objects a collection has."""
        return sum(len(names) for names in self._objects.get(collection, {}).values())

    def insert(self, collection: str, obj: Object) -> Object:
        """Store a new object; its name must be free. Returns it with its version."""
        return self._write("ADDED", collection, obj, None)

    def replace(self, collection: str, obj: Object, old: Object) -> Object:
        """Store an object in the place of another. Returns it with its version."""
        return self._write("MODIFIED", collection, obj, old)

    def remove(self, collection: str, old: Object) -> Object:
        """Take an object out. Returns it with the version of its removal."""
        gone = {**old, "metadata": dict(old["metadata"])}
        return self._write("DELETED", collection, gone, old)

    def _write(self, verb: Verb, collection: str, obj: Object, old: Object | None) -> Object:
        with self.lock:
            self.version += 1
            obj["metadata"]["resourceVersion"] = str(self.version)
            space, name = _key(obj)
            names = self._objects.setdefault(collection, {}).setdefault(space, {})
            if verb == "DELETED":
                del names[name]
                if not names:
                    del self._objects[collection][space]
            else:
                names[name] = obj
            change = Change(self.version, verb, collection, obj, old)
            history = self._history.get(collection)
            if history is None:
                history = self._history[collection] = History(self._limit, self._floor)
            history.append(change)
            for listener in self._listeners:
                listener(change)
            return obj

    def since(self, collection: str, version: int) -> list[Change]:
        """The changes of a collection after a version.

        Raises:
            CompactedError: some of them are no longer kept.
        """
        with self.lock:
            if version < self._floor:
                raise CompactedError
            history = self._history.get(collection)
            return history.since(version) if history else []

    def compact(self) -> None:
        """Forget the history: every version handed out so far is too old from now on."""
        with self.lock:
            self.version += 1
            self._floor = self.version
            for history in self._history.values():
                history.clear(self.version)

    def listen(self, listener: Callable[[Change], None]) -> Callable[[], None]:
        """Call `listener` with every change, in order, on the writer's thread and under the lock.

        So a listener has to be quick and must not wait for another thread. Returns the function that ends it.
        """
        with self.lock:
            # A new list each time: a listener may be added or ended while a change is being told.
            self._listeners = [*self._listeners, listener]

        def stop() -> None:
            with self.lock:
                self._listeners = [kept for kept in self._listeners if kept is not listener]

        return stop


def _key(obj: Mapping[str, Any]) -> Key:
    metadata = obj["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


def copied(obj: Object) -> Object:
    """A deep copy of plain JSON data. Through the encoder, which is several times faster than `copy.deepcopy`."""
    fresh: Object = msgspec.json.decode(msgspec.json.encode(obj))
    return fresh
