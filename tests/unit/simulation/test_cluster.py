import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.model import events as ev
from backend.model.actions import Action, Bind, CreatePod, DeletePod, Wake
from backend.model.objects import Pod
from backend.simulation.cluster import Costs, Fault, SimulatedCluster, Submission, Telemetry
from tests.unit.simulation.toy_cluster import at, delete_at, model, node, of, run, submission


def finish_times(log: list[ev.Event]) -> dict[str, float]:
    return {event.pod: event.time for event in of(log, ev.PodFinished)}


def test_a_job_alone_takes_its_work_over_its_cores() -> None:
    """10 iterations x 4 core-seconds on 4 cores."""
    assert finish_times(run([submission(5, "a")])) == {"a": pytest.approx(15.0)}


def test_neighbours_slow_each_other_and_speed_up_again() -> None:
    """b comes when a has 20 of 40 core-seconds left: both at 2 cores; a ends at 5 + 10; b has 20 left at 4 cores."""
    log = run([submission(0, "a"), submission(5, "b")])
    assert finish_times(log) == {"a": pytest.approx(15.0), "b": pytest.approx(20.0)}


def test_events_of_a_simple_run() -> None:
    assert [ev.kind(event) for event in run([submission(5, "a")])] == [
        "node_added",
        "job_submitted",
        "pod_created",
        "pod_bound",
        "image_pulled",
        "pod_started",
        "pod_finished",
    ]


def test_the_limit_is_a_ceiling() -> None:
    assert finish_times(run([submission(0, "a", model(cpu_limit="2"))])) == {"a": pytest.approx(20.0)}


def test_requests_are_weights() -> None:
    """Requests 3 and 1: a gets 3 of 4 cores; ends at 40 / 3."""
    log = run([submission(0, "a", model(cpu_request="3")), submission(0, "b", model(cpu_request="1"))])
    assert finish_times(log)["a"] == pytest.approx(40 / 3)


# -- images


def test_an_image_is_pulled_once_a_node_and_awaited_by_all() -> None:
    costs = Costs.zero().model_copy(update={"image_bandwidth": 100.0})
    kind = model(image_size=1000)
    log = run([submission(0, "a", kind), submission(4, "b", kind)], costs=costs)
    assert [(e.time, e.image) for e in of(log, ev.ImagePulled)] == [(10.0, "toy:1")]
    assert [e.time for e in of(log, ev.PodStarted)] == [10.0, 10.0]


def test_an_image_the_node_holds_is_not_pulled() -> None:
    costs = Costs.zero().model_copy(update={"image_bandwidth": 100.0})
    log = run([submission(0, "a", model(image_size=1000))], nodes=[node(images=("toy:1",))], costs=costs)
    assert of(log, ev.ImagePulled) == []
    assert [e.time for e in of(log, ev.PodStarted)] == [0.0]


# -- stopping


def test_a_stopped_job_keeps_its_whole_iterations() -> None:
    """At 3.5 s 14 of 40 core-seconds are done: 3.5 iterations; 3 are kept, 2 core-seconds are lost."""
    (evicted,) = of(run([submission(0, "a")], script=delete_at(3.5, "a")), ev.PodEvicted)
    assert (evicted.iteration, evicted.kept_iteration) == pytest.approx((3.5, 3.0))
    assert (evicted.core_s, evicted.lost_core_s) == pytest.approx((14.0, 2.0))


def test_stopping_and_writing_take_time_in_which_no_work_is_done() -> None:
    costs = Costs.zero().model_copy(update={"stop_s": 1.0, "checkpoint_bandwidth": 100.0})
    log = run([submission(0, "a", model(checkpoint_size=300))], costs=costs, script=delete_at(5, "a"))
    (evicted,) = of(log, ev.PodEvicted)
    assert (evicted.time, evicted.core_s) == pytest.approx((9.0, 20.0))


def test_a_grace_too_short_for_the_checkpoint_leaves_the_periodic_one() -> None:
    costs = Costs.zero().model_copy(update={"stop_s": 1.0, "checkpoint_bandwidth": 100.0})
    kind = model(checkpoint_size=300, checkpoint_every=4)
    (evicted,) = of(run([submission(0, "a", kind)], costs=costs, script=delete_at(5.5, "a", 2.0)), ev.PodEvicted)
    assert (evicted.time, evicted.kept_iteration) == pytest.approx((6.5, 4.0))


