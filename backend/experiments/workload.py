"""The workload of a specification: which models, how many jobs, which job trains what, and when each arrives."""

import math
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, PlainSerializer, Tag, ValidationInfo, model_validator
from pydantic_core import InitErrorDetails

from backend.experiments.errors import closest
from backend.experiments.explain import fault, raise_faults
from backend.experiments.limits import MAX_JOBS, MAX_MODELS
from backend.experiments.nodes import Moment, not_bool, some
from backend.experiments.submissions import Submissions
from backend.model.fields import Cpu, Memory, ObjectName, Parameters, PositiveCount, PositiveCpu
from backend.model.objects import Toleration
from backend.model.random_streams import stream
from backend.simulation.cluster import Submission
from backend.simulation.curves import Curve, read_points
from backend.simulation.presets import PRESETS, get_model
from backend.simulation.training import CoreSeconds, TrainingModel

NAME_LENGTH = 53
"""Longest name of a job (backend.model.fields.ObjectName)."""
_POD_ENDING = re.compile(r"-(migrated|restarted)(-\d+)?$")
"""What pods of a job add to its name; a job that ended so could take the pod name of another."""

OVERRIDES = (
    "core_s_per_iteration",
    "parallelism",
    "cpu_request",
    "cpu_limit",
    "memory",
    "node_selector",
    "tolerations",
    "labels",
    "migratable",
    "template",
    "curve",
)
"""What a job may set otherwise than its model, besides its iterations."""


def _preset(value: Any, info: ValidationInfo) -> Any:
    if not isinstance(value, str):
        return _with_points(value, (info.context or {}).get("folder"))
    if value not in PRESETS:
        message = f"no preset is called '{value[:60]}'{closest(value, PRESETS)}"
        raise_faults("model", [fault(message, (), value, f"a model spelled out, or {', '.join(PRESETS)}")])
    return get_model(value)


def _with_points(value: Any, folder: Path | None) -> Any:
    """A specification holds the points of a recorded curve, not the file that they came from."""
    curve = value.get("curve") if isinstance(value, dict) else None
    if not isinstance(curve, dict) or curve.get("kind") != "recorded" or not isinstance(curve.get("file"), str):
        return value
    file = curve["file"]
    place = ("curve", "file")
    if folder is None:
        message = "a recorded curve is read from a file by the command line only (podshift run)"
        raise_faults("model", [fault(message, place, file, "points: [[0, 2.3], ..., [1, 0.1]]")])
        return value
    try:
        points = read_points(str(folder / file))
    except ValueError as error:
        raise_faults("model", [fault(str(error), place, file, "a CSV file with the columns progress and metric")])
        return value
    rest = {name: inner for name, inner in curve.items() if name != "file"}
    return value | {"curve": {**rest, "points": points}}


def _as_written(model: TrainingModel) -> Any:
    if PRESETS.get(model.name) == model:
        return model.name
    written = model.model_dump(mode="json", exclude_defaults=True)
    if "curve" in written:
        written["curve"] = _curve_as_written(model.curve)
    return written


def _curve_as_written(curve: Curve | None) -> Any:
    """Its kind is named even where it is the default one: it says how to read the rest."""
    return curve and {"kind": curve.kind, **curve.model_dump(mode="json", exclude_defaults=True)}


Model = Annotated[
    TrainingModel,
    BeforeValidator(_preset, json_schema_input_type=str | TrainingModel),
    PlainSerializer(_as_written),
]
"""Name of a preset, or a model spelled out."""


