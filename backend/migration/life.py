"""The life of a migration: A4 of specon-procon.md section 1.6, as a state machine over events and actions.

    begin -> stopping -> starting -> finished
                 |           |
                 |           +-> returning -> back on the source (rolled back)
                 +-> rolled back: the job ended first, the target was lost, or the old pod does not stop

A pod is created only when the one before it is gone, so that a job never runs twice at a time.
"""

from collections.abc import Callable, Iterable
from typing import Any, Literal

from pydantic import Field

from backend.migration.names import PodNames
from backend.model import events as ev
from backend.model.actions import Action, CreatePod, DeletePod, Wake
from backend.model.fields import Parameters, PositiveSeconds, Seconds
from backend.model.objects import Pod
from backend.model.state import ClusterState

Outcome = ev.Event | Action


class LifeParameters(Parameters):
    """How long a migration waits."""

    grace_s: Seconds = Field(
        30.0, description="seconds that a pod is given to write its checkpoint and stop; Kubernetes' default is 30"
    )
    start_timeout_s: PositiveSeconds = Field(
        300.0,
        description="seconds for the new pod to run, its image pulled and its checkpoint loaded, and for the old one "
        "to be gone after its grace; then the migration is rolled back",
    )


class _Migration:
    """One migration that is not over."""

    __slots__ = ("intent", "new_pod", "phase")

    def __init__(self, intent: ev.MigrationStarted) -> None:
        self.intent = intent
        self.phase: Literal["stopping", "starting", "returning"] = "stopping"
        self.new_pod: str | None = None


