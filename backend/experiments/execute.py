"""Running one arm with one seed: from RunStarted to RunEnded, with progress on the way and a stop at any time."""

import time
from collections.abc import Callable, Mapping
from typing import Literal

from msgspec import Struct

from backend.control.loop import drive
from backend.experiments.build import build_controller
from backend.experiments.grounds import Terms, open_ground
from backend.experiments.specification import Specification
from backend.model import events as ev
from backend.model.seam import EventLog
from backend.model.state import ClusterState

REPORT_S = 0.25
"""Wall-clock seconds between two calls of `progress` and `should_stop`: what a person sees as steady."""
LOOK_EVENTS = 64
"""Events between two looks at the clock; at 300,000 events a second that is about 0.2 ms."""


class Progress(Struct, frozen=True):
    """How far a run is."""

    time_s: float
    """Simulated time."""
    jobs_done: int
    """Jobs that ended, one way or the other."""
    jobs: int
    """Jobs of the workload."""
    fraction: float
    """Part of the work that is done, 0 to 1; never falls."""
    eta_s: float | None
    """Estimate of the wall-clock seconds left; None before there is a basis for one."""
    events: int
    """Events in the log so far."""


class RunOutcome(Struct, frozen=True):
    """How a run ended."""

    status: Literal["finished", "stopped"]
    placements: dict[str, str]
    """Job -> the node of its first pod."""
    time: float
    """Simulated seconds at the end."""
    jobs: int
    """Jobs of the workload."""
    jobs_done: int
    events: int
    """Events in the log."""


class _Watched:
    """The log, watched: counts events, ended jobs and their work and remembers where each job was first bound."""

    def __init__(self, log: EventLog, work: Mapping[str, float]) -> None:
        self._append = log.append
        self.events = 0
        self.jobs_done = 0
        self.time = 0.0
        self.placements: dict[str, str] = {}
        self._first_pods: dict[str, str] = {}
        """Pods that are the first of their job, not bound so far -> job."""
        self._work = work
        self.work_ended = 0.0
        """Core-seconds of the jobs that ended."""
        self._background: set[str] = set()
        """Jobs that are no part of the run."""

    def append(self, event: ev.Event) -> None:
        self._append(event)
        self.events += 1
        self.time = event.time
        kind = type(event)
        if kind is ev.PodBound:
            assert isinstance(event, ev.PodBound)
            job = self._first_pods.pop(event.pod, None)
            if job is not None and job not in self._background:
                self.placements.setdefault(job, event.node)
        elif kind is ev.PodCreated:
            assert isinstance(event, ev.PodCreated)
            if event.pod.job not in self.placements:
                self._first_pods[event.pod.name] = event.pod.job
        elif kind is ev.JobFinished or kind is ev.JobFailed:
            assert isinstance(event, ev.JobFinished | ev.JobFailed)
            if event.job not in self._background:
                self.jobs_done += 1
                self.work_ended += self._work.get(event.job, 0.0)
        elif kind is ev.JobSubmitted:
            assert isinstance(event, ev.JobSubmitted)
            if event.job.background:
                self._background.add(event.job.name)


class _Reporter:
    """Calls `progress` and `should_stop` every REPORT_S of the clock."""

    def __init__(
        self,
        watched: _Watched,
        specification: Specification,
        state: ClusterState,
        work: Mapping[str, float],
        *,
        progress: Callable[[Progress], None] | None,
        should_stop: Callable[[], bool] | None,
        clock: Callable[[], float],
    ) -> None:
        self._watched = watched
        self._jobs = specification.job_count
        self._until = specification.until
        self._state = state
        self._work = work
        self._total = sum(work.values())
        self._progress = progress
        self._should_stop = should_stop
        self._clock = clock
        self._began = clock()
        self._next = self._began
        self._countdown = 0
        self._fraction = 0.0
        self.stopped = False

    def after_event(self, event: ev.Event) -> bool:
        """For drive(): whether to stop."""
        self._countdown -= 1
        if self._countdown > 0:
            return False
        self._countdown = LOOK_EVENTS
        return self.look(event.time)

    def look(self, time_s: float) -> bool:
        """Report and ask if it is time to; whether to stop."""
        now = self._clock()
        if now < self._next:
            return self.stopped
        self._next = now + REPORT_S
        if self._progress is not None:
            self._progress(self._estimate(time_s, now - self._began))
        if self._should_stop is not None and self._should_stop():
            self.stopped = True
        return self.stopped

    def finish(self, time_s: float, complete: bool) -> None:
        """The last report, which is always given."""
        if self._progress is not None:
            self._fraction = 1.0 if complete else self._fraction
            self._progress(self._estimate(time_s, self._clock() - self._began))

    def _estimate(self, time_s: float, elapsed_s: float) -> Progress:
        """Part of the work that is done, as far as jobs have reported it; where a run has a fixed end, part of its time
        if that is more."""
        watched = self._watched
        work = watched.work_ended
        for record in self._state.pods.values():
            if record.job.iterations:
                work += self._work.get(record.job.name, 0.0) * record.iteration / record.job.iterations
        fraction = min(1.0, work / self._total) if self._total > 0 else 0.0
        if self._until:
            fraction = max(fraction, min(1.0, time_s / self._until))
        self._fraction = max(self._fraction, fraction)
        eta = elapsed_s * (1.0 - self._fraction) / self._fraction if self._fraction > 0 else None
        return Progress(time_s, watched.jobs_done, self._jobs, self._fraction, eta, watched.events)


