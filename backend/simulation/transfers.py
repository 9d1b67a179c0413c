"""How long images and data take to come and go, by what is declared of images, storage and bandwidth."""

from collections.abc import Sequence

from backend.model.bandwidth import REGISTRY, Floats
from backend.model.events import CatalogueDeclared
from backend.model.facts import ClusterFacts
from backend.model.labels import architecture
from backend.model.objects import Job, Node
from backend.simulation.costs import Costs


class Transfers:
    """Durations in seconds. Transfers do not slow each other down here; network flows are another matter."""

    def __init__(self, nodes: Sequence[Node], costs: Costs, catalogue: CatalogueDeclared | None) -> None:
        self._nodes = list(nodes)
        self._rows = {node.name: row for row, node in enumerate(nodes)}
        self._costs = costs
        self._facts = ClusterFacts()
        self._by_place = catalogue is not None and catalogue.bandwidth is not None
        """Whether pulls depend on where a node is."""
        if catalogue is not None:
            self._facts.declare(catalogue.images, catalogue.buckets, catalogue.objects, catalogue.bandwidth)
        self._vectors: dict[tuple[str, bool], Floats] = {}

    def image_bytes(self, image: str, job: Job, node: Node) -> int:
        """Size of an image on the node's architecture: the declared one, else the job's own."""
        sizes = self._facts.images.sizes(image)
        if not sizes:
            return job.image_bytes
        return sizes.get(architecture(node.labels), next(iter(sizes.values())))

    def pull_s(self, size_bytes: int, node: Node) -> float:
        """Seconds that the node takes to pull so much from the registry."""
        if not self._by_place:
            return self._costs.pull_s(size_bytes)
        return size_bytes / self._rate(REGISTRY, node.name, outbound=True)

    def download_s(self, job: Job, node: Node) -> float:
        """Seconds to get the data that the pod's labels name; 0 where they name none, or the node holds it."""
        return self._data_s(*self._facts.storage.received(job.labels), node, outbound=True)

    def upload_s(self, job: Job, node: Node) -> float:
        """Seconds to send the data that the pod's labels name."""
        return self._data_s(*self._facts.storage.sent(job.labels), node, outbound=False)

    def _data_s(self, holders: Sequence[str], size: int, node: Node, *, outbound: bool) -> float:
        if not holders or not size or node.name in holders:
            return 0.0
        return size / max(self._rate(holder, node.name, outbound=outbound) for holder in holders)

    def _rate(self, end: str, node: str, *, outbound: bool) -> float:
        vector = self._vectors.get((end, outbound))
        if vector is None:
            model = self._facts.bandwidth
            made = model.outbound if outbound else model.inbound
            vector = self._vectors[end, outbound] = made(end, self._nodes, self._rows)
        return vector.item(self._rows[node])
