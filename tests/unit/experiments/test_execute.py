"""Running an arm: what its log begins and ends with, progress, stopping, pinning, pacing, and that it repeats."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from backend.experiments.execute import Progress, RunOutcome, run_arm
from backend.experiments.specification import Specification, parse
from backend.folds.summary import summarise
from backend.folds.tables import fold
from backend.model import events as ev

ROOT = Path(__file__).resolve().parents[3]


class Memory:
    """A log in memory."""

    def __init__(self) -> None:
        self.events: list[ev.Event] = []

    def append(self, event: ev.Event) -> None:
        self.events.append(event)

    def of(self, kind: type[ev.Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


class Clock:
    """Moves by a step at each look, and by sleeping."""

    def __init__(self, step: float = 0.0) -> None:
        self.now = 0.0
        self.step = step
        self.slept = 0.0

    def __call__(self) -> float:
        self.now += self.step
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept += seconds
        self.now += seconds


def specify(**changes: Any) -> Specification:
    document: dict[str, Any] = {
        "name": "seven-jobs",
        "cluster": {"nodes": {"count": 3, "cpu": 16, "memory": "64Gi"}},
        "workload": {
            "models": ["lenet", "vae", "gru"],
            "jobs": 7,
            "submissions": {"at": [25, 43, 50, 65, 86, 142, 192]},
        },
        "arms": [
            {"name": "default", "scheduler": "default", "migration": "none"},
            {"name": "migrated", "scheduler": "default", "migration": "specon"},
        ],
        "pin_initial_placement": True,
    }
    return parse(document | changes)


def execute(
    specification: Specification, arm: str = "default", seed: int = 1, **options: Any
) -> tuple[RunOutcome, Memory]:
    log = Memory()
    return run_arm(specification, arm, seed, log, **options), log


def test_a_log_begins_with_the_start_and_ends_with_the_end() -> None:
    outcome, log = execute(specify())
    assert log.events[0] == ev.RunStarted(0.0, "seven-jobs.default.s1", "seven-jobs", "default", 1)
    last_job = max(event.time for event in log.of(ev.JobFinished))
    assert isinstance(log.events[-1], ev.RunEnded)
    assert last_job <= log.events[-1].time < last_job + 30
    assert outcome.status == "finished"
    assert (outcome.jobs, outcome.jobs_done, outcome.events) == (7, 7, len(log.events))
    assert outcome.time == log.events[-1].time


def test_times_never_run_backwards() -> None:
    _, log = execute(specify(), "migrated")
    times = [event.time for event in log.events]
    assert times == sorted(times)


@pytest.mark.parametrize("arm", ["default", "migrated"])
def test_the_same_run_gives_the_same_log_byte_for_byte(arm: str) -> None:
    logs = [ev.encode_lines(execute(specify(), arm, 3)[1].events) for _ in range(2)]
    assert logs[0] == logs[1]
    assert logs[0] != ev.encode_lines(execute(specify(), arm, 4)[1].events)


def test_the_log_does_not_depend_on_how_python_hashes() -> None:
    program = (
        "import hashlib\n"
        "from backend.experiments.execute import run_arm\n"
        "from backend.experiments.specification import load\n"
        "from backend.model.events import encode_lines\n"
        "from pathlib import Path\n"
        "log = []\n"
        "run_arm(load(Path('examples/fifty-jobs.yaml')), 'migrated', 1, log, paced=False)\n"
        "print(hashlib.sha256(encode_lines(log)).hexdigest())\n"
    )
    hashes = {
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT,
            env=os.environ | {"PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert len(hashes) == 1


def test_both_arms_see_the_same_jobs_at_the_same_times() -> None:
    specification = specify(
        workload={
            "models": ["lenet", "vae"],
            "jobs": 12,
            "assign": "random",
            "submissions": {"poisson": {"mean_gap": 20}},
        }
    )
    arrivals = [execute(specification, arm, 5)[1].of(ev.JobSubmitted) for arm in ("default", "migrated")]
    assert arrivals[0] == arrivals[1]
    assert len(arrivals[0]) == 12


def test_placements_are_the_first_nodes_of_the_jobs() -> None:
    outcome, log = execute(specify(), "migrated")
    first = {event.pod: event.node for event in log.of(ev.PodBound) if "-" in event.pod and "migrated" not in event.pod}
    assert outcome.placements == first
    assert len(first) == 7


def test_a_pinned_arm_starts_its_jobs_where_the_first_arm_did() -> None:
    """The first arm places at random; without pinning another seed of ties would place otherwise."""
    random = [
        {"name": "first", "scheduler": "random"},
        {"name": "second", "scheduler": "default", "migration": "specon"},
    ]
    specification = specify(arms=random)
    first, _ = execute(specification, "first", 2)
    free, _ = execute(specification, "second", 2)
    pinned, log = execute(specification, "second", 2, pinned=first.placements)
    assert free.placements != first.placements
    assert pinned.placements == first.placements
    decisions = [event for event in log.of(ev.DecisionMade) if event.policy == "pinned"]
    assert len(decisions) == 7
    assert "the placement of arm first" in decisions[0].reason


def test_jobs_that_a_limit_cuts_off_are_unfinished_and_their_work_counts() -> None:
    outcome, log = execute(specify(until=100))
    submitted = [event.job.name for event in log.of(ev.JobSubmitted)]
    finished = [event.job for event in log.of(ev.JobFinished)]
    assert (len(submitted), log.of(ev.JobFailed), outcome.status) == (5, [], "finished")
    reason = f"the limit of 100 s was reached: {5 - len(finished)} jobs had not finished and 2 had not arrived"
    assert log.events[-1] == ev.RunEnded(100.0, reason)
    measured = log.events[-2]
    assert isinstance(measured, ev.WorkMeasured)
    started = [event.pod for event in log.of(ev.PodStarted)]
    assert sorted(measured.pods) == sorted(set(started) - set(finished))
    tables = fold(log.events)
    numbers = summarise(tables)
    assert (numbers["jobs"], numbers["unfinished"], numbers["failed"]) == (5, 5 - len(finished), 0)
    used = tables["usage"].to_pydict()
    sampled = 10.0 * sum(used["cpu_millis"]) / 1000
    assert numbers["core_s"] == pytest.approx(sampled, rel=0.02)


def test_a_limit_that_cuts_nothing_off_is_no_reason() -> None:
    _, log = execute(specify(until=1e6))
    assert log.events[-1].time < 1e6
    assert isinstance(log.events[-1], ev.RunEnded)
    assert log.events[-1].reason == ""


def test_a_job_that_waits_for_ever_is_failed_before_the_end() -> None:
    """All nodes it could run on fail for good."""
    jobs = [{"name": "j", "model": "lenet", "at": 5}]
    faults = [{"node": f"node-{k}", "at": 1} for k in (1, 2, 3)]
    nodes = {"count": 3, "cpu": 16, "memory": "64Gi"}
    _, log = execute(specify(workload={"jobs": jobs}, cluster={"nodes": nodes, "faults": faults}))
    assert [event.job for event in log.of(ev.JobFailed)] == ["j"]
    assert isinstance(log.events[-2], ev.JobFailed)


def test_a_job_that_fits_nowhere_fails_and_the_run_goes_on() -> None:
    jobs = [{"name": "giant", "model": "vae", "memory": "100Gi", "at": 1}, {"name": "small", "model": "lenet", "at": 2}]
    _, log = execute(specify(workload={"jobs": jobs}))
    (failed,) = log.of(ev.JobFailed)
    assert failed.job == "giant"
    assert "memory" in failed.reason
    assert [event.job for event in log.of(ev.JobFinished)] == ["small"]


# -- progress and stopping


def test_progress_grows_to_the_whole() -> None:
    reports: list[Progress] = []
    clock = Clock(step=1.0)  # each look at the clock is a second later, so that each look gives a report
    execute(specify(), progress=reports.append, clock=clock)
    fractions = [report.fraction for report in reports]
    assert len(reports) >= 3
    assert fractions == sorted(fractions)
    assert (reports[-1].fraction, reports[-1].jobs_done, reports[-1].jobs) == (1.0, 7, 7)
    assert reports[-1].eta_s == 0
    assert all(report.eta_s is None or report.eta_s >= 0 for report in reports)
    assert reports[0].eta_s is None


def test_progress_counts_the_work_done_and_not_only_ended_jobs() -> None:
    """One job: its progress would be 0 until its end if jobs were counted."""
    reports: list[Progress] = []
    workload = {"jobs": [{"model": "vae", "iterations": 2000, "at": 0}]}
    execute(specify(workload=workload), progress=reports.append, clock=Clock(step=1.0))
    within = [report for report in reports if report.jobs_done == 0 and report.fraction > 0]
    assert within
    for report in within:
        # An unhindered job works evenly from its start (about 15 s, with the pull of its image) to its end.
        assert report.fraction == pytest.approx((report.time_s - 15) / (reports[-1].time_s - 15), abs=0.05)


def test_progress_is_reported_no_more_often_than_a_person_sees() -> None:
    reports: list[Progress] = []
    execute(specify(), progress=reports.append, clock=Clock())
    assert len(reports) == 2  # the first and the last: the clock does not move in between


def test_a_stopped_run_keeps_its_events_and_says_so() -> None:
    asked = 0

    def should_stop() -> bool:
        nonlocal asked
        asked += 1
        return asked > 2

    outcome, log = execute(specify(), should_stop=should_stop, clock=Clock(step=1.0))
    whole = execute(specify())[1].events
    assert outcome.status == "stopped"
    assert isinstance(log.events[-1], ev.RunStopped)
    events = [event for event in log.events[:-1] if not isinstance(event, ev.WorkMeasured)]
    assert events == whole[: len(events)]
    assert log.events[-1].time == log.events[-2].time
    assert log.of(ev.JobFailed) == []
    assert len(log.events) < len(whole)


def test_a_run_that_is_to_stop_at_once_has_a_start_and_an_end() -> None:
    outcome, log = execute(specify(), should_stop=lambda: True, clock=Clock(step=1.0))
    assert outcome.status == "stopped"
    assert isinstance(log.events[0], ev.RunStarted)
    assert isinstance(log.events[-1], ev.RunStopped)
    assert len(log.events) <= 5


# -- pacing


def test_pacing_takes_its_time_and_changes_nothing_in_the_log() -> None:
    clock = Clock()
    _, paced = execute(specify(speed=50), clock=clock, sleep=clock.sleep)
    _, quick = execute(specify())
    assert paced.events == quick.events
    assert clock.slept == pytest.approx(quick.events[-1].time / 50, abs=0.5)


def test_pacing_can_be_left_out() -> None:
    clock = Clock()
    execute(specify(speed=50), clock=clock, sleep=clock.sleep, paced=False)
    assert clock.slept == 0


def test_a_paced_run_stops_while_it_waits() -> None:
    clock = Clock()
    outcome, log = execute(
        specify(speed=1), clock=clock, sleep=clock.sleep, should_stop=lambda: clock.now > 10, progress=lambda _: None
    )
    assert outcome.status == "stopped"
    assert log.of(ev.JobSubmitted) == []
    assert clock.now == pytest.approx(10.2, abs=0.3)
    assert isinstance(log.events[-1], ev.RunStopped)


def test_an_unknown_arm_is_named() -> None:
    with pytest.raises(KeyError, match="no arm 'other'; its arms are default, migrated"):
        execute(specify(), "other")