def _work(specification: Specification, seed: int) -> dict[str, float]:
    """Job -> core-seconds of its training."""
    return {
        one.job.name: one.iterations * one.model.core_s_per_iteration
        for one in specification.workload.build_submissions(seed)
    }


def _cut_off(specification: Specification, watched: _Watched, state: ClusterState) -> str:
    """What the limit cut off, as a sentence; empty if nothing."""
    submitted = sum(not record.job.background for record in state.jobs.values())
    running = submitted - watched.jobs_done
    waiting = specification.job_count - submitted
    cut = [f"{running} jobs had not finished"] if running else []
    cut += [f"{waiting} had not arrived"] if waiting else []
    return f"the limit of {specification.until:g} s was reached: {' and '.join(cut)}" if cut else ""


def run_arm(
    specification: Specification,
    arm: str,
    seed: int,
    log: EventLog,
    *,
    run_id: str | None = None,
    label: str | None = None,
    pinned: Mapping[str, str] | None = None,
    progress: Callable[[Progress], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
    paced: bool = True,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> RunOutcome:
    """Run one arm with one seed and write its log.

    The log begins with RunStarted and ends with RunEnded, or with RunStopped if `should_stop` said so. Where nothing
    was left to happen, each job that did not end by itself gets its JobFailed before RunEnded; jobs that a stop or the
    limit `until` cut off are unfinished, and what they have consumed is said by WorkMeasured. The log depends on
    specification, arm, seed, `pinned` and `run_id` only: `speed` holds events back (not with `paced` False) and changes
    none. `run_id` is what RunStarted calls the run, <name>.<arm>.s<seed> if left out; leave it out, and equal runs have
    equal logs, whatever a store calls them. `label` marks the pods of a run on a cluster that others use as well.
    A run on an embedded or a real cluster is never quite the same again; where there is none, UnreachableError says
    so before the first event.
    `progress` and `should_stop` are called about every REPORT_S seconds of `clock`.
    """
    controller = build_controller(specification, arm, seed, pinned)
    work = _work(specification, seed) if progress is not None else {}
    watched = _Watched(log, work)
    reporter = _Reporter(
        watched, specification, controller.state, work, progress=progress, should_stop=should_stop, clock=clock
    )
    name = f"{specification.name}.{arm}.s{seed}"
    jobs = specification.job_count
    terms = Terms(
        seed=seed,
        label=label or run_id or name,
        waiting=reporter.look,
        finished=lambda: watched.jobs_done >= jobs,
        paced=paced,
        clock=clock,
        sleep=sleep,
    )
    until = specification.until
    observed = reporter.after_event if progress is not None or should_stop is not None else None
    with open_ground(specification, terms) as ground:
        watched.append(ev.RunStarted(0.0, run_id or name, specification.name, arm, seed))
        drive(ground.cluster, controller, ground.told(watched), should_stop=observed)
        measured = ground.measure()
        if measured is not None:
            watched.append(measured)
        # Timers that nobody waits for may lie far behind the last event; only a limit makes a run last until then.
        if reporter.stopped:
            watched.append(ev.RunStopped(watched.time, "stopped before its end"))
        elif until is not None and ground.cluster.now() >= until:
            watched.append(ev.RunEnded(until, _cut_off(specification, watched, controller.state)))
        else:
            for failed in controller.unfinished():
                watched.append(failed)
            watched.append(ev.RunEnded(watched.time))
    reporter.finish(watched.time, complete=not reporter.stopped)
    return RunOutcome(
        status="stopped" if reporter.stopped else "finished",
        placements=watched.placements,
        time=watched.time,
        jobs=specification.job_count,
        jobs_done=watched.jobs_done,
        events=watched.events,
    )
