"""A store that cannot be used and an output that cannot be written: one sentence, exit code 1, never a traceback."""

import contextlib
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest
from click.testing import Result

from backend.experiments import runner
from backend.store.store import Store
from tests.api.conditions import PATIENCE_S, specification, wait_until

Podshift = Callable[..., Result]

COMMANDS = {
    "runs": ["runs"],
    "run": ["run", "{spec}"],
    "compare": ["compare", "a", "b"],
    "export": ["export", "a"],
    "serve": ["serve", "--port", "0"],
}


def command(*arguments: str, stdout: IO[str] | int = subprocess.PIPE, **environment: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of `podshift` as a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "backend.cli", *arguments],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        env={**os.environ, **environment},
    )
    return done.returncode, done.stdout or "", done.stderr


def assert_one_sentence(err: str, *words: str) -> None:
    assert re.fullmatch(r"Error: [^\n]+\.\n", err), err
    for word in words:
        assert word in err


def garbage(home: Path) -> None:
    home.mkdir()
    (home / "podshift.db").write_bytes(bytes(range(256)) * 32)


def damaged_inside(home: Path) -> None:
    """As after a fault of the disk: the beginning of the file is fine."""
    Store(home).close()
    database = home / "podshift.db"
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = database.read_bytes()
    database.write_bytes(content[:4096] + bytes(index * 7 % 251 for index in range(len(content) - 4096)))


@pytest.mark.parametrize("damage", [garbage, damaged_inside])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_damaged_database(
    podshift: Podshift, spec: Path, tmp_path: Path, damage: Callable[[Path], None], name: str
) -> None:
    home = tmp_path / "home"
    damage(home)
    result = podshift(*(part.format(spec=spec) for part in COMMANDS[name]), "--home", str(home))
    assert (result.exit_code, result.stdout) == (1, "")
    assert_one_sentence(result.stderr, f"{home}/podshift.db is damaged", "move it away")


def test_up_with_a_damaged_database_prints_no_address(tmp_path: Path) -> None:
    home = tmp_path / "home"
    garbage(home)
    ports = ("--port", "0", "--backend-port", "0", "--no-browser")
    code, out, err = command("up", *ports, "--home", str(home))
    assert (code, out) == (1, "")
    assert_one_sentence(err, f"{home}/podshift.db is damaged")


@pytest.fixture
def sealed(tmp_path: Path) -> Iterator[Path]:
    """A folder that nobody may write, not even root."""
    folder = tmp_path / "sealed"
    folder.mkdir()
    if os.geteuid() != 0:
        folder.chmod(0o500)
        yield folder
        folder.chmod(0o700)
        return
    mount = shutil.which("mount")
    if mount is None or subprocess.run([mount, "-t", "tmpfs", "-o", "ro", "tmpfs", folder], check=False).returncode:
        pytest.skip("root writes everywhere, and nothing can be mounted here")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_folder_that_may_not_be_written(podshift: Podshift, spec: Path, sealed: Path, name: str) -> None:
    result = podshift(*(part.format(spec=spec) for part in COMMANDS[name]), "--home", str(sealed))
    assert (result.exit_code, result.stdout) == (1, "")
    assert_one_sentence(result.stderr, f"the store in {sealed} cannot be written", "--home")


