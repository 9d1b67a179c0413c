"""Bundles: runs with specification, log and tables in one zip, checked by their hashes when they come back.

bundle.json            version, experiments (name, specification, note), runs (row), sha256 of each file
runs/<n>/log/...       parts of the log
runs/<n>/tables/...    tables
"""

import errno
import hashlib
import json
import re
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from backend.folds.summary import summarise
from backend.folds.tables import Fold
from backend.model.events import SCHEMA_VERSION, decode
from backend.store import logs
from backend.store.errors import StoreError
from backend.store.files import flush, flush_tree, scratch_folder, sha256, write_whole
from backend.store.rows import OPEN, ExperimentRow, RunRow
from backend.store.store import Store, check_manifest, write_manifest, write_tables

BUNDLE_VERSION = 1
MAX_FILES = 20_000
MAX_FILE_BYTES = 2 * 2**30
MAX_TOTAL_BYTES = 8 * 2**30
"""Limits of what a bundle may unpack to; the largest runs we know of are some hundred megabytes."""
MAX_MANIFEST_BYTES = 64 * 2**20
MAX_NAME = 200
MAX_TAGS = 100
MAX_SEED = 2**53 - 1
"""As specifications have it: what a JavaScript number can hold."""
_MEMBER = re.compile(r"runs/(0|[1-9][0-9]{0,5})/(log/part-[0-9]{12}|tables/[a-z_]{1,40})\.parquet")
_ARM = re.compile(r"[a-z0-9]([-a-z0-9]{0,51}[a-z0-9])?")
_MANIFEST = "bundle.json"
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, struct.error, OSError)
"""What zipfile raises for files that are no zip, or one that is damaged, encrypted or made to confuse it."""
_UNREADABLE = (
    pa.ArrowException,
    OSError,
    LookupError,
    ValueError,
    OverflowError,
    RecursionError,
    TypeError,
    StoreError,
)
"""What a file raises that is no log, or one that holds no events, or ones nested too deeply, or numbers that no table
can hold."""


class BundleError(StoreError):
    """A file that is no bundle, or one that must not be trusted."""


class _Manifest(msgspec.Struct):
    experiments: dict[str, ExperimentRow]
    runs: list[RunRow]
    files: dict[str, str]
    """Name in the zip -> sha256."""


def export_bundle(store: Store, runs: Sequence[str], path: Path) -> None:
    """Write runs that have ended into a zip.

    Raises UnknownError, and StoreError for a run that has not ended or whose files are not what they were at its end.
    """
    rows = [store.run(run) for run in dict.fromkeys(runs)]
    if not rows:
        raise StoreError("a bundle needs at least one run")
    for row in rows:
        if row.status in OPEN:
            raise StoreError(f"run '{row.id}' has not ended ({row.status}); stop it or wait, then export it")
    experiments = {row.experiment: store.experiment(row.experiment) for row in rows}
    hashes: dict[str, str] = {}

    def write(temporary: Path) -> None:
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as bundle:
            for number, row in enumerate(rows):
                folder = store.folder(row.id)
                check_manifest(folder)
                files = [path for _, path in logs.parts(folder / "log")]
                files += sorted((folder / "tables").glob("[!.]*.parquet"))
                for file in files:
                    name = f"runs/{number}/{file.parent.name}/{file.name}"
                    hashes[name] = sha256(file)
                    bundle.write(file, name)
            manifest = {
                "bundle": BUNDLE_VERSION,
                "events": SCHEMA_VERSION,
                "experiments": {name: msgspec.to_builtins(row) for name, row in experiments.items()},
                "runs": [msgspec.to_builtins(row) for row in rows],
                "files": hashes,
            }
            bundle.writestr(_MANIFEST, json.dumps(manifest, indent=1, sort_keys=True))

    write_whole(path, write)


def import_bundle(store: Store, source: Path | BinaryIO) -> list[str]:
    """The ids that the runs of a bundle get here; nothing is kept if anything about it is wrong. Raises BundleError.

    Runs keep their status and their numbers; they get ids of their own, so importing twice gives two copies.
    """
    with scratch_folder(store.home / "runs") as staging:
        try:
            with zipfile.ZipFile(source) as bundle:
                manifest = _read_manifest(bundle)
                _unpack(bundle, manifest, staging)
        except _DAMAGE as error:
            if isinstance(error, OSError) and error.errno != errno.EINVAL:
                raise  # says nothing of the bundle: no space left on the disk, for instance
            raise BundleError(f"this file is no bundle, or a damaged one: {error}") from None
        unpacked = 0
        for number, run in enumerate(manifest.runs):
            folder = staging / "runs" / str(number)
            unpacked = _check_size(number, folder / "log", unpacked)
            manifest.runs[number] = _refold(number, run, folder)
        flush_tree(staging)
        return _register(store, manifest, staging)


