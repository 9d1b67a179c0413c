"""What a controller may ask of a cluster. A cluster answers with events, never with a return value."""

from msgspec import Struct

from backend.model.objects import Pod


class Bind(Struct, frozen=True, gc=False):
    """Give a pending pod its node."""

    pod: str
    node: str


class CreatePod(Struct, frozen=True, gc=False):
    """Create a pod; it is bound at once if it names its node."""

    pod: Pod


class DeletePod(Struct, frozen=True, gc=False):
    """Ask a pod to stop: it may write a checkpoint within the grace period, then it is gone (PodEvicted)."""

    pod: str
    reason: str
    grace_s: float = 30.0


class Wake(Struct, frozen=True, gc=False):
    """Ask for a TimerFired event of that name at that time; the same name again replaces nothing."""

    time: float
    timer: str


Action = Bind | CreatePod | DeletePod | Wake
