"""What a comparison measures on one run: its jobs as rows, its numbers, the CPU use of its nodes.

Times are seconds since the run began. A job's completion time is from submission to its last finish
(specon-procon.md 4.14), the makespan from first submission to last finish (4.15).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from backend.experiments.specification import Specification
from backend.experiments.statistics import Floats
from backend.folds.summary import summarise

ENDED = ("finished", "imported")
"""States of a run that came to its own end."""
UNDER_WAY = ("queued", "running", "stopping")


@dataclass(frozen=True)
class RunData:
    """A run as a comparison takes it."""

    row: Mapping[str, Any]
    """Of the catalogue: id, experiment, arm, seed, status, and summary where there is one."""
    specification: Specification | None
    """None for an imported run that has none."""
    tables: Mapping[str, Any]
    """Tables of backend.folds by name, as pyarrow tables or as columns; `jobs` is needed, `usage` and `nodes` are
    used where they are there."""


@dataclass(frozen=True)
class Measure:
    """A number that every run has, and how to read a difference of it."""

    name: str
    label: str
    unit: str
    better: Literal["lower", "higher"]
    sign: str
    """What a negative or positive difference means."""
    per_job: bool = False
    """Computed from the completion times of jobs, which must be the same jobs on both sides."""


_FASTER = "negative = B is faster"
MEASURES = (
    Measure("makespan_s", "Makespan", "s", "lower", _FASTER),
    Measure("mean_completion_s", "Mean completion time", "s", "lower", _FASTER, True),
    Measure("median_completion_s", "Median completion time", "s", "lower", _FASTER, True),
    Measure("p95_completion_s", "95th percentile of completion times", "s", "lower", _FASTER, True),
    Measure("max_completion_s", "Longest completion time", "s", "lower", _FASTER, True),
    Measure("sum_completion_s", "Sum of completion times", "s", "lower", _FASTER, True),
    Measure(
        "mean_waiting_s", "Mean time from submission to start", "s", "lower", "negative = B starts jobs sooner", True
    ),
    Measure("downtime_s", "Downtime of all jobs", "s", "lower", "negative = B interrupts less"),
    Measure("migrations", "Migrations", "", "lower", "negative = B migrates less"),
    Measure("rolled_back", "Migrations rolled back", "", "lower", "negative = B rolls back less"),
    Measure("lost_core_s", "Wasted work", "core-s", "lower", "negative = B wastes less"),
    Measure("core_s", "CPU time consumed", "core-s", "lower", "negative = B consumes less"),
    Measure(
        "cpu_share_mean", "CPU use of the cluster over the makespan", "share", "higher", "positive = B uses more of it"
    ),
    Measure("fairness_jain", "Fairness of job speeds (Jain)", "", "higher", "positive = B is fairer"),
)


@dataclass(frozen=True)
class JobRow:
    """One job of one run."""

    job: str
    workload: str
    submitted_s: float | None
    completion_s: float | None
    """None unless it finished."""
    waiting_s: float | None
    downtime_s: float
    migrations: int
    first_node: str | None
    outcome: str


@dataclass(frozen=True)
class NodeUse:
    """CPU use of a node from the first submission to the last end of the run's jobs."""

    core_s: float
    share: float | None
    """Of its capacity over that time."""


@dataclass
class Measured:
    """A run with its jobs and numbers read out of its tables."""

    data: RunData
    jobs: dict[str, JobRow] = field(default_factory=dict)
    summary: Mapping[str, Any] = field(default_factory=dict)
    nodes: dict[str, NodeUse] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """Name of the run."""
        return str(self.data.row.get("id", ""))

    @property
    def arm(self) -> str:
        """Name of its arm."""
        return str(self.data.row.get("arm", ""))

    @property
    def seed(self) -> int | None:
        """Its seed; None for an imported run."""
        seed: int | None = self.data.row.get("seed")
        return seed

    @property
    def status(self) -> str:
        """Its state in the catalogue."""
        return str(self.data.row.get("status", "finished"))

    @property
    def complete(self) -> bool:
        """Whether the run came to its own end."""
        return self.status in ENDED

    @property
    def finished(self) -> dict[str, JobRow]:
        """The jobs that finished."""
        return {name: row for name, row in self.jobs.items() if row.completion_s is not None}


def measure(data: RunData) -> Measured:
    """Read a run's tables."""
    measured = Measured(data)
    measured.jobs = {row.job: row for row in _job_rows(columns(data.tables["jobs"]))}
    measured.summary = data.row.get("summary") or summarise(data.tables)
    measured.nodes = _node_use(data.tables, measured)
    return measured


