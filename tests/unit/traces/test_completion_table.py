"""The completion times of two arms as two event logs."""

from pathlib import Path
from typing import Any

import pytest

from backend.folds.summary import summarise
from backend.folds.tables import fold
from backend.model import events as ev
from backend.traces import completion_table
from backend.traces.errors import TraceError

REAL = (Path(__file__).parents[2] / "data" / "specon_completion_50jobs.csv").read_bytes()
HEADER = b"job,default_s,migrated_s\n"


def summary_of(arm: str) -> dict[str, Any]:
    return summarise(fold(completion_table.to_events(completion_table.read(REAL), arm)))


@pytest.mark.parametrize(
    ("arm", "mean", "median", "longest"),
    [
        pytest.param("default", 596.3, 519.0, 1048.4, id="default"),
        pytest.param("migrated", 553.0, 566.0, 835.7, id="migrated"),
    ],
)
def test_the_published_table_has_the_published_numbers(arm: str, mean: float, median: float, longest: float) -> None:
    summary = summary_of(arm)
    assert (summary["jobs"], summary["finished"]) == (50, 50)
    assert summary["mean_completion_s"] == pytest.approx(mean, abs=0.05)
    assert summary["median_completion_s"] == pytest.approx(median, abs=1)
    assert summary["max_completion_s"] == pytest.approx(longest, abs=0.5)
    assert summary["makespan_s"] == summary["max_completion_s"]


def test_what_the_table_does_not_say_is_not_made_up() -> None:
    summary = summary_of("migrated")
    unknown = ("mean_waiting_s", "cpu_share_mean", "fairness_jain", "core_s", "lost_core_s")
    unknown += ("migrations", "rolled_back", "downtime_s")
    assert {name: summary[name] for name in unknown} == dict.fromkeys(unknown)


def test_the_log_ends_with_its_longest_job_and_can_be_read_again() -> None:
    log = completion_table.to_events([("a", 5.0, 1.0), ("b", 3.0, 9.0)], "default")
    assert log[1:] == [
        *(ev.JobSubmitted(0.0, event.job) for event in log if isinstance(event, ev.JobSubmitted)),
        ev.JobFinished(3.0, "b"),
        ev.JobFinished(5.0, "a"),
        ev.RunEnded(5.0),
    ]
    assert list(ev.decode_lines(ev.encode_lines(log))) == log


def test_numbers_of_jobs_get_the_name_that_the_migration_log_has() -> None:
    assert [row[0] for row in completion_table.read(HEADER + b"1,2,3\ntrain,4,5\n")] == ["job1", "train"]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"\xef\xbb\xbf" + REAL, id="byte-order-mark"),
        pytest.param(REAL.replace(b"\n", b"\r\n"), id="windows-line-ends"),
        pytest.param(REAL.rstrip(b"\n"), id="no-newline-at-the-end"),
        pytest.param(REAL.replace(b"NS_s,SpeCon_s", b"default,migrated"), id="names-of-the-arms"),
        pytest.param(REAL.replace(b"\n", b",,\n").replace(b"pct,,", b"pct"), id="empty-cells-behind"),
    ],
)
def test_other_spellings_of_the_table_say_the_same(content: bytes) -> None:
    assert completion_table.read(content) == completion_table.read(REAL)


def test_columns_may_stand_in_any_order() -> None:
    assert completion_table.read(b"migrated_s,job,default_s\n3,a,2\n") == [("a", 2.0, 3.0)]


BAD: dict[str, tuple[bytes, int | None, str]] = {
    "empty": (b"", 1, "must be job,default_s,migrated_s"),
    "only-a-header": (HEADER, None, "holds no job"),
    "one-arm": (b"job,default_s\n1,2\n", 1, "must be job,default_s,migrated_s"),
    "no-name": (HEADER + b",2,3\n", 2, "must name a job"),
    "twice": (HEADER + b"a,2,3\nb,2,3\na,2,3\n", 4, "'a' is there already, in line 2"),
    "number-and-name": (HEADER + b"1,2,3\njob1,2,3\n", 3, "'job1' is there already, in line 2"),
    "too-few-cells": (HEADER + b"a,2\n", 2, "has 2 cells"),
    "decimal-comma": (HEADER + b"a,641,4,741,3\n", 2, "has 5 cells"),
    "zero": (HEADER + b"a,0,3\n", 2, "'0' is no completion time"),
    "negative": (HEADER + b"a,2,-3\n", 2, "'-3' is no completion time"),
    "no-number": (HEADER + b"a,2,fast\n", 2, "'fast' is no completion time"),
    "missing": (HEADER + b"a,2,\n", 2, "'' is no completion time"),
    "nan": (HEADER + b"a,nan,3\n", 2, "'nan' is no completion time"),
    "infinite": (HEADER + b"a,2,inf\n", 2, "'inf' is no completion time"),
    "too-long": (HEADER + b"a,2,1e300\n", 2, "'1e300' is no completion time"),
}


@pytest.mark.parametrize(("content", "line", "problem"), BAD.values(), ids=BAD.keys())
def test_a_bad_table_is_refused_by_file_line_and_problem(content: bytes, line: int | None, problem: str) -> None:
    with pytest.raises(TraceError) as caught:
        completion_table.read(content, "times.csv")
    assert str(caught.value).startswith("times.csv: " if line is None else f"times.csv, line {line}: ")
    assert problem in str(caught.value)
