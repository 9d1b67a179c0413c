"""ClusterState: what the events of a log add up to.

`apply` is the only place where state changes. A state rebuilt from a log equals the state that was kept while the
log was written (tests/unit/model/test_state.py).
"""

from collections.abc import Callable
from typing import Any, Literal

from backend.model import events as ev
from backend.model.node_table import NodeTable
from backend.model.objects import Job, Pod

PodPhase = Literal["pending", "reserved", "bound", "running"]
JobPhase = Literal["pending", "running", "migrating", "finished", "failed"]


POD_FIELDS = (
    "bound_at",
    "category",
    "cpu_millis",
    "created_at",
    "iteration",
    "iteration_s",
    "job",
    "node",
    "phase",
    "pod",
    "started_at",
    "value",
)


class PodRecord:
    """An active pod. Ended pods leave the state; their story is in the log."""

    __slots__ = POD_FIELDS

    def __init__(self, pod: Pod, job: Job, created_at: float) -> None:
        self.pod = pod
        self.job = job
        self.node: str | None = None
        self.phase: PodPhase = "pending"
        self.created_at = created_at
        self.bound_at: float | None = None
        self.started_at: float | None = None
        self.iteration = 0.0
        self.value: float | None = None
        self.cpu_millis = 0.0
        self.iteration_s = 0.0
        self.category: ev.Category = "progressing"


JOB_FIELDS = (
    "ended_at",
    "incarnations",
    "job",
    "kept_iteration",
    "migrated_at",
    "migrations",
    "phase",
    "pod",
    "submitted_at",
)


class JobRecord:
    """A job, from submission on; ended jobs stay."""

    __slots__ = JOB_FIELDS

    def __init__(self, job: Job, submitted_at: float) -> None:
        self.job = job
        self.phase: JobPhase = "pending"
        self.submitted_at = submitted_at
        self.ended_at: float | None = None
        self.pod: str | None = None
        """Name of its active pod."""
        self.incarnations = 0
        """Pods created for it so far."""
        self.migrations = 0
        """Migrations that reached their target."""
        self.migrated_at: float | None = None
        self.kept_iteration = 0.0
        """Iterations its last checkpoint holds."""


