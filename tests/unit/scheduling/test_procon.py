"""ProCon on a state that is built by events: nodes of 16 cores (1600 %), jobs that report CPU and iteration times."""

import random
from collections.abc import Mapping
from typing import Any, Literal

import pytest

from backend.model import events as ev
from backend.model.objects import Job, Node, Pod
from backend.scheduling.procon import ProConScheduler
from tests.unit.scheduling.small_world import GIB, cluster, job, node, pending

Report = tuple[float, float, float]
"""Cores in use, iterations completed, seconds of the last iteration."""


class World:
    """Applies events as a controller does: the state first, then the scheduler sees them."""

    def __init__(self, mode: Literal["paper", "corrected"], *nodes: str | Node, **parameters: Any) -> None:
        self.state = cluster()
        self.policy = ProConScheduler(ProConScheduler.Parameters(mode=mode, **parameters), random.Random(1))
        self.happen(*[ev.NodeAdded(0.0, one if isinstance(one, Node) else node(one, 16, 64)) for one in nodes])

    def happen(self, *events: ev.Event) -> None:
        for event in events:
            self.state.apply(event)
            self.policy.observe(event, self.state)

    def run(self, name: str, on: str, total: int | None, at: float = 0.0, workload: str = "lenet") -> None:
        """A job starts on a node and is silent so far."""
        self.happen(
            ev.JobSubmitted(at, Job(name, workload, iterations=total)),
            ev.PodCreated(at, Pod(name, name)),
            ev.PodBound(at, name, on),
            ev.PodStarted(at, name, on),
        )

    def report(self, at: float, says: Mapping[str, Report]) -> None:
        cores, done, seconds = zip(*says.values(), strict=True)
        cpu = tuple(1000.0 * one for one in cores)
        self.happen(ev.ProgressReported(at, tuple(says), done, (1.0,) * len(says), cpu, seconds))

    def settle(self, at: float, says: Mapping[str, Report]) -> None:
        """Two equal reports: from now on these numbers are used."""
        self.report(at - 1, says)
        self.report(at, says)

    def finish(self, name: str, at: float, core_s: float, **fields: Any) -> None:
        on = self.state.pods[name].node or ""
        self.happen(ev.PodFinished(at, name, on, core_s=core_s, **fields), ev.JobFinished(at, name))

    def place(self, at: float, workload: str = "new", **asks: Any) -> ev.DecisionMade:
        name = f"new-{len(self.state.jobs)}"
        return self.policy.place(pending(self.state, job(name, 0, 0, workload, **asks), at), self.state)


def costs(decision: ev.DecisionMade) -> dict[str, float]:
    return dict(zip(decision.nodes, decision.scores[0].normalised, strict=True))


GOLDEN: dict[str, Report] = {"a": (8, 40, 2), "b": (4, 45, 4)}


def golden(mode: Literal["paper", "corrected"], *nodes: str, **parameters: Any) -> World:
    """The specification's example on the first node: A has 60 of 100 to go, B 5 of 50."""
    world = World(mode, *nodes, **parameters)
    world.run("a", nodes[0], 100)
    world.run("b", nodes[0], 50)
    world.settle(20, GOLDEN)
    return world


# -- mode paper


def test_the_golden_example_times_the_number_of_jobs() -> None:
    """C = 241 and C' = C x n = 482."""
    assert costs(golden("paper", "n1").place(20)) == {"n1": 482.0}


def test_an_empty_node_costs_nothing_and_wins() -> None:
    decision = golden("paper", "n1", "n2").place(20)
    assert (decision.node, costs(decision)) == ("n2", {"n2": 0.0, "n1": 482.0})


def test_a_job_with_one_report_is_silent_still() -> None:
    """10 s since it was placed x 1 job x 7 iterations; 1 + 70, times 1 job."""
    world = World("paper", "n1")
    world.run("a", "n1", 7, at=0)
    world.report(5, {"a": (4, 3, 1.0)})
    assert costs(world.place(10)) == {"n1": 71.0}


def test_a_silent_job_scales_the_use_up_and_counts_by_its_age() -> None:
    """a: 8 cores of 2 jobs make 1600 %; 1 s / (800 / 1600) x 10 = 20. b: 5 s x 2 x 3 = 30. (1 + 50) x 2."""
    world = World("paper", "n1")
    world.run("a", "n1", 50)
    world.settle(15, {"a": (8, 40, 1)})
    world.run("b", "n1", 3, at=15)
    assert costs(world.place(20)) == {"n1": 102.0}


