"""Late in a long run the clock moves in coarse steps (1e-7 s at 1e9 s); jobs must still end, and end once."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.model import events as ev
from backend.simulation.cluster import Costs, SimulatedCluster
from tests.interpreted import interpreted_only
from tests.unit.simulation.toy_cluster import QUIET, OnNode, model, node, of, submission

STEPS = 1000
"""Events after which a run of a few jobs is taken to be endless."""

JOBS = st.lists(st.tuples(st.floats(0, 100), st.floats(1e-6, 50), st.integers(1, 8)), min_size=1, max_size=6)


def bounded_run(submissions: list[Any]) -> list[ev.Event]:
    cluster = SimulatedCluster([node()], submissions, seed=1, telemetry=QUIET, costs=Costs.zero())
    ends = 0
    foreseen = cluster._end

    def count(argument: Any) -> None:
        nonlocal ends
        ends += 1
        assert ends < STEPS, f"an end is foreseen again and again at {cluster.now()}"
        foreseen(argument)

    cluster._end = count  # type: ignore[method-assign]
    controller = OnNode("node-1")
    log = []
    for event in cluster.events():
        log.append(event)
        for action in controller.handle(event):
            cluster.execute(action)
    return log


@interpreted_only
@pytest.mark.parametrize("time", [1e6, 1e8, 1e9, 1.7e9], ids="{:g}".format)
def test_jobs_end_however_late_they_come(time: float) -> None:
    jobs = [submission(time + gap, name, model(core_s_per_iteration=0.7731)) for gap, name in ((0, "a"), (1.2, "b"))]
    log = bounded_run(jobs)
    assert [event.time - time for event in of(log, ev.PodFinished)] == pytest.approx([2.6655, 3.8655], abs=1e-6)


@interpreted_only
@settings(max_examples=60, deadline=None)
@given(st.floats(0, 1e9), JOBS)
def test_a_job_consumes_its_work_exactly_at_any_time(begin: float, jobs: Any) -> None:
    submissions = [
        submission(begin + gap, f"j{k}", model(core_s_per_iteration=cost, parallelism=str(cores)))
        for k, (gap, cost, cores) in enumerate(jobs)
    ]
    consumed = {event.pod: event.core_s for event in of(bounded_run(submissions), ev.PodFinished)}
    assert consumed == {f"j{k}": 10 * cost for k, (_, cost, _) in enumerate(jobs)}
