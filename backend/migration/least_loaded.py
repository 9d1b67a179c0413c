"""A plain load balancer under the same safety rules as SpeCon: what does knowledge of progress buy?"""

from collections.abc import Iterable
from typing import ClassVar

from pydantic import BaseModel

from backend.migration.picture import NodeLoad, Picture
from backend.migration.planner import Planner, PlannerParameters, Round
from backend.migration.purposes import EvenOut
from backend.migration.rhythm import Rhythm
from backend.model import events as ev
from backend.model.actions import Action
from backend.model.state import ClusterState, PodRecord

Outcome = ev.Event | Action


class LeastLoadedParameters(PlannerParameters):
    """The planner's, nothing else: the balancer looks at numbers of jobs and at CPU only."""


class LeastLoaded:
    """Every `round`, from the node with most jobs to the node with fewest.

    Of the jobs on a node the one that started last goes first: it made the node the fullest, it has the least work to
    lose and, as far as one can tell without knowing its progress, the most still before it. Ties by name.
    """

    Parameters: ClassVar[type[BaseModel]] = LeastLoadedParameters

    def __init__(self, parameters: BaseModel) -> None:
        """`parameters` is a LeastLoadedParameters."""
        assert isinstance(parameters, LeastLoadedParameters)
        self.parameters = parameters
        self._planner = Planner(parameters)
        self._purpose = EvenOut()
        self._rhythm = Rhythm("least-loaded", parameters.round)
        self._usage: dict[str, float] = {}
        self._running: dict[str, str] = {}
        """Pod -> its job."""

    def handle(self, event: ev.Event, state: ClusterState) -> Iterable[Outcome]:
        """See MigrationPolicy."""
        match event:
            case ev.TimerFired():
                return self._timer_fired(event, state)
            case ev.UsageSampled():
                self._usage.update(zip(event.nodes, event.cpu_millis, strict=True))
            case ev.NodeRemoved():
                self._usage.pop(event.node, None)
            case ev.PodStarted() if event.pod in state.pods:
                self._running[event.pod] = state.pods[event.pod].pod.job
                if self._rhythm.resting:
                    return (self._rhythm.begin(event.time),)
            case ev.PodEvicted():
                self._running.pop(event.pod, None)
            case ev.PodFinished() if event.pod in self._running:
                self._planner.forget(self._running.pop(event.pod))
        return ()

    def _timer_fired(self, event: ev.TimerFired, state: ClusterState) -> Iterable[Outcome]:
        if not any(self._rhythm.due(event)):
            return ()
        if not self._running:
            self._rhythm.rest()
            return ()
        out: list[Outcome] = []
        this = self._planner.open(state, lambda: Picture(state, self._usage))
        while self._move_one(this, state, out):
            pass
        out.append(self._rhythm.go_on(event.time))
        return out

    def _move_one(self, this: Round, state: ClusterState, out: list[Outcome]) -> bool:
        """Bring up jobs of the fullest nodes until one moves; False if none does."""
        loads = this.picture.loads.values()
        fewest = min((load.running for load in loads if load.open), default=0)
        for source in sorted(loads, key=_fullest_first):
            if source.running - fewest - 1 <= self.parameters.margin:
                return False
            for pod in sorted(state.pods_on[source.name].values(), key=_youngest_first):
                if pod.phase != "running" or pod.pod.job in this.moved:
                    continue
                considered = this.consider(pod, self._purpose)
                if considered is not None:
                    out.append(considered)
                if this.verdict == "migrate":
                    return True
                if this.verdict == "round-budget":
                    # One such refusal says that the round was cut short; more would add nothing.
                    return False
        return False


def _fullest_first(load: NodeLoad) -> tuple[float, float, str]:
    return (-load.running, -load.cpu_share, load.name)


def _youngest_first(pod: PodRecord) -> tuple[float, str]:
    return (-(pod.started_at or 0.0), pod.pod.name)
