from typing import Any

import numpy as np
import pytest

from backend.model import events as ev
from backend.model.objects import Job, Taint, Toleration
from backend.scheduling.filters import (
    Filter,
    NodeReady,
    NodeSelector,
    NodeUnschedulable,
    ResourcesFit,
    TaintToleration,
)
from backend.scheduling.framework import DEFAULT_FILTERS, Feasibility
from tests.unit.scheduling.small_world import EVERYTHING, GIB, cluster, job, node, running

T = Toleration


def passes(one: Filter, what: Job, **fields: Any) -> bool:
    """Whether the filter lets the job onto a node with these fields."""
    return bool(one.mask(what, cluster(node("a", **fields)).nodes)[0])


@pytest.mark.parametrize(("ready", "expected"), [(True, True), (False, False)])
def test_a_node_must_be_ready(ready: bool, expected: bool) -> None:
    assert passes(NodeReady(), job(), ready=ready) is expected


def test_a_node_that_left_is_not_ready() -> None:
    state = cluster(node("a"), node("b"))
    state.apply(ev.NodeRemoved(1.0, "a", "failed"))
    assert NodeReady().mask(job(), state.nodes).tolist() == [False, True]


def test_a_change_of_a_node_that_left_does_not_bring_it_back() -> None:
    state = cluster(node("a"), node("b"))
    state.apply(ev.NodeRemoved(1.0, "a", "failed"))
    state.apply(ev.NodeChanged(2.0, node("a", cpu=8)))
    assert NodeReady().mask(job(), state.nodes).tolist() == [False, True]


@pytest.mark.parametrize(
    ("cordoned", "tolerations", "expected"),
    [
        pytest.param(False, (), True, id="open"),
        pytest.param(True, (), False, id="cordoned"),
        pytest.param(True, (EVERYTHING,), True, id="everything tolerated"),
        pytest.param(True, (T("node.kubernetes.io/unschedulable", "Exists"),), True, id="the cordon's taint tolerated"),
        pytest.param(True, (T("gpu", "Exists"),), False, id="another taint tolerated"),
    ],
)
def test_cordoned_nodes(cordoned: bool, tolerations: tuple[Toleration, ...], expected: bool) -> None:
    assert passes(NodeUnschedulable(), job(tolerations=tolerations), unschedulable=cordoned) is expected


@pytest.mark.parametrize(
    ("taints", "tolerations", "expected"),
    [
        pytest.param((), (), True, id="no taint"),
        pytest.param((Taint("gpu"),), (), False, id="NoSchedule"),
        pytest.param((Taint("gpu", "NoExecute"),), (), False, id="NoExecute"),
        pytest.param((Taint("gpu", "PreferNoSchedule"),), (), True, id="PreferNoSchedule refuses nobody"),
        pytest.param((Taint("gpu"),), (T("gpu", "Exists"),), True, id="key exists"),
        pytest.param((Taint("gpu", "NoSchedule", "a"),), (T("gpu", "Equal", "a"),), True, id="equal value"),
        pytest.param((Taint("gpu", "NoSchedule", "a"),), (T("gpu", "Equal", "b"),), False, id="another value"),
        pytest.param((Taint("gpu"),), (T("gpu", "Exists", "", "NoExecute"),), False, id="another effect"),
        pytest.param((Taint("gpu"), Taint("x")), (T("gpu", "Exists"),), False, id="one of two tolerated"),
        pytest.param((Taint("gpu"), Taint("x")), (EVERYTHING,), True, id="everything tolerated"),
    ],
)
def test_taints(taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...], expected: bool) -> None:
    assert passes(TaintToleration(), job(tolerations=tolerations), taints=taints) is expected


@pytest.mark.parametrize(
    ("labels", "selector", "expected"),
    [
        pytest.param({}, {}, True, id="nothing asked"),
        pytest.param({"disk": "ssd", "zone": "a"}, {"disk": "ssd"}, True, id="has it and more"),
        pytest.param({"disk": "hdd"}, {"disk": "ssd"}, False, id="another value"),
        pytest.param({"zone": "a"}, {"disk": "ssd"}, False, id="no such label"),
        pytest.param({"disk": "ssd"}, {"disk": "ssd", "zone": "a"}, False, id="one of two"),
    ],
)
def test_selectors(labels: dict[str, str], selector: dict[str, str], expected: bool) -> None:
    assert passes(NodeSelector(), job(node_selector=selector), labels=labels) is expected


FITS = [
    pytest.param({"cpu": 3, "memory": 14}, {}, True, id="exactly what is free"),
    pytest.param({"cpu": 3.001, "memory": 14}, {}, False, id="a millicore too much"),
    pytest.param({"cpu": 3, "memory": 14 + 1 / GIB}, {}, False, id="a byte too much"),
    pytest.param({"cpu": 0, "memory": 0}, {}, True, id="asks for nothing"),
    pytest.param({"cpu": 0, "memory": 0}, {"max_pods": 1}, False, id="no room for a pod"),
    pytest.param({"cpu": 0, "memory": 0}, {"max_pods": 2}, True, id="room for one more"),
]


