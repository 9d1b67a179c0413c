"""The cycle of a scheduling profile: filter -> score -> select -> explain.

Filters and scores see all nodes at once (columns of the NodeTable). The result is a DecisionMade that holds, for the
best nodes, every score by plugin, and for the others which filter refused them.
"""

import random
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from backend.model.events import DecisionMade, PluginScores
from backend.model.node_table import Bools, NodeTable
from backend.model.objects import Job
from backend.model.state import ClusterState, PodRecord
from backend.scheduling.filters import (
    Filter,
    NodeReady,
    NodeSelector,
    NodeUnschedulable,
    ResourcesFit,
    RowFilter,
    TaintToleration,
)
from backend.scheduling.kept import KeptShape, KeptShapes
from backend.scheduling.scores import Context, Floats, RowScore, Score

DEFAULT_FILTERS: tuple[Filter, ...] = (
    NodeReady(),
    NodeUnschedulable(),
    TaintToleration(),
    NodeSelector(),
    ResourcesFit(),
)
"""In the order in which a refused node is counted: for the first filter that refuses it, as kube-scheduler does."""

LASTING = frozenset({TaintToleration.name, NodeSelector.name})
"""Filters whose refusal stays as long as nobody changes a node; readiness and cordons come and go."""
SMALL_CLUSTER = 16
"""Up to so many nodes a decision lists them all, whatever `explain_nodes` says."""


class _Static:
    """Masks of the static filters for one kind of pod."""

    __slots__ = ("all", "each", "lasting", "refuses")

    def __init__(self, filters: Sequence[Filter], job: Job, table: NodeTable) -> None:
        self.each = [one.mask(job, table) for one in filters]
        self.all = np.logical_and.reduce(self.each) if self.each else np.ones(len(table), np.bool_)
        lasting = [mask for one, mask in zip(filters, self.each, strict=True) if one.name in LASTING]
        self.lasting = np.logical_and.reduce(lasting) if lasting else np.ones(len(table), np.bool_)
        """What the filters say whose answers do not pass by themselves."""
        self.refuses = bool((table.present & ~self.all).any())
        """Whether they refuse any node that is there."""


class Feasibility:
    """Runs the filters; masks of static filters are kept until a node changes."""

    def __init__(self, filters: Sequence[Filter] = DEFAULT_FILTERS) -> None:
        self._static = [one for one in filters if one.static]
        self.dynamic = [one for one in filters if isinstance(one, RowFilter) and not one.static]
        """Filters that look at what runs on a node."""
        strange = [one.name for one in filters if not one.static and not isinstance(one, RowFilter)]
        if strange:
            raise TypeError(f"filter {strange[0]} is not static, so it must be a RowFilter")
        self._version = -1
        self._kept: dict[object, _Static] = {}

    def mask(self, job: Job, table: NodeTable) -> Bools:
        """True for each node that can take a pod of the job; a new array of shape (nodes,)."""
        feasible = self.static(job, table)[0].copy()
        for one in self.dynamic:
            feasible &= one.mask(job, table)
        return feasible

    def static(self, job: Job, table: NodeTable) -> tuple[Bools, object]:
        """The mask of the static filters, and the key under which pods share it."""
        kept, key = self._static_masks(job, table)
        return kept.all, key

    def refusals(self, job: Job, table: NodeTable, feasible: Bools | None = None) -> list[tuple[Filter, Bools]]:
        """Each filter that refused any with the nodes it was the first to refuse; nodes that left are not counted.

        `feasible` is what `mask` gave for the same pod a moment ago, where that is known: it saves work.
        """
        left = table.present.copy()
        found: list[tuple[Filter, Bools]] = []
        static, _ = self._static_masks(job, table)
        if static.refuses:
            for one, mask in zip(self._static, static.each, strict=True):
                _take(one, mask, left, found)
        elif feasible is not None and len(self.dynamic) == 1:
            left &= ~feasible
            return [(self.dynamic[0], left)] if left.any() else []
        for one in self.dynamic:
            _take(one, one.mask(job, table), left, found)
        return found

    def _static_masks(self, job: Job, table: NodeTable) -> tuple[_Static, object]:
        if table.version != self._version:
            self._version = table.version
            self._kept.clear()
        selector = job.node_selector
        key: object = job.tolerations if not selector else (job.tolerations, tuple(sorted(selector.items())))
        static = self._kept.get(key)
        if static is None:
            static = self._kept[key] = _Static(self._static, job, table)
        return static, key

    def permanent(self, job: Job, table: NodeTable) -> bool:
        """Whether no node that was ever seen could take the pod, even an empty and ready one."""
        if not len(table):
            return False
        static, _ = self._static_masks(job, table)
        return not bool((ResourcesFit().could_ever(job, table) & static.lasting).any())


def _take(one: Filter, mask: Bools, left: Bools, found: list[tuple[Filter, Bools]]) -> None:
    """Move what the filter refuses from `left` to `found`."""
    refused = left & ~mask
    if refused.any():
        found.append((one, refused))
        left ^= refused


