"""Stored runs at a Python prompt: their tables as pandas data frames, their events, their numbers."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backend.experiments.specification import Specification, parse
from backend.model.events import Event
from backend.store.home import default_home
from backend.store.rows import RunRow
from backend.store.store import Store

if TYPE_CHECKING:
    import pandas as pd


class Run:
    """A stored run. What has not been written yet is not in it; a run that is under way shows what is there."""

    def __init__(self, store: Store, row: RunRow) -> None:
        self._store = store
        self._row = row

    def __repr__(self) -> str:
        return f"<Run {self.id} ({self.status})>"

    @property
    def id(self) -> str:
        """Its id, such as "seven-jobs-7k3f.migrated.s1"."""
        return self._row.id

    @property
    def experiment(self) -> str:
        """Id of the experiment it belongs to."""
        return self._row.experiment

    @property
    def arm(self) -> str:
        """The arm it executed."""
        return self._row.arm

    @property
    def seed(self) -> int:
        """The seed it executed the arm with."""
        return self._row.seed

    @property
    def status(self) -> str:
        """ "finished", "running", "stopped" ..., as of when it was loaded."""
        return self._row.status

    @property
    def summary(self) -> dict[str, Any]:
        """Numbers of the run (backend.folds.summary); empty until it has ended."""
        return dict(self._row.summary or {})

    @property
    def log_sha256(self) -> str | None:
        """Hash of its event log; equal for equal specifications, arms and seeds."""
        return self._row.log_sha256

    @property
    def specification(self) -> Specification | None:
        """What was run; None for an import without one."""
        stored = self._store.experiment(self.experiment).specification
        return None if stored is None else parse(stored)

    def table(self, name: str) -> "pd.DataFrame":
        """A table: jobs, segments, migrations, considerations, decisions, categories, progress, usage, nodes, images.

        Times are seconds since the run began; what is not known is missing. Raises KeyError for another name.
        """
        frame: pd.DataFrame = self._store.table(self.id, name).to_pandas()
        return frame

    def events(self) -> Iterator[Event]:
        """Its event log, from the first event on."""
        return self._store.read_log(self.id)


def load_run(run: str, *, home: str | Path | None = None) -> Run:
    """The run of that id, from the store in `home` (PODSHIFT_HOME, or the user's data folder). Raises KeyError."""
    store = _store(home)
    return Run(store, store.run(run))


def runs(experiment: str | None = None, *, home: str | Path | None = None) -> list[Run]:
    """The newest 1,000 runs, newest first; or all runs of an experiment, in the order of their creation."""
    store = _store(home)
    rows, _ = store.runs(experiment, limit=1_000) if experiment is None else store.runs(experiment)
    return [Run(store, row) for row in rows]


def _store(home: str | Path | None) -> Store:
    return Store(default_home() if home is None else Path(home))
