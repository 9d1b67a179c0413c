"""Going on from a log after the process that wrote it ended, at whatever moment.

A controller is a function of the events it was given. So it is given them again: it comes to the same state, policies
and timers included, and says what it said before, which the log has to hold. What it says beyond the end of the log was
lost, and is said now; actions whose effect the log does not show are carried out again (each may be carried out twice,
and happens once: see backend/kube/steps.py).
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence

from backend.control.controller import Controller
from backend.model import events as ev
from backend.model.actions import Action, Bind, CreatePod, DeletePod, Wake

SAID = (
    ev.DecisionMade,
    ev.JobFinished,
    ev.JobFailed,
    ev.CategoryChanged,
    ev.MigrationConsidered,
    ev.MigrationStarted,
    ev.MigrationFinished,
    ev.MigrationRolledBack,
)
"""Events that come from the controller; the others come from the cluster."""
FRAME = (ev.RunStarted, ev.RunEnded, ev.RunStopped, ev.WorkMeasured)
"""Events that whoever runs it writes around the rest; no controller sees them."""


class DivergedError(Exception):
    """The log holds something else than the controller says: another version or other parameters wrote it."""


def resume(make: Callable[[], Controller], events: Iterable[ev.Event]) -> tuple[Controller, list[ev.Event | Action]]:
    """A controller that is where the log ends, and what is to be logged and carried out first.

    `make` gives a new controller with the policies and parameters of the one that wrote the log. Where it turns out to
    be another one, it begins with the state of the log and with its policies anew; migrations under way go on.
    """
    log = list(events)
    controller = make()
    try:
        return controller, replay(controller, log)
    except DivergedError:
        controller = make()
        return controller, rebuild(controller, log)


def replay(controller: Controller, log: Sequence[ev.Event]) -> list[ev.Event | Action]:
    """Bring a new controller to where a log ends; see `resume`. Raises DivergedError."""
    expected: deque[ev.Event] = deque()
    asked = _Asked()
    for place, event in enumerate(log):
        if isinstance(event, FRAME):
            continue
        if isinstance(event, SAID):
            if not expected or expected.popleft() != event:
                raise DivergedError(f"event {place} of the log ({ev.kind(event)}) does not follow from those before")
            continue
        if expected:
            raise DivergedError(f"before event {place} the log lacks a {ev.kind(expected[0])}")
        asked.saw(event)
        for outcome in controller.handle(event):
            if isinstance(outcome, ev.Event):
                expected.append(outcome)
            else:
                asked.note(outcome)
    return [*expected, *asked.left()]


def rebuild(controller: Controller, log: Sequence[ev.Event]) -> list[ev.Event | Action]:
    """Give a new controller the state that a log leaves, with fresh policies; what is to be done first."""
    for event in log:
        controller.recall(event)
    return list(controller.go_on())


class _Asked:
    """Actions whose effect was not seen, in the order in which they were asked for."""

    def __init__(self) -> None:
        self._pods: dict[tuple[type, str], Action] = {}
        self._wakes: list[Wake] = []
        self._fired: Counter[str] = Counter()

    def note(self, action: Action) -> None:
        """An action was asked for."""
        if isinstance(action, Wake):
            self._wakes.append(action)
        elif isinstance(action, CreatePod):
            self._pods[CreatePod, action.pod.name] = action
        elif isinstance(action, DeletePod):
            self._pods[DeletePod, action.pod] = action
        # A Bind is not asked for again: the cluster says BindFailed of a pod that was decided on and is not bound.
        elif not isinstance(action, Bind):
            raise TypeError(f"nothing is known of the effect of {action!r}")

    def saw(self, event: ev.Event) -> None:
        """Something happened, perhaps as the effect of an action."""
        if isinstance(event, ev.PodCreated):
            self._pods.pop((CreatePod, event.pod.name), None)
        elif isinstance(event, ev.PodEvicted | ev.PodFinished):
            self._pods.pop((CreatePod, event.pod), None)
            self._pods.pop((DeletePod, event.pod), None)
        elif isinstance(event, ev.TimerFired):
            self._fired[event.timer] += 1

    def left(self) -> list[Action]:
        """What is to be asked for again."""
        wakes = []
        for wake in sorted(self._wakes, key=lambda wake: wake.time):
            if self._fired[wake.timer] > 0:
                self._fired[wake.timer] -= 1
            else:
                wakes.append(wake)
        return [*self._pods.values(), *wakes]
