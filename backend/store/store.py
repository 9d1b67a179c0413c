"""Store: the catalogue and the files beside it, under one folder."""

import json
import shutil
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from backend.folds.schemas import SCHEMAS
from backend.folds.tables import Fold
from backend.model import events as ev
from backend.store import logs
from backend.store.catalogue import Catalogue
from backend.store.errors import FinishedError, UnknownError
from backend.store.files import remove_leftovers, sha256, whole_folder, write_whole
from backend.store.logs import LogWriter
from backend.store.rows import OPEN, RunStatus, check_id

__all__ = ["LogWriter", "Store"]

MANIFEST_VERSION = 1
FOLDS_KEPT = 16
"""Growing runs whose folds are kept in memory for readers."""


class Store(Catalogue):
    """What is kept of experiments. `home` holds podshift.db (unless `url` names another database) and runs/<run>/.

    A run's folder holds log/ (parts, see logs.py) and, once it has ended, tables/ and manifest.json with the hash of
    every file. A run that has ended is never written again.
    """

    def __init__(self, home: Path, url: str | None = None) -> None:
        self.home = home
        self.url = url
        (home / "runs").mkdir(parents=True, exist_ok=True)
        super().__init__(home, url)
        self._lock = threading.Lock()
        self._folds: OrderedDict[str, Fold] = OrderedDict()

    def folder(self, run: str) -> Path:
        """Where the files of a run are."""
        return self.home / "runs" / check_id(run)

    # -- logs

    def log_writer(self, run: str) -> LogWriter:
        """The log of a run that has not ended, to be written from its beginning. Raises FinishedError."""
        if self.run(run).status not in OPEN:
            raise FinishedError(f"run '{run}' has ended; its log does not change any more")
        return LogWriter(self.folder(run) / "log")

    def read_log(self, run: str, start: int = 0) -> Iterator[ev.Event]:
        """The events of a run from a sequence number on; of a growing run, those that were flushed."""
        self.run(run)
        return logs.read(self.folder(run) / "log", start)

    def log_size(self, run: str) -> int:
        """Events that can be read."""
        return logs.size(self.folder(run) / "log")

    # -- tables

    def table(self, run: str, name: str) -> pa.Table:
        """A table of a run: from its files if it has ended, else folded from the log so far. Raises UnknownError."""
        if name not in SCHEMAS:
            raise UnknownError(f"there is no table '{name[:60]}'; there are {', '.join(SCHEMAS)}")
        file = self.folder(run) / "tables" / f"{name}.parquet"
        if self.run(run).status not in OPEN and file.is_file():
            return pq.read_table(file)
        return self._folded(run, name)

    def tables(self, run: str) -> dict[str, pa.Table]:
        """All tables of a run."""
        return {name: self.table(run, name) for name in SCHEMAS}

    def _folded(self, run: str, name: str) -> pa.Table:
        with self._lock:
            fold = self._folds.pop(run, None) or Fold()
            self._folds[run] = fold
            while len(self._folds) > FOLDS_KEPT:
                self._folds.popitem(last=False)
            for event in logs.read(self.folder(run) / "log", fold.events):
                fold.add(event)
            return fold.tables([name])[name]

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
    ) -> None:
        """Write tables and manifest, then mark the run as ended. Raises FinishedError if it has ended."""
        if self.run(run).status not in OPEN:
            raise FinishedError(f"run '{run}' has ended; what is recorded of it does not change any more")
        folder = self.folder(run)
        folder.mkdir(parents=True, exist_ok=True)
        # Left by a process that died between writing them and marking the row: not yet anybody's.
        shutil.rmtree(folder / "tables", ignore_errors=True)
        with whole_folder(folder / "tables") as temporary:
            for name, table in tables.items():
                pq.write_table(table, temporary / f"{name}.parquet", compression="zstd", compression_level=1)
        self.write_manifest(run, log_sha256)
        with self._lock:
            self._folds.pop(run, None)
        self.end_run(run, status, summary=summary, log_sha256=log_sha256, error=error)

    def write_manifest(self, run: str, log_sha256: str | None) -> None:
        """Write the hashes of a run's files."""
        folder = self.folder(run)
        files = sorted(path for part in ("log", "tables") for path in (folder / part).glob("[!.]*.parquet"))
        manifest = {
            "manifest": MANIFEST_VERSION,
            "events": ev.SCHEMA_VERSION,
            "podshift": version("podshift"),
            "log_sha256": log_sha256,
            "files": {path.relative_to(folder).as_posix(): sha256(path) for path in files},
        }
        text = json.dumps(manifest, indent=1, sort_keys=True)
        write_whole(folder / "manifest.json", lambda temporary: _write_text(temporary, text))

    def recover(self) -> list[str]:
        """After a crash: mark runs that no process executes any more as interrupted, keep what they recorded.

        Call it when no runner of this store is alive but those whose runs are under way in living processes.
        """
        remove_leftovers(self.home / "runs")
        marked = []
        for run in self.abandoned():
            try:
                self.end_run(run, "interrupted", error="The process that executed it ended before the run did.")
            except FinishedError:
                continue
            marked.append(run)
        return marked

    def reset_run(self, run: str) -> None:
        """Queue an interrupted or failed run again; what it had recorded is dropped."""
        self.requeue_run(run)
        shutil.rmtree(self.folder(run), ignore_errors=True)

    def purge(self, before: str) -> None:
        """Remove experiments that were deleted before that time, with their files."""
        for run in self.purge_deleted(before):
            shutil.rmtree(self.folder(run), ignore_errors=True)


def _write_text(path: Path, text: str) -> None:
    path.write_text(text)
