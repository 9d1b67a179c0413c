"""Bundles: runs with specification, log and tables in one zip, checked by their hashes when they come back.

bundle.json            version, experiments (name, specification, note), runs (row), sha256 of each file
runs/<n>/log/...       parts of the log
runs/<n>/tables/...    tables
"""

import hashlib
import json
import re
import shutil
import stat
import uuid
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from backend.folds.summary import summarise
from backend.folds.tables import fold
from backend.model.events import SCHEMA_VERSION
from backend.store import logs
from backend.store.errors import StoreError
from backend.store.files import TEMPORARY, flush, sha256, write_whole
from backend.store.rows import OPEN, ExperimentRow, RunRow, RunStatus
from backend.store.store import Store

BUNDLE_VERSION = 1
MAX_FILES = 20_000
MAX_FILE_BYTES = 2 * 2**30
MAX_TOTAL_BYTES = 8 * 2**30
"""Limits of what a bundle may unpack to; the largest runs we know of are some hundred megabytes."""
MAX_MANIFEST_BYTES = 64 * 2**20
_MEMBER = re.compile(r"^runs/(\d{1,6})/(log/part-\d{6}|tables/[a-z_]{1,40})\.parquet$")
_ARM = re.compile(r"[a-z0-9]([-a-z0-9]{0,51}[a-z0-9])?")
_MANIFEST = "bundle.json"


class BundleError(StoreError):
    """A file that is no bundle, or one that must not be trusted."""


def export_bundle(store: Store, runs: Sequence[str], path: Path) -> None:
    """Write runs that have ended into a zip. Raises UnknownError, or StoreError for a run that has not ended."""
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
                for part in ("log", "tables"):
                    for file in sorted((folder / part).glob("[!.]*.parquet")):
                        name = f"runs/{number}/{part}/{file.name}"
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
    staging = store.home / "runs" / f"{TEMPORARY}{uuid.uuid4().hex}-import"
    try:
        with zipfile.ZipFile(source) as bundle:
            manifest = _read_manifest(bundle)
            _unpack(bundle, manifest["files"], staging)
        _check_contents(manifest, staging)
        return _register(store, manifest, staging)
    except zipfile.BadZipFile as error:
        raise BundleError(f"this file is no bundle: {error}") from None
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _read_manifest(bundle: zipfile.ZipFile) -> dict[str, Any]:
    try:
        info = bundle.getinfo(_MANIFEST)
    except KeyError:
        raise BundleError(f"this zip is no bundle: it has no {_MANIFEST}") from None
    with bundle.open(info) as stream:
        text = stream.read(MAX_MANIFEST_BYTES + 1)
    if len(text) > MAX_MANIFEST_BYTES:
        raise BundleError(f"{_MANIFEST} is larger than {MAX_MANIFEST_BYTES:,} bytes")
    try:
        manifest = json.loads(text)
        versions = manifest["bundle"], manifest["events"]
        files, runs, experiments = manifest["files"], manifest["runs"], manifest["experiments"]
    except (ValueError, KeyError, TypeError):
        raise BundleError(f"{_MANIFEST} is not what Podshift writes") from None
    if versions[0] != BUNDLE_VERSION or not isinstance(versions[1], int) or versions[1] > SCHEMA_VERSION:
        raise BundleError(
            f"this bundle has version {versions[0]} (events {versions[1]}); this Podshift reads bundles of version "
            f"{BUNDLE_VERSION} with events up to {SCHEMA_VERSION}: use a newer Podshift"
        )
    if not (isinstance(files, dict) and isinstance(runs, list) and isinstance(experiments, dict)):
        raise BundleError(f"{_MANIFEST} is not what Podshift writes")
    return dict(manifest)


def _unpack(bundle: zipfile.ZipFile, hashes: dict[str, str], staging: Path) -> None:
    """Unpack what the manifest names, counting what is really read: sizes in a zip's directory may lie."""
    members = [info for info in bundle.infolist() if info.filename != _MANIFEST]
    if len(members) > MAX_FILES:
        raise BundleError(f"it holds {len(members):,} files, more than {MAX_FILES:,}")
    names = [info.filename for info in members]
    if len(set(names)) != len(names) or set(names) != set(hashes):
        raise BundleError("its files are not those that its manifest names")
    total = 0
    for info in members:
        if not _MEMBER.match(info.filename) or stat.S_ISLNK(info.external_attr >> 16):
            raise BundleError(f"it holds a file that no bundle has: {info.filename[:120]!r}")
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
        if digest.hexdigest() != hashes[info.filename]:
            raise BundleError(f"{info.filename} is not the file that was exported: its hash differs")
        flush(target)


def _check_contents(manifest: dict[str, Any], staging: Path) -> None:
    """Every run has a row that makes sense, a log that can be read, and the hash the row states."""
    for number, row in enumerate(manifest["runs"]):
        try:
            run = msgspec.convert(row, RunRow)
            msgspec.convert(manifest["experiments"][run.experiment], ExperimentRow)
        except (KeyError, msgspec.ValidationError) as error:
            raise BundleError(f"run {number} of the manifest is not what Podshift writes: {error}") from None
        if run.status in OPEN or not _ARM.fullmatch(run.arm) or not 0 <= run.seed < 2**53:
            raise BundleError(f"run {number} of the manifest has an arm, a seed or a status that no ended run has")
        digest = hashlib.sha256()
        try:
            for event_line in _lines(staging / "runs" / str(number) / "log"):
                digest.update(event_line + b"\n")
            for _ in logs.read(staging / "runs" / str(number) / "log"):
                pass
        except (pa.ArrowException, OSError, KeyError) as error:
            raise BundleError(f"the log of run {number} cannot be read: {error}") from None
        if row.get("log_sha256") and digest.hexdigest() != row["log_sha256"]:
            raise BundleError(f"the log of run {number} is not the one that was recorded: its hash differs")


def _lines(folder: Path) -> Any:
    for part in logs.parts(folder):
        yield from pq.read_table(part, columns=["event"]).column("event").to_pylist()


def _register(store: Store, manifest: dict[str, Any], staging: Path) -> list[str]:
    ids: dict[str, str] = {}
    made = []
    for number, row in enumerate(manifest["runs"]):
        if row["experiment"] not in ids:
            experiment = manifest["experiments"][row["experiment"]]
            ids[row["experiment"]] = store.create_experiment(
                experiment["name"],
                experiment.get("specification"),
                source="import",
                note=str(experiment.get("note") or ""),
            )
        run = store.create_run(ids[row["experiment"]], row["arm"], row["seed"], source="import")
        staged = staging / "runs" / str(number)
        (staged / "log").mkdir(parents=True, exist_ok=True)
        staged.rename(store.folder(run))
        # Tables are folds of the log; folding them here leaves no way for a bundle to show what its log does not say.
        tables = fold(store.read_log(run))
        status: RunStatus = row["status"]
        store.finish_run(
            run, status, summarise(tables), tables, log_sha256=row.get("log_sha256"), error=row.get("error")
        )
        made.append(run)
    return made
