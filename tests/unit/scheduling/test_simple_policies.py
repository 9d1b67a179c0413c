import random
from collections import Counter

import pytest

from backend.model import events as ev
from backend.model.state import ClusterState
from backend.scheduling import registry
from backend.scheduling.policy import Scheduler
from backend.scheduling.procon import ProConScheduler
from backend.scheduling.profiles import DefaultScheduler, RandomScheduler, RoundRobinScheduler
from tests.unit.scheduling.small_world import cluster, job, node, pending, running

SIMPLE = [
    pytest.param(RandomScheduler, "random", id="random"),
    pytest.param(RoundRobinScheduler, "round-robin", id="rr"),
]


def made(kind: type[Scheduler], seed: int = 1, **parameters: int) -> Scheduler:
    return kind(kind.Parameters(**parameters), random.Random(seed))


def turns(policy: Scheduler, state: ClusterState, count: int) -> list[str | None]:
    nodes = []
    for number in range(count):
        record = pending(state, job(f"turn-{len(state.jobs)}-{number}", cpu=0, memory=0))
        nodes.append(policy.place(record, state).node)
    return nodes


def test_round_robin_takes_the_nodes_in_turn() -> None:
    state = cluster(node("b"), node("a"), node("c"))
    assert turns(made(RoundRobinScheduler), state, 5) == ["b", "a", "c", "b", "a"]


def test_round_robin_goes_on_behind_the_last_one_when_nodes_drop_out() -> None:
    state = cluster(node("a"), node("b"), node("c"))
    policy = made(RoundRobinScheduler)
    turns(policy, state, 1)
    state.apply(ev.NodeChanged(1.0, node("b", ready=False)))
    assert turns(policy, state, 3) == ["c", "a", "c"]


def test_random_draws_each_feasible_node_alike() -> None:
    """900 draws from three: each 300 times, give or take five standard deviations (14)."""
    state = cluster(node("a"), node("full", cpu=1), node("b"), node("c"))
    running(state, "full", job("old"))
    policy, record = made(RandomScheduler), pending(state)
    drawn = Counter(policy.place(record, state).node for _ in range(900))
    assert set(drawn) == {"a", "b", "c"}
    assert all(abs(count - 300) < 71 for count in drawn.values())


def test_random_is_seeded() -> None:
    def draws(seed: int) -> list[str | None]:
        return turns(made(RandomScheduler, seed), cluster(node("a"), node("b"), node("c")), 20)

    assert draws(1) == draws(1) != draws(2)


@pytest.mark.parametrize(("kind", "policy"), SIMPLE)
def test_the_chosen_node_is_listed_first(kind: type[Scheduler], policy: str) -> None:
    state = cluster(node("a"), node("b"), node("c"))
    scheduler = made(kind, seed=2)
    for _ in range(3):
        decision = scheduler.place(pending(state, job(f"new-{len(state.jobs)}", cpu=0, memory=0)), state)
        others = [name for name in "abc" if name != decision.node]
        assert (decision.policy, decision.feasible, decision.nodes) == (policy, 3, (decision.node, *others))


@pytest.mark.parametrize(("kind", "policy"), SIMPLE)
def test_a_large_cluster_is_cut(kind: type[Scheduler], policy: str) -> None:
    state = cluster(*[node(f"n{k}") for k in range(20)])
    decision = made(kind, explain_nodes=4).place(pending(state), state)
    assert (len(decision.nodes), decision.nodes[0]) == (4, decision.node)


@pytest.mark.parametrize(("kind", "policy"), SIMPLE)
def test_refused_nodes_are_named(kind: type[Scheduler], policy: str) -> None:
    state = cluster(node("a"), node("b", ready=False))
    decision = made(kind).place(pending(state), state)
    assert (decision.node, decision.refused, decision.refused_counts) == ("a", {"NodeReady": ("b",)}, {"NodeReady": 1})


@pytest.mark.parametrize(("kind", "policy"), SIMPLE)
def test_a_pod_that_fits_nowhere_is_refused_with_reasons(kind: type[Scheduler], policy: str) -> None:
    state = cluster(node("a", cpu=1))
    running(state, "a", job("old"))
    decision = made(kind).place(pending(state), state)
    assert (decision.node, decision.policy, decision.permanent) == (None, policy, False)
    assert decision.reason == ("none of 1 node can take it: 1 node without enough CPU (asks for 1, at most 0 free)")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("default", DefaultScheduler),
        ("random", RandomScheduler),
        ("round-robin", RoundRobinScheduler),
        ("procon", ProConScheduler),
    ],
)
def test_schedulers_are_found_by_name(name: str, kind: type[Scheduler]) -> None:
    assert registry.load(name) is kind
    assert name in registry.names()


def test_an_unknown_name_is_answered_with_a_suggestion() -> None:
    with pytest.raises(ValueError, match="no scheduler 'defualt'; did you mean 'default'"):
        registry.load("defualt")


@pytest.mark.parametrize("name", ["default", "random", "round-robin", "procon"])
def test_every_parameter_has_a_default_and_a_description(name: str) -> None:
    fields = registry.load(name).Parameters.model_fields
    assert fields
    assert all(field.description and not field.is_required() for field in fields.values())
