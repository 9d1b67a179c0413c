"""Skippy's arrays against the plain reference, over random clusters and what happens to them.

2,000 clusters, each with a sequence of placements, ends and changes; PODSHIFT_SKIPPY_CLUSTERS sets another number. A
failure names the seed: `check_against_reference(seed)` repeats it.
"""

import logging
import os
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from backend.model import events as ev
from backend.model.node_table import COLUMNS, NodeTable
from backend.model.state import ClusterState
from backend.scheduling import kept, plugins, selection
from backend.scheduling.filters import NodeReady, NodeUnschedulable
from backend.scheduling.framework import Profile, needed_images
from backend.scheduling.policy import Scheduler
from backend.scheduling.profiles import DefaultScheduler
from backend.scheduling.selection import FirstInWalk
from backend.scheduling.skippy import devices
from backend.scheduling.skippy.policy import SkippyParameters, SkippyScheduler
from backend.scheduling.skippy.sets import SETS
from tests.golden import reference_skippy as plain
from tests.interpreted import interpreted_only
from tests.properties.skippy_world import MEASURED, World

CLUSTERS = int(os.environ.get("PODSHIFT_SKIPPY_CLUSTERS", "2000"))
CHUNKS = 20
ALL_NODES = 1000

Options = dict[str, Any]


class Open:
    """Nodes that are ready and not cordoned."""

    def __init__(self, world: World) -> None:
        self._world = world

    def passes(self, cluster: plain.Cluster, pod: plain.Pod, node: plain.Node) -> bool:
        return node.name not in self._world.closed


FILTERS: list[tuple[str, Options, plain.Filter]] = [
    ("PodFitsResources", {}, plain.FitsResources()),
    ("GeneralPreds", {}, plain.AllOf([plain.AllOf(), plain.AllOf()])),
    ("CheckNodeLabelPresence", {}, plain.LabelPresence([plain.STORAGE], present=False)),
    ("CanRun", {}, plain.CanRun(MEASURED)),
    ("HasEnoughRam", {}, plain.HasEnoughRam(MEASURED)),
    ("NodeHasAccelerator", {}, plain.HasAccelerator()),
    ("NodeHasFreeTpu", {}, plain.FreeAccelerator("TPU")),
    ("NodeHasFreeGpu", {}, plain.FreeAccelerator("GPU")),
]
OTHER_OPTIONS: list[tuple[str, Options, plain.Filter]] = [
    ("NodeHasFreeGpu", {"use_vram": True}, plain.EnoughGpuMemory()),
    (
        "CheckNodeLabelPresence",
        {"labels": [plain.LOCALITY, plain.DISK], "should_be_present": True},
        plain.LabelPresence([plain.LOCALITY, plain.DISK], present=True),
    ),
]
SCORES: list[tuple[str, Options, plain.Score]] = [
    ("Equal", {}, plain.Equal()),
    ("BalancedResource", {}, plain.BalancedResources()),
    ("ImageLocality", {}, plain.ImageLocality()),
    ("LatencyAwareImageLocality", {}, plain.LatencyAwareImageLocality()),
    ("LocalityType", {}, plain.LocalityType()),
    ("DataLocality", {}, plain.DataLocality()),
    ("Capability", {}, plain.Capability()),
    ("CapabilityMatching", {}, plain.CapabilityMatching()),
    ("ExecutionTime", {}, plain.ExecutionTime(MEASURED)),
    ("Contention", {}, plain.Contention(MEASURED)),
]
PUBLISHED = plain.Contention(MEASURED, published=True)
WEIGHTS = tuple(sorted({weight for _, weights in SETS.values() for weight in weights} | {0.0, 2.0, 0.5}))