def test_restart_mode_keeps_nothing() -> None:
    costs = Costs.zero().model_copy(update={"mode": "restart"})
    (evicted,) = of(run([submission(0, "a")], costs=costs, script=delete_at(5, "a")), ev.PodEvicted)
    assert (evicted.kept_iteration, evicted.lost_core_s) == pytest.approx((0.0, 20.0))


def test_a_job_without_checkpoints_begins_anew() -> None:
    (evicted,) = of(run([submission(0, "a", model(checkpoint_every=0))], script=delete_at(5, "a")), ev.PodEvicted)
    assert evicted.kept_iteration == 0.0


def test_the_next_pod_goes_on_from_the_checkpoint() -> None:
    def follow(event: ev.Event) -> Any:
        yield from delete_at(3.5, "a")(event)
        if isinstance(event, ev.PodEvicted):
            yield CreatePod(Pod("a-2", "a", 1, "node-1"))

    log = run([submission(0, "a")], script=follow)
    assert [e.iteration for e in of(log, ev.PodStarted)] == [0.0, 3.0]
    assert finish_times(log) == {"a-2": pytest.approx(3.5 + 7.0)}


def test_loading_the_checkpoint_takes_time() -> None:
    costs = Costs.zero().model_copy(update={"checkpoint_bandwidth": 100.0, "checkpoint_on_stop": False})

    def follow(event: ev.Event) -> Any:
        yield from delete_at(5, "a")(event)
        if isinstance(event, ev.PodEvicted):
            yield CreatePod(Pod("a-2", "a", 1, "node-1"))

    log = run([submission(0, "a", model(checkpoint_size=200))], costs=costs, script=follow)
    assert [e.time for e in of(log, ev.PodStarted)] == pytest.approx([0.0, 7.0])


@pytest.mark.parametrize(
    ("costs", "ready"),
    [
        (Costs.zero(), 4.0),
        # stop 1, write 2, pull 10, start 3, load 2
        (Costs(stop_s=1, checkpoint_bandwidth=100, image_bandwidth=100, container_start_s=3), 22.0),
        # stop 1, pull 10, start 3; nothing is written or loaded
        (Costs(stop_s=1, checkpoint_bandwidth=100, image_bandwidth=100, container_start_s=3, mode="restart"), 18.0),
    ],
    ids=["at-no-cost", "checkpoint", "restart"],
)
def test_what_a_move_costs(costs: Costs, ready: float) -> None:
    """The image is on the source only; the job is asked to stop at 4 and works again at `ready`."""

    def follow(event: ev.Event) -> Any:
        yield from delete_at(4, "a")(event)
        if isinstance(event, ev.PodEvicted):
            yield CreatePod(Pod("a-2", "a", 1, "node-2"))

    nodes = [node(images=("toy:1",)), node("node-2")]
    log = run(
        [submission(0, "a", model(image_size=1000, checkpoint_size=200))], nodes=nodes, costs=costs, script=follow
    )
    assert [event.time for event in of(log, ev.PodStarted)][1] == ready


def test_at_no_cost_no_time_passes_however_large_the_image() -> None:
    log = run([submission(0, "a", model(image_size=10**12))])
    assert [event.time for event in log[:-1]] == [0.0] * 6
    assert of(log, ev.ImagePulled)[0].duration_s == 0.0


@pytest.mark.parametrize("on", [{}, "node-1"], ids=["pending", "pulling"])
def test_a_pod_that_does_not_run_is_deleted_at_once(on: Any) -> None:
    costs = Costs.zero().model_copy(update={"image_bandwidth": 1.0, "stop_s": 5.0})
    log = run([submission(0, "a", model(image_size=100))], on=on, costs=costs, script=delete_at(3, "a"))
    (evicted,) = of(log, ev.PodEvicted)
    assert (evicted.time, evicted.node) == (3.0, on or None)
    assert of(log, ev.PodStarted) == []


