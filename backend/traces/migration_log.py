"""The migration log of the SpeCon authors' manager: time, job, source node, target node (specon-procon.md 1.2, 1.5).

An empty target means: considered and left in place. The log says nothing of submissions, ends or capacities, so the
run made from it says no more: a job is first seen on its source, a move takes no time, and nothing ends.
"""

import math
from datetime import UTC, datetime
from itertools import pairwise

from backend.model import events as ev
from backend.model.objects import Job, Node, Pod
from backend.traces.errors import TraceError
from backend.traces.tables import base_job, csv_rows

SOURCE_NAMES = ("orginal_node", "original_node")
"""The authors' file has the first spelling."""
NODE_CPU_MILLIS = 16_000
NODE_MEMORY_BYTES = 64 * 2**30
"""Capacity of the nodes, which the log does not give: CloudLab m510, as section 2.1 infers."""


class Row:
    """One line of the log."""

    __slots__ = ("job", "line", "source", "target", "time")

    def __init__(self, line: int, time: float, job: str, source: str, target: str) -> None:
        self.line = line
        self.time = time
        self.job = job
        self.source = source
        self.target = target


def read(content: bytes, name: str = "migration log") -> list[Row]:
    """The rows, times relative to the first. Raises TraceError."""
    rows = csv_rows(content, name)
    _, header = next(rows, (1, []))
    columns = [cell.lower() for cell in header]
    source = next((spelling for spelling in SOURCE_NAMES if spelling in columns), None)
    if source is None or not {"time", "job", "to_node"} <= set(columns):
        raise TraceError(name, 1, "the first line must be time,job,orginal_node,to_node")
    place = {key: columns.index(key) for key in ("time", "job", source, "to_node")}
    found: list[Row] = []
    for line, written in rows:
        if len(written) > len(columns):
            raise TraceError(name, line, f"has {len(written)} cells, the first line has {len(columns)}")
        cells = written + [""] * (len(columns) - len(written))
        job, origin, target = (cells[place[key]] for key in ("job", source, "to_node"))
        if not job or not origin:
            raise TraceError(name, line, "must name a job and the node it is on")
        found.append(Row(line, _time(cells[place["time"]], name, line), base_job(job), origin, target))
    if not found:
        raise TraceError(name, None, "holds no line but the first")
    first = found[0].time
    for before, row in pairwise(found):
        if row.time < before.time:
            raise TraceError(name, row.line, "lies before the line above it")
    for row in found:
        row.time -= first
    return found


def _time(text: str, name: str, line: int) -> float:
    try:
        seconds = float(text)
    except ValueError:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise TraceError(name, line, f"{text[:40]!r} is no time (seconds, or 2020-01-04 22:43:11)") from None
        seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if not math.isfinite(seconds):
        raise TraceError(name, line, f"{text[:40]!r} is no time")
    return seconds


def to_events(rows: list[Row], *, run: str = "migration-log", experiment: str = "migration-log") -> list[ev.Event]:
    """An ordinary log. A line whose source is not where the job was last is trusted: the job is taken to have moved."""
    log: list[ev.Event] = [ev.RunStarted(0.0, run, experiment, "migrated", 0)]
    nodes = sorted({row.source for row in rows} | {row.target for row in rows if row.target})
    log += [ev.NodeAdded(0.0, Node(node, NODE_CPU_MILLIS, NODE_MEMORY_BYTES)) for node in nodes]
    where: dict[str, tuple[str, str]] = {}
    for row in rows:
        if row.job not in where:
            log += _appear(row, 0.0)
            where[row.job] = (row.job, row.source)
    moves = 0
    pods: dict[str, int] = {}
    for number, row in enumerate(rows, 1):
        pod, _ = where[row.job]
        target = row.target or None
        verdict: ev.Verdict = "migrate" if target else "no-better-node"
        reason = f"{row.job} moves from {row.source} to {target}" if target else f"{row.job} stays on {row.source}"
        reason += "; the log gives no reason"
        log.append(
            ev.MigrationConsidered(row.time, number, row.job, pod, row.source, target, verdict, "recorded", reason)
        )
        if target is None:
            continue
        moves += 1
        count = pods[row.job] = pods.get(row.job, 0) + 1
        new = f"{row.job}-migrated" if count == 1 else f"{row.job}-migrated-{count}"
        log += [
            ev.MigrationStarted(row.time, moves, row.job, pod, row.source, target, "recorded", reason),
            ev.PodEvicted(row.time, pod, row.source, f"migration {moves} to {target}"),
            ev.PodCreated(row.time, Pod(new, row.job, count, target, moves)),
            ev.PodBound(row.time, new, target),
            ev.PodStarted(row.time, new, target),
            ev.MigrationFinished(row.time, moves, row.job, new, target, 0.0),
        ]
        where[row.job] = (new, target)
    log.append(ev.RunEnded(rows[-1].time))
    return log


def _appear(row: Row, time: float) -> list[ev.Event]:
    job = Job(row.job, "unknown")
    return [
        ev.JobSubmitted(time, job),
        ev.PodCreated(time, Pod(row.job, row.job)),
        ev.PodBound(time, row.job, row.source),
        ev.PodStarted(time, row.job, row.source),
    ]
