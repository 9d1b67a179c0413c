"""Files that a browser saves: their names say what they hold and when they were made."""

import re
from datetime import UTC, datetime


def file_name(run: str, what: str, ending: str, now: datetime | None = None) -> str:
    """Such as "seven-jobs-7k3f.default.s1_jobs_20261201T101500Z.csv"; the time is UTC."""
    moment = (now or datetime.now(UTC)).strftime("%Y%m%dT%H%M%SZ")
    return re.sub(r"[^A-Za-z0-9._-]", "-", f"{run}_{what}_{moment}.{ending}" if what else f"{run}_{moment}.{ending}")


def disposition(name: str) -> dict[str, str]:
    """The headers that make a browser save an answer under a name and never interpret it."""
    return {"Content-Disposition": f'attachment; filename="{name}"', "X-Content-Type-Options": "nosniff"}
