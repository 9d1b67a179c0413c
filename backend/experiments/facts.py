"""Images, storage and network of a specification's cluster: what edge schedulers weigh besides the nodes."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import InitErrorDetails

from backend.experiments.errors import closest
from backend.experiments.explain import fault, raise_faults
from backend.experiments.limits import MAX_NODES
from backend.model.bandwidth import REGISTRY, BandwidthModel, LocalityBandwidth, MatrixBandwidth
from backend.model.events import CatalogueDeclared
from backend.model.fields import Memory, Parameters
from backend.model.labels import RECEIVES, RECEIVES_PATH, SENDS, SENDS_PATH
from backend.model.quantities import QuantityError
from backend.model.storage import StoredObject, read_size, split_path

MAX_IMAGES = 10_000
MAX_OBJECTS = 100_000
ANY_ARCHITECTURE = "any"
"""Architecture that stands for an image's size where it is the same everywhere."""

Rate = Annotated[Memory, Field(gt=0)]


def _is_size(text: str) -> bool:
    try:
        return read_size(text) >= 0
    except QuantityError:
        return False


def _one_size(value: Any) -> Any:
    return value if isinstance(value, dict) else {ANY_ARCHITECTURE: value}


Sizes = Annotated[
    dict[str, Memory],
    BeforeValidator(_one_size, json_schema_input_type=str | float | dict[str, Memory]),
    Field(min_length=1, max_length=50),
]
"""A size for all architectures, or one for each."""


class Bucket(Parameters):
    """Data in storage, and where it lies."""

    bucket: Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[^/]+$")] = Field(description="its name")
    nodes: Annotated[tuple[str, ...], Field(min_length=1, max_length=MAX_NODES)] = Field(
        description="nodes that hold it"
    )
    objects: Annotated[dict[str, Memory], Field(max_length=MAX_OBJECTS)] = Field(
        default={}, description="objects in it: name and size"
    )


class Network(Parameters):
    """Bandwidth in bytes a second, by where the ends are (label locality.skippy.io/type), or link by link."""

    edge_edge: Rate = Field(1_250_000, description="between two nodes at the edge")
    edge_cloud: Rate = Field(12_500_000, description="from the edge to the cloud")
    cloud_edge: Rate = Field(12_500_000, description="from the cloud to the edge")
    cloud_cloud: Rate = Field(125_000_000, description="between two nodes in the cloud")
    itself: Rate = Field(125_000_000, description="from a node to itself")
    registry_cloud: Rate = Field(12_500_000, description="from the image registry to the cloud")
    registry_edge: Rate = Field(1_250_000, description="from the image registry to the edge")
    links: Annotated[dict[str, dict[str, Rate]], Field(max_length=MAX_NODES + 1)] = Field(
        default={}, description=f"from -> to -> bytes a second, where it is otherwise; '{REGISTRY}' is the registry"
    )

    def build(self) -> BandwidthModel:
        """The model that schedulers and simulator read."""
        base = LocalityBandwidth(
            **{name: float(getattr(self, name)) for name in type(self).model_fields if name != "links"}
        )
        if not self.links:
            return base
        links = {source: {to: float(rate) for to, rate in ends.items()} for source, ends in self.links.items()}
        return MatrixBandwidth(links, base)


class FactsPart(Parameters):
    """What `cluster` says besides nodes, faults and costs."""

    images: Annotated[dict[str, Sizes], Field(max_length=MAX_IMAGES)] = Field(
        default={}, description="container images: a size, or one for each architecture (label kubernetes.io/arch)"
    )
    storage: Annotated[tuple[Bucket, ...], Field(max_length=1000)] = Field((), description="data and where it lies")
    network: Network | None = Field(
        None, description="bandwidth by place; images are pulled at costs.image_bandwidth if left out"
    )

    @model_validator(mode="after")
    def _buckets_once(self) -> "FactsPart":
        places: dict[str, int] = {}
        faults = []
        for place, entry in enumerate(self.storage):
            if entry.bucket in places:
                message = f"two buckets are called '{entry.bucket}' (entries {places[entry.bucket]} and {place})"
                faults.append(fault(message, ("storage", place, "bucket"), entry.bucket, "a name for each bucket"))
            places.setdefault(entry.bucket, place)
        raise_faults("cluster", faults)
        return self

    def facts_faults(self, nodes: Mapping[str, Any]) -> list[InitErrorDetails]:
        """What names nodes that the cluster does not have."""
        faults: list[InitErrorDetails] = []
        for place, entry in enumerate(self.storage):
            for number, node in enumerate(entry.nodes):
                if node not in nodes:
                    message = f"no node is called '{node[:60]}'{closest(node, nodes, len(faults))}"
                    faults.append(fault(message, ("storage", place, "nodes", number), node, "nodes of the cluster"))
        for source, ends in (self.network.links if self.network else {}).items():
            for name, loc in ((source, ()), *((to, (to,)) for to in ends)):
                if name != REGISTRY and name not in nodes:
                    message = f"no node is called '{name[:60]}'{closest(name, nodes, len(faults))}"
                    allowed = f"nodes of the cluster, or {REGISTRY}"
                    faults.append(fault(message, ("network", "links", source, *loc), name, allowed))
        return faults

    def label_faults(self, labels: Mapping[str, str], loc: tuple[str | int, ...]) -> list[InitErrorDetails]:
        """What is wrong with the data labels of pods: sizes that are none, paths that lead nowhere."""
        faults: list[InitErrorDetails] = []
        for key in (RECEIVES, SENDS):
            size = labels.get(key)
            if size is not None and not _is_size(size):
                faults.append(fault("is no size", (*loc, key), size, "a quantity such as 188Mi"))
        stored = {entry.bucket: entry.objects for entry in self.storage}
        for key in (RECEIVES_PATH, SENDS_PATH):
            path = labels.get(key)
            if path is None:
                continue
            bucket, name = split_path(path)
            if bucket not in stored:
                message = f"no bucket is called '{bucket[:60]}'{closest(bucket, stored)}"
                faults.append(fault(message, (*loc, key), path, "bucket/object, with a bucket of cluster.storage"))
            elif key == RECEIVES_PATH and name not in stored[bucket]:
                message = f"the bucket '{bucket}' holds no object '{name[:60]}'{closest(name, stored[bucket])}"
                faults.append(fault(message, (*loc, key), path, f"objects of cluster.storage in '{bucket}'"))
            elif not name:
                faults.append(fault("names no object", (*loc, key), path, "bucket/object"))
        return faults

    def build_catalogue(self) -> CatalogueDeclared | None:
        """The event that declares all of it; None if there is nothing to declare."""
        if not (self.images or self.storage or self.network):
            return None
        objects = tuple(
            StoredObject(entry.bucket, name, size) for entry in self.storage for name, size in entry.objects.items()
        )
        return CatalogueDeclared(
            0.0,
            {name: dict(sizes) for name, sizes in self.images.items()},
            {entry.bucket: entry.nodes for entry in self.storage},
            objects,
            self.network.build() if self.network else None,
        )
