"""Informers: what a resource's objects are now, kept up by a list and a watch, with the differences handed on.

A watch that ends in time goes on from the version it had come to. Anything else (410, an error, a stream that breaks
off) leads to a new list after a while; what is handed on then is only what is really different.
"""

import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Generic, Literal, TypeVar

import msgspec
from msgspec import Struct

from backend.kube.client import Api, ApiError, Json, Stream

T = TypeVar("T")

PAGE = 500
"""Objects a page of a list, as kubectl's default."""
WATCH_S = 290
"""Seconds after which a watch is to end: below the five minutes after which servers and proxies cut."""
SILENCE_S = 60.0
"""Seconds beyond the watch's own end after which a silent connection counts as dead."""
FIRST_DELAY_S, LONGEST_DELAY_S = 0.25, 30.0


class Change(Struct, Generic[T], frozen=True):
    """One object came, became different, or went (its last value)."""

    kind: Literal["added", "changed", "deleted"]
    value: T


class Health(Struct, frozen=True):
    """How up to date an informer is."""

    resource: str
    synced: bool
    """Whether it has had a whole list."""
    objects: int
    age_s: float | None
    """Seconds since the server was last heard of; None: never."""
    last_error: str = ""
    error_age_s: float | None = None
    failing: bool = False
    """Whether the last thing that happened was an error."""
    lists: int = 0
    unreadable: int = 0
    """Objects that could not be understood and were left out."""


class Backoff:
    """Delays that double up to a limit, each cut at random by up to a half, so that clients do not march in step."""

    def __init__(self, first_s: float, longest_s: float, dice: Callable[[], float] = random.random) -> None:
        self._first_s = first_s
        self._longest_s = longest_s
        self._dice = dice
        self._failures = 0

    def next(self) -> float:
        """Seconds to wait after one more failure."""
        full = min(self._first_s * 2.0 ** min(self._failures, 30), self._longest_s)
        self._failures += 1
        return full * (1 - self._dice() / 2)

    def reset(self) -> None:
        """Things went well."""
        self._failures = 0


