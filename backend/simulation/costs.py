"""What starting, stopping and moving a job costs, and how often the cluster is measured."""

from typing import Annotated, Literal

from pydantic import Field

from backend.model.fields import Parameters, PeriodOrNever, Seconds

_AT_ONCE_S = 1e-9
"""A transfer shorter than this takes no time: what `Costs.zero` means by its bandwidth."""

Bandwidth = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Costs(Parameters):
    """Costs of a pod's way, in seconds and bytes a second."""

    image_bandwidth: Bandwidth = Field(
        100e6, description="bytes a second at which a node pulls an image (1 Gbit/s net)"
    )
    checkpoint_bandwidth: Bandwidth = Field(100e6, description="bytes a second to and from the shared volume")
    container_start_s: Seconds = Field(2.0, description="from image present to training, without loading")
    stop_s: Seconds = Field(1.0, description="from the signal to the end of the training process")
    mode: Literal["checkpoint", "restart"] = Field(
        "checkpoint", description="checkpoint: a job goes on from its checkpoint; restart: it begins anew"
    )
    checkpoint_on_stop: bool = Field(
        True, description="a job that is asked to stop writes a checkpoint of its last whole iteration"
    )

    def pull_s(self, size_bytes: int) -> float:
        """Seconds that a node takes to pull an image of that size."""
        return _transfer_s(size_bytes, self.image_bandwidth)

    def checkpoint_s(self, size_bytes: int) -> float:
        """Seconds to write or to load a checkpoint of that size."""
        return _transfer_s(size_bytes, self.checkpoint_bandwidth)

    @classmethod
    def zero(cls) -> "Costs":
        """Nothing takes time; only the iteration under way is lost."""
        return cls(image_bandwidth=1e30, checkpoint_bandwidth=1e30, container_start_s=0.0, stop_s=0.0)


def _transfer_s(size_bytes: int, bandwidth: float) -> float:
    seconds = size_bytes / bandwidth
    return seconds if seconds >= _AT_ONCE_S else 0.0


class Telemetry(Parameters):
    """How often running jobs report and nodes are sampled."""

    progress: PeriodOrNever = Field(10.0, description="seconds between two reports of all running jobs; 0 is never")
    usage: PeriodOrNever = Field(
        10.0, description="seconds between two samples of all nodes, while any pod is there; 0 is never"
    )
