"""Policies and lives of migrations with the real controller and the simulated cluster, under failures of nodes."""

import random
from collections import Counter
from typing import Any

import pytest

from backend.control.controller import Controller
from backend.control.loop import drive
from backend.migration import registry
from backend.migration.life import LifeParameters, MigrationLife
from backend.model import events as ev
from backend.model.objects import Node
from backend.model.random_streams import stream
from backend.scheduling import registry as schedulers
from backend.simulation.cluster import Costs, Fault, SimulatedCluster, Submission
from backend.simulation.presets import get_model

GIB = 2**30


class Run:
    """A run with hasty parameters: short rounds, many migrations, nodes that fail while pods are on their way."""

    def __init__(self, policy: str, seed: int) -> None:
        choose = random.Random(seed)
        nodes = [
            Node(f"node-{number}", choose.choice([4000, 8000, 16_000]), choose.choice([6, 12, 64]) * GIB)
            for number in range(1, choose.randint(2, 5) + 1)
        ]
        submissions = []
        for number in range(choose.randint(4, 16)):
            model = get_model(choose.choice(["lenet", "vae", "gru", "cnn", "mnist"]))
            job = model.job(f"job-{number}")
            submissions.append(Submission(choose.uniform(0, 300), job, model, job.iterations or model.iterations))
        faults = []
        for node in nodes:
            at = choose.uniform(30, 1500)
            faults.append(Fault(node.name, at, at + choose.uniform(10, 400)))
        self.max_migrations = choose.randint(1, 4)
        rules = {"budget": 3, "max_migrations": self.max_migrations, "cooldown": 0, "round": 5}
        if policy == "specon":
            rules |= {"rebalance": True, "alpha": 0.5, "interval": 5}
        costs = choose.choice([Costs(), Costs.zero()])
        made, default = registry.load(policy), schedulers.load("default")
        self.life = MigrationLife(LifeParameters(grace_s=30.0, start_timeout_s=choose.choice([2.0, 300.0])))
        controller = Controller(
            default(default.Parameters(), stream(seed, "ties")), made(made.Parameters(**rules)), self.life
        )
        self.jobs = [submission.job.name for submission in submissions]
        self.log: list[Any] = []
        drive(SimulatedCluster(nodes, submissions, seed=seed, costs=costs, faults=faults), controller, self.log)

    def of(self, *kinds: type) -> list[Any]:
        return [event for event in self.log if isinstance(event, kinds)]


@pytest.fixture(
    scope="module",
    params=[(policy, seed) for policy in ("specon", "least-loaded") for seed in range(12)],
    ids=lambda param: f"{param[0]}-{param[1]}",
)
def run(request: pytest.FixtureRequest) -> Run:
    return Run(*request.param)


def test_every_job_ends_exactly_once(run: Run) -> None:
    assert Counter(event.job for event in run.of(ev.JobFinished, ev.JobFailed)) == Counter(run.jobs)


def test_a_job_never_has_two_pods_at_a_time_and_no_name_is_given_twice(run: Run) -> None:
    job_of: dict[str, str] = {}
    active: set[str] = set()
    for event in run.of(ev.PodCreated, ev.PodEvicted, ev.PodFinished):
        if isinstance(event, ev.PodCreated):
            assert event.pod.name not in job_of
            job_of[event.pod.name] = event.pod.job
            assert event.pod.job not in active
            active.add(event.pod.job)
        else:
            active.remove(job_of[event.pod])
    assert active == set()


def test_every_migration_is_finished_or_rolled_back_once(run: Run) -> None:
    started = [event.migration for event in run.of(ev.MigrationStarted)]
    assert started == list(range(1, len(started) + 1))
    assert sorted(e.migration for e in run.of(ev.MigrationFinished, ev.MigrationRolledBack)) == started
    assert not run.life.underway


def test_no_job_migrates_more_often_than_allowed(run: Run) -> None:
    per_job = Counter(event.job for event in run.of(ev.MigrationStarted))
    assert all(count <= run.max_migrations for count in per_job.values())


def test_every_migration_follows_from_a_verdict(run: Run) -> None:
    verdicts = [(e.time, e.job, e.target) for e in run.of(ev.MigrationConsidered) if e.verdict == "migrate"]
    assert verdicts == [(e.time, e.job, e.target) for e in run.of(ev.MigrationStarted)]


def test_these_runs_do_migrate_and_do_roll_back() -> None:
    """What the tests above hold for is not empty."""
    runs = [Run(policy, seed) for policy in ("specon", "least-loaded") for seed in range(12)]
    assert sum(len(run.of(ev.MigrationFinished)) for run in runs) > 50
    assert sum(len(run.of(ev.MigrationRolledBack)) for run in runs) > 10
