"""What running jobs and nodes report, and that asking them changes nothing."""

from typing import Any

import numpy as np
import pytest

from backend.model import events as ev
from backend.simulation import telemetry
from backend.simulation.cluster import Submission, Telemetry
from backend.simulation.curves import Exponential
from tests.unit.simulation.toy_cluster import QUIET, model, of, run, submission

FAST = {"iterations": 100_000, "core_s_per_iteration": 0.0004, "noise": 0.5}
"""40 core-seconds in 100,000 iterations: 10,000 a second on 4 cores."""


def values(submissions: list[Submission], every: float) -> list[float]:
    log = run(submissions, telemetry=Telemetry(progress=every, usage=0))
    return [value for event in of(log, ev.ProgressReported) for value in event.values]


def test_measuring_changes_no_end() -> None:
    """To the last bit: an arm with telemetry and one without are the same run."""

    def ends(measured: Telemetry) -> list[tuple[str, float]]:
        jobs = [submission(1.37 * k, f"j{k}", model(core_s_per_iteration=1 + 0.37 * k)) for k in range(30)]
        return [(event.pod, event.time) for event in of(run(jobs, telemetry=measured), ev.PodFinished)]

    assert ends(Telemetry(progress=3, usage=0.7)) == ends(QUIET)


def test_two_curves_are_told_apart_though_their_models_have_one_name() -> None:
    """Both do 1 of 10 iterations on half a node until 2."""
    other = model(curve=Exponential(start=100, end=50))
    first, second = values([submission(0, "a"), submission(0, "b", other)], 2)[:2]
    assert first == pytest.approx(model().curve.values(np.array([0.1]))[0])
    assert second == pytest.approx(other.curve.values(np.array([0.1]))[0])


def test_jobs_that_set_something_otherwise_keep_the_curve_of_their_model() -> None:
    kind = model()
    slow = kind.model_copy(update={"core_s_per_iteration": 8.0})
    one, two = values([submission(0, "a", kind), submission(0, "b", slow)], 4)[:2]
    assert one == pytest.approx(np.mean(kind.curve.values(np.array([0.1, 0.2]))))
    assert two == pytest.approx(kind.curve.values(np.array([0.1]))[0])


def test_the_value_of_very_many_iterations_is_the_mean_of_some_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Evenly spread, the last one among them; without noise 256 of 10,000 give the mean of all within 0.1 %."""
    some = values([submission(0, "a", model(**FAST | {"noise": 0.0}))], 1)
    monkeypatch.setattr(telemetry, "MAX_EVALUATIONS", 10**6)
    every = values([submission(0, "a", model(**FAST | {"noise": 0.0}))], 1)
    assert some == pytest.approx(every, rel=1e-3)
    assert some != every


def test_no_more_iterations_are_evaluated_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluated: list[int] = []
    real = Exponential.values

    def count(self: Exponential, x: Any) -> Any:
        evaluated.append(len(x))
        return real(self, x)

    monkeypatch.setattr(Exponential, "values", count)
    values([submission(0, "a", model(**FAST))], 1)
    assert set(evaluated) == {telemetry.MAX_EVALUATIONS}


def test_few_iterations_are_all_evaluated() -> None:
    """Five iterations, each with its noise: the mean is over 1, 2, 3, 4 and 5 and no other."""
    noisy = model(noise=0.2)
    single = values([submission(0, "a", noisy)], 1)
    assert values([submission(0, "a", noisy)], 5)[0] == pytest.approx(np.mean(single[:5]))


def test_a_sample_covers_an_end_within_its_interval() -> None:
    """4 cores until 10, then none: of the four seconds until 12 two are idle. The run is over before 16."""
    log = run([submission(0, "a"), submission(14, "b", model(iterations=1))], telemetry=Telemetry(progress=0, usage=4))
    assert [event.cpu_millis for event in of(log, ev.UsageSampled)] == [
        pytest.approx((expected,)) for expected in (4000.0, 4000.0, 2000.0)
    ]
