"""A small run with a migration, and ways to get it into a store."""

from typing import Any

from backend.folds.summary import summarise
from backend.folds.tables import fold
from backend.model import events as ev
from backend.model.objects import Job, Node, Pod
from backend.store.logs import MemoryLog
from backend.store.store import Store

SPECIFICATION: dict[str, Any] = {
    "name": "small",
    "cluster": {"nodes": {"count": 2, "cpu": "8", "memory": "16Gi"}},
    "workload": {"models": ["lenet", "vae"], "jobs": 6, "submissions": {"every": 5}},
    "arms": [{"name": "migrated", "migration": {"name": "specon"}}],
}


def simulated() -> list[ev.Event]:
    # Imported here, as processes that tests start need none of it and begin twice as fast without.
    from backend.experiments.execute import run_arm
    from backend.experiments.specification import parse

    log = MemoryLog()
    run_arm(parse(SPECIFICATION), "migrated", 1, log, paced=False)
    return log.events


def by_hand(jobs: int = 2) -> list[ev.Event]:
    log: list[ev.Event] = [ev.RunStarted(0.0, "x", "x", "one", 1), ev.NodeAdded(0.0, Node("n1", 16_000, 2**36))]
    for number in range(jobs):
        name = f"job-{number}"
        log += [
            ev.JobSubmitted(number, Job(name, "lenet")),
            ev.PodCreated(number, Pod(name, name)),
            ev.PodBound(number, name, "n1"),
            ev.PodStarted(number, name, "n1"),
            ev.PodFinished(number + 0.5, name, "n1", core_s=1.0),
            ev.JobFinished(number + 0.5, name),
        ]
    return [*log, ev.RunEnded(float(jobs))]


def add_run(store: Store, events: list[ev.Event] | None = None, experiment: str | None = None, seed: int = 1) -> str:
    """A finished run; its id."""
    events = by_hand() if events is None else events
    run = store.create_run(experiment or store.create_experiment("small", SPECIFICATION), "one", seed)
    writer = store.log_writer(run)
    for event in events:
        writer.append(event)
    tables = fold(events)
    store.finish_run(run, "finished", summarise(tables), tables, log_sha256=writer.close())
    return run


def add_open_run(store: Store, events: list[ev.Event], experiment: str | None = None) -> str:
    """A run under way, its events flushed; its id."""
    run = store.create_run(experiment or store.create_experiment("small", SPECIFICATION), "one", 2)
    writer = store.log_writer(run)
    for event in events:
        writer.append(event)
    writer.flush()
    return run
