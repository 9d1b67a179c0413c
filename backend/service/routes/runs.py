"""Runs: one run, its tables, its log, its bundle; stopping it."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi import Path as ParameterPath
from pydantic import BaseModel, Field
from starlette.background import BackgroundTask
from starlette.responses import FileResponse, Response, StreamingResponse

from backend.experiments import configuration
from backend.folds import decisions as placements
from backend.model import events as ev
from backend.scheduling.plugins import describe
from backend.service import answers, problems, tables
from backend.service.audit import note
from backend.service.comparisons import stored_specification
from backend.service.context import Here
from backend.service.decisions import Decision, Decisions
from backend.service.downloads import disposition, file_name
from backend.service.problems import Problem
from backend.store.bundles import export_bundle
from backend.store.exports import to_csv, to_json
from backend.store.rows import OPEN

router = APIRouter(prefix="/api/v1/runs", tags=["runs"], responses=problems.answers(404, 409))

MOST_DECISIONS = 10_000
"""Decisions of one answer."""
_LOG_BLOCK = 2_000
"""Events in one piece of a log that is sent."""


class Run(answers.RunEntry):
    """A run with all that belongs to it."""

    experiment: str
    experiment_name: str
    source: str
    created_at: str
    started_at: str | None
    ended_at: str | None
    summary: dict[str, Any] | None
    log_sha256: str | None
    note: str = Field(description="of its experiment")
    tags: list[str]
    specification: dict[str, Any] | None
    configuration: dict[str, Any] | None = Field(description="setting -> value of its arm, defaults filled in")
    siblings: list[answers.RunEntry] = Field(description="all runs of its experiment, itself among them")
    rev: int = Field(description="rises when something of it changed")


class Columns(BaseModel):
    """Rows of a table, by columns."""

    columns: dict[str, list[Any]]
    rows: int = Field(description="rows in this answer")
    total: int = Field(description="rows in the table")
    rev: int = Field(description="revision of the run that the rows are at least as new as")


@router.get("/{run}", response_model=Run, responses={204: {"description": "nothing changed since rev"}})
def one_run(run: str, service: Here, rev: Annotated[int | None, Query(ge=0)] = None) -> Any:
    """One run; 204 if nothing of it changed since the revision `rev`."""
    revision = service.revision(run)
    if rev == revision:
        return Response(status_code=204)
    row = service.store.run(run)
    experiment = service.store.experiment(row.experiment)
    specification = stored_specification(service.store, row.experiment)
    entry = answers.run_entry(row)
    return Run(
        **entry.model_dump(),
        experiment=row.experiment,
        experiment_name=experiment.name,
        source=row.source,
        created_at=row.created_at,
        started_at=row.started_at,
        ended_at=row.ended_at,
        summary=row.summary,
        log_sha256=row.log_sha256,
        note=experiment.note,
        tags=list(experiment.tags),
        specification=experiment.specification,
        configuration=None if specification is None else configuration.flatten(specification, row.arm),
        siblings=[answers.run_entry(other) for other in service.store.runs(row.experiment)[0]],
        rev=revision,
    )


@router.post("/{run}/stop", status_code=202)
def stop(run: str, request: Request, service: Here) -> answers.RunEntry:
    """Stop a run; what it recorded is kept. A second stop, or one of a run that has ended, changes nothing."""
    before = service.store.run(run)
    if before.status in ("queued", "running"):
        service.runner.stop(run)
        note(service, request, "stop", run)
    return answers.run_entry(service.store.run(run))


@router.get("/{run}/tables/{table}", response_model=Columns)
def table(
    run: str,
    table: str,
    service: Here,
    format: Literal["json", "csv", "rows"] = "json",  # noqa: A002 (the name in the address)
    job: Annotated[str | None, Query(max_length=253, description="only the rows of this job")] = None,
    limit: Annotated[int | None, Query(ge=1, le=tables.MAX_ROWS)] = None,
    offset: Annotated[int, Query(ge=0)] = 0,
) -> Response:
    """A table of a run: columns (json), a CSV file of all rows (csv), or a JSON file with one object a row (rows)."""
    revision = service.revision(run)
    whole = service.store.table(run, table)
    most = limit or (tables.MAX_ROWS if format == "json" else whole.num_rows)
    try:
        part, total = tables.part(whole, job=job, limit=most, offset=offset)
    except KeyError:
        raise Problem(422, f"The table {table} has no column job.") from None
    if format == "csv":
        return _file(to_csv(part), "text/csv", file_name(run, table, "csv"))
    if format == "rows":
        return _file(to_json(part), "application/json", file_name(run, table, "json"))
    answer = {"columns": tables.columns(part), "rows": part.num_rows, "total": total, "rev": revision}
    return Response(tables.encode(answer), media_type="application/json")


@router.get("/{run}/decisions", response_model=Decisions)
def decisions(
    run: str,
    service: Here,
    job: Annotated[str | None, Query(max_length=253, description="only those of this job's pods")] = None,
    placed: Annotated[bool | None, Query(description="only those that chose a node (true) or none (false)")] = None,
    limit: Annotated[int, Query(ge=1, le=MOST_DECISIONS)] = 100,
    offset: Annotated[int, Query(ge=0)] = 0,
) -> Response:
    """The placement decisions of a run, drawn from its log; of a running run, those so far."""
    revision = service.revision(run)
    chosen = placements.select(service.store.table(run, "decisions"), job=job, placed=placed)
    items = placements.entries(chosen.slice(offset, limit))
    answer = {"items": items, "total": chosen.num_rows, "rev": revision}
    return Response(tables.encode(answer), media_type="application/json")


@router.get("/{run}/decisions/{seq}", response_model=Decision)
def decision(run: str, seq: Annotated[int, ParameterPath(ge=0, lt=2**63)], service: Here) -> Response:
    """One placement decision in full: every listed node by scores, and which filter refused which nodes."""
    found = placements.in_full(service.store.table(run, "decisions"), seq, describe())
    if found is None:
        raise Problem(404, f"The event {seq} of this run's log is no placement decision.")
    return Response(tables.encode(found), media_type="application/json")


@router.get("/{run}/log")
def log(run: str, service: Here, format: Literal["jsonl"] = "jsonl") -> Response:  # noqa: A002
    """The event log as JSON lines; of a running run, what is recorded so far. Its SHA-256 is the run's log_sha256."""
    events = service.store.read_log(run)

    def blocks() -> Iterator[bytes]:
        block: list[ev.Event] = []
        for event in events:
            block.append(event)
            if len(block) == _LOG_BLOCK:
                yield ev.encode_lines(block)
                block.clear()
        yield ev.encode_lines(block)

    return StreamingResponse(
        blocks(), media_type="application/jsonl", headers=disposition(file_name(run, "log", "jsonl"))
    )


@router.get("/{run}/bundle")
def bundle(run: str, service: Here, whole: bool = False) -> Response:
    """The run as a bundle, which another Podshift imports; with `whole`, all runs of its experiment."""
    row = service.store.run(run)
    runs = [other.id for other in service.store.runs(row.experiment)[0]] if whole else [run]
    still = [name for name in runs if service.store.run(name).status in OPEN]
    if still:
        raise Problem(409, f"The run {still[0]} has not ended; stop it or wait, then export it.")
    folder = tempfile.TemporaryDirectory(prefix="podshift-export-")
    path = Path(folder.name) / "bundle.zip"
    try:
        export_bundle(service.store, runs, path)
    except BaseException:
        folder.cleanup()
        raise
    name = file_name(row.experiment if whole else run, "", "podshift.zip")
    return FileResponse(
        path, media_type="application/zip", headers=disposition(name), background=BackgroundTask(folder.cleanup)
    )


def _file(text: str, media_type: str, name: str) -> Response:
    return Response(text, media_type=media_type, headers=disposition(name))