class Informer(Generic[T]):
    """One resource. `emit` is called in the informer's thread, with the changes of a list at once.

    The first call of `emit` follows the first list, even if that is empty.
    """

    def __init__(
        self,
        api: Api,
        path: str,
        read: Callable[[Json], T],
        emit: Callable[[Sequence[Change[T]]], None],
        *,
        query: dict[str, str] | None = None,
        page: int = PAGE,
        watch_s: int = WATCH_S,
        backoff: Backoff | None = None,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], bool] | None = None,
    ) -> None:
        """`read` makes a value of an object, and raises ValueError for one it does not understand.

        `pause` waits so many seconds and says whether it was told to stop meanwhile.
        """
        self._api = api
        self._path = path
        self._read = read
        self._emit = emit
        self._query = query or {}
        self._page = page
        self._watch_s = watch_s
        self._backoff = backoff or Backoff(FIRST_DELAY_S, LONGEST_DELAY_S)
        self._clock = clock
        self._stopping = threading.Event()
        self._pause = pause or self._stopping.wait
        self._known: dict[str, tuple[str, T]] = {}
        """Namespace/name -> uid and value."""
        self._version: str | None = None
        """Where to watch from; None: list first."""
        self._synced = False
        self._stream: Stream | None = None
        self._heard_at: float | None = None
        self._error, self._error_at = "", None  # type: tuple[str, float | None]
        self._failing = False
        self._lists = self._unreadable = 0
        self._thread = threading.Thread(target=self._run, name=f"watch {path}", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End, and wait for the thread; an open watch is cut."""
        self._stopping.set()
        if self._thread.ident is None or self._thread is threading.current_thread():
            return
        while self._thread.is_alive():
            stream = self._stream
            if stream is not None:
                stream.cut()
            self._thread.join(0.05)

    def health(self) -> Health:
        """See Health. May be called from any thread."""
        now = self._clock()
        heard, failed = self._heard_at, self._error_at
        return Health(
            self._path,
            self._synced,
            len(self._known),
            None if heard is None else now - heard,
            self._error,
            None if failed is None else now - failed,
            self._failing,
            self._lists,
            self._unreadable,
        )

    # -- the thread

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                if self._version is None:
                    self._list()
                elif not self._watch():
                    self._rest("the watch ended at once")
            except ApiError as error:
                self._version = None
                self._rest(str(error), error.retry_after_s)
            except (msgspec.DecodeError, KeyError, TypeError, AttributeError) as error:
                self._version = None
                self._rest(f"the watch gave what is no event: {error!r}")

    def _rest(self, error: str, at_least_s: float | None = None) -> None:
        if self._stopping.is_set():
            return
        self._error, self._error_at, self._failing = error, self._clock(), True
        self._pause(max(self._backoff.next(), at_least_s or 0.0))

    def _heard(self) -> None:
        self._heard_at = self._clock()
        self._failing = False

    def _list(self) -> None:
        found: dict[str, tuple[str, T]] = {}
        proceed = None
        while not self._stopping.is_set():
            answer = self._api.get(self._path, {**self._query, "limit": self._page, "continue": proceed})
            about = answer.get("metadata") or {}
            if "items" not in answer or "resourceVersion" not in about:
                raise ApiError(0, "NotAList", f"{self._path} gave JSON that is no list")  # not: an empty one
            self._heard()
            for item in answer["items"] or ():
                entry = self._entry(item)
                if entry is not None:
                    found[entry[0]] = entry[1:]
            proceed = about.get("continue")
            if not proceed:
                break
        else:
            return
        self._lists += 1
        changes = self._differences(found)
        self._known = found
        self._version = str(about["resourceVersion"])
        if changes or not self._synced:
            self._emit(changes)
        self._synced = True

    def _differences(self, found: dict[str, tuple[str, T]]) -> list[Change[T]]:
        gone: list[Change[T]] = []
        for key, (uid, value) in self._known.items():
            if key not in found or found[key][0] != uid:
                gone.append(Change("deleted", value))
        others: list[Change[T]] = []
        for key, (uid, value) in found.items():
            before = self._known.get(key)
            if before is None or before[0] != uid:
                others.append(Change("added", value))
            elif before[1] != value:
                others.append(Change("changed", value))
        return gone + others

    def _watch(self) -> bool:
        """Follow a watch to its end; whether it lasted or said anything."""
        began = self._clock()
        query = {
            **self._query,
            "watch": True,
            "resourceVersion": self._version,
            "timeoutSeconds": self._watch_s,
            "allowWatchBookmarks": True,
        }
        said = 0
        with self._api.stream(self._path, query, read_s=self._watch_s + SILENCE_S) as stream:
            self._stream = stream
            try:
                self._heard()
                for line in stream.lines():
                    if self._stopping.is_set():
                        return True
                    self._take(msgspec.json.decode(line))
                    said += 1
                    self._heard()
                    self._backoff.reset()
            finally:
                self._stream = None
        lasted = said > 0 or self._clock() - began >= 1.0
        if lasted:
            self._backoff.reset()
        return lasted or self._stopping.is_set()

    def _take(self, event: Json) -> None:
        kind, item = event.get("type"), event.get("object") or {}
        if kind == "ERROR":
            raise ApiError(int(item.get("code") or 0), str(item.get("reason") or "Error"), str(item.get("message")))
        version = (item.get("metadata") or {}).get("resourceVersion")
        if kind != "BOOKMARK":
            self._differ(str(kind), item)
        if version:
            self._version = str(version)

    def _differ(self, kind: str, item: Json) -> None:
        about = item.get("metadata") or {}
        key, uid = _key(about), str(about.get("uid") or "")
        before = self._known.get(key)
        changes: list[Change[T]] = []
        if before is not None and before[0] != uid:
            changes.append(Change("deleted", before[1]))
            del self._known[key]
            before = None
        entry = self._entry(item)
        if kind == "DELETED":
            if before is not None:
                changes.append(Change("deleted", entry[2] if entry else before[1]))
                del self._known[key]
        elif entry is not None:
            self._known[key] = entry[1:]
            if before is None:
                changes.append(Change("added", entry[2]))
            elif before[1] != entry[2]:
                changes.append(Change("changed", entry[2]))
        if changes:
            self._emit(changes)

    def _entry(self, item: Any) -> tuple[str, str, T] | None:
        try:
            about = item["metadata"]
            return _key(about), str(about.get("uid") or ""), self._read(item)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            self._unreadable += 1
            self._error, self._error_at = f"an object was left out: {error!r}", self._clock()
            return None


def _key(about: Json) -> str:
    return f"{about.get('namespace') or ''}/{about['name']}"
