"""The cycle of a scheduling profile: filter -> score -> select -> explain.

Filters and scores see all nodes at once (columns of the NodeTable). The result is a DecisionMade that holds, for the
best nodes, every score by plugin, and for the others which filter refused them.
"""

from collections.abc import Callable, Hashable, Sequence

import numpy as np

from backend.model.events import DecisionMade
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
from backend.scheduling.kept import KeptShapes, Weighted
from backend.scheduling.selection import Selection

DEFAULT_FILTERS: tuple[Filter, ...] = (
    NodeReady(),
    NodeUnschedulable(),
    TaintToleration(),
    NodeSelector(),
    ResourcesFit(),
)
"""In the order in which a refused node is counted: for the first filter that refuses it, as kube-scheduler does."""

SMALL_CLUSTER = 16
"""Up to so many nodes a decision lists them all, whatever `explain_nodes` says."""


class _Static:
    """Masks of the static filters for one kind of pod."""

    __slots__ = ("all", "lasting", "left", "refusals")

    def __init__(self, filters: Sequence[Filter], job: Job, table: NodeTable) -> None:
        each = [(one, one.mask(job, table)) for one in filters]
        self.lasting = [(one, mask) for one, mask in each if getattr(one, "lasting", False)]
        """Those of the filters whose answers do not pass by themselves."""
        self.all = np.ones(len(table), np.bool_)
        for _, mask in each:
            self.all &= mask
        self.refusals: list[tuple[Filter, Bools]] = []
        """Each of them that refuses nodes that are there, with those that it is the first to refuse."""
        self.left = table.present.copy()
        """Nodes that are there and that none of them refuses."""
        for one, mask in each:
            _take(one, mask, self.left, self.refusals)


class Feasibility:
    """Runs the filters; masks of static filters are kept until a node changes."""

    def __init__(self, filters: Sequence[Filter] = DEFAULT_FILTERS) -> None:
        self._static = [one for one in filters if one.static]
        self.dynamic = [one for one in filters if isinstance(one, RowFilter) and not one.static]
        """Filters that look at what runs on a node."""
        strange = [one.name for one in filters if not one.static and not isinstance(one, RowFilter)]
        if strange:
            raise TypeError(f"filter {strange[0]} is not static, so it must be a RowFilter")
        self._keys: list[Callable[[Job], Hashable]] = [one.key for one in self._static if hasattr(one, "key")]
        self._version = -1
        self._kept: dict[Hashable, _Static] = {}

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
        key: Hashable = (job.tolerations, tuple(sorted(selector.items()))) if selector else job.tolerations
        if self._keys:
            key = (key, tuple([look(job) for look in self._keys]))
        static = self._kept.get(key)
        if static is None:
            static = self._kept[key] = _Static(self._static, job, table)
        return static

    def static_mask(self, job: Job, table: NodeTable) -> Bools:
        """True for each node that the static filters let through. Not to be changed."""
        return self.static(job, table).all

    def refusals(self, job: Job, table: NodeTable, feasible: Bools | None = None) -> list[tuple[Filter, Bools]]:
        """Each filter that refused any with the nodes it was the first to refuse; nodes that left are not counted.

        `feasible` is what `mask` gave for the same pod a moment ago, where that is known: it saves work.
        """
        static = self.static(job, table)
        left, found = static.left.copy(), list(static.refusals)
        if feasible is not None and len(self.dynamic) == 1:
            left &= ~feasible
            return [*found, (self.dynamic[0], left)] if left.any() else found
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


def needed_images(job: Job, table: NodeTable, row: int) -> tuple[str, ...]:
    """Those of the pod's images that the node of a row does not hold, in the order of the containers."""
    return tuple([image for image in job.images() if not table.is_expected(row, image)])


class Profile:
    """Filters, weighted scores, and a way to choose."""

    def __init__(
        self,
        policy: str,
        scores: Weighted,
        selection: Selection,
        *,
        explain_nodes: int,
        filters: Sequence[Filter] = DEFAULT_FILTERS,
        needed_images: Callable[[Job, NodeTable, int], tuple[str, ...]] = lambda job, table, row: (),
    ) -> None:
        """`needed_images` names those of a pod that a row's node has to pull, where a scheduler says so."""
        self._policy = policy
        self._selection = selection
        self._explain_nodes = explain_nodes
        self._needed_images = needed_images
        self.feasibility = Feasibility(filters)
        self._kept = KeptShapes(filters, scores)

    def place(self, pod: PodRecord, state: ClusterState) -> DecisionMade:
        """One cycle for a pending pod."""
        table = state.nodes
        job = pod.job
        kept = self._kept.of(job, table, self.feasibility.static_mask)
        if kept.count == 0:
            return refuse(self._policy, pod, state, self.feasibility, self._explain_nodes)
        limit = listed(self._explain_nodes, table)
        rows, totals, scores, among = self._selection.choose(kept, limit)
        names = table.names
        nodes = tuple([names[row] for row in rows])
        refused: dict[str, tuple[str, ...]] = {}
        counts: dict[str, int] = {}
        if kept.count < table.present_count:
            if kept.refusals is None:
                found = self.feasibility.refusals(job, table, kept.feasible)
                kept.refusals = refused_nodes(found, table, limit)
            refused, counts = kept.refusals
        return DecisionMade(
            state.time,
            pod.pod.name,
            nodes[0],
            self._policy,
            f"bound to {nodes[0]}: total score {totals[0]:.1f}, {among}",
            kept.count,
            nodes,
            totals,
            scores,
            refused,
            counts,
            False,
            self._needed_images(job, table, rows[0]),
        )
