"""From a specification to what can be driven: the cluster and the controller of one run."""

from collections.abc import Mapping

from backend.control.controller import Controller
from backend.experiments.arms import Arm
from backend.experiments.specification import Specification
from backend.migration.life import MigrationLife
from backend.model.random_streams import stream
from backend.simulation.cluster import SimulatedCluster


def build_arm(
    specification: Specification, arm: str, seed: int, pinned: Mapping[str, str] | None = None
) -> tuple[SimulatedCluster, Controller]:
    """The cluster and the controller of one run of an arm.

    The cluster depends on the specification and the seed only, so that all arms of a seed see the same jobs, arrivals,
    curves and failures. `pinned` is job -> node for the first pods (the placements of another arm's run).
    Raises KeyError for an arm that the specification does not have.
    """
    chosen = specification.arm(arm)
    cluster = SimulatedCluster(
        specification.cluster.build_nodes(),
        specification.workload.build_submissions(seed),
        seed=seed,
        telemetry=specification.telemetry,
        costs=specification.cluster.costs,
        faults=specification.cluster.build_faults(),
        catalogue=specification.cluster.build_catalogue(),
        until=specification.until,
    )
    return cluster, _controller(specification, chosen, seed, pinned)


def _controller(specification: Specification, arm: Arm, seed: int, pinned: Mapping[str, str] | None) -> Controller:
    scheduler = arm.scheduler.policy(arm.scheduler.parameters(), stream(seed, "ties"))
    migration = arm.migration.policy(arm.migration.parameters())
    first = specification.arms[0].name
    pinned_by = f"the placement of arm {first}" if specification.pin_initial_placement else "the specification"
    return Controller(scheduler, migration, MigrationLife(arm.life), pinned=pinned, pinned_by=pinned_by)