def test_a_pod_placed_a_moment_ago_counts() -> None:
    """Its node is only reserved: no time has passed, so C = 1, but n = 1."""
    world = World("paper", "n1", "n2")
    world.happen(world.place(5))
    assert costs(world.place(5)) == {"n2": 0.0, "n1": 1.0}


def test_a_finished_job_is_gone() -> None:
    world = golden("paper", "n1")
    world.finish("a", 21, core_s=800)
    # b alone: used 400 %, 4 s / 1 x 5 = 20; (1 + 20) x 1
    assert costs(world.place(21)) == {"n1": 21.0}


def test_an_evicted_job_is_gone() -> None:
    """A defect of the authors' scheduler, which a deleted pod kills."""
    world = golden("paper", "n1")
    world.happen(ev.PodEvicted(21, "a", "n1", "migration"))
    assert costs(world.place(21)) == {"n1": 21.0}


def test_a_new_pod_of_an_evicted_job_is_silent_at_first() -> None:
    """Its 100 iterations x 3 s since it was bound; b is reported: 800 % / 2 jobs, 4 / .5 x 5 = 40. (1 + 640) x 2."""
    world = golden("paper", "n1")
    world.happen(
        ev.PodEvicted(21, "a", "n1", "migration"),
        ev.PodCreated(21, Pod("a-migrated", "a", 1, "n1")),
        ev.PodBound(21, "a-migrated", "n1"),
    )
    assert costs(world.place(24)) == {"n1": (1 + 3 * 2 * 100 + 40) * 2}


def test_a_job_that_says_no_total_has_one_iteration_to_go() -> None:
    """2 s / 1 x 1, plus 1."""
    world = World("paper", "n1")
    world.run("a", "n1", None)
    world.settle(20, {"a": (8, 40, 2)})
    assert costs(world.place(20)) == {"n1": 3.0}


def test_the_last_iteration_time_counts_not_its_mean() -> None:
    """5 s / 1 x 60 + 1."""
    world = World("paper", "n1")
    world.run("a", "n1", 100)
    world.report(10, {"a": (8, 39, 1)})
    world.report(20, {"a": (8, 40, 5)})
    assert costs(world.place(20)) == {"n1": 301.0}


def test_a_node_out_of_limit_is_passed_over() -> None:
    """1200 % is more than 0.7 x 1600 %; n2 costs (1 + 1 s x 1000) x 1 and is taken for want of a better one."""
    world = golden("paper", "n1", "n2", alpha=0.7)
    world.run("c", "n2", 1000, at=19)
    decision = world.place(20)
    assert (decision.node, decision.nodes) == ("n2", ("n2",))
    assert decision.reason == (
        "bound to n2: estimated cost 1001 with 1 job there, the only one to choose from; 1 more are out of limit"
    )


def test_with_alpha_one_no_node_is_out_of_limit() -> None:
    """As shipped: the use is capped at all of the node, and only more than that would be too much."""
    world = World("paper", "n1")
    world.run("a", "n1", 100)
    world.settle(20, {"a": (16, 40, 2)})
    assert "out of limit" not in world.place(20).reason


def test_all_out_of_limit_fall_back_to_equal_shares() -> None:
    """n1: n = 2, 2 s x 2 x 60 + 4 s x 2 x 5 = 280, (1 + 280) x 2 = 562. n2: n = 1, 1 s x 1 x 90, 91 x 1."""
    world = golden("paper", "n1", "n2", alpha=0.7)
    world.run("c", "n2", 100)
    world.settle(20, {"c": (16, 10, 1)})
    decision = world.place(20)
    assert (decision.node, costs(decision)) == ("n2", {"n2": 91.0, "n1": 562.0})
    assert decision.reason == (
        "bound to n2: estimated cost 91 with 1 job there, the lowest of 2; all 2 feasible nodes are out of limit"
    )


@pytest.mark.parametrize(
    ("cores", "finished", "expected"),
    [
        pytest.param((8, 8), ("n1", "n2"), "n1", id="equal in all: the name"),
        pytest.param((8, 4), ("n1", "n2"), "n2", id="less CPU in use"),
    ],
)
def test_equal_costs_are_decided_by_use_then_name(
    cores: tuple[float, float], finished: tuple[str, str], expected: str
) -> None:
    """A single job always has all of what is used: P is its iteration time x 10 on either node."""
    world = World("paper", "n2", "n1")
    for on, used in zip(finished, cores, strict=True):
        world.run(f"on-{on}", on, 100)
        world.settle(20, {f"on-{on}": (used, 90, 2)})
    decision = world.place(20)
    assert (decision.node, set(costs(decision).values())) == (expected, {21.0})


