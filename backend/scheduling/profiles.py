"""The schedulers without memory of progress: default, random and round-robin."""

import random
from typing import Annotated

from pydantic import BaseModel, Field

from backend.model.events import DecisionMade, Event
from backend.model.fields import Count, Parameters
from backend.model.state import ClusterState, PodRecord
from backend.scheduling.framework import Feasibility, Profile, listed, refuse, refused_nodes
from backend.scheduling.policy import learns_nothing
from backend.scheduling.scores import (
    BalancedAllocation,
    ImageLocality,
    LeastAllocated,
    PreferredTaints,
    Score,
    Spreading,
)
from backend.scheduling.selection import DrawnAmongEquals

Weight = Annotated[float, Field(ge=0, le=1000, allow_inf_nan=False)]
ExplainNodes = Annotated[Count, Field(le=1000)]
EXPLAIN_NODES = 5
"""Nodes that a decision lists with their scores in a large cluster: enough to see what it was close to."""


class DefaultScheduler:
    """What kube-scheduler does: its filters and scores with the weights of its default configuration."""

    class Parameters(Parameters):
        """Weights of the scores; 0 takes a score out."""

        least_allocated: Weight = Field(1.0, description="weight of the free part of CPU and memory")
        balanced_allocation: Weight = Field(1.0, description="weight of an even use of CPU and memory")
        image_locality: Weight = Field(1.0, description="weight of the image being there already")
        spreading: Weight = Field(2.0, description="weight of few pods of the same workload")
        preferred_taints: Weight = Field(3.0, description="weight of few PreferNoSchedule taints")
        explain_nodes: ExplainNodes = Field(EXPLAIN_NODES, description="best nodes that a decision lists")

    def __init__(self, parameters: BaseModel, ties: random.Random) -> None:
        assert isinstance(parameters, DefaultScheduler.Parameters)
        scores: list[tuple[Score, float]] = [
            (LeastAllocated(), parameters.least_allocated),
            (BalancedAllocation(), parameters.balanced_allocation),
            (ImageLocality(), parameters.image_locality),
            (Spreading(), parameters.spreading),
            (PreferredTaints(), parameters.preferred_taints),
        ]
        self._profile = Profile(
            "default",
            [(score, weight) for score, weight in scores if weight],
            DrawnAmongEquals(ties),
            explain_nodes=parameters.explain_nodes,
        )

    def place(self, pod: PodRecord, state: ClusterState) -> DecisionMade:
        """See Scheduler."""
        return self._profile.place(pod, state)

    @learns_nothing
    def observe(self, event: Event, state: ClusterState) -> None:
        """See Scheduler."""


class RandomScheduler:
    """Any feasible node, each as likely as the other."""

    class Parameters(Parameters):
        """Nothing to set but the size of a decision's explanation."""

        explain_nodes: ExplainNodes = Field(EXPLAIN_NODES, description="feasible nodes that a decision lists")

    def __init__(self, parameters: BaseModel, ties: random.Random) -> None:
        assert isinstance(parameters, RandomScheduler.Parameters)
        self._ties = ties
        self._explain_nodes = parameters.explain_nodes
        self._feasibility = Feasibility()

    def place(self, pod: PodRecord, state: ClusterState) -> DecisionMade:
        """See Scheduler."""
        table = state.nodes
        rows = self._feasibility.mask(pod.job, table).nonzero()[0].tolist()
        if not rows:
            return refuse("random", pod, state, self._feasibility, self._explain_nodes)
        chosen = rows[self._ties.randrange(len(rows))]
        how = f"drawn from {len(rows)} feasible nodes"
        return _unrated("random", how, pod, state, chosen, rows, self._feasibility, self._explain_nodes)

    @learns_nothing
    def observe(self, event: Event, state: ClusterState) -> None:
        """See Scheduler."""


class RoundRobinScheduler:
    """The feasible nodes in turn, in the order in which they joined."""

    class Parameters(Parameters):
        """Nothing to set but the size of a decision's explanation."""

        explain_nodes: ExplainNodes = Field(EXPLAIN_NODES, description="feasible nodes that a decision lists")

    def __init__(self, parameters: BaseModel, ties: random.Random) -> None:
        assert isinstance(parameters, RoundRobinScheduler.Parameters)
        self._explain_nodes = parameters.explain_nodes
        self._feasibility = Feasibility()
        self._last = -1

    def place(self, pod: PodRecord, state: ClusterState) -> DecisionMade:
        """See Scheduler."""
        table = state.nodes
        rows = self._feasibility.mask(pod.job, table).nonzero()[0].tolist()
        if not rows:
            return refuse("round-robin", pod, state, self._feasibility, self._explain_nodes)
        self._last = next((row for row in rows if row > self._last), rows[0])
        how = f"its turn among {len(rows)} feasible nodes"
        return _unrated("round-robin", how, pod, state, self._last, rows, self._feasibility, self._explain_nodes)

    @learns_nothing
    def observe(self, event: Event, state: ClusterState) -> None:
        """See Scheduler."""


def _unrated(
    policy: str,
    how: str,
    pod: PodRecord,
    state: ClusterState,
    chosen: int,
    feasible: list[int],
    feasibility: Feasibility,
    explain_nodes: int,
) -> DecisionMade:
    """A decision without scores: the chosen node, then the other feasible ones in the order in which they joined."""
    table = state.nodes
    names = table.names
    limit = listed(explain_nodes, table)
    refused, counts = refused_nodes(feasibility.refusals(pod.job, table), table, limit)
    others = [row for row in feasible[:limit] if row != chosen]
    nodes = tuple([names[row] for row in [chosen, *others][:limit]])
    reason = f"bound to {nodes[0]}: {how}"
    return DecisionMade(
        state.time, pod.pod.name, nodes[0], policy, reason, len(feasible), nodes, (), (), refused, counts
    )