@pytest.mark.parametrize(("asks", "fields", "expected"), FITS)
def test_requests_must_fit_beside_what_runs_there(
    asks: dict[str, float], fields: dict[str, Any], expected: bool
) -> None:
    """A pod that asks for 1 core and 2 GiB runs on a node of 4 cores and 16 GiB."""
    state = cluster(node("a", **fields))
    running(state, "a", job("old"))
    assert bool(ResourcesFit().mask(job(**asks), state.nodes)[0]) is expected


@pytest.mark.parametrize(("asks", "fields", "expected"), FITS)
def test_one_row_is_answered_as_all_are(asks: dict[str, float], fields: dict[str, Any], expected: bool) -> None:
    state = cluster(node("a", **fields))
    running(state, "a", job("old"))
    assert ResourcesFit().at(job(**asks), state.nodes, 0) is expected


def test_a_pod_that_asks_for_no_cpu_goes_onto_an_overfull_node() -> None:
    """As in kube-scheduler: what is not asked for is not compared. The node shrank below what is requested of it."""
    state = cluster(node("a", cpu=4))
    running(state, "a", job("old", cpu=4))
    state.apply(ev.NodeChanged(1.0, node("a", cpu=2)))
    assert ResourcesFit().mask(job(cpu=0), state.nodes).tolist() == [True]
    assert ResourcesFit().at(job(cpu=0), state.nodes, 0)


ALL = np.ones(2, np.bool_)


def test_the_sentence_names_the_most_that_the_lacking_nodes_have_free() -> None:
    """b lacks CPU only: its 60 GiB free must not be named as the most memory that is free where memory lacks."""
    state = cluster(node("a", cpu=8, memory=16), node("b", cpu=2, memory=60))
    sentence = ResourcesFit().explain(job(cpu=4, memory=32), state.nodes, ALL)
    assert sentence == "without enough memory (asks for 32Gi, at most 16Gi free) or CPU (asks for 4, at most 2 free)"


def test_an_overfull_node_has_nothing_free() -> None:
    state = cluster(node("a", cpu=4), node("b", cpu=4))
    for name in "ab":
        running(state, name, job(f"on-{name}", cpu=4))
        state.apply(ev.NodeChanged(1.0, node(name, cpu=2)))
    assert "at most 0 free" in ResourcesFit().explain(job(), state.nodes, ALL)


def test_the_sentence_says_that_there_are_too_many_pods() -> None:
    state = cluster(node("a", max_pods=0), node("b", max_pods=0))
    assert ResourcesFit().explain(job(), state.nodes, ALL) == "without enough room for another pod"


def test_the_sentence_names_each_taint_once_and_not_too_many() -> None:
    taints = [("a", "x"), ("b", ""), ("c", ""), ("d", ""), ("e", ""), ("a", "x")]
    state = cluster(
        *[node(f"n{k}", taints=(Taint(key, "NoSchedule", value),)) for k, (key, value) in enumerate(taints)]
    )
    sentence = TaintToleration().explain(job(), state.nodes, np.ones(6, np.bool_))
    assert (
        sentence == "tainted (a=x:NoSchedule, b:NoSchedule, c:NoSchedule and 2 more), which the pod does not tolerate"
    )


def test_the_sentence_names_the_labels_that_are_asked_for() -> None:
    state = cluster(node("a"), node("b"))
    sentence = NodeSelector().explain(job(node_selector={"zone": "a", "disk": "ssd"}), state.nodes, ALL)
    assert sentence == "without the labels disk=ssd, zone=a"


def test_a_node_counts_for_the_first_filter_that_refuses_it() -> None:
    """a is not ready and too small, b cordoned and tainted, c too small."""
    state = cluster(
        node("a", cpu=1, ready=False), node("b", unschedulable=True, taints=(Taint("x"),)), node("c", cpu=1), node("d")
    )
    found = Feasibility().refusals(job(cpu=2), state.nodes)
    assert [(one.name, state.nodes.names[int(mask.argmax())], int(mask.sum())) for one, mask in found] == [
        ("NodeReady", "a", 1),
        ("NodeUnschedulable", "b", 1),
        ("NodeResourcesFit", "c", 1),
    ]


def test_a_node_that_left_is_counted_by_no_filter() -> None:
    state = cluster(node("a"), node("b"))
    state.apply(ev.NodeRemoved(1.0, "a", "failed"))
    assert Feasibility().refusals(job(), state.nodes) == []


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"ready": False}, id="not ready"),
        pytest.param({"unschedulable": True}, id="cordoned"),
        pytest.param({"taints": (Taint("x"),)}, id="tainted"),
        pytest.param({"labels": {}}, id="without its label"),
        pytest.param({"cpu": 0.5}, id="smaller"),
    ],
)
def test_a_change_of_a_node_is_seen_at_once(changed: dict[str, Any]) -> None:
    fields: dict[str, Any] = {"labels": {"disk": "ssd"}}
    state = cluster(node("a", **fields))
    feasibility = Feasibility()
    what = job(node_selector={"disk": "ssd"})
    before = feasibility.mask(what, state.nodes).tolist()
    state.apply(ev.NodeChanged(1.0, node("a", **fields | changed)))
    assert (before, feasibility.mask(what, state.nodes).tolist()) == ([True], [False])


def test_a_filter_that_looks_at_pods_must_answer_for_single_rows() -> None:
    class Odd(NodeReady):
        name = "Odd"
        static = False

    with pytest.raises(TypeError, match="Odd is not static"):
        Feasibility([*DEFAULT_FILTERS, Odd()])
