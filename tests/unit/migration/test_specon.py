"""SpeCon as a whole: monitors, rounds, rebalance, over many incarnations, by playing learning curves to it."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from backend.migration.specon import SpeCon
from backend.model import events as ev
from backend.model.actions import Wake
from backend.model.objects import Node, Pod


def specon(**parameters: Any) -> SpeCon:
    return SpeCon(SpeCon.Parameters.model_validate(parameters))


def steady(time: float) -> float:
    """Falls by the same amount for ever: every relative score is 1."""
    return 10_000.0 - time


def halving(time: float) -> float:
    """Falls to a half every 10 s: the relative scores are 1, .5, .25, .125, .06 (at 60 s), .03 (at 70 s) ..."""
    return 2.0 ** (-time / 10.0)


def flat(time: float) -> float:
    """One drop, then constant from 20 s on: scores 1, 0, 0, 0 at 20, 30, 40 and 50 s."""
    return 5.0 if time <= 10.0 else 3.0


# -- monitors


def test_a_curve_that_slows_down_is_watching_then_converged(scene: Any) -> None:
    made = scene(specon())
    made.run("job", "node-1")
    made.play(100.0, {"job": halving})
    assert made.categories("job") == [(60.0, "watching"), (70.0, "converged")]


def test_a_constant_metric_is_watching_then_converged_by_patience(scene: Any) -> None:
    made = scene(specon())
    made.run("job", "node-1")
    made.play(100.0, {"job": flat})
    assert made.categories("job") == [(30.0, "watching"), (50.0, "converged")]


def test_without_patience_a_constant_metric_stays_watching(scene: Any) -> None:
    made = scene(specon(patience=0))
    made.run("job", "node-1")
    made.play(500.0, {"job": flat})
    assert made.categories("job") == [(30.0, "watching")]


def test_a_rising_metric_is_classified_as_a_falling_one(scene: Any) -> None:
    made = scene(specon())
    made.run("job", "node-1")
    made.play(100.0, {"job": lambda time: 1.0 - halving(time)})
    assert made.categories("job") == [(60.0, "watching"), (70.0, "converged")]


def test_a_converged_job_that_speeds_up_is_progressing_at_once(scene: Any) -> None:
    """Learning-rate drop at 100 s."""
    made = scene(specon())
    made.run("job", "node-1")
    made.play(110.0, {"job": lambda time: halving(time) if time <= 100.0 else -1.0})
    assert made.categories("job")[-1] == (110.0, "progressing")


@pytest.mark.parametrize("value", [None, float("nan"), float("inf")], ids=["none", "nan", "inf"])
def test_a_job_that_says_nothing_keeps_its_category(scene: Any, value: float | None) -> None:
    made = scene(specon())
    made.run("job", "node-1")
    made.play(500.0, {"job": lambda time: halving(time) if time <= 60.0 else value})
    assert made.categories("job") == [(60.0, "watching")]


def test_a_job_without_any_report_is_progressing(scene: Any) -> None:
    made = scene(specon())
    made.run("job", "node-1")
    made.play(500.0, {})
    assert made.categories("job") == []


def test_a_new_job_is_never_flagged_before_two_scores(scene: Any) -> None:
    """Constant from the start: means at 10 and 20 s, scores at 20 and 30 s."""
    made = scene(specon(patience=2))
    made.run("job", "node-1")
    made.play(100.0, {"job": lambda _: 1.0})
    assert made.categories("job") == [(20.0, "watching"), (30.0, "converged")]


def test_long_epochs_are_watched_in_longer_windows(scene: Any) -> None:
    """Epochs of 25 s: windows of 50 s, so scores at 100 and 150 s at the earliest."""
    made = scene(specon(patience=2))
    made.run("job", "node-1")
    made.play(400.0, {"job": lambda time: 1.0 if time % 50.0 == 0.0 else None}, epoch_s=25.0)
    assert made.categories("job") == [(100.0, "watching"), (150.0, "converged")]


def test_a_change_of_category_says_why(scene: Any) -> None:
    made = scene(specon())
    made.run("job", "node-1")
    made.play(60.0, {"job": halving})
    change = made.events[0]
    assert (change.pod, change.node, change.before, change.threshold) == ("job", "node-1", "progressing", 0.1)
    assert (change.score, change.previous_score) == pytest.approx((0.0625, 0.125))
    assert change.reason == "score 0.0625 is not above 0.1: one more interval of grace"


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        pytest.param({"alpha": 0.3}, [(40.0, "watching"), (50.0, "converged")], id="alpha"),
        pytest.param({"interval": 20}, [(80.0, "watching"), (100.0, "converged")], id="interval"),
        pytest.param({"mode": "raw", "alpha": 0.01}, [(40.0, "watching"), (50.0, "converged")], id="mode"),
    ],
)
def test_parameters_of_the_monitor(scene: Any, parameters: dict[str, Any], expected: list[tuple[float, str]]) -> None:
    made = scene(specon(**parameters))
    made.run("job", "node-1")
    made.play(100.0, {"job": halving})
    assert made.categories("job")[:2] == expected


# -- rounds


def test_the_first_round_after_convergence_moves_the_job(scene: Any) -> None:
    made = scene(specon())
    made.run("slow", "node-1")
    made.run("fast-1", "node-1")
    made.run("fast-2", "node-1")
    made.play(200.0, {"slow": halving, "fast-1": steady, "fast-2": steady})
    assert made.verdicts() == [(90.0, "slow", "migrate"), (120.0, "slow", "already-migrated")]
    assert made.state.jobs["slow"].pod == "slow-migrated"


def test_monitors_look_before_the_round_of_the_same_time(scene: Any) -> None:
    """Converged at 50 s with interval 10; the round of 50 s sees it, although its timer was asked for earlier."""
    made = scene(specon(round=50))
    made.run("slow", "node-1")
    made.run("fast-1", "node-1")
    made.run("fast-2", "node-1")
    made.play(50.0, {"slow": flat, "fast-1": steady, "fast-2": steady})
    assert made.verdicts() == [(50.0, "slow", "migrate")]


def test_nodes_are_taken_by_name_and_their_jobs_longest_converged_first(scene: Any) -> None:
    made = scene(specon(round=90, budget=9, margin=99))
    made.run("b-late", "node-1")
    made.run("c-early", "node-1")
    made.run("a-other", "node-2")
    for node in ("node-1", "node-2"):
        made.run(f"fast-{node}", node)
    curves: dict[str, Callable[[float], float]] = {"fast-node-1": steady, "fast-node-2": steady}
    made.play(90.0, curves | {"b-late": halving, "c-early": flat, "a-other": flat})
    assert [job for _, job, _ in made.verdicts()] == ["c-early", "b-late", "a-other"]  # since 50, 70 and 50 s


def test_a_round_has_a_budget_of_one(scene: Any) -> None:
    made = scene(specon())
    for number in range(4):
        made.run(f"slow-{number}", "node-1")
    made.run("fast", "node-1")
    made.play(60.0, {f"slow-{number}": flat for number in range(4)} | {"fast": steady})
    assert [verdict for _, _, verdict in made.verdicts()] == ["migrate"] + ["round-budget"] * 3


def test_nobody_moves_where_nobody_progresses(scene: Any) -> None:
    made = scene(specon())
    for number in range(5):
        made.run(f"slow-{number}", "node-1")
    made.play(1000.0, {f"slow-{number}": flat for number in range(5)})
    assert {verdict for _, _, verdict in made.verdicts()} == {"nobody-to-help"}


def test_a_refused_job_is_looked_at_again_and_moves_later(scene: Any) -> None:
    """As job11, job13 and job10 of the authors' log (section 1.5)."""
    made = scene(specon(), nodes=2)
    curves: dict[str, Callable[[float], float]] = {"slow": flat, "fast": steady, "other": steady}
    made.run("slow", "node-1")
    made.run("fast", "node-1")
    made.run("other", "node-2")
    made.play(100.0, curves)
    made.end("other")
    made.run("late", "node-1")
    made.play(200.0, curves | {"late": steady})
    assert made.verdicts()[:2] == [(60.0, "slow", "no-better-node"), (120.0, "slow", "migrate")]


