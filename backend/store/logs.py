"""Event logs on disk: parts of Parquet, each written whole, read in the order of their numbers.

A part has the columns seq, time, kind and event; event holds the event's canonical JSON, the others are for looking
things up without decoding it.
"""

import hashlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from backend.model import events as ev
from backend.store.errors import FinishedError, StoreError
from backend.store.files import TEMPORARY, write_whole

PART_EVENTS = 10_000
"""Events after which a part is written even if nobody asks for a flush; a report of 5,000 jobs is one event."""
SCHEMA = pa.schema(
    [
        ("seq", pa.int64()),
        ("time", pa.float64()),
        ("kind", pa.dictionary(pa.int16(), pa.string())),
        ("event", pa.binary()),
    ]
)


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
    """Appends to the log of one run. What was flushed survives any end of the process."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        if parts(folder):
            raise StoreError(f"{folder} holds a log already; a log is written once, from its beginning")
        self._folder = folder
        self._buffer: list[ev.Event] = []
        self._part = 0
        self._digest = hashlib.sha256()
        self._closed = False
        self.written = 0
        """Events on disk."""

    def append(self, event: ev.Event) -> None:
        """See EventLog. Raises FinishedError after close."""
        self._buffer.append(event)
        if len(self._buffer) >= PART_EVENTS:
            self.flush()

    def flush(self) -> None:
        """Have all events so far on disk, for readers and against crashes."""
        if not self._buffer:
            return
        if self._closed:
            raise FinishedError("this log is closed; nothing can be appended to it")
        events = self._buffer
        lines = ev.encode_lines(events)
        self._digest.update(lines)
        encoded = lines[:-1].split(b"\n")
        table = pa.Table.from_arrays(
            [
                pa.array(range(self.written, self.written + len(events)), pa.int64()),
                pa.array([event.time for event in events], pa.float64()),
                pa.array([type(event).__struct_config__.tag for event in events])
                .dictionary_encode()
                .cast(SCHEMA[2].type),
                pa.array(encoded, pa.binary()),
            ],
            schema=SCHEMA,
        )
        path = self._folder / f"part-{self._part:06d}.parquet"
        write_whole(path, lambda temporary: pq.write_table(table, temporary, compression="zstd", compression_level=1))
        self._part += 1
        self.written += len(events)
        self._buffer.clear()

    def close(self) -> str:
        """Flush and end; the hash of the whole log's canonical JSON lines."""
        self.flush()
        self._closed = True
        return self._digest.hexdigest()


def parts(folder: Path) -> list[Path]:
    """The parts of a log that are complete, in order."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.glob("part-*.parquet") if not path.name.startswith(TEMPORARY))


def read(folder: Path, start: int = 0) -> Iterator[ev.Event]:
    """Events from sequence number `start` on, of all parts that are complete. Raises StoreError for a broken part."""
    for path, first, rows in index(folder):
        if first + rows <= start:
            continue
        column = pq.read_table(path, columns=["event"]).column("event")
        for line in column.slice(max(0, start - first)).to_pylist():
            try:
                yield ev.decode(line)
            except msgspec.DecodeError as error:
                raise StoreError(
                    f"{path.name} of this log holds an event that this version cannot read: {error}"
                ) from error


def size(folder: Path) -> int:
    """Events in the complete parts."""
    return sum(rows for _, _, rows in index(folder))


@lru_cache(maxsize=10_000)  # Parts never change; a run watched for an hour has thousands, and is looked at each second.
def _rows(path: Path, _written_ns: int) -> int:
    return int(pq.read_metadata(path).num_rows)


def index(folder: Path) -> Iterator[tuple[Path, int, int]]:
    """Path, first sequence number and rows of each complete part."""
    first = 0
    for path in parts(folder):
        rows = _rows(path, path.stat().st_mtime_ns)
        yield path, first, rows
        first += rows
