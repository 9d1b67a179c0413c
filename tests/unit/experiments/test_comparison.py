"""Comparisons of small hand-made runs, with numbers worked out by hand."""

import json
from typing import Any

import pyarrow as pa
import pytest

from backend.experiments.comparison import compare
from backend.experiments.measures import RunData
from backend.experiments.specification import parse

Times = dict[str, float | None]

EMPTY_SUMMARY = {"downtime_s": 0.0, "migrations": 0, "rolled_back": 0, "lost_core_s": 0.0, "core_s": 0.0}


def run(
    times: Times,
    *,
    arm: str = "default",
    seed: int | None = 1,
    status: str = "finished",
    summary: dict[str, Any] | None = None,
    submitted: dict[str, float] | None = None,
    nodes: dict[str, str | None] | None = None,
    workload: str = "vae",
    outcome: str = "unfinished",
    migrations: dict[str, int] | None = None,
    **more: Any,
) -> RunData:
    """A run whose jobs took these completion times (None: did not finish); jobs arrive at 0, 10, 20 ... s."""
    names = list(times)
    jobs = {
        "job": names,
        "workload": [workload] * len(names),
        "submitted_s": [(submitted or {}).get(name, 10.0 * place) for place, name in enumerate(names)],
        "completion_s": list(times.values()),
        "waiting_s": [2.0] * len(names),
        "downtime_s": [3.0 * (migrations or {}).get(name, 0) for name in names],
        "migrations": [(migrations or {}).get(name, 0) for name in names],
        "first_node": [(nodes or {}).get(name, "node-1") for name in names],
        "outcome": ["finished" if time is not None else outcome for time in times.values()],
    }
    row = {
        "id": f"x.{arm}.s{seed}",
        "experiment": "x",
        "arm": arm,
        "seed": seed,
        "status": status,
        "summary": EMPTY_SUMMARY
        | {"makespan_s": max(((t or 0) for t in times.values()), default=None)}
        | (summary or {}),
    }
    tables: dict[str, Any] = {"jobs": pa.table(jobs)} | more.pop("tables", {})
    return RunData(row, more.pop("specification", None), tables)


def metric(comparison: dict[str, Any], name: str) -> dict[str, Any]:
    return next(entry for entry in comparison["metrics"] if entry["name"] == name)


def validity(comparison: dict[str, Any]) -> dict[str, bool]:
    return {entry["check"]: entry["ok"] for entry in comparison["validity"]}


def detail(comparison: dict[str, Any], check: str) -> str:
    return next(str(entry["detail"]) for entry in comparison["validity"] if entry["check"] == check)


A: Times = {"one": 100.0, "two": 200.0, "three": 300.0}
B: Times = {"one": 90.0, "two": 220.0, "three": 240.0}


@pytest.mark.parametrize(
    ("name", "a", "b", "difference", "percent"),
    [
        ("makespan_s", 300, 240, -60, -20),
        ("mean_completion_s", 200, 550 / 3, -50 / 3, -25 / 3),
        ("median_completion_s", 200, 220, 20, 10),
        ("p95_completion_s", 290, 238, -52, -52 / 290 * 100),
        ("max_completion_s", 300, 240, -60, -20),
        ("sum_completion_s", 600, 550, -50, -25 / 3),
        ("mean_waiting_s", 2, 2, 0, 0),
        ("mean_of_changes_percent", None, None, -20 / 3, -20 / 3),
    ],
)
def test_metrics_of_a_single_pair(name: str, a: float, b: float, difference: float, percent: float) -> None:
    """Changes of the jobs: -10 of 100 (-10 %), +20 of 200 (+10 %), -60 of 300 (-20 %); their mean is -20/3 %.

    The 95th percentile lies nine tenths of the way from the second to the third of three values.
    """
    found = metric(compare([run(A)], [run(B, arm="migrated")]), name)
    expected = [None if value is None else pytest.approx(value) for value in (a, b, difference, percent)]
    assert [found["a"], found["b"], found["difference"], found["percent"]] == expected
    assert (found["ci95"], found["n"], found["note"]) == (None, 1, "single run, no interval")


def test_jobs_of_a_single_pair() -> None:
    comparison = compare([run(A)], [run(B, arm="migrated", migrations={"three": 1})])
    rows = {row["job"]: row for row in comparison["jobs"]}
    assert list(rows) == ["one", "two", "three"]
    assert [row["difference_s"] for row in rows.values()] == [-10, 20, -60]
    assert [row["percent"] for row in rows.values()] == pytest.approx([-10, 10, -20])
    assert (rows["three"]["migrations_a"], rows["three"]["migrations_b"], rows["three"]["downtime_b_s"]) == (0, 1, 3)
    assert (comparison["faster"], comparison["slower"], comparison["equal"]) == (2, 1, 0)
    assert comparison["mean_of_changes_percent"] == pytest.approx(-20 / 3)


