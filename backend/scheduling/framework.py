"""The cycle of a scheduling profile: filter -> score -> select -> explain.

Filters and scores see all nodes at once (columns of the NodeTable). The result is a DecisionMade that holds, for the
best nodes, every score by plugin, and for the others which filter refused them.
"""

import random
from collections.abc import Sequence

import numpy as np

from backend.model.events import DecisionMade, PluginScores
from backend.model.node_table import Bools, Ints, NodeTable
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
from backend.scheduling.kept import KeptShapes
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

    __slots__ = ("all", "each", "key", "lasting", "refuses")

    def __init__(self, filters: Sequence[Filter], job: Job, table: NodeTable, key: object) -> None:
        self.key = key
        self.each = [(one, one.mask(job, table)) for one in filters]
        self.lasting = [(one, mask) for one, mask in self.each if one.name in LASTING]
        """Those of the filters whose answers do not pass by themselves."""
        self.all = np.ones(len(table), np.bool_)
        for _, mask in self.each:
            self.all &= mask
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
        feasible = self.static(job, table).all.copy()
        for one in self.dynamic:
            feasible &= one.mask(job, table)
        return feasible

    def static(self, job: Job, table: NodeTable) -> _Static:
        """What the static filters say of pods like this one."""
        if table.version != self._version:
            self._version = table.version
            self._kept.clear()
        selector = job.node_selector
        key: object = (job.tolerations, tuple(sorted(selector.items()))) if selector else job.tolerations
        static = self._kept.get(key)
        if static is None:
            static = self._kept[key] = _Static(self._static, job, table, key)
        return static

    def refusals(self, job: Job, table: NodeTable, feasible: Bools | None = None) -> list[tuple[Filter, Bools]]:
        """Each filter that refused any with the nodes it was the first to refuse; nodes that left are not counted.

        `feasible` is what `mask` gave for the same pod a moment ago, where that is known: it saves work.
        """
        left = table.present.copy()
        found: list[tuple[Filter, Bools]] = []
        static = self.static(job, table)
        if static.refuses:
            for one, mask in static.each:
                _take(one, mask, left, found)
        elif feasible is not None and len(self.dynamic) == 1:
            left &= ~feasible
            return [(self.dynamic[0], left)] if left.any() else []
        for dynamic in self.dynamic:
            _take(dynamic, dynamic.mask(job, table), left, found)
        return found

    def never(self, job: Job, table: NodeTable) -> list[str]:
        """Why no node that was ever seen could take the pod, even an empty and ready one; nothing if one could."""
        left = np.ones(len(table), np.bool_)
        fit = ResourcesFit()
        could = fit.could_ever(job, table)
        static = self.static(job, table)
        for _, mask in static.lasting:
            left &= mask
        if not len(table) or (left & could).any():
            return []
        left[:] = True
        found: list[tuple[Filter, Bools]] = []
        for one, mask in static.lasting:
            _take(one, mask, left, found)
        parts = [f"{_nodes(mask)} {one.explain(job, table, mask)}" for one, mask in found]
        return [*parts, f"{_nodes(left)} {fit.explain_ever(job, table, left)}"] if left.any() else parts


def _take(one: Filter, mask: Bools, left: Bools, found: list[tuple[Filter, Bools]]) -> None:
    """Move what the filter refuses from `left` to `found`."""
    refused = left & ~mask
    if refused.any():
        found.append((one, refused))
        left ^= refused


def _nodes(mask: Bools) -> str:
    count = int(np.count_nonzero(mask))
    return "1 node" if count == 1 else f"{count} nodes"


def listed(explain_nodes: int, table: NodeTable) -> int:
    """How many nodes a decision lists at most: all of a small cluster, else as many as asked for and at least one."""
    return SMALL_CLUSTER if table.present_count <= SMALL_CLUSTER else max(explain_nodes, 1)


def refused_nodes(
    found: Sequence[tuple[Filter, Bools]], table: NodeTable, limit: int
) -> tuple[dict[str, tuple[str, ...]], dict[str, int]]:
    """Refusals as a decision holds them: the first nodes of each filter, and how many there are."""
    names = table.names
    refused: dict[str, tuple[str, ...]] = {}
    counts: dict[str, int] = {}
    for one, mask in found:
        rows = mask.nonzero()[0]
        counts[one.name] = len(rows)
        refused[one.name] = tuple([names[row] for row in rows[:limit].tolist()])
    return refused, counts


def refuse(
    policy: str, pod: PodRecord, state: ClusterState, feasibility: Feasibility, explain_nodes: int
) -> DecisionMade:
    """The decision that no node can take the pod, with what each node lacks."""
    table = state.nodes
    job = pod.job
    found = feasibility.refusals(job, table)
    refused, counts = refused_nodes(found, table, listed(explain_nodes, table))
    never = feasibility.never(job, table)
    if never:
        reason = "no node can ever take it: " + "; ".join(never)
    elif not table.present_count:
        reason = "no node is there"
    else:
        parts = [f"{_nodes(mask)} {one.explain(job, table, mask)}" for one, mask in found]
        reason = f"none of {_nodes(table.present)} can take it: " + "; ".join(parts)
    return DecisionMade(state.time, pod.pod.name, None, policy, reason, 0, (), (), (), refused, counts, bool(never))


def best_rows(totals: Floats, chosen: int, equals: Ints, shown: int) -> Ints:
    """The chosen row, then the other best ones, best first and equals in node order; `shown` in all.

    `equals` are the rows of the highest total. The rows are the same on every machine: what `partition` puts where
    among equals is not, so only its value is used.
    """
    if len(equals) >= shown:
        rows = equals[:shown].tolist()
    elif shown < len(totals):
        parted = totals.copy()
        parted.partition(len(parted) - shown)
        least = parted.item(len(parted) - shown)
        rows = (totals > least).nonzero()[0].tolist()
        rows += (totals == least).nonzero()[0][: shown - len(rows)].tolist()
    else:
        rows = list(range(shown))
    if len(equals) < shown:
        rows.sort(key=totals.tolist().__getitem__ if shown == len(totals) else totals.item, reverse=True)
    if rows[0] != chosen:
        rows = [chosen, *[row for row in rows if row != chosen]][:shown]
    return np.array(rows)


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
        static = self._feasibility.static(job, table)
        kept = self._kept.of(job, table, static.all, static.key)
        count = kept.count
        if count == 0:
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
        best = int(totals.argmax())
        equals = (totals == totals.item(best)).nonzero()[0]
        among = f"the highest of {count} feasible nodes" if count > 1 else "the only feasible node"
        if len(equals) > 1:
            best = equals.item(self._ties.randrange(len(equals)))
            among = f"drawn from {len(equals)} equals, {among}"
        limit = listed(self._explain_nodes, table)
        rows = best_rows(totals, best, equals, min(count, limit))
        names = table.names
        nodes = tuple([names[row] for row in rows.tolist()])
        values_shown = tuple(totals.take(rows).tolist())
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
        refused: dict[str, tuple[str, ...]] = {}
        counts: dict[str, int] = {}
        if count < table.present_count:
            refused, counts = refused_nodes(self._feasibility.refusals(job, table, kept.feasible), table, limit)
        return DecisionMade(
            state.time,
            pod.pod.name,
            nodes[0],
            self._policy,
            f"bound to {nodes[0]}: total score {values_shown[0]:.1f}, {among}",
            count,
            nodes,
            values_shown,
            scores,
            refused,
            counts,
        )
