"""The logs of pods, as the embedded kubelet keeps them and the API server shows them."""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator
from datetime import datetime
from itertools import islice

from backend.embedded.apiserver.clock import Clock
from backend.embedded.apiserver.providers import LogLine

LONGEST = 10_000
"""Lines that are kept of one pod; a kubelet rotates logs as well."""
_LOOK_S = 0.1
"""Wall-clock seconds between two looks of somebody who follows a log."""


class _Log:
    __slots__ = ("ended", "lines", "written")

    def __init__(self) -> None:
        self.lines: deque[LogLine] = deque(maxlen=LONGEST)
        self.written = 0
        """Lines written in all."""
        self.ended = False


class LogBook:
    """A log for each pod, by namespace and name. Safe to use from any thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._logs: dict[tuple[str, str], _Log] = {}

    def open(self, namespace: str, name: str) -> None:
        """A container starts; what a pod of this name wrote before goes on if it has not been dropped."""
        with self._lock:
            self._logs.setdefault((namespace, name), _Log()).ended = False

    def write(self, namespace: str, name: str, text: str) -> None:
        """A line; nothing if the pod has no log."""
        at: datetime = self._clock()
        with self._lock:
            log = self._logs.get((namespace, name))
            if log is not None:
                log.lines.append(LogLine(at, text))
                log.written += 1

    def close(self, namespace: str, name: str) -> None:
        """The container has ended: who follows the log gets its end."""
        with self._lock:
            log = self._logs.get((namespace, name))
            if log is not None:
                log.ended = True

    def drop(self, namespace: str, name: str) -> None:
        """The pod is gone, and its log with it."""
        with self._lock:
            log = self._logs.pop((namespace, name), None)
            if log is not None:
                log.ended = True

    def read(
        self, namespace: str, name: str, container: str, tail: int | None, follow: bool
    ) -> list[LogLine] | AsyncIterator[LogLine]:
        """See providers.LogProvider."""
        with self._lock:
            log = self._logs[namespace, name]
            lines = list(log.lines)
            written = log.written
        if tail is not None:
            lines = lines[max(0, len(lines) - tail) :] if tail > 0 else []
        return self._followed(log, lines, written) if follow else lines

    async def _followed(self, log: _Log, lines: list[LogLine], seen: int) -> AsyncIterator[LogLine]:
        while True:
            for line in lines:
                yield line
            with self._lock:
                ended = log.ended
                new = min(log.written - seen, len(log.lines))
                lines = list(islice(log.lines, len(log.lines) - new, None))
                seen = log.written
            if ended and not lines:
                return
            if not lines:
                await asyncio.sleep(_LOOK_S)
