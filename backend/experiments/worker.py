"""The process that executes runs: it takes one task at a time from its runner and writes log and tables into the store.

Each run's log and rows are written by the process that executes it; the runner only hears how it ended. A process whose
runner is gone ends at once: nobody could stop it any more, and the next runner must find its runs free.
"""

import multiprocessing
import os
import signal
import threading
import time
import traceback
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import FrameType

from backend.experiments.execute import run_arm
from backend.experiments.specification import parse
from backend.folds.summary import summarise
from backend.folds.tables import Fold
from backend.model.events import Event
from backend.store.store import LogWriter, Store

PROGRESS_S = 0.5
"""Wall-clock seconds between two writes of a run's progress; this is also when its events become visible to readers."""
STOP_S = 0.1
"""Wall-clock seconds between two looks at whether the run is to stop."""


@dataclass(frozen=True)
class Task:
    """What a worker is asked to do."""

    run: str
    pinned: dict[str, str] | None = None
    """Job -> node it starts on, where the arm has to begin as another arm did."""


@dataclass(frozen=True)
class Result:
    """How a run ended."""

    status: str
    placements: dict[str, str] = field(default_factory=dict)
    """Job -> first node."""


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
