"""ProCon: places a pod where the jobs there have least left to do (IEEE BigData 2019; specon-procon.md section 3).

Mode `paper` computes the cost of a node as the authors' code does. Mode `corrected` repairs what section 3.3 lists:
contention is not counted twice, iterations are smoothed, silent jobs get what is known of their kind, and the new job
counts itself. Filters (readiness, taints, labels, requests) hold in both modes; the authors' code has none.
"""

import random
import statistics
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from backend.model import events as ev
from backend.model.fields import Parameters
from backend.model.objects import Job
from backend.model.state import ClusterState, PodRecord
from backend.scheduling.framework import Feasibility, listed, refuse, refused_nodes
from backend.scheduling.profiles import EXPLAIN_NODES, ExplainNodes
from backend.scheduling.progress_estimate import (
    Estimate,
    ReportedJob,
    SilentJob,
    area,
    paper,
    paper_fallback,
    processor_sharing,
)

UNKNOWN_WORK_CORE_S = 1.0
"""Work of a job while no job at all has been measured: all count alike, so the number of jobs decides."""
REPORTS_NEEDED = 2
"""Progress reports after which a job's own numbers are used (section 3: at least two CSV rows)."""


class _Cost:
    """What one node would cost, and what ties are broken by."""

    __slots__ = ("cost", "count", "limited", "name", "used_percent")

    def __init__(self, name: str, cost: float, used_percent: float, count: int, limited: bool) -> None:
        self.name = name
        self.cost = cost
        self.used_percent = used_percent
        self.count = count
        self.limited = limited


class _Beliefs:
    """What is known of the work of jobs (mode corrected)."""

    __slots__ = ("left", "median", "priors")

    def __init__(self, left: dict[str, float], priors: dict[str, float], median: float) -> None:
        self.left = left
        """Pod -> core-seconds left, of pods that have said enough."""
        self.priors = priors
        """Workload -> core-seconds of a whole job."""
        self.median = median
        """Core-seconds to assume where nothing is known of the kind."""

    def of_a(self, job: Job) -> float:
        """Core-seconds of a job of which no more is known than its kind."""
        return self.priors.get(job.workload, self.median)


