"""From a log to its tables, in one pass and event by event, so that a growing log is folded as it grows."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar

import msgspec
import pyarrow as pa

from backend.folds.schemas import SCHEMAS
from backend.model import events as ev
from backend.model.objects import Job, Pod

NODE_LOST = "node lost"
"""The reason that clusters give for a pod that went with its node."""
BATCH_ROWS = 65_536
"""Rows of a growing table that are kept as Python objects before they are packed."""
Columns = tuple[tuple[Any, ...], ...]
Record = TypeVar("Record")
_json = msgspec.json.Encoder()


class _Rows:
    """A growing table: a list for each column, packed into an Arrow batch from time to time."""

    __slots__ = ("_batches", "_lists", "schema")

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self._lists: list[list[Any]] = [[] for _ in schema]
        self._batches: list[pa.RecordBatch] = []

    def add(self, row: tuple[Any, ...]) -> None:
        """One row, in the order of the schema."""
        for mine, value in zip(self._lists, row, strict=True):
            mine.append(value)
        self._pack()

    def extend(self, *columns: Collection[Any]) -> None:
        """Many rows, by columns."""
        for mine, column in zip(self._lists, columns, strict=True):
            mine.extend(column)
        self._pack()

    def table(self) -> pa.Table:
        """The rows so far."""
        return pa.Table.from_batches([*self._batches, _batch(self.schema, self._lists)], self.schema)

    def _pack(self) -> None:
        if len(self._lists[0]) >= BATCH_ROWS:
            self._batches.append(_batch(self.schema, self._lists))
            for column in self._lists:
                column.clear()


def _batch(schema: pa.Schema, columns: Iterable[Any]) -> pa.RecordBatch:
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _table(name: str, rows: list[tuple[Any, ...]]) -> pa.Table:
    schema = SCHEMAS[name]
    return pa.Table.from_batches([_batch(schema, zip(*rows, strict=True) if rows else [()] * len(schema))])


class _Job:
    __slots__ = (
        "core_s",
        "down_since",
        "downtime_known",
        "downtime_s",
        "ended_s",
        "first_node",
        "last_node",
        "lost_core_s",
        "migrations",
        "name",
        "outcome",
        "pods",
        "reason",
        "started_s",
        "submitted_s",
        "workload",
    )

    def __init__(self, job: Job, submitted_s: float) -> None:
        self.name = job.name
        self.workload = job.workload
        self.submitted_s = submitted_s
        self.started_s: float | None = None
        self.ended_s: float | None = None
        self.outcome = "unfinished"
        self.reason = ""
        self.downtime_s = 0.0
        self.downtime_known = True
        self.down_since: float | None = None
        """Since when a job that had begun does not run; None while it runs and before it begins."""
        self.migrations = 0
        self.pods = 0
        self.core_s = 0.0
        self.lost_core_s = 0.0
        self.first_node: str | None = None
        self.last_node: str | None = None


class _Segment:
    __slots__ = ("bound_s", "end", "end_s", "job", "node", "pod", "started_s")

    def __init__(self, pod: Pod, job: _Job) -> None:
        self.pod = pod
        self.job = job
        self.node: str | None = None
        self.bound_s: float | None = None
        self.started_s: float | None = None
        self.end_s: float | None = None
        self.end = "open"


class _Migration:
    __slots__ = ("downtime_s", "ended_s", "lost_core_s", "outcome", "outcome_reason", "started", "to_pod")

    def __init__(self, started: ev.MigrationStarted) -> None:
        self.started = started
        self.to_pod: str | None = None
        self.ended_s: float | None = None
        self.outcome = "under-way"
        self.downtime_s: float | None = None
        self.lost_core_s = 0.0
        self.outcome_reason = ""


class Fold:
    """The tables of a log. `add` each event in the order of the log; `tables` at any time.

    No event raises: what a log says of jobs, pods, nodes and migrations that it does not introduce is left out, as is
    what it says twice, and what it says of jobs that are no part of the run.

    Downtime of a job is the sum of the gaps between the moment a running pod stops working and the moment the job's
    next pod works. A pod stops working when its migration starts, or else when it is evicted.
    """

    def __init__(self) -> None:
        self.events = 0
        """Events folded so far; the sequence number of the next one."""
        self.time_s = 0.0
        """Time of the last event."""
        self._jobs: dict[str, _Job] = {}
        self._segments: list[_Segment] = []
        self._active: dict[str, _Segment] = {}
        self._migrations: dict[int, _Migration] = {}
        self._moving: dict[str, _Migration] = {}
        """Old pod -> the migration that takes it away."""
        self._nodes: dict[str, list[Any]] = {}
        """Name -> the row of its present stay."""
        self._stays: list[list[Any]] = []
        self._plain = {
            name: _Rows(SCHEMAS[name])
            for name in ("considerations", "decisions", "categories", "progress", "usage", "images")
        }
        self._folds: dict[type[ev.Event], Callable[[Any], None]] = {
            ev.NodeAdded: self._node_added,
            ev.NodeChanged: self._node_changed,
            ev.NodeRemoved: self._node_removed,
            ev.JobSubmitted: self._job_submitted,
            ev.JobFinished: self._job_finished,
            ev.JobFailed: self._job_failed,
            ev.PodCreated: self._pod_created,
            ev.PodBound: self._pod_bound,
            ev.PodStarted: self._pod_started,
            ev.PodFinished: self._pod_finished,
            ev.PodEvicted: self._pod_evicted,
            ev.DecisionMade: self._decision_made,
            ev.ProgressReported: self._progress_reported,
            ev.UsageSampled: self._usage_sampled,
            ev.WorkMeasured: self._work_measured,
            ev.ImagePulled: self._image_pulled,
            ev.CategoryChanged: self._category_changed,
            ev.MigrationConsidered: self._migration_considered,
            ev.MigrationStarted: self._migration_started,
            ev.MigrationFinished: self._migration_finished,
            ev.MigrationRolledBack: self._migration_rolled_back,
        }

    def add(self, event: ev.Event) -> None:
        """Fold one more event."""
        fold = self._folds.get(type(event))
        if fold is not None:
            fold(event)
        self.events += 1
        self.time_s = event.time

    def tables(self, names: Iterable[str] | None = None) -> dict[str, pa.Table]:
        """The tables of those names (all by default). Raises KeyError for a name that is no table."""
        makers: dict[str, Callable[[], pa.Table]] = {
            "jobs": self._job_table,
            "segments": self._segment_table,
            "migrations": self._migration_table,
            "nodes": self._node_table,
        }
        made = {}
        for name in SCHEMAS if names is None else names:
            maker = makers.get(name)
            made[name] = maker() if maker is not None else self._plain[name].table()
        return made

    # -- nodes

    def _node_added(self, event: ev.NodeAdded) -> None:
        node = event.node
        row = self._nodes.get(node.name)
        if row is not None:
            if row[1:3] == [node.cpu_millis, node.memory_bytes]:
                return
            row[4] = event.time
        row = [node.name, node.cpu_millis, node.memory_bytes, event.time, None]
        self._nodes[node.name] = row
        self._stays.append(row)

    def _node_changed(self, event: ev.NodeChanged) -> None:
        if event.node.name in self._nodes:
            self._node_added(ev.NodeAdded(event.time, event.node))

    def _node_removed(self, event: ev.NodeRemoved) -> None:
        row = self._nodes.pop(event.node, None)
        if row is not None:
            row[4] = event.time

    def _usage_sampled(self, event: ev.UsageSampled) -> None:
        columns: Columns = (event.nodes, event.cpu_millis, event.memory_bytes)
        rows, (nodes, cpu, memory) = _known(self._nodes, columns)
        self._plain["usage"].extend([event.time] * len(rows), nodes, cpu, memory, [row[1] for row in rows])

    def _image_pulled(self, event: ev.ImagePulled) -> None:
        self._plain["images"].add((event.time, event.node, event.image, event.size_bytes, event.duration_s))

    # -- jobs and pods

    def _job_submitted(self, event: ev.JobSubmitted) -> None:
        if not event.job.background:
            self._jobs.setdefault(event.job.name, _Job(event.job, event.time))

    def _job_finished(self, event: ev.JobFinished) -> None:
        self._end_job(event.job, event.time, "finished", "")

    def _job_failed(self, event: ev.JobFailed) -> None:
        self._end_job(event.job, event.time, "failed", event.reason)

    def _end_job(self, name: str, time: float, outcome: str, reason: str) -> None:
        job = self._jobs.get(name)
        if job is not None and job.ended_s is None:
            job.ended_s = time
            job.outcome = outcome
            job.reason = reason

    def _pod_created(self, event: ev.PodCreated) -> None:
        pod = event.pod
        job = self._jobs.get(pod.job)
        if job is not None and pod.name not in self._active:
            self._active[pod.name] = _Segment(pod, job)
            job.pods += 1

    def _pod_bound(self, event: ev.PodBound) -> None:
        segment = self._active.get(event.pod)
        if segment is None:
            return
        if segment.bound_s is None:
            segment.bound_s = event.time
            self._segments.append(segment)
        segment.node = event.node
        job = segment.job
        job.first_node = job.first_node or event.node
        job.last_node = event.node

    def _pod_started(self, event: ev.PodStarted) -> None:
        segment = self._active.get(event.pod)
        if segment is None:
            return
        if segment.started_s is None:
            segment.started_s = event.time
        job = segment.job
        if job.started_s is None:
            job.started_s = event.time
        if job.down_since is not None:
            job.downtime_s += event.time - job.down_since
            job.down_since = None

    def _pod_finished(self, event: ev.PodFinished) -> None:
        segment = self._end_pod(event.pod, event.time, "finished" if event.succeeded else "failed")
        if segment is not None:
            segment.job.core_s += event.core_s
            segment.job.down_since = None
        self._moving.pop(event.pod, None)

    def _pod_evicted(self, event: ev.PodEvicted) -> None:
        migration = self._moving.pop(event.pod, None)
        if migration is not None:
            migration.lost_core_s = event.lost_core_s
        if event.reason == NODE_LOST:
            end = "node-lost"
        else:
            end = "migrated" if migration is not None and migration.outcome != "rolled-back" else "deleted"
        segment = self._end_pod(event.pod, event.time, end)
        if segment is not None:
            job = segment.job
            job.core_s += event.core_s
            job.lost_core_s += event.lost_core_s
            if job.down_since is None and segment.started_s is not None:
                job.down_since = event.time

    def _work_measured(self, event: ev.WorkMeasured) -> None:
        """Last in its log: no pod that it names ends after it."""
        for pod, core_s in zip(event.pods, event.core_s, strict=True):
            segment = self._active.get(pod)
            if segment is not None:
                segment.job.core_s += core_s

    def _end_pod(self, name: str, time: float, end: str) -> _Segment | None:
        segment = self._active.pop(name, None)
        if segment is not None:
            segment.end_s = time
            segment.end = end
        return segment

    # -- decisions

    def _decision_made(self, event: ev.DecisionMade) -> None:
        segment = self._active.get(event.pod)
        detail = {
            "nodes": event.nodes,
            "totals": event.totals,
            "scores": event.scores,
            "refused": event.refused,
            "needed_images": event.needed_images,
        }
        self._plain["decisions"].add(
            (
                self.events,
                event.time,
                event.pod,
                segment.job.name if segment is not None else None,
                event.node,
                event.policy,
                event.reason,
                event.feasible,
                event.permanent,
                _json.encode(event.refused_counts).decode(),
                _json.encode(detail).decode(),
            )
        )

    def _progress_reported(self, event: ev.ProgressReported) -> None:
        columns: Columns = (event.pods, event.iterations, event.values, event.cpu_millis, event.iteration_s)
        segments, (pods, *rest) = _known(self._active, columns)
        self._plain["progress"].extend(
            [event.time] * len(segments),
            [segment.job.name for segment in segments],
            pods,
            [segment.node for segment in segments],
            *rest,
        )

    def _category_changed(self, event: ev.CategoryChanged) -> None:
        self._plain["categories"].add(
            (
                self.events,
                event.time,
                event.job,
                event.pod,
                event.node,
                event.before,
                event.after,
                event.score,
                event.previous_score,
                event.threshold,
                event.reason,
            )
        )

    def _migration_considered(self, event: ev.MigrationConsidered) -> None:
        self._plain["considerations"].add(
            (
                self.events,
                event.time,
                event.round,
                event.job,
                event.pod,
                event.source,
                event.target,
                event.verdict,
                event.cause,
                event.reason,
                event.gain,
                event.margin,
                _json.encode(event.candidates).decode(),
            )
        )

    # -- migrations

    def _migration_started(self, event: ev.MigrationStarted) -> None:
        segment = self._active.get(event.pod)
        if segment is None or segment.job.name != event.job or event.migration in self._migrations:
            return
        self._moving[event.pod] = self._migrations[event.migration] = _Migration(event)
        if segment.started_s is not None and segment.job.down_since is None:
            segment.job.down_since = event.time

    def _migration_finished(self, event: ev.MigrationFinished) -> None:
        migration = self._migrations.get(event.migration)
        if migration is None or migration.outcome != "under-way":
            return
        migration.to_pod = event.pod
        migration.ended_s = event.time
        migration.outcome = "finished"
        migration.downtime_s = event.downtime_s
        if event.downtime_s is None:
            self._jobs[migration.started.job].downtime_known = False
        self._jobs[migration.started.job].migrations += 1

    def _migration_rolled_back(self, event: ev.MigrationRolledBack) -> None:
        migration = self._migrations.get(event.migration)
        if migration is not None and migration.outcome == "under-way":
            migration.ended_s = event.time
            migration.outcome = "rolled-back"
            migration.outcome_reason = event.reason

    # -- tables

    def _job_table(self) -> pa.Table:
        rows = []
        for name, job in self._jobs.items():
            finished = job.ended_s is not None and job.outcome == "finished"
            rows.append(
                (
                    name,
                    job.workload,
                    job.submitted_s,
                    job.started_s,
                    job.ended_s,
                    job.outcome,
                    job.ended_s - job.submitted_s if finished and job.ended_s is not None else None,
                    None if job.started_s is None else job.started_s - job.submitted_s,
                    job.downtime_s if job.downtime_known else None,
                    job.migrations,
                    job.pods,
                    job.core_s,
                    job.lost_core_s,
                    job.first_node,
                    job.last_node,
                    job.reason,
                )
            )
        return _table("jobs", rows)

    def _segment_table(self) -> pa.Table:
        rows = [
            (
                one.job.name,
                one.pod.name,
                one.node,
                one.pod.incarnation,
                one.bound_s,
                one.started_s,
                one.end_s,
                one.end,
                one.pod.migration,
            )
            for one in self._segments
        ]
        return _table("segments", rows)

    def _migration_table(self) -> pa.Table:
        rows = []
        for number, one in self._migrations.items():
            start = one.started
            rows.append(
                (
                    number,
                    start.job,
                    start.pod,
                    one.to_pod,
                    start.source,
                    start.target,
                    start.cause,
                    start.reason,
                    start.time,
                    one.ended_s,
                    one.outcome,
                    one.downtime_s,
                    one.lost_core_s,
                    one.outcome_reason,
                )
            )
        return _table("migrations", rows)

    def _node_table(self) -> pa.Table:
        return _table("nodes", [tuple(row) for row in self._stays])


def _known(records: Mapping[str, Record], columns: Columns) -> tuple[list[Record], Columns]:
    """The records that the first column names, and the columns without the entries that name none."""
    found = [records.get(name) for name in columns[0]]
    known = [record for record in found if record is not None]
    if len(known) == len(found) and all(len(column) == len(found) for column in columns):
        return known, columns
    rows = [row for row in zip(found, *columns, strict=False) if row[0] is not None]
    records_, *rest = zip(*rows, strict=True) if rows else [()] * (1 + len(columns))
    return list(records_), tuple(rest)


def fold(events: Iterable[ev.Event]) -> dict[str, pa.Table]:
    """All tables of a whole log."""
    folded = Fold()
    for event in events:
        folded.add(event)
    return folded.tables()
