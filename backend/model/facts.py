"""What schedulers may know besides the nodes themselves: image sizes, stored data, bandwidth."""

from collections.abc import Iterable, Mapping

from backend.model import bandwidth as links
from backend.model.bandwidth import BandwidthModel, LocalityBandwidth
from backend.model.images import ImageCatalogue
from backend.model.storage import StorageIndex, StoredObject


class ClusterFacts:
    """Images, storage and bandwidth as they were declared; without a declaration, bandwidth goes by locality."""

    def __init__(self) -> None:
        self.images = ImageCatalogue()
        self.storage = StorageIndex()
        self.bandwidth: BandwidthModel = LocalityBandwidth()

    def declare(
        self,
        images: Mapping[str, Mapping[str, int]],
        buckets: Mapping[str, Iterable[str]],
        objects: Iterable[StoredObject],
        bandwidth: BandwidthModel | None,
    ) -> None:
        """Add what is declared. Raises ValueError for a size or bandwidth that cannot be, KeyError for an object in a
        bucket that no node holds."""
        if bandwidth is not None:
            links.check(bandwidth)
            self.bandwidth = bandwidth
        for name, sizes in images.items():
            self.images.add(name, sizes)
        for bucket, nodes in buckets.items():
            for node in nodes:
                self.storage.make_bucket(bucket, node)
        for item in objects:
            self.storage.put(item)
