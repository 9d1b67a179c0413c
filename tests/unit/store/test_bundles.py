"""Bundles: runs that leave a store and come back, and files that only look like it."""

import hashlib
import json
import stat
import zipfile
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from backend.folds.summary import summarise
from backend.folds.tables import fold
from backend.model import events as ev
from backend.store import bundles
from backend.store.bundles import BundleError, export_bundle, import_bundle
from backend.store.errors import StoreError, UnknownError
from backend.store.store import Store
from tests.unit.store.runs import SPECIFICATION, add_open_run, add_run, by_hand, simulated

EVENTS = by_hand()
LOG = "runs/0/log/part-000000000000.parquet"
JOBS = "runs/0/tables/jobs.parquet"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "here")
    yield made
    made.close()


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "there")
    yield made
    made.close()


@pytest.fixture
def bundle(tmp_path: Path, store: Store) -> Path:
    path = tmp_path / "small.podshift.zip"
    export_bundle(store, [add_run(store, EVENTS)], path)
    return path


def hashes_of(store: Store) -> dict[str, str]:
    """Path -> hash of every file of a store but its database."""
    runs = store.home / "runs"
    return {
        path.relative_to(runs).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        for path in runs.rglob("*")
    }


# -- there and back


def test_a_run_comes_back_with_its_tables_its_log_and_its_row(tmp_path: Path, store: Store, other: Store) -> None:
    events = simulated()
    run = add_run(store, events, seed=7)
    export_bundle(store, [run], tmp_path / "a.zip")
    (made,) = import_bundle(other, tmp_path / "a.zip")
    assert list(other.read_log(made)) == events
    assert other.tables(made) == store.tables(run)
    same = ("arm", "seed", "status", "started_at", "ended_at", "progress", "error", "summary", "log_sha256")
    before, after = store.run(run), other.run(made)
    assert {name: getattr(after, name) for name in same} == {name: getattr(before, name) for name in same}
    assert after.source == "import"


def test_an_experiment_comes_back_with_its_specification_note_and_tags(
    tmp_path: Path, store: Store, other: Store
) -> None:
    experiment = store.create_experiment("Small", SPECIFICATION, note="a note")
    store.update_experiment(experiment, tags=["a", 'say "b"'])
    export_bundle(store, [add_run(store, experiment=experiment)], tmp_path / "a.zip")
    (run,) = import_bundle(other, tmp_path / "a.zip")
    row = other.experiment(other.run(run).experiment)
    assert (row.name, row.specification, row.note) == ("Small", SPECIFICATION, "a note")
    assert (row.tags, row.source) == (("a", 'say "b"'), "import")


def test_runs_come_back_in_their_order_and_in_their_experiments(tmp_path: Path, store: Store, other: Store) -> None:
    first, second = (store.create_experiment(name, None) for name in ("first", "second"))
    runs = [add_run(store, by_hand(n), one, seed=n) for n, one in ((1, first), (2, second), (3, first))]
    export_bundle(store, runs, tmp_path / "a.zip")
    rows = [other.run(run) for run in import_bundle(other, tmp_path / "a.zip")]
    assert [row.seed for row in rows] == [1, 2, 3]
    assert [other.experiment(row.experiment).name for row in rows] == ["first", "second", "first"]
    assert other.experiments()[1] == 2


def test_importing_twice_gives_two_copies(bundle: Path, store: Store) -> None:
    ids = [run for _ in range(2) for run in import_bundle(store, bundle)]
    assert len({*ids, store.runs()[0][-1].id}) == 3
    assert [store.tables(run) == fold(EVENTS) for run in ids] == [True, True]


def test_a_bundle_can_be_read_from_a_stream(bundle: Path, other: Store) -> None:
    (run,) = import_bundle(other, BytesIO(bundle.read_bytes()))
    assert list(other.read_log(run)) == EVENTS


def test_a_bundle_can_be_exported_again(tmp_path: Path, bundle: Path, other: Store) -> None:
    export_bundle(other, import_bundle(other, bundle), tmp_path / "again.zip")
    assert len(import_bundle(other, tmp_path / "again.zip")) == 1


def test_a_run_that_was_interrupted_comes_back_with_what_it_recorded(
    tmp_path: Path, store: Store, other: Store
) -> None:
    run = add_open_run(store, EVENTS[:9])
    store.end_run(run, "interrupted", error="why")
    export_bundle(store, [run], tmp_path / "a.zip")
    (made,) = import_bundle(other, tmp_path / "a.zip")
    row = other.run(made)
    assert (row.status, row.error, row.summary) == ("interrupted", "why", summarise(fold(EVENTS[:9])))
    assert other.tables(made) == fold(EVENTS[:9])


