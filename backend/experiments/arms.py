"""The arms of a specification: which scheduler and which migration policy, with which parameters.

A policy checks its own parameters (`Parameters` of its class, found by name through its entry point), so that a policy
of another package is validated, shown in the form and compared like ours.
"""

from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from backend.experiments.errors import closest
from backend.experiments.explain import explain, fault, raise_faults
from backend.migration import registry as migrations
from backend.migration.life import LifeParameters
from backend.model.fields import ObjectName, Parameters
from backend.scheduling import registry as schedulers


class PolicyChoice(BaseModel):
    """Name of a policy and, beside it, the parameters that are not left at their defaults."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str = Field(description="name of the policy")

    registry: ClassVar[Any]
    """The module with `names()` and `load(name)`."""
    sort: ClassVar[str]

    @model_validator(mode="before")
    @classmethod
    def _name_alone(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _parameters_fit(self) -> "PolicyChoice":
        known = self.registry.names()
        if self.name not in known:
            message = f"no {self.sort} is called '{self.name[:60]}'{closest(self.name, known)}"
            raise_faults(self.sort, [fault(message, ("name",), self.name, ", ".join(known))])
        written = dict(self.__pydantic_extra__ or {})
        try:
            self.registry.load(self.name)
        except (ImportError, AttributeError) as error:
            message = f"is installed, but cannot be loaded: {error}"
            raise_faults(self.sort, [fault(message, ("name",), self.name, "a policy whose package is whole")])
        try:
            parameters = self.policy.Parameters.model_validate(written)
        except ValidationError as error:
            errors = explain(error, self.policy.Parameters, written)
            raise_faults(
                self.sort,
                [fault(found.message, tuple(found.field.split(".")), None, found.allowed) for found in errors],
            )
            raise
        # Held as they are dumped, so that two ways to write one value are equal.
        extra = parameters.model_dump(mode="json", exclude_defaults=True)
        object.__setattr__(self, "__pydantic_extra__", extra)
        return self

    @property
    def policy(self) -> Any:
        """The class of the policy."""
        return self.registry.load(self.name)

    def parameters(self) -> BaseModel:
        """The parameters, defaults filled in, as the policy takes them."""
        made: BaseModel = self.policy.Parameters.model_validate(dict(self.__pydantic_extra__ or {}))
        return made


class SchedulerChoice(PolicyChoice):
    """`scheduler` of an arm."""

    registry: ClassVar[Any] = schedulers
    sort = "scheduler"


class MigrationChoice(PolicyChoice):
    """`migration` of an arm."""

    registry: ClassVar[Any] = migrations
    sort = "migration policy"


class Arm(Parameters):
    """One side of a comparison."""

    name: ObjectName = Field(description="name of the arm, such as default or migrated")
    scheduler: SchedulerChoice = Field(SchedulerChoice.model_construct(name="default"), description="places jobs")
    migration: MigrationChoice = Field(MigrationChoice.model_construct(name="none"), description="moves jobs")
    life: LifeParameters = Field(default_factory=LifeParameters, description="how a migration is carried out")


Arms = Annotated[tuple[Arm, ...], Field(min_length=1)]


def pair(scheduler: Any, migration: Any) -> list[dict[str, Any]]:
    """The arms `default` (nothing is moved) and `migrated` that `both: true` stands for, as they would be written."""
    first: dict[str, Any] = {"name": "default", "migration": {"name": "none"}}
    second: dict[str, Any] = {"name": "migrated", "migration": {"name": "specon"} if migration is None else migration}
    if isinstance(second["migration"], dict):
        second["migration"] = {"name": "specon", **second["migration"]}
    if scheduler is not None:
        first["scheduler"] = second["scheduler"] = scheduler
    return [first, second]
