"""What a decision of the default profile says."""

import random
from collections import Counter
from typing import Any

import pytest

from backend.model import events as ev
from backend.model.objects import Taint
from backend.model.state import ClusterState
from backend.scheduling.framework import SMALL_CLUSTER
from backend.scheduling.profiles import DefaultScheduler
from tests.unit.scheduling.small_world import cluster, job, node, pending, running


def scheduler(seed: int = 1, **parameters: Any) -> DefaultScheduler:
    return DefaultScheduler(DefaultScheduler.Parameters(**parameters), random.Random(seed))


def place(state: ClusterState, what: Any = None, **parameters: Any) -> ev.DecisionMade:
    return scheduler(**parameters).place(pending(state, what), state)


@pytest.fixture
def three() -> ClusterState:
    """Of three equal nodes, b has a pod and c two; each asks for 1 core and 2 GiB of the nodes' 4 and 16."""
    state = cluster(node("a"), node("b"), node("c"))
    for number, on in enumerate("bcc"):
        running(state, on, job(f"old-{number}", workload="gru"))
    return state


def test_nodes_are_listed_best_first_with_their_scores(three: ClusterState) -> None:
    """Least 81.25, 62.5, 43.75; balanced 93.75, 87.5, 81.25; spreading (weight 2) 100 each, as none runs a lenet."""
    decision = place(three)
    assert (decision.nodes, decision.totals) == (("a", "b", "c"), (375.0, 350.0, 325.0))


def test_every_score_of_every_listed_node_is_kept(three: ClusterState) -> None:
    assert place(three).scores == (
        ev.PluginScores("NodeResourcesFit", 1.0, (81.25, 62.5, 43.75)),
        ev.PluginScores("NodeResourcesBalancedAllocation", 1.0, (93.75, 87.5, 81.25)),
        ev.PluginScores("PodTopologySpread", 2.0, (100.0, 100.0, 100.0), (0.0, 0.0, 0.0)),
    )


def test_weights_weigh(three: ClusterState) -> None:
    decision = place(three, least_allocated=2, balanced_allocation=0, spreading=0.5)
    assert decision.totals == (212.5, 175.0, 137.5)


def test_a_score_of_weight_zero_is_left_out(three: ClusterState) -> None:
    decision = place(three, balanced_allocation=0, spreading=0)
    assert [scores.plugin for scores in decision.scores] == ["NodeResourcesFit"]


def test_without_any_score_all_feasible_nodes_are_equal(three: ClusterState) -> None:
    decision = place(three, least_allocated=0, balanced_allocation=0, spreading=0)
    assert decision.totals == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("nodes", "sentence"),
    [
        pytest.param("abc", "bound to a: total score 375.0, the highest of 3 feasible nodes", id="one best"),
        pytest.param("a", "bound to a: total score 375.0, the only feasible node", id="only one"),
    ],
)
def test_the_sentence(nodes: str, sentence: str) -> None:
    state = cluster(*[node(name) for name in nodes])
    for number, on in enumerate(nodes[1:]):
        running(state, on, job(f"old-{number}", workload="gru"))
    assert place(state).reason == sentence


def test_the_sentence_says_that_a_tie_was_drawn() -> None:
    state = cluster(node("a"), node("b"), node("c", cpu=2))
    decision = place(state)
    assert decision.reason == (
        f"bound to {decision.node}: total score 375.0, drawn from 2 equals, the highest of 3 feasible nodes"
    )


def test_equals_are_drawn_alike_by_the_seeded_stream() -> None:
    """600 draws from three equals: each 200 times, give or take five standard deviations (11.5)."""
    state = cluster(node("a"), node("b"), node("c"))
    policy = scheduler(seed=5)
    record = pending(state)
    drawn = Counter(policy.place(record, state).node for _ in range(600))
    assert set(drawn) == {"a", "b", "c"}
    assert all(abs(count - 200) < 58 for count in drawn.values())


def test_one_seed_draws_the_same() -> None:
    def draws(seed: int) -> list[str | None]:
        state = cluster(node("a"), node("b"), node("c"))
        policy, record = scheduler(seed), pending(state)
        return [policy.place(record, state).node for _ in range(20)]

    assert draws(1) == draws(1) != draws(2)


def test_the_chosen_of_many_equals_is_listed_first() -> None:
    state = cluster(*[node(f"n{k:02}") for k in range(30)])
    policy, record = scheduler(explain_nodes=3), pending(state)
    for _ in range(10):
        decision = policy.place(record, state)
        others = [name for name in ("n00", "n01", "n02") if name != decision.node][:2]
        assert decision.nodes == (decision.node, *others)


