"""The authors' migration log as an event log: what it says, and no more."""

from pathlib import Path
from typing import Any

import pytest

from backend.folds.summary import summarise
from backend.folds.tables import fold
from backend.model import events as ev
from backend.model.state import ClusterState
from backend.traces import migration_log
from backend.traces.errors import TraceError

REAL = (Path(__file__).parents[2] / "data" / "specon_migration_log.csv").read_bytes()
HEADER = b"time,job,orginal_node,to_node\n"


def rows_of(content: bytes) -> list[tuple[float, str, str, str]]:
    return [(row.time, row.job, row.source, row.target) for row in migration_log.read(content)]


def tables_of(content: bytes) -> dict[str, Any]:
    tables = fold(migration_log.to_events(migration_log.read(content)))
    return {name: table.to_pylist() for name, table in tables.items()}


@pytest.fixture(scope="module")
def real() -> dict[str, Any]:
    return tables_of(REAL)


def test_the_real_log_has_18_moves_of_18_jobs(real: dict[str, Any]) -> None:
    assert [row["outcome"] for row in real["migrations"]] == ["finished"] * 18
    assert len({row["job"] for row in real["migrations"]}) == 18


def test_the_real_log_has_11_refusals(real: dict[str, Any]) -> None:
    verdicts = [row["verdict"] for row in real["considerations"]]
    assert (len(verdicts), verdicts.count("migrate"), verdicts.count("no-better-node")) == (29, 18, 11)


def test_the_real_log_begins_with_job1_from_node_1_to_node_3(real: dict[str, Any]) -> None:
    first = real["migrations"][0]
    assert (first["job"], first["from_pod"], first["to_pod"]) == ("job1", "job1", "job1-migrated")
    assert (first["source"][:6], first["target"][:6], first["started_s"]) == ("node-1", "node-3", 0.0)


def test_the_last_move_of_the_real_log_is_791_seconds_after_the_first(real: dict[str, Any]) -> None:
    assert real["migrations"][-1]["started_s"] == pytest.approx(1578178591.0753722 - 1578177799.674656)


def test_the_real_log_has_four_nodes(real: dict[str, Any]) -> None:
    assert [row["node"][:7] for row in real["nodes"]] == ["node-1.", "node-2.", "node-3.", "node-4."]


def test_the_real_log_says_of_no_job_that_it_ended(real: dict[str, Any]) -> None:
    assert {row["outcome"] for row in real["jobs"]} == {"unfinished"}


def test_a_moved_job_of_the_real_log_has_a_segment_on_each_node(real: dict[str, Any]) -> None:
    of_job = [row for row in real["segments"] if row["job"] == "job11"]
    assert [(row["node"][:6], row["end"]) for row in of_job] == [("node-2", "migrated"), ("node-1", "open")]
    assert of_job[0]["end_s"] == of_job[1]["started_s"]


def test_a_refused_job_of_the_real_log_stays_where_it_is(real: dict[str, Any]) -> None:
    of_job = [row for row in real["segments"] if row["job"] == "job2"]
    assert [(row["node"][:6], row["end"]) for row in of_job] == [("node-1", "open")]


def test_the_downtime_of_a_recorded_move_is_unknown(real: dict[str, Any]) -> None:
    """The log has no word on it, and 0 would be a claim."""
    assert all((row["downtime_s"] is None) == (row["migrations"] > 0) for row in real["jobs"])
    assert {row["downtime_s"] for row in real["migrations"]} == {None}


def test_the_summary_does_not_claim_a_downtime() -> None:
    assert summarise(fold(migration_log.to_events(migration_log.read(REAL))))["downtime_s"] is None


def test_the_summary_of_the_real_log_has_no_completion_times() -> None:
    summary = summarise(fold(migration_log.to_events(migration_log.read(REAL))))
    assert (summary["jobs"], summary["migrations"]) == (26, 18)
    assert (summary["makespan_s"], summary["mean_completion_s"]) == (None, None)


