"""Store: the catalogue and the files beside it, under one folder."""

import json
import os
import shutil
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa

from backend.folds.schemas import SCHEMAS
from backend.folds.tables import Fold
from backend.model import events as ev
from backend.store import logs
from backend.store.catalogue import Catalogue
from backend.store.errors import FinishedError, StoreError, UnknownError, unusable
from backend.store.files import (
    flush,
    flush_tree,
    read_table,
    remove_leftovers,
    scratch_folder,
    sha256,
    temporary_name,
    write_table,
)
from backend.store.logs import LogWriter
from backend.store.rows import OPEN, RunStatus, check_id

__all__ = ["LogWriter", "Store"]

MANIFEST = "manifest.json"
MANIFEST_VERSION = 1
RESERVE_BYTES = 96 * 1024
"""For the rows of runs that ended because the disk is full: pages of the database, each written twice."""
FOLDS_KEPT = 16
"""Growing runs whose folds are kept in memory for readers."""


class Store(Catalogue):
    """What is kept of experiments. `home` holds podshift.db (unless `url` names another database) and runs/<run>/.

    A run's folder holds log/ (parts, see logs.py) and, once it has ended, tables/ and manifest.json with the hash of
    every file. A run that has ended is never written again.
    """

    def __init__(self, home: Path, url: str | None = None) -> None:
        self.url = url
        try:
            (home / "runs").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unusable(home, error) from error
        super().__init__(home, url)
        self._lock = threading.Lock()
        self._growing: OrderedDict[tuple[str, str | None], _Growing] = OrderedDict()
        """By run and time of its start: a run that is queued again begins a new log."""

    def reserve(self) -> Path:
        """A file that only takes room: without it there is some, for what has to be written on a full disk. Raises
        OSError if there is none even now."""
        file = self.home / "runs" / temporary_name("reserve")
        try:
            file.write_bytes(os.urandom(RESERVE_BYTES))  # nothing that a file system could pack smaller
        except OSError:
            file.unlink(missing_ok=True)
            raise
        return file

    def folder(self, run: str) -> Path:
        """Where the files of a run are."""
        return self.home / "runs" / check_id(run)

    # -- logs

    def log_writer(self, run: str) -> LogWriter:
        """The log of a run that has not ended, to be written from its beginning. Raises FinishedError."""
        if self.run(run).status not in OPEN:
            raise FinishedError(f"run '{run}' has ended; its log does not change any more")
        return LogWriter(self.folder(run) / "log", lambda: self.run(run).status in OPEN)

    def read_log(self, run: str, start: int = 0) -> Iterator[ev.Event]:
        """The events of a run from a sequence number on; of a growing run, those that were flushed."""
        self.run(run)
        return logs.read(self.folder(run) / "log", start)

    def log_size(self, run: str) -> int:
        """Events that can be read."""
        return logs.size(self.folder(run) / "log")

    # -- tables

    def table(self, run: str, name: str) -> pa.Table:
        """A table of a run: from its files if it has ended, else folded from the log so far. Raises UnknownError.

        The table `log` is the log itself, one row an event.
        """
        if name == "log":
            self.run(run)
            return logs.table(self.folder(run) / "log")
        if name not in SCHEMAS:
            raise UnknownError(f"there is no table '{name[:60]}'; there are {', '.join(SCHEMAS)}, log")
        file = self.folder(run) / "tables" / f"{name}.parquet"
        row = self.run(run)
        if row.status not in OPEN and file.is_file():
            return read_table(file)
        with self._lock:
            growing = self._growing.setdefault((run, row.started_at), _Growing())
            self._growing.move_to_end((run, row.started_at))
            while len(self._growing) > FOLDS_KEPT:
                self._growing.popitem(last=False)
        with growing.lock:
            for event in logs.read(self.folder(run) / "log", growing.fold.events):
                growing.fold.add(event)
            return growing.fold.tables([name])[name]

    def tables(self, run: str) -> dict[str, pa.Table]:
        """All tables of a run that are folds of its log."""
        return {name: self.table(run, name) for name in SCHEMAS}

    # -- ends

    def finish_run(
        self,
        run: str,
        status: RunStatus,
        summary: Mapping[str, Any],
        tables: Mapping[str, pa.Table],
        *,
        log_sha256: str | None = None,
        error: str | None = None,
        abandoned: bool = False,
    ) -> None:
        """Write tables and manifest and mark the run as ended. Raises FinishedError if it has ended; `abandoned` as
        `end_run` has it."""
        folder = self.folder(run)
        if self.run(run).status not in OPEN:
            raise FinishedError(f"run '{run}' has ended; what is recorded of it does not change any more")
        folder.mkdir(parents=True, exist_ok=True)
        with scratch_folder(folder) as made:
            write_tables(made / "tables", tables)
            write_manifest(made, folder / "log", log_sha256)
            flush_tree(made)

            def place() -> None:
                # Left by a process that died between putting them there and marking the row: not yet anybody's.
                shutil.rmtree(folder / "tables", ignore_errors=True)
                for path in made.iterdir():
                    path.replace(folder / path.name)
                flush(folder)

            self.end_run(
                run, status, summary=summary, log_sha256=log_sha256, error=error, abandoned=abandoned, place=place
            )
        with self._lock:
            for key in [key for key in self._growing if key[0] == run]:
                del self._growing[key]

    def recover(self) -> list[str]:
        """After a crash: mark runs that no process executes any more as interrupted, keep what they recorded.

        What living processes execute, have queued or are writing stays as it is.
        """
        remove_leftovers(self.home / "runs")
        marked = []
        for run in self.abandoned():
            try:
                reason = "The process that executed it ended before the run did."
                self.end_run(run, "interrupted", error=reason, abandoned=True)
            except FinishedError:
                continue
            marked.append(run)
        return marked

    def reset_run(self, run: str) -> None:
        """Queue an interrupted or failed run again; what it had recorded is dropped.

        If the process ends in between, the run is a queued one that nobody executes any more, its old log still there:
        whoever recovers marks it interrupted with that log again.
        """
        self.requeue_run(run)
        self._drop([run])

    def purge(self, before: str) -> None:
        """Remove experiments that were deleted before that time, with their files.

        If the process ends in between, files are left that belong to nothing, and no row is left without its files.
        """
        self._drop(self.purge_deleted(before))

    def _drop(self, dropped: Sequence[str]) -> None:
        """Remove the files of runs, after the catalogue has it: rows can be rolled back, files cannot.

        All are put aside first, which is quick; what the process does not come to remove, `recover` does.
        """
        present = [folder for folder in map(self.folder, dropped) if folder.is_dir()]
        aside = [folder.rename(folder.with_name(temporary_name("dropped"))) for folder in present]
        with self._lock:
            for key in [key for key in self._growing if key[0] in dropped]:
                del self._growing[key]
        for folder in aside:
            shutil.rmtree(folder, ignore_errors=True)


