"""What an experiment is: cluster, workload, arms and seeds, read from YAML or JSON and checked field by field.

`parse` is the only way in: it gives a Specification that can be run, or a SpecificationError with every fault found.
A Specification holds no short forms (`both`, a range of seeds, a file of times); `to_yaml` writes what parses to an
equal one.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from backend.experiments.across import suspect
from backend.experiments.arms import Arm, pair
from backend.experiments.documents import read_document, write_yaml
from backend.experiments.errors import FieldError, SpecificationError, document_error
from backend.experiments.explain import explain, fault, raise_faults
from backend.experiments.limits import (
    MAX_ARMS,
    MAX_BYTES,
    MAX_EXPLAINED,
    MAX_RUNS,
    MAX_SEED,
    MAX_SEEDS,
    MAX_SIMULATED_S,
)
from backend.experiments.nodes import ClusterPart, not_bool
from backend.experiments.seeds import read_seeds
from backend.experiments.workload import Workload
from backend.model.fields import ObjectName, Parameters
from backend.model.periods import FASTEST, SLOWEST
from backend.simulation.cluster import Telemetry

Seed = Annotated[int, Field(ge=0, le=MAX_SEED), BeforeValidator(not_bool)]
Duration = Annotated[float, Field(gt=0, le=MAX_SIMULATED_S, allow_inf_nan=False), BeforeValidator(not_bool)]


class Specification(Parameters):
    """An experiment, complete and checked."""

    name: ObjectName = Field(description="short name; runs are called after it")
    title: Annotated[str, Field(max_length=120)] = Field("", description="what a person reads in a list")
    description: Annotated[str, Field(max_length=4000)] = Field("", description="what is shown, and what to look at")
    target: Literal["simulator", "embedded", "live"] = Field(
        "simulator",
        description="where it runs: in the simulator; as pods on an embedded cluster of its own, in real time; "
        "or as pods on the Kubernetes cluster that Podshift is connected to, which has its own nodes",
    )
    cluster: ClusterPart = Field(description="nodes, their failures, and what moving a job costs")
    workload: Workload = Field(description="models, jobs and when they arrive")
    arms: Annotated[tuple[Arm, ...], Field(min_length=1, max_length=MAX_ARMS)] = Field(
        description="the sides of the comparison; `both: true` stands for default and migrated"
    )
    pin_initial_placement: bool = Field(
        False, description="jobs of later arms start where the first arm put them (true if left out with both)"
    )
    seeds: Annotated[
        tuple[Seed, ...],
        BeforeValidator(read_seeds, json_schema_input_type=int | str | list[int]),
        Field(min_length=1, max_length=MAX_SEEDS),
    ] = Field((1,), description="a list, how many (3 means 1, 2, 3), or a range such as '1..20'")
    telemetry: Telemetry = Field(default_factory=Telemetry, description="how often progress and usage are recorded")
    until: Duration | None = Field(None, description="simulated second at which runs end; when all is done if left out")
    speed: Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False), BeforeValidator(not_bool)] | None = Field(
        None,
        description="simulated seconds a second; if left out, the simulator goes as fast as it can and an embedded "
        "cluster 20 times as fast as a real one, whose seconds are the wall's",
    )

    @model_validator(mode="after")
    def _parts_agree(self) -> "Specification":
        faults = []
        places: dict[str, int] = {}
        for place, arm in enumerate(self.arms):
            if arm.name in places:
                message = f"two arms are called '{arm.name}' (entries {places[arm.name]} and {place})"
                faults.append(fault(message, ("arms", place, "name"), arm.name, "a name for each arm"))
            places.setdefault(arm.name, place)
        if self.pin_initial_placement and len(self.arms) == 1:
            message = "needs a first arm whose placement a second one takes over, and there is one arm"
            faults.append(fault(message, ("pin_initial_placement",), True, "false, or two arms"))
        if len(self.arms) * len(self.seeds) > MAX_RUNS:
            message = f"{len(self.arms)} arms with {len(self.seeds)} seeds are {self.run_count:,} runs"
            faults.append(fault(message, ("seeds",), len(self.seeds), f"up to {MAX_RUNS:,} runs"))
        if self.target == "embedded" and self.speed is not None and not SLOWEST <= self.speed <= FASTEST:
            message = f"an embedded cluster lives {SLOWEST:g} to {FASTEST:g} simulated seconds a second"
            faults.append(fault(message, ("speed",), self.speed, f"{SLOWEST:g} to {FASTEST:g}"))
        for place, model in enumerate(self.workload.models):
            faults += self.cluster.label_faults(model.labels, ("workload", "models", place, "labels"))
        for place, job in enumerate(self.workload.entries):
            faults += self.cluster.label_faults(job.labels or {}, ("workload", "jobs", place, "labels"))
        raise_faults("specification", faults)
        return self

    @property
    def run_count(self) -> int:
        """Arms times seeds."""
        return len(self.arms) * len(self.seeds)

    @property
    def job_count(self) -> int:
        """Jobs of one run."""
        return self.workload.job_count

    @property
    def node_count(self) -> int:
        """Nodes of the cluster."""
        return self.cluster.node_count

    def arm(self, name: str) -> Arm:
        """The arm of that name. Raises KeyError."""
        for arm in self.arms:
            if arm.name == name:
                return arm
        raise KeyError(f"{self.name} has no arm '{name}'; its arms are {', '.join(arm.name for arm in self.arms)}")

    def to_mapping(self) -> dict[str, Any]:
        """As plain values; what is at its default is left out."""
        dumped = self.model_dump(mode="json", exclude_defaults=True)
        written = {name: dumped[name] for name in type(self).model_fields if name in dumped}
        nodes = written["cluster"]["nodes"]
        if len(nodes) == 1:
            written["cluster"]["nodes"] = nodes[0]
        written["arms"] = [
            # Policies are named even where they are the default: they are what an arm is about.
            {"name": arm.name, "scheduler": {"name": arm.scheduler.name}, "migration": {"name": arm.migration.name}}
            | held
            for arm, held in zip(self.arms, dumped["arms"], strict=True)
        ]
        whole: dict[str, Any] = _whole_numbers(written)
        return whole

    def to_yaml(self) -> str:
        """As YAML that parses to an equal specification."""
        return write_yaml(self.to_mapping())


def parse(source: str | bytes | Mapping[str, Any], *, folder: Path | None = None) -> Specification:
    """The specification that a text (YAML or JSON) or a decoded document holds.

    `folder` is where files that it names are looked for; without it (through the API) such files are refused.
    Raises SpecificationError with all faults found.
    """
    document = read_document(source)
    complete, moved, faults = _spell_out(document)
    try:
        specification = Specification.model_validate(complete, context={"folder": folder})
    except ValidationError as error:
        for found in explain(error, Specification, complete):
            faults.append(_as_written(found, moved))
        known = {found.field for found in faults}
        faults.extend(suspect(complete, known))
        unexplained = max(0, error.error_count() - MAX_EXPLAINED)
        raise SpecificationError(list(dict.fromkeys(faults)), unexplained) from None
    if faults:
        raise SpecificationError(faults)
    return specification


def json_schema() -> dict[str, Any]:
    """JSON schema of what may be written, short forms included; for forms and editors."""
    schema = Specification.model_json_schema()
    arm = schema["$defs"]["Arm"]["properties"]
    schema["properties"] |= {
        "both": {"type": "boolean", "default": False, "description": "two arms: default (moves nothing) and migrated"},
        "scheduler": arm["scheduler"] | {"description": "with both: scheduler of the two arms"},
        "migration": arm["migration"] | {"description": "with both: migration policy of the second arm"},
    }
    schema["required"] = [name for name in schema["required"] if name != "arms"]
    return schema


def load(path: Path) -> Specification:
    """The specification in a file. Raises SpecificationError, also for a file that cannot be read."""
    try:
        if not path.is_file():
            raise document_error(f"there is no file {path}")
        with path.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise document_error(f"{path.name} is {path.stat().st_size:,} bytes long, more than {MAX_BYTES:,}")
    except OSError as error:
        raise document_error(f"{path} cannot be read: {error.strerror or error}") from None
    return parse(content, folder=path.absolute().parent)


def _whole_numbers(value: Any) -> Any:
    """25.0 is written as 25."""
    if isinstance(value, dict):
        return {name: _whole_numbers(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_whole_numbers(inner) for inner in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return int(value)
    return value


def _spell_out(document: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str], list[FieldError]]:
    """Arms in place of `both`, `scheduler` and `migration`; where they came from; what is wrong with these names."""
    both = document.get("both")
    short = [name for name in ("both", "scheduler", "migration") if name in document]
    if not short:
        return document, {}, []
    rest = {name: value for name, value in document.items() if name not in short}
    faults = []
    if both not in (None, True, False):
        faults.append(FieldError("both", str(both)[:60], "must be true or false"))
    if "arms" in document:
        faults += [
            FieldError(name, "", "has no use beside arms", "either arms, or both with scheduler and migration")
            for name in short
            if name != "both" or both
        ]
        return rest, {}, faults
    scheduler, migration = document.get("scheduler"), document.get("migration")
    if both:
        if (migration.get("name") if isinstance(migration, dict) else migration) == "none":
            faults.append(FieldError("migration.name", "none", "leaves nothing to compare: both arms would be equal"))
        rest["arms"] = pair(scheduler, migration)
        rest.setdefault("pin_initial_placement", True)
        return (
            rest,
            {"arms.0.scheduler": "scheduler", "arms.1.scheduler": "scheduler", "arms.1.migration": "migration"},
            faults,
        )
    if len(short) > 1 or "both" not in document:
        arm = {name: document[name] for name in ("scheduler", "migration") if name in document}
        rest["arms"] = [{"name": "default", **arm}]
    return rest, {"arms.0.scheduler": "scheduler", "arms.0.migration": "migration"}, faults


def _as_written(found: FieldError, moved: dict[str, str]) -> FieldError:
    for prefix, original in moved.items():
        if found.field == prefix or found.field.startswith(prefix + "."):
            return FieldError(original + found.field[len(prefix) :], found.value, found.message, found.allowed)
    return found
