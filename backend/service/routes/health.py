"""Whether the service lives, and whether it can work."""

from fastapi import APIRouter
from pydantic import BaseModel

from backend.service.context import Here
from backend.service.problems import Problem

router = APIRouter(tags=["health"])


class Health(BaseModel):
    """The service answers."""

    status: str = "ok"


@router.get("/healthz")
def healthz() -> Health:
    """The process lives."""
    return Health()


@router.get("/readyz")
def readyz(service: Here) -> Health:
    """The store answers too."""
    try:
        service.store.experiments(limit=1)
    except Exception as fault:
        raise Problem(503, "The store does not answer.") from fault
    return Health()
