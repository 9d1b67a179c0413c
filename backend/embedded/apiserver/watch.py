"""Watches: a stream of changes from a version on.

A watcher keeps no queue. It holds the version that it has seen and reads on from the store's history, so a slow
client costs no memory: when it falls further behind than the history reaches, it gets a 410 and has to list again.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

import msgspec
from aiohttp import web

from backend.embedded.apiserver import forms, listing
from backend.embedded.apiserver.errors import Object, expired
from backend.embedded.apiserver.resources import Resource
from backend.embedded.apiserver.selectors import Predicate
from backend.embedded.apiserver.store import Change, CompactedError, Store
from backend.embedded.apiserver.tables import Shape

# Seconds after which a server ends a watch that named no timeout: half an hour, as the real one's shortest.
LONGEST_S = 1800.0
# Seconds between bookmarks. The real server's minute is for thousands of watchers.
BOOKMARK_S = 10.0
# Bytes that are written at once; beyond that the client's pace counts.
_BATCH = 1 << 18
INITIAL_END = "k8s.io/initial-events-end"


class Bell:
    """Wakes the watchers when something was written, and tells them when their connection is to be cut."""

    def __init__(self) -> None:
        self._sleepers: set[asyncio.Future[None]] = set()
        self.cut = 0

    def ring(self) -> None:
        """Wake everybody. On the loop's thread only."""
        sleepers, self._sleepers = self._sleepers, set()
        for sleeper in sleepers:
            if not sleeper.done():
                sleeper.set_result(None)

    async def wait(self, seconds: float) -> None:
        """Sleep until the next ring, or for as long."""
        sleeper = asyncio.get_running_loop().create_future()
        self._sleepers.add(sleeper)
        try:
            await asyncio.wait_for(sleeper, max(seconds, 0))
        except TimeoutError:
            pass
        finally:
            self._sleepers.discard(sleeper)


class Watch:
    """One watcher: what it wants to see, and the version it has seen."""

    def __init__(
        self,
        store: Store,
        resource: Resource,
        namespace: str | None,
        query: Mapping[str, str],
        shape: Shape,
        clock: Callable[[], datetime],
        name: str = "",
    ) -> None:
        self._store = store
        self._resource = resource
        self._namespace = namespace
        self._shape = shape
        self._clock = clock
        self._chosen: Predicate | None = listing.predicate(resource, query, name)
        # Where stored objects go out as they are, all watchers share one encoded line.
        self._plain = not (shape.name or resource.stored_version or resource.custom)
        version = listing.version_of(query)
        initial = query.get("sendInitialEvents")
        self._initial = initial == "true" or (initial is None and not version)
        self._marked_end = initial == "true"
        self._seen = version or 0
        if not self._initial:
            if not version:
                self._seen = store.version
            listing.check_version(store, resource.stored_as, self._seen)

    def begin(self) -> Iterator[bytes]:
        """What goes out before any change: all objects, when the watcher did not name a version."""
        if not self._initial:
            return
        with self._store.lock:
            objects = self._store.items(self._resource.stored_as, self._namespace)
            self._seen = self._store.version
        for obj in objects:
            if self._chosen is None or self._chosen(obj):
                yield self._line("ADDED", obj)
        if self._marked_end:
            yield self.bookmark({INITIAL_END: "true"})

    def changes(self) -> Iterator[bytes]:
        """What has happened since.

        Raises:
            CompactedError: the history no longer reaches back to what this watcher has seen.
        """
        with self._store.lock:
            found = self._store.since(self._resource.stored_as, self._seen)
            self._seen = self._store.version
        for change in found:
            line = self._seen_from_here(change)
            if line is not None:
                yield line

    def behind(self) -> bool:
        """Whether something was written since this watcher last looked."""
        return self._seen != self._store.version

    def _seen_from_here(self, change: Change) -> bytes | None:
        """A change through this watcher's selectors: entering them is an addition, leaving them a deletion."""
        if self._namespace is not None and change.obj["metadata"].get("namespace") != self._namespace:
            return None
        verb = change.type
        if self._chosen is not None:
            now = verb != "DELETED" and self._chosen(change.obj)
            before = change.old is not None and self._chosen(change.old)
            if not now and not before:
                return None
            verb = "DELETED" if not now else "MODIFIED" if before else "ADDED"
        if verb == change.type and self._plain:
            return change.line()
        obj = change.obj
        if verb == "DELETED" and change.type == "MODIFIED" and change.old is not None:
            # The last state that the watcher could see, with the version of the change that took it away.
            metadata = {**change.old["metadata"], "resourceVersion": str(change.version)}
            obj = {**change.old, "metadata": metadata}
        return self._line(verb, obj)

    def _line(self, verb: str, obj: Object) -> bytes:
        shown = forms.outgoing(self._resource, obj)
        if self._shape.name:
            # The columns are of the stored form, which for events is core/v1.
            shown = self._shape.of_one(self._resource, obj if self._shape.name == "Table" else shown, self._clock())
        return msgspec.json.encode({"type": verb, "object": shown}) + b"\n"

    def bookmark(self, annotations: Mapping[str, str] | None = None) -> bytes:
        """A line that only says how far this watcher is."""
        metadata: Object = {"resourceVersion": str(self._seen), "creationTimestamp": None}
        if annotations:
            metadata["annotations"] = dict(annotations)
        obj: Object = {"kind": self._resource.kind, "apiVersion": self._resource.api_version, "metadata": metadata}
        if self._shape.name == "Table":
            obj = self._shape.of_one(self._resource, {**obj, "spec": {}, "status": {}}, self._clock())
        elif self._shape.name:
            obj |= {"kind": self._shape.name, "apiVersion": "meta.k8s.io/v1"}
        return msgspec.json.encode({"type": "BOOKMARK", "object": obj}) + b"\n"


