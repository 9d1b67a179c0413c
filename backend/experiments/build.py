"""From a specification to what can be driven: the cluster and the controller of one run."""

from collections.abc import Mapping

from backend.control.controller import Controller
from backend.experiments.grounds import simulated_cluster
from backend.experiments.specification import Specification
from backend.migration.life import MigrationLife
from backend.model.random_streams import stream
from backend.simulation.cluster import SimulatedCluster


def build_arm(
    specification: Specification, arm: str, seed: int, pinned: Mapping[str, str] | None = None
) -> tuple[SimulatedCluster, Controller]:
    """The cluster and the controller of one run of an arm in the simulator, see `build_controller`."""
    controller = build_controller(specification, arm, seed, pinned)
    return simulated_cluster(specification, seed), controller


def build_controller(
    specification: Specification, arm: str, seed: int, pinned: Mapping[str, str] | None = None
) -> Controller:
    """The controller of one run of an arm, on whatever cluster.

    `pinned` is job -> node for the first pods (the placements of another arm's run).
    Raises KeyError for an arm that the specification does not have.
    """
    chosen = specification.arm(arm)
    scheduler = chosen.scheduler.policy(chosen.scheduler.parameters(), stream(seed, "ties"))
    migration = chosen.migration.policy(chosen.migration.parameters())
    first = specification.arms[0].name
    pinned_by = f"the placement of arm {first}" if specification.pin_initial_placement else "the specification"
    return Controller(scheduler, migration, MigrationLife(chosen.life), pinned=pinned, pinned_by=pinned_by)
