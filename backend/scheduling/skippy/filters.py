"""Skippy's filters ("predicates"; skippy-faas-sim.md, section 2.1)."""

from collections.abc import Callable
from typing import Annotated, ClassVar

import numpy as np
from pydantic import BaseModel, Field

from backend.model.fields import Parameters
from backend.model.labels import STORAGE_NODE
from backend.model.node_table import Bools, NodeTable, scoring_requests
from backend.model.objects import Job
from backend.model.quantities import format_cpu, format_memory
from backend.scheduling.rows import counted_requests_fit
from backend.scheduling.skippy.plugin import SkippyFilter


class PodFitsResources(SkippyFilter):
    """Nodes whose free CPU and memory hold what the pod requests, 100 millicores and 200 MiB where it names nothing."""

    name = "PodFitsResources"
    static = False

    def mask(self, job: Job, table: NodeTable) -> Bools:
        """See Filter."""
        cpu, memory = scoring_requests(job)
        fits = table.cpu_millis - table.scoring_cpu_millis >= cpu  # a sum with an absurd request would overflow
        fits &= table.memory_bytes - table.scoring_memory_bytes >= memory
        fits &= table.pods < table.max_pods
        return fits

    def at(self, job: Job, table: NodeTable, row: int) -> bool:
        """See RowFilter."""
        return self.rows(job, table)(row)

    def rows(self, job: Job, table: NodeTable) -> Callable[[int], bool]:
        """See RowFilter."""
        return counted_requests_fit(table.items, *scoring_requests(job))

    def explain(self, job: Job, table: NodeTable, refused: Bools) -> str:
        """See Filter."""
        cpu, memory = scoring_requests(job)
        free_cpu = (table.cpu_millis - table.scoring_cpu_millis)[refused]
        free_memory = (table.memory_bytes - table.scoring_memory_bytes)[refused]
        lacks = []
        if (free_memory < memory).any():
            most = format_memory(max(0, int(free_memory[free_memory < memory].max())))
            lacks.append(f"memory (asks for {format_memory(memory)}, at most {most} free)")
        if (free_cpu < cpu).any():
            most = format_cpu(max(0, int(free_cpu[free_cpu < cpu].max())))
            lacks.append(f"CPU (asks for {format_cpu(cpu)}, at most {most} free)")
        if (table.pods >= table.max_pods)[refused].any():
            lacks.append("room for another pod")
        return "without enough " + " or ".join(lacks)


class GeneralPreds(PodFitsResources):
    """Kubernetes' general predicates, of which Skippy has one: that the requests fit."""

    name = "GeneralPreds"


class LabelPresence(Parameters):
    """Options of CheckNodeLabelPresence."""

    labels: Annotated[tuple[str, ...], Field(min_length=1)] = Field((STORAGE_NODE,), description="label keys")
    should_be_present: bool = Field(False, description="whether all of them must be there, or none may be")


class CheckNodeLabelPresence(SkippyFilter):
    """Nodes that carry all the listed label keys, or none of them (by default: nodes that are no storage nodes)."""

    name = "CheckNodeLabelPresence"
    static = True
    lasting = True
    Options: ClassVar[type[BaseModel]] = LabelPresence

    def __init__(self, options: BaseModel | None = None) -> None:
        super().__init__(options)
        assert isinstance(self.options, LabelPresence)
        self._labels = self.options.labels
        self._present = self.options.should_be_present

    def mask(self, job: Job, table: NodeTable) -> Bools:
        """See Filter."""
        fits = np.ones(len(table), np.bool_)
        for label in self._labels:
            carried = table.labelled(label)
            fits &= carried if self._present else ~carried
        return fits

    def explain(self, job: Job, table: NodeTable, refused: Bools) -> str:
        """See Filter."""
        return f"{'without' if self._present else 'with'} the label {' or '.join(self._labels)}"
