"""Two groups of runs side by side."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from backend.service.comparisons import ComparisonError, compare_runs
from backend.service.context import Here
from backend.service.problems import Problem, answers
from backend.service.tables import encode

router = APIRouter(prefix="/api/v1", tags=["compare"])

Group = Annotated[str, Query(min_length=1, max_length=50_000, description="ids of runs, with commas")]


@router.get("/compare", response_model=dict[str, Any], responses=answers(404, 409))
def compare(a: Group, b: Group, service: Here) -> Response:
    """Runs b measured against runs a: difference = b - a."""
    try:
        return Response(encode(compare_runs(service.store, _ids(a), _ids(b))), media_type="application/json")
    except ComparisonError as error:
        raise Problem(422, str(error)) from None


def _ids(group: str) -> list[str]:
    return [name for name in (part.strip() for part in group.split(",")) if name]
