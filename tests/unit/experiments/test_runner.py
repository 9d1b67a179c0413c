"""The runner: all runs of an experiment in processes, in an order that pinning asks for, stopped, failed, closed."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from backend.experiments import runner as runner_module
from backend.experiments import worker
from backend.experiments.runner import Runner, create, recover
from backend.experiments.specification import Specification, parse
from backend.experiments.worker import Task, execute
from backend.model import events as ev
from backend.model.objects import Job
from backend.store.errors import UnusableError
from backend.store.store import Store
from tests.api.conditions import PATIENCE_S, specification, wait_until

SLOW = 50.0
"""Simulated seconds a second: the first job starts after a second, the last one ends after ten."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    made = Store(tmp_path_factory.mktemp("store"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def runner(store: Store) -> Iterator[Runner]:
    made = Runner(store, jobs=2)
    yield made
    made.close()


def launch(store: Store, runner: Runner, speed: float | None = None, seeds: str = "[1]") -> str:
    chosen = parse(specification("tested", speed=speed, seeds=seeds))
    experiment = create(store, chosen)
    runner.submit(experiment, chosen)
    return experiment


def statuses(store: Store, experiment: str) -> dict[str, str]:
    return {row.id.split(".", 1)[1]: row.status for row in store.runs(experiment)[0]}


def recorded(store: Store, run: str) -> Callable[[], bool]:
    return lambda: store.run(run).status == "running" and store.table(run, "segments").num_rows > 0


def test_every_run_is_finished_and_has_its_numbers(store: Store, runner: Runner) -> None:
    experiment = launch(store, runner, seeds="[1, 2]")
    assert runner.wait(experiment, PATIENCE_S)
    rows = store.runs(experiment)[0]
    assert [(row.arm, row.seed, row.status) for row in rows] == [
        ("default", 1, "finished"),
        ("migrated", 1, "finished"),
        ("default", 2, "finished"),
        ("migrated", 2, "finished"),
    ]
    for row in rows:
        assert row.summary is not None
        assert row.summary["finished"] == 7
        assert row.progress is not None
        assert (row.progress.fraction, row.progress.jobs_done) == (1.0, 7)
        assert row.progress.events == store.log_size(row.id)
        assert row.started_at is not None
        assert row.ended_at is not None
        assert row.created_at <= row.started_at <= row.ended_at


def test_the_pinned_arm_begins_after_the_first_and_on_its_nodes(store: Store, runner: Runner) -> None:
    experiment = launch(store, runner)
    assert runner.wait(experiment, PATIENCE_S)
    default, migrated = store.runs(experiment)[0]
    assert default.ended_at is not None
    assert migrated.started_at is not None
    assert default.ended_at <= migrated.started_at
    first = [store.table(row.id, "jobs").column("first_node").to_pylist() for row in (default, migrated)]
    assert first[0] == first[1]


def test_the_log_in_the_store_is_the_log_of_the_run(store: Store, runner: Runner) -> None:
    experiment = launch(store, runner)
    assert runner.wait(experiment, PATIENCE_S)
    events = list(store.read_log(f"{experiment}.default.s1"))
    assert isinstance(events[0], ev.RunStarted)
    assert isinstance(events[-1], ev.RunEnded)


def test_a_stopped_run_keeps_its_events_and_takes_along_what_waits_for_it(store: Store, runner: Runner) -> None:
    experiment = launch(store, runner, speed=SLOW)
    run = f"{experiment}.default.s1"
    wait_until(recorded(store, run))
    runner.stop(run)
    assert runner.wait(experiment, PATIENCE_S)
    assert statuses(store, experiment) == {"default.s1": "stopped", "migrated.s1": "stopped"}
    *_, last = store.read_log(run)
    assert isinstance(last, ev.RunStopped)
    runner.stop(run)
    assert store.run(run).status == "stopped"


def test_a_queued_run_is_stopped_at_once(store: Store, runner: Runner) -> None:
    experiment = launch(store, runner, speed=SLOW)
    waiting = f"{experiment}.migrated.s1"
    runner.stop(waiting)
    assert store.run(waiting).status == "stopped"
    assert store.run(waiting).error == "It was stopped before it began."
    runner.stop_experiment(experiment)
    assert runner.wait(experiment, PATIENCE_S)


