"""The plain load balancer."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.migration.least_loaded import LeastLoaded
from backend.model import events as ev


def least_loaded(**parameters: Any) -> LeastLoaded:
    return LeastLoaded(LeastLoaded.Parameters.model_validate(parameters))


def moves(made: Any) -> list[tuple[float, str, str, str | None]]:
    return [(e.time, e.job, e.source, e.target) for e in made.considered() if e.verdict == "migrate"]


def uneven(scene: Any, **parameters: Any) -> Any:
    """Four jobs on node-1 that started one after the other, one on node-2, none on node-3."""
    made = scene(least_loaded(**parameters))
    for number in range(4):
        made.run(f"job-{number}", "node-1", at=float(number))
    made.run("other", "node-2")
    return made


def test_the_youngest_job_of_the_fullest_node_goes_to_the_emptiest(scene: Any) -> None:
    made = uneven(scene)
    made.play(30.0, {})
    assert moves(made) == [(30.0, "job-3", "node-1", "node-3")]


def test_it_needs_no_reports_and_changes_no_category(scene: Any) -> None:
    made = uneven(scene)
    made.play(300.0, {})
    assert made.counts() == [2, 2, 1]
    assert not [event for event in made.events if isinstance(event, ev.CategoryChanged)]


def test_its_migrations_are_reported_under_their_own_cause(scene: Any) -> None:
    made = uneven(scene)
    made.play(30.0, {})
    assert [e.cause for e in made.events if isinstance(e, ev.MigrationStarted)] == ["load"]


def test_its_terms_are_jobs_and_cpu(scene: Any) -> None:
    made = uneven(scene)
    made.play(30.0, {})
    assert made.considered()[0].candidates == {
        "node-3": {"running": 0.0, "cpu_millis": 0.0, "gain": 3.0},
        "node-2": {"running": 1.0, "cpu_millis": 0.0, "gain": 2.0},
    }


@pytest.mark.parametrize(("budget", "counts"), [(1, [3, 1, 1]), (2, [2, 1, 2])])
def test_a_round_has_a_budget(scene: Any, budget: int, counts: list[int]) -> None:
    made = uneven(scene, budget=budget)
    made.play(30.0, {})
    assert sorted(made.counts()) == sorted(counts)


def test_what_the_budget_left_undone_is_said(scene: Any) -> None:
    made = uneven(scene)
    made.play(30.0, {})
    assert made.verdicts()[1:] == [(30.0, "job-2", "round-budget")]


def test_equal_numbers_of_jobs_are_told_apart_by_cpu(scene: Any) -> None:
    made = scene(least_loaded(), nodes=4)
    for node in (1, 2):
        for number in range(3):
            made.run(f"job-{node}-{number}", f"node-{node}")
    made.apply(ev.UsageSampled(0.0, ("node-1", "node-2", "node-3", "node-4"), (9e3, 16e3, 500.0, 400.0), (0.0,) * 4))
    made.play(30.0, {})
    assert moves(made) == [(30.0, "job-2-0", "node-2", "node-4")]


def test_jobs_that_may_not_move_are_passed_over(scene: Any) -> None:
    made = scene(least_loaded(), nodes=2)
    made.run("old", "node-1", at=0.0)
    made.run("middle", "node-1", at=1.0)
    made.run("young", "node-1", at=2.0, migratable=False)
    made.play(30.0, {})
    assert made.verdicts() == [(30.0, "young", "not-migratable"), (30.0, "middle", "migrate")]


def test_a_pod_that_has_not_started_does_not_move(scene: Any) -> None:
    made = scene(least_loaded(), nodes=2)
    made.run("old", "node-1", at=0.0)
    made.run("starting", "node-1", at=1.0, start=False)
    made.play(30.0, {})
    assert moves(made) == [(30.0, "old", "node-1", "node-2")]


def test_no_job_moves_twice(scene: Any) -> None:
    made = scene(least_loaded(), nodes=2)
    made.run("a", "node-1")
    made.run("b", "node-1")
    made.play(60.0, {})
    made.run("c", "node-2")
    made.run("d", "node-2")
    made.end("b" if made.state.jobs["a"].migrations else "a")
    made.play(300.0, {})
    moved = [move[1] for move in moves(made)]
    assert len(moved) == len(set(moved)) > 1


@pytest.mark.parametrize(("margin", "counts"), [(0, [2, 1]), (1, [2, 1]), (2, [3, 0])])
def test_the_margin(scene: Any, margin: int, counts: list[int]) -> None:
    made = scene(least_loaded(margin=margin), nodes=2)
    for number in range(3):
        made.run(f"job-{number}", "node-1")
    made.play(300.0, {})
    assert made.counts() == counts


def test_an_even_cluster_gives_no_verdict(scene: Any) -> None:
    made = scene(least_loaded())
    for number in (1, 2, 3):
        made.run(f"job-{number}", f"node-{number}")
    made.play(300.0, {})
    assert made.events == []


def test_a_node_that_takes_nobody_does_not_hide_the_others(scene: Any) -> None:
    """node-2 is empty and cordoned, so that only node-3 counts."""
    made = uneven(scene)
    made.end("other")
    node = made.state.nodes.nodes[1]
    made.apply(ev.NodeChanged(4.0, type(node)("node-2", node.cpu_millis, node.memory_bytes, unschedulable=True)))
    made.play(300.0, {})
    assert made.counts() == [2, 0, 2]
    assert {verdict for _, _, verdict in made.verdicts()} == {"migrate", "round-budget"}


@settings(max_examples=40, deadline=None)
@given(nodes=st.lists(st.integers(0, 7), min_size=1, max_size=6), budget=st.integers(1, 3))
def test_without_the_once_only_rule_it_ends_with_an_even_cluster(scene: Any, nodes: list[int], budget: int) -> None:
    made = scene(least_loaded(budget=budget, max_migrations=1000, cooldown=0), nodes=len(nodes))
    for node, count in enumerate(nodes, 1):
        for number in range(count):
            made.run(f"job-{node}-{number}", f"node-{node}")
    before = made.counts()
    made.play(30.0 * (sum(nodes) + 1), {})
    after = made.counts()
    assert max(after) - min(after) <= 1
    gains = sum(2 * (e.gain or 0.0) for e in made.considered() if e.verdict == "migrate")
    assert sum(n * n for n in before) - sum(n * n for n in after) == gains
