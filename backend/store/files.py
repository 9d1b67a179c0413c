"""Files that are there whole or not at all."""

import hashlib
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

TEMPORARY = ".tmp-"
"""Beginning of names of what is being written; whoever finds one after a crash may remove it."""


def write_whole(path: Path, write: Callable[[Path], None]) -> None:
    """Have a file written under a temporary name, flush it to disk and give it its name."""
    temporary = path.with_name(f"{TEMPORARY}{uuid.uuid4().hex}-{path.name}")
    try:
        write(temporary)
        flush(temporary)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    flush(path.parent)


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A temporary folder to write into that gets its name when the block ends well, and else is removed."""
    temporary = path.with_name(f"{TEMPORARY}{uuid.uuid4().hex}-{path.name}")
    temporary.mkdir(parents=True)
    try:
        yield temporary
        for inner in temporary.rglob("*"):
            flush(inner)
        flush(temporary)
        temporary.rename(path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    flush(path.parent)


def flush(path: Path) -> None:
    """Have a file or folder on the disk when this returns."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sha256(path: Path) -> str:
    """Hash of a file, as hexadecimal text."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def remove_leftovers(folder: Path) -> None:
    """Remove what a crash left half-written."""
    for path in list(folder.rglob(f"{TEMPORARY}*")):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
