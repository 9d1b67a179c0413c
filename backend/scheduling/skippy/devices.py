"""What functions take on edge devices: measured execution times and use of resources (skippy-faas-sim.md, 9.1).

The tables are faas-sim's (data/NOTICE). A node's device is named by its label or by its name (`rpi4_0`).
"""

import csv
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import resources

import numpy as np
from msgspec import Struct

from backend.model.images import normalise_image
from backend.model.labels import DISK, LOCATION, device_type
from backend.model.node_table import NodeTable
from backend.model.objects import Job, Node
from backend.scheduling.scores import Floats

DISK_BYTES_A_S = {"NVME": 2500e6, "SSD": 500e6, "HDD": 250e6, "FLASH": 150e6, "SD": 50e6}
OTHER_DISK_BYTES_A_S = 1.0
NETWORK_BYTES_A_S = {"CLOUD": 1000e6}
OTHER_NETWORK_BYTES_A_S = 125e6


class Use(Struct, frozen=True, gc=False):
    """What one function takes on one device: shares of CPU, GPU and memory, bytes a second of disk and network."""

    cpu: float
    blkio: float
    gpu: float
    net: float
    ram: float


def _rows(name: str) -> list[dict[str, str]]:
    text = resources.files("backend.scheduling.skippy").joinpath("data", name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


@lru_cache(maxsize=1)
def execution_times() -> dict[tuple[str, str], float]:
    """(device, image without tag) -> mean seconds."""
    return {(row["device"], row["image"]): float(row["mean_s"]) for row in _rows("execution_time_mean.csv")}


@lru_cache(maxsize=1)
def uses() -> dict[tuple[str, str], Use]:
    """(device, image without tag) -> what it takes."""
    return {
        (row["device"], row["image"]): Use(*(float(row[name]) for name in ("cpu", "blkio", "gpu", "net", "ram")))
        for row in _rows("resource_use.csv")
    }


def bare(image: str) -> str:
    """An image's name without its tag, as the tables have it."""
    return normalise_image(image).rpartition(":")[0]


def execution_s(job: Job, node: Node) -> float | None:
    """Mean execution time of the pod's first image on the node's device; None where nobody measured it."""
    return execution_times().get((device_type(node.name, node.labels), bare(job.image)))


def use_of(job: Job, node: Node) -> Use | None:
    """What the pod's first image takes on the node's device; None where nobody measured it."""
    return uses().get((device_type(node.name, node.labels), bare(job.image)))


def contention(use: Use, node: Node) -> float:
    """Parts of the node's disk, network, CPU and GPU that a function takes, added up."""
    disk = DISK_BYTES_A_S.get(node.labels.get(DISK, ""), OTHER_DISK_BYTES_A_S)
    network = NETWORK_BYTES_A_S.get(node.labels.get(LOCATION, ""), OTHER_NETWORK_BYTES_A_S)
    return use.blkio / disk + use.net / network + use.cpu + use.gpu


class RowSums:
    """A number for each node, made of the jobs whose pods are there; only rows on which something changed are renewed.

    One instance belongs to one table.
    """

    def __init__(self, amount: Callable[[Job, Node], float]) -> None:
        self._amount = amount
        self._version = -1
        self._noted = 0
        self._sums: Floats = np.zeros(0)

    def of(self, table: NodeTable) -> Floats:
        """Shape (nodes,). Not to be changed."""
        changed = table.changed
        if self._version != table.version or len(self._sums) != len(table):
            self._version = table.version
            self._sums = np.array([self.at(table, row) for row in range(len(table))], np.float64)
        elif self._noted < len(changed):
            for row in set(changed[self._noted :]):
                self._sums[row] = self.at(table, row)
        self._noted = len(changed)
        return self._sums

    def at(self, table: NodeTable, row: int) -> float:
        """The sum of one row."""
        node = table.nodes[row]
        jobs: Sequence[Job] = table.jobs_on(node.name)
        return sum([self._amount(job, node) for job in jobs])