def test_equal_costs_and_uses_are_decided_by_the_number_of_jobs() -> None:
    """n1: jobs just bound, two of them, C = 1, C' = 2. n2: one job, silent for 1 s, total 1: C = 2, C' = 2."""
    world = World("paper", "n1", "n2")
    world.run("c", "n2", 1, at=19)
    world.run("a", "n1", 100, at=20)
    world.run("b", "n1", 100, at=20)
    decision = world.place(20)
    assert (decision.node, costs(decision)) == ("n2", {"n1": 2.0, "n2": 2.0})


# -- mode corrected


def test_work_left_is_shared_with_the_new_job() -> None:
    """a: 8 x 2 x 60 = 960 core-s, b: 4 x 4 x 5 = 80; the new one: the median, 520. On 16 cores all three end at
    80 x 3 / 16 = 15, then 440 x 2 / 16 = 55 later at 70, then 440 / 16 = 27.5 later at 97.5; 1 + 15 + 70 + 98."""
    assert costs(golden("corrected", "n1").place(20)) == {"n1": 184.0}


def test_the_new_job_counts_itself_on_an_empty_node() -> None:
    """520 core-s on 16 cores end at 32.5."""
    assert costs(golden("corrected", "n1", "n2").place(20)) == {"n2": 34.0, "n1": 184.0}


def test_iteration_times_are_smoothed() -> None:
    """1 s, then 5 s with weight 0.25: 2 s. 8 x 2 x 60 = 960 for it and, as the median, for the new one: both 120."""
    world = World("corrected", "n1", smoothing=0.25)
    world.run("a", "n1", 100)
    world.report(10, {"a": (8, 39, 1)})
    world.report(20, {"a": (8, 40, 5)})
    assert costs(world.place(20)) == {"n1": 241.0}


def test_while_nothing_is_known_the_number_of_jobs_decides() -> None:
    world = World("corrected", "n1", "n2")
    for name, on in (("a", "n1"), ("b", "n1"), ("c", "n2")):
        world.run(name, on, 100)
    assert world.place(20).node == "n2"


def test_silent_jobs_do_not_grow_with_their_age() -> None:
    world = World("corrected", "n1")
    world.run("a", "n1", 150)
    assert costs(world.place(5)) == costs(world.place(500))


def test_a_silent_job_has_the_work_of_finished_ones_of_its_kind() -> None:
    """A lenet took 320 core-s; b is one, the new one is one: both end at 2 x 320 / 16 = 40."""
    world = World("corrected", "n1")
    world.run("a", "n1", 100)
    world.finish("a", 30, core_s=320)
    world.run("b", "n1", 100, at=30)
    assert costs(world.place(31, workload="lenet")) == {"n1": 81.0}


def test_history_is_a_moving_average() -> None:
    """320, then 480 with weight 0.5: 400 core-s end at 25."""
    world = World("corrected", "n1", smoothing=0.5)
    for name, took in (("a", 320), ("b", 480)):
        world.run(name, "n1", 100)
        world.finish(name, 30, core_s=took)
    assert costs(world.place(31, workload="lenet")) == {"n1": 26.0}


def test_history_counts_a_whole_job_where_a_pod_began_from_a_checkpoint() -> None:
    """The last 75 of 100 iterations took 240 core-s: 320 for all, which end at 20."""
    world = World("corrected", "n1")
    world.happen(
        ev.JobSubmitted(0, Job("a", "lenet", iterations=100)),
        ev.PodCreated(0, Pod("a", "a")),
        ev.PodBound(0, "a", "n1"),
        ev.PodStarted(0, "a", "n1", iteration=25),
    )
    world.finish("a", 30, core_s=240)
    assert costs(world.place(31, workload="lenet")) == {"n1": 21.0}


def test_a_failed_job_teaches_nothing() -> None:
    world = World("corrected", "n1")
    world.run("a", "n1", 100)
    world.finish("a", 30, core_s=320, succeeded=False)
    assert costs(world.place(31, workload="lenet")) == {"n1": 2.0}


def test_without_history_the_work_of_a_kind_is_projected_from_a_running_one() -> None:
    """a has done 60 of 100 and has 8 x 1 x 40 = 320 left, so 800 in all. n2: 800 / 16 = 50."""
    world = World("corrected", "n1", "n2")
    world.run("a", "n1", 100)
    world.settle(20, {"a": (8, 60, 1)})
    assert costs(world.place(20, workload="lenet"))["n2"] == 51.0


