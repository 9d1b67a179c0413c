"""Podshift's side of the placement measurements: state, Skippy and its explained decisions, without simulator or log.

python -m bench.skippy_side NODES PODS WARM REPEATS -> JSON; python -m bench.skippy_side memory NODES -> JSON.
"""

import gc
import json
import random
import statistics
import sys
import time
from collections.abc import Iterator

import msgspec
import numpy as np

from backend.model import events as ev
from backend.model.bandwidth import LocalityBandwidth
from backend.model.objects import Job, Node, Pod
from backend.model.state import ClusterState
from backend.model.storage import StoredObject
from backend.scheduling.skippy.policy import SkippyParameters, SkippyScheduler
from bench import skippy_cluster as cluster


def build(count: int) -> ClusterState:
    """The shared cluster as a state."""
    state = ClusterState()
    for name, memory, labels in cluster.nodes(count):
        # max_pods: skippy-core knows no such limit.
        state.apply(ev.NodeAdded(0.0, Node(name, cluster.CORES_MILLIS, memory, max_pods=2**31, labels=labels)))
    objects = tuple(StoredObject(cluster.BUCKET, name, size) for name, size in cluster.OBJECTS.items())
    buckets = {cluster.BUCKET: (cluster.storage_node(),)}
    state.apply(ev.CatalogueDeclared(0.0, cluster.IMAGES, buckets, objects, links()))
    return state


def links() -> LocalityBandwidth:
    """The shared bandwidth."""
    edge, between, cloud = cluster.EDGE_EDGE, cluster.BETWEEN, cluster.CLOUD_CLOUD
    return LocalityBandwidth(edge, between, between, cloud, cloud, registry_cloud=between, registry_edge=edge)


def submit(state: ClusterState, count: int) -> list[str]:
    """Let that many of the shared pods wait for a node; their names."""
    names = []
    for name, image, memory, labels in cluster.pods(count):
        cpu = cluster.CPU_REQUEST_MILLIS
        job = Job(name, image, image, cpu_request_millis=cpu, memory_bytes=memory, labels=dict(labels))
        state.apply(ev.JobSubmitted(0.0, job))
        state.apply(ev.PodCreated(0.0, Pod(name, name)))
        names.append(name)
    return names


def new_scheduler() -> SkippyScheduler:
    """Skippy as it is by default: five scores, all nodes scored."""
    return SkippyScheduler(SkippyParameters(), random.Random(1))


def place(scheduler: SkippyScheduler, state: ClusterState, names: list[str]) -> list[str | None]:
    """Decide and apply, pod by pod; the nodes."""
    choices = []
    for name in names:
        decision = scheduler.place(state.pods[name], state)
        state.apply(decision)
        choices.append(decision.node)
    return choices


def schedule(count: int, pods: int, warm: int) -> tuple[float, float, list[str | None]]:
    """CPU seconds for `pods` pods after `warm` others, for all of them, and the nodes of all."""
    state = build(count)
    scheduler = new_scheduler()
    names = submit(state, warm + pods)  # the peer's pods are made beforehand as well
    gc.collect()
    gc.disable()
    try:
        started = time.process_time()
        choices = place(scheduler, state, names[:warm])
        began = time.process_time()
        choices += place(scheduler, state, names[warm:])
        ended = time.process_time()
    finally:
        gc.enable()
    return ended - began, ended - started, choices


def repeated(count: int, pods: int, warm: int, repeats: int) -> dict[str, object]:
    """Medians over fresh clusters: what few pods take is too short to be measured once."""
    done = [schedule(count, pods, warm) for _ in range(repeats)]
    assert all(choices == done[0][2] for _, _, choices in done)
    return {
        "seconds": statistics.median(seconds for seconds, _, _ in done),
        "with_first": statistics.median(seconds for _, seconds, _ in done),
        "choices": done[0][2],
    }


def bytes_a_node(count: int) -> dict[str, float]:
    """Bytes a node after pods of all shapes were placed.

    `picture`: the NodeTable with its columns, masks, links and names, growth reserve included; `kept`: what the
    scheduler keeps of three shapes of pods; `objects`: the node objects with their labels.
    """
    state = build(count)
    scheduler = new_scheduler()
    place(scheduler, state, submit(state, 60))
    table = state.nodes
    names = {id(name) for name in table.names}
    seen = {id(node) for node in table.nodes}
    table.jobs_on = lambda node: ()
    return {
        "picture": deep_bytes(table, seen) / count,
        "kept": deep_bytes(scheduler, seen) / count,
        "objects": deep_bytes(list(table.nodes), names) / count,
    }


def deep_bytes(root: object, seen: set[int]) -> int:
    """Bytes of everything that can be reached from an object and was not seen before; functions and classes apart."""
    waiting = [root]
    total = 0
    while waiting:
        one = waiting.pop()
        if id(one) in seen or callable(one) or isinstance(one, type(sys)):
            continue
        seen.add(id(one))
        if isinstance(one, np.ndarray):
            total += sys.getsizeof(one)  # with its data, unless that is another's
            waiting.append(one.base)
            continue
        total += sys.getsizeof(one)
        waiting += list(_parts(one))
    return total


def _parts(one: object) -> Iterator[object]:
    if isinstance(one, dict):
        yield from one.keys()
        yield from one.values()
    elif isinstance(one, list | tuple | set | frozenset):
        yield from one
    elif isinstance(one, memoryview):
        yield one.obj
    elif isinstance(one, msgspec.Struct):
        for name in one.__struct_fields__:
            yield getattr(one, name)
    elif not isinstance(one, str | bytes | int | float | None):
        yield from getattr(one, "__dict__", {}).values()
        for kind in type(one).__mro__:
            # Classes compiled by mypyc list their attributes under a name of their own.
            for name in (*getattr(kind, "__slots__", ()), *getattr(kind, "__mypyc_attrs__", ())):
                yield getattr(one, name, None)


if __name__ == "__main__":
    if sys.argv[1] == "memory":
        print(json.dumps(bytes_a_node(int(sys.argv[2]))))
    else:
        print(json.dumps(repeated(*map(int, sys.argv[1:]))))
