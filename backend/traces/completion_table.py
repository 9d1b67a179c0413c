"""A table of completion times of two arms: job, default seconds, migrated seconds (specon-procon.md section 2.3).

The table says nothing of submissions, nodes or moves: both runs submit every job at 0 and end it after its completion
time, and have no nodes.
"""

from collections.abc import Collection

from backend.model import events as ev
from backend.model.objects import Job
from backend.traces.errors import TraceError
from backend.traces.tables import check_name, fitted, header_and_rows, seconds

ARMS = ("default", "migrated")
DEFAULT_NAMES = ("default", "default_s", "default seconds", "ns", "ns_s")
MIGRATED_NAMES = ("migrated", "migrated_s", "migrated seconds", "specon", "specon_s")


def is_header(columns: Collection[str]) -> bool:
    """Whether a first line with these names, in small letters, is that of such a table."""
    return "job" in columns and all(any(one in columns for one in names) for names in (DEFAULT_NAMES, MIGRATED_NAMES))


def read(content: bytes, name: str = "completion table") -> list[tuple[str, float, float]]:
    """Job, default seconds, migrated seconds. Raises TraceError."""
    first, columns, rows = header_and_rows(content, name)
    if not is_header(columns):
        raise TraceError(name, first, "must be job,default_s,migrated_s (or job,NS_s,SpeCon_s)")
    default, migrated = (
        next(columns.index(one) for one in names if one in columns) for names in (DEFAULT_NAMES, MIGRATED_NAMES)
    )
    found: list[tuple[str, float, float]] = []
    seen: dict[str, int] = {}
    for line, written in rows:
        cells = fitted(written, columns, name, line, needed=len(columns))
        job = check_name(cells[columns.index("job")], name, line)
        job = f"job{job}" if job.isdecimal() else job
        if not job:
            raise TraceError(name, line, "must name a job")
        if job in seen:
            raise TraceError(name, line, f"'{job[:60]}' is there already, in line {seen[job]}")
        seen[job] = line
        found.append((job, _completion(cells[default], name, line), _completion(cells[migrated], name, line)))
    if not found:
        raise TraceError(name, None, "holds no job")
    return found


def _completion(text: str, name: str, line: int) -> float:
    value = seconds(text)
    if value is None or value <= 0:
        raise TraceError(name, line, f"{text[:40]!r} is no completion time in seconds")
    return value


def to_events(
    rows: list[tuple[str, float, float]],
    arm: str,
    *,
    run: str = "completion-table",
    experiment: str = "completion-table",
) -> list[ev.Event]:
    """The log of one arm, `default` or `migrated`."""
    column = 1 + ARMS.index(arm)
    log: list[ev.Event] = [ev.RunStarted(0.0, run, experiment, arm, 0)]
    log += [ev.JobSubmitted(0.0, Job(row[0], "unknown")) for row in rows]
    ends = sorted((float(row[column]), place) for place, row in enumerate(rows))
    log += [ev.JobFinished(time, rows[place][0]) for time, place in ends]
    log.append(ev.RunEnded(ends[-1][0]))
    return log
