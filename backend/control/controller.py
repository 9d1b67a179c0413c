"""The controller: a scheduler, a migration policy and the life of migrations around one ClusterState.

It turns submissions into pods, gives pending pods their nodes, follows evictions with new pods and says how jobs end.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from backend.migration.life import MigrationLife
from backend.migration.manual import consider
from backend.migration.policy import MigrationPolicy
from backend.model import events as ev
from backend.model.actions import Action, Bind, CreatePod, DeletePod, Wake
from backend.model.objects import Pod
from backend.model.state import ClusterState
from backend.scheduling.policy import Scheduler
from backend.scheduling.queue import PendingQueue

RESTART_LIMIT = 10
"""Evictions in a row, without having run in between, after which a job is given up: the cluster keeps refusing it."""

FIRST_RETRY_S, LONGEST_RETRY_S = 1.0, 60.0
"""Seconds until a pod whose bind the cluster refused is tried again; doubled each time, as kube-scheduler does."""
RETRY = "bind "
"""Beginning of the name of the timer; the pod's name follows."""

Outcome = ev.Event | Action


class Controller:
    """Implements the Controller protocol of backend/model/seam.py. One instance controls one run."""

    def __init__(
        self,
        scheduler: Scheduler,
        migration: MigrationPolicy,
        life: MigrationLife,
        *,
        pinned: Mapping[str, str] | None = None,
        pinned_by: str = "the specification",
    ) -> None:
        """`pinned` is job -> node for first pods that no scheduler shall place; `pinned_by` says who says so."""
        self.state = ClusterState()
        self._scheduler = scheduler
        learns_nothing = getattr(scheduler.observe, "learns_nothing", False)
        self._apply = self.state.apply if learns_nothing else self._apply_and_observe
        self._migrate = None if getattr(migration.handle, "does_nothing", False) else migration.handle
        self._life = life
        self._pinned = pinned or {}
        self._pinned_by = pinned_by
        self._queue = PendingQueue()
        self._refusals: dict[str, str] = {}
        """Pod -> the reason of the last refusal that was logged."""
        self._evictions: dict[str, int] = {}
        """Job -> evictions in a row without having run."""
        self._bind_failures: dict[str, int] = {}
        """Pod -> binds in a row that the cluster refused."""
        self._reactions: dict[type[ev.Event], Callable[[Any, list[Outcome]], None]] = {
            ev.JobSubmitted: self._job_submitted,
            ev.PodCreated: self._pod_created,
            ev.PodBound: self._pod_bound,
            ev.BindFailed: self._bind_failed,
            ev.TimerFired: self._timer_fired,
            ev.PodStarted: self._pod_started,
            ev.NodeAdded: self._nodes_changed,
            ev.NodeChanged: self._nodes_changed,
            ev.MigrationAsked: self._migration_asked,
        }

    def handle(self, event: ev.Event) -> Iterable[Outcome]:
        """Apply an event; what follows from it, in order. Events among it are applied already."""
        out: list[Outcome] = []
        state = self.state
        if type(event) is ev.PodFinished or type(event) is ev.PodEvicted:
            record = state.pods.get(event.pod)  # whose pod it was is not known any more once the event is applied
            self._apply(event)
            if record is not None:
                self._pod_ended(event, record.pod.job, out)
        else:
            self._apply(event)
            reaction = self._reactions.get(type(event))
            if reaction is not None:
                reaction(event, out)
        if self._life.underway:
            self._put_all(self._life.handle(event, state), out)
        if self._migrate is not None:
            for outcome in self._migrate(event, state):
                self._put(outcome, out)
        if self._queue.due:
            self._schedule(out)
        return out

    def recall(self, event: ev.Event) -> None:
        """Take an event of a log into the state, without any outcome: for a log that another controller wrote."""
        self._apply(event)
        self._life.recall(event)

    def go_on(self) -> Iterable[Outcome]:
        """What is to be done first after `recall` of a whole log: jobs without a pod get one, pods that wait are
        placed, migrations under way go on. Events among it are applied already."""
        out: list[Outcome] = []
        state = self.state
        self._put_all(self._life.resume(state), out)
        for name, record in state.jobs.items():
            if record.ended_at is None and record.pod is None and not self._life.owns(name):
                pod = self._life.names.restarted(name, state) if record.incarnations else name
                out.append(CreatePod(Pod(pod, name, record.incarnations)))
        for waiting in state.pods.values():
            if waiting.phase == "pending":
                self._queue.add(waiting)
        self._schedule(out)
        return out

    def unfinished(self) -> Iterator[ev.JobFailed]:
        """A JobFailed for each job that has not ended, with what kept it from ending; for the end of a run."""
        for record in list(self.state.jobs.values()):
            if record.ended_at is None and not record.job.background:
                refusal = self._refusals.get(record.pod or "")
                reason = f"still waiting at the end: {refusal}" if refusal else "had not finished when the run ended"
                failed = ev.JobFailed(self.state.time, record.job.name, reason)
                self._apply(failed)
                yield failed

    def _apply_and_observe(self, event: ev.Event) -> None:
        self.state.apply(event)
        self._scheduler.observe(event, self.state)

    def _put(self, outcome: Outcome, out: list[Outcome]) -> None:
        out.append(outcome)
        if isinstance(outcome, ev.Event):
            self._apply(outcome)
            if isinstance(outcome, ev.MigrationConsidered) and outcome.verdict == "migrate":
                self._put_all(self._life.begin(outcome, self.state), out)

    def _put_all(self, outcomes: Iterable[Outcome], out: list[Outcome]) -> None:
        for outcome in outcomes:
            self._put(outcome, out)

    # -- reactions

    def _job_submitted(self, event: ev.JobSubmitted, out: list[Outcome]) -> None:
        name = event.job.name
        out.append(CreatePod(Pod(name, name, 0, self._pinned.get(name))))

    def _pod_created(self, event: ev.PodCreated, out: list[Outcome]) -> None:
        pod = event.pod
        if pod.node is None:
            record = self.state.pods.get(pod.name)
            if record is not None:
                self._queue.add(record)
        elif pod.migration is None and pod.incarnation == 0 and not self._is_background(pod.job):
            reason = f"bound to {pod.node}: {self._pinned_by} pins the first pod of {pod.job} there"
            self._put(ev.DecisionMade(event.time, pod.name, pod.node, "pinned", reason, 1, (pod.node,)), out)

    def _is_background(self, job: str) -> bool:
        record = self.state.jobs.get(job)
        return record is not None and record.job.background

    def _pod_bound(self, event: ev.PodBound, out: list[Outcome]) -> None:
        if self._bind_failures:
            self._bind_failures.pop(event.pod, None)

    def _bind_failed(self, event: ev.BindFailed, out: list[Outcome]) -> None:
        if event.pod in self.state.pods:
            failures = self._bind_failures[event.pod] = self._bind_failures.get(event.pod, 0) + 1
            delay = min(FIRST_RETRY_S * 2 ** min(failures - 1, 30), LONGEST_RETRY_S)
            out.append(Wake(event.time + delay, RETRY + event.pod))

    def _timer_fired(self, event: ev.TimerFired, out: list[Outcome]) -> None:
        if event.timer.startswith(RETRY):
            record = self.state.pods.get(event.timer.removeprefix(RETRY))
            if record is not None and record.phase == "pending":
                self._queue.discard(record.pod.name)
                self._queue.add(record)

    def _pod_started(self, event: ev.PodStarted, out: list[Outcome]) -> None:
        if self._evictions:
            record = self.state.pods.get(event.pod)
            if record is not None:
                self._evictions.pop(record.pod.job, None)

    def _pod_ended(self, event: ev.PodFinished | ev.PodEvicted, job: str, out: list[Outcome]) -> None:
        self._queue.discard(event.pod)
        self._queue.wake()
        self._refusals.pop(event.pod, None)
        self._bind_failures.pop(event.pod, None)
        if self.state.jobs[job].ended_at is not None:
            return
        if isinstance(event, ev.PodEvicted):
            if not self._life.owns(job):
                self._restart(event, job, out)
        elif event.succeeded:
            self._put(ev.JobFinished(event.time, job), out)
        else:
            self._put(ev.JobFailed(event.time, job, event.reason or "its pod failed"), out)

    def _restart(self, event: ev.PodEvicted, job: str, out: list[Outcome]) -> None:
        evictions = self._evictions[job] = self._evictions.get(job, 0) + 1
        if evictions > RESTART_LIMIT:
            reason = f"evicted {evictions} times in a row without having run; the last time: {event.reason}"
            self._put(ev.JobFailed(event.time, job, reason), out)
            return
        name = self._life.names.restarted(job, self.state)
        out.append(CreatePod(Pod(name, job, self.state.jobs[job].incarnations)))

    def _migration_asked(self, event: ev.MigrationAsked, out: list[Outcome]) -> None:
        self._put(consider(event, self.state), out)

    def _nodes_changed(self, event: ev.Event, out: list[Outcome]) -> None:
        self._queue.wake()

    def _schedule(self, out: list[Outcome]) -> None:
        queue = self._queue
        place = self._scheduler.place
        while (record := queue.next()) is not None:
            name = record.pod.name
            decision = place(record, self.state)
            if decision.node is not None:
                self._put(decision, out)
                out.append(Bind(name, decision.node))
                queue.discard(name)
                self._refusals.pop(name, None)
                continue
            if self._refusals.get(name) != decision.reason:
                # A refusal that repeats the last one word for word says nothing new; one line of it is kept.
                self._refusals[name] = decision.reason
                self._put(decision, out)
            queue.refused(record)
            if decision.permanent:
                queue.discard(name)
                self._put(ev.JobFailed(decision.time, record.pod.job, decision.reason), out)
                out.append(DeletePod(name, "the job can never be placed", 0.0))
