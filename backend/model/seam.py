"""The seam: what stands between policies and whatever cluster they act on.

`backend.control.drive` moves events from a Cluster to a Controller and actions back; everything above
is the same for a simulated, a live and a recorded cluster.
"""

from collections.abc import Iterable, Iterator
from typing import Protocol

from backend.model.actions import Action
from backend.model.events import Event


class Cluster(Protocol):
    """A source of events that takes actions."""

    def now(self) -> float:
        """Seconds since the run began."""
        ...

    def events(self) -> Iterator[Event]:
        """Events in the order of their time; what an action causes appears later in the same iterator."""
        ...

    def execute(self, action: Action) -> None:
        """Carry out an action. Its effect, or its failure, comes back as an event."""
        ...


class Controller(Protocol):
    """Events in, outcomes out; knows no clock, socket, thread or random source it was not given."""

    def handle(self, event: Event) -> Iterable[Event | Action]:
        """Apply the event to its state and give what follows: decisions (events) and actions."""
        ...


class EventLog(Protocol):
    """Where the events of a run are kept, in order."""

    def append(self, event: Event) -> None:
        """Keep an event behind all others."""
        ...
