"""Podshift's side of the scheduler measurements: state, Skippy and its explained decisions, without simulator or log."""

import random
import sys
import time
from collections.abc import Mapping

from backend.experiments.worker import collect_seldom
from backend.model import events as ev
from backend.model.bandwidth import LocalityBandwidth
from backend.model.node_table import NodeTable
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
    edge, cloud = cluster.EDGE, cluster.CLOUD
    links = LocalityBandwidth(edge, edge, edge, cloud, cloud, registry_cloud=cloud, registry_edge=edge)
    objects = tuple(StoredObject(cluster.BUCKET, name, size) for name, size in cluster.OBJECTS.items())
    buckets = {cluster.BUCKET: (cluster.storage_node(),)}
    state.apply(ev.CatalogueDeclared(0.0, cluster.IMAGES, buckets, objects, links))
    return state


def schedule(count: int, pods: int, warm: int, percentage: int = 100) -> tuple[float, list[str | None]]:
    """CPU seconds for `pods` pods, after `warm` others; the nodes of all of them."""
    state = build(count)
    scheduler = SkippyScheduler(SkippyParameters(percentage_of_nodes_to_score=percentage), random.Random(1))
    jobs = [
        Job(name, image, image, cpu_request_millis=cluster.CPU_REQUEST_MILLIS, memory_bytes=memory, labels=dict(labels))
        for name, image, memory, labels in cluster.pods(warm + pods)
    ]
    for job in jobs:  # the peer's pods are made beforehand as well
        state.apply(ev.JobSubmitted(0.0, job))
        state.apply(ev.PodCreated(0.0, Pod(job.name, job.name)))
    choices: list[str | None] = []

    def place(some: list[Job]) -> None:
        for job in some:
            decision = scheduler.place(state.pods[job.name], state)
            state.apply(decision)
            choices.append(decision.node)

    collect_seldom()
    place(jobs[:warm])
    began = time.process_time()
    place(jobs[warm:])
    return time.process_time() - began, choices


def bytes_a_node(count: int = 15_000) -> Mapping[str, float]:
    """Bytes a node of the picture that schedulers see (columns, masks, names) and of the node objects behind it."""
    state = build(count)
    table = state.nodes
    for _, image, _, _ in cluster.pods(len(cluster.PODS)):
        table.expected(image)
    return {"picture": _columns(table) / count, "objects": _objects(table) / count}


def _columns(table: NodeTable) -> int:
    arrays = [*table._storage.values(), *table._holds.values(), *table._expected.values(), *table._workloads.values()]
    names = sum(sys.getsizeof(name) for name in table.names)
    return sum(array.nbytes for array in arrays) + sys.getsizeof(table.row_of) + sys.getsizeof(table.names) + names


def _objects(table: NodeTable) -> int:
    return sum(sys.getsizeof(node) + sys.getsizeof(node.labels) for node in table.nodes)
