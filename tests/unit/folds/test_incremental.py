"""A log folded as it grows gives at every point what folding it at once gives."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.experiments.execute import run_arm
from backend.experiments.specification import parse
from backend.folds.summary import summarise
from backend.folds.tables import Fold, fold
from backend.model import events as ev
from backend.store.logs import MemoryLog


def simulate(seed: int, migration: dict[str, Any], faults: list[dict[str, Any]]) -> list[ev.Event]:
    log = MemoryLog()
    specification = parse(
        {
            "name": "grows",
            "cluster": {"nodes": {"count": 3, "cpu": "8", "memory": "16Gi"}, "faults": faults},
            "workload": {"models": ["lenet", "vae", "gru"], "jobs": 8, "submissions": {"uniform": [0, 120]}},
            "arms": [{"name": "one", "migration": migration}],
        }
    )
    run_arm(specification, "one", seed, log, paced=False)
    return log.events


FAULT = [{"node": "node-1", "at": 120, "back_at": 300}]
RUNS = {
    "specon": simulate(1, {"name": "specon"}, []),
    "specon-and-a-fault": simulate(2, {"name": "specon", "rebalance": True}, FAULT),
    "least-loaded": simulate(3, {"name": "least-loaded"}, FAULT),
    "none": simulate(4, {"name": "none"}, []),
}


@pytest.mark.parametrize("log", RUNS.values(), ids=RUNS.keys())
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_a_fold_that_was_looked_at_on_the_way_ends_as_one_that_was_not(
    log: list[ev.Event], data: st.DataObject
) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(log)), max_size=4).map(sorted))
    folded = Fold()
    for start, end in zip([0, *cuts], [*cuts, len(log)], strict=True):
        folded.tables()
        for event in log[start:end]:
            folded.add(event)
    assert folded.tables() == fold(log)


@pytest.mark.parametrize("log", RUNS.values(), ids=RUNS.keys())
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_the_tables_of_a_growing_log_are_those_of_its_beginning(log: list[ev.Event], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(log)))
    folded = Fold()
    for event in log[:cut]:
        folded.add(event)
    assert folded.tables() == fold(log[:cut])
    assert folded.events == cut


@pytest.mark.parametrize("log", RUNS.values(), ids=RUNS.keys())
def test_events_that_were_written_and_read_again_fold_to_the_same(log: list[ev.Event]) -> None:
    assert fold(ev.decode_lines(ev.encode_lines(log))) == fold(log)


@pytest.mark.parametrize("log", RUNS.values(), ids=RUNS.keys())
def test_the_segments_of_a_job_never_work_at_the_same_time(log: list[ev.Event]) -> None:
    free_from: dict[str, float] = {}
    for row in fold(log)["segments"].to_pylist():
        if row["started_s"] is not None:
            assert row["started_s"] >= free_from.get(row["job"], 0.0)
        free_from[row["job"]] = row["end_s"]


@pytest.mark.parametrize("log", RUNS.values(), ids=RUNS.keys())
def test_a_job_waits_works_and_is_down_for_as_long_as_it_takes(log: list[ev.Event]) -> None:
    """Completion = waiting + downtime + time of work; a pod stops working when its migration starts or it is gone."""
    tables = fold(log)
    stopped = {row["from_pod"]: row["started_s"] for row in tables["migrations"].to_pylist()}
    worked: dict[str, float] = {}
    for row in tables["segments"].to_pylist():
        if row["started_s"] is not None:
            end = min(row["end_s"], stopped.get(row["pod"], row["end_s"]))
            worked[row["job"]] = worked.get(row["job"], 0.0) + end - row["started_s"]
    jobs = tables["jobs"].to_pylist()
    assert summarise(tables)["finished"] == len(jobs)
    for job in jobs:
        assert job["completion_s"] == pytest.approx(job["waiting_s"] + job["downtime_s"] + worked[job["job"]])
