"""From a specification to a comparison, with nothing made by hand in between."""

import json
from typing import Any

import pytest

from backend.experiments.comparison import compare
from backend.experiments.execute import run_arm
from backend.experiments.measures import RunData
from backend.experiments.specification import Specification, parse
from backend.folds.summary import summarise
from backend.folds.tables import fold
from backend.model import events as ev


class Memory(list[ev.Event]):
    """A log in memory."""


SPECIFICATION = parse(
    {
        "name": "seven-jobs",
        "cluster": {"nodes": {"count": 3, "cpu": 8, "memory": "64Gi"}},
        "workload": {"models": ["lenet", "vae", "gru"], "submissions": {"at": [25, 43, 50, 65, 86, 142, 192]}},
        "both": True,
        "seeds": [1, 2],
    }
)


def ran(specification: Specification, arm: str, seed: int, pinned: Any = None) -> tuple[RunData, dict[str, str]]:
    log = Memory()
    outcome = run_arm(specification, arm, seed, log, pinned=pinned)
    tables = fold(log)
    row = {
        "id": f"{specification.name}.{arm}.s{seed}",
        "experiment": specification.name,
        "arm": arm,
        "seed": seed,
        "status": outcome.status,
        "summary": summarise(tables),
    }
    return RunData(row, specification, tables), outcome.placements


@pytest.fixture(scope="module")
def comparison() -> dict[str, Any]:
    defaults, migrated = [], []
    for seed in SPECIFICATION.seeds:
        first, placements = ran(SPECIFICATION, "default", seed)
        second, _ = ran(SPECIFICATION, "migrated", seed, placements)
        defaults.append(first)
        migrated.append(second)
    return compare(defaults, migrated)


def test_pinned_arms_of_one_experiment_are_comparable_in_every_respect(comparison: dict[str, Any]) -> None:
    assert [entry["check"] for entry in comparison["validity"] if not entry["ok"]] == []
    assert comparison["paired"]
    assert comparison["paired_charts"]


def test_every_measure_is_known(comparison: dict[str, Any]) -> None:
    unknown = [metric["name"] for metric in comparison["metrics"] if metric["difference"] is None]
    assert unknown == []
    assert all(metric["n"] == 2 and metric["ci95"] is not None for metric in comparison["metrics"])


def test_the_jobs_add_up_to_the_measures(comparison: dict[str, Any]) -> None:
    jobs = comparison["jobs"]
    assert len(jobs) == 7
    total = next(metric for metric in comparison["metrics"] if metric["name"] == "sum_completion_s")
    assert sum(job["difference_s"] for job in jobs) == pytest.approx(total["difference"])
    migrations = next(metric for metric in comparison["metrics"] if metric["name"] == "migrations")
    assert sum(job["migrations_b"] for job in jobs) == pytest.approx(migrations["b"])
    assert migrations["b"] > 0


def test_cpu_use_of_the_nodes_adds_up_to_the_work_done(comparison: dict[str, Any]) -> None:
    """Samples miss at most what lies behind the last one: 10 s of 24 cores."""
    total = comparison["nodes"][0]
    consumed = next(metric for metric in comparison["metrics"] if metric["name"] == "core_s")
    assert [entry["node"] for entry in comparison["nodes"]] == ["", "node-1", "node-2", "node-3"]
    for side in ("a", "b"):
        assert consumed[side] - 240 <= total[f"{side}_core_s"] <= consumed[side] + 1e-6


def test_only_the_migration_policy_differs(comparison: dict[str, Any]) -> None:
    differing = {entry["field"] for entry in comparison["configuration"] if entry["differs"]}
    assert "migration.name" in differing
    assert all(field.startswith("migration.") for field in differing)


def test_the_comparison_is_plain_json(comparison: dict[str, Any]) -> None:
    assert json.loads(json.dumps(comparison, allow_nan=False)) == comparison


def test_unpinned_arms_with_other_schedulers_say_that_jobs_started_elsewhere() -> None:
    arms = [{"name": "default"}, {"name": "random", "scheduler": "random"}]
    specification = parse(SPECIFICATION.to_mapping() | {"arms": arms, "pin_initial_placement": False, "seeds": [1]})
    found = compare([ran(specification, "default", 1)[0]], [ran(specification, "random", 1)[0]])
    failed = {entry["check"]: entry["detail"] for entry in found["validity"] if not entry["ok"]}
    assert list(failed) == ["initial_placement"]
    assert "jobs start on another node" in failed["initial_placement"]
    assert found["paired"]
    assert not found["paired_charts"]


def test_seeds_of_an_experiment_differ_in_workload_and_schedule() -> None:
    workload = {"models": ["lenet", "vae"], "jobs": 5, "submissions": {"poisson": {"mean_gap": 10}}}
    specification = parse(SPECIFICATION.to_mapping() | {"workload": workload})
    found = compare([ran(specification, "default", 1)[0]], [ran(specification, "default", 2)[0]])
    failed = [entry["check"] for entry in found["validity"] if not entry["ok"]]
    assert {"schedule", "seed"} <= set(failed)
    assert not found["paired"]
