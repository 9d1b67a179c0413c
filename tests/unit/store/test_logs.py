"""The log of a run on disk."""

import hashlib
from pathlib import Path

import pytest

from backend.model import events as ev
from backend.store import logs
from backend.store.errors import FinishedError, StoreError
from backend.store.logs import LogWriter, MemoryLog
from tests.unit.store.runs import by_hand, simulated

EVENTS = by_hand(3)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "log"


def write(folder: Path, events: list[ev.Event], flush_every: int = 10**9) -> LogWriter:
    writer = LogWriter(folder)
    for number, event in enumerate(events, 1):
        writer.append(event)
        if number % flush_every == 0:
            writer.flush()
    return writer


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("flush_every", [1, 4, 10**9])
def test_what_was_written_is_read(folder: Path, flush_every: int) -> None:
    write(folder, EVENTS, flush_every).close()
    assert list(logs.read(folder)) == EVENTS


def test_every_kind_of_event_of_a_simulation_is_read_as_it_was(folder: Path) -> None:
    events = simulated()
    write(folder, events, 50).close()
    assert list(logs.read(folder)) == events


@pytest.mark.parametrize("start", range(len(EVENTS) + 2))
def test_reading_from_an_event_on(folder: Path, start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "PART_EVENTS", 4)
    write(folder, EVENTS, 3).close()
    assert list(logs.read(folder, start)) == EVENTS[start:]


def test_events_that_were_not_flushed_are_not_read(folder: Path) -> None:
    write(folder, EVENTS[:5], 3)
    assert list(logs.read(folder)) == EVENTS[:3]


def test_the_size_is_what_can_be_read(folder: Path) -> None:
    assert logs.size(folder) == 0
    write(folder, EVENTS[:5], 3)
    assert logs.size(folder) == 3


def test_the_hash_is_that_of_the_json_lines(folder: Path) -> None:
    lines = b"".join(ev.encode(event) + b"\n" for event in EVENTS)
    assert write(folder, EVENTS, 4).close() == hashlib.sha256(lines).hexdigest()


def test_the_hash_is_that_of_the_log_in_memory(folder: Path) -> None:
    memory = MemoryLog()
    for event in EVENTS:
        memory.append(event)
    assert write(folder, EVENTS, 4).close() == memory.sha256


def test_the_hash_of_an_empty_log_is_that_of_nothing(folder: Path) -> None:
    assert LogWriter(folder).close() == MemoryLog().sha256 == hashlib.sha256(b"").hexdigest()


def test_many_flushes_make_one_part(folder: Path) -> None:
    write(folder, EVENTS, 1).close()
    assert names(folder) == ["part-000000000000.parquet"]


def test_a_full_part_is_followed_by_another(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "PART_EVENTS", 8)
    write(folder, EVENTS).close()
    assert names(folder) == ["part-000000000000.parquet", "part-000000000008.parquet", "part-000000000016.parquet"]


def test_a_part_is_full_as_well_when_its_events_are_large(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "PART_BYTES", 1)
    write(folder, EVENTS, 10).close()
    assert names(folder) == ["part-000000000000.parquet", "part-000000000010.parquet", "part-000000000020.parquet"]


def test_a_closed_log_takes_no_event(folder: Path) -> None:
    writer = write(folder, EVENTS)
    writer.close()
    with pytest.raises(FinishedError, match="closed"):
        writer.append(EVENTS[0])


def test_closing_twice_gives_the_same_hash(folder: Path) -> None:
    writer = write(folder, EVENTS)
    assert writer.close() == writer.close()


def test_a_log_is_not_written_over(folder: Path) -> None:
    write(folder, EVENTS).close()
    with pytest.raises(StoreError, match="holds a log already"):
        LogWriter(folder)


def test_a_log_that_may_not_be_written_any_more_stays_as_it_is(folder: Path) -> None:
    allowed = True
    writer = LogWriter(folder, lambda: allowed)
    writer.append(EVENTS[0])
    writer.flush()
    allowed = False
    writer.append(EVENTS[1])
    with pytest.raises(FinishedError, match="has ended"):
        writer.flush()
    assert list(logs.read(folder)) == EVENTS[:1]


def test_a_flush_that_failed_can_be_made_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError("no space left")

    writer = write(folder, EVENTS)
    with monkeypatch.context() as patched:
        patched.setattr(logs, "write_table", fail)
        with pytest.raises(OSError, match="no space left"):
            writer.flush()
    memory = MemoryLog()
    memory.events.extend(EVENTS)
    assert names(folder) == []
    assert writer.close() == memory.sha256
    assert list(logs.read(folder)) == EVENTS


def test_a_missing_part_is_noticed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "PART_EVENTS", 8)
    write(folder, EVENTS).close()
    (folder / "part-000000000008.parquet").unlink()
    with pytest.raises(StoreError, match="missing: that with event 8"):
        list(logs.read(folder))


def test_a_broken_part_is_a_store_error(folder: Path) -> None:
    write(folder, EVENTS).close()
    (folder / "part-000000000000.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(StoreError, match="cannot be read"):
        list(logs.read(folder))


def test_an_event_of_a_newer_version_is_a_store_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ev, "encode_lines", lambda events: b'{"kind":"of_tomorrow","time":1}\n')
    write(folder, EVENTS[:1]).close()
    with pytest.raises(StoreError, match="this version cannot read"):
        list(logs.read(folder))


def test_an_event_that_is_nested_too_deeply_is_a_store_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = b'{"kind":"run_ended","time":1,"x":' + b"[" * 9_999 + b"]" * 9_999 + b"}\n"
    monkeypatch.setattr(ev, "encode_lines", lambda events: deep)
    write(folder, EVENTS[:1]).close()
    with pytest.raises(StoreError, match="this version cannot read"):
        list(logs.read(folder))


def test_half_written_files_are_no_parts(folder: Path) -> None:
    write(folder, EVENTS).close()
    (folder / ".tmp-1-1_x-part-000000000020.parquet").write_bytes(b"half")
    (folder / "part-1.parquet").write_bytes(b"else")
    assert list(logs.read(folder)) == EVENTS


def test_a_folder_whose_name_looks_like_a_column_adds_none(tmp_path: Path) -> None:
    write(tmp_path / "event=1", EVENTS).close()
    assert list(logs.read(tmp_path / "event=1")) == EVENTS
