"""Usage straight from the embedded cluster: the source that is always there in a demonstration."""

from collections.abc import Callable, Mapping

from backend.metrics.reading import NodeUsage, Reading, SourceError

Use = Mapping[str, tuple[float, float]]
"""Node -> (CPU cores in use, memory in use in bytes)."""


class EmbeddedSource:
    """Asks a callable of this process."""

    name = "embedded"
    address = "this process"
    query = "cores and memory in use"

    def __init__(self, use: Callable[[], Use]) -> None:
        self._use = use

    def read(self) -> Reading:
        """Usage at this moment. Raises SourceError where there are no nodes."""
        nodes = {
            node: NodeUsage(max(0.0, 1000.0 * cores), max(0.0, memory), clamped=cores < 0 or memory < 0)
            for node, (cores, memory) in self._use().items()
        }
        if not nodes:
            raise SourceError("no data", self.query, "no nodes")
        return Reading(nodes, self.query, f"{len(nodes)} {'node' if len(nodes) == 1 else 'nodes'}")

    def close(self) -> None:
        """Nothing is held."""