class ClusterState:
    """Nodes, pods and jobs at the time of the last event applied."""

    def __init__(self) -> None:
        self.time = 0.0
        self.nodes = NodeTable()
        self.pods: dict[str, PodRecord] = {}
        """Active pods by name, in the order of their creation."""
        self.jobs: dict[str, JobRecord] = {}
        self.pods_on: dict[str, dict[str, PodRecord]] = {}
        """Node -> its active pods (reserved, bound or running) by name."""
        self.nodes.jobs_on = self._jobs_on
        self.migrations: dict[int, ev.MigrationStarted] = {}
        """Migrations under way."""
        self.paused_by: str | None = None
        """Who has policies begin no migrations; None while they may."""
        self._apply: dict[type[ev.Event], Callable[[Any], None]] = {
            ev.NodeAdded: self._node_added,
            ev.NodeChanged: self._node_changed,
            ev.NodeRemoved: self._node_removed,
            ev.JobSubmitted: self._job_submitted,
            ev.JobFinished: self._job_finished,
            ev.JobFailed: self._job_failed,
            ev.PodCreated: self._pod_created,
            ev.DecisionMade: self._decision_made,
            ev.PodBound: self._pod_bound,
            ev.BindFailed: self._bind_failed,
            ev.PodStarted: self._pod_started,
            ev.PodFinished: self._pod_finished,
            ev.PodEvicted: self._pod_evicted,
            ev.ProgressReported: self._progress_reported,
            ev.ImagePulled: self._image_pulled,
            ev.ImageRemoved: self._image_removed,
            ev.CatalogueDeclared: self._catalogue_declared,
            ev.CategoryChanged: self._category_changed,
            ev.MigrationStarted: self._migration_started,
            ev.MigrationFinished: self._migration_finished,
            ev.MigrationRolledBack: self._migration_rolled_back,
            ev.MigrationsPaused: self._migrations_paused,
        }

    def apply(self, event: ev.Event) -> None:
        """Move to the state after the event. Events for unknown pods or jobs change nothing."""
        self.time = event.time
        change = self._apply.get(type(event))
        if change is not None:
            change(event)

    def running_on(self, node: str) -> int:
        """Pods bound to, reserved or running on a node."""
        return len(self.pods_on.get(node, ()))

    def _jobs_on(self, node: str) -> list[Job]:
        return [record.job for record in self.pods_on.get(node, {}).values()]

    def as_dict(self) -> dict[str, Any]:
        """The whole state as plain values, for comparison and for snapshots."""
        table = self.nodes
        return {
            "time": self.time,
            "nodes": {
                name: {
                    "node": table.nodes[row],
                    "present": bool(table.present[row]),
                    "requested_cpu_millis": int(table.requested_cpu_millis[row]),
                    "requested_memory_bytes": int(table.requested_memory_bytes[row]),
                    "pods": sorted(self.pods_on.get(name, ())),
                }
                for name, row in table.row_of.items()
            },
            "pods": {n: {s: getattr(p, s) for s in POD_FIELDS} for n, p in self.pods.items()},
            "jobs": {n: {s: getattr(j, s) for s in JOB_FIELDS} for n, j in self.jobs.items()},
            "migrations": dict(self.migrations),
        }

    # -- nodes

    def _node_added(self, event: ev.NodeAdded) -> None:
        row = self.nodes.put_node(event.node)
        for image in event.node.images:
            self.nodes.hold_image(row, image)
        self.pods_on.setdefault(event.node.name, {})

    def _node_changed(self, event: ev.NodeChanged) -> None:
        row = self.nodes.row_of.get(event.node.name)
        if row is not None and self.nodes.present[row]:
            self.nodes.put_node(event.node)

    def _node_removed(self, event: ev.NodeRemoved) -> None:
        if event.node in self.nodes.row_of:
            self.nodes.remove_node(event.node)

    def _image_pulled(self, event: ev.ImagePulled) -> None:
        row = self.nodes.row_of.get(event.node)
        if row is not None and self.nodes.present[row]:
            self.nodes.hold_image(row, event.image)

    def _image_removed(self, event: ev.ImageRemoved) -> None:
        row = self.nodes.row_of.get(event.node)
        if row is not None:
            self.nodes.forget_image(row, event.image)

    def _catalogue_declared(self, event: ev.CatalogueDeclared) -> None:
        self.nodes.facts.declare(event.images, event.buckets, event.objects, event.bandwidth)
        self.nodes.version += 1

    def _migrations_paused(self, event: ev.MigrationsPaused) -> None:
        self.paused_by = event.by if event.paused else None

    # -- jobs

    def _job_submitted(self, event: ev.JobSubmitted) -> None:
        self.jobs[event.job.name] = JobRecord(event.job, event.time)

    def _job_finished(self, event: ev.JobFinished) -> None:
        self._end_job(event.job, "finished", event.time)

    def _job_failed(self, event: ev.JobFailed) -> None:
        self._end_job(event.job, "failed", event.time)

    def _end_job(self, name: str, phase: JobPhase, time: float) -> None:
        record = self.jobs.get(name)
        if record is not None:
            record.phase = phase
            record.ended_at = time

    # -- pods

    def _pod_created(self, event: ev.PodCreated) -> None:
        job = self.jobs.get(event.pod.job)
        if job is None:
            return
        self.pods[event.pod.name] = PodRecord(event.pod, job.job, event.time)
        job.pod = event.pod.name
        job.incarnations += 1

    def _decision_made(self, event: ev.DecisionMade) -> None:
        record = self.pods.get(event.pod)
        if event.node is not None and record is not None and record.phase == "pending":
            self._reserve(record, event.node)

    def _pod_bound(self, event: ev.PodBound) -> None:
        record = self.pods.get(event.pod)
        if record is None:
            return
        if record.node != event.node:
            self._release(record)
            self._reserve(record, event.node)
        record.phase = "bound"
        record.bound_at = event.time

    def _bind_failed(self, event: ev.BindFailed) -> None:
        record = self.pods.get(event.pod)
        if record is not None and record.phase == "reserved" and record.node == event.node:
            self._release(record)
            record.phase = "pending"

    def _pod_started(self, event: ev.PodStarted) -> None:
        record = self.pods.get(event.pod)
        if record is None:
            return
        record.phase = "running"
        record.started_at = event.time
        record.iteration = event.iteration
        job = self.jobs[record.pod.job]
        if job.phase == "pending":
            job.phase = "running"

    def _pod_finished(self, event: ev.PodFinished) -> None:
        self._end_pod(event.pod)

    def _pod_evicted(self, event: ev.PodEvicted) -> None:
        record = self._end_pod(event.pod)
        if record is not None:
            job = self.jobs[record.pod.job]
            job.kept_iteration = event.kept_iteration
            if job.phase == "running":
                job.phase = "pending"

    def _reserve(self, record: PodRecord, node: str) -> None:
        record.node = node
        record.phase = "reserved"
        self.pods_on.setdefault(node, {})[record.pod.name] = record
        row = self.nodes.row_of.get(node)
        if row is not None:
            self.nodes.place(row, record.job)

    def _release(self, record: PodRecord) -> None:
        if record.node is None:
            return
        del self.pods_on[record.node][record.pod.name]
        row = self.nodes.row_of.get(record.node)
        if row is not None:
            self.nodes.place(row, record.job, -1)
        record.node = None

    def _end_pod(self, name: str) -> PodRecord | None:
        record = self.pods.pop(name, None)
        if record is not None:
            self._release(record)
            job = self.jobs[record.pod.job]
            if job.pod == name:
                job.pod = None
        return record

    # -- training and migration

    def _progress_reported(self, event: ev.ProgressReported) -> None:
        pods = self.pods
        for name, iteration, value, cpu, seconds in zip(
            event.pods, event.iterations, event.values, event.cpu_millis, event.iteration_s, strict=True
        ):
            record = pods.get(name)
            if record is not None:
                record.iteration = iteration
                record.value = value
                record.cpu_millis = cpu
                record.iteration_s = seconds

    def _category_changed(self, event: ev.CategoryChanged) -> None:
        record = self.pods.get(event.pod)
        if record is not None:
            record.category = event.after

    def _migration_started(self, event: ev.MigrationStarted) -> None:
        job = self.jobs.get(event.job)
        if job is not None:
            self.migrations[event.migration] = event
            job.phase = "migrating"

    def _migration_finished(self, event: ev.MigrationFinished) -> None:
        job = self.jobs.get(event.job)
        if self.migrations.pop(event.migration, None) is not None and job is not None:
            job.migrations += 1
            job.migrated_at = event.time
            job.phase = "running"

    def _migration_rolled_back(self, event: ev.MigrationRolledBack) -> None:
        self.migrations.pop(event.migration, None)
        job = self.jobs.get(event.job)
        if job is not None and job.phase == "migrating":
            active = self.pods.get(job.pod or "")
            job.phase = "running" if active is not None and active.phase == "running" else "pending"
