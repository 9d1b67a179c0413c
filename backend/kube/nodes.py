"""What has been said of each node, and what is to be said next."""

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from backend.kube.convert import SeenNode
from backend.model import events as ev
from backend.model.images import normalise_image
from backend.model.labels import architecture
from backend.model.objects import Node
from backend.model.state import ClusterState


class NodeBook:
    """Nodes as the log has them. Methods give the events that follow, in order."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._nodes: dict[str, Node] = {}
        self._declared: set[tuple[str, str]] = set()
        """Image and architecture whose size was said."""

    def get(self, name: str) -> Node | None:
        """A node that is there."""
        return self._nodes.get(name)

    def __len__(self) -> int:
        return len(self._nodes)

    def seen(self, seen: SeenNode) -> Iterator[ev.Event]:
        """A node as it is now."""
        node = seen.node
        before = self._nodes.get(node.name)
        self._nodes[node.name] = node
        if before is None:
            yield ev.NodeAdded(self._now(), node)
            return
        if replace(before, images=()) != replace(node, images=()):
            yield ev.NodeChanged(self._now(), node)
        had = {normalise_image(name) for name in before.images}
        has = {normalise_image(name): name for name in node.images}
        for canonical, name in has.items():
            if canonical not in had:
                yield ev.ImagePulled(self._now(), node.name, name, seen.sizes.get(name, 0), 0.0)
        for canonical in sorted(had - has.keys()):
            yield ev.ImageRemoved(self._now(), node.name, canonical)

    def gone(self, name: str) -> Iterator[ev.NodeRemoved]:
        """A node is there no more."""
        if self._nodes.pop(name, None) is not None:
            yield ev.NodeRemoved(self._now(), name, "it left the cluster")

    def catalogue(self, seen: list[SeenNode]) -> Iterator[ev.CatalogueDeclared]:
        """Sizes of images that were not said before, in one event."""
        images: dict[str, dict[str, int]] = {}
        for one in seen:
            kind = architecture(one.node.labels)
            for name, size in one.sizes.items():
                if size and (name, kind) not in self._declared:
                    self._declared.add((name, kind))
                    images.setdefault(name, {})[kind] = size
        if images:
            yield ev.CatalogueDeclared(self._now(), images)

    def resume(self, state: ClusterState) -> None:
        """Know what a log has told already."""
        table = state.nodes
        self._nodes = {name: table.nodes[row] for name, row in table.row_of.items() if table.present[row]}

    def names(self) -> list[str]:
        """Nodes that are there."""
        return list(self._nodes)