class JobEntry(Parameters):
    """One job of a list. What it does not say comes from its model."""

    name: ObjectName | None = Field(None, description="name of the job; <model>-<place> if left out")
    model: str | None = Field(None, description="one of the workload's models or a preset; assigned if left out")
    at: Annotated[Moment, BeforeValidator(not_bool)] | None = Field(None, description="second at which it arrives")
    iterations: PositiveCount | None = Field(None, description="iterations to train, exactly")
    core_s_per_iteration: CoreSeconds | None = Field(None, description="core-seconds that one iteration takes")
    parallelism: PositiveCpu | None = Field(None, description="cores it can use at most")
    cpu_request: Cpu | None = Field(None, description="cores it asks for")
    cpu_limit: PositiveCpu | None = Field(None, description="cores it may use at most")
    memory: Memory | None = Field(None, description="memory it asks for")
    node_selector: dict[str, str] | None = Field(None, description="labels a node must have")
    tolerations: tuple[Toleration, ...] | None = Field(None, description="taints it tolerates")
    labels: dict[str, str] | None = Field(None, description="labels of its pods, such as data and capabilities")
    migratable: bool | None = Field(None, description="whether it may be migrated")
    template: Annotated[str, Field(max_length=63)] | None = Field(
        None, description="job template that its pods are made from on a cluster"
    )
    curve: Annotated[Curve | None, PlainSerializer(_curve_as_written)] = Field(
        None, description="evaluation value over the training"
    )

    @model_validator(mode="before")
    @classmethod
    def _points_for_file(cls, value: Any, info: ValidationInfo) -> Any:
        return _with_points(value, (info.context or {}).get("folder"))

    def apply(self, model: TrainingModel) -> TrainingModel:
        """The model as this job runs it."""
        changes = {name: value for name in OVERRIDES if (value := getattr(self, name)) is not None}
        if self.iterations is not None:
            changes |= {"iterations": self.iterations, "work_spread": 0.0}
        return model.model_copy(update=changes) if changes else model


_ANONYMOUS = JobEntry.model_validate({})


def _number_or_list(value: Any) -> str:
    return "list" if isinstance(value, list | tuple) else "number"


