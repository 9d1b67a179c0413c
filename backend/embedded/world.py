"""The embedded cluster's machines: a SimulatedCluster whose clock follows the wall's, times a speed.

Everything here is behind one lock, so that a kubelet thread, an exporter and a person who changes the speed may call
it at any time.
"""

import math
import threading
from collections.abc import Callable, Sequence

from msgspec import Struct

from backend.model.actions import Bind, CreatePod, DeletePod
from backend.model.events import CatalogueDeclared, Event
from backend.model.objects import Node, Pod
from backend.model.periods import FASTEST, SLOWEST
from backend.simulation.cluster import Costs, SimulatedCluster, Submission, Telemetry


class NodeUse(Struct, frozen=True, gc=False):
    """What a node's exporter shows."""

    node: Node
    busy_core_s: float
    """Core-seconds in use since the node joined, in wall-clock time: what `node_cpu_seconds_total` counts."""
    up_s: float
    """Wall-clock seconds since the node joined."""
    used_cores: float
    """Cores in use at this moment."""
    memory_bytes: int
    """Memory in use."""


class _Counter:
    """A node's busy core-seconds in wall-clock time; the speed may change between two looks."""

    __slots__ = ("busy", "delivered", "joined")

    def __init__(self, joined: float) -> None:
        self.busy = 0.0
        self.delivered = 0.0
        """Simulated core-seconds that are in `busy` already."""
        self.joined = joined


class World:
    """A cluster that lives in real time."""

    def __init__(
        self,
        nodes: Sequence[Node],
        *,
        seed: int,
        speed: float,
        clock: Callable[[], float],
        costs: Costs | None = None,
        telemetry: Telemetry | None = None,
        catalogue: CatalogueDeclared | None = None,
    ) -> None:
        """`clock` gives wall-clock seconds that never go back, such as time.monotonic."""
        self._lock = threading.RLock()
        self._clock = clock
        self._speed = _checked(speed)
        self._wall = clock()
        """Wall-clock time at which the simulated time was `_simulated`."""
        self._simulated = 0.0
        self._cluster = SimulatedCluster(nodes, (), seed=seed, telemetry=telemetry, costs=costs, catalogue=catalogue)
        self._counters: dict[str, _Counter] = {}

    def now(self) -> float:
        """Simulated seconds since the cluster was started."""
        with self._lock:
            return self._simulated + (self._clock() - self._wall) * self._speed

    @property
    def speed(self) -> float:
        """Simulated seconds a wall-clock second."""
        return self._speed

    def set_speed(self, speed: float) -> None:
        """Go on at another speed. Raises ValueError for one out of bounds."""
        checked = _checked(speed)
        with self._lock:
            self._count()
            self._simulated, self._wall = self.now(), self._clock()
            self._speed = checked

    def turn(self) -> list[Event]:
        """What has happened since the last turn."""
        with self._lock:
            self._advance()
            return self._cluster.take()

    def next_in(self) -> float:
        """Wall-clock seconds until something is known to happen; 0 if it is due, infinity if nothing is known."""
        with self._lock:
            time = self._cluster.next_time()
            return math.inf if math.isinf(time) else max(0.0, (time - self.now()) / self._speed)

    def start(self, submission: Submission, pod: Pod) -> None:
        """A pod of a job is bound to `pod.node` and starts there; the job is known from its first pod on.

        What becomes of it comes out of `turn`. Raises ValueError for a pod without a node, or one that exists.
        """
        if pod.node is None:
            raise ValueError(f"pod '{pod.name}' has no node yet")
        with self._lock:
            self._advance()
            self._cluster.admit(submission)
            self._cluster.execute(CreatePod(Pod(pod.name, pod.job, pod.incarnation, None, pod.migration)))
            self._cluster.execute(Bind(pod.name, pod.node))

    def stop(self, pod: str, reason: str, grace_s: float) -> None:
        """A pod is asked to stop within a grace period (simulated seconds)."""
        with self._lock:
            self._advance()
            self._cluster.execute(DeletePod(pod, reason, grace_s))

    def crash(self, pod: str, reason: str) -> None:
        """A pod's process dies at once; what its last periodic checkpoint holds is kept."""
        with self._lock:
            self._advance()
            self._cluster.crash(pod, reason)

    def forget(self, job: str) -> None:
        """A job has ended for good: its checkpoint is dropped."""
        with self._lock:
            self._cluster.forget(job)

    def join(self, node: Node) -> None:
        """A node comes, or comes back, empty. Raises ValueError if it is there."""
        with self._lock:
            self._advance()
            self._cluster.join(node)

    def lose(self, node: str) -> None:
        """A node fails with all that runs on it."""
        with self._lock:
            self._advance()
            self._cluster.lose(node)
            self._counters.pop(node, None)

    def use(self) -> list[NodeUse]:
        """What each node that is there uses, in the order in which they joined."""
        with self._lock:
            self._advance()
            self._count()
            wall = self._clock()
            return [
                NodeUse(
                    running.node,
                    self._counters[name].busy,
                    wall - self._counters[name].joined,
                    running.processor.used,
                    running.memory_used,
                )
                for name, running in self._cluster.running_nodes.items()
            ]

    def pods(self) -> dict[str, tuple[float, int]]:
        """Cores in use now and bytes of memory of each pod that has a node."""
        with self._lock:
            self._advance()
            return {
                pod.name: (pod.task.rate if pod.task is not None else 0.0, pod.job.memory_bytes)
                for running in self._cluster.running_nodes.values()
                for pod in running.pods.values()
            }

    def _advance(self) -> None:
        """Move the simulated clock to now and keep what happens for the next turn."""
        self._cluster.run_to(self.now())

    def _count(self) -> None:
        now = self.now()
        for name, running in self._cluster.running_nodes.items():
            counter = self._counters.get(name)
            if counter is None:
                counter = self._counters[name] = _Counter(self._clock())
            delivered = running.processor.delivered_by(max(now, running.processor.updated))
            counter.busy += max(0.0, delivered - counter.delivered) / self._speed
            counter.delivered = delivered


def _checked(speed: float) -> float:
    if not SLOWEST <= speed <= FASTEST:
        raise ValueError(f"speed is {speed}; it must be from {SLOWEST:g} to {FASTEST:g}")
    return speed
