"""What a scheduler is. A package of anybody adds one through the entry points `podshift.schedulers`."""

import random
from collections.abc import Callable
from typing import ClassVar, Protocol, TypeVar

from pydantic import BaseModel

from backend.model.events import DecisionMade, Event
from backend.model.state import ClusterState, PodRecord

Observe = TypeVar("Observe", bound=Callable[..., None])


def learns_nothing(observe: Observe) -> Observe:
    """Mark an `observe` that does nothing, so that nobody spends a call on it for each event."""
    observe.learns_nothing = True  # type: ignore[attr-defined]
    return observe


class Scheduler(Protocol):
    """Gives pending pods their nodes."""

    Parameters: ClassVar[type[BaseModel]]
    """What may be set; every field has a default, a description and bounds."""

    def __init__(self, parameters: BaseModel, ties: random.Random) -> None: ...

    def place(self, pod: PodRecord, state: ClusterState) -> DecisionMade:
        """The node for a pending pod, or none, and why."""
        ...

    def observe(self, event: Event, state: ClusterState) -> None:
        """See an event that the state holds already; for schedulers that learn from what happens.

        One marked with `learns_nothing` is not called.
        """
        ...