def refuse(
    policy: str, pod: PodRecord, state: ClusterState, feasibility: Feasibility, explain_nodes: int
) -> DecisionMade:
    """The decision that no node can take the pod, with what each node lacks."""
    table = state.nodes
    job = pod.job
    found = feasibility.refusals(job, table)
    present = table.present_count
    shown = max(explain_nodes, SMALL_CLUSTER)
    parts = []
    refused: dict[str, tuple[str, ...]] = {}
    counts: dict[str, int] = {}
    for one, mask in found:
        rows = np.flatnonzero(mask)
        counts[one.name] = len(rows)
        refused[one.name] = tuple(table.names[row] for row in rows[:shown].tolist())
        noun = "node" if len(rows) == 1 else "nodes"
        parts.append(f"{len(rows)} {noun} {one.explain(job, table, mask)}")
    permanent = feasibility.permanent(job, table)
    if permanent:
        reason = "no node can ever take it: " + ("; ".join(parts) or "there is none")
    elif not present:
        reason = "no node is there"
    else:
        reason = f"none of {present} nodes can take it: " + "; ".join(parts)
    return DecisionMade(state.time, pod.pod.name, None, policy, reason, 0, (), (), (), refused, counts, permanent)


def select(totals: Floats, ties: random.Random) -> tuple[int, int]:
    """Row of the highest total and how many rows share it; the seeded stream chooses among equals."""
    best = int(totals.argmax())
    equals = (totals == totals[best]).nonzero()[0]
    if len(equals) == 1:
        return best, 1
    return int(equals[ties.randrange(len(equals))]), len(equals)


def best_rows(totals: Floats, chosen: int, shown: int) -> NDArray[np.int64]:
    """The chosen row, then the other best ones, best first and equals in node order; `shown` in all."""
    everything = shown >= len(totals)
    rows = list(range(len(totals))) if everything else totals.argpartition(-shown)[-shown:].tolist()
    if chosen not in rows:  # one of more equals than are shown
        rows[0] = chosen
    values = totals.take(rows).tolist()
    order = sorted(zip(rows, values, strict=True), key=lambda one: (one[0] != chosen, -one[1], one[0]))
    return np.array([row for row, _ in order])


class Profile:
    """Filters and weighted scores."""

    def __init__(
        self,
        policy: str,
        scores: Sequence[tuple[Score | RowScore, float]],
        ties: random.Random,
        *,
        explain_nodes: int,
        filters: Sequence[Filter] = DEFAULT_FILTERS,
    ) -> None:
        self._policy = policy
        weighted = [(score, weight) for score, weight in scores if weight]
        self._local = [(score, weight) for score, weight in weighted if isinstance(score, RowScore)]
        self._global = [(score, weight) for score, weight in weighted if not isinstance(score, RowScore)]
        self._ties = ties
        self._explain_nodes = explain_nodes
        self._feasibility = Feasibility(filters)
        self._kept = KeptShapes(self._feasibility.dynamic, self._local)

    def place(self, pod: PodRecord, state: ClusterState) -> DecisionMade:
        """One cycle for a pending pod."""
        table = state.nodes
        job = pod.job
        static, key = self._feasibility.static(job, table)
        kept = self._kept.of(job, table, static, key)
        if kept.count == 0:
            return refuse(self._policy, pod, state, self._feasibility, self._explain_nodes)
        context = Context(job, table)
        totals = kept.base.copy()
        given: list[tuple[str, float, Floats, Floats | None]] = [
            (score.name, weight, values, None) for (score, weight), values in zip(self._local, kept.values, strict=True)
        ]
        for score, weight in self._global:
            raw = score.score(job, table, context)
            if raw is None:
                continue
            normalised = score.normalise(raw, kept.feasible)
            values = raw if normalised is None else normalised
            totals += values if weight == 1.0 else weight * values
            given.append((score.name, weight, values, None if normalised is None else raw))
        chosen, equals = select(totals, self._ties)
        return self._explain(pod, state, totals, given, chosen, equals, kept)

    def _explain(
        self,
        pod: PodRecord,
        state: ClusterState,
        totals: Floats,
        given: list[tuple[str, float, Floats, Floats | None]],
        chosen: int,
        equals: int,
        kept: KeptShape,
    ) -> DecisionMade:
        table = state.nodes
        count = kept.count
        names = table.names
        shown = min(count, max(self._explain_nodes, SMALL_CLUSTER if len(names) <= SMALL_CLUSTER else 1))
        rows = best_rows(totals, chosen, shown)
        scores = tuple(
            [
                PluginScores(
                    name,
                    weight,
                    tuple(normalised.take(rows).tolist()),
                    () if raw is None else tuple(raw.take(rows).tolist()),
                )
                for name, weight, normalised, raw in given
            ]
        )
        values = totals.take(rows).tolist()
        node = names[chosen]
        among = f"the highest of {count} feasible nodes" if count > 1 else "the only feasible node"
        if equals > 1:
            among = f"drawn from {equals} equals, the highest of {count} feasible nodes"
        refused: dict[str, tuple[str, ...]] = {}
        counts: dict[str, int] = {}
        if count < table.present_count:
            for one, mask in self._feasibility.refusals(pod.job, table, kept.feasible):
                lost = mask.nonzero()[0]
                counts[one.name] = len(lost)
                refused[one.name] = tuple([names[row] for row in lost[:shown].tolist()])
        return DecisionMade(
            state.time,
            pod.pod.name,
            node,
            self._policy,
            f"bound to {node}: total score {values[0]:.1f}, {among}",
            count,
            tuple([names[row] for row in rows.tolist()]),
            tuple(values),
            scores,
            refused,
            counts,
        )