def test_deleting_a_pod_that_has_ended_or_never_was_does_nothing() -> None:
    log = run(
        [submission(0, "a"), submission(20, "b")], script=at(15, DeletePod("a", "late"), DeletePod("x", "no such"))
    )
    assert of(log, ev.PodEvicted) == []


def test_deleting_twice_evicts_once() -> None:
    log = run([submission(0, "a")], script=at(3, DeletePod("a", "one"), DeletePod("a", "two")))
    assert [e.reason for e in of(log, ev.PodEvicted)] == ["one"]


# -- refusals


@pytest.mark.parametrize(
    ("kind", "target", "words"),
    [
        (model(memory="128Gi"), "node-1", "bytes left"),
        (model(cpu_request="5"), "node-1", "millicores left"),
        (model(), "node-9", "not there"),
    ],
    ids=["memory", "cpu", "no-such-node"],
)
def test_a_bind_that_cannot_be_is_an_eviction_with_its_reason(kind: Any, target: str, words: str) -> None:
    (evicted,) = of(run([submission(0, "a", kind)], on=target), ev.PodEvicted)
    assert evicted.node is None
    assert words in evicted.reason


def test_a_full_node_takes_no_more_pods() -> None:
    log = run([submission(0, "a"), submission(1, "b")], nodes=[node(max_pods=1)])
    assert [e.pod for e in of(log, ev.PodEvicted)] == ["b"]


# -- failures


def test_a_node_that_fails_takes_its_pods_and_keeps_their_checkpoints() -> None:
    log = run([submission(0, "a", model(checkpoint_every=2))], faults=[Fault("node-1", 3.5)])
    removed, evicted = of(log, ev.NodeRemoved)[0], of(log, ev.PodEvicted)[0]
    assert log.index(removed) < log.index(evicted)
    assert (evicted.time, evicted.iteration, evicted.kept_iteration) == pytest.approx((3.5, 3.5, 2.0))


def test_a_node_comes_back_empty() -> None:
    costs = Costs.zero().model_copy(update={"image_bandwidth": 100.0})
    kind = model(image_size=100)
    log = run(
        [submission(0, "a", kind), submission(20, "b", kind)], faults=[Fault("node-1", 5, back_at=10)], costs=costs
    )
    assert [e.time for e in of(log, ev.NodeAdded)] == [0.0, 10.0]
    assert [e.time for e in of(log, ev.ImagePulled)] == [1.0, 21.0]


@pytest.mark.parametrize("order", [1, -1], ids=["in-order", "out-of-order"])
def test_a_node_may_fail_at_the_moment_at_which_it_came_back(order: int) -> None:
    log = run([submission(30, "a")], faults=[Fault("node-1", 5, 10), Fault("node-1", 10, 20)][::order])
    changes = [(event.time, ev.kind(event)) for event in log if isinstance(event, ev.NodeAdded | ev.NodeRemoved)]
    removed, added = "node_removed", "node_added"
    assert changes == [(0, added), (5, removed), (10, added), (10, removed), (20, added)]


def test_a_node_that_fails_while_a_pod_stops_loses_what_it_would_have_written() -> None:
    """Stopping takes 4 s from 5.5 on and would keep 5 iterations; the node is lost at 7 with the checkpoint of 4."""
    costs = Costs.zero().model_copy(update={"stop_s": 4.0})
    kind = model(checkpoint_every=4)
    log = run([submission(0, "a", kind)], costs=costs, script=delete_at(5.5, "a"), faults=[Fault("node-1", 7)])
    (evicted,) = of(log, ev.PodEvicted)
    assert (evicted.time, evicted.reason) == (7.0, "node lost")
    assert (evicted.iteration, evicted.kept_iteration, evicted.lost_core_s) == pytest.approx((5.5, 4.0, 6.0))