def test_a_run_without_events_comes_back(tmp_path: Path, store: Store, other: Store) -> None:
    run = store.create_run(store.create_experiment("x", None), "one", 1)
    store.end_run(run, "stopped")
    export_bundle(store, [run], tmp_path / "a.zip")
    (made,) = import_bundle(other, tmp_path / "a.zip")
    assert (other.log_size(made), other.tables(made) == fold([])) == (0, True)


def test_imported_files_are_in_the_manifest_of_their_run(bundle: Path, other: Store) -> None:
    (run,) = import_bundle(other, bundle)
    manifest = json.loads((other.folder(run) / "manifest.json").read_text())
    assert set(manifest["files"]) == {f"log/{Path(LOG).name}", *(f"tables/{name}.parquet" for name in fold([]))}


# -- runs that are not exported


def test_an_open_run_is_not_exported(tmp_path: Path, store: Store) -> None:
    run = add_open_run(store, EVENTS)
    with pytest.raises(StoreError, match=r"has not ended \(queued\)"):
        export_bundle(store, [run], tmp_path / "a.zip")
    assert not (tmp_path / "a.zip").exists()


def test_no_run_is_not_exported(tmp_path: Path, store: Store) -> None:
    with pytest.raises(StoreError, match="at least one run"):
        export_bundle(store, [], tmp_path / "a.zip")


def test_a_run_that_there_is_not_is_not_exported(tmp_path: Path, store: Store) -> None:
    with pytest.raises(UnknownError):
        export_bundle(store, ["no-such.run.s1"], tmp_path / "a.zip")


@pytest.mark.parametrize("file", ["log/part-000000000000.parquet", "tables/jobs.parquet"])
@pytest.mark.parametrize("harm", [lambda p: p.write_bytes(p.read_bytes() + b"x"), Path.unlink], ids=["changed", "lost"])
def test_a_run_whose_files_are_not_what_they_were_is_not_exported(
    tmp_path: Path, store: Store, file: str, harm: Callable[[Path], Any]
) -> None:
    run = add_run(store)
    harm(store.folder(run) / file)
    with pytest.raises(StoreError, match="missing or was changed"):
        export_bundle(store, [run], tmp_path / "a.zip")
    assert list(tmp_path.glob("*.zip")) == []


# -- bundles that are refused


class Forged:
    """A bundle taken apart: its members, and its manifest as values."""

    def __init__(self, path: Path) -> None:
        with zipfile.ZipFile(path) as bundle:
            self.members: dict[str, Any] = {info.filename: bundle.read(info) for info in bundle.infolist()}
        self.manifest: Any = json.loads(self.members.pop("bundle.json"))
        self.extra: list[tuple[zipfile.ZipInfo, bytes]] = []

    @property
    def run(self) -> dict[str, Any]:
        return self.manifest["runs"][0]  # type: ignore[no-any-return]

    @property
    def experiment(self) -> dict[str, Any]:
        return next(iter(self.manifest["experiments"].values()))  # type: ignore[no-any-return]

    def add(self, name: str, data: bytes) -> None:
        """A member that the manifest names with its right hash."""
        self.members[name] = data
        self.manifest["files"][name] = hashlib.sha256(data).hexdigest()

    def put(self, table: pa.Table) -> None:
        """Another log in place of the one that is there; the row says nothing of its hash."""
        out = BytesIO()
        pq.write_table(table, out, compression="zstd")
        self.add(LOG, out.getvalue())
        self.run["log_sha256"] = None

    def write(self, path: Path) -> None:
        with zipfile.ZipFile(path, "w") as bundle:
            for name, data in self.members.items():
                bundle.writestr(name, data)
            for info, data in self.extra:
                bundle.writestr(info, data)
            text = self.manifest if isinstance(self.manifest, bytes) else json.dumps(self.manifest)
            bundle.writestr("bundle.json", text)


def link() -> zipfile.ZipInfo:
    info = zipfile.ZipInfo("runs/0/tables/link.parquet")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


def lines(*texts: bytes) -> pa.Table:
    return pa.table({"event": pa.array(texts, pa.binary())})


def named(name: str) -> Callable[[Forged], None]:
    return lambda forged: forged.add(name, b"x")


