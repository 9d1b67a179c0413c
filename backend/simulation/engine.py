"""The event list: a heap of what is to happen, in the order of time, then of class, then of entry."""

import math
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

CLUSTER = 0
"""What happens to nodes and pods comes first at equal times ..."""
TELEMETRY = 1
"""... then it is measured ..."""
TIMER = 2
"""... and then those who asked to be woken look at it."""

Entry = tuple[float, int, int, Callable[..., None], Any]


class EventList:
    """Future happenings. Ties by (time, class, order of entry), so that one seed gives one order."""

    __slots__ = ("_heap", "_seq", "now")

    def __init__(self) -> None:
        self.now = 0.0
        self._heap: list[Entry] = []
        self._seq = 0

    def __len__(self) -> int:
        return len(self._heap)

    def at(self, time: float, what: Callable[..., None], argument: Any = None, order: int = CLUSTER) -> None:
        """Have `what(argument)` called at a time that is not before now."""
        self._seq = seq = self._seq + 1
        now = self.now
        heappush(self._heap, (time if time > now else now, order, seq, what, argument))

    def next_time(self) -> float:
        """Time of the next entry; infinity if there is none."""
        return self._heap[0][0] if self._heap else math.inf

    def next(self, until: float) -> Entry | None:
        """Take the next entry out and move the clock to it; None if there is none up to that time."""
        heap = self._heap
        if not heap or heap[0][0] > until:
            return None
        entry = heappop(heap)
        self.now = entry[0]
        return entry
