"""Revisions of runs: a number that rises whenever what a viewer sees of a run has changed."""

import threading
import time
from collections import OrderedDict
from collections.abc import Hashable

KEPT = 10_000
"""Runs whose last revision is remembered; one that was forgotten gets a higher number, which costs one more answer."""


class Revisions:
    """Gives numbers to states. Safe to use from several threads.

    A number begins at the milliseconds of the clock, so that it also rises over a restart of the service.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[str, tuple[Hashable, int]] = OrderedDict()

    def of(self, run: str, state: Hashable) -> int:
        """The revision of a run in a state: the last one if the state is the last one seen, else a higher one."""
        with self._lock:
            known = self._known.pop(run, None)
            if known is None or known[0] != state:
                known = state, max(time.time_ns() // 1_000_000, known[1] + 1 if known else 0)
            self._known[run] = known
            if len(self._known) > KEPT:
                self._known.popitem(last=False)
            return known[1]
