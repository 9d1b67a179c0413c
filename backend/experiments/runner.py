"""Executes the runs of experiments in parallel processes against a store.

A Runner has a thread for each slot; a slot has one worker process (backend/experiments/worker.py) and gives it one run
after another. With `pin_initial_placement` the later arms of a seed wait until its first arm has ended and start their
jobs where that arm put them. A worker that dies takes only its own run with it: that run is marked failed, with what
was recorded, and the slot starts another worker.

What a dead process left queued or running is marked interrupted, with its events (`recover`). It is not run again by
itself: a run that brings the machine down must not do so at every start.
"""

import contextlib
import logging
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from backend.experiments.specification import Specification
from backend.experiments.worker import Result, Task, WorkerDiedError, WorkerProcess, conclude
from backend.store.rows import OPEN, RunStatus
from backend.store.store import Store

IDLE_S = 60.0
"""A worker without work is kept this long: the next run starts without the second that a new process takes."""
CLOSE_S = 15.0
"""What a run gets to end itself when the runner is closed, before its process is killed."""
_UNBEGUN = "It was stopped before it began."

_logger = logging.getLogger(__name__)


def create(store: Store, specification: Specification, *, note: str = "") -> str:
    """Store an experiment and its runs, all queued; its id. A Runner of this process has to be given it."""
    source = specification.target
    experiment = store.create_experiment(specification.name, specification.to_mapping(), source=source, note=note)
    for seed in specification.seeds:
        for arm in specification.arms:
            store.create_run(experiment, arm.name, seed, source=source)
    return experiment


def recover(store: Store) -> list[str]:
    """Mark what processes that are gone have left behind: stopped if that was asked for, else interrupted.

    A process is known by its id and the time of its start, so that another one with its id does not pass for it. The
    ids of the runs that were marked. Raises UnusableError for a store that cannot be read.
    """
    marked = []
    for run in store.abandoned():
        try:
            stopping = store.run(run).status == "stopping"
            reason = "The process that executed it ended before the run did."
            ended = conclude(store, run, "stopped" if stopping else "interrupted", reason, abandoned=True)
            if ended.recorded and ended.status not in OPEN:
                marked.append(run)
            _clean_up(store, run)
        except Exception:  # one run that cannot be concluded must not keep the others, nor a service from starting
            _logger.exception("run %s could not be concluded", run)
    return marked


def _clean_up(store: Store, run: str) -> None:
    """Have the pods of a run on a real cluster deleted."""
    specification = store.experiment(store.run(run).experiment).specification
    if specification is not None and specification.get("target") == "live":
        from backend.experiments.live import clean_up  # the Kubernetes client takes a second to load

        clean_up(run)


@dataclass(frozen=True)
class _Entry:
    run: str
    experiment: str
    leader: str | None
    """The run whose placement it starts from."""
    alone: bool
    """It needs a cluster that there is only one of."""


