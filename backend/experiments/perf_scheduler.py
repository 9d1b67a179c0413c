"""How quickly Skippy places pods, by nodes, scores and part of the nodes scored (skippy-faas-sim.md, section 5.4).

The cluster is cloud regions and the pods are those of Skippy's workflow, or both come from a trace; bandwidth is
random.
"""

import gc
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product

import msgspec
import pyarrow as pa
from msgspec import Struct

from backend.model import events as ev
from backend.model.bandwidth import RandomBandwidth
from backend.model.labels import ARCHITECTURE, CAPABILITY, LOCALITY, RECEIVES_PATH, SENDS_PATH, STORAGE_NODE
from backend.model.objects import Job, Node, Pod
from backend.model.random_streams import stream, stream_seed
from backend.model.state import ClusterState
from backend.model.storage import StoredObject
from backend.scheduling.skippy.policy import SkippyParameters, SkippyScheduler
from backend.scheduling.skippy.sets import SKIPPY
from backend.traces.openb import TraceNode, TracePod, to_job, to_node

REGIONS = 10
ZONE = "kubernetes.topology.io/zone"
STORAGE_SHARES = (0.10, 0.05)
"""Part of the first region's machines, and of every other's, that hold data and run nothing."""
VM_CPU_MILLIS, VM_MEMORY_BYTES = 4000, 8167784 * 1024
MIB = 2**20
OBJECTS = {"raw": 12 * MIB, "train": 209 * MIB, "model": 1500 * 1024}
"""Bucket, with one object in it -> bytes."""
IMAGES = {
    "skippy/ml-wf-1-pre": {"arm": 465830200, "arm64": 540391110, "amd64": 533323136},
    "skippy/ml-wf-2-train": {"arm": 519336111, "arm64": 594174340, "amd64": 550683347},
    "skippy/ml-wf-3-serve": {"arm": 511888808, "arm64": 590989596, "amd64": 589680790},
}
CUDA = {f"{CAPABILITY}/nvidia-cuda": "10", f"{CAPABILITY}/nvidia-gpu": ""}
WORKFLOW: tuple[tuple[str, int, dict[str, str]], ...] = (
    ("pre", 100 * MIB, {RECEIVES_PATH: "raw/data", SENDS_PATH: "train/data"}),
    ("train", 1024 * MIB, {RECEIVES_PATH: "train/data", SENDS_PATH: "model/data", **CUDA}),
    ("serve", 0, {RECEIVES_PATH: "model/data"}),
)
"""Step, memory request in bytes (0: names none) and labels of its pods."""

MOST_NODES, MOST_SCORES = 100_000, 30
WARM_NODES, WARM_PODS = 300, 60


class Combination(Struct, frozen=True):
    """One measurement to be made."""

    nodes: int
    scores: int
    percentage: int


class Measured(Struct, frozen=True):
    """What one measurement gave."""

    constraints: int
    """Scores, each weighed 1."""
    nodes: int
    percentage: int
    pods: int
    """Pods that were decided on."""
    placed: int
    """Pods that got a node."""
    duration_ms: float
    """Processor time of all decisions together."""
    pods_per_s: float


class Scene(Struct, frozen=True):
    """The cluster and the pods of one number of nodes."""

    nodes: list[Node]
    catalogue: ev.CatalogueDeclared
    jobs: list[Job]
    filters: tuple[str, ...] = ()
    """Filters besides Skippy's."""


def combinations(nodes: Sequence[int], scores: Sequence[int], percentages: Sequence[int]) -> list[Combination]:
    """All of them, those of one number of nodes in a row."""
    return [Combination(*one) for one in product(nodes, scores, percentages)]


def run(
    wanted: Iterable[Combination], scene: Callable[[int], Scene], clock: Callable[[], float] = time.process_time
) -> Iterator[Measured]:
    """Measure one combination after the other, each on a cluster of its own."""
    made: tuple[int, Scene] | None = None
    for one in wanted:
        if made is None:
            _warm_up(scene, clock)
        if made is None or made[0] != one.nodes:
            made = one.nodes, scene(one.nodes)
        yield _measure(one, made[1], clock)


def _warm_up(scene: Callable[[int], Scene], clock: Callable[[], float]) -> None:
    """Make the first calls, which import and specialise, before anything is measured."""
    small = scene(WARM_NODES)
    few = msgspec.structs.replace(small, jobs=small.jobs[:WARM_PODS])
    for percentage in (0, 100):
        _measure(Combination(WARM_NODES, len(SKIPPY), percentage), few, clock)