def test_a_single_pair_says_that_it_has_no_interval() -> None:
    comparison = compare([run(A)], [run(B)])
    assert comparison["note"] == "single run, no interval"
    assert "negative = B is faster" in comparison["sign"]
    assert all(entry["sign"].startswith(("negative", "positive")) for entry in comparison["metrics"])


def test_jobs_that_take_equally_long_are_neither_faster_nor_slower() -> None:
    comparison = compare([run(A)], [run(A | {"one": 100.0004, "two": 200.002})])
    assert (comparison["faster"], comparison["slower"], comparison["equal"]) == (0, 1, 2)


def test_seeds_are_paired_and_have_an_interval() -> None:
    """Makespans 300, 310, 320 against 240, 300, 250: differences -60, -10, -70 with mean -46.7 of 310 (-15.05 %)."""
    runs_a = [run(A | {"three": 290.0 + 10 * seed}, seed=seed) for seed in (1, 2, 3)]
    runs_b = [run(A | {"three": time}, seed=seed) for seed, time in ((3, 250.0), (1, 240.0), (2, 300.0))]
    comparison = compare(runs_a, runs_b)
    found = metric(comparison, "makespan_s")
    assert (found["a"], found["difference"], found["n"]) == (310, pytest.approx(-140 / 3), 3)
    assert found["percent"] == pytest.approx(-14_000 / 930)
    low, high = found["ci95"]
    assert -70 <= low < -140 / 3 < high <= -10
    assert [entry["seed"] for entry in comparison["per_seed"]] == [1, 2, 3]
    assert [entry["values"]["makespan_s"]["difference"] for entry in comparison["per_seed"]] == [-60, -10, -70]
    assert (comparison["per_seed"][2]["run_a"], comparison["per_seed"][2]["run_b"]) == ("x.default.s3", "x.default.s3")
    row = comparison["jobs"][2]
    assert (row["a_s"], row["b_s"], row["n"]) == (310, pytest.approx(790 / 3), 3)
    assert "3 pairs of runs, few for an interval" in comparison["note"]


def test_the_same_runs_give_the_same_interval() -> None:
    runs_a, runs_b = [run(A, seed=s) for s in (1, 2)], [run(A | {"one": 90.0 + s}, seed=s) for s in (1, 2)]
    assert compare(runs_a, runs_b) == compare(runs_a, runs_b)


def test_seeds_without_a_partner_are_left_out_and_named() -> None:
    comparison = compare([run(A, seed=1), run(A, seed=2)], [run(B, seed=2), run(B, seed=9)])
    assert metric(comparison, "makespan_s")["n"] == 1
    assert "x.default.s1, x.default.s9" in comparison["note"]
    assert not validity(comparison)["seed"]
    assert detail(comparison, "seed") == "A has 1, 2; B has 2, 9"


def test_no_common_seed_leaves_groups() -> None:
    comparison = compare([run(A, seed=1)], [run(B, seed=2)])
    assert not comparison["paired"]
    assert comparison["jobs"] == []
    assert comparison["faster"] is None
    assert metric(comparison, "makespan_s")["difference"] == -60
    assert "compared as groups, not job by job: no seed is on both sides" in comparison["note"]


def test_imported_runs_without_seed_are_a_pair() -> None:
    comparison = compare([run(A, seed=None, status="imported")], [run(B, seed=None, status="imported")])
    assert comparison["paired"]
    assert metric(comparison, "makespan_s")["difference"] == -60


# -- validity


def test_equal_conditions_are_stated() -> None:
    comparison = compare([run(A)], [run(B)])
    assert validity(comparison) == dict.fromkeys(["workload", "schedule", "initial_placement", "seed", "cluster"], True)
    assert comparison["paired_charts"]


def test_other_jobs_leave_groups() -> None:
    comparison = compare([run(A)], [run({"one": 90.0, "four": 10.0})])
    assert not validity(comparison)["workload"]
    assert detail(comparison, "workload") == "only in A: three, two; only in B: four"
    assert not comparison["paired"]
    assert comparison["jobs"] == []
    assert metric(comparison, "mean_completion_s")["a"] == 200
    assert "mean_of_changes_percent" not in [entry["name"] for entry in comparison["metrics"]]
    assert "the workloads differ" in comparison["note"]


def test_jobs_of_another_kind_leave_groups() -> None:
    comparison = compare([run(A)], [run(B, workload="gru")])
    assert detail(comparison, "workload").startswith("jobs of another kind: one (vae, gru)")
    assert not comparison["paired"]


