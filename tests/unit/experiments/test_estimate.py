"""The estimate of how long an experiment takes."""

from typing import Any

import pytest

from backend.experiments.estimate import estimate
from backend.experiments.specification import Specification, parse

MODEL = {"name": "m", "iterations": 100, "core_s_per_iteration": 10, "parallelism": 4, "work_spread": 0}
"""1,000 core-seconds on 4 cores: 250 s alone."""


def specify(jobs: int, gap: float, **changes: Any) -> Specification:
    document = {
        "name": "x",
        "cluster": {"nodes": {"count": 2, "cpu": 8, "memory": "64Gi"}},
        "workload": {"models": [MODEL], "jobs": jobs, "submissions": {"every": gap}},
        "arms": [{"name": "a"}, {"name": "b"}],
    }
    return parse(document | changes)


def test_few_jobs_last_as_long_as_the_last_one_alone() -> None:
    assert estimate(specify(2, 100)).simulated_s == pytest.approx(200 + 250)


def test_many_jobs_last_as_long_as_their_work_takes_all_processors() -> None:
    assert estimate(specify(160, 1)).simulated_s == pytest.approx(160 * 1000 / 16)


def test_a_limit_cuts_the_length() -> None:
    assert estimate(specify(160, 1, until=500)).simulated_s == 500


def test_a_paced_run_takes_its_length_by_its_speed() -> None:
    found = estimate(specify(2, 100, speed=45))
    assert found.run_s == pytest.approx(10)
    assert found.total_s == pytest.approx(20)


def test_several_processes_share_the_runs() -> None:
    one, four = (estimate(specify(2, 100, seeds=4), processes).total_s for processes in (1, 4))
    assert one == pytest.approx(4 * four)


def test_more_jobs_take_longer() -> None:
    assert estimate(specify(20_000, 1)).run_s > 10 * estimate(specify(500, 1)).run_s
