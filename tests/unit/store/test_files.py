"""Files that are there whole or not at all."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from backend.store.files import TEMPORARY, remove_leftovers, scratch_folder, temporary_name, write_whole
from backend.store.process import lives, process_started, this_process


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def gone() -> int:
    """The id of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_file_gets_its_name_when_it_is_written(tmp_path: Path) -> None:
    seen: list[list[str]] = []

    def write(temporary: Path) -> None:
        temporary.write_text("new")
        seen.append(names(tmp_path))

    (tmp_path / "a").write_text("old")
    write_whole(tmp_path / "a", write)
    assert (tmp_path / "a").read_text() == "new"
    assert len(seen[0]) == 2
    assert names(tmp_path) == ["a"]


def test_a_file_that_could_not_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    def fail(temporary: Path) -> None:
        temporary.write_text("half")
        raise KeyboardInterrupt

    (tmp_path / "a").write_text("old")
    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "a", fail)
    assert (names(tmp_path), (tmp_path / "a").read_text()) == (["a"], "old")


def test_a_scratch_folder_is_removed_with_what_is_in_it(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="stop"), scratch_folder(tmp_path) as scratch:
        (scratch / "a").write_text("half")
        raise ValueError("stop")
    assert names(tmp_path) == []


def test_a_temporary_name_fits_however_long_the_name_is(tmp_path: Path) -> None:
    (tmp_path / temporary_name("x" * 250)).write_text("")
    assert len(names(tmp_path)) == 1


def test_leftovers_of_a_process_that_is_gone_are_removed(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / f"{TEMPORARY}{gone()}-123-abc_x-part").write_text("half")
    (tmp_path / f"{TEMPORARY}{gone()}-123-abc_x-scratch").mkdir()
    (tmp_path / f"{TEMPORARY}of-an-older-version").mkdir()
    remove_leftovers(tmp_path)
    assert (names(tmp_path), names(tmp_path / "log")) == (["log"], [])


def test_leftovers_of_another_process_with_the_same_id_are_removed(tmp_path: Path) -> None:
    (tmp_path / f"{TEMPORARY}{os.getpid()}-1-abc_x-part").write_text("half")
    remove_leftovers(tmp_path)
    assert names(tmp_path) == []


def test_what_a_living_process_writes_is_left_alone(tmp_path: Path) -> None:
    name = temporary_name("part")
    (tmp_path / name).write_text("half")
    remove_leftovers(tmp_path)
    assert names(tmp_path) == [name]


def test_this_process_lives() -> None:
    assert lives(this_process(os.getpid()))


@pytest.mark.parametrize("text", ["", "x", "-1", "0-1", "99999999999-1", "1"])
def test_a_text_that_names_no_process_does_not_live(text: str) -> None:
    assert not lives(text)


def test_a_process_that_ended_but_was_not_waited_for_is_gone() -> None:
    process = subprocess.Popen([sys.executable, "-c", "print(1)"], stdout=subprocess.PIPE)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert process_started(process.pid) is None
    process.communicate()
