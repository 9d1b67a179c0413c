"""Checkpoints: everything that a training needs to go on elsewhere as if nothing had happened.

A file is a line with a hash, a line of JSON and the numbers of all arrays. No time and no name of a node is in it:
equal states are equal files.
"""

import contextlib
import dataclasses
import errno
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from backend.training.configuration import Configuration
from backend.training.state import State

NEWEST, PREVIOUS = "checkpoint", "checkpoint.previous"
PARTIAL, DAMAGED, TRIAL = "checkpoint.partial", "checkpoint.damaged", "checkpoint.trial"
FORMAT = b"podshift-checkpoint 1 "
"""Begins a file; the number changes when files, data sets or steps change, so that an old file is not gone on with."""


class CheckpointError(Exception):
    """There are checkpoints, but they cannot be gone on with."""


class DamagedError(CheckpointError):
    """A file is not what was once written into it."""


class OtherTrainingError(CheckpointError):
    """The checkpoint is of another configuration, or of another version of Podshift."""


def encode(configuration: Configuration, state: State) -> bytes:
    """The file of a state."""
    arrays = [*state.weights, *state.velocity, state.order]
    about = {
        "configuration": dataclasses.asdict(configuration),
        "step": state.step,
        "done": state.step == configuration.steps,
        "loss": state.loss,
        "random": state.random.bit_generator.state,
        "arrays": [(_portable(array).str, array.shape) for array in arrays],
    }
    numbers = b"".join(array.astype(_portable(array)).tobytes() for array in arrays)
    body = json.dumps(about, sort_keys=True).encode() + b"\n" + numbers
    return FORMAT + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def decode(content: bytes, configuration: Configuration) -> State:
    """The state in a file. Raises DamagedError, and OtherTrainingError if it is not of that configuration."""
    first, _, body = content.partition(b"\n")
    if first.startswith(FORMAT[:-2]) and not first.startswith(FORMAT):
        raise OtherTrainingError("it was written by another version of Podshift")
    if first != FORMAT + hashlib.sha256(body).hexdigest().encode():
        raise DamagedError("it does not match its hash")
    line, _, numbers = body.partition(b"\n")
    about = json.loads(line)
    _compare(about["configuration"], configuration)
    arrays: list[Any] = []
    offset = 0
    for kind, shape in about["arrays"]:
        found = np.frombuffer(numbers, kind, int(np.prod(shape)), offset).reshape(shape)
        offset += found.nbytes
        arrays.append(found.astype(found.dtype.newbyteorder("=")))  # a copy that can be written to
    random = np.random.default_rng()
    random.bit_generator.state = about["random"]
    half = len(arrays) // 2
    return State(about["step"], about["loss"], arrays[:half], arrays[half:-1], arrays[-1], random)


def fingerprint(state: State) -> str:
    """SHA-256 of the weights, in hex: the same for the same weights, bit for bit."""
    return hashlib.sha256(b"".join(one.astype(_portable(one)).tobytes() for one in state.weights)).hexdigest()


class Checkpoints:
    """A folder with the checkpoints of one training: the newest, and the one before in case that is damaged."""

    def __init__(self, folder: Path) -> None:
        """Makes the folder. Raises OSError if it cannot be written to."""
        self._folder = folder
        self.fallback = ""
        """Why `load` took the checkpoint before the newest; empty if it did not."""
        folder.mkdir(parents=True, exist_ok=True)
        self._write(TRIAL, b"can be written")  # to be told now, and not after the first hour
        self._path(TRIAL).unlink()

    def load(self, configuration: Configuration) -> State | None:
        """The last state that was kept; None if none was. Raises CheckpointError and OSError."""
        damaged = []
        for name in (NEWEST, PREVIOUS):
            path = self._path(name)
            try:
                state = decode(path.read_bytes(), configuration)
            except FileNotFoundError:
                continue
            except DamagedError as error:
                damaged.append(f"{path} is damaged ({error})")
                continue
            except OtherTrainingError as error:
                raise OtherTrainingError(f"{path} cannot be gone on with: {error}") from None
            if damaged:
                # It would take the place of the good one when the next is written.
                self._path(NEWEST).replace(self._path(DAMAGED))
                self.fallback = damaged[0]
            return state
        if damaged:
            raise DamagedError(f"{' and '.join(damaged)}, and there is no other; remove the folder to start anew")
        return None

    def save(self, configuration: Configuration, state: State) -> None:
        """Keep a state; the last one kept becomes the one before. Whenever this is cut short, a whole one is left.

        Raises OSError, and leaves what was kept before.
        """
        self._write(PARTIAL, encode(configuration, state))
        with contextlib.suppress(FileNotFoundError):
            self._path(NEWEST).replace(self._path(PREVIOUS))
        self._path(PARTIAL).replace(self._path(NEWEST))
        handle = os.open(self._folder, os.O_RDONLY)  # the new names, too, have to outlast a power cut
        try:
            os.fsync(handle)
        except OSError as error:
            if error.errno != errno.EINVAL:  # what some network file systems say of any folder
                raise
        finally:
            os.close(handle)

    def _path(self, name: str) -> Path:
        return self._folder / name

    def _write(self, name: str, content: bytes) -> None:
        path = self._path(name)
        try:
            with path.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            with contextlib.suppress(OSError):
                path.unlink()  # it may be what fills the disk
            error.filename = error.filename or str(path)  # writing, unlike opening, does not say where
            raise


def _portable(array: Any) -> Any:
    """The type of an array, little-endian on every machine."""
    return array.dtype.newbyteorder("<")


def _compare(kept: dict[str, Any], configuration: Configuration) -> None:
    wanted = json.loads(json.dumps(dataclasses.asdict(configuration)))
    names = [name for name in wanted | kept if kept.get(name) != wanted.get(name)]
    other = [f"{name} {_shown(kept.get(name))}, not {_shown(wanted.get(name))}" for name in names]
    if other:
        raise OtherTrainingError(f"it is of a training with {'; '.join(other)}")


def _shown(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
