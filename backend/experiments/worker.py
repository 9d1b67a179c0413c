"""The process that executes runs: it takes one task at a time from its runner and writes log and tables into the store.

Each run's log and rows are written by the process that executes it; the runner only hears how it ended. A process whose
runner is gone ends at once: nobody could stop it any more, and the next runner must find its runs free.
"""

import contextlib
import gc
import logging
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import FrameType

import pyarrow as pa

from backend.experiments.errors import UnreachableError
from backend.experiments.execute import Progress, run_arm
from backend.experiments.specification import parse
from backend.folds.summary import summarise
from backend.folds.tables import Fold
from backend.kube.templates import VARIABLE as TEMPLATES
from backend.kube.templates import default_folder
from backend.model.events import Event
from backend.store.errors import FinishedError, StoreError, UnusableError, is_disk_fault, unusable
from backend.store.files import remove_leftovers
from backend.store.logs import LogWriter
from backend.store.rows import OPEN, RunProgress, RunStatus
from backend.store.store import Store

GC_OBJECTS = 200_000
"""New objects between two collections. Logs are made of values without cycles; at Python's default of some hundreds,
the collector takes a fifth of a run to find nothing."""
PROGRESS_S = 0.5
"""Wall-clock seconds between two writes of a run's progress; this is also when its events become visible to readers."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Task:
    """What a worker is asked to do."""

    run: str
    pinned: dict[str, str] | None = None
    """Job -> node it starts on, where the arm has to begin as another arm did."""


@dataclass(frozen=True)
class Result:
    """How a run ended."""

    status: RunStatus
    placements: dict[str, str] = field(default_factory=dict)
    """Job -> first node."""
    fault: str | None = None
    """What the disk of the store refused, if that is why the run ended."""
    error: str | None = None
    """Why the run ended, if the store could not take its end."""

    @property
    def recorded(self) -> bool:
        """Whether the store has it that the run ended."""
        return self.error is None


class WorkerDiedError(Exception):
    """A worker process ended in the middle of a run."""

    def __init__(self, exit_code: int | None) -> None:
        how = f"was killed by signal {-exit_code}" if exit_code is not None and exit_code < 0 else "ended"
        super().__init__(f"The process of this run {how} (exit code {exit_code}) before the run was over.")


class WorkerProcess:
    """A worker as its runner sees it."""

    def __init__(self, home: Path, url: str | None) -> None:
        # Spawn: a forked copy of a process with threads and open databases is not safe to go on in.
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=work, args=(home, url, theirs), name="podshift-worker", daemon=True)
        self._process.start()
        theirs.close()

    def alive(self) -> bool:
        """Whether it can take a task."""
        return self._process.is_alive()

    def run(self, task: Task) -> Result:
        """Have it execute a run and wait for the end. Raises WorkerDiedError."""
        try:
            self._connection.send(task)
            wait([self._connection, self._process.sentinel])
            if self._connection.poll():
                result = self._connection.recv()
                assert isinstance(result, Result)
                return result
        except (EOFError, OSError):
            pass
        self._process.join()
        raise WorkerDiedError(self._process.exitcode)

    def interrupt(self) -> None:
        """End its run as interrupted, at the next event."""
        self._process.terminate()

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    def close(self) -> None:
        """Let it go; it ends by itself when it has nothing to do."""
        self._connection.close()
        self._process.join(1.0)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def work(home: Path, url: str | None, connection: Connection) -> None:
    """The main function of a worker process: tasks in, results out, until the runner closes the connection."""
    interrupted = threading.Event()

    def interrupt(_signum: int, _frame: FrameType | None) -> None:
        interrupted.set()

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the runner says what it means
    signal.signal(signal.SIGTERM, interrupt)
    threading.Thread(target=_end_with_parent, name="podshift-parent", daemon=True).start()
    collect_seldom()
    os.environ[TEMPLATES] = str(default_folder(home))
    store = Store(home, url)
    while True:
        try:
            task = connection.recv()
        except EOFError:
            return
        connection.send(execute(store, task, interrupted.is_set))


def collect_seldom() -> None:
    """Set the garbage collector of this process to what runs need."""
    gc.freeze()
    gc.set_threshold(GC_OBJECTS, 20, 100)


def execute(store: Store, task: Task, interrupted: Callable[[], bool] = lambda: False) -> Result:
    """Execute a run to its end, to a stop that the store asks for, or to an error, and write what came of it.

    Never raises for a store that cannot be written: the result says it.
    """
    try:
        try:
            # The runner answers for the run, not this process: as long as it lives it concludes what a worker leaves.
            runner = multiprocessing.parent_process()
            store.begin_run(task.run, os.getpid() if runner is None or runner.pid is None else runner.pid)
        except FinishedError:
            return Result(store.run(task.run).status)
        return _execute(store, task, interrupted)
    except UnreachableError as error:
        return conclude(store, task.run, "failed", str(error))
    except Exception as error:
        if is_disk_fault(error):
            fault = str(unusable(store.home, error) if isinstance(error, OSError) else error)
            return replace(conclude(store, task.run, "failed", _sentence(fault)), fault=fault)
        _logger.exception("run %s failed", task.run)
        return conclude(store, task.run, "failed", f"{type(error).__name__}: {error}")


def _execute(store: Store, task: Task, interrupted: Callable[[], bool]) -> Result:
    row = store.run(task.run)
    stored = store.experiment(row.experiment)
    if stored.specification is None:
        raise StoreError(f"experiment '{stored.id}' has no specification, so it cannot be run")
    specification = parse(stored.specification)
    log = _FoldedLog(store.log_writer(task.run))
    progress = _ProgressWriter(store, task.run, log.writer)
    try:
        outcome = run_arm(
            specification,
            row.arm,
            row.seed,
            log,
            label=task.run,
            pinned=task.pinned,
            progress=progress,
            should_stop=lambda: interrupted() or store.stop_requested(task.run),
        )
    except Exception:
        with contextlib.suppress(StoreError, OSError):  # the first error is the one that says why
            log.writer.flush()  # what led to the error is what a person wants to see
        raise
    status: RunStatus = outcome.status
    error = None
    if status == "stopped" and interrupted():
        status, error = "interrupted", "The service ended before the run did."
    progress.finish()
    tables = log.fold.tables()
    store.finish_run(task.run, status, summarise(tables), tables, log_sha256=log.writer.close(), error=error)
    return Result(status, outcome.placements)


class _ProgressWriter:
    """Writes how far a run is, and the log up to there, every PROGRESS_S; called more often than that."""

    def __init__(self, store: Store, run: str, log: LogWriter) -> None:
        self._store = store
        self._run = run
        self._log = log
        self._next = 0.0
        self._unwritten: Progress | None = None

    def __call__(self, reached: Progress) -> None:
        self._unwritten = reached
        if time.monotonic() >= self._next:
            self.finish()
            self._next = time.monotonic() + PROGRESS_S

    def finish(self) -> None:
        """Write what was reached last."""
        reached, self._unwritten = self._unwritten, None
        if reached is not None:
            self._log.flush()
            values = {name: getattr(reached, name) for name in RunProgress.__struct_fields__}
            self._store.set_progress(self._run, RunProgress(**values))


class _FoldedLog:
    """A log that is folded while it is written."""

    def __init__(self, writer: LogWriter) -> None:
        self.writer = writer
        self.fold = Fold()

    def append(self, event: Event) -> None:
        self.writer.append(event)
        self.fold.add(event)


def conclude(store: Store, run: str, status: RunStatus, error: str, *, abandoned: bool = False) -> Result:
    """End a run that nobody executes any more, with tables and summary of what its log holds.

    Where there is no room for tables it is ended without: they are read from the log then. With `abandoned`, a run that
    a living process answers for is left alone.
    """
    try:
        if store.run(run).status not in OPEN:
            return Result(store.run(run).status)
        return _conclude(store, run, status, error, abandoned)
    except FinishedError:
        return Result(store.run(run).status)
    except (UnusableError, OSError) as broken:
        fault = str(unusable(store.home, broken) if isinstance(broken, OSError) else broken)
        return Result(status, fault=fault, error=error)


def _conclude(store: Store, run: str, status: RunStatus, error: str, abandoned: bool) -> Result:
    fold = Fold()
    try:
        remove_leftovers(store.folder(run))
        for event in store.read_log(run):
            fold.add(event)
    except UnusableError:
        raise
    except (StoreError, OSError, pa.ArrowException) as broken:
        error = f"{error} Its log is broken: {broken}"
    tables = fold.tables()
    summary = summarise(tables)
    try:
        store.finish_run(run, status, summary, tables, error=error, abandoned=abandoned)
    except (UnusableError, OSError) as broken:
        store.make_room()
        store.end_run(run, status, summary=summary, error=error, abandoned=abandoned)
        return Result(status, fault=str(unusable(store.home, broken) if isinstance(broken, OSError) else broken))
    return Result(status)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
