from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.model.node_table import NodeTable
from backend.model.objects import Job, Node, Taint

GIB = 2**30
COLUMNS = (
    "cpu_millis",
    "memory_bytes",
    "max_pods",
    "requested_cpu_millis",
    "requested_memory_bytes",
    "scoring_cpu_millis",
    "scoring_memory_bytes",
    "pods",
    "per_cpu_milli",
    "per_memory_byte",
    "present",
    "ready",
    "unschedulable",
)


def node(name: str, **fields: Any) -> Node:
    return Node(name, 4000, 16 * GIB, **fields)


def table(*names: str) -> NodeTable:
    made = NodeTable()
    for name in names:
        made.put_node(node(name))
    return made


def column(made: NodeTable, name: str) -> list[Any]:
    values: np.ndarray[Any, Any] = getattr(made, name)
    return values.tolist()


JOB = Job("j", "lenet", cpu_request_millis=1500, memory_bytes=GIB)


def test_rows_keep_the_order_of_joining() -> None:
    assert table("b", "a", "c").row_of == {"b": 0, "a": 1, "c": 2}


def test_a_node_brings_its_capacity() -> None:
    made = NodeTable()
    row = made.put_node(Node("a", 4000, 2 * GIB, max_pods=7, ready=False, unschedulable=True))
    assert [column(made, name)[row] for name in COLUMNS] == [
        4000, 2 * GIB, 7, 0, 0, 0, 0, 0, 1 / 4000, 1 / (2 * GIB), True, False, True
    ]  # fmt: skip


def test_a_changed_node_keeps_its_row_and_what_runs_on_it() -> None:
    made = table("a", "b")
    made.place(1, JOB)
    made.put_node(Node("b", 8000, 16 * GIB))
    assert (column(made, "cpu_millis"), column(made, "requested_cpu_millis")) == ([4000, 8000], [0, 1500])


def test_a_placed_pod_counts_with_its_requests() -> None:
    made = table("a", "b")
    made.place(1, JOB)
    assert column(made, "requested_cpu_millis") == column(made, "scoring_cpu_millis") == [0, 1500]
    assert column(made, "requested_memory_bytes") == column(made, "scoring_memory_bytes") == [0, GIB]
    assert column(made, "pods") == [0, 1]


def test_a_pod_that_asks_for_nothing_counts_for_scores_only() -> None:
    made = table("a")
    made.place(0, Job("j", "lenet"))
    assert (column(made, "requested_cpu_millis"), column(made, "requested_memory_bytes")) == ([0], [0])
    assert (column(made, "scoring_cpu_millis"), column(made, "scoring_memory_bytes")) == ([100], [200 * 2**20])


def test_what_is_taken_off_leaves_nothing() -> None:
    made = table("a")
    made.place(0, JOB)
    made.place(0, JOB, -1)
    assert [column(made, name) for name in COLUMNS] == [column(table("a"), name) for name in COLUMNS]


def test_workloads_are_counted_apart() -> None:
    made = table("a", "b")
    made.place(0, JOB)
    made.place(0, Job("k", "gru"))
    assert (made.workload_counts("lenet").tolist(), made.workload_counts("vae").tolist()) == ([1, 0], [0, 0])


def test_counts_grow_with_the_table() -> None:
    made = table("a")
    made.place(0, JOB)
    made.hold_image(0, "i")
    for number in range(40):
        made.put_node(node(f"n{number}"))
    made.place(40, JOB)
    expected = [1, *[0] * 39, 1]
    assert made.workload_counts("lenet").tolist() == column(made, "pods") == expected
    held = made.holders("i")
    assert held is not None
    assert held.tolist() == [True] + [False] * 40


def test_a_node_that_leaves_keeps_its_row_but_is_absent() -> None:
    made = table("a", "b")
    made.remove_node("a")
    assert (column(made, "present"), made.present_count, len(made)) == ([False, True], 1, 2)


def test_a_node_that_leaves_loses_its_images() -> None:
    made = table("a", "b")
    made.hold_image(0, "i")
    made.hold_image(1, "i")
    made.remove_node("a")
    made.put_node(node("a"))
    held = made.holders("i")
    assert held is not None
    assert held.tolist() == [False, True]


def test_a_node_that_returns_finds_its_row_again() -> None:
    made = table("a", "b")
    made.remove_node("a")
    assert made.put_node(node("a")) == 0
    assert (column(made, "present"), made.present_count) == ([True, True], 2)


def test_leaving_twice_counts_once() -> None:
    made = table("a", "b")
    made.remove_node("a")
    made.remove_node("a")
    assert made.present_count == 1


