"""The cluster of a specification: groups of equal nodes, what they hold, when they fail."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from backend.experiments.errors import closest
from backend.experiments.explain import fault, raise_faults
from backend.experiments.facts import FactsPart
from backend.experiments.limits import MAX_FAULTS, MAX_NODES, MAX_SIMULATED_S
from backend.model.fields import ObjectName, Parameters, PositiveCount, PositiveCpu, PositiveMemory
from backend.model.objects import Node, Taint
from backend.simulation.cluster import Costs, Fault


def not_bool(value: Any) -> Any:
    """Refuse true and false where a number is meant; pydantic would take them for 1 and 0."""
    if isinstance(value, bool):
        raise ValueError("must be a number, not true or false")
    return value


Moment = Annotated[float, Field(ge=0, le=MAX_SIMULATED_S, allow_inf_nan=False), BeforeValidator(not_bool)]
"""Seconds since the run began."""


def one_or_many(value: Any) -> Any:
    """A single mapping stands for a list of one."""
    return [value] if isinstance(value, dict | Parameters) else value


class NodeTaint(Parameters):
    """A taint of a node."""

    key: str = Field(min_length=1, max_length=253)
    value: str = Field("", max_length=63)
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = "NoSchedule"

    @model_validator(mode="before")
    @classmethod
    def _as_kubectl_writes_it(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        pair, colon, effect = value.partition(":")
        key, _, content = pair.partition("=")
        if not colon or not key:
            raise ValueError("must be written as key=value:NoSchedule or key:NoSchedule")
        return {"key": key, "value": content, "effect": effect}


class NodeGroup(Parameters):
    """One node with a name, or `count` equal nodes called `prefix`-1, `prefix`-2 ..."""

    name: ObjectName | None = Field(None, description="name of a single node; leave out for a group")
    count: Annotated[int, Field(ge=1, le=MAX_NODES), BeforeValidator(not_bool)] = Field(1, description="equal nodes")
    prefix: ObjectName = Field("node", description="beginning of the names of a group")
    cpu: PositiveCpu = Field(description="cores of each node, such as '16'")
    memory: PositiveMemory = Field(description="memory of each node, such as 64Gi")
    max_pods: PositiveCount = Field(110, description="pods that a node takes at most (the kubelet's default is 110)")
    labels: dict[str, str] = Field(default={}, description="labels of each node")
    taints: tuple[NodeTaint, ...] = Field((), max_length=50, description="taints of each node")
    images: tuple[str, ...] = Field((), max_length=1000, description="container images each node holds at the start")

    @model_validator(mode="after")
    def _one_or_a_group(self) -> "NodeGroup":
        faults = []
        if self.name is not None and self.count != 1:
            faults.append(fault("a node with a name is a single node", ("count",), self.count, "1, or prefix for name"))
        if self.name is not None and "prefix" in self.model_fields_set:
            faults.append(fault("has no use beside name", ("prefix",), self.prefix, "either name or prefix"))
        raise_faults("node", faults)
        return self


class FaultEntry(Parameters):
    """A node fails and, perhaps, comes back."""

    node: str = Field(description="name of the node that fails")
    at: Moment = Field(description="second at which it fails")
    back_at: Moment | None = Field(None, description="second at which it comes back, empty; never if left out")

    @model_validator(mode="after")
    def _back_after_failing(self) -> "FaultEntry":
        if self.back_at is not None and self.back_at <= self.at:
            raise_faults(
                "fault", [fault("must come after the failure", ("back_at",), self.back_at, f"more than {self.at:g}")]
            )
        return self


class ClusterPart(FactsPart):
    """`cluster` of a specification."""

    nodes: Annotated[
        tuple[NodeGroup, ...],
        BeforeValidator(one_or_many, json_schema_input_type=NodeGroup | tuple[NodeGroup, ...]),
        Field(min_length=1, max_length=MAX_NODES),
    ] = Field(description="one group of equal nodes, or a list of groups and single nodes")
    faults: tuple[FaultEntry, ...] = Field((), max_length=MAX_FAULTS, description="failures of nodes")
    costs: Costs = Field(default_factory=Costs, description="what moving a job costs")

    @model_validator(mode="after")
    def _names_agree(self) -> "ClusterPart":
        total = self.node_count
        if total > MAX_NODES:
            raise_faults("cluster", [fault(f"{total:,} nodes are too many", ("nodes",), None, f"up to {MAX_NODES:,}")])
        place_of: dict[str, int] = {}
        faults = []
        for place, name in self._names():
            if name in place_of:
                message = f"two nodes are called '{name}' (entries {place_of[name]} and {place} of the list)"
                field = "name" if self.nodes[place].name else "prefix"
                faults.append(fault(message, ("nodes", place, field), name, "a name for each node"))
            place_of.setdefault(name, place)
        until: dict[str, float] = {}
        for place, entry in sorted(enumerate(self.faults), key=lambda item: item[1].at):
            if entry.node not in place_of:
                message = f"no node is called '{entry.node}'{closest(entry.node, place_of, len(faults))}"
                faults.append(fault(message, ("faults", place, "node"), entry.node, some(list(place_of))))
            elif entry.at < until.get(entry.node, 0.0):
                message = f"'{entry.node}' is still away from its failure before"
                faults.append(fault(message, ("faults", place, "at"), entry.at, "a time after it came back"))
            until[entry.node] = MAX_SIMULATED_S * 2 if entry.back_at is None else entry.back_at
        raise_faults("cluster", [*faults, *self.facts_faults(place_of)])
        return self

    @property
    def node_count(self) -> int:
        """How many nodes the groups stand for."""
        return sum(group.count for group in self.nodes)

    def _names(self) -> Iterator[tuple[int, str]]:
        """Place of the group and name of each node, in order. Groups with one prefix count on."""
        used: dict[str, int] = {}
        for place, group in enumerate(self.nodes):
            if group.name is not None:
                yield place, group.name
                continue
            start = used.get(group.prefix, 0)
            used[group.prefix] = start + group.count
            for number in range(start + 1, start + group.count + 1):
                yield place, f"{group.prefix}-{number}"

    def build_nodes(self) -> list[Node]:
        """The nodes, in the order of the specification."""
        nodes = []
        for place, name in self._names():
            group = self.nodes[place]
            nodes.append(
                Node(
                    name=name,
                    cpu_millis=group.cpu,
                    memory_bytes=group.memory,
                    max_pods=group.max_pods,
                    labels=dict(group.labels),
                    taints=tuple(Taint(taint.key, taint.effect, taint.value) for taint in group.taints),
                    images=group.images,
                )
            )
        return nodes

    def build_faults(self) -> list[Fault]:
        """The failures, in the order of the specification."""
        return [Fault(node=entry.node, at=entry.at, back_at=entry.back_at) for entry in self.faults]


def some(names: list[str], limit: int = 8) -> str:
    """The first names of a list, and how many more there are."""
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more