def test_a_stop_asked_for_in_the_store_is_heard(store: Store, runner: Runner) -> None:
    """As another process does it."""
    experiment = launch(store, runner, speed=SLOW)
    run = f"{experiment}.default.s1"
    wait_until(recorded(store, run))
    assert store.request_stop(run)
    assert not store.request_stop(run)
    assert runner.wait(experiment, PATIENCE_S)
    assert store.run(run).status == "stopped"


def test_a_killed_worker_fails_its_run_and_the_next_one_runs(store: Store, runner: Runner) -> None:
    doomed = launch(store, runner, speed=SLOW)
    run = f"{doomed}.default.s1"
    wait_until(recorded(store, run))
    children = Path(f"/proc/{os.getpid()}/task")
    workers = [
        int(pid)
        for task in children.iterdir()
        for pid in (task / "children").read_text().split()
        if "spawn_main" in Path(f"/proc/{pid}/cmdline").read_text()
    ]
    for pid in workers:
        os.kill(pid, signal.SIGKILL)
    assert runner.wait(doomed, PATIENCE_S)
    assert statuses(store, doomed) == {"default.s1": "failed", "migrated.s1": "failed"}
    assert "killed by signal 9" in str(store.run(run).error)
    assert store.table(run, "segments").num_rows > 0
    fine = launch(store, runner)
    assert runner.wait(fine, PATIENCE_S)
    assert set(statuses(store, fine).values()) == {"finished"}


def test_an_error_fails_the_run_and_is_kept(store: Store, runner: Runner) -> None:
    chosen = parse(specification("tested"))
    experiment = store.create_experiment("tested", {"name": "tested", "workload": 7})
    store.create_run(experiment, "default", 1)
    store.create_run(experiment, "migrated", 1)
    runner.submit(experiment, chosen)
    assert runner.wait(experiment, PATIENCE_S)
    default, migrated = store.runs(experiment)[0]
    assert (default.status, migrated.status) == ("failed", "failed")
    assert str(default.error).startswith("SpecificationError: ")
    assert f"{default.id}, which is failed" in str(migrated.error)


def test_a_run_that_breaks_off_keeps_what_led_there(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: Any, **options: Any) -> None:
        arguments[3].append(ev.RunStarted(0.0, "r", "e", "default", 1))
        arguments[3].append(ev.JobSubmitted(1.0, Job("a", "lenet")))
        raise ZeroDivisionError("a policy divided by nothing")

    monkeypatch.setattr(worker, "run_arm", broken)
    run = f"{create(store, parse(specification('tested')))}.default.s1"
    assert execute(store, Task(run)).status == "failed"
    assert store.run(run).error == "ZeroDivisionError: a policy divided by nothing"
    assert store.table(run, "jobs").column("job").to_pylist() == ["a"]
    assert store.log_size(run) == 2


def test_closing_interrupts_what_runs_and_what_waits(store: Store) -> None:
    runner = Runner(store, jobs=1)
    experiment = launch(store, runner, speed=SLOW, seeds="[1, 2]")
    run = f"{experiment}.default.s1"
    wait_until(recorded(store, run))
    runner.close()
    assert set(statuses(store, experiment).values()) == {"interrupted"}
    *_, last = store.read_log(run)
    assert isinstance(last, ev.RunStopped)
    with pytest.raises(RuntimeError, match="closed"):
        runner.submit(experiment, parse(specification("tested")))


def test_two_experiments_at_once(store: Store, runner: Runner) -> None:
    first, second = (launch(store, runner, seeds="'1..3'") for _ in range(2))
    assert runner.wait(first, PATIENCE_S)
    assert runner.wait(second, PATIENCE_S)
    hashes = [[row.log_sha256 for row in store.runs(experiment)[0]] for experiment in (first, second)]
    assert hashes[0] == hashes[1]
    assert len(set(hashes[0])) == 6


def test_a_run_that_ended_before_a_worker_came_to_it_is_left_alone(store: Store) -> None:
    chosen: Specification = parse(specification("tested"))
    run = f"{create(store, chosen)}.default.s1"
    store.end_run(run, "stopped")
    assert execute(store, Task(run)).status == "stopped"
    assert store.log_size(run) == 0


