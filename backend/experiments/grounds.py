"""Where a run takes place: what stands behind the seam for each target that a specification may name."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from msgspec import Struct

from backend.experiments.pacing import PacedCluster
from backend.experiments.specification import Specification
from backend.model.events import WorkMeasured
from backend.model.seam import Cluster, EventLog
from backend.simulation.cluster import SimulatedCluster


class Terms(Struct, frozen=True):
    """What a ground is told of the run that it is opened for."""

    seed: int
    label: str
    """Name of the run, which the pods of a real cluster bear."""
    waiting: Callable[[float], bool]
    """Called with the run's time while nothing happens; True ends the events."""
    finished: Callable[[], bool]
    """Whether all jobs have ended: a cluster that others use as well never ends by itself."""
    paced: bool
    clock: Callable[[], float]
    sleep: Callable[[float], None]


class Ground(Protocol):
    """An open cluster."""

    @property
    def cluster(self) -> Cluster:
        """What is driven."""

    def told(self, log: EventLog) -> EventLog:
        """The log through which the cluster's users are told as well, where it has any."""

    def measure(self) -> WorkMeasured | None:
        """What pods that still run have consumed, as far as it is known."""


class Simulated:
    """A Ground in memory."""

    def __init__(self, specification: Specification, terms: Terms) -> None:
        self._simulated = simulated_cluster(specification, terms.seed)
        self.cluster: Cluster = self._simulated
        if terms.paced and specification.speed is not None:
            self.cluster = PacedCluster(
                self._simulated, specification.speed, clock=terms.clock, sleep=terms.sleep, waiting=terms.waiting
            )

    def told(self, log: EventLog) -> EventLog:
        """See Ground: there is nobody."""
        return log

    def measure(self) -> WorkMeasured | None:
        """See Ground."""
        return self._simulated.measure()


def simulated_cluster(specification: Specification, seed: int) -> SimulatedCluster:
    """The cluster of a specification in the simulator.

    It depends on the specification and the seed only, so that all arms of a seed see the same jobs, arrivals, curves
    and failures.
    """
    return SimulatedCluster(
        specification.cluster.build_nodes(),
        specification.workload.build_submissions(seed),
        seed=seed,
        telemetry=specification.telemetry,
        costs=specification.cluster.costs,
        faults=specification.cluster.build_faults(),
        catalogue=specification.cluster.build_catalogue(),
        until=specification.until,
    )


@contextmanager
def _simulator(specification: Specification, terms: Terms) -> Iterator[Ground]:
    yield Simulated(specification, terms)


def _embedded(specification: Specification, terms: Terms) -> AbstractContextManager[Ground]:
    from backend.experiments.live import embedded  # the Kubernetes client takes a second to load

    return embedded(specification, terms)


def _live(specification: Specification, terms: Terms) -> AbstractContextManager[Ground]:
    from backend.experiments.live import live

    return live(specification, terms)


_OPEN: dict[str, Callable[[Specification, Terms], AbstractContextManager[Ground]]] = {
    "simulator": _simulator,
    "embedded": _embedded,
    "live": _live,
}


def open_ground(specification: Specification, terms: Terms) -> AbstractContextManager[Ground]:
    """The ground that a specification's target names, from its begin to its end.

    Entering it raises UnreachableError where a cluster cannot be reached or started.
    """
    return _OPEN[specification.target](specification, terms)