class MigrationLife:
    """All migrations that are under way. The controller asks it to begin one and hands it what happens in the cluster.

    Downtime is counted from MigrationStarted, as the old pod stops working with the DeletePod that follows it, to the
    PodStarted of the new one.
    """

    def __init__(self, parameters: LifeParameters) -> None:
        self.parameters = parameters
        self.names = PodNames()
        self._last_number = 0
        self.underway: dict[str, _Migration] = {}
        self._by_pod: dict[str, _Migration] = {}
        """By the old and by the new pod."""
        self._reactions: dict[type[ev.Event], Callable[[Any, ClusterState], Iterable[Outcome]]] = {
            ev.PodEvicted: self._pod_evicted,
            ev.PodStarted: self._pod_started,
            ev.PodFinished: self._pod_finished,
            ev.TimerFired: self._timer_fired,
            ev.NodeChanged: self._node_changed,
        }

    def owns(self, job: str) -> bool:
        """Whether pods of this job that are evicted are this object's business and nobody else's."""
        return job in self.underway

    def begin(self, considered: ev.MigrationConsidered, state: ClusterState) -> Iterable[Outcome]:
        """The durable intent first, then the end of the old pod.

        Raises ValueError for a verdict that is no "migrate", a job that is in migration, or a pod that does not run
        where the verdict says it does.
        """
        job, pod, target = considered.job, considered.pod, considered.target
        if considered.verdict != "migrate" or target is None:
            raise ValueError(f"the verdict on {job} is '{considered.verdict}' to {target}: there is nothing to begin")
        if job in self.underway:
            number = self.underway[job].intent.migration
            raise ValueError(f"{job} is in migration {number} already; it can move again when that is over")
        record = state.pods.get(pod)
        if record is None or record.pod.job != job or record.node != considered.source:
            raise ValueError(f"{job} has no pod {pod} on {considered.source}: it has ended or moved meanwhile")
        self._last_number += 1
        intent = ev.MigrationStarted(
            state.time, self._last_number, job, pod, considered.source, target, considered.cause, considered.reason
        )
        self._own(_Migration(intent))
        return (intent, *self._stop(intent, state.time))

    def handle(self, event: ev.Event, state: ClusterState) -> Iterable[Outcome]:
        """What follows from an event that the state holds already; repeated and late events change nothing."""
        reaction = self._reactions.get(type(event))
        return reaction(event, state) if reaction is not None and self.underway else ()

    def recall(self, event: ev.Event) -> None:
        """Take note of an event of a log that is read again, so that no number and no name is given twice."""
        if isinstance(event, ev.PodCreated):
            self.names.recall(event.pod)
        elif isinstance(event, ev.MigrationStarted):
            self._last_number = max(self._last_number, event.migration)

    def resume(self, state: ClusterState) -> Iterable[Outcome]:
        """Go on with the migrations that a state rebuilt from a log says are under way (call `recall` on its events).

        Where the new pod exists it is waited for, where the old one is still there it is asked to stop again, and
        where there is none the new one is created; where the job has ended, or runs by another pod, it is called off.
        """
        out: list[Outcome] = []
        for intent in list(state.migrations.values()):
            record = state.jobs[intent.job]
            if intent.job in self.underway:
                continue
            migration = _Migration(intent)
            if record.ended_at is not None:
                out.append(self._rolled_back(migration, state.time, "the job had ended before the restart"))
                continue
            self._own(migration)
            active = state.pods.get(record.pod or "")
            if active is None:
                out += self._create(migration, state)
            elif active.pod.name == intent.pod:
                out += self._stop(intent, state.time)
            elif active.pod.migration == intent.migration:
                self._await(migration, active.pod.name)
                if active.phase == "running":
                    out += self._finish(migration, state.time, active.node or intent.target)
                else:
                    out.append(self._wake(intent, state.time + self.parameters.start_timeout_s))
            else:
                self._release(migration)
                out.append(self._rolled_back(migration, state.time, f"the job went on as {active.pod.name}"))
        return out

    # -- events

    def _pod_evicted(self, event: ev.PodEvicted, state: ClusterState) -> Iterable[Outcome]:
        migration = self._by_pod.get(event.pod)
        if migration is None:
            return ()
        if migration.phase == "stopping":
            return self._create(migration, state)
        if event.pod != migration.new_pod:
            return ()
        self._release(migration)
        back = self._create_back(migration, state)
        if migration.phase == "returning":
            return (back,)
        target = migration.intent.target
        return (self._rolled_back(migration, event.time, f"no pod could stay on {target}: {event.reason}"), back)

    def _pod_started(self, event: ev.PodStarted, state: ClusterState) -> Iterable[Outcome]:
        migration = self._by_pod.get(event.pod)
        if migration is None or migration.phase != "starting" or event.pod != migration.new_pod:
            return ()
        return self._finish(migration, event.time, event.node)

    def _pod_finished(self, event: ev.PodFinished, state: ClusterState) -> Iterable[Outcome]:
        migration = self._by_pod.get(event.pod)
        if migration is None or (migration.phase != "stopping" and event.pod != migration.new_pod):
            return ()
        self._release(migration)
        if migration.phase == "returning":
            return ()
        what = "finished" if event.succeeded else "failed"
        return (self._rolled_back(migration, event.time, f"{event.pod} {what} first"),)

    def _timer_fired(self, event: ev.TimerFired, state: ClusterState) -> Iterable[Outcome]:
        for migration in self.underway.values():
            intent = migration.intent
            if event.timer == _timer(intent, "stop") and migration.phase == "stopping":
                # Asked to stop, it cannot be told to go on; whoever follows evictions creates a pod once it is gone.
                self._release(migration)
                return (self._rolled_back(migration, event.time, f"{intent.pod} did not stop in time"),)
            if event.timer == _timer(intent, "start") and migration.phase == "starting":
                limit = f"{self.parameters.start_timeout_s:g} s"
                return self._call_back(migration, event.time, f"{migration.new_pod} did not run within {limit}")
        return ()

    def _node_changed(self, event: ev.NodeChanged, state: ClusterState) -> Iterable[Outcome]:
        if event.node.ready:
            return ()
        out: list[Outcome] = []
        for migration in list(self.underway.values()):
            if migration.phase == "starting" and migration.intent.target == event.node.name:
                out += self._call_back(migration, event.time, f"{event.node.name} is not ready any more")
        return out

    # -- steps

    def _stop(self, intent: ev.MigrationStarted, now: float) -> tuple[Outcome, ...]:
        grace = self.parameters.grace_s
        return (
            DeletePod(intent.pod, f"migration {intent.migration} to {intent.target}", grace),
            Wake(now + grace + self.parameters.start_timeout_s, _timer(intent, "stop")),
        )

    def _create(self, migration: _Migration, state: ClusterState) -> tuple[Outcome, ...]:
        """The old pod is gone: the new one, or if the target will not have it, one on the source."""
        intent = migration.intent
        if not _is_open(intent.target, state):
            self._release(migration)
            back = self._create_back(migration, state)
            return (self._rolled_back(migration, state.time, f"{intent.target} takes no pods any more"), back)
        name = self.names.migrated(intent.job, state)
        self._await(migration, name)
        incarnation = state.jobs[intent.job].incarnations
        return (
            CreatePod(Pod(name, intent.job, incarnation, intent.target, intent.migration)),
            self._wake(intent, state.time + self.parameters.start_timeout_s),
        )

    def _finish(self, migration: _Migration, time: float, node: str) -> tuple[Outcome, ...]:
        self._release(migration)
        intent = migration.intent
        pod = migration.new_pod or ""
        return (ev.MigrationFinished(time, intent.migration, intent.job, pod, node, time - intent.time),)

    def _call_back(self, migration: _Migration, time: float, reason: str) -> tuple[Outcome, ...]:
        """Delete the new pod; when it is gone, another one is created on the source."""
        migration.phase = "returning"
        assert migration.new_pod is not None
        return (
            self._rolled_back(migration, time, reason),
            DeletePod(migration.new_pod, f"migration {migration.intent.migration} is rolled back: {reason}", 0.0),
        )

    def _create_back(self, migration: _Migration, state: ClusterState) -> CreatePod:
        """A pod on the source; if that takes none, one without a node, for the scheduler to place."""
        intent = migration.intent
        node = intent.source if _is_open(intent.source, state) else None
        name = self.names.restarted(intent.job, state)
        return CreatePod(Pod(name, intent.job, state.jobs[intent.job].incarnations, node))

    def _rolled_back(self, migration: _Migration, time: float, reason: str) -> ev.MigrationRolledBack:
        return ev.MigrationRolledBack(time, migration.intent.migration, migration.intent.job, reason)

    def _wake(self, intent: ev.MigrationStarted, time: float) -> Wake:
        return Wake(time, _timer(intent, "start"))

    def _own(self, migration: _Migration) -> None:
        self.underway[migration.intent.job] = migration
        self._by_pod[migration.intent.pod] = migration

    def _await(self, migration: _Migration, pod: str) -> None:
        migration.phase = "starting"
        migration.new_pod = pod
        self._by_pod[pod] = migration

    def _release(self, migration: _Migration) -> None:
        self.underway.pop(migration.intent.job, None)
        self._by_pod.pop(migration.intent.pod, None)
        self._by_pod.pop(migration.new_pod or "", None)


def _timer(intent: ev.MigrationStarted, step: str) -> str:
    return f"migration-{intent.migration}-{step}"


def _is_open(node: str, state: ClusterState) -> bool:
    """Present, ready and schedulable."""
    table = state.nodes
    row = table.row_of.get(node)
    return row is not None and bool(table.present[row] and table.ready[row] and not table.unschedulable[row])