def test_every_event_of_the_real_log_can_be_applied_and_read_again() -> None:
    log = migration_log.to_events(migration_log.read(REAL))
    state = ClusterState()
    for event in ev.decode_lines(ev.encode_lines(log)):
        state.apply(event)
    assert len(state.pods) == 26


SAME = [
    pytest.param(REAL.replace(b"orginal_node", b"original_node"), id="right-spelling"),
    pytest.param(b"\xef\xbb\xbf" + REAL, id="byte-order-mark"),
    pytest.param(REAL.replace(b"\n", b"\r\n"), id="windows-line-ends"),
    pytest.param(REAL.rstrip(b"\n"), id="no-newline-at-the-end"),
    pytest.param(REAL + b"\n\n", id="empty-lines-at-the-end"),
    pytest.param(REAL.replace(b"job1,", b'"job1",'), id="quotes"),
    pytest.param(REAL.replace(b",job1,", b", job1 ,"), id="spaces"),
    pytest.param(REAL.replace(b"time,job", b"Time,JOB"), id="capitals-in-the-header"),
    pytest.param(REAL.replace(b"us,\n", b"us\n"), id="no-comma-before-an-empty-target"),
    pytest.param(REAL.replace(b",job4,", b",job4-migrated,"), id="name-of-a-migrated-pod"),
]


@pytest.mark.parametrize("content", SAME)
def test_other_spellings_of_the_real_log_say_the_same(content: bytes) -> None:
    assert rows_of(content) == rows_of(REAL)


@pytest.mark.parametrize(
    "times",
    [
        pytest.param((b"100", b"130.5"), id="seconds"),
        pytest.param((b"1e2", b"1.305e2"), id="exponents"),
        pytest.param((b"2020-01-04 22:43:00", b"2020-01-04 22:43:30.500"), id="iso"),
        pytest.param((b"2020-01-04T22:43:00Z", b"2020-01-04T22:43:30.5Z"), id="iso-utc"),
        pytest.param((b"2020-01-04T22:43:00+00:00", b"2020-01-04T23:43:30.5+01:00"), id="iso-zones"),
    ],
)
def test_times_are_seconds_since_the_first_line(times: tuple[bytes, bytes]) -> None:
    content = HEADER + times[0] + b",a,n1,n2\n" + times[1] + b",b,n2,\n"
    assert [row.time for row in migration_log.read(content)] == [0.0, 30.5]


def test_a_job_is_on_the_node_that_each_line_takes_it_from() -> None:
    tables = tables_of(HEADER + b"0,a,n1,n2\n30,a,n2,\n50,a-migrated,n2,n1\n")
    assert [(row["node"], row["end"], row["end_s"]) for row in tables["segments"]] == [
        ("n1", "migrated", 0.0),
        ("n2", "migrated", 50.0),
        ("n1", "open", None),
    ]
    assert tables["jobs"][0]["migrations"] == 2


def test_pods_of_a_job_that_moves_often_have_different_names() -> None:
    log = migration_log.to_events(migration_log.read(HEADER + b"0,a,n1,n2\n1,a,n2,n1\n2,a-migrated,n1,n2\n"))
    names = [event.pod.name for event in log if isinstance(event, ev.PodCreated)]
    assert names == ["a", "a-migrated", "a-migrated-2", "a-migrated-3"]


ODD = [
    "../../etc/passwd",
    "/root",
    "=cmd()",
    "a\nb",
    'quo"te',
    "naïve 日本 🙂",
    "-migrated",
    "a,b",
    "x" * 253,
    "<b>",
    "\x1b[1m",
]