def test_a_database_that_may_not_be_written(
    podshift: Podshift, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(connection: sqlite3.Connection, _: object) -> None:
        connection.isolation_level = None
        connection.execute("PRAGMA query_only=ON")

    monkeypatch.setattr("backend.store.schema._prepare_sqlite", refuse)
    result = podshift("runs", "--home", str(tmp_path))
    assert (result.exit_code, result.stdout) == (1, "")
    assert_one_sentence(result.stderr, f"{tmp_path}/podshift.db: attempt to write a readonly database")


# -- a full disk


def test_a_disk_that_is_full_ends_the_command_and_fails_its_runs(spec: Path, tmp_path: Path) -> None:
    """In the workers no part of a log, no table and no manifest can be written; nor can they in the command itself."""
    patches = tmp_path / "patches"
    patches.mkdir()
    (patches / "sitecustomize.py").write_text(
        "import errno, os\n"
        "real = os.fsync\n"
        "def full(descriptor):\n"
        "    if '/runs/' in os.readlink(f'/proc/self/fd/{descriptor}'):\n"
        "        raise OSError(errno.ENOSPC, 'No space left on device')\n"
        "    real(descriptor)\n"
        "os.fsync = full\n"
    )
    home = tmp_path / "home"
    code, out, err = command("run", str(spec), "--home", str(home), PYTHONPATH=f"{patches}:{Path.cwd()}")
    assert code == 1
    assert_one_sentence(err, f"the disk of the store in {home} is full", "make room")
    assert [line.split()[1] for line in out.splitlines()[1:]] == ["failed", "failed"]
    store = Store(home)
    rows = store.runs()[0]
    assert {row.status for row in rows} == {"failed"}
    assert str(rows[-1].error).startswith(f"The disk of the store in {home} is full")
    assert list(home.rglob(".tmp-*")) == []


def test_a_run_whose_end_cannot_be_recorded_does_not_keep_the_command_waiting(
    podshift: Podshift, spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(runner, "WorkerProcess", full)
    monkeypatch.setattr(Store, "finish_run", full)
    monkeypatch.setattr(Store, "end_run", full)
    result = podshift("run", str(spec), "--home", str(tmp_path))
    assert result.exit_code == 1
    assert [line.split()[1] for line in result.stdout.splitlines()[1:]] == ["failed", "failed"]
    assert_one_sentence(result.stderr.splitlines(keepends=True)[-1], "2 of the runs could not even be marked as failed")


# -- the output

NO_ROOM = "what was printed could not be written: No space left on device"


@pytest.mark.parametrize("unbuffered", ["1", ""], ids=["unbuffered", "buffered"])
@pytest.mark.parametrize("arguments", [["run", "{spec}"], ["runs", "--json"], ["--help"], ["run", "--help"]], ids=str)
def test_an_output_without_room(spec: Path, tmp_path: Path, arguments: list[str], unbuffered: str) -> None:
    with Path("/dev/full").open("w") as full:
        code, _, err = command(
            *(part.format(spec=spec) for part in arguments),
            stdout=full,
            PODSHIFT_HOME=str(tmp_path),
            PYTHONUNBUFFERED=unbuffered,
        )
    assert code == 1
    assert_one_sentence(err, NO_ROOM)


def test_what_an_import_prints_without_room_is_not_its_fault(tmp_path: Path) -> None:
    file = Path(__file__).parents[2] / "data" / "specon_migration_log.csv"
    with Path("/dev/full").open("w") as full:
        code, _, err = command("import", str(file), stdout=full, PODSHIFT_HOME=str(tmp_path))
    assert code == 1
    assert_one_sentence(err, NO_ROOM)


def test_a_reader_that_went_away_ends_the_command_quietly(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as broken:
        code, _, err = command("runs", "--json", stdout=broken, PODSHIFT_HOME=str(tmp_path))
    assert (code, err) == (1, "")


# -- runs of processes that are gone


@pytest.mark.parametrize("then", ["runs", "run"])
def test_runs_of_a_killed_command_are_interrupted_and_those_of_a_living_one_are_not(
    podshift: Podshift, spec: Path, tmp_path: Path, then: str
) -> None:
    slow = tmp_path / "slow.yaml"
    slow.write_text(specification("slow", speed=10))
    home = tmp_path / "home"
    arguments = [sys.executable, "-m", "backend.cli", "run", str(slow), "--paced", "--home", str(home)]
    with subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        store = wait_until(lambda: home.exists() and Store(home))
        run = wait_until(lambda: [row.id for row in store.runs()[0] if row.status == "running"])[0]
        wait_until(lambda: store.log_size(run) > 0)
        assert podshift("runs", "--home", str(home)).exit_code == 0
        assert [row.status for row in store.runs()[0]] == ["queued", "running"]
        process.send_signal(signal.SIGKILL)
    arguments = ["runs"] if then == "runs" else ["run", str(spec)]
    result = podshift(*arguments, "--home", str(home))
    assert result.exit_code == 0
    killed = [row for row in store.runs()[0] if row.id.startswith("slow-")]
    assert [row.status for row in killed] == ["interrupted", "interrupted"]
    assert (then == "run") or result.stdout.count("interrupted") == 2
    assert store.log_size(run) > 0
