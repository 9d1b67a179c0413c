"""The peer's side: skippy-core in its own interpreter. python bench/skippy_peer.py NODES PODS WARM -> JSON."""

import gc
import json
import logging
import sys
import time

import skippy_cluster as cluster
from skippy.core.clustercontext import ClusterContext
from skippy.core.model import Capacity, Container, ImageState, Node, Pod, PodSpec, ResourceRequirements
from skippy.core.scheduler import Scheduler
from skippy.core.storage import DataItem, StorageIndex


class Links(dict):
    """bandwidth[source][target], computed on look-up: a matrix of 5,000 nodes would be 200 MB."""

    def __init__(self, source=None):
        super().__init__()
        self.source = source

    def __missing__(self, name):
        value = Links(name) if self.source is None else cluster.bandwidth(self.source, name)
        self[name] = value
        return value


class Context(ClusterContext):
    """The abstract context over the shared cluster."""

    def __init__(self, count):
        super().__init__()
        self.nodes = [
            Node(
                name,
                capacity=Capacity(cluster.CORES_MILLIS, memory),
                allocatable=Capacity(cluster.CORES_MILLIS, memory),
                labels=labels,
            )
            for name, memory, labels in cluster.nodes(count)
        ]
        self.storage_index = StorageIndex()
        self.storage_index.mb(cluster.BUCKET, cluster.storage_node())
        for name, size in cluster.OBJECTS.items():
            self.storage_index.put(DataItem(cluster.BUCKET, name, size))

    def get_init_image_states(self):
        return {name: ImageState(dict(sizes)) for name, sizes in cluster.IMAGES.items()}

    def get_bandwidth_graph(self):
        return Links()

    def list_nodes(self):
        return self.nodes

    def get_next_storage_node(self, node):
        return cluster.storage_node()


def main(count, pods, warm):
    logging.disable(logging.CRITICAL)
    scheduler = Scheduler(Context(count), percentage_of_nodes_to_score=100)
    made = [
        Pod(
            name,
            "default",
            PodSpec(
                [Container(image, ResourceRequirements({"cpu": cluster.CPU_REQUEST_MILLIS, "memory": memory}))], labels
            ),
        )
        for name, image, memory, labels in cluster.pods(warm + pods)
    ]
    gc.collect()
    gc.disable()
    started = time.process_time()
    choices = [scheduler.schedule(pod).suggested_host for pod in made[:warm]]
    began = time.process_time()
    choices += [scheduler.schedule(pod).suggested_host for pod in made[warm:]]
    ended = time.process_time()
    print(
        json.dumps(
            {
                "seconds": ended - began,
                "with_first": ended - started,
                "choices": [host and host.name for host in choices],
            }
        )
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
