"""What a migration policy is. A package of anybody adds one through the entry points `podshift.migrations`."""

from collections.abc import Callable, Iterable
from typing import ClassVar, Protocol, TypeVar

from pydantic import BaseModel

from backend.model.actions import Action
from backend.model.events import Event
from backend.model.state import ClusterState

Handle = TypeVar("Handle", bound=Callable[..., object])


def does_nothing(handle: Handle) -> Handle:
    """Mark a `handle` from which nothing ever follows, so that nobody spends a call on it for each event."""
    handle.does_nothing = True  # type: ignore[attr-defined]
    return handle


class MigrationPolicy(Protocol):
    """Decides which jobs move where; it moves none itself, backend/migration/life.py does."""

    Parameters: ClassVar[type[BaseModel]]
    """What may be set; every field has a default, a description and bounds."""

    def __init__(self, parameters: BaseModel) -> None: ...

    def handle(self, event: Event, state: ClusterState) -> Iterable[Event | Action]:
        """What follows from an event that the state holds already.

        CategoryChanged, MigrationConsidered (verdict "migrate" starts a migration) and Wake, which asks for TimerFired.
        One marked with `does_nothing` is not called.
        """
        ...