def test_recovery_marks_only_what_dead_processes_left(store: Store, runner: Runner) -> None:
    alive = launch(store, runner, speed=SLOW)
    wait_until(recorded(store, f"{alive}.default.s1"))
    assert recover(store) == []
    assert statuses(store, alive) == {"default.s1": "running", "migrated.s1": "queued"}
    runner.stop_experiment(alive)
    assert runner.wait(alive, PATIENCE_S)


@pytest.mark.parametrize(("stopping", "status"), [(False, "interrupted"), (True, "stopped")])
def test_recovery_of_a_run_whose_process_is_gone(store: Store, stopping: bool, status: str) -> None:
    run = f"{create(store, parse(specification('tested')))}.default.s1"
    store.begin_run(run, 2**22 + 1)  # more than the kernel's largest process id
    log = store.log_writer(run)
    log.append(ev.RunStarted(0.0, "r", "e", "default", 1))
    log.flush()
    if stopping:
        store.request_stop(run)
    assert recover(store) == [run]
    assert store.run(run).status == status
    assert store.log_size(run) == 1
    assert recover(store) == []


# -- a disk without room


def leftovers(store: Store) -> set[Path]:
    return set((store.home / "runs").glob(".tmp-*"))


def full(*_: Any, **__: Any) -> None:
    raise OSError(28, "No space left on device")


def test_a_run_whose_log_has_no_room_is_failed_and_says_so(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backend.store.logs.write_table", full)
    monkeypatch.setattr("backend.store.store.write_tables", full)
    run = f"{create(store, parse(specification('tested')))}.default.s1"
    ended = execute(store, Task(run))
    sentence = f"he disk of the store in {store.home} is full; make room on it"
    assert (ended.status, ended.recorded) == ("failed", True)
    assert f"t{sentence}" in str(ended.fault)
    assert str(store.run(run).error).startswith(f"T{sentence}")
    assert (store.run(run).status, store.run(run).pid) == ("failed", None)
    assert store.table(run, "jobs").num_rows == 0
    assert list(store.folder(run).rglob(".tmp-*")) == []


def test_a_run_that_cannot_even_begin_is_failed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise UnusableError("the disk is full")

    monkeypatch.setattr(store, "begin_run", refuse)
    run = f"{create(store, parse(specification('tested')))}.default.s1"
    assert execute(store, Task(run)).fault == "the disk is full"
    assert (store.run(run).status, store.run(run).error) == ("failed", "The disk is full.")


def test_an_end_that_cannot_be_recorded_is_told_to_whoever_waits_and_recorded_later(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = Runner(store, jobs=1)
    before = leftovers(store)
    with monkeypatch.context() as patched:
        patched.setattr(runner_module, "WorkerProcess", full)
        patched.setattr(store, "finish_run", full)
        patched.setattr(store, "end_run", full)
        experiment = launch(store, runner)
        assert runner.wait(experiment, PATIENCE_S)
        assert set(statuses(store, experiment).values()) == {"queued"}
        assert {result.status for result in runner.unrecorded.values()} == {"failed"}
        assert str(runner.fault).startswith(f"the disk of the store in {store.home} is full")
        runner.record_ends()
        assert len(runner.unrecorded) == 2
    runner.close()
    assert set(statuses(store, experiment).values()) == {"failed"}
    assert runner.unrecorded == {}
    assert leftovers(store) == before


def test_stopping_and_closing_on_a_full_disk_raise_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    runner = Runner(store, jobs=1)
    experiment = launch(store, runner, speed=SLOW, seeds="[1, 2]")
    wait_until(recorded(store, f"{experiment}.default.s1"))
    with monkeypatch.context() as patched:
        patched.setattr(store, "finish_run", full)
        patched.setattr(store, "end_run", full)
        runner.stop(f"{experiment}.migrated.s2")
        runner.close()
    assert runner.wait(experiment, PATIENCE_S)
    assert statuses(store, experiment)["migrated.s2"] == "queued"
    runner.record_ends()
    assert set(statuses(store, experiment).values()) == {"stopped", "interrupted"}


def test_recovery_leaves_a_run_alone_that_was_taken_up_meanwhile(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    run = f"{create(store, parse(specification('tested')))}.default.s1"
    monkeypatch.setattr(store, "abandoned", lambda: [run])
    assert recover(store) == []
    assert store.run(run).status == "queued"