class Rivals:
    """One random choice of filters, scores, weights and percentage, in both implementations."""

    def __init__(self, world: World) -> None:
        rng = world.rng
        percentage = rng.choice((0, 1, 50, 80, 99, 100, 100))
        highest = rng.choice((10, 10, 10, 100, 7))
        scores = [(*one, rng.choice(WEIGHTS)) for one in rng.sample(SCORES, rng.choice((1, 3, 5, 10)))]
        if rng.random() < 0.3:
            names, weights = SETS[rng.choice(sorted(SETS))]
            by_name = {name: (name, options, rule) for name, options, rule in SCORES}
            scores = [(*by_name[name], weight) for name, weight in zip(names, weights, strict=True)]
        if rng.random() < 0.5:
            scores = [
                (name, {"own_use": "for"}, PUBLISHED, weight) if name == "Contention" else (name, options, rule, weight)
                for name, options, rule, weight in scores
            ]
        filters = rng.sample(FILTERS, rng.choice((0, 0, 1, 1, 2, 4)))
        if world.large and rng.random() < 0.7:  # so that more nodes are feasible than are looked for
            filters = []
        names = [name for name, _, _ in filters]
        filters += [one for one in OTHER_OPTIONS if one[0] not in names and rng.random() < 0.1]
        self.place, self.walk, used = self._arrays(rng, filters, scores, percentage, highest)
        self.reference = plain.Reference(
            world.cluster,
            [Open(world), *(rule for _, _, rule in used)],
            [(weight, rule) for _, _, rule, weight in scores],
            percentage,
            highest,
        )

    @staticmethod
    def _arrays(
        rng: random.Random, filters: list[Any], scores: list[Any], percentage: int, highest: int
    ) -> tuple[Any, FirstInWalk, list[Any]]:
        """How a pod is placed, the walk, and the filters that count."""
        if rng.random() < 0.3:  # a profile may leave out the filter of resources: nodes hold more than they have
            walk = FirstInWalk(percentage)
            made = [NodeReady(), NodeUnschedulable(), *(plugins.make_filter(name, one) for name, one, _ in filters)]
            weighted = [(plugins.make_score(name, one, highest), weight) for name, one, _, weight in scores]
            profile = Profile(
                "skippy", weighted, walk, explain_nodes=ALL_NODES, filters=made, needed_images=needed_images
            )
            return profile.place, walk, filters
        anywhere = rng.random() < 0.3
        parameters = SkippyParameters.model_validate(
            {
                "scores": [{"name": name, "weight": weight, **one} for name, one, _, weight in scores],
                "filters": [{"name": name, **one} for name, one, _ in filters],
                "percentage_of_nodes_to_score": percentage,
                "storage_nodes_run_pods": anywhere,
                "max_priority": highest,
                "explain_nodes": ALL_NODES,
            }
        )
        given = {name for name, _, _ in filters}
        standing = [FILTERS[0]] if anywhere else [FILTERS[0], FILTERS[2]]
        skippy = SkippyScheduler(parameters, random.Random(0))
        return skippy.place, skippy.walk, [*(one for one in standing if one[0] not in given), *filters]


def check_against_reference(seed: int) -> None:
    """One cluster: each placement is the same in both, with every number of it."""
    world = World(seed)
    rivals = Rivals(world)
    start = 0
    """Seat at which the next walk begins."""
    for step in range(world.rng.choice((8, 16, 32))):
        if world.rng.random() < 0.45:
            world.something()
            continue
        pod = world.new_pod()
        here = {node.name for node in world.cluster.nodes}
        before = sum(name in here for name in world.seats[:start])
        rivals.reference.start_index = before % max(1, len(here))
        fits = [
            node.name
            for node in world.cluster.nodes
            if all(rule.passes(world.cluster, pod, node) for rule in rivals.reference.filters)
        ]
        wanted = rivals.reference.schedule(pod)
        assert rivals.walk.start == start, f"seed {seed}, step {step}"
        decision = rivals.place(world.state.pods[pod.name], world.state)
        world.apply(decision)
        if wanted.feasible:
            start = (world.seats.index(wanted.feasible[-1]) + 1) % len(world.seats)
        assert rivals.walk.start == start, f"seed {seed}, step {step}"
        compare(decision, wanted, fits, here, f"seed {seed}, step {step}")
        if wanted.chosen is not None:
            world.note(pod, wanted.chosen)
            if world.rng.random() < 0.1:  # the cluster refuses the bind; the node has begun to pull
                world.apply(ev.BindFailed(world.state.time, pod.name, wanted.chosen, "no"))
                world.cluster.remove(pod, world.cluster.node(wanted.chosen))
                del world.running[pod.name]
            elif world.rng.random() < 0.5:
                world.apply(ev.PodBound(world.state.time, pod.name, wanted.chosen))


def compare(decision: ev.DecisionMade, wanted: plain.Decision, fits: list[str], here: set[str], where: str) -> None:
    """Exactly the same in everything; the decision lists nodes from best to worst, the reference in walk order."""
    assert decision.node == wanted.chosen, where
    assert decision.feasible == len(fits), where
    assert sorted(decision.nodes) == sorted(wanted.feasible), where
    refused = sorted(name for names in decision.refused.values() for name in names)
    assert refused == sorted(here - set(fits)), where
    assert list(decision.needed_images) == (wanted.needed_images or []), where
    place = {name: number for number, name in enumerate(wanted.feasible)}
    order = [place[name] for name in decision.nodes]
    assert list(decision.totals) == [wanted.totals[k] for k in order], where
    if decision.node is not None:
        assert len(decision.scores) == len(wanted.scores), where
        for got, column in zip(decision.scores, wanted.scores, strict=True):
            told = f"{where}: {got.plugin}"
            assert got.weight == column.weight, told
            assert list(got.raw or got.normalised) == [column.raw[k] for k in order], told
            assert list(got.normalised) == [column.normalised[k] for k in order], told


@pytest.fixture(autouse=True)
def silence() -> Iterator[None]:
    """The reference warns of each image that it does not know."""
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_arrays_equal_the_reference(chunk: int) -> None:
    for seed in range(chunk, CLUSTERS, CHUNKS):
        check_against_reference(seed)


# --- What is kept between decisions is what a newly built state gives -------------------------------------------------


