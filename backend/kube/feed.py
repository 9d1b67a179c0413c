"""A thread that asks the sources of progress, time and again, and hands on what they found."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from backend.kube.background import Background
from backend.kube.progress import RunningPod, Sample


class Source(Protocol):
    """Somewhere to learn of progress."""

    def poll(self, running: Mapping[str, RunningPod], now: float) -> list[Sample]:
        """What pods did since the last call; `now` is in seconds of any clock."""
        ...


class Feed(Background):
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
        super().__init__("progress")
        self._sources = sources
        self._running = running
        self._report = report
        self._interval_s = interval_s
        self._clock = clock
        self.error = ""
        """What the last source that failed met."""

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