def columns(table: Any) -> dict[str, list[Any]]:
    """A table as lists, from a pyarrow table or from columns."""
    if hasattr(table, "to_pydict"):
        read: dict[str, list[Any]] = table.to_pydict()
        return read
    return {name: list(values) for name, values in table.items()}


def values_of(run: Measured, jobs: Iterable[str]) -> dict[str, float | None]:
    """Every measure of MEASURES for a run; the per-job ones over the finished jobs named."""
    rows = [run.jobs[name] for name in jobs]
    times = np.array([row.completion_s for row in rows], float)
    waits = [row.waiting_s for row in rows if row.waiting_s is not None]
    values: dict[str, float | None] = {one.name: _number(run.summary.get(one.name)) for one in MEASURES}
    values["mean_waiting_s"] = float(np.mean(waits)) if waits else None
    some = len(times) > 0
    values["mean_completion_s"] = float(times.mean()) if some else None
    values["median_completion_s"] = float(np.median(times)) if some else None
    values["p95_completion_s"] = float(np.percentile(times, 95)) if some else None
    values["max_completion_s"] = float(times.max()) if some else None
    values["sum_completion_s"] = float(times.sum()) if some else None
    if not run.complete:
        values["makespan_s"] = values["cpu_share_mean"] = None
    return values


def _number(value: Any) -> float | None:
    if value is None or isinstance(value, bool):
        return None
    number = float(value)
    return number if np.isfinite(number) else None


def _job_rows(jobs: Mapping[str, Sequence[Any]]) -> Iterable[JobRow]:
    count = len(jobs["job"])

    def column(name: str) -> Sequence[Any]:
        return jobs.get(name) or [None] * count

    for job, workload, submitted, completion, waiting, downtime, migrations, node, outcome in zip(
        jobs["job"],
        column("workload"),
        column("submitted_s"),
        column("completion_s"),
        column("waiting_s"),
        column("downtime_s"),
        column("migrations"),
        column("first_node"),
        column("outcome"),
        strict=True,
    ):
        yield JobRow(
            job=job,
            workload=workload or "",
            submitted_s=_number(submitted),
            completion_s=_number(completion),
            waiting_s=_number(waiting),
            downtime_s=_number(downtime) or 0.0,
            migrations=int(migrations or 0),
            first_node=node or None,
            outcome=outcome or ("finished" if completion is not None else "unfinished"),
        )


def _node_use(tables: Mapping[str, Any], run: Measured) -> dict[str, NodeUse]:
    """Integral of each node's CPU samples. A sample is the mean since the one before it (UsageSampled), or since the
    node joined. What lies behind the last sample is not in it."""
    usage = tables.get("usage")
    if usage is None:
        return {}
    begin, end = _number(run.summary.get("first_submitted_s")), _number(run.summary.get("last_ended_s"))
    names, times = _array(usage, "node", str), _array(usage, "time_s", float)
    used, capacity = _array(usage, "cpu_millis", float), _array(usage, "capacity_millis", float)
    if not len(times):
        return {}
    begin = 0.0 if begin is None else begin
    end = float(times.max()) if end is None else end
    joined: dict[str, list[float]] = {}
    """Node -> when it joined; again if it left and came back."""
    if tables.get("nodes") is not None:
        of_nodes = columns(tables["nodes"])
        for name, time in sorted(zip(of_nodes["node"], of_nodes["joined_s"], strict=True)):
            joined.setdefault(name, []).append(time)
    result = {}
    for name in dict.fromkeys(names.tolist()):
        mine = names == name
        stops: Floats = times[mine]
        starts = np.concatenate([[0.0], stops[:-1]])
        if name in joined:
            since = np.array(joined[name], float)
            starts = np.maximum(starts, since[np.maximum(np.searchsorted(since, stops, side="right") - 1, 0)])
        lengths = np.clip(np.minimum(stops, end) - np.maximum(starts, begin), 0.0, None)
        core_s = float((used[mine] * lengths).sum() / 1000.0)
        offered = float((capacity[mine] * lengths).sum() / 1000.0)
        result[str(name)] = NodeUse(core_s, core_s / offered if offered > 0 else None)
    return result


def _array(table: Any, name: str, kind: type) -> Any:
    column = table[name]
    values = column.to_numpy() if hasattr(column, "to_numpy") else column
    return np.asarray(values, dtype=object if kind is str else kind)