def test_a_job_that_converges_anew_is_refused_anew(scene: Any) -> None:
    made = scene(specon())
    made.run("slow", "node-1")
    made.play(400.0, {"slow": lambda time: 3.0 if time <= 200.0 else 1.0})
    assert [verdict for _, _, verdict in made.verdicts()] == ["nobody-to-help"] * 2


def test_timers_rest_while_nothing_runs(scene: Any) -> None:
    policy = specon()
    made = scene(policy)
    made.run("job", "node-1")
    made.play(30.0, {"job": steady})
    made.end("job")
    assert list(policy.handle(ev.TimerFired(40.0, "specon"), made.state)) == []
    made.state.time = 95.0
    started = ev.PodStarted(95.0, "late", "node-1")
    for event in (ev.JobSubmitted(95.0, made.state.jobs["job"].job), ev.PodCreated(95.0, Pod("late", "job")), started):
        made.state.apply(event)
    assert list(policy.handle(started, made.state)) == [Wake(100.0, "specon")]


def test_a_foreign_timer_is_ignored(scene: Any) -> None:
    policy = specon()
    made = scene(policy)
    made.run("job", "node-1")
    assert list(policy.handle(ev.TimerFired(1e6, "migration-1-stop"), made.state)) == []


def test_a_round_without_slow_jobs_costs_no_look_at_the_nodes(scene: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made = scene(specon())
    made.run("job", "node-1")
    monkeypatch.setattr("backend.migration.specon.Picture", None)
    made.play(120.0, {"job": steady})
    assert made.events == []


# -- incarnations


def migrated_job(scene: Any, **parameters: Any) -> Any:
    made = scene(specon(**parameters))
    made.run("slow", "node-1")
    made.run("fast-1", "node-1")
    made.run("fast-2", "node-1")
    made.play(90.0, {"slow": halving, "fast-1": steady, "fast-2": steady})
    assert made.state.jobs["slow"].pod == "slow-migrated"
    return made


def test_the_new_pod_has_the_category_of_the_old_one(scene: Any) -> None:
    made = migrated_job(scene)
    assert made.state.pods["slow-migrated"].category == "converged"
    changes = [event for event in made.events if isinstance(event, ev.CategoryChanged) and event.pod == "slow-migrated"]
    assert [(change.node, change.reason) for change in changes] == [
        ("node-2", "slow keeps the category of its pod before")
    ]


def test_the_new_pod_is_scored_against_the_peak_of_the_old_one(scene: Any) -> None:
    """Slow for its own peak: .001 a second, against .05 at its beginning."""
    made = migrated_job(scene)
    made.play(300.0, {"slow": lambda time: -0.0001 * time, "fast-1": steady, "fast-2": steady})
    assert made.state.pods["slow-migrated"].category == "converged"


def test_no_score_spans_the_gap_between_two_pods(scene: Any) -> None:
    """A job that lost all its work begins at the top of its curve again: that jump is no progress to be its peak."""
    made = scene(specon())
    made.run("job", "node-1")
    made.play(50.0, {"job": steady})
    made.apply(
        ev.PodEvicted(50.0, "job", "node-1", "deleted"),
        ev.PodCreated(50.0, Pod("job-restarted", "job", 1)),
        ev.PodBound(50.0, "job-restarted", "node-1"),
        ev.PodStarted(50.0, "job-restarted", "node-1"),
    )
    made.play(200.0, {"job": lambda time: 1e6 + steady(time)})
    assert made.categories("job") == []


def test_the_number_of_migrations_is_kept_over_a_lost_node(scene: Any) -> None:
    made = migrated_job(scene)
    made.apply(
        ev.NodeRemoved(90.0, "node-2", "failed"),
        ev.PodEvicted(90.0, "slow-migrated", "node-2", "node lost"),
        ev.PodCreated(90.0, Pod("slow-restarted", "slow", 2)),
        ev.PodBound(90.0, "slow-restarted", "node-1"),
        ev.PodStarted(90.0, "slow-restarted", "node-1"),
    )
    made.play(300.0, {"slow": halving, "fast-1": steady, "fast-2": steady})
    assert made.verdicts()[-1][1:] == ("slow", "already-migrated")


def test_a_job_that_has_ended_is_forgotten(scene: Any) -> None:
    made = migrated_job(scene)
    for job in ("slow", "fast-1", "fast-2"):
        made.end(job)
    policy = made.policy
    assert not (policy._jobs or policy._running or policy._slow or policy._meters)


# -- rebalance


def idle_late_in_the_run(scene: Any, **parameters: Any) -> Any:
    """Three jobs that have converged on node-1, nobody to help, node-2 empty."""
    made = scene(specon(**parameters), nodes=2)
    for number in range(3):
        made.run(f"slow-{number}", "node-1")
    return made


CONVERGED = {f"slow-{number}": flat for number in range(3)}


def test_rebalance_is_off_by_default(scene: Any) -> None:
    made = idle_late_in_the_run(scene)
    made.play(600.0, CONVERGED)
    assert made.counts() == [3, 0]


def test_rebalance_fills_an_idle_node_under_its_own_cause(scene: Any) -> None:
    made = idle_late_in_the_run(scene, rebalance=True)
    made.play(600.0, CONVERGED)
    assert made.counts() == [2, 1]
    moves = [event for event in made.events if isinstance(event, ev.MigrationStarted)]
    assert [(move.job, move.cause) for move in moves] == [("slow-0", "rebalance")]


def test_rebalance_waits_where_the_round_has_moved_a_job_to_help_another(scene: Any) -> None:
    made = scene(specon(rebalance=True, budget=5, round=60), nodes=4)
    for number in range(6):
        made.run(f"slow-{number}", "node-1")
    made.run("fast", "node-2")
    made.run("other", "node-2")
    made.run("late", "node-2")
    made.play(60.0, {f"slow-{number}": flat for number in range(6)} | {"fast": steady, "late": steady, "other": flat})
    moves = [event for event in made.considered() if event.verdict == "migrate"]
    assert [(move.job, move.cause) for move in moves] == [("other", "converged")]


def test_rebalance_never_takes_a_progressing_job(scene: Any) -> None:
    made = scene(specon(rebalance=True), nodes=2)
    for number in range(4):
        made.run(f"fast-{number}", "node-1")
    made.play(600.0, {f"fast-{number}": steady for number in range(4)})
    assert made.counts() == [4, 0]


@pytest.mark.parametrize(
    ("jobs", "node"),
    [
        pytest.param(1, Node("node-2", 16_000, 64 * 2**30), id="nothing to gain"),
        pytest.param(3, Node("node-2", 16_000, 64 * 2**30, unschedulable=True), id="the idle node is cordoned"),
    ],
)
def test_rebalance_brings_nobody_up_where_no_idle_node_can_gain(scene: Any, jobs: int, node: Node) -> None:
    made = scene(specon(rebalance=True), nodes=1)
    made.apply(ev.NodeAdded(0.0, node))
    for number in range(jobs):
        made.run(f"slow-{number}", "node-1")
    made.play(600.0, CONVERGED)
    assert {event.cause for event in made.considered()} == {"converged"}


def test_an_empty_node_is_idle_whatever_its_cpu_use(scene: Any) -> None:
    made = idle_late_in_the_run(scene, rebalance=True, low_cpu=0)
    made.apply(ev.UsageSampled(0.0, ("node-2",), (8000.0,), (0.0,)))
    made.play(600.0, CONVERGED)
    assert made.counts() == [2, 1]


def test_rebalance_prefers_converged_jobs_and_takes_watching_ones(scene: Any) -> None:
    made = scene(specon(rebalance=True, patience=0), nodes=3)
    made.run("a-watching", "node-1")
    made.run("b-converged", "node-1")
    made.run("c-watching", "node-1")
    made.play(120.0, {"a-watching": flat, "b-converged": halving, "c-watching": flat})
    moved = [(event.time, event.job) for event in made.considered() if event.verdict == "migrate"]
    assert moved[0] == (30.0, "a-watching")  # at 30 s both have just become watching: by name
    made = scene(specon(rebalance=True, patience=0, round=90), nodes=2)
    made.run("a-watching", "node-1")
    made.run("b-converged", "node-1")
    made.run("c-watching", "node-1")
    made.play(120.0, {"a-watching": flat, "b-converged": halving, "c-watching": flat})
    moved = [(event.time, event.job) for event in made.considered() if event.verdict == "migrate"]
    assert moved == [(90.0, "b-converged")]


@pytest.mark.parametrize(("low_cpu", "counts"), [(0.1, [4, 1]), (0.3, [3, 2])])
def test_a_node_that_hardly_works_counts_as_idle(scene: Any, low_cpu: float, counts: list[int]) -> None:
    """node-2 runs one job and uses a quarter of its CPU."""
    made = scene(specon(rebalance=True, low_cpu=low_cpu), nodes=2)
    for number in range(4):
        made.run(f"slow-{number}", "node-1")
    made.run("other", "node-2")
    made.apply(ev.UsageSampled(0.0, ("node-1", "node-2"), (16_000.0, 4000.0), (0.0, 0.0)))
    made.play(600.0, {f"slow-{number}": flat for number in range(4)} | {"other": flat})
    assert made.counts() == counts


def test_rebalance_uses_the_budget_of_the_round(scene: Any) -> None:
    made = scene(specon(rebalance=True, budget=2), nodes=3)
    for number in range(5):
        made.run(f"slow-{number}", "node-1")
    made.play(30.0, {f"slow-{number}": flat for number in range(5)})
    assert made.counts() == [3, 1, 1]


# -- properties


@settings(max_examples=40, deadline=None)
@given(
    jobs=st.lists(
        st.tuples(st.integers(1, 4), st.sampled_from([steady, halving, flat]), st.booleans()), min_size=1, max_size=14
    ),
    rebalance=st.booleans(),
    budget=st.integers(1, 3),
)
def test_moves_without_arrivals_come_to_an_end_and_no_job_moves_twice(
    scene: Any, jobs: list[tuple[int, Any, bool]], rebalance: bool, budget: int
) -> None:
    made = scene(specon(rebalance=rebalance, budget=budget), nodes=4)
    for number, (node, _, migratable) in enumerate(jobs):
        made.run(f"job-{number}", f"node-{node}", migratable=migratable)
    curves = {f"job-{number}": curve for number, (_, curve, _) in enumerate(jobs)}
    before = made.counts()
    made.play(1200.0, curves)
    moves = [event for event in made.considered() if event.verdict == "migrate"]
    assert len({move.job for move in moves}) == len(moves)
    assert all(jobs[int(move.job.removeprefix("job-"))][2] for move in moves)
    assert sum(n * n for n in before) - sum(n * n for n in made.counts()) == sum(2 * (m.gain or 0.0) for m in moves)
    per_round: dict[int, int] = {}
    for move in moves:
        per_round[move.round] = per_round.get(move.round, 0) + 1
    assert all(count <= budget for count in per_round.values())
    started = len(made.events)
    made.play(2400.0, curves)
    late = [event for event in made.events[started:] if isinstance(event, ev.MigrationStarted)]
    assert late == []


# -- parameters


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        pytest.param({"alpha": -0.1}, "greater than or equal to 0", id="alpha below 0"),
        pytest.param({"alpha": float("nan")}, "finite", id="alpha nan"),
        pytest.param({"alpha": True}, "not true or false", id="alpha true"),
        pytest.param({"interval": 0}, "greater than or equal to 0.01", id="interval 0"),
        pytest.param({"round": float("inf")}, "finite", id="round infinite"),
        pytest.param({"mode": "absolute"}, "'relative', 'raw'", id="unknown mode"),
        pytest.param({"patience": 1}, "0 .off. or at least 2", id="patience 1"),
        pytest.param({"budget": 0}, "greater than or equal to 1", id="budget 0"),
        pytest.param({"low_cpu": 1.5}, "less than or equal to 1", id="low_cpu above 1"),
        pytest.param({"alfa": 0.1}, "Extra inputs", id="unknown name"),
    ],
)
def test_bad_parameters_are_refused(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        SpeCon.Parameters.model_validate(parameters)