def test_a_pull_that_the_failure_cut_off_is_not_reported() -> None:
    costs = Costs.zero().model_copy(update={"image_bandwidth": 1.0})
    log = run([submission(0, "a", model(image_size=100))], faults=[Fault("node-1", 5)], costs=costs)
    assert of(log, ev.ImagePulled) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"faults": [Fault("node-7", 1)]}, "node-7"),
        ({"faults": [Fault("node-1", 5, back_at=5)]}, "not after failing"),
        ({"faults": [Fault("node-1", 5, back_at=math.inf)]}, "comes back at inf"),
        ({"faults": [Fault("node-1", 5, back_at=math.nan)]}, "comes back at nan"),
        ({"faults": [Fault("node-1", 10, 15), Fault("node-1", 5, 20)]}, "'node-1' fails at 10 while still away"),
        ({"faults": [Fault("node-1", 5), Fault("node-1", 9)]}, "'node-1' fails at 9 while still away"),
        ({"faults": [Fault("node-1", -1)]}, "0 or later"),
        ({"nodes": [node(), node()]}, "two nodes are called 'node-1'"),
        ({"nodes": [node(cores=0)]}, "must have processors"),
        ({"submissions": [submission(0, "a"), submission(1, "a")]}, "two jobs are called 'a'"),
        ({"submissions": [submission(-1, "a")]}, "'a' arrives at -1"),
        ({"submissions": [submission(math.nan, "a")]}, "'a' arrives at nan"),
        ({"submissions": [Submission(0, model().job("a"), model(), 0)]}, "'a' has 0 iterations"),
        ({"until": math.nan}, "until is nan"),
        ({"until": -1.0}, "until is -1"),
    ],
    ids=[
        "no-such-node",
        "back-too-early",
        "back-never",
        "back-nan",
        "failures-overlap",
        "failure-of-a-lost-node",
        "negative",
        "equal-nodes",
        "no-cores",
        "equal-jobs",
        "negative-time",
        "nan",
        "no-iterations",
        "until-nan",
        "until-negative",
    ],
)
def test_a_cluster_that_cannot_be_is_refused(arguments: dict[str, Any], words: str) -> None:
    nodes = arguments.pop("nodes", [node()])
    submissions = arguments.pop("submissions", [])
    with pytest.raises(ValueError, match=words):
        SimulatedCluster(nodes, submissions, seed=1, **arguments)


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (CreatePod(Pod("x", "nobody")), "'x' is of the job 'nobody'"),
        (CreatePod(Pod("a", "a")), "'a' exists already"),
        (Wake(math.nan, "tick"), "'tick' is to fire at nan"),
        (Wake(math.inf, "tock"), "'tock' is to fire at inf"),
    ],
    ids=["unknown-job", "equal-pods", "nan", "never"],
)
def test_an_action_that_makes_no_sense_is_an_error(action: Action, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        run([submission(0, "a")], script=at(5, action))


# -- ends


def test_the_run_ends_with_the_last_pod_however_many_timers_there_are() -> None:
    log = run([submission(0, "a")], script=at(1e6, Bind("a", "node-1")), telemetry=Telemetry(progress=1, usage=1))
    assert log[-1].time == pytest.approx(10.0)


def test_a_run_with_a_pod_that_nobody_places_ends_after_the_quiet_time() -> None:
    def again(event: ev.Event) -> Any:
        if isinstance(event, ev.NodeAdded | ev.TimerFired):
            yield Wake(event.time + 10, "again")

    log = run([submission(0, "a")], on={}, script=again)
    assert log[-1].time == pytest.approx(300.0)


def test_the_time_limit_ends_a_run() -> None:
    log = run([submission(0, "a"), submission(50, "b")], until=12)
    assert max(event.time for event in log) <= 12
    assert [e.job.name for e in of(log, ev.JobSubmitted)] == ["a"]


# -- measurements


def test_progress_reports_hold_iterations_values_and_speed() -> None:
    log = run([submission(0, "a")], telemetry=Telemetry(progress=5, usage=0))
    first = of(log, ev.ProgressReported)[0]
    assert (first.time, first.pods, first.iterations) == (5.0, ("a",), (5.0,))
    expected = sum(model().curve.values(np.array([k / 10 for k in range(1, 6)]))) / 5
    assert first.values == pytest.approx((expected,))
    assert (first.cpu_millis, first.iteration_s) == (pytest.approx((4000.0,)), pytest.approx((1.0,)))


def test_a_pod_that_completed_no_iteration_does_not_report() -> None:
    log = run(
        [submission(0, "a", model(iterations=2, core_s_per_iteration=40))], telemetry=Telemetry(progress=3, usage=0)
    )
    assert [e.time for e in of(log, ev.ProgressReported)] == [12.0]


def test_the_curve_of_a_job_does_not_depend_on_its_neighbours() -> None:
    noisy = model(noise=0.1)

    def values(*others: Any) -> dict[float, float]:
        log = run([submission(0, "a", noisy), *others], telemetry=Telemetry(progress=1, usage=0))
        return {
            iteration: value
            for event in of(log, ev.ProgressReported)
            for pod, iteration, value in zip(event.pods, event.iterations, event.values, strict=True)
            if pod == "a"
        }

    alone, crowded = values(), values(submission(0, "b", noisy))
    shared = [k for k in crowded if k in alone and k - 1 in alone and k - 1 in crowded]
    assert shared
    assert all(alone[k] == crowded[k] for k in shared)


def test_usage_is_the_mean_over_the_interval() -> None:
    log = run([submission(5, "a")], telemetry=Telemetry(progress=0, usage=10))
    sample = of(log, ev.UsageSampled)[0]
    assert (sample.time, sample.cpu_millis, sample.memory_bytes) == (10.0, pytest.approx((2000.0,)), (2.0**30,))


# -- laws

JOBS = st.lists(
    st.tuples(
        st.floats(0, 100),  # arrival
        st.integers(1, 12),  # iterations
        st.floats(0.5, 20),  # core-seconds an iteration
        st.integers(1, 8),  # parallelism
        st.integers(0, 3),  # node
    ),
    min_size=1,
    max_size=12,
)


def scenario(jobs: Any, seed: int = 1) -> list[ev.Event]:
    submissions = [
        submission(
            time,
            f"j{i}",
            model(iterations=iterations, core_s_per_iteration=cost, parallelism=str(cores), checkpoint_every=2),
        )
        for i, (time, iterations, cost, cores, _) in enumerate(jobs)
    ]
    places = {f"j{i}": f"node-{job[4]}" for i, job in enumerate(jobs)}

    def again(event: ev.Event) -> Any:
        if isinstance(event, ev.PodEvicted):
            job = event.pod.split(".")[0]
            yield CreatePod(Pod(f"{job}.{event.time}", job, 1, "node-0"))

    return run(
        submissions,
        nodes=[node(f"node-{k}") for k in range(4)],
        on=places,
        script=again,
        faults=[Fault("node-1", 30, 60), Fault("node-2", 45)],
        telemetry=Telemetry(progress=7, usage=5),
        costs=Costs(container_start_s=0.5, stop_s=0.25),
        seed=seed,
    )


@settings(max_examples=40, deadline=None)
@given(JOBS)
def test_work_is_conserved(jobs: Any) -> None:
    """What the nodes delivered is what the jobs needed plus what was lost."""
    log = scenario(jobs)
    ends = of(log, ev.PodFinished) + of(log, ev.PodEvicted)
    needed = sum(iterations * cost for _, iterations, cost, _, _ in jobs)
    lost = sum(e.lost_core_s for e in of(log, ev.PodEvicted))
    assert sum(e.core_s for e in ends) == pytest.approx(needed + lost, rel=1e-6)


@settings(max_examples=40, deadline=None)
@given(JOBS)
def test_every_job_finishes_once_and_time_never_goes_back(jobs: Any) -> None:
    log = scenario(jobs)
    ended = [e.pod.split(".")[0] for e in of(log, ev.PodFinished)]
    assert sorted(ended) == sorted(f"j{i}" for i in range(len(jobs)))
    assert [e.time for e in log] == sorted(e.time for e in log)


@settings(max_examples=40, deadline=None)
@given(JOBS)
def test_no_node_delivers_more_than_it_has(jobs: Any) -> None:
    for sample in of(scenario(jobs), ev.UsageSampled):
        assert all(millis <= 4000 * (1 + 1e-9) for millis in sample.cpu_millis)


@settings(max_examples=20, deadline=None)
@given(JOBS)
def test_one_seed_gives_one_log_byte_for_byte(jobs: Any) -> None:
    assert ev.encode_lines(scenario(jobs)) == ev.encode_lines(scenario(jobs))
