"""A recorded log behind the Cluster protocol: what the cluster said then, said again."""

from collections.abc import Iterable, Iterator

from backend.model import events as ev
from backend.model.actions import Action

OF_THE_CONTROLLER = (
    ev.RunStarted,
    ev.RunEnded,
    ev.RunStopped,
    ev.JobFinished,
    ev.JobFailed,
    ev.DecisionMade,
    ev.CategoryChanged,
    ev.MigrationConsidered,
    ev.MigrationStarted,
    ev.MigrationFinished,
    ev.MigrationRolledBack,
)
"""Kinds that controllers and runners write; a cluster never says them."""


class ReplayedCluster:
    """Gives the cluster's part of a log in order. What was done is done: actions change nothing.

    A controller like the one of the recorded run therefore comes to the same outcomes, and another one shows what it
    would have decided at each moment of that run.
    """

    def __init__(self, log: Iterable[ev.Event]) -> None:
        self._log = log
        self._now = 0.0
        self.ignored: list[Action] = []
        """Actions that were asked for, in order."""

    def now(self) -> float:
        """Time of the last event given."""
        return self._now

    def events(self) -> Iterator[ev.Event]:
        """See Cluster."""
        for event in self._log:
            if not isinstance(event, OF_THE_CONTROLLER):
                self._now = event.time
                yield event

    def execute(self, action: Action) -> None:
        """Keep the action in `ignored`."""
        self.ignored.append(action)