@pytest.mark.parametrize("name", ODD, ids=[ascii(name[:12]) for name in ODD])
def test_any_name_of_a_job_and_of_a_node_gives_a_valid_log(name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    content = HEADER + f"0,{quoted},n1,{quoted}\n".encode()
    log = migration_log.to_events(migration_log.read(content))
    assert list(ev.decode_lines(ev.encode_lines(log))) == log
    assert fold(log)["migrations"].to_pylist()[0]["job"] == name


BAD: dict[str, tuple[bytes, int | None, str]] = {
    "empty": (b"", 1, "must be time,job,orginal_node,to_node"),
    "only-a-header": (HEADER, None, "holds no line but the first"),
    "another-header": (b"when,who\n1,2\n", 1, "must be time,job"),
    "header-without-target": (b"time,job,orginal_node\n1,a,n\n", 1, "must be time,job"),
    "column-twice": (b"time,job,job,orginal_node,to_node\n", 1, "'job' twice"),
    "no-job": (HEADER + b"1,,n1,n2\n", 2, "must name a job"),
    "no-source": (HEADER + b"1,a,,n2\n", 2, "must name a job and the node"),
    "too-few-cells": (HEADER + b"1,a\n", 2, "has 2 cells"),
    "too-many-cells": (HEADER + b"1,a,n1,n2,n3\n", 2, "has 5 cells"),
    "decimal-comma": (HEADER + b"1,5,a,n1,n2\n", 2, "has 5 cells"),
    "no-time": (HEADER + b",a,n1,n2\n", 2, "'' is no time"),
    "time-in-words": (HEADER + b"1,a,n1,n2\nsoon,a,n2,n1\n", 3, "'soon' is no time"),
    "nan": (HEADER + b"nan,a,n1,n2\n", 2, "'nan' is no time"),
    "infinite": (HEADER + b"1e999,a,n1,n2\n", 2, "is no time"),
    "milliseconds": (HEADER + b"1578177799674,a,n1,n2\n", 2, "is no time"),
    "underscores": (HEADER + b"1_0,a,n1,n2\n", 2, "is no time"),
    "no-such-date": (HEADER + b"2020-02-31 00:00:00,a,n1,n2\n", 2, "is no time"),
    "below-zero": (HEADER + b"-5,a,n1,n2\n", 2, "'-5' is before 0"),
    "before-1970": (HEADER + b"1969-12-31 23:59:59,a,n1,n2\n", 2, "is before 0, which is 1970-01-01"),
    "long-job": (HEADER + b"5," + b"a" * 100_000 + b",n1,n2\n", 2, "has 100,000 characters; a name has at most 253"),
    "long-node": (HEADER + b"5,a,n1," + b"n" * 254 + b"\n", 2, "has 254 characters"),
    "from-elsewhere": (HEADER + b"10,a,n1,n2\n15,a,n1,n3\n", 3, "takes 'a' from n1, but line 2 leaves it on n2"),
    "stays-elsewhere": (HEADER + b"1,a,n1,\n2,b,n1,n2\n3,a,n2,\n", 4, "from n2, but line 2 leaves it on n1"),
    "goes-back": (HEADER + b"5,a,n1,n2\n4,b,n1,n2\n", 3, "before the line above"),
    "goes-nowhere": (HEADER + b"5,a,n1,n1\n", 2, "the node that it is on"),
    "open-quote": (HEADER + b'5,"a,n1,n2\n', 2, "unexpected end"),
    "not-utf-8": (HEADER + b"5,\xff\xfe,n1,n2\n", None, "not text in UTF-8"),
    "nul": (HEADER + b"5,a\0,n1,n2\n", None, "not a text file"),
    "huge-cell": (HEADER + b"5," + b"a" * 200_000 + b",n1,n2\n", 2, "field larger"),
}


@pytest.mark.parametrize(("content", "line", "problem"), BAD.values(), ids=BAD.keys())
def test_a_bad_log_is_refused_by_file_line_and_problem(content: bytes, line: int | None, problem: str) -> None:
    with pytest.raises(TraceError) as caught:
        migration_log.read(content, "moves.csv")
    where = "moves.csv: " if line is None else f"moves.csv, line {line}: "
    assert str(caught.value).startswith(where)
    assert problem in str(caught.value)
    assert caught.value.line == line


def test_a_file_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backend.traces.tables.MAX_BYTES", 100)
    with pytest.raises(TraceError, match="bytes are more than 100"):
        migration_log.read(REAL, "moves.csv")