class Runner:
    """Queue of runs and the slots that execute them. Safe to use from several threads."""

    def __init__(self, store: Store, *, jobs: int | None = None) -> None:
        self._store = store
        self._jobs = jobs or os.cpu_count() or 1
        self._changed = threading.Condition()
        self._queue: list[_Entry] = []
        self._running: dict[str, tuple[_Entry, WorkerProcess | None]] = {}
        self._leaders: dict[str, Result] = {}
        """Results of the runs that others wait for."""
        self._unrecorded: dict[str, Result] = {}
        self._fault: str | None = None
        self._reserve: Path | None = None
        """Room on the disk to record ends in when it is full."""
        self._slots: set[threading.Thread] = set()
        self._idle = 0
        self._closing = False

    @property
    def fault(self) -> str | None:
        """What the disk of the store refused first, as a sentence; None if it took everything."""
        return self._fault

    @property
    def unrecorded(self) -> dict[str, Result]:
        """Runs that have ended although the store says that they have not, as it could not be written."""
        with self._changed:
            return dict(self._unrecorded)

    def submit(self, experiment: str, specification: Specification) -> None:
        """Queue all runs of an experiment that are stored as queued."""
        pinned = specification.pin_initial_placement
        first_arm = specification.arms[0].name
        runs = [row for row in self._store.runs(experiment)[0] if row.status == "queued"]
        leaders = {row.seed: row.id for row in runs if row.arm == first_arm}
        entries = [
            _Entry(
                run=row.id,
                experiment=experiment,
                leader=leaders.get(row.seed) if pinned and row.arm != first_arm else None,
                alone=specification.target == "live",
            )
            for row in runs
        ]
        with self._changed:
            if self._closing:
                raise RuntimeError("the runner is closed and takes no more experiments")
            if self._reserve is None:
                with contextlib.suppress(OSError):
                    self._reserve = self._store.reserve()
            self._queue += entries
            for _ in range(min(self._jobs - len(self._slots), len(self._queue) - self._idle)):
                slot = threading.Thread(target=self._serve_slot, name="podshift-slot", daemon=True)
                self._slots.add(slot)
                slot.start()
            self._changed.notify_all()

    def stop(self, run: str) -> None:
        """Stop a run: at once if it is queued, else it ends at its next event. Does nothing to a run that has ended."""
        with self._changed:
            queued = [entry for entry in self._queue if entry.run == run]
            for entry in queued:
                self._drop(entry, "stopped", _UNBEGUN)
        if not queued and not self._store.request_stop(run) and self._store.run(run).status == "queued":
            # Of another process; it finds the run ended when it comes to it.
            self._conclude(run, "stopped", _UNBEGUN)

    def stop_experiment(self, experiment: str) -> None:
        """Stop all runs of an experiment."""
        with self._changed:
            # The last first: a run takes those that wait for it along.
            for entry in reversed([entry for entry in self._queue if entry.experiment == experiment]):
                self._drop(entry, "stopped", _UNBEGUN)
            running = [run for run, (entry, _) in self._running.items() if entry.experiment == experiment]
        for run in running:
            self.stop(run)

    def wait(self, experiment: str, timeout: float | None = None) -> bool:
        """Wait until no run of the experiment is queued or running; False if the timeout came first."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._has(experiment), timeout)

    def close(self) -> None:
        """End everything: queued and running runs become interrupted, with what was recorded."""
        with self._changed:
            self._closing = True
            for entry in list(reversed(self._queue)):
                self._drop(entry, "interrupted", "The service ended before it began.")
            workers = [worker for _, worker in self._running.values() if worker is not None]
            self._changed.notify_all()
        for worker in workers:
            worker.interrupt()
        deadline = time.monotonic() + CLOSE_S
        for slot in list(self._slots):
            slot.join(max(0.0, deadline - time.monotonic()))
        for worker in workers:
            worker.kill()
        for slot in list(self._slots):
            slot.join()
        self.record_ends()
        self._release()

    def record_ends(self) -> None:
        """Try again to record the ends of runs that the store could not take: there may be room by now, and the runner
        has kept some back for them."""
        left = self.unrecorded
        if left:
            self._release()
            self._store.make_room()
        for run, ended in left.items():
            self._conclude(run, ended.status, ended.error or "")

    def _release(self) -> None:
        with self._changed:
            reserve, self._reserve = self._reserve, None
        if reserve is not None:
            reserve.unlink(missing_ok=True)

    # -- slots

    def _serve_slot(self) -> None:
        worker: WorkerProcess | None = None
        try:
            while (taken := self._take()) is not None:
                worker = self._execute(*taken, worker)
        finally:
            if worker is not None:
                worker.close()
            with self._changed:
                self._slots.discard(threading.current_thread())

    def _execute(
        self, entry: _Entry, pinned: dict[str, str] | None, worker: WorkerProcess | None
    ) -> WorkerProcess | None:
        """Have a run executed and settle what waits for it, whatever happens; the worker, which may be another one."""
        result = Result("failed")
        try:
            if worker is None or not worker.alive():
                worker = WorkerProcess(self._store.home, self._store.url)
            with self._changed:
                self._running[entry.run] = entry, worker
                if self._closing:
                    worker.interrupt()
            result = worker.run(Task(entry.run, pinned))
            self._keep(entry.run, result)
        except WorkerDiedError as death:
            result = self._conclude(entry.run, "interrupted" if self._closing else "failed", str(death))
        except Exception as error:  # no process could be started, for instance
            _logger.exception("run %s could not be executed", entry.run)
            result = self._conclude(entry.run, "failed", f"{type(error).__name__}: {error}")
        finally:
            with self._changed:
                self._running.pop(entry.run)
                self._settle(entry, result)
        return worker

    def _take(self) -> tuple[_Entry, dict[str, str] | None] | None:
        """The next run that may begin and its placement; None if there was none for IDLE_S or the runner is closed."""
        deadline = time.monotonic() + IDLE_S
        with self._changed:
            self._idle += 1
            try:
                while not self._closing:
                    taken = any(entry.alone for entry, _ in self._running.values())
                    for entry in self._queue:
                        if not (entry.alone and taken) and (entry.leader is None or entry.leader in self._leaders):
                            self._queue.remove(entry)
                            self._running[entry.run] = entry, None
                            return entry, self._leaders[entry.leader].placements if entry.leader else None
                    left = deadline - time.monotonic()
                    if left <= 0 and not self._queue:
                        return None
                    self._changed.wait(None if self._queue else left)
                return None
            finally:
                self._idle -= 1

    # -- bookkeeping, all under the lock

    def _settle(self, entry: _Entry, result: Result) -> None:
        waiting = [other for other in self._queue if other.leader == entry.run]
        if waiting and result.status == "finished":
            self._leaders[entry.run] = result
        elif waiting:
            for other in waiting:
                reason = f"It starts from the placement of {entry.run}, which is {result.status}."
                self._drop(other, "stopped" if result.status == "stopped" else "failed", reason)
        if entry.leader is not None and not any(o.leader == entry.leader for o in self._queue):
            self._leaders.pop(entry.leader, None)
        self._changed.notify_all()

    def _drop(self, entry: _Entry, status: RunStatus, reason: str) -> None:
        self._queue.remove(entry)
        self._conclude(entry.run, status, reason)
        self._settle(entry, Result(status))

    def _conclude(self, run: str, status: RunStatus, reason: str) -> Result:
        """As `conclude`, but never raises: whoever waits for this run has to hear that it ended."""
        try:
            result = conclude(self._store, run, status, reason)
        except Exception as error:
            _logger.exception("run %s could not be concluded", run)
            result = Result(status, error=f"{reason} {type(error).__name__}: {error}")
        self._keep(run, result)
        return result

    def _keep(self, run: str, result: Result) -> None:
        with self._changed:
            self._fault = self._fault or result.fault
            if result.recorded:
                self._unrecorded.pop(run, None)
            else:
                self._unrecorded[run] = result

    def _has(self, experiment: str) -> bool:
        return any(e.experiment == experiment for e in self._queue) or any(
            e.experiment == experiment for e, _ in self._running.values()
        )
