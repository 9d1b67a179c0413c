"""Filters: each refuses the nodes that cannot take a pod. Names are kube-scheduler's plugin names.

A static filter looks only at what the node is (labels, taints, readiness), so its mask holds until a node changes.
"""

from typing import Protocol, runtime_checkable

import numpy as np

from backend.model.node_table import Bools, NodeTable
from backend.model.objects import Job
from backend.model.quantities import format_cpu, format_memory


class Filter(Protocol):
    """Refuses nodes."""

    name: str
    static: bool
    """Whether the mask depends on the job and on what the nodes are, not on what runs on them."""

    def mask(self, job: Job, table: NodeTable) -> Bools:
        """True for each node that can take a pod of the job; shape (nodes,)."""
        ...

    def explain(self, job: Job, table: NodeTable, refused: Bools) -> str:
        """What the refused nodes lack, after "2 nodes "."""
        ...


@runtime_checkable
class RowFilter(Filter, Protocol):
    """A filter whose answer for a node depends on that node's row alone."""

    def at(self, job: Job, table: NodeTable, row: int) -> bool:
        """What `mask` says of one row."""
        ...


class NodeReady:
    """Refuses nodes that left or are not ready. Not a plugin of kube-scheduler, where such nodes carry a taint."""

    name = "NodeReady"
    static = True

    def mask(self, job: Job, table: NodeTable) -> Bools:
        """See Filter."""
        return table.present & table.ready

    def explain(self, job: Job, table: NodeTable, refused: Bools) -> str:
        """See Filter."""
        return "not ready"


class NodeUnschedulable:
    """Refuses cordoned nodes."""

    name = "NodeUnschedulable"
    static = True

    def mask(self, job: Job, table: NodeTable) -> Bools:
        """See Filter."""
        return ~table.unschedulable

    def explain(self, job: Job, table: NodeTable, refused: Bools) -> str:
        """See Filter."""
        return "cordoned"


class TaintToleration:
    """Refuses nodes with a NoSchedule or NoExecute taint that the pod does not tolerate."""

    name = "TaintToleration"
    static = True

    def mask(self, job: Job, table: NodeTable) -> Bools:
        """See Filter."""
        return np.fromiter((not untolerated(job, table, row) for row in range(len(table))), np.bool_, len(table))

    def explain(self, job: Job, table: NodeTable, refused: Bools) -> str:
        """See Filter."""
        row = int(np.flatnonzero(refused)[0])
        key = untolerated(job, table, row)
        return f"tainted ({key}), which the pod does not tolerate"


def untolerated(job: Job, table: NodeTable, row: int) -> str:
    """The first taint of a node that keeps the job away, as key=value:effect; empty if there is none."""
    for taint in table.taints(row):
        if taint.effect != "PreferNoSchedule" and not any(t.tolerates(taint) for t in job.tolerations):
            return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
    return ""


class NodeSelector:
    """Refuses nodes without the labels that the pod asks for. In kube-scheduler a part of NodeAffinity."""

    name = "NodeSelector"
    static = True

    def mask(self, job: Job, table: NodeTable) -> Bools:
        """See Filter."""
        wanted = job.node_selector.items()
        return np.fromiter((wanted <= node.labels.items() for node in table.nodes), np.bool_, len(table))

    def explain(self, job: Job, table: NodeTable, refused: Bools) -> str:
        """See Filter."""
        wanted = ", ".join(f"{key}={value}" for key, value in sorted(job.node_selector.items()))
        return f"without the labels {wanted}"


class ResourcesFit:
    """Refuses nodes whose free CPU, memory or pod count is too small for the pod's requests."""

    name = "NodeResourcesFit"
    static = False

    def mask(self, job: Job, table: NodeTable) -> Bools:
        """See Filter."""
        fits = table.pods < table.max_pods
        fits &= table.requested_cpu_millis + job.cpu_request_millis <= table.cpu_millis
        fits &= table.requested_memory_bytes + job.memory_bytes <= table.memory_bytes
        return fits

    def at(self, job: Job, table: NodeTable, row: int) -> bool:
        """See RowFilter."""
        return (
            table.pods.item(row) < table.max_pods.item(row)
            and table.requested_cpu_millis.item(row) + job.cpu_request_millis <= table.cpu_millis.item(row)
            and table.requested_memory_bytes.item(row) + job.memory_bytes <= table.memory_bytes.item(row)
        )

    def explain(self, job: Job, table: NodeTable, refused: Bools) -> str:
        """See Filter."""
        lacks = []
        cpu = (table.cpu_millis - table.requested_cpu_millis)[refused]
        memory = (table.memory_bytes - table.requested_memory_bytes)[refused]
        if job.memory_bytes and (memory < job.memory_bytes).any():
            most = format_memory(int(memory.max()))
            lacks.append(f"memory (asks for {format_memory(job.memory_bytes)}, at most {most} free)")
        if job.cpu_request_millis and (cpu < job.cpu_request_millis).any():
            most = format_cpu(int(cpu.max()))
            lacks.append(f"CPU (asks for {format_cpu(job.cpu_request_millis)}, at most {most} free)")
        if (table.pods >= table.max_pods)[refused].any():
            lacks.append("room for another pod")
        return "without enough " + " or ".join(lacks)

    def could_ever(self, job: Job, table: NodeTable) -> Bools:
        """Whether the node could take the pod if nothing else ran on it."""
        return (
            (table.cpu_millis >= job.cpu_request_millis)
            & (table.memory_bytes >= job.memory_bytes)
            & (table.max_pods > 0)
        )
