"""Nodes, pods and jobs as the policies see them: values, never changed in place."""

from typing import Any, Literal

import msgspec
from msgspec import Struct

from backend.model.images import normalise_image

TaintEffect = Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]


class Taint(Struct, frozen=True, gc=False, omit_defaults=True):
    """A mark on a node that keeps away pods which do not tolerate it."""

    key: str
    effect: TaintEffect = "NoSchedule"
    value: str = ""


class Toleration(Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True):
    """A pod's consent to taints. An empty key with operator Exists tolerates every key; no effect, every effect."""

    key: str = ""
    operator: Literal["Equal", "Exists"] = "Equal"
    value: str = ""
    effect: TaintEffect | Literal[""] = ""

    def tolerates(self, taint: Taint) -> bool:
        """Whether this toleration matches the taint, by the rules of the Kubernetes API."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if self.operator == "Exists":
            return True
        return bool(self.key) and self.value == taint.value

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Lets parameter models (pydantic) hold tolerations; written as the mapping that a pod's YAML has."""
        from pydantic_core import core_schema

        def read(value: Any) -> "Toleration":
            try:
                return value if isinstance(value, Toleration) else msgspec.convert(value, Toleration)
            except msgspec.ValidationError as error:
                raise ValueError(str(error)) from None

        text = core_schema.str_schema()
        return core_schema.no_info_plain_validator_function(
            read,
            json_schema_input_schema=core_schema.dict_schema(text, text),
            serialization=core_schema.plain_serializer_function_ser_schema(msgspec.to_builtins),
        )


class Node(Struct, frozen=True, omit_defaults=True):
    """A machine of the cluster and what it offers to pods."""

    name: str
    cpu_millis: int
    memory_bytes: int
    max_pods: int = 110
    labels: dict[str, str] = {}
    taints: tuple[Taint, ...] = ()
    images: tuple[str, ...] = ()
    """Images it holds when it joins."""
    ready: bool = True
    unschedulable: bool = False


class Job(Struct, frozen=True, omit_defaults=True):
    """A unit of work whose identity survives migration. Holds only what a policy may know beforehand."""

    name: str
    workload: str
    """The kind of work, such as "lenet"; pods of one workload are equal pods for spreading."""
    image: str = ""
    """Image of its first container."""
    cpu_request_millis: int = 0
    cpu_limit_millis: int | None = None
    memory_bytes: int = 0
    image_bytes: int = 0
    iterations: int | None = None
    """Total number of iterations, where the job says so (SpeCon never needs it, ProCon does)."""
    metric: str = "loss"
    node_selector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()
    migratable: bool = True
    labels: dict[str, str] = {}
    """Labels of its pods."""
    more_images: tuple[str, ...] = ()
    """Images of its other containers."""
    background: bool = False
    """Somebody else's: it takes room on its node, and is no part of the run."""

    def images(self) -> tuple[str, ...]:
        """Canonical names of its containers' images, each once, in the order of the containers."""
        if not self.more_images:
            return (normalise_image(self.image),) if self.image else ()
        names = (normalise_image(name) for name in (self.image, *self.more_images) if name)
        return tuple(dict.fromkeys(names))


class Pod(Struct, frozen=True, gc=False, omit_defaults=True):
    """One incarnation of a job: `train-3`, then `train-3-migrated`."""

    name: str
    job: str
    incarnation: int = 0
    node: str | None = None
    """Set when the pod is bound from the start (a migration's target, a pinned placement): no scheduler sees it."""
    migration: int | None = None
    """Number of the migration that created it."""
