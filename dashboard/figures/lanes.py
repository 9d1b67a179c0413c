"""From the tables of a run to the bars of its swimlane: who was where, when, in which state.

A node's lane has as many rows as pods were ever on it at once; a pod takes the lowest row that is free
(interval partitioning), so that bars never cover each other.
"""

import heapq
import itertools
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from dashboard.figures.view import Columns, rows_of

PENDING = "waiting for a node"
WAITING_ROWS = 12
"""More waiting jobs than this share the rows of the lane on top; the hover still tells them apart."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A stretch of time of one pod in one state on one lane. Times in seconds since the start."""

    lane: str
    row: int
    start: float
    end: float
    state: str
    """pending, starting, transit, or a category: progressing, watching, converged, running."""
    job: str
    pod: str
    open: bool = False
    """It was still going on at the end of the data."""


@dataclass(frozen=True, slots=True)
class Arrow:
    """A migration, from where the job stopped to where it went on."""

    job: str
    source: str
    source_row: int
    target: str
    target_row: int
    start: float
    end: float
    outcome: str
    reason: str


@dataclass(frozen=True)
class Swimlane:
    """Everything a placement figure draws, in no particular colour."""

    lanes: list[str]
    """From top to bottom; the lane of waiting jobs, if any, is the first."""
    rows: dict[str, int]
    """Rows each lane needs, at least 1."""
    bars: list[Bar]
    arrows: list[Arrow]
    end: float
    jobs: list[str] = field(default_factory=list)


def swimlane(
    *,
    segments: Columns,
    jobs: Columns,
    migrations: Columns,
    categories: Columns,
    nodes: Sequence[str],
    end: float,
) -> Swimlane:
    """Arrange a run. `end` is how far its data reach, in seconds; what has no end yet reaches until there."""
    records = _segments(segments, end)
    moves = {row[0]: row for row in rows_of(migrations, "migration", "started_s", "outcome", "reason", "job", "target")}
    leaving = {row[0]: row[1] for row in rows_of(migrations, "from_pod", "started_s") if row[0]}
    changes = _changes(categories)
    lanes = list(dict.fromkeys([*nodes, *(record["node"] for record in records)]))
    by_lane = defaultdict(list)
    for record in records:
        by_lane[record["node"]].append(record)
    rows, bars = {}, []
    for lane in lanes:
        rows[lane] = _pack(by_lane[lane])
        for record in by_lane[lane]:
            bars.extend(_bars_of(record, changes.get(record["pod"], []), leaving.get(record["pod"]), bool(changes)))
    waiting = _waiting(jobs, records, end)
    if waiting:
        rows = {PENDING: max(bar.row for bar in waiting) + 1, **rows}
        lanes = [PENDING, *lanes]
        bars = waiting + bars
    names = [row[0] for row in rows_of(jobs, "job")] or list(dict.fromkeys(record["job"] for record in records))
    return Swimlane(lanes, rows, bars, _arrows(records, moves, end), end, names)


def _segments(segments: Columns, end: float) -> list[dict]:
    names = ("job", "pod", "node", "bound_s", "started_s", "end_s", "migration", "incarnation")
    records = [dict(zip(names, row, strict=True)) for row in rows_of(segments, *names)]
    records = [record for record in records if record["bound_s"] is not None and record["node"]]
    for record in records:
        record["open"] = record["end_s"] is None
        record["until"] = max(end if record["open"] else record["end_s"], record["bound_s"])
    records.sort(key=lambda record: (record["bound_s"], record["pod"]))
    return records


def _pack(records: list[dict]) -> int:
    """Give each record (sorted by start) its row; answer how many rows were needed."""
    free: list[int] = []
    busy: list[tuple[float, int]] = []
    used = 0
    for record in records:
        while busy and busy[0][0] <= record["bound_s"]:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            row = heapq.heappop(free)
        else:
            row, used = used, used + 1
        record["row"] = row
        heapq.heappush(busy, (record["until"], row))
    return max(used, 1)


def _changes(categories: Columns) -> dict[str, list[tuple[float, str, str]]]:
    changes: dict[str, list[tuple[float, str, str]]] = defaultdict(list)
    for pod, time, before, after in rows_of(categories, "pod", "time_s", "before", "after"):
        changes[pod].append((time, before, after))
    for of_pod in changes.values():
        of_pod.sort()
    return changes


def _bars_of(record: dict, changes: list, leaves: float | None, classified: bool) -> list[Bar]:
    """The stretches of one segment: starting (or in transit), then one per category, then leaving."""
    until = record["until"]
    worked_until = until if leaves is None else min(max(leaves, record["bound_s"]), until)
    started = record["started_s"]
    arriving = "transit" if record["migration"] is not None else "starting"
    begins = worked_until if started is None else min(started, worked_until)
    pieces = [(record["bound_s"], begins, arriving)]
    # SpeCon's monitor holds a new job for progressing until it says otherwise (specon-procon.md section 1.4).
    state = changes[0][1] if changes else ("progressing" if classified else "running")
    at = begins
    for time, _, after in changes:
        moment = min(max(time, at), worked_until)
        pieces.append((at, moment, state))
        at, state = moment, after
    pieces.append((at, worked_until, state))
    pieces.append((worked_until, until, "transit"))
    return [
        Bar(
            record["node"],
            record["row"],
            start,
            stop,
            kind,
            record["job"],
            record["pod"],
            record["open"] and stop == until,
        )
        for start, stop, kind in pieces
        if stop > start
    ]


def _waiting(jobs: Columns, records: list[dict], end: float) -> list[Bar]:
    """Bars of jobs from submission to their first node, where that took any time."""
    first: dict[str, float] = {}
    for record in records:
        first.setdefault(record["job"], record["bound_s"])
    waits = []
    for job, submitted, ended in rows_of(jobs, "job", "submitted_s", "ended_s"):
        if submitted is None:
            continue
        bound = first.get(job)
        if bound is None and not records:
            continue  # a record without placements says nothing of waiting
        until = bound if bound is not None else (ended if ended is not None else end)
        if until - submitted > 1e-6:
            waits.append({"job": job, "bound_s": submitted, "until": until, "open": bound is None and ended is None})
    waits.sort(key=lambda wait: (wait["bound_s"], wait["job"]))
    _pack(waits)
    return [
        Bar(
            PENDING,
            wait["row"] % WAITING_ROWS,
            wait["bound_s"],
            wait["until"],
            "pending",
            wait["job"],
            "",
            wait["open"],
        )
        for wait in waits
    ]


def _arrows(records: list[dict], moves: dict, end: float) -> list[Arrow]:
    """One arrow per migration whose both ends are known."""
    by_job: dict[str, list[dict]] = defaultdict(list)
    for record in records:
        by_job[record["job"]].append(record)
    arrows = []
    for of_job in by_job.values():
        for before, after in itertools.pairwise(of_job):
            if after["migration"] is None:
                continue
            move = moves.get(after["migration"])
            start = move[1] if move and move[1] is not None else before["until"]
            arrival = after["started_s"] if after["started_s"] is not None else min(after["until"], end)
            arrows.append(
                Arrow(
                    after["job"],
                    before["node"],
                    before["row"],
                    after["node"],
                    after["row"],
                    start,
                    arrival,
                    move[2] if move else "finished",
                    (move[3] if move else "") or "",
                )
            )
    arrows.sort(key=lambda arrow: arrow.start)
    return arrows
