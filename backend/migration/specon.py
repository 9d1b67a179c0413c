"""SpeCon: jobs that have converged make room for those that still progress (specon-procon.md section 1.6, A1 to A3)."""

from collections.abc import Callable, Iterable
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, Field

from backend.migration.categories import Classifier
from backend.migration.picture import Picture
from backend.migration.planner import Planner, PlannerParameters, Purpose, Round
from backend.migration.progress import Mode, ProgressMeter
from backend.migration.purposes import FillIdle, HelpProgressing
from backend.migration.rhythm import Rhythm
from backend.model import events as ev
from backend.model.actions import Action
from backend.model.fields import Amount, Count, Fraction, Period, Seconds
from backend.model.state import ClusterState, PodRecord

Outcome = ev.Event | Action


def _no_grace(value: int) -> int:
    if value == 1:
        raise ValueError("must be 0 (off) or at least 2: one slow score only puts a job into watching")
    return value


class SpeConParameters(PlannerParameters):
    """Everything that may be set; alpha and interval are what the authors call the two parameters of the paper."""

    alpha: Amount = Field(0.1, description="a score not above it is slow; 0.1 is the authors' value")
    interval: Period = Field(10.0, description="seconds between two looks of the monitors; the authors' 10")
    mode: Mode = Field(
        "relative",
        description="scale of the score: relative to the job's own fastest progress, raw per second, per interval, "
        "flowcon (value / largest value, per second), growth (flowcon / share of the node's CPU)",
    )
    patience: Annotated[Count, AfterValidator(_no_grace)] = Field(
        3, description="slow scores in a row after which a job has converged even if they do not fall; 0: never so"
    )
    nearly_finished_factor: Amount = Field(
        2.0, description="a job with less work left than this many times migration_cost stays; 0: no such rule"
    )
    migration_cost: Seconds = Field(
        15.0, description="seconds that a migration is taken to cost: stop, write and load a checkpoint, start"
    )
    rebalance: bool = Field(
        False,
        description="in a round without a move, fill an idle node with a job that is not progressing from the fullest "
        "one; a reconstruction that the authors' log does not show, so off, and reported under its own cause",
    )
    low_cpu: Fraction = Field(0.1, description="a node that uses less than this part of its CPU is idle (rebalance)")


class _Watched:
    """What is known of one job over all its incarnations."""

    __slots__ = ("capacity_millis", "classifier", "job", "meter", "node", "pod", "since")

    def __init__(self, job: str, mode: Mode, interval: float) -> None:
        self.job = job
        self.meter = ProgressMeter(mode, interval)
        self.classifier = Classifier()
        self.since = 0.0
        """Time of the last change of category."""
        self.pod = self.node = ""
        self.capacity_millis = 0


