from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.model.objects import Pod, Toleration
from backend.model.state import PodRecord
from backend.scheduling.queue import PendingQueue, shape
from tests.unit.scheduling.small_world import job


def pod(name: str, **asks: Any) -> PodRecord:
    return PodRecord(Pod(name, name), job(name, **asks), 0.0)


def queue(*pods: PodRecord) -> PendingQueue:
    made = PendingQueue()
    for one in pods:
        made.add(one)
    return made


def tries(made: PendingQueue, fits: str = "") -> list[str]:
    """Names of the pods tried until there is none left to try; those in `fits` are placed."""
    tried = []
    while (record := made.next()) is not None:
        name = record.pod.name
        tried.append(name)
        assert len(tried) < 100, "the queue never ends"
        if name in fits.split():
            made.discard(name)
        else:
            made.refused(record)
    return tried


BIG, SMALL = {"cpu": 8}, {"cpu": 1}


def test_first_in_first_out() -> None:
    assert tries(queue(pod("a"), pod("b", **BIG), pod("c")), fits="a b c") == ["a", "b", "c"]


def test_the_next_stays_the_next_until_it_is_answered() -> None:
    made = queue(pod("a"), pod("b"))
    assert made.next() is made.next()


def test_each_pod_is_tried_once_even_behind_one_of_its_shape_that_was_refused() -> None:
    assert tries(queue(pod("a"), pod("b"), pod("c"))) == ["a", "b", "c"]


def test_refused_pods_sleep() -> None:
    made = queue(pod("a"), pod("b", **BIG))
    tries(made)
    assert (tries(made), len(made), made.due) == ([], 2, [])


def test_a_wake_costs_one_attempt_for_each_shape() -> None:
    made = queue(pod("a"), pod("b"), pod("c", **BIG), pod("d", **BIG))
    tries(made)
    made.wake()
    assert tries(made) == ["a", "c"]


def test_behind_one_that_is_placed_the_next_of_its_shape_is_tried() -> None:
    made = queue(pod("a"), pod("b"), pod("c"))
    tries(made)
    made.wake()
    assert tries(made, fits="a b") == ["a", "b", "c"]


def test_when_woken_older_pods_go_before_younger_ones_of_other_shapes() -> None:
    """The big old pod must not starve behind small ones that came later."""
    made = queue(pod("old", **BIG), pod("s1"), pod("s2"))
    tries(made)
    made.wake()
    assert tries(made, fits="old s1 s2") == ["old", "s1", "s2"]


def test_when_woken_older_pods_go_before_a_new_one() -> None:
    made = queue(pod("old", **BIG))
    tries(made)
    made.add(pod("new"))
    made.wake()
    assert tries(made) == ["old", "new"]


def test_a_new_pod_does_not_wake_older_ones() -> None:
    made = queue(pod("old"))
    tries(made)
    made.add(pod("new"))
    assert tries(made) == ["new"]


def test_waking_twice_costs_no_second_attempt() -> None:
    made = queue(pod("a"), pod("b"))
    tries(made)
    made.wake()
    made.wake()
    assert tries(made) == ["a"]


@pytest.mark.parametrize(("gone", "left"), [("a", ["b"]), ("b", ["a"])])
def test_a_pod_that_is_taken_out_is_not_tried(gone: str, left: list[str]) -> None:
    made = queue(pod("a"), pod("b"))
    made.discard(gone)
    assert (tries(made), len(made)) == (left, 1)


def test_when_the_first_of_a_woken_shape_is_taken_out_the_next_is_tried() -> None:
    made = queue(pod("a"), pod("b"))
    tries(made)
    made.wake()
    made.discard("a")
    assert tries(made) == ["b"]


def test_taking_out_a_pod_that_is_not_in_changes_nothing() -> None:
    made = queue(pod("a"))
    made.discard("z")
    assert tries(made) == ["a"]


@pytest.mark.parametrize(
    ("asks", "same"),
    [
        pytest.param({}, True, id="equal"),
        pytest.param({"workload": "gru"}, True, id="what filters do not look at"),
        pytest.param({"image": "i"}, False, id="image"),
        pytest.param({"labels": {"a": "b"}}, False, id="labels"),
        pytest.param({"more_images": ("i",)}, False, id="images of other containers"),
        pytest.param({"cpu": 2}, False, id="CPU"),
        pytest.param({"memory": 3}, False, id="memory"),
        pytest.param({"node_selector": {"a": "b"}}, False, id="selector"),
        pytest.param({"tolerations": (Toleration("x"),)}, False, id="tolerations"),
    ],
)
def test_shapes(asks: dict[str, Any], same: bool) -> None:
    assert (shape(job("other", **asks)) == shape(job())) is same


def test_the_order_of_a_selector_makes_no_shape() -> None:
    assert shape(job(node_selector={"a": "1", "b": "2"})) == shape(job(node_selector={"b": "2", "a": "1"}))


@given(st.data())
def test_whatever_happens_the_oldest_that_may_be_tried_is_tried(data: st.DataObject) -> None:
    """Against a plain list: a pod may be tried if it is new, or if its shape is awake and nobody of it is before it."""
    made = PendingQueue()
    waiting: list[tuple[str, int]] = []
    new: set[str] = set()
    awake: set[int] = set()

    def expected() -> str | None:
        for place, (name, kind) in enumerate(waiting):
            first = all(other != kind for _, other in waiting[:place])
            if name in new or (kind in awake and first):
                return name
        return None

    for number in range(data.draw(st.integers(1, 40))):
        step = data.draw(st.sampled_from(["add", "add", "wake", "discard", "refuse", "place"]))
        upcoming = made.next()
        if step == "add":
            kind = data.draw(st.integers(1, 3))
            made.add(pod(f"p{number}", cpu=kind))
            waiting.append((f"p{number}", kind))
            new.add(f"p{number}")
        elif step == "wake":
            made.wake()
            awake |= {kind for _, kind in waiting}
        elif step == "discard" and waiting:
            entry = data.draw(st.sampled_from(waiting))
            made.discard(entry[0])
            waiting.remove(entry)
        elif upcoming is not None and step in {"refuse", "place"}:
            name = upcoming.pod.name
            kind = dict(waiting)[name]
            if step == "refuse":
                made.refused(upcoming)
                new.discard(name)
                awake.discard(kind)
            else:
                made.discard(name)
                waiting.remove((name, kind))
        awake &= {kind for _, kind in waiting}
        following = made.next()
        assert (following.pod.name if following is not None else None) == expected()
        assert len(made) == len(waiting)
