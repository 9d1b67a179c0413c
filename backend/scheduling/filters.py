"""Filters: each refuses the nodes that cannot take a pod. Names are kube-scheduler's plugin names.

A static filter looks only at what the node is (labels, taints, readiness) and at the pod's tolerations and node
selector, so its mask holds for all pods with the same until a node changes. A RowFilter may look at requests as well.
A filter that looks at the image or the labels of a pod defines `key(job) -> Hashable` with what it looks at.
"""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np

from backend.model.node_table import Bools, NodeTable
from backend.model.objects import Job, Taint
from backend.model.quantities import format_cpu, format_memory
from backend.scheduling.rows import requests_fit


class Filter(Protocol):
    """Refuses nodes. A static one with `lasting = True` refuses for as long as nobody changes a node: a pod that it
    keeps from every node is given up. Readiness and cordons come and go."""

    name: str
    static: bool
    """Whether the mask depends on tolerations, node selector and what the nodes are, not on what runs on them."""

    def mask(self, job: Job, table: NodeTable) -> Bools:
        """True for each node that can take a pod of the job; shape (nodes,)."""
        ...

    def explain(self, job: Job, table: NodeTable, refused: Bools) -> str:
        """What the refused nodes lack, after "2 nodes "."""
        ...


@runtime_checkable
class RowFilter(Filter, Protocol):
    """A filter whose answer for a node depends on that node's row alone.

    It may have `rows(job, table) -> Callable[[int], bool]` as well: `at` for one job until a node changes, which saves
    looking up the same things for each row.
    """

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


CORDON = Taint("node.kubernetes.io/unschedulable")
"""The taint whose toleration lets a pod onto a cordoned node."""


class NodeUnschedulable:
    """Refuses cordoned nodes, but to pods that tolerate the taint which Kubernetes puts on them."""

    name = "NodeUnschedulable"
    static = True

    def mask(self, job: Job, table: NodeTable) -> Bools:
        """See Filter."""
        if any(toleration.tolerates(CORDON) for toleration in job.tolerations):
            return np.ones(len(table), np.bool_)
        return ~table.unschedulable

    def explain(self, job: Job, table: NodeTable, refused: Bools) -> str:
        """See Filter."""
        return "cordoned"


class TaintToleration:
    """Refuses nodes with a NoSchedule or NoExecute taint that the pod does not tolerate."""

    name = "TaintToleration"
    static = True
    lasting = True

    def mask(self, job: Job, table: NodeTable) -> Bools:
        """See Filter."""
        return np.fromiter((not untolerated(job, table, row) for row in range(len(table))), np.bool_, len(table))

    def explain(self, job: Job, table: NodeTable, refused: Bools) -> str:
        """See Filter."""
        taints = list(dict.fromkeys(untolerated(job, table, row) for row in refused.nonzero()[0].tolist()))
        more = f" and {len(taints) - SHOWN_TAINTS} more" if len(taints) > SHOWN_TAINTS else ""
        return f"tainted ({', '.join(taints[:SHOWN_TAINTS])}{more}), which the pod does not tolerate"


SHOWN_TAINTS = 3
"""Different taints that a sentence names."""


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
    lasting = True

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
        if job.cpu_request_millis:
            fits &= table.cpu_millis - table.requested_cpu_millis >= job.cpu_request_millis  # a sum might overflow
        if job.memory_bytes:
            fits &= table.memory_bytes - table.requested_memory_bytes >= job.memory_bytes
        return fits

    def at(self, job: Job, table: NodeTable, row: int) -> bool:
        """See RowFilter."""
        return self.rows(job, table)(row)

    def rows(self, job: Job, table: NodeTable) -> Callable[[int], bool]:
        """See RowFilter."""
        return requests_fit(table.items, job.cpu_request_millis, job.memory_bytes)

    def explain(self, job: Job, table: NodeTable, refused: Bools) -> str:
        """See Filter."""
        lacks = []
        memory = (table.memory_bytes - table.requested_memory_bytes)[refused]
        cpu = (table.cpu_millis - table.requested_cpu_millis)[refused]
        few = memory[memory < job.memory_bytes]
        if job.memory_bytes and len(few):
            most = format_memory(max(0, int(few.max())))
            lacks.append(f"memory (asks for {format_memory(job.memory_bytes)}, at most {most} free)")
        few = cpu[cpu < job.cpu_request_millis]
        if job.cpu_request_millis and len(few):
            most = format_cpu(max(0, int(few.max())))
            lacks.append(f"CPU (asks for {format_cpu(job.cpu_request_millis)}, at most {most} free)")
        if (table.pods >= table.max_pods)[refused].any():
            lacks.append("room for another pod")
        return "without enough " + " or ".join(lacks)

    def explain_ever(self, job: Job, table: NodeTable, refused: Bools) -> str:
        """What nodes lack that could not take the pod even if nothing ran on them, after "2 nodes "."""
        lacks = []
        memory, cpu = table.memory_bytes[refused], table.cpu_millis[refused]
        few = memory[memory < job.memory_bytes]
        if len(few):
            lacks.append(
                f"memory (asks for {format_memory(job.memory_bytes)}, has at most {format_memory(int(few.max()))})"
            )
        few = cpu[cpu < job.cpu_request_millis]
        if len(few):
            lacks.append(
                f"CPU (asks for {format_cpu(job.cpu_request_millis)}, has at most {format_cpu(int(few.max()))})"
            )
        if (table.max_pods[refused] <= 0).any():
            lacks.append("room for a pod")
        return "too small in " + " or ".join(lacks)

    def could_ever(self, job: Job, table: NodeTable) -> Bools:
        """Whether the node could take the pod if nothing else ran on it."""
        return (
            (table.cpu_millis >= job.cpu_request_millis)
            & (table.memory_bytes >= job.memory_bytes)
            & (table.max_pods > 0)
        )
