"""A scene: a ClusterState, a policy and a clock of timers, moved by hand."""

import heapq
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from backend.migration.life import LifeParameters, MigrationLife
from backend.model import events as ev
from backend.model.actions import Action, CreatePod, DeletePod, Wake
from backend.model.objects import Job, Node, Pod
from backend.model.state import ClusterState

GIB = 2**30
Curve = Callable[[float], float | None]


class Scene:
    """Applies events as a controller does, and plays the cluster's part with migrations that take no time."""

    def __init__(self, policy: Any = None, nodes: int = 3, *, cpu_millis: int = 16_000, memory_bytes: int = 64 * GIB):
        self.state = ClusterState()
        self.policy = policy
        self.life = MigrationLife(LifeParameters())
        self.events: list[ev.Event] = []
        """What the policy and the lives of migrations said."""
        self.actions: list[Action] = []
        self._wakes: list[tuple[float, str]] = []
        for number in range(1, nodes + 1):
            self.apply(ev.NodeAdded(0.0, Node(f"node-{number}", cpu_millis, memory_bytes)))

    def apply(self, *happened: ev.Event) -> None:
        for event in happened:
            self.state.apply(event)
            if self.policy is not None:
                for outcome in self.policy.handle(event, self.state):
                    self._take(outcome)

    def run(self, job: str, node: str, *, at: float | None = None, start: bool = True, **fields: Any) -> None:
        """Submit a job and have its first pod run on a node."""
        time = self.state.time if at is None else at
        self.apply(
            ev.JobSubmitted(time, Job(job, "lenet", **fields)),
            ev.PodCreated(time, Pod(job, job)),
            ev.PodBound(time, job, node),
        )
        if start:
            self.apply(ev.PodStarted(time, job, node))

    def end(self, job: str) -> None:
        """The job's pod completes its work."""
        pod = self.state.pods[self.state.jobs[job].pod or ""]
        self.apply(ev.PodFinished(self.state.time, pod.pod.name, pod.node or ""))
        self.state.apply(ev.JobFinished(self.state.time, job))

    def report(
        self,
        time: float,
        values: Mapping[str, float | None],
        *,
        epoch_s: float = 1.0,
        cpu_millis: float = 4000.0,
        iteration: float = 1.0,
    ) -> None:
        """One progress report of the running pods of these jobs."""
        rows = {self.state.jobs[job].pod: value for job, value in values.items()}
        pods = {pod: value for pod, value in rows.items() if pod and self.state.pods[pod].phase == "running"}
        count = len(pods)
        self.apply(
            ev.ProgressReported(
                time,
                tuple(pods),
                (iteration,) * count,
                tuple(pods.values()),
                (cpu_millis,) * count,
                (epoch_s,) * count,
            )
        )

    def play(self, until: float, curves: Mapping[str, Curve], *, every: float = 10.0, **report: Any) -> None:
        """Report `curve(time)` of each job every few seconds and fire the timers behind it, up to a time."""
        while True:
            time = (self.state.time // every + 1) * every
            while self._wakes and self._wakes[0][0] < min(time, until + 1e-9):
                self._fire()
            if time > until:
                return
            self.report(time, {job: curve(time) for job, curve in curves.items() if job in self.state.jobs}, **report)
            while self._wakes and self._wakes[0][0] <= time:
                self._fire()

    def verdicts(self) -> list[tuple[float, str, str]]:
        """(time, job, verdict) of everything considered."""
        return [(e.time, e.job, e.verdict) for e in self.events if isinstance(e, ev.MigrationConsidered)]

    def considered(self) -> list[ev.MigrationConsidered]:
        return [e for e in self.events if isinstance(e, ev.MigrationConsidered)]

    def categories(self, job: str) -> list[tuple[float, str]]:
        """(time, category) of each change."""
        return [(e.time, e.after) for e in self.events if isinstance(e, ev.CategoryChanged) and e.job == job]

    def counts(self) -> list[int]:
        return [self.state.running_on(name) for name in self.state.nodes.names]

    def _fire(self) -> None:
        time, timer = heapq.heappop(self._wakes)
        self.apply(ev.TimerFired(time, timer))

    def _take(self, outcome: ev.Event | Action) -> None:
        if isinstance(outcome, Wake):
            heapq.heappush(self._wakes, (outcome.time, outcome.timer))
            return
        if not isinstance(outcome, ev.Event):
            self.actions.append(outcome)
            return
        self.events.append(outcome)
        self.state.apply(outcome)
        if isinstance(outcome, ev.MigrationConsidered) and outcome.verdict == "migrate":
            for step in self.life.begin(outcome, self.state):
                self._carry_out(step)

    def _carry_out(self, step: ev.Event | Action) -> None:
        time = self.state.time
        happened: list[ev.Event] = []
        if isinstance(step, ev.Event):
            self.events.append(step)
            self.state.apply(step)
        elif isinstance(step, DeletePod):
            happened = [ev.PodEvicted(time, step.pod, self.state.pods[step.pod].node, step.reason)]
        elif isinstance(step, CreatePod) and step.pod.node is not None:
            name, node = step.pod.name, step.pod.node
            happened = [ev.PodCreated(time, step.pod), ev.PodBound(time, name, node), ev.PodStarted(time, name, node)]
        for event in happened:
            self.apply(event)
            for follows in list(self.life.handle(event, self.state)):
                self._carry_out(follows)


@pytest.fixture(scope="session")
def scene() -> type[Scene]:
    return Scene
