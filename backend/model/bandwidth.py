"""Bandwidth between nodes, and from the image registry to nodes, in bytes a second.

A full matrix of 15,000 nodes would take 1.8 GB, so a scheduler asks for one source or one target at a time and gets
a vector over the nodes; which model stands behind it is the cluster's affair.
"""

import hashlib
from typing import ClassVar

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from backend.model.labels import is_edge
from backend.model.objects import Node

Floats = NDArray[np.float64]
REGISTRY = "registry"
"""Name of the image registry as an end of a link."""


class LocalityBandwidth(Struct, frozen=True, tag="by-locality", omit_defaults=True, forbid_unknown_fields=True):
    """Bandwidth by where the two ends are, edge or cloud; a node without the label is in the cloud.

    Defaults: the older Skippy simulator's (skippy-faas-sim.md, section 5.3); the registry is a machine of the cloud.
    """

    edge_edge: float = 1.25e6
    edge_cloud: float = 1.25e7
    cloud_edge: float = 1.25e7
    cloud_cloud: float = 1.25e8
    itself: float = 1.25e8
    registry_cloud: float = 1.25e7
    registry_edge: float = 1.25e6

    def outbound(self, source: str, nodes: list[Node], rows: dict[str, int]) -> Floats:
        """From a source to each node; shape (nodes,)."""
        if source == REGISTRY:
            return np.where(_at_edge(nodes), self.registry_edge, self.registry_cloud)
        return self._by_place(
            source, nodes, rows, (self.edge_edge, self.edge_cloud), (self.cloud_edge, self.cloud_cloud)
        )

    def inbound(self, target: str, nodes: list[Node], rows: dict[str, int]) -> Floats:
        """From each node to a target; shape (nodes,)."""
        return self._by_place(
            target, nodes, rows, (self.edge_edge, self.cloud_edge), (self.edge_cloud, self.cloud_cloud)
        )

    def _by_place(
        self,
        end: str,
        nodes: list[Node],
        rows: dict[str, int],
        at_edge: tuple[float, float],
        in_cloud: tuple[float, float],
    ) -> Floats:
        """Between one end and each node: what edge and cloud nodes have, for an end at the edge and for any other."""
        edge, row = _at_edge(nodes), rows.get(end)
        values = np.where(edge, *(at_edge if row is not None and edge[row] else in_cloud))
        if row is not None:
            values[row] = self.itself
        return values


def _at_edge(nodes: list[Node]) -> NDArray[np.bool_]:
    return np.fromiter((is_edge(node.labels) for node in nodes), np.bool_, len(nodes))


class MatrixBandwidth(Struct, frozen=True, tag="matrix", omit_defaults=True, forbid_unknown_fields=True):
    """Bandwidth pair by pair; a pair that is not named gets what `otherwise` says of it."""

    values: dict[str, dict[str, float]] = {}
    """Source -> target -> bytes a second."""
    otherwise: LocalityBandwidth = LocalityBandwidth()

    def outbound(self, source: str, nodes: list[Node], rows: dict[str, int]) -> Floats:
        """See LocalityBandwidth."""
        vector = self.otherwise.outbound(source, nodes, rows)
        for target, value in self.values.get(source, {}).items():
            row = rows.get(target)
            if row is not None:
                vector[row] = value
        return vector

    def inbound(self, target: str, nodes: list[Node], rows: dict[str, int]) -> Floats:
        """See LocalityBandwidth."""
        vector = self.otherwise.inbound(target, nodes, rows)
        for source, targets in self.values.items():
            row = rows.get(source)
            if row is not None and target in targets:
                vector[row] = targets[target]
        return vector


class RandomBandwidth(Struct, frozen=True, tag="random", omit_defaults=True, forbid_unknown_fields=True):
    """Whole random numbers, the same for a pair whenever it is asked for: the graph of the scheduler's performance
    experiment (skippy-faas-sim.md, section 5.4, whose original draws anew at every look)."""

    LOWEST: ClassVar[int] = 10
    HIGHEST: ClassVar[int] = 1000

    seed: int = 1

    def outbound(self, source: str, nodes: list[Node], rows: dict[str, int]) -> Floats:
        """See LocalityBandwidth."""
        return self._drawn("from", source, len(nodes))

    def inbound(self, target: str, nodes: list[Node], rows: dict[str, int]) -> Floats:
        """See LocalityBandwidth. Drawn apart from `outbound`: the graph is directed."""
        return self._drawn("to", target, len(nodes))

    def _drawn(self, way: str, end: str, count: int) -> Floats:
        digest = hashlib.sha256(f"{self.seed} {way} {end}".encode()).digest()
        draws = np.random.Generator(np.random.PCG64(int.from_bytes(digest[:8], "big")))
        return draws.integers(self.LOWEST, self.HIGHEST, count, endpoint=True).astype(np.float64)


BandwidthModel = LocalityBandwidth | MatrixBandwidth | RandomBandwidth


def check(model: BandwidthModel) -> None:
    """Raise ValueError for a bandwidth that is not a positive, finite number."""
    for where, value in _numbers(model):
        if not 0 < value < float("inf"):
            raise ValueError(f"bandwidth {where} is {value}; it must be a number of bytes a second above 0")


def _numbers(model: BandwidthModel) -> list[tuple[str, float]]:
    if isinstance(model, RandomBandwidth):
        return []
    if isinstance(model, MatrixBandwidth):
        pairs = [
            (f"from {source} to {target}", value)
            for source, targets in model.values.items()
            for target, value in targets.items()
        ]
        return [*pairs, *_numbers(model.otherwise)]
    return [(name, value) for name, value in msgspec.structs.asdict(model).items()]
