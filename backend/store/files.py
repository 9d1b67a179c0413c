"""Files that are there whole or not at all."""

import hashlib
import os
import shutil
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from backend.store.process import lives, this_process

TEMPORARY = ".tmp-"
"""Beginning of names of what is being written; its process is named next (`temporary_name`)."""


def temporary_name(name: str) -> str:
    """A name for what will be called `name` when it is whole. It says which process writes it: when that is gone,
    anybody may remove it."""
    return f"{TEMPORARY}{this_process(os.getpid())}_{uuid.uuid4().hex[:12]}-{name[-60:]}"


def write_whole(path: Path, write: Callable[[Path], None]) -> None:
    """Have a file written under a temporary name, flush it to disk and give it its name."""
    temporary = path.with_name(temporary_name(path.name))
    try:
        write(temporary)
        flush(temporary)
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, str(temporary)):
            # A name that nobody knows says nothing; that of the file does.
            reason = os.strerror(error.errno) if error.errno else str(error)
            raise OSError(error.errno, reason, str(path)) from error
        raise
    flush(path.parent)


@contextmanager
def scratch_folder(parent: Path) -> Iterator[Path]:
    """A folder in `parent` to prepare files in; what was not moved elsewhere is removed when the block ends."""
    temporary = parent / temporary_name("scratch")
    temporary.mkdir(parents=True)
    try:
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def flush_tree(folder: Path) -> None:
    """Have a folder with all that is in it on the disk when this returns."""
    for inner in folder.rglob("*"):
        flush(inner)
    flush(folder)


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


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table as Parquet. LZ4 takes a quarter of the time of zstd's fastest level and twice the space: logs are
    written while runs wait for it, and a run of 10,000 jobs has some megabytes."""
    pq.write_table(table, path, compression="lz4")


def read_table(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Read a table from Parquet."""
    # Opened once: read by its path, a file that is replaced meanwhile would be read half from the one, half from the
    # other. Nor does a folder called x=1 on the way to it become a column.
    with pa.OSFile(str(path)) as file:
        return pq.ParquetFile(file).read(columns)


def remove_leftovers(folder: Path) -> None:
    """Remove what processes that are gone left half-written."""
    for path in list(folder.rglob(f"{TEMPORARY}*")):
        if lives(path.name.removeprefix(TEMPORARY).partition("_")[0]):
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