def test_an_image_that_no_node_ever_held_has_no_holders() -> None:
    assert table("a").holders("i") is None


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param((), ("PreferNoSchedule",), 1, id="comes"),
        pytest.param(("PreferNoSchedule",), (), 0, id="goes"),
        pytest.param(("PreferNoSchedule",), ("PreferNoSchedule",) * 2, 2, id="one more"),
        pytest.param((), ("NoSchedule", "NoExecute"), 0, id="others do not count"),
    ],
)
def test_soft_taints_are_counted(before: tuple[Any, ...], after: tuple[Any, ...], expected: int) -> None:
    made = NodeTable()
    for effects in (before, after):
        made.put_node(node("a", taints=tuple(Taint(f"k{k}", effect) for k, effect in enumerate(effects))))
    assert made.soft_taints == expected


@pytest.mark.parametrize(
    ("change", "raised"),
    [
        pytest.param(lambda made: made.put_node(node("c")), True, id="a node joins"),
        pytest.param(lambda made: made.put_node(node("a", ready=False)), True, id="a node changes"),
        pytest.param(lambda made: made.remove_node("a"), True, id="a node leaves"),
        pytest.param(lambda made: made.place(0, JOB), False, id="a pod is placed"),
        pytest.param(lambda made: made.hold_image(0, "i"), False, id="an image comes"),
    ],
)
def test_the_version_is_raised_by_changes_of_nodes_only(change: Any, raised: bool) -> None:
    made = table("a", "b")
    before = made.version
    change(made)
    assert (made.version > before) is raised


def test_rows_on_which_pods_came_or_went_are_noted() -> None:
    made = table("a", "b")
    made.place(1, JOB)
    made.place(0, JOB)
    made.place(1, JOB, -1)
    assert made.changed == [1, 0, 1]


def test_when_the_notes_begin_anew_kept_values_are_void(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backend.model.node_table.MAX_CHANGED", 2)
    made = table("a")
    before = made.version
    made.place(0, JOB)
    made.place(0, JOB)
    assert (made.changed, made.version > before) == ([], True)


@given(st.data())
def test_columns_equal_a_recount(data: st.DataObject) -> None:
    """After any placements, ends, changes, departures and returns."""
    made = NodeTable()
    known: dict[str, Node] = {}
    gone: set[str] = set()
    pods: list[tuple[str, Job]] = []
    names = [f"n{k}" for k in range(20)]
    for _ in range(data.draw(st.integers(1, 40))):
        step = data.draw(st.sampled_from(["put", "place", "place", "release", "remove"]))
        if step == "put":
            one = Node(
                data.draw(st.sampled_from(names)),
                data.draw(st.integers(1, 9)) * 1000,
                data.draw(st.integers(1, 9)) * GIB,
                ready=data.draw(st.booleans()),
            )
            made.put_node(one)
            known[one.name] = one
            gone.discard(one.name)
        elif step == "place" and known:
            job = Job(
                "j",
                data.draw(st.sampled_from("xyz")),
                cpu_request_millis=data.draw(st.sampled_from([0, 500])),
                memory_bytes=data.draw(st.sampled_from([0, GIB])),
            )
            pods.append((data.draw(st.sampled_from(sorted(known))), job))
            made.place(made.row_of[pods[-1][0]], job)
        elif step == "release" and pods:
            name, job = pods.pop(data.draw(st.integers(0, len(pods) - 1)))
            made.place(made.row_of[name], job, -1)
        elif step == "remove" and known:
            name = data.draw(st.sampled_from(sorted(known)))
            made.remove_node(name)
            gone.add(name)
    fresh = NodeTable()
    for one in known.values():
        fresh.put_node(one)
    for name in gone:
        fresh.remove_node(name)
    for name, job in pods:
        row = fresh.row_of[name]
        fresh.requested_cpu_millis[row] += job.cpu_request_millis
        fresh.requested_memory_bytes[row] += job.memory_bytes
        fresh.scoring_cpu_millis[row] += job.cpu_request_millis or 100
        fresh.scoring_memory_bytes[row] += job.memory_bytes or 200 * 2**20
        fresh.pods[row] += 1
    assert made.names == fresh.names
    for name in COLUMNS:
        assert column(made, name) == column(fresh, name), name
    assert made.present_count == len(known) - len(gone)
    for workload in "xyz":
        assert made.workload_counts(workload).tolist() == [
            sum(job.workload == workload for on, job in pods if on == name) for name in made.names
        ]
