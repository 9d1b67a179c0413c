"""The rows of the catalogue as values."""

import re
from typing import Any, Literal

from msgspec import Struct

from backend.store.errors import UnknownError

RunStatus = Literal["queued", "running", "stopping", "finished", "stopped", "failed", "interrupted", "imported"]
OPEN: tuple[RunStatus, ...] = ("queued", "running", "stopping")
"""States of a run that has not ended."""

_ID = re.compile(r"[a-z0-9]([a-z0-9.-]{0,198}[a-z0-9])?")


def check_id(name: str) -> str:
    """The id, if it has the form of one: it becomes the name of a folder. Raises UnknownError."""
    if not _ID.fullmatch(name) or ".." in name:
        raise UnknownError(f"there is nothing called '{name[:80]}': ids are small letters, digits, dashes and dots")
    return name


class RunProgress(Struct, frozen=True):
    """How far a run is; wall-clock estimate of the time left."""

    time_s: float = 0.0
    jobs_done: int = 0
    jobs: int = 0
    fraction: float = 0.0
    eta_s: float | None = None
    events: int = 0


class RunRow(Struct, frozen=True):
    """One execution of one arm with one seed."""

    id: str
    experiment: str
    arm: str
    seed: int
    status: RunStatus
    source: str
    created_at: str
    """ISO 8601, UTC; as all wall-clock times of the catalogue."""
    started_at: str | None = None
    ended_at: str | None = None
    progress: RunProgress | None = None
    error: str | None = None
    summary: dict[str, Any] | None = None
    log_sha256: str | None = None
    pid: int | None = None


class ExperimentRow(Struct, frozen=True):
    """A specification and what belongs to it."""

    id: str
    name: str
    specification: dict[str, Any] | None
    """None for an import without one."""
    source: str
    created_at: str
    note: str = ""
    tags: tuple[str, ...] = ()
    archived: bool = False


class AuditRow(Struct, frozen=True):
    """One action that somebody asked for."""

    at: str
    actor: str
    address: str
    action: str
    target: str
    parameters: dict[str, Any]
    result: str
    request: str
