"""A cluster that says what the test tells it to, and policies as simple as can be."""

import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

from pydantic import BaseModel

from backend.control.controller import Controller
from backend.migration.life import LifeParameters, MigrationLife
from backend.migration.policies import NoMigration, NoMigrationParameters
from backend.model import events as ev
from backend.model.actions import Action, Bind, CreatePod, DeletePod
from backend.model.objects import Job, Node
from backend.model.state import ClusterState
from backend.scheduling.profiles import RoundRobinScheduler

GIB = 2**30


class Policy:
    """A migration policy that answers what the test says, and keeps what it was shown."""

    Parameters: ClassVar[type[BaseModel]] = NoMigrationParameters

    def __init__(self, answer: Callable[[ev.Event, ClusterState], Iterable[ev.Event | Action]] | None = None) -> None:
        self.answer = answer
        self.seen: list[ev.Event] = []

    def handle(self, event: ev.Event, state: ClusterState) -> Iterable[ev.Event | Action]:
        self.seen.append(event)
        return self.answer(event, state) if self.answer is not None else ()


class Watching(RoundRobinScheduler):
    """Round robin that keeps what it was shown."""

    def __init__(self) -> None:
        super().__init__(RoundRobinScheduler.Parameters(), random.Random(1))
        self.seen: list[ev.Event] = []

    def observe(self, event: ev.Event, state: ClusterState) -> None:
        assert state.time == event.time  # the state holds it already
        self.seen.append(event)


def controller(*nodes: Node, policy: Any = None, scheduler: Any = None, **options: Any) -> Controller:
    """A controller that knows the nodes."""
    made = Controller(
        scheduler or Watching(),
        policy or NoMigration(NoMigrationParameters()),
        MigrationLife(LifeParameters()),
        **options,
    )
    for one in nodes:
        assert list(made.handle(ev.NodeAdded(0.0, one))) == []
    return made


def node(name: str = "a", cores: int = 4, memory: int = 16, **fields: Any) -> Node:
    return Node(name, cores * 1000, memory * GIB, **fields)


def job(name: str = "j", cores: int = 1, memory: int = 0, **fields: Any) -> Job:
    return Job(name, "lenet", cpu_request_millis=cores * 1000, memory_bytes=memory * GIB, **fields)


class Play:
    """A cluster that carries out actions at once, over a controller; as SimulatedCluster does without costs."""

    def __init__(self, made: Controller) -> None:
        self.controller = made
        self.time = 1.0
        self.refuses: set[str] = set()
        """Nodes that refuse every pod."""

    def say(self, event: ev.Event) -> list[ev.Event | Action]:
        """Have the controller handle an event, and what follows from its actions; the answers to all of it."""
        answers: list[ev.Event | Action] = []
        for outcome in self.controller.handle(event):
            answers.append(outcome)
            for following in self._carry_out(outcome):
                answers += self.say(following)
        return answers

    def submit(self, *jobs: Job) -> list[ev.Event | Action]:
        return [answer for one in jobs for answer in self.say(ev.JobSubmitted(self.time, one))]

    def finish(self, pod: str, **fields: Any) -> list[ev.Event | Action]:
        return self.say(ev.PodFinished(self.time, pod, self.controller.state.pods[pod].node or "", **fields))

    def evict(self, pod: str, reason: str = "node lost") -> list[ev.Event | Action]:
        record = self.controller.state.pods[pod]
        return self.say(ev.PodEvicted(self.time, pod, record.node, reason))

    def _carry_out(self, outcome: ev.Event | Action) -> Iterator[ev.Event]:
        if isinstance(outcome, CreatePod):
            yield ev.PodCreated(self.time, outcome.pod)
            if outcome.pod.node is not None:
                yield from self._bind(outcome.pod.name, outcome.pod.node)
        elif isinstance(outcome, Bind):
            yield from self._bind(outcome.pod, outcome.node)
        elif isinstance(outcome, DeletePod):
            record = self.controller.state.pods.get(outcome.pod)
            if record is not None:
                yield ev.PodEvicted(self.time, outcome.pod, record.node, outcome.reason)

    def _bind(self, pod: str, node: str) -> Iterator[ev.Event]:
        if node in self.refuses:
            yield ev.PodEvicted(self.time, pod, None, f"node {node} is not there")
        else:
            yield ev.PodBound(self.time, pod, node)
            yield ev.PodStarted(self.time, pod, node)


def of(answers: Iterable[ev.Event | Action], kind: type[Any]) -> list[Any]:
    return [answer for answer in answers if isinstance(answer, kind)]
