"""Faults on demand: bad days of machines, images, networks and clocks, by name, for tests and for demonstrations."""

from collections.abc import Callable
from typing import Annotated, Literal, Protocol

from pydantic import Field, TypeAdapter

from backend.embedded.apiserver.faults import Faults
from backend.embedded.kubelet import Kubelet
from backend.model.fields import Parameters

LONGEST_S = 86_400.0
_Seconds = Annotated[float, Field(ge=0, le=LONGEST_S, allow_inf_nan=False)]


class Machine(Protocol):
    """What faults need of the embedded cluster."""

    @property
    def kubelet(self) -> Kubelet:
        """What runs the pods."""

    @property
    def faults(self) -> Faults:
        """Those of the API server."""

    def bring_back(self, node: str) -> None:
        """A machine that was lost joins again. Raises KeyError."""

    def step_clock(self, seconds: float) -> None:
        """The cluster's clock goes on from another time."""


class _Fault(Parameters):
    def apply(self, machine: Machine) -> str:
        """Have it happen; what happened, as a sentence. Raises KeyError for what is not there."""
        raise NotImplementedError


class NodeLost(_Fault):
    """A machine is gone with all that runs on it."""

    fault: Literal["node-lost"]
    node: str

    def apply(self, machine: Machine) -> str:
        """See _Fault."""
        machine.kubelet.lose(self.node)
        return f"{self.node} is lost"


class NodeBack(_Fault):
    """A machine that was lost joins again, empty."""

    fault: Literal["node-back"]
    node: str

    def apply(self, machine: Machine) -> str:
        """See _Fault."""
        machine.bring_back(self.node)
        return f"{self.node} joins again"


class Away(_Fault):
    """The API server breaks every connection for a time."""

    fault: Literal["away"]
    seconds: _Seconds = Field(30.0, description="wall-clock seconds")

    def apply(self, machine: Machine) -> str:
        """See _Fault."""
        machine.faults.pause(self.seconds)
        return f"the API server is away for {self.seconds:g} s"


class Slow(_Fault):
    """Every answer of the API server takes longer, until that is set to 0."""

    fault: Literal["slow"]
    seconds: _Seconds = Field(1.0, description="wall-clock seconds that each answer takes longer")

    def apply(self, machine: Machine) -> str:
        """See _Fault."""
        machine.faults.slow(self.seconds)
        return f"every answer takes {self.seconds:g} s longer"


class Expire(_Fault):
    """Watches get a 410, as if they had been away too long."""

    fault: Literal["expire"]

    def apply(self, machine: Machine) -> str:
        """See _Fault."""
        machine.faults.expire()
        return "history is forgotten: watches get a 410"


class CutWatches(_Fault):
    """The connection of every watch breaks."""

    fault: Literal["cut-watches"]

    def apply(self, machine: Machine) -> str:
        """See _Fault."""
        machine.faults.cut_watches()
        return "watches are cut"


class Errors(_Fault):
    """Requests fail at random."""

    fault: Literal["errors"]
    rate: Annotated[float, Field(ge=0, le=1)] = Field(0.2, description="part of the requests that fail")
    count: Annotated[int, Field(ge=0)] | None = Field(None, description="how many fail in all; without it, for ever")
    seed: int = 0
    lost: bool = Field(False, description="the request is carried out and only its answer is lost")

    def apply(self, machine: Machine) -> str:
        """See _Fault."""
        machine.faults.fail(self.rate, self.count, self.seed, lost=self.lost)
        return f"{self.rate:.0%} of the requests fail"


class PodCrash(_Fault):
    """The process of a pod dies."""

    fault: Literal["pod-crash"]
    pod: str
    namespace: str = "default"
    reason: str = "Error"

    def apply(self, machine: Machine) -> str:
        """See _Fault."""
        machine.kubelet.crash(self.namespace, self.pod, self.reason)
        return f"{self.namespace}/{self.pod} crashes"


class ImageError(_Fault):
    """An image cannot be pulled any more."""

    fault: Literal["image-error"]
    image: str

    def apply(self, machine: Machine) -> str:
        """See _Fault."""
        machine.kubelet.break_image(self.image)
        return f"{self.image} cannot be pulled"


class ClockStep(_Fault):
    """The cluster's clock jumps."""

    fault: Literal["clock-step"]
    seconds: Annotated[float, Field(ge=-LONGEST_S, le=LONGEST_S, allow_inf_nan=False)]

    def apply(self, machine: Machine) -> str:
        """See _Fault."""
        machine.step_clock(self.seconds)
        return f"the cluster's clock jumps by {self.seconds:g} s"


class Clear(_Fault):
    """Everything but lost machines is as it should be again."""

    fault: Literal["clear"]

    def apply(self, machine: Machine) -> str:
        """See _Fault."""
        machine.faults.clear()
        machine.kubelet.mend_images()
        return "all faults are cleared; nodes that were lost come back with node-back"


KINDS: tuple[type[_Fault], ...] = (
    NodeLost,
    NodeBack,
    Away,
    Slow,
    Expire,
    CutWatches,
    Errors,
    PodCrash,
    ImageError,
    ClockStep,
    Clear,
)
Fault = Annotated[
    NodeLost | NodeBack | Away | Slow | Expire | CutWatches | Errors | PodCrash | ImageError | ClockStep | Clear,
    Field(discriminator="fault"),
]
_adapter: TypeAdapter[Fault] = TypeAdapter(Fault)
parse: Callable[[object], Fault] = _adapter.validate_python
"""A fault of its mapping. Raises pydantic.ValidationError."""