async def serve(request: web.BaseRequest, watch: Watch, bell: Bell, query: Mapping[str, str]) -> web.StreamResponse:
    """Stream a watch to its end: its timeout, the client's leaving, a cut, or a 410."""
    loop = asyncio.get_running_loop()
    timeout = float(listing.number_of(query, "timeoutSeconds") or LONGEST_S)
    end = loop.time() + timeout
    marks = query.get("allowWatchBookmarks") in ("true", "1")
    response = web.StreamResponse(headers={"Content-Type": "application/json", "Cache-Control": "no-cache, private"})
    response.enable_chunked_encoding()
    await response.prepare(request)
    cut = bell.cut
    next_mark = loop.time() + BOOKMARK_S
    await _send(response, watch.begin())
    try:
        while cut == bell.cut and (now := loop.time()) < end:
            await _send(response, watch.changes())
            if marks and now >= next_mark:
                next_mark = now + BOOKMARK_S
                await response.write(watch.bookmark())
            # Nothing was awaited between reading the history and falling asleep unless something was sent, so look
            # again in that case; the bell rings for what comes later.
            if not watch.behind():
                await bell.wait(min(end, next_mark if marks else end) - loop.time())
    except CompactedError:
        status = expired("too old resource version: the history has been compacted").status()
        await response.write(msgspec.json.encode({"type": "ERROR", "object": status}) + b"\n")
    if cut != bell.cut:
        # A cut is a broken connection, not an orderly end.
        if request.transport is not None:
            request.transport.abort()
        return response
    if marks:
        await response.write(watch.bookmark())
    await response.write_eof()
    return response


async def _send(response: web.StreamResponse, lines: Iterator[bytes]) -> None:
    batch: list[bytes] = []
    size = 0
    for line in lines:
        batch.append(line)
        size += len(line)
        if size > _BATCH:
            await response.write(b"".join(batch))
            batch, size = [], 0
    if batch:
        await response.write(b"".join(batch))
