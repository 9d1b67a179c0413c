"""Faults on demand: what real API servers do on bad days, when a test says so."""

import random
import threading
import time
from collections.abc import Callable
from typing import Literal

from backend.embedded.apiserver.errors import ApiError

Verdict = Literal["serve", "drop", "serve-then-drop"]
# What an overloaded or restarting server answers.
CODES = {500: "InternalError", 503: "ServiceUnavailable", 504: "Timeout"}


class Faults:
    """The faults that are switched on. Safe to use from any thread."""

    def __init__(self, expire: Callable[[], None], cut: Callable[[], None]) -> None:
        self._lock = threading.Lock()
        self._expire = expire
        self._cut = cut
        self._away_until = 0.0
        self.delay_s = 0.0
        self._rate = 0.0
        self._left: int | None = 0
        self._random = random.Random(0)
        self._lost = False

    def pause(self, seconds: float) -> None:
        """The server is away: every connection breaks, until the time is over."""
        with self._lock:
            self._away_until = time.monotonic() + seconds
        self._cut()

    def resume(self) -> None:
        """The server is back at once."""
        with self._lock:
            self._away_until = 0.0

    def slow(self, seconds: float) -> None:
        """Every answer takes that much longer, from now on; 0 ends it."""
        self.delay_s = seconds

    def cut_watches(self) -> None:
        """Break the connection of every watch that is open now."""
        self._cut()

    def expire(self) -> None:
        """Forget the history: watches get a 410, and so does who comes with a version from before."""
        self._expire()

    def fail(self, rate: float = 1.0, n: int | None = None, seed: int = 0, *, lost: bool = False) -> None:
        """Fail requests at random: each with a probability of `rate`, `n` of them in all (None: for ever).

        With `lost` the request is carried out and only its answer is lost, which is the harder case for a client.
        """
        with self._lock:
            self._rate, self._left, self._lost = rate, n, lost
            self._random = random.Random(seed)

    def clear(self) -> None:
        """Everything as it should be."""
        with self._lock:
            self._away_until = self.delay_s = self._rate = 0.0
            self._left = 0

    def verdict(self) -> Verdict:
        """What happens to the request that has just come in.

        Raises:
            ApiError: a 5xx that was asked for.
        """
        # Looked at without the lock first: this runs for every request, and nearly always there is no fault.
        if not self._away_until and self._left == 0:
            return "serve"
        with self._lock:
            if time.monotonic() < self._away_until:
                return "drop"
            if self._left == 0 or self._random.random() >= self._rate:
                return "serve"
            if self._left is not None:
                self._left -= 1
            if self._lost:
                return "serve-then-drop"
            code = self._random.choice(sorted(CODES))
        raise ApiError(code, CODES[code], "a fault that was asked for", {"retryAfterSeconds": 1})
