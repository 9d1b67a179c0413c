"""A small cluster and a scripted controller for the tests of the simulator."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from backend.control.loop import drive
from backend.model import events as ev
from backend.model.actions import Action, Bind, CreatePod, DeletePod, Wake
from backend.model.objects import Node, Pod
from backend.simulation.cluster import Costs, Fault, SimulatedCluster, Submission, Telemetry
from backend.simulation.curves import Exponential
from backend.simulation.training import TrainingModel

Script = Callable[[ev.Event], Iterable[Action]]
QUIET = Telemetry(progress=0, usage=0)


def model(**changes: Any) -> TrainingModel:
    fields: dict[str, Any] = {
        "name": "toy",
        "iterations": 10,
        "core_s_per_iteration": 4.0,
        "parallelism": "4",
        "memory": "1Gi",
        "image": "toy:1",
        "image_size": 0,
        "checkpoint_size": 0,
        "curve": Exponential(),
        "noise": 0.0,
    }
    return TrainingModel.model_validate(fields | changes)


def submission(time: float, name: str, kind: TrainingModel | None = None) -> Submission:
    kind = kind or model()
    return Submission(time, kind.job(name), kind, kind.iterations)


def node(name: str = "node-1", cores: int = 4, memory: int = 2**36, **fields: Any) -> Node:
    return Node(name, cores * 1000, memory, **fields)


class OnNode:
    """A controller that puts each new pod on a given node; `script` adds actions of the test."""

    def __init__(self, nodes: dict[str, str] | str, script: Script | None = None) -> None:
        self.nodes = nodes
        self.script = script

    def handle(self, event: ev.Event) -> Iterable[Action]:
        if isinstance(event, ev.JobSubmitted):
            yield CreatePod(Pod(event.job.name, event.job.name))
        if isinstance(event, ev.PodCreated) and event.pod.node is None:
            node = self.nodes if isinstance(self.nodes, str) else self.nodes.get(event.pod.job)
            if node:
                yield Bind(event.pod.name, node)
        if self.script:
            yield from self.script(event)


def run(
    submissions: Sequence[Submission],
    *,
    nodes: Sequence[Node] | None = None,
    on: dict[str, str] | str = "node-1",
    script: Script | None = None,
    costs: Costs | None = None,
    telemetry: Telemetry = QUIET,
    faults: Sequence[Fault] = (),
    catalogue: ev.CatalogueDeclared | None = None,
    until: float | None = None,
    seed: int = 1,
) -> list[ev.Event]:
    cluster = SimulatedCluster(
        nodes or [node()],
        submissions,
        seed=seed,
        telemetry=telemetry,
        costs=costs or Costs.zero(),
        faults=faults,
        catalogue=catalogue,
        until=until,
    )
    log: list[ev.Event] = []
    drive(cluster, OnNode(on, script), log)  # type: ignore[arg-type]
    return log


def of(log: Iterable[ev.Event], kind: type[Any]) -> list[Any]:
    return [event for event in log if isinstance(event, kind)]


def at(time: float, *actions: Action) -> Script:
    """A script that carries out actions at a time."""

    def script(event: ev.Event) -> Iterable[Action]:
        if isinstance(event, ev.NodeAdded) and event.time == 0:
            yield Wake(time, "test")
        if isinstance(event, ev.TimerFired) and event.timer == "test":
            yield from actions

    return script


def delete_at(time: float, pod: str, grace_s: float = 30.0) -> Script:
    return at(time, DeletePod(pod, "test", grace_s))