@pytest.mark.parametrize(
    ("nodes", "explain_nodes", "shown"),
    [
        pytest.param(SMALL_CLUSTER, 3, SMALL_CLUSTER, id="all of a small cluster"),
        pytest.param(SMALL_CLUSTER + 1, 3, 3, id="the best of a larger one"),
        pytest.param(SMALL_CLUSTER + 1, 0, 1, id="the chosen one at least"),
        pytest.param(SMALL_CLUSTER + 1, 100, SMALL_CLUSTER + 1, id="no more than there are"),
    ],
)
def test_how_many_nodes_are_listed(nodes: int, explain_nodes: int, shown: int) -> None:
    decision = place(cluster(*[node(f"n{k}") for k in range(nodes)]), explain_nodes=explain_nodes)
    assert (len(decision.nodes), len(decision.totals), len(decision.scores[0].normalised)) == (shown,) * 3


def test_refused_nodes_are_named_by_filter() -> None:
    """The only feasible node does not shorten the list of those refused."""
    state = cluster(
        node("a"), node("b", ready=False), node("c", cpu=0.5), node("d", taints=(Taint("x"),)), node("e", cpu=0.5)
    )
    decision = place(state)
    assert decision.refused == {"NodeReady": ("b",), "TaintToleration": ("d",), "NodeResourcesFit": ("c", "e")}
    assert decision.refused_counts == {"NodeReady": 1, "TaintToleration": 1, "NodeResourcesFit": 2}
    assert (decision.feasible, decision.nodes) == (1, ("a",))


def test_long_lists_of_refused_nodes_are_cut_but_counted() -> None:
    state = cluster(node("a"), *[node(f"n{k:02}", cpu=0.5) for k in range(30)])
    decision = place(state, explain_nodes=2)
    assert decision.refused == {"NodeResourcesFit": ("n00", "n01")}
    assert decision.refused_counts == {"NodeResourcesFit": 30}


def test_a_refusal_says_what_each_node_lacks() -> None:
    state = cluster(node("a", cpu=4), node("b", unschedulable=True), node("c", cpu=8, ready=False))
    running(state, "a", job("old", cpu=3))
    decision = place(state, job(cpu=2))
    assert decision.node is None
    assert decision.reason == (
        "none of 3 nodes can take it: 1 node not ready; 1 node cordoned; "
        "1 node without enough CPU (asks for 2, at most 1 free)"
    )
    assert decision.refused == {"NodeReady": ("c",), "NodeUnschedulable": ("b",), "NodeResourcesFit": ("a",)}
    assert not decision.permanent


def test_without_nodes_there_is_nothing_permanent() -> None:
    decision = place(cluster())
    assert (decision.reason, decision.permanent) == ("no node is there", False)


PERMANENT = [
    pytest.param({"memory": 17}, True, "2 nodes too small in memory (asks for 17Gi, has at most 16Gi)", id="memory"),
    pytest.param({"cpu": 5}, True, "2 nodes too small in CPU (asks for 5, has at most 4)", id="CPU"),
    pytest.param({"memory": 16, "cpu": 4}, False, "", id="fits an empty node"),
    pytest.param(
        {"node_selector": {"disk": "ssd"}}, True, "2 nodes without the labels disk=ssd", id="label that no node has"
    ),
    pytest.param(
        {"node_selector": {"zone": "b"}, "cpu": 3},
        True,
        "1 node without the labels zone=b; 1 node too small in CPU (asks for 3, has at most 2)",
        id="label on a node that is too small",
    ),
]


@pytest.mark.parametrize(("asks", "permanent", "why"), PERMANENT)
def test_what_can_never_be_placed(asks: dict[str, Any], permanent: bool, why: str) -> None:
    """a is not ready and b cordoned, which may pass."""
    state = cluster(node("a", ready=False), node("b", cpu=2, memory=8, unschedulable=True, labels={"zone": "b"}))
    decision = place(state, job(**asks))
    assert (decision.node, decision.permanent) == (None, permanent)
    assert decision.reason.startswith(f"no node can ever take it: {why}") is permanent


def test_a_node_that_left_may_come_back() -> None:
    state = cluster(node("a", memory=64), node("b"))
    state.apply(ev.NodeRemoved(1.0, "a", "failed"))
    assert not place(state, job(memory=32)).permanent


def test_a_taint_that_is_not_tolerated_is_permanent() -> None:
    decision = place(cluster(node("a", taints=(Taint("gpu"),))))
    assert decision.permanent
    assert decision.reason == (
        "no node can ever take it: 1 node tainted (gpu:NoSchedule), which the pod does not tolerate"
    )