class SpeCon:
    """A monitor over all nodes every `interval`, a planner's round every `round`.

    A job keeps its peaks, scores and category when a new pod follows an old one; the windows begin anew. A refusal is
    logged when a job's verdict is another than the last time, or when it has converged anew.
    """

    Parameters: ClassVar[type[BaseModel]] = SpeConParameters

    def __init__(self, parameters: BaseModel) -> None:
        """`parameters` is a SpeConParameters."""
        assert isinstance(parameters, SpeConParameters)
        self.parameters = parameters
        self._planner = Planner(parameters)
        self._help = HelpProgressing(parameters.nearly_finished_factor, parameters.migration_cost)
        self._fill = FillIdle(parameters.nearly_finished_factor, parameters.migration_cost, parameters.low_cpu)
        self._rhythm = Rhythm("specon", parameters.interval, parameters.round)
        self._jobs: dict[str, _Watched] = {}
        self._running: dict[str, _Watched] = {}
        """By pod."""
        self._meters: dict[str, ProgressMeter] = {}
        """By pod: what a report needs, one look-up a sample."""
        self._slow: dict[str, _Watched] = {}
        """By job: those that are watching or converged."""
        self._usage: dict[str, float] = {}
        self._reactions: dict[type[ev.Event], Callable[[Any, ClusterState], Iterable[Outcome]]] = {
            ev.PodBound: self._pod_bound,
            ev.PodStarted: self._pod_started,
            ev.PodFinished: self._pod_finished,
            ev.PodEvicted: self._pod_evicted,
            ev.NodeRemoved: self._node_removed,
            ev.ProgressReported: self._progress_reported,
            ev.UsageSampled: self._usage_sampled,
            ev.TimerFired: self._timer_fired,
        }

    def handle(self, event: ev.Event, state: ClusterState) -> Iterable[Outcome]:
        """See MigrationPolicy."""
        reaction = self._reactions.get(type(event))
        return reaction(event, state) if reaction is not None else ()

    # -- what happens in the cluster

    def _pod_bound(self, event: ev.PodBound, state: ClusterState) -> Iterable[Outcome]:
        watched = self._slow.get(state.pods[event.pod].pod.job) if self._slow and event.pod in state.pods else None
        if watched is None:
            return ()
        classifier = watched.classifier
        changed = ev.CategoryChanged(
            time=event.time,
            job=watched.job,
            pod=event.pod,
            node=event.node,
            before="progressing",
            after=classifier.category,
            score=classifier.score or 0.0,
            previous_score=classifier.previous_score,
            threshold=self.parameters.alpha,
            reason=f"{watched.job} keeps the category of its pod before",
        )
        return (changed,)

    def _pod_started(self, event: ev.PodStarted, state: ClusterState) -> Iterable[Outcome]:
        record = state.pods.get(event.pod)
        if record is None:
            return ()
        job = record.pod.job
        watched = self._jobs.get(job)
        if watched is None:
            watched = self._jobs[job] = _Watched(job, self.parameters.mode, self.parameters.interval)
        else:
            watched.meter.restart()
        watched.pod, watched.node = event.pod, event.node
        row = state.nodes.row_of.get(event.node)
        watched.capacity_millis = int(state.nodes.cpu_millis[row]) if row is not None else 0
        self._running[event.pod] = watched
        self._meters[event.pod] = watched.meter
        return (self._rhythm.begin(event.time),) if self._rhythm.resting else ()

    def _pod_finished(self, event: ev.PodFinished, state: ClusterState) -> Iterable[Outcome]:
        watched = self._stopped(event.pod)
        if watched is not None:
            self._jobs.pop(watched.job, None)
            self._slow.pop(watched.job, None)
            self._planner.forget(watched.job)
        return ()

    def _pod_evicted(self, event: ev.PodEvicted, state: ClusterState) -> Iterable[Outcome]:
        self._stopped(event.pod)
        return ()

    def _stopped(self, pod: str) -> _Watched | None:
        self._meters.pop(pod, None)
        return self._running.pop(pod, None)

    def _node_removed(self, event: ev.NodeRemoved, state: ClusterState) -> Iterable[Outcome]:
        self._usage.pop(event.node, None)
        return ()

    def _progress_reported(self, event: ev.ProgressReported, state: ClusterState) -> Iterable[Outcome]:
        find = self._meters.get
        for pod, value, cpu_millis, epoch_s in zip(
            event.pods, event.values, event.cpu_millis, event.iteration_s, strict=True
        ):
            meter = find(pod)
            if meter is not None:
                meter.add(value, cpu_millis, epoch_s)
        return ()

    def _usage_sampled(self, event: ev.UsageSampled, state: ClusterState) -> Iterable[Outcome]:
        self._usage.update(zip(event.nodes, event.cpu_millis, strict=True))
        return ()

    # -- monitor and rounds

    def _timer_fired(self, event: ev.TimerFired, state: ClusterState) -> Iterable[Outcome]:
        monitor, plan = self._rhythm.due(event)
        if not monitor and not plan:
            return ()
        out: list[Outcome] = []
        if monitor:
            self._look(event.time, out)
        if plan:
            self._plan(state, out)
        if self._running:
            out.append(self._rhythm.go_on(event.time))
        else:
            self._rhythm.rest()
        return out

    def _look(self, time: float, out: list[Outcome]) -> None:
        """A1: one score and one step of the state machine for every running job."""
        alpha, patience = self.parameters.alpha, self.parameters.patience
        for watched in self._running.values():
            score = watched.meter.tick(time, watched.capacity_millis)
            if score is None:
                continue
            classifier = watched.classifier
            before = classifier.category
            if classifier.observe(score, alpha, patience):
                self._changed(watched, before, time, out)

    def _changed(self, watched: _Watched, before: ev.Category, time: float, out: list[Outcome]) -> None:
        classifier = watched.classifier
        watched.since = time
        if classifier.category == "progressing":
            self._slow.pop(watched.job, None)
        else:
            self._slow[watched.job] = watched
            if classifier.category == "converged":
                self._planner.forget_refusals(watched.job)
        out.append(
            ev.CategoryChanged(
                time=time,
                job=watched.job,
                pod=watched.pod,
                node=watched.node,
                before=before,
                after=classifier.category,
                score=classifier.score or 0.0,
                previous_score=classifier.previous_score,
                threshold=self.parameters.alpha,
                reason=classifier.reason(self.parameters.alpha),
            )
        )

    def _plan(self, state: ClusterState, out: list[Outcome]) -> None:
        """A2, and A3 if it is wanted and A2 moved nothing."""
        this = self._planner.open(state, lambda: Picture(state, self._usage, self._slow))
        if not self._slow:
            return
        budget = this.budget
        converged = [
            watched
            for watched in self._slow.values()
            if watched.classifier.category == "converged" and watched.pod in self._running
        ]
        converged.sort(key=lambda watched: (watched.node, watched.since, watched.job))
        for watched in converged:
            self._consider(this, state.pods[watched.pod], self._help, out)
        if self.parameters.rebalance and this.budget == budget:
            self._rebalance(this, state, out)

    def _rebalance(self, this: Round, state: ClusterState, out: list[Outcome]) -> None:
        """A3: from the nodes with most jobs, converged ones before watching ones, until the budget is used."""
        at_home: dict[str, list[_Watched]] = {}
        for watched in self._slow.values():
            if watched.pod in self._running:
                at_home.setdefault(watched.node, []).append(watched)
        loads = this.picture.loads
        while this.budget:
            idle = [load.running for load in loads.values() if load.open and self._fill.is_idle(load)]
            sources = [
                loads[name] for name in at_home if name in loads and idle and loads[name].running >= min(idle) + 2
            ]
            for source in sorted(sources, key=lambda load: (-load.running, load.name)):
                for watched in sorted(at_home[source.name], key=_order_of_leaving):
                    self._consider(this, state.pods[watched.pod], self._fill, out)
                    if this.verdict == "migrate":
                        break
                if this.verdict == "migrate":
                    break
            else:
                return

    def _consider(self, this: Round, pod: PodRecord, purpose: Purpose, out: list[Outcome]) -> None:
        considered = this.consider(pod, purpose)
        if considered is not None:
            out.append(considered)


def _order_of_leaving(watched: _Watched) -> tuple[bool, float, str]:
    return (watched.classifier.category != "converged", watched.since, watched.job)
