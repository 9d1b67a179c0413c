"""Where data lies: buckets on storage nodes, and the objects in them (Skippy specification, section 1)."""

from collections.abc import Mapping

from msgspec import Struct

from backend.model.labels import RECEIVES_PATH, SENDS, SENDS_PATH
from backend.model.quantities import QuantityError, memory_bytes


class StoredObject(Struct, frozen=True, gc=False, omit_defaults=True):
    """An object in a bucket; every node of the bucket holds it."""

    bucket: str
    name: str
    size_bytes: int = 0


def split_path(path: str) -> tuple[str, str]:
    """Bucket and object of "bucket/object": all behind the first slash is the object's name."""
    bucket, _, name = path.partition("/")
    return bucket, name


def labelled_size(labels: Mapping[str, str], key: str) -> int:
    """Bytes that a data label of a pod names; 0 where it names none or no size.

    It may be a Kubernetes quantity or, as Skippy writes sizes, have K for 1,000.
    """
    try:
        return max(0, read_size(labels.get(key, "0")))
    except QuantityError:
        return 0


def read_size(text: str) -> int:
    """Bytes that a size in a data label stands for. Raises QuantityError."""
    return memory_bytes(f"{text[:-1]}k" if text.endswith("K") else text)


class StorageIndex:
    """Buckets and objects. Reading never creates anything; nodes keep the order in which they were added."""

    def __init__(self) -> None:
        self._nodes: dict[str, dict[str, None]] = {}
        self._objects: dict[tuple[str, str], StoredObject] = {}

    def make_bucket(self, bucket: str, node: str) -> None:
        """Let a node hold the bucket, with all that is in it."""
        self._nodes.setdefault(bucket, {})[node] = None

    def put(self, item: StoredObject) -> None:
        """Store an object on all nodes of its bucket. Raises KeyError where no node holds the bucket, ValueError for a
        negative size."""
        if item.size_bytes < 0:
            raise ValueError(f"'{item.bucket}/{item.name}' is {item.size_bytes} bytes long")
        if not self._nodes.get(item.bucket):
            raise KeyError(f"no node holds the bucket '{item.bucket}' that '{item.name}' is to be put into")
        self._objects[item.bucket, item.name] = item

    def stat(self, bucket: str, name: str) -> StoredObject | None:
        """The object of that name, or None."""
        return self._objects.get((bucket, name))

    def bucket_nodes(self, bucket: str) -> list[str]:
        """Nodes that hold the bucket; none for an unknown one."""
        return list(self._nodes.get(bucket, ()))

    def object_nodes(self, bucket: str, name: str) -> list[str]:
        """Nodes that hold the object; none if it is not there."""
        return self.bucket_nodes(bucket) if (bucket, name) in self._objects else []

    def received(self, labels: Mapping[str, str]) -> tuple[list[str], int]:
        """Nodes that hold what a pod with these labels gets before it starts, and its bytes: those of the object that
        its path names; nothing where there is no such object."""
        bucket, name = split_path(labels.get(RECEIVES_PATH, ""))
        item = self.stat(bucket, name)
        return self.bucket_nodes(bucket), 0 if item is None else item.size_bytes

    def sent(self, labels: Mapping[str, str]) -> tuple[list[str], int]:
        """Nodes that get what a pod with these labels sends, and its bytes: those of the object at its path, or the
        label's for a new one."""
        bucket, name = split_path(labels.get(SENDS_PATH, ""))
        item = self.stat(bucket, name)
        return self.bucket_nodes(bucket), labelled_size(labels, SENDS) if item is None else item.size_bytes

    def holdings(self, node: str) -> list[StoredObject]:
        """The objects that a node holds."""
        return [item for item in self._objects.values() if node in self._nodes[item.bucket]]

    def listing(self) -> list[str]:
        """ "/node/bucket/object" of everything, for debugging."""
        return [
            f"/{node}/{item.bucket}/{item.name}" for item in self._objects.values() for node in self._nodes[item.bucket]
        ]

    def buckets(self) -> Mapping[str, list[str]]:
        """Bucket -> nodes."""
        return {bucket: list(nodes) for bucket, nodes in self._nodes.items()}
