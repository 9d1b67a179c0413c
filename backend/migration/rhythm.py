"""When a policy wants to be called: one timer for several periods, at rest while there is nothing to watch."""

import math

from backend.model.actions import Wake
from backend.model.events import TimerFired
from backend.model.periods import next_multiple


class Rhythm:
    """Calls at the multiples of each period, counted from the beginning of the run.

    One timer serves all periods, so that what is due at the same time is done in the order of the periods and not in
    the order in which the timers were asked for. A timer that comes late, twice or after a rest does no harm.
    """

    def __init__(self, timer: str, *periods: float) -> None:
        """`periods` in seconds; the first is done first where several are due."""
        self.timer = timer
        self._periods = periods
        self._due = [0.0] * len(periods)
        self._wake_at = math.inf

    @property
    def resting(self) -> bool:
        """Whether no call is awaited."""
        return self._wake_at == math.inf

    def begin(self, now: float) -> Wake:
        """The first call after a rest."""
        self._due = [next_multiple(now, period) for period in self._periods]
        self._wake_at = min(self._due)
        return Wake(self._wake_at, self.timer)

    def due(self, event: TimerFired) -> tuple[bool, ...]:
        """Which periods are due with this event, in their order; all False for a timer that is not awaited."""
        if event.timer != self.timer or event.time < self._wake_at:
            return (False,) * len(self._periods)
        return tuple(event.time >= due for due in self._due)

    def go_on(self, now: float) -> Wake:
        """The next call."""
        self._due = [
            due if due > now else next_multiple(now, period)
            for due, period in zip(self._due, self._periods, strict=True)
        ]
        self._wake_at = min(self._due)
        return Wake(self._wake_at, self.timer)

    def rest(self) -> None:
        """No further call until the next `begin`."""
        self._wake_at = math.inf
