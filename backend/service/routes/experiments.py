"""Experiments: check, launch, list, stop, note, delete."""

import os
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from backend.experiments.errors import SpecificationError
from backend.experiments.specification import Specification, parse
from backend.service import answers, estimates, problems
from backend.service.audit import note
from backend.service.context import Here
from backend.service.problems import Problem, field_error
from backend.store.rows import RunStatus

router = APIRouter(prefix="/api/v1/experiments", tags=["experiments"])

MAX_PAGE = 200
"""Entries of one page of a list; the newest come first."""
Limit = Annotated[int, Query(ge=1, le=MAX_PAGE)]
Offset = Annotated[int, Query(ge=0, le=10_000_000)]


class Submitted(BaseModel):
    """A specification, as plain values or as text."""

    model_config = ConfigDict(extra="forbid")

    specification: Any = Field(None, description="as JSON")
    yaml: str | None = Field(None, description="as YAML or JSON text")

    def read(self) -> Specification:
        """The specification. Raises Problem (422) with every fault found."""
        if (self.specification is None) == (self.yaml is None):
            message = "Send either specification or yaml."
            raise Problem(
                422, message, [field_error("specification", None, "is missing or given twice", "one of both")]
            )
        try:
            return parse(self.yaml if self.yaml is not None else self.specification)
        except SpecificationError as error:
            errors = [found.as_dict() for found in error.errors]
            count = len(errors) + error.more
            message = f"The specification has {count} fault{'s' if count > 1 else ''}: {error.errors[0]}."
            raise Problem(422, message, errors) from None


class Launch(Submitted):
    """A specification to run."""

    idempotency_key: str | None = Field(
        None, min_length=1, max_length=100, description="the same key again launches nothing new"
    )


class Checked(BaseModel):
    """What a valid specification comes to."""

    valid: bool = True
    specification: dict[str, Any] = Field(description="in normal form, defaults left out")
    yaml: str
    cli: str = Field(description="the command that does the same")
    jobs: int = Field(description="jobs of one run")
    nodes: int
    runs: int
    estimate_s: float = Field(description="seconds until all runs have ended, roughly")
    simulated_s: float = Field(description="simulated seconds of one run, roughly; 0 if not known")


class Launched(BaseModel):
    """An experiment that was stored and queued."""

    id: str
    runs: list[str]


class Experiments(BaseModel):
    """One page of experiments."""

    items: list[answers.Experiment]
    total: int = Field(description="how many there are on all pages")


class Change(BaseModel):
    """What may be changed of an experiment; what is left out stays."""

    model_config = ConfigDict(extra="forbid")

    note: Annotated[str, Field(max_length=5_000)] | None = None
    tags: Annotated[list[Annotated[str, Field(min_length=1, max_length=50)]], Field(max_length=20)] | None = None
    archived: bool | None = None


@router.post("/validate")
def validate(submitted: Submitted) -> Checked:
    """Check a specification; nothing is stored."""
    specification = submitted.read()
    return Checked(
        specification=specification.to_mapping(),
        yaml=specification.to_yaml(),
        cli=f"podshift run {specification.name}.yaml",
        jobs=specification.job_count,
        nodes=specification.node_count,
        runs=specification.run_count,
        estimate_s=estimates.wall_clock_s(specification, os.cpu_count() or 1),
        simulated_s=estimates.simulated_s(specification),
    )


@router.post("", status_code=202, responses=problems.answers(409))
def launch(body: Launch, request: Request, service: Here) -> Launched:
    """Store an experiment and queue its runs."""
    specification = body.read()
    experiment, new = service.launches.launch(specification, body.idempotency_key)
    runs = [run.id for run in service.store.runs(experiment)[0]]
    if new:
        note(service, request, "launch", experiment, name=specification.name, runs=len(runs))
    return Launched(id=experiment, runs=runs)


@router.get("")
def experiments(
    service: Here,
    q: Annotated[str | None, Query(max_length=200, description="text in id, name or note")] = None,
    status: Annotated[RunStatus | None, Query(description="that a run of it has")] = None,
    tag: Annotated[str | None, Query(max_length=50)] = None,
    archived: bool = False,
    limit: Limit = 50,
    offset: Offset = 0,
) -> Experiments:
    """Experiments, newest first."""
    rows, total = service.store.experiments(q, status, tag=tag, archived=archived, limit=limit, offset=offset)
    return Experiments(items=[answers.experiment(service.store, row) for row in rows], total=total)


@router.get("/{experiment}", responses=problems.answers(404))
def one_experiment(experiment: str, service: Here) -> answers.Experiment:
    """One experiment, with its specification."""
    return answers.experiment(service.store, service.store.experiment(experiment), whole=True)


@router.post("/{experiment}/stop", status_code=202, responses=problems.answers(404))
def stop(experiment: str, request: Request, service: Here) -> answers.Experiment:
    """Stop all runs that have not ended; what they recorded is kept. A second stop changes nothing."""
    row = service.store.experiment(experiment)
    waiting = [run.id for run in service.store.runs(experiment)[0] if run.status in ("queued", "running")]
    for run in reversed(waiting):  # the last first: what waits must not begin while the first ones are stopped
        service.runner.stop(run)
    if waiting:
        note(service, request, "stop", experiment, runs=len(waiting))
    return answers.experiment(service.store, row)


@router.patch("/{experiment}", responses=problems.answers(404))
def change(experiment: str, body: Change, request: Request, service: Here) -> answers.Experiment:
    """Change note, tags or whether it is archived."""
    service.store.update_experiment(experiment, note=body.note, tags=body.tags, archived=body.archived)
    note(service, request, "change", experiment, **body.model_dump(exclude_none=True))
    return answers.experiment(service.store, service.store.experiment(experiment), whole=True)


@router.delete("/{experiment}", status_code=204, responses=problems.answers(404, 409))
def delete(experiment: str, request: Request, service: Here) -> Response:
    """Delete an experiment whose runs have all ended; `undelete` brings it back until it is purged."""
    service.store.delete_experiment(experiment)
    note(service, request, "delete", experiment)
    return Response(status_code=204)


@router.post("/{experiment}/undelete", responses=problems.answers(404))
def undelete(experiment: str, request: Request, service: Here) -> answers.Experiment:
    """Bring a deleted experiment back."""
    service.store.undelete_experiment(experiment)
    note(service, request, "undelete", experiment)
    return answers.experiment(service.store, service.store.experiment(experiment))
