"""When a run goes on and when it ends: what counts as something left to happen."""

from collections.abc import Iterable

import pytest

from backend.model import events as ev
from backend.model.actions import Action, Bind, CreatePod, DeletePod, Wake
from backend.model.objects import Pod
from backend.simulation.cluster import Costs, Telemetry
from tests.unit.simulation.toy_cluster import at, model, of, run, submission


def test_telemetry_goes_on_while_a_timer_may_still_place_the_pod() -> None:
    """Bound by a timer at 25 only; 40 core-seconds on 4 cores. While nothing runs nothing is measured."""
    log = run([submission(0, "a")], on={}, script=at(25, Bind("a", "node-1")), telemetry=Telemetry())
    assert [event.time for event in of(log, ev.ProgressReported)] == [30.0]
    assert [event.time for event in of(log, ev.UsageSampled)] == [10.0, 25.0, 30.0]


def test_a_long_time_without_pods_costs_nothing_and_is_seen_as_idle() -> None:
    """Jobs at 0 and at 1e9 s: 10 s of work each, samples only around them."""
    log = run([submission(0, "a"), submission(1e9 + 3, "b")], telemetry=Telemetry())
    samples = [(event.time, event.cpu_millis[0]) for event in of(log, ev.UsageSampled)]
    assert samples == [(10.0, 4000.0), (20.0, 0.0), (1e9 + 3, 0.0), (1e9 + 10, 4000.0)]
    assert [event.time for event in of(log, ev.PodFinished)] == [10.0, 1e9 + 13]


def test_a_long_wait_for_an_image_costs_nothing_either() -> None:
    """2e9 bytes at 2 B/s: 1e9 s in which nothing but memory is taken; then 10 s of work."""
    costs = Costs(image_bandwidth=2, container_start_s=0)
    log = run([submission(0, "a", model(image_size=2 * 10**9))], telemetry=Telemetry(), costs=costs)
    times = [event.time for event in of(log, ev.UsageSampled)]
    assert times == [10.0, 20.0, 1e9]
    assert {event.memory_bytes for event in of(log, ev.UsageSampled)} == {(2.0**30,)}
    assert [event.time for event in of(log, ev.PodFinished)] == [1e9 + 10]


@pytest.mark.parametrize("period", [0.01, 0.7, 10.0])
def test_measurements_lie_on_multiples_of_their_period(period: float) -> None:
    log = run([submission(0.05, "a")], telemetry=Telemetry(progress=0, usage=period))
    count = len(of(log, ev.UsageSampled))
    regular = [event.time for event in of(log, ev.UsageSampled) if event.time != 0.05]
    assert count >= 1
    assert all(time / period == pytest.approx(round(time / period)) for time in regular)


def test_telemetry_alone_does_not_keep_a_run_going() -> None:
    log = run([submission(0, "a")], on={}, telemetry=Telemetry())
    assert log[-1].time == 0.0


def test_a_timer_may_create_the_next_pod_of_a_job_that_has_none() -> None:
    def back_off(event: ev.Event) -> Iterable[Action]:
        if isinstance(event, ev.NodeAdded):
            yield Wake(5, "stop")
        elif isinstance(event, ev.PodEvicted):
            yield Wake(event.time + 20, "again")
        elif isinstance(event, ev.TimerFired):
            yield DeletePod("a", "test") if event.timer == "stop" else CreatePod(Pod("a-2", "a", 1, "node-1"))

    log = run([submission(0, "a")], script=back_off)
    assert [(event.pod, event.time) for event in of(log, ev.PodFinished)] == [("a-2", 30.0)]


def test_a_job_that_nobody_takes_up_again_ends_the_run_after_the_quiet_time() -> None:
    def give_up(event: ev.Event) -> Iterable[Action]:
        if isinstance(event, ev.NodeAdded | ev.TimerFired):
            yield Wake(event.time + 10, "round")
        if isinstance(event, ev.TimerFired) and event.time == 10:
            yield DeletePod("a", "given up")

    log = run([submission(0, "a", model(iterations=1000))], script=give_up)
    assert of(log, ev.PodEvicted)[0].time == 10.0
    assert log[-1].time == pytest.approx(310.0)
