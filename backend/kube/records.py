"""Kubernetes Events of what we decide and do, for `kubectl describe`. Best effort: they never keep anything waiting."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from queue import Full, Queue

from msgspec import Struct

from backend.kube.client import Api, ApiError, Json
from backend.kube.names import located
from backend.model import events as ev
from backend.model.seam import EventLog

COMPONENT = "podshift"
LONGEST_QUEUE = 1000
"""Events that wait to be written; more are dropped."""
LONGEST_MESSAGE = 1024
"""Characters of an Event's message; the API refuses more."""


class Record(Struct, frozen=True):
    """One Event about one pod."""

    pod: str
    reason: str
    message: str
    warning: bool = False


def records_of(event: ev.Event) -> Iterator[Record]:
    """What an event of our log is worth in Kubernetes Events."""
    if isinstance(event, ev.DecisionMade) and event.node is None:
        yield Record(event.pod, "FailedScheduling", event.reason, True)
    elif isinstance(event, ev.PodBound):
        yield Record(event.pod, "Scheduled", f"Successfully assigned {event.pod} to {event.node}")
    elif isinstance(event, ev.BindFailed):
        yield Record(event.pod, "FailedBinding", f"{event.node}: {event.reason}", True)
    elif isinstance(event, ev.MigrationStarted):
        yield Record(event.pod, "Migrating", f"From {event.source} to {event.target}: {event.reason}")
    elif isinstance(event, ev.MigrationFinished):
        yield Record(event.pod, "Migrated", f"Runs on {event.node} after {event.downtime_s:.1f} s")


class Recorder:
    """Writes Events in a thread of its own."""

    def __init__(
        self,
        api: Api,
        uid_of: Callable[[str], str] = lambda pod: "",
        *,
        instance: str = COMPONENT,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """`uid_of` gives the uid of a pod that is known; `wall` is the time of day."""
        self._api = api
        self._uid_of = uid_of
        self._instance = instance
        self._wall = wall
        self._queue: Queue[tuple[Record, str, float] | None] = Queue(LONGEST_QUEUE)
        self._written = 0
        self._stopping = False
        self.dropped = 0
        """Events that were not written: too many waited, or the server refused."""
        self._thread = threading.Thread(target=self._run, name="records", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End after the Event that is being written; what waits is dropped."""
        self._stopping = True
        with suppress(Full):  # full, it holds enough to wake the thread
            self._queue.put_nowait(None)
        if self._thread.ident is not None:
            self._thread.join()

    def record(self, record: Record) -> None:
        """Have an Event written, some time."""
        try:
            self._queue.put_nowait((record, self._uid_of(record.pod), self._wall()))
        except Full:
            self.dropped += 1

    def body(self, record: Record, uid: str, at: float) -> Json:
        """The Event."""
        namespace, own = located(record.pod)
        when = datetime.fromtimestamp(at, UTC)
        seconds = when.strftime("%Y-%m-%dT%H:%M:%SZ")
        self._written += 1
        pod = {"apiVersion": "v1", "kind": "Pod", "name": own, "namespace": namespace}
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{own[:200]}.{int(at * 1e6):x}{self._written:x}", "namespace": namespace},
            "involvedObject": pod | ({"uid": uid} if uid else {}),
            "reason": record.reason,
            "message": record.message[:LONGEST_MESSAGE],
            "type": "Warning" if record.warning else "Normal",
            "source": {"component": COMPONENT},
            "firstTimestamp": seconds,
            "lastTimestamp": seconds,
            "eventTime": when.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "count": 1,
            "action": record.reason,
            "reportingComponent": COMPONENT,
            "reportingInstance": self._instance[:128],
        }

    def _run(self) -> None:
        while (entry := self._queue.get()) is not None and not self._stopping:
            namespace, _ = located(entry[0].pod)
            try:
                self._api.post(f"/api/v1/namespaces/{namespace}/events", self.body(*entry))
            except ApiError:
                self.dropped += 1


class RecordedLog:
    """An event log that also writes Kubernetes Events of what it is given."""

    def __init__(self, inner: EventLog, recorder: Recorder) -> None:
        self._inner = inner
        self._recorder = recorder

    def append(self, event: ev.Event) -> None:
        """See EventLog."""
        self._inner.append(event)
        for record in records_of(event):
            self._recorder.record(record)
