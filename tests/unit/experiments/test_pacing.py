"""Events held back until their time has come, against a clock that is moved by sleeping."""

from collections.abc import Iterator

from backend.experiments.pacing import SLICE_S, PacedCluster
from backend.model.actions import Action, Wake
from backend.model.events import Event, TimerFired


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0
        self.sleeps: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now += seconds


class Listed:
    """A cluster that gives listed events."""

    def __init__(self, *times: float) -> None:
        self._events = [TimerFired(time, "x") for time in times]
        self.executed: list[Action] = []

    def now(self) -> float:
        return 42.0

    def events(self) -> Iterator[Event]:
        yield from self._events

    def execute(self, action: Action) -> None:
        self.executed.append(action)


def test_an_event_comes_when_its_time_has_come_on_the_clock() -> None:
    clock = Clock()
    paced = PacedCluster(Listed(0, 30, 30, 90), 30.0, clock=clock, sleep=clock.sleep, waiting=lambda _: False)
    seen = [(event.time, round(clock.now - 1000, 6)) for event in paced.events()]
    assert seen == [(0, 0), (30, 1), (30, 1), (90, 3)]
    assert max(clock.sleeps) <= SLICE_S


def test_a_slow_reader_is_not_made_to_wait_again() -> None:
    clock = Clock()
    paced = PacedCluster(Listed(10, 20), 10.0, clock=clock, sleep=clock.sleep, waiting=lambda _: False)
    for _ in paced.events():
        clock.now += 5
    assert sum(clock.sleeps) <= 1.0 + 1e-9


def test_waiting_is_told_the_simulated_time_and_ends_the_events() -> None:
    clock = Clock()
    told: list[float] = []

    def waiting(time_s: float) -> bool:
        told.append(time_s)
        return time_s >= 25

    paced = PacedCluster(Listed(0, 100), 50.0, clock=clock, sleep=clock.sleep, waiting=waiting)
    assert [event.time for event in paced.events()] == [0]
    assert told == sorted(told)
    assert 25 <= told[-1] <= 25 + 50 * SLICE_S


def test_actions_and_time_are_those_of_the_cluster() -> None:
    cluster = Listed()
    paced = PacedCluster(cluster, 1.0, clock=Clock(), sleep=lambda _: None, waiting=lambda _: False)
    paced.execute(Wake(1, "x"))
    assert cluster.executed == [Wake(1, "x")]
    assert paced.now() == 42.0
