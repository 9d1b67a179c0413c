"""The policy that moves nothing: the default arm of a comparison."""

from collections.abc import Iterable
from typing import ClassVar

from pydantic import BaseModel

from backend.migration.policy import does_nothing
from backend.model.actions import Action
from backend.model.events import Event
from backend.model.fields import Parameters
from backend.model.state import ClusterState


class NoMigrationParameters(Parameters):
    """Nothing to set."""


class NoMigration:
    """Jobs stay where they were placed."""

    Parameters: ClassVar[type[BaseModel]] = NoMigrationParameters

    def __init__(self, parameters: BaseModel) -> None:
        """Takes parameters as every policy does; there are none."""

    @does_nothing
    def handle(self, event: Event, state: ClusterState) -> Iterable[Event | Action]:
        """Nothing follows from anything."""
        return ()
