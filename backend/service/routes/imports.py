"""Import: bundles and the files of the original authors' tools."""

import tempfile
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool

from backend.service.audit import note
from backend.service.context import Here
from backend.service.imports import ImportFileError, Kind, import_file
from backend.service.problems import Problem, answers

router = APIRouter(prefix="/api/v1", tags=["import"])


class Imported(BaseModel):
    """Runs that were imported."""

    runs: list[str]


@router.post(
    "/import",
    status_code=201,
    responses=answers(413, 415),
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
async def import_(
    request: Request,
    service: Here,
    kind: Annotated[Kind | None, Query(description="told by the content if left out")] = None,
    name: Annotated[str, Query(max_length=200, description="name of the file")] = "",
) -> Imported:
    """Import the file that the body holds, as it is; all of it or nothing."""
    if request.headers.get("content-type", "").startswith("multipart/"):
        raise Problem(415, "Send the file itself as the body (curl --data-binary @FILE), not as a form.")
    with tempfile.NamedTemporaryFile(prefix="podshift-import-") as upload:
        async for chunk in request.stream():
            upload.write(chunk)
        upload.flush()
        if upload.tell() == 0:
            raise Problem(422, "The body is empty; it has to hold the file.")
        try:
            runs = await run_in_threadpool(
                import_file, service.store, Path(upload.name), kind, Path(name).name or "imported"
            )
        except ImportFileError as error:
            raise Problem(422, str(error)) from None
    await run_in_threadpool(note, service, request, "import", ",".join(runs), name=name, kind=kind)
    return Imported(runs=runs)
