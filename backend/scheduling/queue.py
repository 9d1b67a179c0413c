"""Pods that wait for a node, in the order of their creation.

Waiting pods are grouped by shape (what filters look at): where the first pod of a shape is refused, the others of that
shape would be refused as well, so a long line of equal pods costs one attempt, not one each.
"""

from collections.abc import Iterator

from backend.model.objects import Job
from backend.model.state import PodRecord

Shape = tuple[object, ...]


def shape(job: Job) -> Shape:
    """What decides whether a node can take a pod of this job; equal for pods that the filters cannot tell apart."""
    return (
        job.cpu_request_millis,
        job.memory_bytes,
        tuple(sorted(job.node_selector.items())) if job.node_selector else (),
        job.tolerations,
    )


class PendingQueue:
    """First in, first out; a refused pod waits until `wake` says that something has changed that could help it."""

    def __init__(self) -> None:
        self._lines: dict[Shape, dict[str, tuple[int, PodRecord]]] = {}
        self._shapes: dict[str, Shape] = {}
        self._arrivals = 0
        self._awake: set[Shape] = set()
        """Shapes whose first pod may be tried."""
        self._unseen: dict[str, PodRecord] = {}
        """Pods that have never been tried: each is tried once, so that each gets its decision."""

    def __len__(self) -> int:
        return len(self._shapes)

    @property
    def ready(self) -> bool:
        """Whether there is a pod to try."""
        return bool(self._awake or self._unseen)

    def add(self, record: PodRecord) -> None:
        """Put a new pod at the end of the line."""
        key = shape(record.job)
        name = record.pod.name
        self._arrivals += 1
        self._lines.setdefault(key, {})[name] = (self._arrivals, record)
        self._shapes[name] = key
        self._unseen[name] = record

    def discard(self, pod: str) -> None:
        """Take a pod out, if it is in."""
        key = self._shapes.pop(pod, None)
        if key is None:
            return
        self._unseen.pop(pod, None)
        line = self._lines[key]
        del line[pod]
        if not line:
            del self._lines[key]
            self._awake.discard(key)

    def wake(self) -> None:
        """Something changed that could help waiting pods: a pod ended, a node came or changed."""
        self._awake.update(self._lines)

    def attempts(self) -> Iterator[PodRecord]:
        """Pods to try now, oldest first. The caller answers each with `discard` (placed, given up) or `refused`."""
        while self._awake or self._unseen:
            if not self._awake:
                yield next(iter(self._unseen.values()))
                continue
            heads = [next(iter(self._lines[key].values())) for key in self._awake]
            heads.extend((self._order(name), record) for name, record in self._first_unseen())
            yield min(heads, key=lambda head: head[0])[1]

    def refused(self, record: PodRecord) -> None:
        """No node took the pod: its shape sleeps until the next `wake`."""
        name = record.pod.name
        self._unseen.pop(name, None)
        key = self._shapes.get(name)
        if key is not None:
            self._awake.discard(key)

    def _order(self, pod: str) -> int:
        return self._lines[self._shapes[pod]][pod][0]

    def _first_unseen(self) -> Iterator[tuple[str, PodRecord]]:
        for item in self._unseen.items():
            yield item
            return