class _Growing:
    """What a growing log folds into, for one reader at a time."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.fold = Fold()


def write_tables(folder: Path, tables: Mapping[str, pa.Table]) -> None:
    """Write the tables of a run into a folder of their own."""
    folder.mkdir()
    for name, table in tables.items():
        write_table(table, folder / f"{name}.parquet")


def write_manifest(folder: Path, log: Path, log_sha256: str | None) -> None:
    """Write the hashes of a run's files into its folder; its log may lie elsewhere still."""
    files = {f"log/{path.name}": path for _, path in logs.parts(log)}
    files |= {f"tables/{path.name}": path for path in sorted((folder / "tables").glob("*.parquet"))}
    manifest = {
        "manifest": MANIFEST_VERSION,
        "events": ev.SCHEMA_VERSION,
        "podshift": version("podshift"),
        "log_sha256": log_sha256,
        "files": {name: sha256(path) for name, path in files.items()},
    }
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1, sort_keys=True), encoding="utf-8")


def check_manifest(folder: Path) -> None:
    """Raises StoreError if a file of an ended run is not what it was when the run ended."""
    try:
        files = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["files"]
    except FileNotFoundError:
        return  # a run that was interrupted has none
    except (ValueError, KeyError) as error:
        raise StoreError(f"{folder / MANIFEST} cannot be read: {error}") from None
    for name, digest in files.items():
        path = folder / name
        if not path.is_file() or sha256(path) != digest:
            raise StoreError(f"{path} is missing or was changed after its run ended")
