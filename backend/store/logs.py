"""Event logs on disk: parts of Parquet, each written whole, named after the sequence number of their first event.

A part has the columns seq, time, kind and event; event holds the event's canonical JSON, the others are for looking
things up without decoding it.
"""

import hashlib
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_args

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from backend.folds.schemas import LOG
from backend.model import events as ev
from backend.store.errors import FinishedError, StoreError
from backend.store.files import read_table, write_table, write_whole

PART_EVENTS = 10_000
"""Events of a full part. Until it is full, the last part is written again with each flush: a run that is watched for
hours is flushed four times a second and must not have a file for each."""
PART_BYTES = 8 * 2**20
"""Size of the events from which on a part counts as full as well; a report of 5,000 jobs is one event."""
PART = re.compile(r"part-[0-9]{12}\.parquet")
SCHEMA = pa.schema(
    [
        ("seq", pa.int64()),
        ("time", pa.float64()),
        ("kind", pa.dictionary(pa.int16(), pa.string())),
        ("event", pa.binary()),
    ]
)

_CODES = {kind: code for code, kind in enumerate(get_args(ev.AnyEvent))}
_KINDS = pa.array([str(kind.__struct_config__.tag) for kind in _CODES])


class MemoryLog:
    """An event log that is only kept in memory."""

    def __init__(self) -> None:
        self.events: list[ev.Event] = []
        self.append = self.events.append

    @property
    def sha256(self) -> str:
        """Hash of the log's canonical JSON lines."""
        return hashlib.sha256(ev.encode_lines(self.events)).hexdigest()


class LogWriter:
    """Appends to the log of one run. What was flushed survives any end of the process.

    `may_write` is asked before anything is written.
    """

    def __init__(self, folder: Path, may_write: Callable[[], bool] | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        if parts(folder):
            raise StoreError(f"{folder} holds a log already; a log is written once, from its beginning")
        self._folder = folder
        self._may_write = may_write
        self._buffer: list[ev.Event] = []
        self._tail: list[pa.Table] = []
        """What the last part holds, if it is not full."""
        self._tail_start = 0
        self._digest = hashlib.sha256()
        self._closed = False
        self.written = 0
        """Events on disk."""

    def append(self, event: ev.Event) -> None:
        """See EventLog. Raises FinishedError after close."""
        if self._closed:
            raise FinishedError("this log is closed; nothing can be appended to it")
        buffer = self._buffer
        buffer.append(event)
        if len(buffer) >= PART_EVENTS:
            self.flush()

    def flush(self) -> None:
        """Have all events so far on disk, for readers and against crashes. Raises FinishedError if the run has ended
        meanwhile."""
        if not self._buffer:
            return
        if self._may_write is not None and not self._may_write():
            raise FinishedError("this run has ended; its log does not change any more")
        lines = ev.encode_lines(self._buffer)
        tail = [*self._tail, _part(self._buffer, lines, self.written)]
        table = pa.concat_tables(tail)
        write_whole(_path(self._folder, self._tail_start), lambda temporary: write_table(table, temporary))
        self._digest.update(lines)
        self.written += len(self._buffer)
        self._buffer.clear()
        if table.num_rows >= PART_EVENTS or table.nbytes >= PART_BYTES:
            self._tail, self._tail_start = [], self.written
        else:
            self._tail = tail

    def close(self) -> str:
        """Flush and end; the hash of the whole log's canonical JSON lines."""
        self.flush()
        self._closed = True
        return self._digest.hexdigest()


def _part(events: list[ev.Event], lines: bytes, start: int) -> pa.Table:
    """The columns of SCHEMA, made by array: by list, this would take longer than the encoding."""
    count = len(events)
    codes = np.array([_CODES[type(event)] for event in events], np.int16)
    columns = [
        pa.array(np.arange(start, start + count)),
        pa.array(np.array([event.time for event in events], np.float64)),
        pa.DictionaryArray.from_arrays(pa.array(codes), _KINDS),
        _without_line_feeds(lines, count),
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def _without_line_feeds(lines: bytes, count: int) -> pa.Array:
    """Each line as a value; JSON writes a line feed inside a text as an escape, so each one here ends a line."""
    ends = (np.frombuffer(lines, np.uint8) == ord("\n")).nonzero()[0]
    offsets = np.zeros(count + 1, np.int32)
    offsets[1:] = ends - np.arange(count)
    values = pa.py_buffer(lines.replace(b"\n", b""))
    return pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(offsets), values])


def _path(folder: Path, start: int) -> Path:
    return folder / f"part-{start:012d}.parquet"


def parts(folder: Path) -> list[tuple[int, Path]]:
    """The parts of a log that are complete, in order, with the sequence number that each starts with."""
    if not folder.is_dir():
        return []
    return sorted((int(path.stem[5:]), path) for path in folder.glob("part-*.parquet") if PART.fullmatch(path.name))


def read(folder: Path, start: int = 0) -> Iterator[ev.Event]:
    """Events from sequence number `start` on, of all parts that are complete. Raises StoreError for a broken log."""
    for line in read_lines(folder, start):
        yield _decoded(line, folder)


def _decoded(line: bytes, folder: Path) -> ev.Event:
    try:
        return ev.decode(line)
    except (msgspec.DecodeError, RecursionError) as error:
        raise StoreError(f"{folder} holds an event that this version cannot read: {error}") from error


def read_lines(folder: Path, start: int = 0) -> Iterator[bytes]:
    """Events from sequence number `start` on as canonical JSON. Raises StoreError for a broken log."""
    complete = parts(folder)
    begin = max(0, bisect_right(complete, start, key=lambda part: part[0]) - 1)
    following = complete[begin][0] if begin else 0
    for first, path in complete[begin:]:
        if first != following:
            raise StoreError(f"a part of the log in {folder} is missing: that with event {following}")
        try:
            column = read_table(path, ["event"]).column("event")
        except (pa.ArrowException, KeyError, OSError) as error:
            raise StoreError(f"{path} cannot be read: {error}") from error
        yield from column.slice(max(0, start - first)).to_pylist()
        following = first + len(column)


def table(folder: Path) -> pa.Table:
    """The complete parts as one table with the columns of LOG. Raises StoreError for a broken log."""
    lines = list(read_lines(folder))
    # Of the events, not of the parts' own columns: those of an imported part are only somebody's word.
    events = [_decoded(line, folder) for line in lines]
    columns = [
        pa.array(range(len(lines)), pa.int64()),
        pa.array([event.time for event in events], pa.float64()),
        pa.array([ev.kind(event) for event in events], pa.string()),
        pa.array([line.decode() for line in lines], pa.string()),
    ]
    return pa.Table.from_arrays(columns, schema=LOG)


def size(folder: Path) -> int:
    """Events in the complete parts."""
    complete = parts(folder)
    return complete[-1][0] + int(pq.read_metadata(complete[-1][1]).num_rows) if complete else 0
