import pytest

from backend.migration.rhythm import Rhythm
from backend.model.actions import Wake
from backend.model.events import TimerFired


def test_calls_lie_on_the_multiples_of_each_period() -> None:
    rhythm = Rhythm("r", 10.0, 25.0)
    calls = []
    wake = rhythm.begin(3.0)
    for _ in range(6):
        calls.append((wake.time, rhythm.due(TimerFired(wake.time, "r"))))
        wake = rhythm.go_on(wake.time)
    assert calls == [
        (10.0, (True, False)),
        (20.0, (True, False)),
        (25.0, (False, True)),
        (30.0, (True, False)),
        (40.0, (True, False)),
        (50.0, (True, True)),
    ]


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(TimerFired(10.0, "other"), id="another timer"),
        pytest.param(TimerFired(9.0, "r"), id="too early"),
    ],
)
def test_what_is_not_awaited_is_not_due(event: TimerFired) -> None:
    rhythm = Rhythm("r", 10.0)
    rhythm.begin(0.0)
    assert rhythm.due(event) == (False,)


def test_a_timer_that_fires_twice_is_due_once() -> None:
    rhythm = Rhythm("r", 10.0)
    rhythm.begin(0.0)
    rhythm.go_on(10.0)
    assert rhythm.due(TimerFired(10.0, "r")) == (False,)


def test_a_late_timer_skips_what_has_passed() -> None:
    rhythm = Rhythm("r", 10.0)
    rhythm.begin(0.0)
    assert rhythm.due(TimerFired(34.5, "r")) == (True,)
    assert rhythm.go_on(34.5) == Wake(40.0, "r")


def test_after_a_rest_nothing_is_due_until_it_begins_again() -> None:
    rhythm = Rhythm("r", 10.0)
    rhythm.begin(0.0)
    rhythm.rest()
    assert (rhythm.resting, rhythm.due(TimerFired(10.0, "r"))) == (True, (False,))
    assert rhythm.begin(57.0) == Wake(60.0, "r")


@pytest.mark.parametrize("period", [0.1, 1 / 3, 0.7, 1e-3])
def test_the_next_call_is_always_behind_the_last(period: float) -> None:
    rhythm = Rhythm("r", period)
    time = rhythm.begin(0.0).time
    for _ in range(2000):
        following = rhythm.go_on(time).time
        assert following > time
        time = following
    assert time == pytest.approx(2001 * period)
