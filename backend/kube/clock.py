"""The time that a cluster lives by: the wall's, or, for an embedded cluster, its own."""

import contextlib
import threading
import time

from backend.kube.background import Background
from backend.kube.client import Api, ApiError

LOOK_S = 1.0
"""Wall-clock seconds between two looks at an embedded cluster's clock: somebody may change its speed."""
PATH = "/podshift/clock"
"""Where an embedded cluster says its time and speed; a real one has nothing there."""


class ClusterClock(Background):
    """Seconds that never go back. Safe to use from any thread."""

    def __init__(self, api: Api) -> None:
        super().__init__("cluster-clock")
        self._api = api
        self._lock = threading.Lock()
        self._speed = 1.0
        self._at = time.monotonic()
        self._time = self._last = 0.0
        self.embedded = False
        """Whether the cluster has a clock of its own."""
        with contextlib.suppress(ApiError):
            self._look()
            self.embedded = True

    def start(self) -> None:
        """Go on looking, if there is something to look at."""
        if self.embedded:
            super().start()

    def now(self) -> float:
        """The time."""
        with self._lock:
            self._last = max(self._last, self._time + (time.monotonic() - self._at) * self._speed)
            return self._last

    def speed(self) -> float:
        """Seconds of this clock in a second on the wall."""
        return self._speed

    def _look(self) -> None:
        asked = time.monotonic()
        said = self._api.get(PATH)
        answered = time.monotonic()
        with self._lock:
            self._time, self._speed = float(said["time"]), float(said["speed"])
            self._at = (asked + answered) / 2

    def _run(self) -> None:
        while not self._stopping.wait(LOOK_S):
            with contextlib.suppress(ApiError):
                self._look()
