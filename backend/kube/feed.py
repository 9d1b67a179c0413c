"""A thread that asks the sources of progress, time and again, and hands on what they found."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from backend.kube.progress import RunningPod, Sample


class Source(Protocol):
    """Somewhere to learn of progress."""

    def poll(self, running: Mapping[str, RunningPod], now: float) -> list[Sample]:
        """What pods did since the last call; `now` is in seconds of any clock."""
        ...


class Feed:
    """Asks every `interval_s`, counted from the end of the last round: slow sources are not asked twice at once.

    A pod that two sources know of is reported by the first.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        running: Callable[[], Mapping[str, RunningPod]],
        report: Callable[[Sequence[Sample]], None],
        interval_s: float,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sources = sources
        self._running = running
        self._report = report
        self._interval_s = interval_s
        self._clock = clock
        self.error = ""
        """What the last source that failed met."""
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="progress", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End, after the round that is under way."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()

    def round(self) -> None:
        """Ask all sources once."""
        running = self._running()
        found: dict[str, Sample] = {}
        for source in self._sources:
            try:
                samples = source.poll(running, self._clock())
            except Exception as error:  # noqa: BLE001 - whatever one source meets, the others go on
                self.error = f"{type(source).__name__}: {error!r}"
                continue
            for sample in samples:
                found.setdefault(sample.pod, sample)
        if found:
            self._report(list(found.values()))

    def _run(self) -> None:
        while not self._stopping.wait(self._interval_s):
            self.round()