def test_another_schedule_is_told_with_its_jobs() -> None:
    comparison = compare([run(A)], [run(B, submitted={"two": 15.0})])
    assert detail(comparison, "schedule") == "1 jobs arrive at other times: two (10 s, 15 s)"
    assert comparison["paired"]
    assert not comparison["paired_charts"]


def test_another_initial_placement_is_told_with_its_jobs() -> None:
    comparison = compare([run(A)], [run(B, nodes={"two": "node-2"})])
    assert detail(comparison, "initial_placement") == "1 of 3 jobs start on another node: two (node-1, node-2)"
    assert validity(comparison)["workload"]
    assert not comparison["paired_charts"]


def test_unknown_placements_are_no_equal_placements() -> None:
    unknown = dict.fromkeys(A, None)
    comparison = compare([run(A, nodes=unknown)], [run(B, nodes=unknown)])
    assert detail(comparison, "initial_placement") == "the first nodes are not known"


# -- runs and jobs that did not come to their end


def test_a_job_lost_by_one_arm_does_not_make_it_look_fast() -> None:
    """Without job three, A's mean is 150 and B's is 155; over whatever finished, B would have 155 against 200."""
    comparison = compare([run(A)], [run(B | {"three": None}, outcome="failed")])
    found = metric(comparison, "mean_completion_s")
    assert (found["a"], found["b"], found["difference"]) == (150, 155, 5)
    row = comparison["jobs"][2]
    assert (row["job"], row["a_s"], row["difference_s"], row["n"], row["note"]) == (
        "three",
        None,
        None,
        0,
        "failed in B",
    )
    assert "1 job is left out where it did not finish on both sides: three (failed in B)" in comparison["note"]
    assert (comparison["faster"], comparison["slower"]) == (1, 1)


def test_a_job_that_failed_in_one_seed_counts_in_the_others() -> None:
    runs_b = [run(B, seed=1), run(B | {"one": None}, seed=2)]
    row = compare([run(A, seed=1), run(A, seed=2)], runs_b)["jobs"][0]
    assert (row["n"], row["a_s"], row["b_s"], row["note"]) == (1, 100, 90, "unfinished in B")


def test_a_run_under_way_is_compared_so_far() -> None:
    partly = {"one": 90.0, "two": None}
    comparison = compare([run(A)], [run(partly, status="running", summary={"makespan_s": 90.0})])
    assert comparison["so_far"]
    assert comparison["note"].startswith("so far: x.default.s1 is still under way")
    assert validity(comparison)["workload"]
    assert metric(comparison, "makespan_s")["difference"] is None
    assert metric(comparison, "makespan_s")["note"] == "not known on both sides"
    assert metric(comparison, "mean_completion_s")["difference"] == -10
    assert {row["job"]: row["note"] for row in comparison["jobs"]} == {
        "one": "",
        "two": "unfinished in B",
        "three": "not in B so far",
    }


def test_a_job_that_only_a_run_under_way_has_is_another_workload() -> None:
    comparison = compare([run(A)], [run({"four": None}, status="running")])
    assert detail(comparison, "workload") == "only in B: four"


def test_a_stopped_run_is_named() -> None:
    comparison = compare([run(A)], [run({"one": 90.0}, status="stopped")])
    assert "not run to the end: x.default.s1 (stopped)" in comparison["note"]
    assert not comparison["so_far"]


def test_a_run_without_any_job_so_far_gives_no_numbers_and_no_error() -> None:
    comparison = compare([run(A)], [run({}, status="queued", summary={"makespan_s": None})])
    assert metric(comparison, "mean_completion_s")["difference"] is None
    assert json.dumps(comparison, allow_nan=False)


# -- the rest


def test_numbers_of_the_summary_are_taken_over() -> None:
    before = {"migrations": 0, "downtime_s": 0.0, "lost_core_s": 0.0, "fairness_jain": 0.8, "cpu_share_mean": 0.5}
    after = {"migrations": 2, "downtime_s": 9.5, "lost_core_s": 30.0, "fairness_jain": 0.9, "cpu_share_mean": 0.6}
    comparison = compare([run(A, summary=before)], [run(B, summary=after)])
    for name, value in after.items():
        assert metric(comparison, name)["b"] == value
    assert metric(comparison, "fairness_jain")["better"] == "higher"
    assert metric(comparison, "migrations")["percent"] is None  # no percentage of nothing