def test_what_was_learnt_since_the_last_decision_counts() -> None:
    world = World("corrected", "n1")
    world.run("a", "n1", 100)
    before = costs(world.place(10))
    world.settle(20, GOLDEN | {"a": (8, 60, 1)})
    # 320 left, and as much for each of the new ones that is there by the median
    assert (before, costs(world.place(20))) == ({"n1": 3.0}, {"n1": 81.0})


def test_what_a_job_that_ended_since_the_last_decision_took_counts() -> None:
    world = World("corrected", "n1")
    world.run("a", "n1", 100)
    before = costs(world.place(10, workload="lenet"))
    world.finish("a", 30, core_s=320)
    assert (before, costs(world.place(31, workload="lenet"))) == ({"n1": 3.0}, {"n1": 21.0})


@pytest.mark.parametrize(
    ("cores", "limited"),
    [
        pytest.param((8.0, 7.9), False, id="a tenth of a core free"),
        pytest.param((8.0, 8.0), True, id="all in use"),
        pytest.param((16 / 3, 16 / 3, 16 / 3 - 1e-12), True, id="all but for rounding"),
    ],
)
def test_a_full_node_is_out_of_limit(cores: tuple[float, ...], limited: bool) -> None:
    world = World("corrected", "n1", "n2")
    for number, used in enumerate(cores):
        world.run(f"a{number}", "n1", 100)
        world.settle(20, {f"a{number}": (used, 99, 0.001)})
    for number in range(5):
        world.run(f"b{number}", "n2", 10_000)
    decision = world.place(20)
    assert (decision.node, decision.nodes == ("n2",)) == (("n2", True) if limited else ("n1", False))


def test_when_all_are_full_the_cheapest_is_taken() -> None:
    world = World("corrected", "n1", "n2")
    for name, on, left in (("a", "n1", 50), ("b", "n2", 10)):
        world.run(name, on, 100)
        world.settle(20, {name: (16, 100 - left, 1)})
    decision = world.place(20)
    assert decision.node == "n2"
    assert decision.reason.endswith("all 2 feasible nodes are out of limit")


def test_a_late_report_of_a_pod_that_is_gone_is_not_kept() -> None:
    """A pod of the same name would else count as reported from the first report on."""
    world = World("corrected", "n1")
    world.run("a", "n1", 100)
    world.happen(ev.PodEvicted(5, "a", "n1", "node lost"))
    world.report(6, {"a": (8, 60, 1)})
    world.run("a", "n1", 100, at=7)
    world.report(8, {"a": (8, 60, 1)})
    assert costs(world.place(8)) == {"n1": 3.0}


# -- both


@pytest.mark.parametrize("mode", ["paper", "corrected"])
def test_filters_hold(mode: Literal["paper", "corrected"]) -> None:
    """Unlike the authors' code: the empty node is not ready, a smaller one does not fit."""
    world = golden(mode, "n1", "n2")
    world.happen(ev.NodeChanged(20, node("n2", 16, 64, ready=False)), ev.NodeAdded(20, Node("n3", 16_000, GIB)))
    name = "asks-for-memory"
    decision = world.policy.place(pending(world.state, job(name, 0, 2), 20), world.state)
    assert (decision.node, decision.feasible) == ("n1", 1)
    assert decision.refused == {"NodeReady": ("n2",), "NodeResourcesFit": ("n3",)}
    assert decision.refused_counts == {"NodeReady": 1, "NodeResourcesFit": 1}


@pytest.mark.parametrize("mode", ["paper", "corrected"])
def test_a_pod_that_fits_nowhere_is_refused(mode: Literal["paper", "corrected"]) -> None:
    world = golden(mode, "n1")
    decision = world.policy.place(pending(world.state, job("big", 0, 65), 20), world.state)
    assert (decision.node, decision.permanent, decision.policy) == (None, True, "procon")


@pytest.mark.parametrize("mode", ["paper", "corrected"])
def test_a_node_that_joins_late_is_looked_at(mode: Literal["paper", "corrected"]) -> None:
    """A KeyError in the authors' code."""
    world = golden(mode, "n1")
    world.happen(ev.NodeAdded(20, node("n2", 16, 64)))
    assert world.place(20).node == "n2"


def test_a_decision_lists_the_cheapest_nodes_first() -> None:
    world = World("paper", *[f"n{k:02}" for k in range(20)], explain_nodes=3)
    world.run("a", "n00", 100)
    decision = world.place(20)
    assert (decision.nodes, decision.totals, decision.feasible) == (("n01", "n02", "n03"), (-0.0, -0.0, -0.0), 20)
    assert decision.scores == (ev.PluginScores("ProConCost", -1.0, (0.0, 0.0, 0.0)),)