class ProConScheduler:
    """Progress-based placement. Learns from progress reports; `ties` is not needed, names decide last."""

    class Parameters(Parameters):
        """See the module."""

        mode: Literal["corrected", "paper"] = Field("corrected", description="estimate of what is left to do on a node")
        alpha: Annotated[float, Field(gt=0, le=1)] = Field(
            1.0,
            description="part of a node's CPU from which on it is out of limit; with 1, mode paper never excludes a "
            "node (as the authors ship it) and mode corrected excludes full ones",
        )
        smoothing: Annotated[float, Field(gt=0, le=1)] = Field(
            0.3, description="mode corrected: weight of the newest iteration time in its moving average"
        )
        explain_nodes: ExplainNodes = Field(EXPLAIN_NODES, description="best nodes that a decision lists")

    def __init__(self, parameters: BaseModel, ties: random.Random) -> None:
        assert isinstance(parameters, ProConScheduler.Parameters)
        self._parameters = parameters
        self._feasibility = Feasibility()
        self._reports: dict[str, int] = {}
        """Pod -> its progress reports so far."""
        self._iteration_s: dict[str, float] = {}
        """Pod -> moving average of its iteration time."""
        self._begun: dict[str, tuple[Job, float]] = {}
        """Pod that runs -> its job and the iteration it began from."""
        self._history: dict[str, float] = {}
        """Workload -> moving average of the core-seconds of finished jobs."""
        self._beliefs: _Beliefs | None = None
        """Made when they are needed, forgotten when something is learnt."""

    def observe(self, event: ev.Event, state: ClusterState) -> None:
        """Count reports, smooth iteration times, remember what finished jobs took."""
        kind = type(event)
        if kind is ev.ProgressReported:
            assert isinstance(event, ev.ProgressReported)
            self._beliefs = None
            weight = self._parameters.smoothing
            for pod, seconds in zip(event.pods, event.iteration_s, strict=True):
                if pod in state.pods:  # else it has ended, and the report comes late
                    self._reports[pod] = self._reports.get(pod, 0) + 1
                    before = self._iteration_s.get(pod)
                    self._iteration_s[pod] = seconds if before is None else before + weight * (seconds - before)
        elif kind is ev.PodFinished or kind is ev.PodEvicted:
            assert isinstance(event, ev.PodFinished | ev.PodEvicted)
            self._beliefs = None
            self._reports.pop(event.pod, None)
            self._iteration_s.pop(event.pod, None)
            if isinstance(event, ev.PodFinished):
                self._remember(event)
            else:
                self._begun.pop(event.pod, None)
        elif kind is ev.PodStarted:
            assert isinstance(event, ev.PodStarted)
            record = state.pods.get(event.pod)
            if record is not None:
                self._begun[event.pod] = (record.job, event.iteration)

    def place(self, pod: PodRecord, state: ClusterState) -> ev.DecisionMade:
        """See Scheduler."""
        table = state.nodes
        rows = self._feasibility.mask(pod.job, table).nonzero()[0].tolist()
        if not rows:
            return refuse("procon", pod, state, self._feasibility, self._parameters.explain_nodes)
        names = [table.names[row] for row in rows]
        percents = {table.names[row]: float(table.cpu_millis[row]) / 10 for row in rows}
        costs = self._paper(names, percents, state) if self._parameters.mode == "paper" else None
        if costs is None:
            costs = self._corrected(pod, names, percents, state)
        free = [cost for cost in costs if not cost.limited]
        ranked = sorted(free or costs, key=lambda cost: (cost.cost, cost.used_percent, cost.count, cost.name))
        return self._explain(pod, state, ranked, not free, len(costs))

    # -- estimates

    def _paper(self, names: list[str], percents: dict[str, float], state: ClusterState) -> list[_Cost]:
        costs = []
        for name in names:
            reported, silent = self._jobs_on(name, state)
            count = len(reported) + len(silent)
            estimate: Estimate = paper(percents[name], self._parameters.alpha, reported, silent)
            if estimate.cost is None:
                costs.append(_Cost(name, paper_fallback(reported, silent), estimate.used_percent, count, True))
            else:
                costs.append(_Cost(name, estimate.cost * count, estimate.used_percent, count, False))
        return costs

    def _corrected(
        self, pod: PodRecord, names: list[str], percents: dict[str, float], state: ClusterState
    ) -> list[_Cost]:
        beliefs = self._beliefs
        if beliefs is None:
            known = self._known_works(state)
            median = statistics.median(known.values()) if known else UNKNOWN_WORK_CORE_S
            beliefs = self._beliefs = _Beliefs(known, self._priors(state, known), median)
        own = beliefs.of_a(pod.job)
        costs = []
        for name in names:
            works = [own]
            used = 0.0
            for record in state.pods_on.get(name, {}).values():
                used += record.cpu_millis / 10
                left = beliefs.left.get(record.pod.name)
                works.append(beliefs.of_a(record.job) if left is None else left)
            ends = processor_sharing(works, percents[name] / 100)
            # Shares of a full node add up to all of it but for the rounding of their sum.
            limited = used >= self._parameters.alpha * percents[name] * (1 - 1e-9)
            costs.append(_Cost(name, float(area(ends)), used, len(works) - 1, limited))
        return costs

    def _known_works(self, state: ClusterState) -> dict[str, float]:
        """Pod -> core-seconds left, of the pods that have reported twice and say their total."""
        works = {}
        for name, record in state.pods.items():
            if self._reports.get(name, 0) >= REPORTS_NEEDED and record.job.iterations is not None:
                left = max(0.0, record.job.iterations - record.iteration)
                works[name] = record.cpu_millis / 1000 * self._iteration_s[name] * left
        return works

    def _priors(self, state: ClusterState, known: dict[str, float]) -> dict[str, float]:
        """Workload -> core-seconds of a whole job: of finished ones, else projected from those that run."""
        priors = dict(self._history)
        projected: dict[str, list[float]] = {}
        for name, left in known.items():
            record = state.pods[name]
            total = record.job.iterations
            if total and total > record.iteration and record.job.workload not in priors:
                projected.setdefault(record.job.workload, []).append(left * total / (total - record.iteration))
        priors.update({workload: statistics.median(works) for workload, works in projected.items()})
        return priors

    def _jobs_on(self, node: str, state: ClusterState) -> tuple[list[ReportedJob], list[SilentJob]]:
        reported, silent = [], []
        for name, record in state.pods_on.get(node, {}).items():
            # A job that does not say its total counts as having one iteration to do.
            total = float(record.job.iterations if record.job.iterations is not None else record.iteration + 1)
            if self._reports.get(name, 0) >= REPORTS_NEEDED:
                reported.append(ReportedJob(record.cpu_millis / 10, total, record.iteration, record.iteration_s))
            else:
                since = record.bound_at if record.bound_at is not None else state.time
                silent.append(SilentJob(state.time - since, total))
        return reported, silent

    def _remember(self, event: ev.PodFinished) -> None:
        """A finished job's work: what its last pod consumed, scaled to all iterations if it began from a checkpoint."""
        job, start = self._begun.pop(event.pod, (None, 0.0))
        if job is None or not event.succeeded or event.core_s <= 0:
            return
        work = event.core_s
        if job.iterations and job.iterations > start:
            work *= job.iterations / (job.iterations - start)
        before = self._history.get(job.workload)
        weight = self._parameters.smoothing
        self._history[job.workload] = work if before is None else before + weight * (work - before)

    # -- the decision

    def _explain(
        self, pod: PodRecord, state: ClusterState, ranked: list[_Cost], all_limited: bool, nodes: int
    ) -> ev.DecisionMade:
        table = state.nodes
        best = ranked[0]
        limit = listed(self._parameters.explain_nodes, table)
        shown = ranked[:limit]
        costs = tuple(one.cost for one in shown)
        jobs = "no job" if best.count == 0 else "1 job" if best.count == 1 else f"{best.count} jobs"
        among = f"the lowest of {len(ranked)}" if len(ranked) > 1 else "the only one to choose from"
        reason = f"bound to {best.name}: estimated cost {best.cost:.0f} with {jobs} there, {among}"
        if all_limited:
            reason += f"; all {nodes} feasible nodes are out of limit"
        elif len(ranked) < nodes:
            reason += f"; {nodes - len(ranked)} more are out of limit"
        refused, counts = refused_nodes(self._feasibility.refusals(pod.job, table), table, limit)
        totals = tuple(-cost for cost in costs)
        return ev.DecisionMade(
            state.time,
            pod.pod.name,
            best.name,
            "procon",
            reason,
            nodes,
            tuple(one.name for one in shown),
            totals,
            (ev.PluginScores("ProConCost", -1.0, costs),),
            refused,
            counts,
        )
