"""A small edge cloud, and a scheduler for it."""

import random
from typing import Any

from backend.model import events as ev
from backend.model.bandwidth import BandwidthModel
from backend.model.objects import Job, Node
from backend.model.state import ClusterState
from backend.model.storage import StoredObject
from backend.scheduling.skippy.policy import SkippyParameters, SkippyScheduler
from tests.unit.scheduling.small_world import cluster, pending

EVERY_FILTER = ("CanRun", "HasEnoughRam", "NodeHasAccelerator", "NodeHasFreeTpu", "NodeHasFreeGpu")
EVERY_SCORE = (
    "Equal",
    "BalancedResource",
    "ImageLocality",
    "LatencyAwareImageLocality",
    "LocalityType",
    "DataLocality",
    "Capability",
    "CapabilityMatching",
    "ExecutionTime",
    "Contention",
)


def world(
    *nodes: Node,
    images: dict[str, dict[str, int]] | None = None,
    buckets: dict[str, tuple[str, ...]] | None = None,
    objects: tuple[StoredObject, ...] = (),
    bandwidth: BandwidthModel | None = None,
) -> ClusterState:
    state = cluster(*nodes)
    state.apply(ev.CatalogueDeclared(0.0, images or {}, buckets or {}, objects, bandwidth))
    return state


def scheduler(**parameters: Any) -> SkippyScheduler:
    """Skippy with these parameters; lists all nodes."""
    return SkippyScheduler(SkippyParameters.model_validate({"explain_nodes": 1000, **parameters}), random.Random(0))


def decide(state: ClusterState, what: Job, skippy: SkippyScheduler | None = None, **parameters: Any) -> ev.DecisionMade:
    """One round for a pod of the job; the decision is carried out."""
    record = pending(state, what)
    decision = (skippy or scheduler(**parameters)).place(record, state)
    state.apply(decision)
    return decision


def raw(decision: ev.DecisionMade, plugin: str) -> dict[str, float]:
    """Raw values of one score by node."""
    column = next(one for one in decision.scores if one.plugin == plugin)
    return dict(zip(decision.nodes, column.raw or column.normalised, strict=True))


def values(decision: ev.DecisionMade, plugin: str) -> dict[str, float]:
    """Normalised values of one score by node."""
    column = next(one for one in decision.scores if one.plugin == plugin)
    return dict(zip(decision.nodes, column.normalised, strict=True))
