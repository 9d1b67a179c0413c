"""Podshift is killed at every step of a migration, and started again: nothing is lost and nothing is done twice."""

import random
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from backend.control.loop import drive
from backend.kube.calls import Calls
from backend.kube.client import Api, connect
from backend.kube.cluster import KubernetesCluster
from backend.kube.kept import ManifestFolder
from backend.kube.pods import Scope
from backend.kube.watch import Backoff
from backend.migration.life import LifeParameters, MigrationLife
from backend.model import events as ev
from backend.model.actions import Action, Bind, CreatePod, Wake
from backend.model.objects import Pod
from backend.model.state import ClusterState
from tests.unit.kube.fake_server import FakeServer, node, pod
from tests.unit.kube.kubelet import Kubelet, overlaps

Outcome = ev.Event | Action
SCOPE = Scope(run="r1")


class KilledError(Exception):
    """The process is no more."""


class Mind:
    """A controller that puts pods on node-1, migrates `a` to node-2 once it runs, and can go on from a log."""

    def __init__(self, log: Iterable[ev.Event]) -> None:
        self.state = ClusterState()
        self.life = MigrationLife(LifeParameters())
        self.last: dict[str, ev.PodFinished] = {}
        for event in log:
            record = self.state.pods.get(getattr(event, "pod", "")) if isinstance(event, ev.PodFinished) else None
            if record is not None:
                self.last[record.pod.job] = event  # type: ignore[assignment]
            self.state.apply(event)
            self.life.recall(event)

    def resume(self) -> Iterator[Outcome]:
        yield from self._applied(self.life.resume(self.state))
        for name, record in self.state.jobs.items():
            if record.ended_at is None and record.pod is None and name in self.last:
                yield from self._applied([ev.JobFinished(self.state.time, name)])
            elif record.ended_at is None and record.pod is None and not self.life.owns(name):
                yield self._next(name)
        for name, waiting in self.state.pods.items():
            if waiting.phase == "pending" and waiting.pod.node is None:
                yield Bind(name, "node-1")
        yield from self._migrate()

    def handle(self, event: ev.Event) -> Iterator[Outcome]:
        record = (
            self.state.pods.get(getattr(event, "pod", ""))
            if isinstance(event, ev.PodFinished | ev.PodEvicted)
            else None
        )
        self.state.apply(event)
        yield from self._applied(self.life.handle(event, self.state))
        if isinstance(event, ev.JobSubmitted):
            yield CreatePod(Pod(event.job.name, event.job.name))
        elif isinstance(event, ev.PodCreated) and event.pod.node is None:
            yield from self._applied([ev.DecisionMade(event.time, event.pod.name, "node-1", "test", "first")])
            yield Bind(event.pod.name, "node-1")
        elif isinstance(event, ev.BindFailed):
            yield Wake(event.time, f"bind {event.pod}")
        elif isinstance(event, ev.TimerFired) and event.timer.startswith("bind "):
            yield Bind(event.timer.removeprefix("bind "), "node-1")
        elif isinstance(event, ev.PodStarted):
            yield from self._migrate()
        elif record is not None and self.state.jobs[record.pod.job].ended_at is None:
            job = record.pod.job
            if isinstance(event, ev.PodFinished):
                end = (
                    ev.JobFinished(event.time, job) if event.succeeded else ev.JobFailed(event.time, job, event.reason)
                )
                yield from self._applied([end])
            elif not self.life.owns(job) and self.state.jobs[job].pod is None:
                yield self._next(job)

    def _migrate(self) -> Iterator[Outcome]:
        """Have `a` migrated, if it runs and is not in migration."""
        record = self.state.pods.get("a")
        if record is not None and record.phase == "running" and not self.life.owns("a"):
            wish = ev.MigrationConsidered(self.state.time, 1, "a", "a", "node-1", "node-2", "migrate", "manual", "test")
            yield from self._applied([wish])
            yield from self._applied(self.life.begin(wish, self.state))

    def _next(self, job: str) -> CreatePod:
        return CreatePod(Pod(self.life.names.restarted(job, self.state), job, self.state.jobs[job].incarnations))

    def _applied(self, outcomes: Iterable[Outcome]) -> Iterator[Outcome]:
        for outcome in outcomes:
            if isinstance(outcome, ev.Event):
                self.state.apply(outcome)
            yield outcome