def _measure(one: Combination, scene: Scene, clock: Callable[[], float]) -> Measured:
    state = ClusterState()
    for node in scene.nodes:
        state.apply(ev.NodeAdded(0.0, node))
    state.apply(scene.catalogue)
    for job in scene.jobs:
        state.apply(ev.JobSubmitted(0.0, job))
        state.apply(ev.PodCreated(0.0, Pod(job.name, job.name)))
    parameters = SkippyParameters.model_validate(
        {
            "scores": score_names(one.scores),
            "filters": scene.filters,
            "percentage_of_nodes_to_score": one.percentage,
        }
    )
    scheduler = SkippyScheduler(parameters, random.Random(1))
    records = [state.pods[job.name] for job in scene.jobs]
    placed = 0
    collecting = gc.isenabled()
    gc.disable()
    try:
        began = clock()
        for record in records:
            decision = scheduler.place(record, state)
            state.apply(decision)
            placed += decision.node is not None
        seconds = clock() - began
    finally:
        if collecting:
            gc.enable()
    return Measured(
        one.scores,
        one.nodes,
        one.percentage,
        len(records),
        placed,
        round(1000 * seconds, 3),
        round(len(records) / seconds, 1) if seconds > 0 else 0.0,
    )


def score_names(count: int) -> tuple[str, ...]:
    """Skippy's five scores, in turn, until there are so many."""
    return tuple(SKIPPY[place % len(SKIPPY)] for place in range(count))


def cloud_regions(nodes: int, pods: int, seed: int) -> Scene:
    """Ten regions with a tenth of the machines each, the remainder one by one to the first; workflow pods."""
    machines: list[Node] = []
    storage: list[str] = []
    for region in range(REGIONS):
        count = nodes // REGIONS + (region < nodes % REGIONS)
        holding = round(count * STORAGE_SHARES[min(region, 1)])
        for number in range(count):
            name = f"region-{region}-vm-{number}"
            labels = {ARCHITECTURE: "amd64", LOCALITY: "cloud", ZONE: f"region-{region}"}
            if number < holding:
                labels[STORAGE_NODE] = ""
                storage.append(name)
            machines.append(Node(name, VM_CPU_MILLIS, VM_MEMORY_BYTES, labels=labels))
    draws = stream(seed, "perf/buckets")
    holders = storage or [node.name for node in machines]
    buckets: dict[str, tuple[str, ...]] = {bucket: (draws.choice(holders),) for bucket in OBJECTS}
    objects = tuple(StoredObject(bucket, "data", size) for bucket, size in OBJECTS.items())
    catalogue = ev.CatalogueDeclared(0.0, IMAGES, buckets, objects, _bandwidth(seed))
    images = tuple(IMAGES)
    jobs = []
    for number in range(pods):
        place = number % len(WORKFLOW)
        step, memory, labels = WORKFLOW[place]
        jobs.append(Job(f"{step}-{number}", step, images[place], memory_bytes=memory, labels=labels))
    return Scene(machines, catalogue, jobs)


def from_trace(
    trace_nodes: Sequence[TraceNode], trace_pods: Sequence[TracePod], nodes: int, pods: int, seed: int
) -> Scene:
    """Nodes and pods of a trace.

    Fewer nodes than it has are taken at even distances, so that all kinds are among them; more, by going through the
    list again. Pods come in the order of their creation. A pod with GPUs only fits on a node with GPUs; how many of
    them are in use is not counted.
    """
    there = len(trace_nodes)
    if nodes < there:
        machines = [to_node(trace_nodes[place * there // nodes]) for place in range(nodes)]
    else:
        machines = [
            to_node(trace_nodes[k % there], _named(trace_nodes[k % there].name, k // there)) for k in range(nodes)
        ]
    ordered = sorted(trace_pods, key=lambda pod: pod.created_s)
    jobs = [
        to_job(ordered[k % len(ordered)], _named(ordered[k % len(ordered)].name, k // len(ordered)))
        for k in range(pods)
    ]
    return Scene(machines, ev.CatalogueDeclared(0.0, bandwidth=_bandwidth(seed)), jobs, ("NodeHasAccelerator",))


def _named(name: str, again: int) -> str:
    return f"{name}-again-{again}" if again else name


def _bandwidth(seed: int) -> RandomBandwidth:
    return RandomBandwidth(stream_seed(seed, "perf/bandwidth") % 2**31)


def as_table(rows: Sequence[Measured]) -> pa.Table:
    """The rows as a table with a column for each field."""
    return pa.table({name: [getattr(row, name) for row in rows] for name in Measured.__struct_fields__})
