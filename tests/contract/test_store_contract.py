"""What every store keeps to, run over every database. PostgreSQL is tested if PODSHIFT_TEST_POSTGRES holds its URL,
of a database that may be emptied."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine

from backend.folds.schemas import LOG
from backend.folds.summary import summarise
from backend.folds.tables import fold
from backend.model import events as ev
from backend.store.catalogue import now
from backend.store.errors import FinishedError, StoreError, UnknownError
from backend.store.logs import MemoryLog
from backend.store.rows import RunProgress
from backend.store.schema import metadata
from backend.store.store import Store
from tests.unit.store.runs import SPECIFICATION, add_open_run, add_run, by_hand, simulated

ROOT = Path(__file__).resolve().parents[2]
POSTGRES = os.environ.get("PODSHIFT_TEST_POSTGRES")
WAIT_S = 60


@pytest.fixture(params=["sqlite", *(["postgresql"] if POSTGRES else [])])
def url(request: pytest.FixtureRequest) -> str | None:
    if request.param == "sqlite":
        return None
    assert POSTGRES is not None
    engine = create_engine(POSTGRES)
    metadata.drop_all(engine)
    engine.dispose()
    return POSTGRES


@pytest.fixture
def store(tmp_path: Path, url: str | None) -> Iterator[Store]:
    made = Store(tmp_path / "home", url)
    yield made
    made.close()


@pytest.fixture
def experiment(store: Store) -> str:
    return store.create_experiment("Seven jobs", SPECIFICATION, note="a note")


def listed(store: Store, **wanted: Any) -> list[str]:
    return [row.name for row in store.experiments(**wanted)[0]]


def files_of(store: Store, run: str) -> dict[str, bytes]:
    folder = store.folder(run)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# -- experiments


def test_an_experiment_is_read_as_it_was_created(store: Store, experiment: str) -> None:
    row = store.experiment(experiment)
    assert (row.name, row.specification, row.note, row.source) == ("Seven jobs", SPECIFICATION, "a note", "simulator")
    assert (row.tags, row.archived) == ((), False)


@pytest.mark.parametrize(
    ("name", "beginning"),
    [
        pytest.param("Seven jobs!", "seven-jobs-", id="blanks"),
        pytest.param("../../etc/passwd", "etc-passwd-", id="path"),
        pytest.param("日本", "experiment-", id="nothing-left"),
        pytest.param("x" * 300, "x" * 80 + "-", id="long"),
        pytest.param("a" * 79 + "- b", "a" * 79 + "-", id="dash-at-the-cut"),
    ],
)
def test_the_id_of_an_experiment_is_made_of_its_name(store: Store, name: str, beginning: str) -> None:
    made = store.create_experiment(name[:200], None)
    assert made.startswith(beginning)
    assert len(made) == len(beginning) + 4


def test_experiments_of_one_name_have_different_ids(store: Store) -> None:
    assert len({store.create_experiment("same", None) for _ in range(5)}) == 5


def test_experiments_are_listed_newest_first(store: Store) -> None:
    for name in ("a", "b", "c"):
        store.create_experiment(name, None)
    assert listed(store) == ["c", "b", "a"]


@pytest.mark.parametrize(
    ("limit", "offset", "names"),
    [(2, 0, ["e", "d"]), (2, 4, ["a"]), (2, 9, []), (0, 0, []), (-1, 0, []), (1, -5, ["e"]), (10**30, 10**30, [])],
)
def test_a_page_is_a_part_of_all_and_says_how_many_there_are(
    store: Store, limit: int, offset: int, names: list[str]
) -> None:
    for name in "abcde":
        store.create_experiment(name, None)
    rows, total = store.experiments(limit=limit, offset=offset)
    assert ([row.name for row in rows], total) == (names, 5)


@pytest.mark.parametrize(
    ("q", "names"),
    [
        pytest.param("SEVEN", ["seven"], id="capitals-asked-for"),
        pytest.param("upper", ["UPPER"], id="capitals-in-the-name"),
        pytest.param("100%", ["at 100% load"], id="percent"),
        pytest.param("a_b", ["a_b"], id="underscore"),
        pytest.param("back\\slash", ["back\\slash"], id="backslash"),
        pytest.param("ÜBER", ["über Ödön"], id="umlaut-capitals-asked-for"),
        pytest.param("ödön", ["über Ödön"], id="umlaut-capitals-in-the-name"),
        pytest.param("Find Me", ["seven"], id="note"),
        pytest.param("%", ["at 100% load"], id="only-percent"),
        pytest.param("'; DROP TABLE runs; --", [], id="sql"),
        pytest.param("", ["über Ödön", "back\\slash", "axb", "a_b", "at 100% load", "UPPER", "seven"], id="nothing"),
    ],
)
def test_a_search_takes_letters_for_what_they_are(store: Store, q: str, names: list[str]) -> None:
    store.create_experiment("seven", None, note="please find me")
    for name in ("UPPER", "at 100% load", "a_b", "axb", "back\\slash", "über Ödön"):
        store.create_experiment(name, None)
    assert listed(store, q=q) == names


def test_a_search_finds_an_id(store: Store, experiment: str) -> None:
    assert listed(store, q=experiment[-6:]) == ["Seven jobs"]


def test_a_list_can_ask_for_a_status(store: Store, experiment: str) -> None:
    store.create_experiment("other", None)
    store.create_run(experiment, "one", 1)
    assert (listed(store, status="queued"), listed(store, status="finished")) == (["Seven jobs"], [])


TAGS = ["a_b", "A", "é", "100%", 'say "hi"', "b", ",", "back\\slash", "two words"]


@pytest.mark.parametrize("tag", TAGS)
def test_a_list_can_ask_for_a_tag(store: Store, tag: str) -> None:
    for other in ("axb", "a", "e", "100", "hi", 'say "b', "1,2", "words"):
        store.update_experiment(store.create_experiment("other", None), tags=[other, "x", "y"])
    store.update_experiment(store.create_experiment("wanted", None), tags=["x", tag, "y"])
    assert listed(store, tag=tag) == ["wanted"]


def test_tags_are_kept_in_their_order_once_each_without_blanks_around(store: Store, experiment: str) -> None:
    store.update_experiment(experiment, tags=[" b ", "a", "", "b", 'say "hi"', "two\n words"])
    assert store.experiment(experiment).tags == ("b", "a", 'say "hi"', "two words")


def test_only_what_is_given_is_changed(store: Store, experiment: str) -> None:
    store.update_experiment(experiment, tags=["x"])
    store.update_experiment(experiment, note="new")
    row = store.experiment(experiment)
    assert (row.note, row.tags, row.archived) == ("new", ("x",), False)


def test_an_archived_experiment_is_only_listed_if_asked_for(store: Store, experiment: str) -> None:
    store.update_experiment(experiment, archived=True)
    assert (listed(store), listed(store, archived=True)) == ([], ["Seven jobs"])
    assert store.experiment(experiment).archived


def test_a_deleted_experiment_is_gone_until_it_is_undeleted(store: Store, experiment: str) -> None:
    run = add_run(store, experiment=experiment)
    store.delete_experiment(experiment)
    with pytest.raises(UnknownError):
        store.experiment(experiment)
    assert (listed(store), store.runs()[0]) == ([], [])
    store.undelete_experiment(experiment)
    assert (listed(store), [row.id for row in store.runs(experiment)[0]]) == (["Seven jobs"], [run])


def test_an_experiment_with_open_runs_is_not_deleted(store: Store, experiment: str) -> None:
    store.create_run(experiment, "one", 1)
    with pytest.raises(StoreError, match="have not ended; stop them first"):
        store.delete_experiment(experiment)
    assert listed(store) == ["Seven jobs"]


def test_purging_removes_rows_and_files_of_what_was_deleted_before(store: Store, experiment: str) -> None:
    run = add_run(store, experiment=experiment)
    kept = add_run(store)
    store.delete_experiment(experiment)
    store.purge("2020-01-01")
    assert store.folder(run).is_dir()
    store.purge("2999-01-01")
    assert sorted(path.name for path in (store.home / "runs").iterdir()) == [kept]
    with pytest.raises(UnknownError):
        store.run(run)
    with pytest.raises(UnknownError):
        store.undelete_experiment(experiment)


# -- ids

PATHS = [
    "",
    ".",
    "..",
    "../x",
    "/etc/passwd",
    "a/b",
    "a\\b",
    "a..b",
    "A",
    "a\n",
    "a\0",
    " a",
    "a b",
    "ä",
    "x" * 201,
    "-a",
    "a.",
]


@pytest.mark.parametrize("name", PATHS, ids=ascii)
@pytest.mark.parametrize(
    "use",
    [
        pytest.param(lambda store, name: store.experiment(name), id="experiment"),
        pytest.param(lambda store, name: store.undelete_experiment(name), id="undelete"),
        pytest.param(lambda store, name: store.run(name), id="run"),
        pytest.param(lambda store, name: store.folder(name), id="folder"),
        pytest.param(lambda store, name: store.table(name, "jobs"), id="table"),
        pytest.param(lambda store, name: store.read_log(name), id="read-log"),
        pytest.param(lambda store, name: store.log_size(name), id="log-size"),
        pytest.param(lambda store, name: store.log_writer(name), id="log-writer"),
        pytest.param(lambda store, name: store.reset_run(name), id="reset"),
        pytest.param(lambda store, name: store.finish_run(name, "finished", {}, {}), id="finish"),
    ],
)
def test_what_is_no_id_is_unknown_and_makes_no_file(store: Store, use: Callable[[Store, str], Any], name: str) -> None:
    with pytest.raises(UnknownError):
        use(store, name)
    assert list((store.home / "runs").iterdir()) == []


@pytest.mark.parametrize("arm", ["../x", "a/b", "A", "a\n", "a b"], ids=ascii)
def test_a_run_of_an_arm_that_is_no_name_is_refused(store: Store, experiment: str, arm: str) -> None:
    with pytest.raises(UnknownError):
        store.create_run(experiment, arm, 1)
    assert store.runs(experiment) == ([], 0)


def test_a_table_that_there_is_not_is_unknown(store: Store) -> None:
    run = add_run(store)
    with pytest.raises(UnknownError, match=r"there is no table '\.\./jobs'; there are jobs, segments"):
        store.table(run, "../jobs")


# -- runs


def test_the_id_of_a_run_names_experiment_arm_and_seed(store: Store, experiment: str) -> None:
    ids = [store.create_run(experiment, "migrated", 7) for _ in range(3)]
    assert ids == [f"{experiment}.migrated.s7", f"{experiment}.migrated.s7.2", f"{experiment}.migrated.s7.3"]


def test_runs_of_an_experiment_are_listed_oldest_first_and_all_runs_newest_first(store: Store, experiment: str) -> None:
    other = store.create_experiment("other", None)
    ids = [store.create_run(one, "one", 1) for one in (experiment, other, experiment)]
    assert [row.id for row in store.runs(experiment)[0]] == [ids[0], ids[2]]
    assert [row.id for row in store.runs()[0]] == ids[::-1]


def test_a_run_goes_from_queued_over_running_to_its_end(store: Store, experiment: str) -> None:
    run = store.create_run(experiment, "one", 2**52)
    assert (store.run(run).status, store.run(run).seed, store.run(run).started_at) == ("queued", 2**52, None)
    store.begin_run(run, os.getpid())
    row = store.run(run)
    assert (row.status, row.pid, row.started_at is not None) == ("running", os.getpid(), True)
    store.end_run(run, "stopped", summary={"jobs": 7}, error="why")
    row = store.run(run)
    assert (row.status, row.summary, row.error, row.pid) == ("stopped", {"jobs": 7}, "why", None)
    assert row.ended_at is not None


def test_a_run_begins_once(store: Store, experiment: str) -> None:
    run = store.create_run(experiment, "one", 1)
    store.begin_run(run, os.getpid())
    with pytest.raises(FinishedError, match="is not queued"):
        store.begin_run(run, os.getpid())


@pytest.mark.parametrize("status", ["queued", "running", "stopping"])
def test_a_run_does_not_end_as_an_open_one(store: Store, experiment: str, status: Any) -> None:
    run = store.create_run(experiment, "one", 1)
    with pytest.raises(ValueError, match="no state of a run that has ended"):
        store.end_run(run, status)


def test_progress_of_an_open_run_is_kept(store: Store, experiment: str) -> None:
    run = store.create_run(experiment, "one", 1)
    progress = RunProgress(time_s=5.0, jobs_done=1, jobs=7, fraction=0.25, eta_s=None, events=9)
    store.set_progress(run, progress)
    assert store.run(run).progress == progress


@pytest.mark.parametrize(
    ("before", "accepted", "after"),
    [
        pytest.param("queued", False, "queued", id="queued"),
        pytest.param("running", True, "stopping", id="running"),
        pytest.param("stopping", False, "stopping", id="stopping"),
        pytest.param("finished", False, "finished", id="ended"),
    ],
)
def test_only_a_running_run_can_be_asked_to_stop(
    store: Store, experiment: str, before: str, accepted: bool, after: str
) -> None:
    run = store.create_run(experiment, "one", 1)
    if before != "queued":
        store.begin_run(run, os.getpid())
    if before == "stopping":
        store.request_stop(run)
    if before == "finished":
        store.end_run(run, "finished")
    assert store.request_stop(run) is accepted
    assert (store.run(run).status, store.stop_requested(run)) == (after, after == "stopping")


def test_stopping_a_run_that_there_is_not_is_an_error(store: Store) -> None:
    with pytest.raises(UnknownError):
        store.request_stop("no-such.run.s1")


# -- a run that has ended


def test_a_finished_run_gives_its_log_tables_and_numbers(store: Store) -> None:
    events = simulated()
    run = add_run(store, events)
    memory = MemoryLog()
    memory.events.extend(events)
    row = store.run(run)
    assert list(store.read_log(run)) == events
    assert store.tables(run) == fold(events)
    assert (row.status, row.summary, row.log_sha256) == ("finished", summarise(fold(events)), memory.sha256)


def test_the_table_log_has_a_row_for_each_event_that_was_flushed(store: Store, experiment: str) -> None:
    events = simulated()
    run = store.create_run(experiment, "one", 1)
    writer = store.log_writer(run)
    assert store.table(run, "log") == LOG.empty_table()
    for event in events:
        writer.append(event)
    writer.flush()
    table = store.table(run, "log")
    assert table.schema == LOG
    assert table.to_pylist() == [
        {"seq": seq, "time_s": event.time, "kind": ev.kind(event), "event": ev.encode(event).decode()}
        for seq, event in enumerate(events)
    ]
    store.end_run(run, "stopped")
    assert store.table(run, "log") == table


@pytest.mark.parametrize("table", ["log", "jobs"])
def test_no_run_has_no_table(store: Store, table: str) -> None:
    with pytest.raises(UnknownError, match=r"there is no run 'no-such\.run\.s1'"):
        store.table("no-such.run.s1", table)


WRITES: list[Any] = [
    pytest.param(lambda store, run: store.log_writer(run), id="log"),
    pytest.param(lambda store, run: store.finish_run(run, "failed", {}, {}), id="finish"),
    pytest.param(lambda store, run: store.end_run(run, "failed"), id="end"),
    pytest.param(lambda store, run: store.begin_run(run, 1), id="begin"),
    pytest.param(lambda store, run: store.requeue_run(run), id="requeue"),
    pytest.param(lambda store, run: store.reset_run(run), id="reset"),
]


@pytest.mark.parametrize("write", WRITES)
def test_a_finished_run_refuses_every_write(store: Store, write: Callable[[Store, str], None]) -> None:
    run = add_run(store)
    row, files = store.run(run), files_of(store, run)
    with pytest.raises(FinishedError):
        write(store, run)
    assert (store.run(run), files_of(store, run)) == (row, files)


def test_progress_of_a_finished_run_is_not_changed(store: Store) -> None:
    run = add_run(store)
    row = store.run(run)
    store.set_progress(run, RunProgress(fraction=0.5))
    assert store.run(run) == row


def test_a_log_that_was_open_when_its_run_ended_is_not_written_any_more(store: Store, experiment: str) -> None:
    run = store.create_run(experiment, "one", 1)
    writer = store.log_writer(run)
    writer.append(by_hand()[0])
    store.end_run(run, "stopped")
    with pytest.raises(FinishedError):
        writer.close()
    assert store.log_size(run) == 0


def test_a_run_that_ends_while_another_process_finishes_it_keeps_the_first_end(
    store: Store, experiment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both find the run open and write their tables; the second to come must not touch those of the first."""
    events = by_hand()
    run = add_open_run(store, events, experiment)
    after: list[dict[str, bytes]] = []
    end = store.end_run

    def slow_end(*args: Any, **options: Any) -> None:
        monkeypatch.setattr(store, "end_run", end)
        store.finish_run(run, "finished", {}, fold(events))
        after.append(files_of(store, run))
        end(*args, **options)

    monkeypatch.setattr(store, "end_run", slow_end)
    with pytest.raises(FinishedError):
        store.finish_run(run, "failed", {}, fold([]))
    assert files_of(store, run) == {name: data for name, data in after[0].items() if ".tmp-" not in name}
    assert store.run(run).status == "finished"


