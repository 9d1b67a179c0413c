"""Calls by threads: in order for each key, until they are answered."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from backend.kube.calls import Calls
from backend.kube.client import ApiError


class Desk:
    """Calls that are noted, and their answers."""

    def __init__(self) -> None:
        self.calls = Calls(first_delay_s=0.001)
        self.change = threading.Condition()
        self.made: list[str] = []
        self.answers: list[tuple[str, Any]] = []

    def submit(self, key: str, name: str, *outcomes: Any, patience_s: float = float("inf")) -> None:
        """Outcomes one after the other, the last one for good: an error is raised."""
        left = list(outcomes)

        def make() -> Any:
            with self.change:
                self.made.append(name)
                self.change.notify_all()
            outcome = left.pop(0) if len(left) > 1 else left[0]
            if isinstance(outcome, ApiError):
                raise outcome
            return outcome() if callable(outcome) else outcome

        self.calls.submit(key, make, lambda answer: self._done(name, answer), patience_s)

    def _done(self, name: str, answer: Any) -> None:
        with self.change:
            self.answers.append((name, answer))
            self.change.notify_all()

    def wait(self, condition: Callable[[], object]) -> None:
        with self.change:
            assert self.change.wait_for(condition, 10), self.answers


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk()
    desk.calls.start()
    yield desk
    desk.calls.stop()


DOWN = ApiError(0, "Refused", "no answer")
NO = ApiError(404, "NotFound", "no such pod")


def test_calls_of_one_key_keep_their_order(desk: Desk) -> None:
    for n in range(20):
        desk.submit("a", f"{n}", n)
    desk.wait(lambda: len(desk.answers) == 20)
    assert desk.made == [f"{n}" for n in range(20)]


@pytest.mark.parametrize("status", [0, 408, 429, 500, 502, 503, 504])
def test_an_error_that_may_pass_is_tried_again(desk: Desk, status: int) -> None:
    error = ApiError(status, "x", "y")
    desk.submit("a", "one", error, error, error, "done")
    desk.wait(lambda: desk.answers)
    assert desk.answers == [("one", "done")]
    assert len(desk.made) == 4


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 410, 422])
def test_a_refusal_is_an_answer(desk: Desk, status: int) -> None:
    error = ApiError(status, "x", "y")
    desk.submit("a", "one", error)
    desk.wait(lambda: desk.answers)
    assert desk.answers == [("one", error)]
    assert len(desk.made) == 1


def test_a_call_that_waits_keeps_back_only_those_of_its_key(desk: Desk) -> None:
    gate = threading.Event()
    desk.submit("a", "a1", DOWN, lambda: gate.wait(10))
    desk.submit("a", "a2", 2)
    for n in range(10):
        desk.submit(f"b{n}", f"b{n}", n)
    desk.wait(lambda: len(desk.answers) == 10)
    assert {name for name, _ in desk.answers} == {f"b{n}" for n in range(10)}
    gate.set()
    desk.wait(lambda: len(desk.answers) == 12)
    assert [name for name, _ in desk.answers][10:] == ["a1", "a2"]


def test_a_call_that_breaks_is_answered_and_the_next_is_made(desk: Desk) -> None:
    desk.submit("a", "one", lambda: {}["missing"])  # type: ignore[dict-item]
    desk.submit("a", "two", 2)
    desk.wait(lambda: len(desk.answers) == 2)
    assert isinstance(desk.answers[0][1], ApiError)
    assert desk.answers[1] == ("two", 2)


def test_patience_ends(desk: Desk) -> None:
    desk.submit("a", "one", DOWN, patience_s=0.0)
    desk.wait(lambda: desk.answers)
    assert desk.answers == [("one", DOWN)]


def test_who_may_not_act_makes_no_call() -> None:
    may = threading.Event()
    asked = threading.Semaphore(0)

    def may_act() -> bool:
        asked.release()
        return may.is_set()

    desk = Desk()
    desk.calls = Calls(first_delay_s=0.001, may_act=may_act)
    desk.calls.start()
    desk.submit("a", "one", 1)
    for _ in range(3):
        assert asked.acquire(timeout=10)
    assert desk.made == []
    may.set()
    desk.wait(lambda: desk.answers)
    desk.calls.stop()
    assert desk.made == ["one"]


def test_health(desk: Desk) -> None:
    desk.submit("a", "one", DOWN, 1)
    desk.submit("b", "two", NO)
    desk.wait(lambda: len(desk.answers) == 2)
    desk.calls.stop()
    health = desk.calls.health()
    assert (health.waiting, health.retrying, health.made, health.failed) == (0, 0, 1, 2)
    assert health.last_error


def test_stop_leaves_what_was_not_begun(desk: Desk) -> None:
    desk.submit("a", "one", ApiError(503, "Busy", "later", 1000.0))
    desk.submit("a", "two", 2)
    desk.wait(lambda: desk.made)
    desk.calls.stop()
    assert desk.answers == []
