"""The event list: a heap of what is to happen, in the order of time, then of class, then of entry."""

import heapq
from collections.abc import Callable
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
        self._seq += 1
        heapq.heappush(self._heap, (max(self.now, time), order, self._seq, what, argument))

    def peek(self) -> float:
        """Time of the next entry. Raises IndexError if there is none."""
        return self._heap[0][0]

    def pop(self) -> Entry:
        """Take the next entry out and move the clock to it. Raises IndexError if there is none."""
        entry = heapq.heappop(self._heap)
        self.now = entry[0]
        return entry