def test_the_manifest_has_the_hash_of_every_file(store: Store) -> None:
    run = add_run(store)
    files = files_of(store, run)
    manifest = json.loads(files.pop("manifest.json"))
    assert manifest["files"] == {name: sha256(data).hexdigest() for name, data in files.items()}
    assert manifest["log_sha256"] == store.run(run).log_sha256


def test_what_a_finish_that_died_left_behind_is_replaced(store: Store, experiment: str) -> None:
    events = by_hand()
    run = add_open_run(store, events, experiment)
    (store.folder(run) / "tables").mkdir()
    (store.folder(run) / "tables" / "jobs.parquet").write_bytes(b"half")
    store.finish_run(run, "finished", {}, fold(events))
    assert store.tables(run) == fold(events)


# -- a run that grows


def test_the_table_of_a_growing_run_is_the_fold_of_what_was_flushed(store: Store, experiment: str) -> None:
    events = simulated()
    run = store.create_run(experiment, "one", 1)
    writer = store.log_writer(run)
    assert store.tables(run) == fold([])
    cuts = [0, 40, 41, len(events) // 2, len(events)]
    for start, end in pairwise(cuts):
        for event in events[start:end]:
            writer.append(event)
        assert store.tables(run) == fold(events[:start])
        writer.flush()
        assert store.tables(run) == fold(events[:end])


def test_a_growing_run_is_folded_on_and_not_from_its_beginning(
    store: Store, experiment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = by_hand(5)
    folded: list[ev.Event] = []
    add = store_fold_add()
    monkeypatch.setattr(
        "backend.folds.tables.Fold.add", lambda self, event: (folded.append(event), add(self, event))[1]
    )
    run = store.create_run(experiment, "one", 1)
    writer = store.log_writer(run)
    for event in events:
        writer.append(event)
        writer.flush()
        store.table(run, "jobs")
        store.table(run, "nodes")
    assert folded == events


def store_fold_add() -> Callable[[Any, ev.Event], None]:
    from backend.folds.tables import Fold

    return Fold.add


def test_a_run_that_is_run_again_is_folded_from_its_new_beginning(store: Store, experiment: str) -> None:
    run = store.create_run(experiment, "one", 1)
    for events, end in ((by_hand(3), "failed"), (by_hand(5), "finished")):
        store.begin_run(run, os.getpid())
        writer = store.log_writer(run)
        for event in events:
            writer.append(event)
        writer.flush()
        assert store.table(run, "jobs") == fold(events)["jobs"]
        if end == "failed":
            store.end_run(run, "failed")
            store.reset_run(run)


def test_one_thread_reads_while_another_writes(store: Store, experiment: str) -> None:
    """Whatever the reader sees is what was flushed at some time, and it never sees less than before."""
    events = by_hand(100)
    run = store.create_run(experiment, "one", 1)
    finished = fold(events)["jobs"].column("job").to_pylist()

    def read() -> list[int]:
        lengths = [0]
        while lengths[-1] < len(finished):
            jobs = store.table(run, "jobs").column("job").to_pylist()
            assert jobs == finished[: len(jobs)]
            if len(jobs) > lengths[-1]:
                store.set_progress(run, RunProgress(events=len(jobs)))
            lengths.append(len(jobs))
        return lengths

    with ThreadPoolExecutor(1) as pool:
        reader = pool.submit(read)
        writer = store.log_writer(run)
        for number, event in enumerate(events):
            writer.append(event)
            if number % 10 == 0:
                writer.flush()
        writer.close()
        lengths = reader.result(WAIT_S)
    assert lengths == sorted(lengths)
    assert store.run(run).progress == RunProgress(events=100)


# -- other processes


def start(store: Store, script: str, *arguments: str) -> subprocess.Popen[str]:
    """A process that runs a script with `store`, `arguments` and what this module imports."""
    head = (
        "import os, sys, time\nfrom pathlib import Path\nfrom backend.store.store import Store\n"
        "from tests.unit.store.runs import *\n"
        "home, url, *arguments = sys.argv[1:]\nstore = Store(Path(home), url or None)\n"
    )
    command = [sys.executable, "-c", head + script, str(store.home), store.url or "", *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=ROOT)


def test_two_processes_write_at_once(store: Store, experiment: str) -> None:
    script = (
        "store.create_experiment(arguments[1], None)\n"
        "print('ready', flush=True)\n"
        "sys.stdin.readline()\n"
        "for seed in range(10):\n"
        "    add_run(store, experiment=arguments[0], seed=seed)\n"
        "    store.append_audit('run', arguments[1])\n"
    )
    processes = [start(store, script, experiment, name) for name in ("x", "y")]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    outputs = [process.communicate(timeout=WAIT_S) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], outputs
    rows, total = store.runs(experiment)
    assert (total, {row.status for row in rows}) == (20, {"finished"})
    assert len({row.id for row in rows}) == 20
    assert store.audit()[1] == 20


def test_two_processes_open_a_new_store_at_once(tmp_path: Path, url: str | None) -> None:
    made = Store(tmp_path / "other", url)
    if url is not None:
        engine = create_engine(url)
        metadata.drop_all(engine)
        engine.dispose()
    made.close()
    for file in (tmp_path / "other").glob("podshift.db*"):
        file.unlink()
    processes = [start(made, "store.create_experiment('x', None)") for _ in range(4)]
    outputs = [process.communicate(timeout=WAIT_S)[1] for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, outputs
    assert made.experiments()[1] == 4


KILLED = (
    "run = store.create_run(arguments[0], 'one', 9)\n"
    "store.begin_run(run, os.getpid())\n"
    "writer = store.log_writer(run)\n"
    "for number, event in enumerate(by_hand(50)):\n"
    "    writer.append(event)\n"
    "writer.flush()\n"
    "import backend.store.logs as logs\n"
    "def half(table, path):\n"
    "    path.write_bytes(b'PAR1 half')\n"
    "    print(run, flush=True)\n"
    "    time.sleep(600)\n"
    "logs.write_table = half\n"
    "writer.append(by_hand()[0])\n"
    "writer.flush()\n"
)


@pytest.fixture
def killed(store: Store, experiment: str) -> str:
    """A run whose process was killed in the middle of writing a part, after 303 events had been flushed."""
    process = start(store, KILLED, experiment)
    assert process.stdout is not None
    run = process.stdout.readline().strip()
    os.kill(process.pid, signal.SIGKILL)
    _, error = process.communicate(timeout=WAIT_S)
    assert process.returncode == -signal.SIGKILL, error
    return run


def test_events_flushed_before_a_kill_can_be_read(store: Store, killed: str) -> None:
    assert list(store.read_log(killed)) == by_hand(50)
    assert store.tables(killed) == fold(by_hand(50))


def test_recovery_marks_the_run_of_a_killed_process_as_interrupted(store: Store, killed: str) -> None:
    assert store.recover() == [killed]
    row = store.run(killed)
    assert (row.status, row.error) == ("interrupted", "The process that executed it ended before the run did.")
    assert store.tables(killed) == fold(by_hand(50))


def test_recovery_removes_what_a_killed_process_left_half_written(store: Store, killed: str) -> None:
    assert [name for name in files_of(store, killed) if ".tmp-" in name] != []
    store.recover()
    assert list(files_of(store, killed)) == ["log/part-000000000000.parquet"]


def test_recovery_twice_is_recovery_once(store: Store, killed: str) -> None:
    store.recover()
    row = store.run(killed)
    assert (store.recover(), store.run(killed)) == ([], row)


def test_a_kill_harms_no_earlier_run(tmp_path: Path, store: Store, experiment: str) -> None:
    run = add_run(store, simulated(), experiment)
    row, files = store.run(run), files_of(store, run)
    process = start(store, KILLED, experiment)
    assert process.stdout is not None
    process.stdout.readline()
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=WAIT_S)
    store.close()
    opened = Store(store.home, store.url)
    opened.recover()
    assert (opened.run(run), files_of(opened, run), opened.tables(run)) == (row, files, fold(simulated()))
    opened.close()


def test_an_interrupted_run_can_be_queued_again_from_nothing(store: Store, killed: str) -> None:
    store.recover()
    store.reset_run(killed)
    row = store.run(killed)
    assert (row.status, row.error, row.started_at, row.ended_at) == ("queued", None, None, None)
    assert (store.log_size(killed), store.recover()) == (0, [])
    writer = store.log_writer(killed)
    writer.append(by_hand()[0])
    writer.close()
    assert list(store.read_log(killed)) == by_hand()[:1]
    assert [path.name for path in (store.home / "runs").iterdir()] == [killed]


def test_recovery_leaves_runs_and_files_of_a_living_process_alone(store: Store, experiment: str) -> None:
    process = start(store, KILLED, experiment)
    assert process.stdout is not None
    run = process.stdout.readline().strip()
    try:
        before = files_of(store, run)
        assert store.recover() == []
        assert (store.run(run).status, files_of(store, run)) == ("running", before)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=WAIT_S)


def test_recovery_leaves_runs_that_a_living_process_has_queued_alone(store: Store, experiment: str) -> None:
    store.create_run(experiment, "one", 1)
    assert store.recover() == []


def test_recovery_marks_runs_that_a_dead_process_had_queued(store: Store, experiment: str) -> None:
    process = start(store, "print(store.create_run(arguments[0], 'one', 1))", experiment)
    run = process.communicate(timeout=WAIT_S)[0].strip()
    assert store.recover() == [run]


# -- audit


def test_the_audit_lists_who_asked_for_what_newest_first(store: Store) -> None:
    store.append_audit("create", "a")
    store.append_audit("stop", "b", actor="me", address="::1", parameters={"x": [1]}, result="refused", request="r-1")
    (newest, oldest), total = store.audit()
    assert (total, oldest.action, oldest.actor, oldest.result) == (2, "create", "local", "ok")
    fields = (newest.actor, newest.address, newest.action, newest.target, newest.parameters, newest.result)
    assert fields == ("me", "::1", "stop", "b", {"x": [1]}, "refused")
    assert newest.request == "r-1"
    assert oldest.at <= newest.at <= now()


def test_the_audit_has_pages(store: Store) -> None:
    for number in range(5):
        store.append_audit("do", str(number))
    rows, total = store.audit(limit=2, offset=1)
    assert ([row.target for row in rows], total) == (["3", "2"], 5)


# -- where it is


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        pytest.param("no-url", "the URL of the database is none", id="no-url"),
        pytest.param("oracular://me:hush@host/x", r"oracular://me:\*\*\*@host/x cannot be used", id="no-such-database"),
        pytest.param("postgresql+no_driver://me:hush@host/x", "install psycopg", id="no-such-driver"),
    ],
)
def test_a_database_that_cannot_be_used_is_a_store_error(tmp_path: Path, address: str, problem: str) -> None:
    with pytest.raises(StoreError, match=problem) as refused:
        Store(tmp_path / "home", address)
    assert "hush" not in str(refused.value)


@pytest.mark.parametrize("name", ["with space", "100%", "a?b#c", "über", "x=1"])
def test_a_home_may_have_any_name(tmp_path: Path, name: str) -> None:
    home = tmp_path / name
    made = Store(home)
    run = add_run(made)
    assert (home / "podshift.db").is_file()
    assert made.tables(run) == fold(by_hand())
    made.close()