def _read_manifest(bundle: zipfile.ZipFile) -> _Manifest:
    try:
        info = bundle.getinfo(_MANIFEST)
    except KeyError:
        raise BundleError(f"this zip is no bundle: it has no {_MANIFEST}") from None
    with bundle.open(info) as stream:
        text = stream.read(MAX_MANIFEST_BYTES + 1)
    if len(text) > MAX_MANIFEST_BYTES:
        raise BundleError(f"{_MANIFEST} is larger than {MAX_MANIFEST_BYTES:,} bytes")
    try:
        written = json.loads(text)
        version, events = written["bundle"], written["events"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise BundleError(f"{_MANIFEST} is not what Podshift writes") from None
    if version != BUNDLE_VERSION or not isinstance(events, int) or events > SCHEMA_VERSION:
        raise BundleError(
            f"this bundle has version {version!s:.20} (events {events!s:.20}); this Podshift reads bundles of version "
            f"{BUNDLE_VERSION} with events up to {SCHEMA_VERSION}: use a newer Podshift"
        )
    try:
        manifest = msgspec.convert(written, _Manifest)
    except msgspec.ValidationError as error:
        raise BundleError(f"{_MANIFEST} is not what Podshift writes: {error}") from None
    _check_rows(manifest)
    return manifest


def _check_rows(manifest: _Manifest) -> None:
    if not manifest.runs:
        raise BundleError("it holds no run")
    for experiment in manifest.experiments.values():
        if not 0 < len(experiment.name) <= MAX_NAME or len(experiment.tags) > MAX_TAGS:
            raise BundleError("an experiment of the manifest has a name or tags that none has")
    for number, run in enumerate(manifest.runs):
        if run.experiment not in manifest.experiments:
            raise BundleError(f"run {number} of the manifest belongs to no experiment")
        if run.status in OPEN or not _ARM.fullmatch(run.arm) or not 0 <= run.seed <= MAX_SEED:
            raise BundleError(f"run {number} of the manifest has an arm, a seed or a status that no ended run has")


def _unpack(bundle: zipfile.ZipFile, manifest: _Manifest, staging: Path) -> None:
    """Unpack what the manifest names, counting what is really read: sizes in a zip's directory may lie."""
    members = [info for info in bundle.infolist() if info.filename != _MANIFEST]
    if len(members) > MAX_FILES:
        raise BundleError(f"it holds {len(members):,} files, more than {MAX_FILES:,}")
    names = [info.filename for info in members]
    if len(set(names)) != len(names) or set(names) != set(manifest.files):
        raise BundleError("its files are not those that its manifest names")
    total = 0
    for info in members:
        member = _MEMBER.fullmatch(info.filename)
        if member is None or int(member[1]) >= len(manifest.runs) or stat.S_ISLNK(info.external_attr >> 16):
            raise BundleError(f"it holds a file that no bundle has: {info.filename[:120]!r}")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise BundleError(f"{info.filename} is packed in a way that Podshift does not use")
        target = staging / info.filename
        target.parent.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256()
        size = 0
        with bundle.open(info) as stream, target.open("wb") as out:
            while block := stream.read(2**20):
                size += len(block)
                total += len(block)
                if size > MAX_FILE_BYTES or total > MAX_TOTAL_BYTES:
                    raise BundleError("it unpacks to more than a bundle may hold")
                digest.update(block)
                out.write(block)
        if digest.hexdigest() != manifest.files[info.filename]:
            raise BundleError(f"{info.filename} is not the file that was exported: its hash differs")


def _refold(number: int, run: RunRow, folder: Path) -> RunRow:
    """The row of an unpacked run with the numbers of its log, which is checked on the way; writes the run's tables.

    Tables are folds of the log; folding them here leaves no way for a bundle to show what its log does not say.
    """
    log = folder / "log"
    log.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    folded = Fold()
    try:
        for line in logs.read_lines(log):
            if b"\n" in line:
                # The hash is that of lines: with such an event, two different logs would have the same.
                raise BundleError(f"the log of run {number} cannot be read: an event of it is not one line")
            digest.update(line + b"\n")
            folded.add(decode(line))
        tables = folded.tables()
        summary = summarise(tables)
    except BundleError:
        raise
    except _UNREADABLE as error:
        raise BundleError(f"the log of run {number} cannot be read: {error}") from None
    if run.log_sha256 is not None and digest.hexdigest() != run.log_sha256:
        raise BundleError(f"the log of run {number} is not the one that was recorded: its hash differs")
    shutil.rmtree(folder / "tables", ignore_errors=True)
    write_tables(folder / "tables", tables)
    write_manifest(folder, log, run.log_sha256)
    return msgspec.structs.replace(run, summary=summary)


def _check_size(number: int, log: Path, total: int) -> int:
    """`total`, which is what the logs before this one unpack to, with what this one does. Raises BundleError.

    Parts are read in small pieces: a few bytes of Parquet can stand for many times the memory of this machine.
    """
    try:
        for _, path in logs.parts(log):
            size = 0
            with pq.ParquetFile(path) as part:
                if part.schema_arrow.field("event").type != logs.SCHEMA.field("event").type:
                    raise BundleError(f"{path.name} is not the part of a log")
                for batch in part.iter_batches(batch_size=256, columns=["event"]):
                    size += batch.nbytes
                    total += batch.nbytes
                    if size > MAX_FILE_BYTES or total > MAX_TOTAL_BYTES:
                        raise BundleError("it unpacks to more than a bundle may hold")
    except BundleError:
        raise
    except _UNREADABLE as error:
        raise BundleError(f"the log of run {number} cannot be read: {error}") from None
    return total


def _register(store: Store, manifest: _Manifest, staging: Path) -> list[str]:
    grouped: dict[str, list[int]] = {}
    for number, run in enumerate(manifest.runs):
        grouped.setdefault(run.experiment, []).append(number)
    order = [number for numbers in grouped.values() for number in numbers]

    def place(ids: Sequence[str]) -> None:
        for number, run in zip(order, ids, strict=True):
            (staging / "runs" / str(number)).rename(store.folder(run))
        flush(store.home / "runs")

    ids = store.add_ended(
        [(manifest.experiments[name], [manifest.runs[number] for number in group]) for name, group in grouped.items()],
        place,
    )
    return [run for _, run in sorted(zip(order, ids, strict=True))]
