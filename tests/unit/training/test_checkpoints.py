"""Checkpoints: what is written comes back, and what is damaged or of something else is not gone on with."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from backend.training import data
from backend.training import state as st
from backend.training.checkpoints import (
    DAMAGED,
    NEWEST,
    PARTIAL,
    PREVIOUS,
    Checkpoints,
    DamagedError,
    OtherTrainingError,
    encode,
    fingerprint,
)
from backend.training.configuration import Configuration

SMALL = Configuration(steps=40, samples=100, features=3, hidden=(5,), seed=7)


def after(steps: int) -> st.State:
    state = st.start(SMALL)
    go_on(state, steps)
    return state


def go_on(state: st.State, steps: int) -> None:
    training = data.make(SMALL).training
    for _ in range(steps):
        st.advance(state, SMALL, training)


@pytest.fixture
def checkpoints(tmp_path: Path) -> Checkpoints:
    """Two are kept: of step 7 and, the newest, of step 9."""
    found = Checkpoints(tmp_path)
    found.save(SMALL, after(7))
    found.save(SMALL, after(9))
    return found


def test_nothing_is_kept_at_first(tmp_path: Path) -> None:
    assert Checkpoints(tmp_path / "new" / "folder").load(SMALL) is None


def test_the_newest_is_taken_and_nothing_of_it_is_lost(checkpoints: Checkpoints) -> None:
    loaded = checkpoints.load(SMALL)
    assert loaded is not None
    assert encode(SMALL, loaded) == encode(SMALL, after(9))
    go_on(loaded, 20)
    assert encode(SMALL, loaded) == encode(SMALL, after(29))


def test_the_last_step_is_marked(checkpoints: Checkpoints, tmp_path: Path) -> None:
    assert b'"done": false' in (tmp_path / NEWEST).read_bytes()
    checkpoints.save(SMALL, after(40))
    assert b'"done": true' in (tmp_path / NEWEST).read_bytes()


def _cut(content: bytes) -> bytes:
    return content[:-1]


def _flipped(content: bytes) -> bytes:
    return content[:-9] + bytes([content[-9] ^ 1]) + content[-8:]


def _empty(content: bytes) -> bytes:
    return b""


@pytest.mark.parametrize("damage", [_cut, _flipped, _empty])
def test_where_the_newest_is_damaged_the_one_before_is_taken(
    checkpoints: Checkpoints, tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    (tmp_path / NEWEST).write_bytes(damage((tmp_path / NEWEST).read_bytes()))
    loaded = checkpoints.load(SMALL)
    assert loaded is not None
    assert loaded.step == 7
    assert checkpoints.fallback == f"{tmp_path / NEWEST} is damaged (it does not match its hash)"


def test_a_damaged_one_does_not_take_the_place_of_the_good_one(checkpoints: Checkpoints, tmp_path: Path) -> None:
    (tmp_path / NEWEST).write_bytes(b"?")
    checkpoints.load(SMALL)
    checkpoints.save(SMALL, after(8))
    assert (tmp_path / DAMAGED).read_bytes() == b"?"
    assert (tmp_path / PREVIOUS).read_bytes() == encode(SMALL, after(7))


def test_killed_between_the_two_renames(checkpoints: Checkpoints, tmp_path: Path) -> None:
    (tmp_path / NEWEST).replace(tmp_path / PREVIOUS)
    loaded = Checkpoints(tmp_path).load(SMALL)
    assert loaded is not None
    assert loaded.step == 9


def test_all_are_damaged(checkpoints: Checkpoints, tmp_path: Path) -> None:
    for name in (NEWEST, PREVIOUS):
        (tmp_path / name).write_bytes(b"?")
    with pytest.raises(DamagedError, match=r"checkpoint is damaged .* and .*previous is damaged .* remove the folder"):
        checkpoints.load(SMALL)


def test_another_configuration_is_refused_and_the_difference_named(checkpoints: Checkpoints) -> None:
    other = Configuration(steps=40, samples=100, features=3, hidden=(5, 6), seed=8)
    with pytest.raises(OtherTrainingError, match=r"with seed 7, not 8; hidden 5, not 5,6$"):
        checkpoints.load(other)


def test_another_version_is_refused(checkpoints: Checkpoints, tmp_path: Path) -> None:
    (tmp_path / NEWEST).write_bytes(b"podshift-checkpoint 2 abc\n{}\n")
    with pytest.raises(OtherTrainingError, match="another version"):
        checkpoints.load(SMALL)


def test_a_full_disk_leaves_what_was_kept(
    checkpoints: Checkpoints, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=rf"No space left on device.*{PARTIAL}"):
        checkpoints.save(SMALL, after(10))
    assert sorted(path.name for path in tmp_path.iterdir()) == [NEWEST, PREVIOUS]
    assert (tmp_path / NEWEST).read_bytes() == encode(SMALL, after(9))


def test_the_fingerprint_is_of_the_weights() -> None:
    assert fingerprint(after(3)) == fingerprint(after(3)) != fingerprint(after(4))
