"""The migration log of the SpeCon authors' manager: time, job, source node, target node (specon-procon.md 1.2, 1.5).

An empty target means: considered and left in place. The log says nothing of submissions, ends or capacities, so the
run made from it says no more: a job is first seen on its source, a move takes no time, and nothing ends.
"""

from collections.abc import Collection
from datetime import UTC, datetime

from backend.model import events as ev
from backend.model.objects import Job, Node, Pod
from backend.traces.errors import TraceError
from backend.traces.tables import base_job, check_name, fitted, header_and_rows, seconds

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


def is_header(columns: Collection[str]) -> bool:
    """Whether a first line with these names, in small letters, is that of a migration log."""
    return {"time", "job", "to_node"} <= set(columns) and any(spelling in columns for spelling in SOURCE_NAMES)


def read(content: bytes, name: str = "migration log") -> list[Row]:
    """The rows, times relative to the first. Raises TraceError."""
    header, columns, rows = header_and_rows(content, name)
    if not is_header(columns):
        raise TraceError(name, header, "must be time,job,orginal_node,to_node")
    source = next(spelling for spelling in SOURCE_NAMES if spelling in columns)
    place = {key: columns.index(key) for key in ("time", "job", source, "to_node")}
    needed = len(columns) - 1 if place["to_node"] == len(columns) - 1 else len(columns)
    found: list[Row] = []
    where: dict[str, tuple[str, int]] = {}
    for line, written in rows:
        cells = fitted(written, columns, name, line, needed=needed)
        job, origin, target = (check_name(cells[place[key]], name, line) for key in ("job", source, "to_node"))
        if not job or not origin:
            raise TraceError(name, line, "must name a job and the node it is on")
        if target == origin:
            raise TraceError(name, line, f"moves '{job[:60]}' to the node that it is on")
        row = Row(line, _time(cells[place["time"]], name, line), base_job(job), origin, target)
        if found and row.time < found[-1].time:
            raise TraceError(name, line, "lies before the line above it")
        last, seen = where.get(row.job, (origin, line))
        if last != origin:
            raise TraceError(name, line, f"takes '{row.job[:60]}' from {origin}, but line {seen} leaves it on {last}")
        where[row.job] = target or origin, line
        found.append(row)
    if not found:
        raise TraceError(name, None, "holds no line but the first")
    first = found[0].time
    for row in found:
        row.time -= first
    return found


def _time(text: str, name: str, line: int) -> float:
    value = seconds(text)
    if value is None:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise TraceError(name, line, f"{text[:40]!r} is no time (seconds, or 2020-01-04 22:43:11)") from None
        value = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if value < 0:
        raise TraceError(name, line, f"{text[:40]!r} is before 0, which is 1970-01-01; no time is")
    return value


def to_events(rows: list[Row], *, run: str = "migration-log", experiment: str = "migration-log") -> list[ev.Event]:
    """An ordinary log of rows that `read` gave: each finds its job where the one before left it."""
    log: list[ev.Event] = [ev.RunStarted(0.0, run, experiment, "migrated", 0)]
    nodes = sorted({row.source for row in rows} | {row.target for row in rows if row.target})
    log += [ev.NodeAdded(0.0, Node(node, NODE_CPU_MILLIS, NODE_MEMORY_BYTES)) for node in nodes]
    running: dict[str, str] = {}
    """Job -> its pod."""
    pods: dict[str, int] = {}
    for row in rows:
        if row.job not in running:
            log.append(ev.JobSubmitted(0.0, Job(row.job, "unknown")))
            log += _run_on(0.0, Pod(row.job, row.job), row.source)
            running[row.job] = row.job
            pods[row.job] = 1
    moves = 0
    for number, row in enumerate(rows, 1):
        pod = running[row.job]
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
        new = _name(row.job, pods)
        log += [
            ev.MigrationStarted(row.time, moves, row.job, pod, row.source, target, "recorded", reason),
            ev.PodEvicted(row.time, pod, row.source, f"migration {moves} to {target}"),
            *_run_on(row.time, Pod(new, row.job, pods[row.job] - 1, target, moves), target),
            ev.MigrationFinished(row.time, moves, row.job, new, target, None),
        ]
        running[row.job] = new
    log.append(ev.RunEnded(rows[-1].time))
    return log


def _name(job: str, pods: dict[str, int]) -> str:
    """Name of the next pod of a job; no job can have it, as base_job takes such endings away."""
    number = pods[job]
    pods[job] += 1
    return f"{job}-migrated" if number == 1 else f"{job}-migrated-{number}"


def _run_on(time: float, pod: Pod, node: str) -> list[ev.Event]:
    return [ev.PodCreated(time, pod), ev.PodBound(time, pod.name, node), ev.PodStarted(time, pod.name, node)]
