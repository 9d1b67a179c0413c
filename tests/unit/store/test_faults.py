"""What a kill, a full disk and a dead process leave in a store: one consistent state or the other."""

import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from backend.store import bundles, files, store
from backend.store.bundles import export_bundle, import_bundle
from backend.store.errors import FinishedError, UnknownError, UnusableError, is_disk_fault, unusable
from backend.store.files import write_whole
from backend.store.store import Store
from tests.unit.store.runs import add_open_run, add_run, by_hand

NOBODY = 2**22 + 1
"""More than the kernel's largest process id."""


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "store")
    yield made
    made.close()


class Killed(BaseException):
    """As if the process ended here: nothing of ours runs any more, and SQLite rolls back what is open."""


def killed_at(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, *, after: bool = False) -> None:
    real = getattr(owner, name)

    def stop(*arguments: Any, **options: Any) -> None:
        if after:
            real(*arguments, **options)
        raise Killed

    monkeypatch.setattr(owner, name, stop)


def failed_run(kept: Store) -> str:
    run = add_open_run(kept, by_hand(3))
    kept.end_run(run, "failed")
    return run


@pytest.mark.parametrize("after", [False, True], ids=["before the rename", "after it"])
def test_a_kill_while_a_run_is_queued_again_leaves_its_old_log_or_none(
    kept: Store, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    run = failed_run(kept)
    with monkeypatch.context() as patched, pytest.raises(Killed):
        killed_at(patched, Path, "rename", after=after)
        kept.reset_run(run)
    assert kept.run(run).status == "queued"
    assert kept.log_size(run) == (0 if after else len(by_hand(3)))


def test_a_run_that_could_not_be_queued_again_keeps_its_log(kept: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The transaction is rolled back at its very end: on a full disk, or by a kill."""
    run = failed_run(kept)
    before = kept.run(run)
    with monkeypatch.context() as patched, pytest.raises(Killed):
        killed_at(patched, kept._engine.dialect, "do_commit")
        kept.reset_run(run)
    assert kept.run(run) == before
    assert kept.log_size(run) == len(by_hand(3))


def test_what_could_not_be_purged_keeps_its_files(kept: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    run = add_run(kept)
    experiment = kept.run(run).experiment
    kept.delete_experiment(experiment)
    with monkeypatch.context() as patched, pytest.raises(Killed):
        killed_at(patched, kept._engine.dialect, "do_commit")
        kept.purge("2999-01-01")
    kept.undelete_experiment(experiment)
    assert list(kept.read_log(run)) == by_hand()


def test_a_kill_in_a_purge_leaves_no_row_without_files(kept: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    run = add_run(kept)
    kept.delete_experiment(kept.run(run).experiment)
    with monkeypatch.context() as patched, pytest.raises(Killed):
        killed_at(patched, Path, "rename")
        kept.purge("2999-01-01")
    with pytest.raises(UnknownError):
        kept.run(run)


def test_the_folder_of_the_runs_is_on_the_disk_before_the_rows_of_an_import(
    kept: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export_bundle(kept, [add_run(kept)], tmp_path / "x.zip")
    done: list[str] = []
    rename, commit = Path.rename, kept._engine.dialect.do_commit

    def flushed(path: Path) -> None:
        done.append(f"flush {path.name}")

    monkeypatch.setattr(bundles, "flush", flushed, raising=False)
    monkeypatch.setattr(Path, "rename", lambda *paths: (done.append("rename"), rename(*paths))[1])
    monkeypatch.setattr(kept._engine.dialect, "do_commit", lambda link: (done.append("commit"), commit(link))[1])
    import_bundle(kept, tmp_path / "x.zip")
    assert done[-3:] == ["rename", "flush runs", "commit"]


# -- owners


@pytest.mark.parametrize("end", ["end", "finish"])
def test_only_runs_of_dead_processes_count_as_abandoned(kept: Store, end: str) -> None:
    """Another process may have taken a run up since it was found to be abandoned."""
    experiment = kept.create_experiment("x", None)
    mine, other = (kept.create_run(experiment, "one", seed) for seed in (1, 2))
    kept.begin_run(other, NOBODY)
    assert kept.abandoned() == [other]
    ends: dict[str, Callable[[str], None]] = {
        "end": lambda run: kept.end_run(run, "interrupted", abandoned=True),
        "finish": lambda run: kept.finish_run(run, "interrupted", {}, {}, abandoned=True),
    }
    with pytest.raises(FinishedError, match="a process that lives"):
        ends[end](mine)
    assert kept.run(mine).status == "queued"
    ends[end](other)
    assert kept.run(other).status == "interrupted"


# -- what the disk refuses


def test_a_full_disk_is_named(kept: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.create_experiment("x", None)
    with kept._engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()

    def cramped(connection: sqlite3.Connection, *_: object) -> None:
        connection.execute(f"PRAGMA max_page_count={pages}")

    from sqlalchemy import event

    event.listen(kept._engine, "connect", cramped)
    kept._engine.dispose()
    with pytest.raises(UnusableError, match=f"the disk of the store in {kept.home} is full; make room"):
        kept.create_experiment("x", None, note="x" * 1_000_000)


def test_a_file_that_cannot_be_written_is_named_as_it_is_known(tmp_path: Path) -> None:
    def full(_: Path) -> None:
        raise OSError(28, "No space left on device")

    for path, write in ((tmp_path / "no" / "x", lambda path: path.write_bytes(b"")), (tmp_path / "x", full)):
        with pytest.raises(OSError, match=r"No s") as caught:
            write_whole(path, write)
        assert caught.value.filename == str(path)
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError) as wrong:
        write_whole(tmp_path / "folder", lambda path: path.touch())
    assert (wrong.value.filename, wrong.value.filename2) == (str(tmp_path / "folder"), None)


def test_a_reserve_takes_room_until_it_is_given_back(kept: Store) -> None:
    reserve = kept.reserve()
    assert reserve.stat().st_size == store.RESERVE_BYTES
    assert files.TEMPORARY in reserve.name  # what a killed process leaves of it is removed as all the rest is


def test_a_store_gives_back_the_room_of_its_write_ahead_log(kept: Store) -> None:
    kept.create_experiment("x", None, note="x" * 100_000)
    log = kept.home / "podshift.db-wal"
    assert log.stat().st_size > 100_000
    kept.make_room()
    assert not log.exists() or log.stat().st_size == 0
    assert kept.experiments()[1] == 1


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(28, "No space left on device"), "the disk of the store in /home/x is full; make room on it"),
        (OSError(122, "Disk quota exceeded"), "is full"),
        (OSError(30, "Read-only file system", "/home/x/runs"), "cannot be written (/home/x/runs: Read-only file"),
        (OSError(5, "Input/output error", "/home/x/runs"), "cannot be used (/home/x/runs: Input/output error)"),
    ],
)
def test_what_the_operating_system_says_has_a_way_out(error: OSError, words: str) -> None:
    assert is_disk_fault(error)
    said = str(unusable(Path("/home/x"), error))
    assert words in said
    assert "--home" in said
    assert not is_disk_fault(FileNotFoundError(2, "No such file or directory"))


def test_a_name_given_twice_is_no_damage(kept: Store) -> None:
    """A fault of ours stays one: it has a traceback in the log of the service."""
    from sqlalchemy.exc import IntegrityError

    with pytest.raises(IntegrityError), kept._write() as connection:
        connection.exec_driver_sql("INSERT INTO runs (id) VALUES ('x')")


def test_the_reserve_of_a_dead_process_is_removed(kept: Store) -> None:
    code = f"from pathlib import Path; from backend.store.store import Store; Store(Path({str(kept.home)!r})).reserve()"
    subprocess.run([sys.executable, "-c", code], check=True)
    mine = kept.reserve()
    kept.recover()
    assert list((kept.home / "runs").iterdir()) == [mine]
