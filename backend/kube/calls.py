"""Calls that change something, made by a few threads: in order for each key, tried again until they are answered.

The control loop hands a call over and goes on; what came of it reaches `done` in one of the threads. A call that meets
no answer, or a server that is not well, is made again after a while, and keeps back only later calls of its own key.
"""

import heapq
import random
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from backend.kube.client import ApiError
from backend.kube.watch import Backoff

THREADS = 4
"""One server thread binds about 450 pods a second and each call waits most of its time."""
FIRST_DELAY_S, LONGEST_DELAY_S = 0.1, 10.0


class CallsHealth(Struct, frozen=True):
    """How the calls go."""

    waiting: int
    """Calls not answered yet."""
    retrying: int
    """Keys whose call is to be made again."""
    made: int
    failed: int
    last_error: str = ""


class _Call:
    __slots__ = ("backoff", "done", "give_up_at", "make")

    def __init__(
        self, make: Callable[[], Any], done: Callable[[Any], None], give_up_at: float, backoff: Backoff
    ) -> None:
        self.make = make
        self.done = done
        self.give_up_at = give_up_at
        self.backoff = backoff


class Calls:
    """See the module. `submit` may be called from any thread."""

    def __init__(
        self,
        *,
        threads: int = THREADS,
        clock: Callable[[], float] = time.monotonic,
        dice: Callable[[], float] = random.random,
        first_delay_s: float = FIRST_DELAY_S,
        may_act: Callable[[], bool] = lambda: True,
    ) -> None:
        """While `may_act` says no (we do not lead), calls wait as if the server were away."""
        self._may_act = may_act
        self._clock = clock
        self._dice = dice
        self._first_delay_s = first_delay_s
        self._change = threading.Condition()
        self._calls: dict[str, deque[_Call]] = {}
        self._ready: deque[str] = deque()
        """Keys whose first call may be made now; a key is here, parked, or in a thread's hands."""
        self._parked: list[tuple[float, str]] = []
        self._made = self._failed = 0
        self._error = ""
        self._stopping = False
        self._threads = [threading.Thread(target=self._run, name=f"calls-{n}", daemon=True) for n in range(threads)]

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    def submit(
        self, key: str, make: Callable[[], Any], done: Callable[[Any], None], patience_s: float = float("inf")
    ) -> None:
        """Make a call behind all earlier ones of its key; `done` gets what it returns, or the ApiError that it came to.

        An error that may pass is taken as the answer once `patience_s` are over.
        """
        backoff = Backoff(self._first_delay_s, LONGEST_DELAY_S, self._dice)
        call = _Call(make, done, self._clock() + patience_s, backoff)
        with self._change:
            if key in self._calls:
                self._calls[key].append(call)
                return
            self._calls[key] = deque((call,))
            self._ready.append(key)
            self._change.notify()

    def stop(self) -> None:
        """Let the calls that are being made come to their end, leave the others, and wait for the threads."""
        with self._change:
            self._stopping = True
            self._change.notify_all()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()

    def health(self) -> CallsHealth:
        """See CallsHealth."""
        with self._change:
            waiting = sum(map(len, self._calls.values()))
            return CallsHealth(waiting, len(self._parked), self._made, self._failed, self._error)

    # -- the threads

    def _run(self) -> None:
        while (key := self._next()) is not None:
            call = self._calls[key][0]
            try:
                answer = call.make() if self._may_act() else ApiError(0, "NotLeading", "somebody else leads")
            except ApiError as error:
                answer = error
            except Exception as error:  # noqa: BLE001 - a thread that died would leave its key without an answer for ever
                answer = ApiError(400, type(error).__name__, f"the answer makes no sense: {error}")
            if isinstance(answer, ApiError) and answer.transient and self._clock() < call.give_up_at:
                self._park(key, call, answer)
                continue
            call.done(answer)
            self._finish(key, answer)

    def _next(self) -> str | None:
        with self._change:
            while not self._stopping:
                now = self._clock()
                while self._parked and self._parked[0][0] <= now:
                    self._ready.append(heapq.heappop(self._parked)[1])
                if self._ready:
                    if len(self._ready) > 1:
                        self._change.notify()
                    return self._ready.popleft()
                self._change.wait(self._parked[0][0] - now if self._parked else None)
        return None

    def _park(self, key: str, call: _Call, error: ApiError) -> None:
        delay = max(call.backoff.next(), error.retry_after_s or 0.0)
        with self._change:
            self._failed += 1
            self._error = str(error)
            heapq.heappush(self._parked, (self._clock() + delay, key))
            self._change.notify()

    def _finish(self, key: str, answer: Any) -> None:
        with self._change:
            if isinstance(answer, ApiError):
                self._failed += 1
                self._error = str(answer)
            else:
                self._made += 1
            self._calls[key].popleft()
            if self._calls[key]:
                self._ready.append(key)
                self._change.notify()
            else:
                del self._calls[key]