def test_cpu_use_of_nodes() -> None:
    """Samples are means since the one before: 10 s at 2 cores and 10 s at 4 of 4 cores make 60 core-s.

    The run's jobs lie between 5 and 20 s: of the first sample only half counts, which leaves 50 core-s of 60.
    """
    usage = {
        "time_s": [10.0, 10.0, 20.0, 20.0],
        "node": ["a", "b", "a", "b"],
        "cpu_millis": [2000.0, 0.0, 4000.0, 1000.0],
        "capacity_millis": [4000, 4000, 4000, 4000],
    }
    window = {"first_submitted_s": 5.0, "last_ended_s": 20.0, "cpu_share_mean": 0.5}
    comparison = compare(
        [run(A, summary=window, tables={"usage": pa.table(usage)})], [run(A, summary=window, tables={"usage": usage})]
    )
    total, first, second = comparison["nodes"]
    assert (first["node"], first["a_core_s"], first["a_share"]) == ("a", 50, pytest.approx(50 / 60))
    assert (second["node"], second["b_core_s"]) == ("b", 10)
    assert (total["label"], total["a_core_s"], total["a_share"], total["difference_share"]) == ("all nodes", 60, 0.5, 0)


def test_the_time_that_a_node_was_away_does_not_count() -> None:
    """Away from 12 to 35 s: its sample at 40 s is the mean of 5 s at 2 cores, not of the 30 s since the one before."""
    usage = {
        "time_s": [10.0, 40.0],
        "node": ["a", "a"],
        "cpu_millis": [1000.0, 2000.0],
        "capacity_millis": [4000, 4000],
    }
    nodes = {"node": ["a", "a"], "joined_s": [0.0, 35.0], "left_s": [12.0, None]}
    window = {"first_submitted_s": 0.0, "last_ended_s": 40.0}
    away = run(A, summary=window, tables={"usage": pa.table(usage), "nodes": pa.table(nodes)})
    node = compare([away], [away])["nodes"][1]
    assert node["a_core_s"] == 10 * 1 + 5 * 2
    assert node["a_share"] == pytest.approx(20 / 60)


def test_configuration_differences() -> None:
    specification = parse(
        {
            "name": "x",
            "cluster": {"nodes": {"cpu": 1, "memory": "1Gi"}},
            "workload": {"models": ["vae"], "submissions": {"at": [0, 10, 20]}},
            "both": True,
            "migration": {"name": "specon", "alpha": 0.2},
        }
    )
    comparison = compare([run(A, specification=specification)], [run(B, arm="migrated", specification=specification)])
    settings = {entry["field"]: entry for entry in comparison["configuration"]}
    assert (settings["migration.name"]["a"], settings["migration.name"]["b"]) == ("none", "specon")
    assert (settings["migration.alpha"]["a"], settings["migration.alpha"]["b"]) == (None, 0.2)
    assert settings["cluster.nodes.0.cpu"] == {"field": "cluster.nodes.0.cpu", "a": "1", "b": "1", "differs": False}
    differing = {field for field, entry in settings.items() if entry["differs"]}
    assert differing
    assert all(field.startswith("migration.") for field in differing)


def test_other_models_and_clusters_are_told() -> None:
    def specify(cpu: int, iterations: int) -> Any:
        return parse(
            {
                "name": "x",
                "cluster": {"nodes": {"cpu": cpu, "memory": "1Gi"}},
                "workload": {"jobs": [{"name": name, "model": "vae", "at": 0, "iterations": iterations} for name in A]},
                "arms": [{"name": "default"}],
            }
        )

    comparison = compare([run(A, specification=specify(1, 50))], [run(B, specification=specify(2, 60))])
    assert detail(comparison, "cluster") == "other nodes"
    assert detail(comparison, "workload").startswith("jobs with other models")
    assert not comparison["paired"]


def test_labels_name_the_experiment_where_it_differs() -> None:
    comparison = compare([run(A)], [run(B, arm="migrated")])
    assert (comparison["a"]["label"], comparison["b"]["label"]) == ("default", "migrated")
    other = run(B)
    other = RunData({**other.row, "experiment": "y"}, None, other.tables)
    assert compare([run(A)], [other])["b"]["label"] == "default (y)"


def test_the_comparison_is_plain_json() -> None:
    comparison = compare([run(A, seed=s) for s in (1, 2)], [run(B, seed=s) for s in (1, 2)])
    assert json.loads(json.dumps(comparison, allow_nan=False)) == comparison


@pytest.mark.parametrize(("a", "b"), [([], [run(A)]), ([run(A)], [])], ids=["no A", "no B"])
def test_an_empty_side_is_refused(a: list[RunData], b: list[RunData]) -> None:
    with pytest.raises(ValueError, match="at least one run"):
        compare(a, b)
