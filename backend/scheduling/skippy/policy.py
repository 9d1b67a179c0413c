"""The scheduler `skippy`: a set of filters and scores, and the walk (skippy-faas-sim.md, section 2)."""

import random
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from backend.model.events import DecisionMade, Event
from backend.model.fields import Count, Parameters
from backend.model.labels import STORAGE_NODE
from backend.model.state import ClusterState, PodRecord
from backend.scheduling import plugins
from backend.scheduling.filters import Filter, NodeReady, NodeSelector, NodeUnschedulable, TaintToleration
from backend.scheduling.framework import Feasibility, Profile, needed_images
from backend.scheduling.policy import learns_nothing
from backend.scheduling.profiles import EXPLAIN_NODES, ExplainNodes, Weight
from backend.scheduling.scores import Score
from backend.scheduling.selection import ALL, FirstInWalk
from backend.scheduling.skippy.plugin import MAX_PRIORITY
from backend.scheduling.skippy.sets import DEFAULT_FILTERS, SET_FILTERS, SETS, SetName


class _Choice(BaseModel):
    """A plugin by name and, beside the name, what is set of it."""

    model_config = ConfigDict(extra="allow", frozen=True)
    name: str

    @property
    def options(self) -> dict[str, Any]:
        """What is set."""
        return dict(self.__pydantic_extra__ or {})


class FilterChoice(_Choice):
    """A filter by name and, beside the name, its options."""

    @model_validator(mode="after")
    def _exists(self) -> "FilterChoice":
        _check(lambda: Feasibility([plugins.make_filter(self.name, self.options)]))
        return self


class ScoreChoice(_Choice):
    """A score by name, its weight and, beside these, its options."""

    weight: Weight = 1.0

    @model_validator(mode="after")
    def _exists(self) -> "ScoreChoice":
        _check(lambda: plugins.make_score(self.name, self.options, MAX_PRIORITY))
        return self


def _check(make: Callable[[], object]) -> None:
    """Raise ValueError, which names what is wrong, for a plugin that cannot be made."""
    try:
        make()
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"{place}: {first['msg']}") from None
    except (ImportError, AttributeError, TypeError) as error:
        raise ValueError(f"is installed, but cannot be made: {error}") from None


def _listed(value: Any) -> Any:
    """A list from a text such as "1, 2, 0.5", which forms and command lines give."""
    if not isinstance(value, str):
        return value
    return [part.strip() for part in value.strip().strip("[]()").split(",") if part.strip()]


def _filter(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


def _score(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    name, weighted, weight = value.partition("=")
    return {"name": name.strip(), **({"weight": weight.strip()} if weighted else {})}


def _written(choice: _Choice) -> str | dict[str, Any]:
    """As short as it can be written: the name, for a score with its weight, where no options are set."""
    weight = getattr(choice, "weight", 1.0)
    if not choice.options:
        return choice.name if weight == 1.0 else f"{choice.name}={weight:g}"
    shown = {} if weight == 1.0 else {"weight": weight}
    return {"name": choice.name, **shown, **choice.options}


Filters = Annotated[
    tuple[Annotated[FilterChoice, BeforeValidator(_filter), PlainSerializer(_written)], ...],
    BeforeValidator(_listed),
    Field(max_length=30),
]
"""Names, or mappings with a name and options; or a text of names with commas."""
Scores = Annotated[
    tuple[Annotated[ScoreChoice, BeforeValidator(_score), PlainSerializer(_written)], ...],
    BeforeValidator(_listed),
    Field(max_length=30),
]
"""Names, "name=weight", or mappings with name, weight and options; or a text of these with commas."""
Weights = Annotated[tuple[Weight, ...], BeforeValidator(_listed)]


class SkippyParameters(Parameters):
    """Which filters and scores, and how many nodes are scored."""

    set: SetName = Field("skippy", description="named scores and weights; urban, iiot and cloud are Skippy's, weighted")
    scores: Scores = Field((), description="scores in place of the set's: names, or name=weight")
    weights: Weights | None = Field(None, description="weights of the set's scores, in its order, such as 1, 2, 0.5")
    filters: Filters = Field((), description="filters besides the set's: names")
    percentage_of_nodes_to_score: Annotated[Count, Field(le=ALL)] = Field(
        ALL, description="part of the nodes that is scored, in percent; 0 adapts it to their number"
    )
    storage_nodes_run_pods: bool = Field(False, description=f"whether nodes with the label {STORAGE_NODE} take pods")
    max_priority: Annotated[Count, Field(ge=1, le=1000)] = Field(MAX_PRIORITY, description="highest value of a score")
    explain_nodes: ExplainNodes = Field(EXPLAIN_NODES, description="best nodes that a decision lists")

    @field_validator("weights")
    @classmethod
    def _weights_fit(cls, weights: tuple[float, ...] | None, info: ValidationInfo) -> tuple[float, ...] | None:
        if weights is None or "set" not in info.data:
            return weights
        if info.data.get("scores"):
            raise ValueError("has no use beside scores, each of which has its own weight")
        names = SETS[info.data["set"]][0]
        if len(weights) != len(names):
            raise ValueError(
                f"holds {len(weights)} numbers; the set {info.data['set']} has {len(names)} scores: {', '.join(names)}"
            )
        return weights


class SkippyScheduler:
    """Skippy: weighs images, data, locality and capabilities for pods at the edge and in the cloud."""

    Parameters = SkippyParameters

    def __init__(self, parameters: BaseModel, ties: random.Random) -> None:
        """`ties` is not used: the first of equals in the walk is taken."""
        assert isinstance(parameters, SkippyParameters)
        self.walk = FirstInWalk(parameters.percentage_of_nodes_to_score)
        filters, scores = chosen_filters(parameters), chosen_scores(parameters)
        self._profile = Profile(
            "skippy",
            scores,
            self.walk,
            explain_nodes=parameters.explain_nodes,
            filters=(NodeReady(), NodeUnschedulable(), TaintToleration(), NodeSelector(), *filters),
            needed_images=needed_images,
        )

    def place(self, pod: PodRecord, state: ClusterState) -> DecisionMade:
        """See Scheduler."""
        return self._profile.place(pod, state)

    @learns_nothing
    def observe(self, event: Event, state: ClusterState) -> None:
        """See Scheduler."""


def chosen_filters(parameters: SkippyParameters) -> list[Filter]:
    """The filters of these parameters, each name once."""
    names = [*DEFAULT_FILTERS, *SET_FILTERS.get(parameters.set, ())]
    if parameters.storage_nodes_run_pods:
        names.remove("CheckNodeLabelPresence")
    given = {choice.name for choice in parameters.filters}
    made = [plugins.make_filter(name, {}) for name in names if name not in given]
    return [*made, *(plugins.make_filter(choice.name, choice.options) for choice in parameters.filters)]


def chosen_scores(parameters: SkippyParameters) -> list[tuple[Score, float]]:
    """The scores of these parameters with their weights, in the order in which they are added up."""
    highest = parameters.max_priority
    if parameters.scores:
        return [
            (plugins.make_score(choice.name, choice.options, highest), choice.weight) for choice in parameters.scores
        ]
    names, weights = SETS[parameters.set]
    return [
        (plugins.make_score(name, {}, highest), weight)
        for name, weight in zip(names, parameters.weights or weights, strict=True)
    ]
