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
    """Mean execution time of the pod's images on the node's device, added up; None where one was never measured."""
    return _execution_s(device_type(node.name, node.labels), job.image, job.more_images)


def measured(job: Job, node: Node) -> bool:
    """Whether the pod has images, and times and use of all of them were measured on the node's device."""
    kind = device_type(node.name, node.labels)
    used = _uses_of(kind, job.image, job.more_images)
    return execution_s(job, node) is not None and len(used) == len(job.images())


def ram(job: Job, node: Node) -> float:
    """Part of the node's memory that a pod takes; an image that was never measured on its device takes nothing."""
    used = _uses_of(device_type(node.name, node.labels), job.image, job.more_images)
    return sum([use.ram for use in used])


def contention(job: Job, node: Node) -> float:
    """Parts of the node's disk, network, CPU and GPU that a pod takes, added up; see `ram` for unmeasured images."""
    labels = node.labels
    disk, location = labels.get(DISK, ""), labels.get(LOCATION, "")
    return _contention(device_type(node.name, labels), disk, location, job.image, job.more_images)


def _images(image: str, more: tuple[str, ...]) -> tuple[str, ...]:
    return Job("", "", image=image, more_images=more).images()


@lru_cache(maxsize=65_536)
def _execution_s(kind: str, image: str, more: tuple[str, ...]) -> float | None:
    found = [execution_times().get((kind, bare(one))) for one in _images(image, more)]
    known = [seconds for seconds in found if seconds is not None]
    return sum(known) if found and len(known) == len(found) else None


@lru_cache(maxsize=65_536)
def _uses_of(kind: str, image: str, more: tuple[str, ...]) -> tuple[Use, ...]:
    found = [uses().get((kind, bare(one))) for one in _images(image, more)]
    return tuple([use for use in found if use is not None])


@lru_cache(maxsize=65_536)
def _contention(kind: str, disk: str, location: str, image: str, more: tuple[str, ...]) -> float:
    disk_rate = DISK_BYTES_A_S.get(disk, OTHER_DISK_BYTES_A_S)
    network_rate = NETWORK_BYTES_A_S.get(location, OTHER_NETWORK_BYTES_A_S)
    used = _uses_of(kind, image, more)
    return sum([use.blkio / disk_rate + use.net / network_rate + use.cpu + use.gpu for use in used])


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