def manifest(**changes: Any) -> Callable[[Forged], None]:
    return lambda forged: forged.manifest.update(changes)


def row(**changes: Any) -> Callable[[Forged], None]:
    return lambda forged: forged.run.update(changes)


def experiment(**changes: Any) -> Callable[[Forged], None]:
    return lambda forged: forged.experiment.update(changes)


def log(*texts: bytes) -> Callable[[Forged], None]:
    return lambda forged: forged.put(lines(*texts))


def replaced(**changes: Any) -> Callable[[Forged], None]:
    return lambda forged: vars(forged).update(changes)


def linked(forged: Forged) -> None:
    forged.extra.append((link(), b"/etc/passwd"))
    forged.manifest["files"]["runs/0/tables/link.parquet"] = hashlib.sha256(b"/etc/passwd").hexdigest()


def twice(forged: Forged) -> None:
    forged.extra.append((zipfile.ZipInfo(JOBS), b"x"))


def strangely_packed(forged: Forged) -> None:
    info = zipfile.ZipInfo(JOBS)
    info.compress_type = zipfile.ZIP_LZMA
    forged.extra.append((info, forged.members.pop(JOBS)))


def moved(forged: Forged) -> None:
    forged.add("runs/0/log/part-000000000005.parquet", forged.members.pop(LOG))
    del forged.manifest["files"][LOG]


def without_a_part(forged: Forged) -> None:
    del forged.members[LOG], forged.manifest["files"][LOG]


