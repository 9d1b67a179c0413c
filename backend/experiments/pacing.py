"""A cluster whose events come no faster than the clock on the wall: a person watches, nothing in the log changes."""

from collections.abc import Callable, Iterator

from backend.model.actions import Action
from backend.model.events import Event
from backend.model.seam import Cluster

SLICE_S = 0.1
"""Longest wait at a time, so that a stop is noticed soon."""


class PacedCluster:
    """Implements Cluster around another one: holds each event back until its time has come at `speed`."""

    def __init__(
        self,
        cluster: Cluster,
        speed: float,
        *,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
        waiting: Callable[[float], bool],
    ) -> None:
        """`speed` is simulated seconds a wall-clock second. `waiting` is called with the simulated time between
        waits; True ends the events."""
        self._cluster = cluster
        self._speed = speed
        self._clock = clock
        self._sleep = sleep
        self._waiting = waiting

    def now(self) -> float:
        """Seconds since the run began."""
        return self._cluster.now()

    def execute(self, action: Action) -> None:
        """Carry out an action."""
        self._cluster.execute(action)

    def events(self) -> Iterator[Event]:
        """The events of the cluster, each not before its time."""
        began = self._clock()
        for event in self._cluster.events():
            due = began + event.time / self._speed
            while (remaining := due - self._clock()) > 0:
                if self._waiting(event.time - remaining * self._speed):
                    return
                self._sleep(min(remaining, SLICE_S))
            yield event