class Workload(Parameters):
    """`workload` of a specification."""

    models: Annotated[tuple[Model, ...], Field(max_length=MAX_MODELS)] = Field(
        (), description="presets by name, or models spelled out"
    )
    jobs: (
        Annotated[
            Annotated[int, Field(ge=1, le=MAX_JOBS), BeforeValidator(not_bool), Tag("number")]
            | Annotated[tuple[JobEntry, ...], Field(min_length=1, max_length=MAX_JOBS), Tag("list")],
            Discriminator(_number_or_list),
        ]
        | None
    ) = Field(None, description="how many jobs, or a list of them")
    assign: Literal["round-robin", "random"] = Field(
        "round-robin", description="which model each job trains: in turn, or drawn from the seed"
    )
    submissions: Submissions | None = Field(None, description="when the jobs arrive")

    @model_validator(mode="after")
    def _parts_agree(self) -> "Workload":
        raise_faults("workload", [*self._model_faults(), *self._count_faults(), *self._job_faults()])
        return self

    def _model_faults(self) -> Iterator[InitErrorDetails]:
        names: dict[str, int] = {}
        for place, model in enumerate(self.models):
            if model.name in names:
                message = f"two models are called '{model.name}' (entries {names[model.name]} and {place})"
                yield fault(message, ("models", place), model.name, "a name for each model")
            names.setdefault(model.name, place)
        if not self.models and not (self.entries and all(entry.model for entry in self.entries)):
            yield fault("names no model", ("models",), None, f"presets such as {some(sorted(PRESETS))}")

    def _count_faults(self) -> Iterator[InitErrorDetails]:
        entries, fixed = self.entries, self.submissions.fixed_count if self.submissions else None
        jobs = len(entries) if entries else self.jobs
        timed = sum(entry.at is not None for entry in entries)
        if jobs is None and fixed is None:
            yield fault("does not say how many jobs there are", ("jobs",), None, "a number or a list")
        if jobs is not None and fixed is not None and fixed != jobs:
            message = f"has {fixed} times for {jobs} jobs"
            yield fault(message, ("submissions", "at"), fixed, f"{jobs} times, or leave out jobs")
        if timed and timed < len(entries):
            place = next(place for place, entry in enumerate(entries) if entry.at is None)
            yield fault("has no time though other jobs have", ("jobs", place, "at"), None, "at for all jobs or none")
        elif timed and self.submissions is not None:
            yield fault("has no use beside the times of the jobs", ("submissions",), None, "either of them")
        elif not timed and self.submissions is None:
            yield fault("does not say when the jobs arrive", ("submissions",), None, "such as {every: 30}")

    def _job_faults(self) -> Iterator[InitErrorDetails]:
        known = self._known_models()
        places: dict[str, int] = {}
        unknown = 0
        for place, entry in enumerate(self.entries):
            if entry.model is not None and entry.model not in known:
                message = f"no model is called '{entry.model[:60]}'{closest(entry.model, known, unknown)}"
                unknown += 1
                yield fault(message, ("jobs", place, "model"), entry.model, some(list(known), 20))
            if entry.name is None:
                continue
            if entry.name in places:
                message = f"two jobs are called '{entry.name}' (entries {places[entry.name]} and {place})"
                yield fault(message, ("jobs", place, "name"), entry.name, "a name for each job")
            elif _POD_ENDING.search(entry.name):
                message = "ends like a pod of a migrated or restarted job"
                yield fault(message, ("jobs", place, "name"), entry.name, "names without -migrated and -restarted")
            places.setdefault(entry.name, place)

    @property
    def entries(self) -> tuple[JobEntry, ...]:
        """The jobs of a list; empty where their number alone is given."""
        return self.jobs if isinstance(self.jobs, tuple) else ()

    @property
    def job_count(self) -> int:
        """How many jobs there are."""
        if isinstance(self.jobs, int):
            return self.jobs
        if self.jobs is not None:
            return len(self.jobs)
        return (self.submissions.fixed_count if self.submissions else None) or 0

    def _known_models(self) -> dict[str, TrainingModel]:
        return {**{model.name: model for model in self.models}, **PRESETS} | {m.name: m for m in self.models}

    def models_of_jobs(self, seed: int) -> list[TrainingModel]:
        """The model of each job, in the order of the jobs, with what the job sets otherwise."""
        known, choices = self._known_models(), self.models
        draw = stream(seed, "models")
        models = []
        for place in range(self.job_count):
            entry = self.entries[place] if self.entries else _ANONYMOUS
            if entry.model is not None:
                model = known[entry.model]
            elif self.assign == "random":
                model = choices[draw.randrange(len(choices))]
            else:
                model = choices[place % len(choices)]
            models.append(entry.apply(model))
        return models

    def build_submissions(self, seed: int) -> list[Submission]:
        """The jobs with their arrival times, in the order of the specification; the same for all arms of a seed."""
        models = self.models_of_jobs(seed)
        if self.submissions is None:
            times = [entry.at or 0.0 for entry in self.entries]
        else:
            times = self.submissions.times(len(models), seed)
        given = {entry.name for entry in self.entries if entry.name}
        draw = stream(seed, "work")
        submissions = []
        for place, (model, time) in enumerate(zip(models, times, strict=True)):
            entry = self.entries[place] if self.entries else _ANONYMOUS
            name = entry.name or _name(model.name, place + 1, given)
            iterations = _spread(model, draw)
            job = model.job(name, iterations)
            submissions.append(Submission(time=time, job=job, model=model, iterations=iterations))
        return submissions


def _spread(model: TrainingModel, draw: random.Random) -> int:
    """Iterations of one job: the model's times a log-normal factor of mean 1 and sigma `work_spread`.

    One number is drawn whether it is used or not, so that a change to one job leaves the others as they are.
    """
    sigma, number = model.work_spread, draw.gauss(0.0, 1.0)
    if not sigma:
        return model.iterations
    return max(1, round(model.iterations * math.exp(sigma * number - sigma * sigma / 2.0)))


def _name(model: str, number: int, taken: set[str]) -> str:
    """`<model>-<number>`, shortened and told apart from given names where need be."""
    ending = f"-{number}"
    name = model[: NAME_LENGTH - len(ending)] + ending
    return name if name not in taken else _name(model, number * 10, taken)