class Life:
    """One process: a log and a cluster that stop working after so many steps."""

    def __init__(self, api: Api, folder: Path, log: list[ev.Event], steps: int | None) -> None:
        self.log = log
        self.left = steps
        calls = Calls(first_delay_s=0.002)
        informing = {"backoff": Backoff(0.002, 0.02)}
        began_at = log[-1].time if log else 0.0
        self.cluster = KubernetesCluster(
            api, SCOPE, kept=ManifestFolder(folder), calls=calls, informing=informing, began_at=began_at
        )
        self.mind = Mind(log)

    def run(self) -> bool:
        """Whether it came to the end of the job."""
        watchdog = threading.Timer(20, self.cluster.stop)
        watchdog.start()
        try:
            if self.log:
                self.cluster.resume(self.mind.state)
                for outcome in list(self.mind.resume()):
                    self.append(outcome) if isinstance(outcome, ev.Event) else self.execute(outcome)
                if self._ended():
                    return True
            return not drive(self, self.mind, self, should_stop=lambda event: self._ended())  # type: ignore[arg-type]
        except KilledError:
            return False
        finally:
            watchdog.cancel()

    def _ended(self) -> bool:
        jobs = self.mind.state.jobs
        return bool(jobs) and all(job.ended_at is not None for job in jobs.values())

    def _step(self) -> None:
        if self.left is not None:
            if self.left == 0:
                raise KilledError
            self.left -= 1

    def append(self, event: ev.Event) -> None:
        self._step()
        self.log.append(event)

    def events(self) -> Iterator[ev.Event]:
        return self.cluster.events()

    def now(self) -> float:
        return self.cluster.now()

    def execute(self, action: Action) -> None:
        self._step()
        self.cluster.execute(action)


@pytest.fixture
def world(server: FakeServer) -> Iterator[FakeServer]:
    server.put("nodes", node("node-1"))
    server.put("nodes", node("node-2"))
    with Kubelet(server, lambda item: item["metadata"]["name"] != "a"):
        yield server


def check(server: FakeServer, log: list[ev.Event]) -> None:
    """The job ended once, all migrations are over, no two of its pods ran at a time, and the log holds no pod twice."""
    ends = [event.job for event in log if isinstance(event, ev.JobFinished)]
    assert ends == ["a"], log
    assert not any(isinstance(event, ev.JobFailed) for event in log)
    begun = {event.migration for event in log if isinstance(event, ev.MigrationStarted)}
    over = [event.migration for event in log if isinstance(event, ev.MigrationFinished | ev.MigrationRolledBack)]
    assert sorted(over) == sorted(begun)
    assert overlaps(server) == []
    created = [event.pod.name for event in log if isinstance(event, ev.PodCreated)]
    assert len(created) == len(set(created))
    assert [event.time for event in log] == sorted(event.time for event in log)
    live = [pod for pod in server.objects["pods"].values() if pod["status"]["phase"] not in ("Succeeded", "Failed")]
    assert live == []


STEPS = 25
"""At least as many as an undisturbed run has."""


def test_undisturbed(world: FakeServer, api: Api, tmp_path: Path) -> None:
    world.put("pods", pod("a"))
    log: list[ev.Event] = []
    life = Life(api, tmp_path, log, STEPS)
    assert life.run()
    check(world, log)
    assert [ev.kind(e) for e in log if isinstance(e, ev.MigrationStarted | ev.MigrationFinished)] == [
        "migration_started",
        "migration_finished",
    ]
    assert [event.pod.name for event in log if isinstance(event, ev.PodCreated)] == ["a", "a-migrated"]


@pytest.mark.parametrize("steps", range(1, STEPS))
def test_killed_after(world: FakeServer, api: Api, tmp_path: Path, steps: int) -> None:
    world.put("pods", pod("a"))
    log: list[ev.Event] = []
    Life(api, tmp_path, log, steps).run()
    resumed = Life(api, tmp_path, log, None)
    assert resumed._ended() or resumed.run()
    check(world, log)


def test_killed_after_every_fourth_step(world: FakeServer, api: Api, tmp_path: Path) -> None:
    world.put("pods", pod("a"))
    log: list[ev.Event] = []
    for _ in range(40):
        life = Life(api, tmp_path, log, 4)
        if life._ended() or life.run():
            break
    check(world, log)


MANY = 150


@pytest.mark.parametrize("seed", range(3))
def test_five_hundred_errors_at_random(server: FakeServer, seed: int, tmp_path: Path) -> None:
    """Four of five requests meet an error, 500 in all; two fifths of those are carried out and only not answered."""
    dice = random.Random(seed)
    left = [500]
    inner = server.answer

    def answer(request: object) -> None:
        if left[0] and dice.random() < 0.8:
            left[0] -= 1
            server.faults[:] = [(".*", lambda: True, dice.choice([500, 502, 429, "lost", "lost"]))]
        else:
            server.faults[:] = []
        inner(request)  # type: ignore[arg-type]

    server.answer = answer  # type: ignore[method-assign]
    server.put("nodes", node("node-1"))
    server.put("nodes", node("node-2"))
    log: list[ev.Event] = []
    api = connect(url=server.url, read_s=5)
    with Kubelet(server, lambda item: item["metadata"]["name"] != "a"):
        for n in range(MANY):
            server.put("pods", pod(f"b{n}"))
        server.put("pods", pod("a"))
        assert Life(api, tmp_path, log, None).run()
    check_many(server, log)
    assert left == [0]


def check_many(server: FakeServer, log: list[ev.Event]) -> None:
    ends = sorted(event.job for event in log if isinstance(event, ev.JobFinished | ev.JobFailed))
    assert ends == sorted(["a", *(f"b{n}" for n in range(MANY))])
    assert not any(isinstance(event, ev.JobFailed) for event in log)
    assert overlaps(server) == []
    created = [event.pod.name for event in log if isinstance(event, ev.PodCreated)]
    assert len(created) == len(set(created))