def changed(forged: Forged) -> None:
    data = bytearray(forged.members[LOG])
    data[len(data) // 2] ^= 1
    forged.members[LOG] = bytes(data)


ATTACKS: dict[str, tuple[Callable[[Forged], Any], str]] = {
    "path-upwards": (named("../../evil.parquet"), "no bundle has"),
    "path-upwards-from-within": (named("runs/0/log/../../../evil.parquet"), "no bundle has"),
    "absolute-path": (named("/tmp/evil.parquet"), "no bundle has"),
    "windows-path": (named("runs\\0\\..\\evil.parquet"), "no bundle has"),
    "another-ending": (named("runs/0/log/part-000000000000.py"), "no bundle has"),
    "newline-behind": (named("runs/0/tables/jobs.parquet\n"), "no bundle has"),
    "folder": (named("runs/0/log/"), "no bundle has"),
    "temporary-name": (named("runs/0/log/.tmp-x.parquet"), "no bundle has"),
    "file-of-no-run": (named("runs/1/tables/jobs.parquet"), "no bundle has"),
    "leading-zeros": (named("runs/00/tables/jobs.parquet"), "no bundle has"),
    "link": (linked, "no bundle has"),
    "extra-file": (lambda forged: forged.members.update({"runs/0/tables/more.parquet": b"x"}), "not those"),
    "missing-file": (lambda forged: forged.members.pop(JOBS), "not those"),
    "file-twice": (twice, "not those"),
    "strangely-packed": (strangely_packed, "packed in a way"),
    "changed-byte": (changed, "its hash differs"),
    "wrong-hash-of-a-file": (lambda forged: forged.manifest["files"].update({JOBS: "0" * 64}), "its hash differs"),
    "wrong-hash-of-the-log": (row(log_sha256="0" * 64), "not the one that was recorded"),
    "missing-log": (without_a_part, "not the one that was recorded"),
    "log-from-its-middle": (moved, "part of the log .* is missing"),
    "newer-bundle": (manifest(bundle=2), "use a newer Podshift"),
    "newer-events": (manifest(events=ev.SCHEMA_VERSION + 1), "use a newer Podshift"),
    "version-in-words": (manifest(events="one"), "use a newer Podshift"),
    "manifest-no-json": (replaced(manifest=b"{"), "not what Podshift writes"),
    "manifest-no-text": (replaced(manifest=b"\xff\xfe\xff"), "not what Podshift writes"),
    "manifest-too-deep": (replaced(manifest=b"[" * 100_000), "not what Podshift writes"),
    "manifest-a-list": (replaced(manifest=[]), "not what Podshift writes"),
    "manifest-without-runs": (lambda forged: forged.manifest.pop("runs"), "not what Podshift writes"),
    "manifest-with-no-run": (manifest(runs=[]), "holds no run"),
    "runs-a-text": (manifest(runs="x"), "not what Podshift writes"),
    "files-a-list": (manifest(files=[]), "not what Podshift writes"),
    "hash-a-number": (lambda forged: forged.manifest["files"].update({JOBS: 1}), "not what Podshift writes"),
    "open-run": (row(status="running"), "no ended run has"),
    "queued-run": (row(status="queued"), "no ended run has"),
    "unknown-status": (row(status="great"), "not what Podshift writes"),
    "arm-a-path": (row(arm="../x"), "no ended run has"),
    "arm-a-number": (row(arm=5), "not what Podshift writes"),
    "seed-a-text": (row(seed="1"), "not what Podshift writes"),
    "seed-negative": (row(seed=-1), "no ended run has"),
    "seed-huge": (row(seed=2**70), "no ended run has|not what Podshift writes"),
    "error-a-list": (row(error=[1]), "not what Podshift writes"),
    "run-of-no-experiment": (row(experiment="no-such"), "belongs to no experiment"),
    "experiment-without-name": (experiment(name=""), "name or tags that none has"),
    "experiment-with-a-long-name": (experiment(name="x" * 1000), "name or tags that none has"),
    "specification-a-text": (experiment(specification="x"), "not what Podshift writes"),
    "log-no-parquet": (lambda forged: forged.add(LOG, b"PAR1" * 100), "cannot be read"),
    "log-empty-file": (lambda forged: forged.add(LOG, b""), "cannot be read"),
    "log-of-another-table": (lambda forged: forged.put(pa.table({"x": [1]})), "cannot be read"),
    "log-of-numbers": (lambda forged: forged.put(pa.table({"event": [1]})), "not the part of a log"),
    "log-of-nulls": (log(None), "cannot be read"),  # type: ignore[arg-type]
    "log-of-no-json": (log(b"{"), "cannot be read"),
    "log-of-unknown-events": (log(b'{"kind":"evil","time":0}'), "cannot be read"),
    "log-of-wrong-types": (log(b'{"kind":"job_finished","time":"x","job":1}'), "cannot be read"),
    "log-nested-too-deeply": (
        log(b'{"kind":"run_ended","time":0,"x":' + b"[" * 9_999 + b"]" * 9_999 + b"}"),
        "cannot be read",
    ),
    "log-with-an-event-of-two-lines": (log(b'{"kind":"run_ended",\n"time":0}'), "an event of it is not one line"),
    "log-of-numbers-for-no-table": (
        log(ev.encode(ev.ImagePulled(0.0, "n1", "x", 10**30, 1.0))),
        "cannot be read",
    ),
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(("attack", "problem"), ATTACKS.values(), ids=ATTACKS.keys())
def test_a_forged_bundle_is_refused_and_leaves_nothing(
    tmp_path: Path, bundle: Path, other: Store, attack: Callable[[Forged], Any], problem: str
) -> None:
    forged = Forged(bundle)
    attack(forged)
    path = tmp_path / "forged.zip"
    forged.write(path)
    kept = add_run(other)
    before, outside = hashes_of(other), set(tmp_path.iterdir())
    with pytest.raises(BundleError, match=problem):
        import_bundle(other, path)
    assert hashes_of(other) == before
    assert set(tmp_path.iterdir()) == outside
    assert [run.id for run in other.runs()[0]] == [kept]
    assert other.experiments()[1] == 1


def test_the_bundle_that_attacks_are_made_of_is_fine_itself(tmp_path: Path, bundle: Path, other: Store) -> None:
    Forged(bundle).write(tmp_path / "forged.zip")
    assert len(import_bundle(other, tmp_path / "forged.zip")) == 1


def test_tables_that_say_what_the_log_does_not_are_made_anew(tmp_path: Path, bundle: Path, other: Store) -> None:
    forged = Forged(bundle)
    out = BytesIO()
    pq.write_table(fold(by_hand(9))["jobs"], out)
    forged.add(JOBS, out.getvalue())
    forged.run["summary"] = {"mean_completion_s": 0.001}
    forged.write(tmp_path / "forged.zip")
    (run,) = import_bundle(other, tmp_path / "forged.zip")
    assert other.tables(run) == fold(EVENTS)
    assert other.run(run).summary == summarise(fold(EVENTS))


@pytest.mark.parametrize(
    ("limit", "value", "problem"),
    [
        pytest.param("MAX_FILES", 3, "more than 3", id="many-files"),
        pytest.param("MAX_FILE_BYTES", 500, "more than a bundle may hold", id="large-file"),
        pytest.param("MAX_TOTAL_BYTES", 5_000, "more than a bundle may hold", id="large-in-total"),
        pytest.param("MAX_MANIFEST_BYTES", 100, "larger than 100 bytes", id="large-manifest"),
    ],
)
def test_a_bundle_beyond_a_limit_is_refused(
    bundle: Path, other: Store, monkeypatch: pytest.MonkeyPatch, limit: str, value: int, problem: str
) -> None:
    monkeypatch.setattr(bundles, limit, value)
    with pytest.raises(BundleError, match=problem):
        import_bundle(other, bundle)
    assert hashes_of(other) == {}


def test_a_part_that_unpacks_to_far_more_than_its_size_is_refused(
    tmp_path: Path, bundle: Path, other: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    forged = Forged(bundle)
    forged.put(lines(*[b"x" * 1_000_000] * 50))
    forged.write(tmp_path / "forged.zip")
    size = len(forged.members[LOG])
    monkeypatch.setattr(bundles, "MAX_FILE_BYTES", 1_000_000)
    assert size < 1_000_000
    with pytest.raises(BundleError, match="more than a bundle may hold"):
        import_bundle(other, tmp_path / "forged.zip")


def test_logs_that_unpack_to_too_much_together_are_refused(
    tmp_path: Path, bundle: Path, other: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each part is small enough, and so is what the zip itself unpacks to."""
    forged = Forged(bundle)
    forged.put(lines(ev.encode(ev.JobFailed(0.0, "a", "x" * 100_000))))
    for number in range(1, 50):
        forged.add(f"runs/0/log/part-{number:012d}.parquet", forged.members[LOG])
    forged.write(tmp_path / "forged.zip")
    monkeypatch.setattr(bundles, "MAX_FILE_BYTES", 200_000)
    monkeypatch.setattr(bundles, "MAX_TOTAL_BYTES", 1_000_000)
    assert sum(map(len, forged.members.values())) < 1_000_000
    with pytest.raises(BundleError, match="more than a bundle may hold"):
        import_bundle(other, tmp_path / "forged.zip")
    assert hashes_of(other) == {}


@pytest.mark.parametrize("part", [0.0, 0.01, 0.3, 0.7, 0.99, 0.9999])
def test_a_truncated_bundle_is_refused(bundle: Path, other: Store, part: float) -> None:
    data = bundle.read_bytes()
    bundle.write_bytes(data[: int(part * len(data))])
    with pytest.raises(BundleError, match="no bundle"):
        import_bundle(other, bundle)
    assert hashes_of(other) == {}


@pytest.mark.parametrize("data", [b"", b"no zip", b"PK\x03\x04" * 50, b"PK\x05\x06" + b"\xff" * 18], ids=ascii)
@pytest.mark.parametrize("stream", [False, True], ids=["path", "stream"])
def test_what_is_no_zip_is_refused(tmp_path: Path, other: Store, data: bytes, stream: bool) -> None:
    (tmp_path / "a.zip").write_bytes(data)
    with pytest.raises(BundleError, match="no bundle"):
        import_bundle(other, BytesIO(data) if stream else tmp_path / "a.zip")


def test_a_zip_without_manifest_is_refused(tmp_path: Path, other: Store) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        made.writestr("readme.txt", "hello")
    with pytest.raises(BundleError, match=r"has no bundle\.json"):
        import_bundle(other, tmp_path / "a.zip")


@pytest.mark.parametrize("place", range(0, 400, 7))
def test_a_flipped_byte_anywhere_is_refused_or_harmless(bundle: Path, other: Store, place: int) -> None:
    """Places are spread over the whole file: a fault is either found or is in what nothing is read from."""
    data = bytearray(bundle.read_bytes())
    data[place * (len(data) - 1) // 400] ^= 0x55
    try:
        (run,) = import_bundle(other, BytesIO(bytes(data)))
    except BundleError:
        assert hashes_of(other) == {}
    else:
        assert list(other.read_log(run)) == EVENTS


def test_a_disk_that_is_full_is_not_the_fault_of_the_bundle(
    bundle: Path, other: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(bundles, "_unpack", fail)
    with pytest.raises(OSError, match="No space left"):
        import_bundle(other, bundle)
    assert hashes_of(other) == {}


def test_an_import_that_cannot_be_registered_leaves_nothing(
    bundle: Path, other: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(OSError, match="No space left"):
        import_bundle(other, bundle)
    assert hashes_of(other) == {}
    assert (other.runs()[1], other.experiments()[1]) == (0, 0)
