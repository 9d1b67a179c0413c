"""Experiments and runs as the API shows them."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, Field

from backend.store.rows import OPEN, ExperimentRow, RunRow, RunStatus
from backend.store.store import Store

_SHOWN = ("makespan_s", "mean_completion_s")
"""Numbers of an experiment's arms that a list shows."""


class Progress(BaseModel):
    """How far a run is."""

    time_s: float = Field(description="simulated seconds since the run began")
    jobs_done: int
    jobs: int
    fraction: float = Field(description="0 to 1")
    eta_s: float | None = Field(description="estimated seconds left")
    events: int


class RunEntry(BaseModel):
    """A run in a list."""

    id: str
    arm: str
    seed: int
    status: RunStatus
    progress: Progress | None
    error: str | None


class Experiment(BaseModel):
    """An experiment with its runs."""

    id: str
    name: str
    status: str = Field(description="running, queued or stopping while a run is; else the worst of its runs' ends")
    created_at: str = Field(description="ISO 8601, UTC")
    source: str
    arms: list[str]
    seeds: list[int]
    note: str
    tags: list[str]
    archived: bool
    jobs: int | None = Field(description="jobs of one run, where known")
    summary: dict[str, dict[str, float | None]] = Field(description="arm -> means over its runs that ended")
    runs: list[RunEntry]
    specification: dict[str, Any] | None = Field(None, description="only where one experiment is asked for")


def run_entry(row: RunRow) -> RunEntry:
    """A run in a list."""
    progress = None if row.progress is None else Progress.model_validate(row.progress, from_attributes=True)
    return RunEntry(id=row.id, arm=row.arm, seed=row.seed, status=row.status, progress=progress, error=row.error)


def experiment(store: Store, row: ExperimentRow, *, whole: bool = False) -> Experiment:
    """An experiment with its runs."""
    runs = store.runs(row.id)[0]
    return Experiment(
        id=row.id,
        name=row.name,
        status=status_of(runs),
        created_at=row.created_at,
        source=row.source,
        arms=list(dict.fromkeys(run.arm for run in runs)),
        seeds=list(dict.fromkeys(run.seed for run in runs)),
        note=row.note,
        tags=list(row.tags),
        archived=row.archived,
        jobs=_jobs(runs),
        summary=_means(runs),
        runs=[run_entry(run) for run in runs],
        specification=row.specification if whole else None,
    )


def status_of(runs: Sequence[RunRow]) -> str:
    """One word for all runs: what is still going on, or else the worst end that one of them came to."""
    found = {run.status for run in runs}
    if "running" in found or ("queued" in found and not found <= {"queued", "stopping"}):
        return "running"
    order = ("stopping", "queued", "failed", "interrupted", "stopped", "finished", "imported")
    return next((status for status in order if status in found), "finished")


def _jobs(runs: Sequence[RunRow]) -> int | None:
    for run in runs:
        if run.summary is not None and run.status not in OPEN:
            return int(run.summary.get("jobs", 0))
        if run.progress is not None and run.progress.jobs:
            return run.progress.jobs
    return None


def _means(runs: Sequence[RunRow]) -> dict[str, dict[str, float | None]]:
    """Means over the runs that came to their own end: a stopped run's makespan is none."""
    means: dict[str, dict[str, float | None]] = {}
    for arm in dict.fromkeys(run.arm for run in runs):
        ended = [r.summary for r in runs if r.arm == arm and r.status in ("finished", "imported") and r.summary]
        means[arm] = {}
        for name in _SHOWN:
            values = [value for summary in ended if (value := summary.get(name)) is not None]
            means[arm][name] = sum(values) / len(values) if values else None
    return means
