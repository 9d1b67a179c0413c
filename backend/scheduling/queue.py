"""Pods that wait for a node, in the order of their creation.

Waiting pods are grouped by shape (what filters look at): where the first pod of a shape is refused, the others of that
shape would be refused as well, so a long line of equal pods costs one attempt, not one each.
"""

from heapq import heappop, heappush

from backend.model.objects import Job
from backend.model.state import PodRecord

Shape = tuple[object, ...]


def shape(job: Job) -> Shape:
    """What decides whether a node can take a pod of this job; equal for pods that the filters cannot tell apart."""
    selector = job.node_selector
    return (
        job.cpu_request_millis,
        job.memory_bytes,
        tuple(sorted(selector.items())) if selector else (),
        job.tolerations,
        job.image,
        job.more_images,
        tuple(job.labels.items()) if job.labels else (),
    )


class _Waiting:
    """A pod in the queue."""

    __slots__ = ("new", "order", "record", "shape")

    def __init__(self, record: PodRecord, order: int, key: Shape) -> None:
        self.record = record
        self.order = order
        self.shape = key
        self.new = True
        """Never tried yet: each pod is tried once, so that each gets its decision."""


class PendingQueue:
    """First in, first out; a refused pod waits until `wake` says that something has changed that could help it."""

    def __init__(self) -> None:
        self._waiting: dict[str, _Waiting] = {}
        self._lines: dict[Shape, dict[str, _Waiting]] = {}
        self._awake: set[Shape] = set()
        """Shapes whose first pod may be tried."""
        self.due: list[tuple[int, str]] = []
        """A heap of pods that may have to be tried, by order of arrival; some need not be any more. While it is
        empty there is nothing to try."""
        self._arrivals = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, record: PodRecord) -> None:
        """Put a new pod at the end of the line."""
        self._arrivals = order = self._arrivals + 1
        name = record.pod.name
        key = shape(record.job)
        self._waiting[name] = waiting = _Waiting(record, order, key)
        line = self._lines.get(key)
        if line is None:
            self._lines[key] = {name: waiting}
        else:
            line[name] = waiting
        heappush(self.due, (order, name))

    def discard(self, pod: str) -> None:
        """Take a pod out, if it is in: it was placed, given up or deleted."""
        waiting = self._waiting.pop(pod, None)
        if waiting is None:
            return
        key = waiting.shape
        line = self._lines[key]
        del line[pod]
        if not line:
            del self._lines[key]
            self._awake.discard(key)
        elif key in self._awake:
            self._push_first(line)

    def wake(self) -> None:
        """Something changed that could help waiting pods: a pod ended, a node came or changed."""
        for key, line in self._lines.items():
            if key not in self._awake:
                self._awake.add(key)
                self._push_first(line)

    def next(self) -> PodRecord | None:
        """The pod to try now, the oldest of those; None if there is none.

        The caller answers with `discard` (placed or given up) or `refused`; until then it stays the next one.
        """
        due = self.due
        while due:
            waiting = self._waiting.get(due[0][1])
            if waiting is not None and (
                waiting.new
                or (waiting.shape in self._awake and next(iter(self._lines[waiting.shape].values())) is waiting)
            ):
                return waiting.record
            heappop(due)
        return None

    def refused(self, record: PodRecord) -> None:
        """No node took the pod: its shape sleeps until the next `wake`."""
        waiting = self._waiting.get(record.pod.name)
        if waiting is not None:
            waiting.new = False
            self._awake.discard(waiting.shape)

    def _push_first(self, line: dict[str, _Waiting]) -> None:
        first = next(iter(line.values()))
        heappush(self.due, (first.order, first.record.pod.name))