def skippy(ties: random.Random, start: int) -> SkippyScheduler:
    parameters = SkippyParameters.model_validate(
        {
            "scores": [name for name, _, _ in SCORES],
            "filters": ["HasEnoughRam", "NodeHasFreeGpu", "NodeHasAccelerator"],
            "explain_nodes": ALL_NODES,
        }
    )
    made = SkippyScheduler(parameters, ties)
    made.walk.start = start
    return made


def default(ties: random.Random, start: int) -> DefaultScheduler:
    return DefaultScheduler(DefaultScheduler.Parameters(explain_nodes=ALL_NODES), ties)


Make = Callable[[random.Random, int], Scheduler]


def check_against_new(seed: int, make: Make) -> None:
    """One cluster: each decision, and the columns, are those of a state and a scheduler that are made for it alone."""
    world = World(seed)
    ties = random.Random(seed)
    scheduler = make(ties, 0)
    for step in range(12):
        if world.rng.random() < 0.45:
            world.something()
            continue
        pod = world.new_pod()
        fresh = ClusterState()
        for event in world.log:
            fresh.apply(event)
        same_ties = random.Random()
        same_ties.setstate(ties.getstate())
        start = scheduler.walk.start if isinstance(scheduler, SkippyScheduler) else 0
        wanted = make(same_ties, start).place(fresh.pods[pod.name], fresh)
        decision = scheduler.place(world.state.pods[pod.name], world.state)
        where = f"seed {seed}, step {step}"
        assert decision == wanted, where
        same_columns(world.state.nodes, fresh.nodes, where)
        world.apply(decision)
        if decision.node is not None:
            world.cluster.place(pod, world.cluster.node(decision.node))
            world.note(pod, decision.node)


def same_columns(kept_table: NodeTable, fresh: NodeTable, where: str) -> None:
    for name in COLUMNS:
        assert getattr(kept_table, name).tolist() == getattr(fresh, name).tolist(), f"{where}: {name}"


@pytest.mark.parametrize("make", [default, skippy])
@pytest.mark.parametrize("chunk", range(4))
def test_what_is_kept_equals_what_is_built_anew(make: Make, chunk: int) -> None:
    for seed in range(chunk, max(1, CLUSTERS // 10), 4):
        check_against_new(seed, make)


# --- The tests above find what they are for: each of these breaks one thing -------------------------------------------


def nothing(*arguments: Any) -> None:
    """Instead of a method that renews something."""


def sums_once(sums: devices.RowSums, table: NodeTable) -> Any:
    """Sums of rows that are made anew only when a node joins."""
    if len(sums._sums) != len(table):
        sums._sums = np.array([sums.at(table, row) for row in range(len(table))], np.float64)
    return sums._sums


def change_unnoticed(state: ClusterState, event: ev.NodeChanged) -> None:
    """A node changes, and the version of the table does not."""
    version = state.nodes.version
    state.nodes.put_node(event.node)
    state.nodes.version = version


def declare_unnoticed(state: ClusterState, event: ev.CatalogueDeclared) -> None:
    """Facts are declared, and the version of the table does not change."""
    state.nodes.facts.declare(event.images, event.buckets, event.objects, event.bandwidth)


MUTANTS: dict[str, tuple[Any, str, Any]] = {
    "kept shapes are never renewed": (kept.KeptShape, "update", nothing),
    "rows are never renewed": (kept.KeptShape, "_update_rows", nothing),
    "images come and go unnoticed": (NodeTable, "expected_version", lambda table, image: 0),
    "sums of rows are never renewed": (devices.RowSums, "of", sums_once),
    "nodes change unnoticed": (ClusterState, "_node_changed", change_unnoticed),
    "declarations go unnoticed": (ClusterState, "_catalogue_declared", declare_unnoticed),
}
FOR_ALL_SCHEDULERS = ("kept shapes are never renewed", "rows are never renewed", "nodes change unnoticed")


@interpreted_only
@pytest.mark.parametrize("name", MUTANTS)
def test_stale_values_are_found_by_the_reference(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*MUTANTS[name])
    with pytest.raises(AssertionError, match="seed"):
        for seed in range(400):
            check_against_reference(seed)


@interpreted_only
@pytest.mark.parametrize(
    ("name", "make"), [(name, skippy) for name in MUTANTS] + [(n, default) for n in FOR_ALL_SCHEDULERS]
)
def test_stale_values_are_found_by_building_anew(name: str, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*MUTANTS[name])
    with pytest.raises(AssertionError, match="seed"):
        for seed in range(400):
            check_against_new(seed, make)


WRONG: dict[str, tuple[Any, str, Any]] = {
    "the walk begins at the first node": (selection, "_last", lambda kept_shape, start: -1),
    "fractions are rounded": (np, "trunc", np.round),
    "all have all images": (NodeTable, "expected", lambda table, image: np.ones(len(table), np.bool_)),
}


@interpreted_only
@pytest.mark.parametrize("name", WRONG)
def test_wrong_rules_are_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*WRONG[name])
    with pytest.raises(AssertionError, match="seed"):
        for seed in range(400):
            check_against_reference(seed)
