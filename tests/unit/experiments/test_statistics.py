"""Bootstrap intervals against scipy, by hand, and at their edges."""

import math

import numpy as np
import pytest
from scipy import stats

from backend.experiments.statistics import (
    mean_difference,
    paired_interval,
    percent_of_means,
    unpaired_interval,
)

A = np.array([100.0, 120.0, 90.0, 130.0, 110.0, 95.0, 105.0, 140.0])
B = np.array([90.0, 100.0, 95.0, 110.0, 100.0, 96.0, 80.0, 120.0])


def test_the_mean_difference_has_the_interval_that_scipy_gives() -> None:
    """scipy.stats.bootstrap draws its resamples in the same way, so that equal generators give equal intervals."""
    ours = paired_interval(A, B, resamples=5000, seed=7)
    theirs = stats.bootstrap((B - A,), np.mean, n_resamples=5000, method="BCa", random_state=np.random.default_rng(7))
    assert ours == pytest.approx(tuple(theirs.confidence_interval), rel=1e-9)


def test_the_percentage_has_the_interval_that_scipy_gives() -> None:
    def percent(a: np.ndarray, b: np.ndarray, axis: int = -1) -> np.ndarray:
        return 100 * (b.mean(axis=axis) - a.mean(axis=axis)) / a.mean(axis=axis)

    ours = paired_interval(A, B, percent_of_means, resamples=5000, seed=7)
    theirs = stats.bootstrap(
        (A, B),
        percent,
        n_resamples=5000,
        method="BCa",
        paired=True,
        vectorized=True,
        random_state=np.random.default_rng(7),
    )
    assert ours == pytest.approx(tuple(theirs.confidence_interval), rel=1e-9)


def test_the_unpaired_interval_is_near_that_of_scipy() -> None:
    ours = unpaired_interval(A, B)
    theirs = stats.bootstrap(
        (B, A),
        lambda b, a, axis=-1: b.mean(axis=axis) - a.mean(axis=axis),
        method="percentile",
        random_state=np.random.default_rng(1),
    )
    assert ours == pytest.approx(tuple(theirs.confidence_interval), abs=1.0)


def test_two_pairs_span_their_differences() -> None:
    """Of two pairs the resampled means are -30, -20 and -10: the interval runs from the one difference to the other."""
    assert paired_interval(np.array([100.0, 100.0]), np.array([90.0, 70.0])) == (-30.0, -10.0)


def test_the_same_measurements_give_the_same_interval() -> None:
    assert paired_interval(A, B) == paired_interval(A.copy(), B.copy())


def test_equal_differences_leave_no_doubt() -> None:
    assert paired_interval(A, A - 5.0) == (-5.0, -5.0)


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_pairs_have_no_interval(count: int) -> None:
    assert paired_interval(A[:count], B[:count]) is None


def test_a_group_of_one_has_no_interval() -> None:
    assert unpaired_interval(A, B[:1]) is None


def test_no_percentage_of_nothing() -> None:
    zero = np.zeros(3)
    assert math.isnan(percent_of_means(zero, zero + 1))
    assert paired_interval(zero, zero + 1, percent_of_means) is None


def test_pairs_must_be_pairs() -> None:
    with pytest.raises(ValueError, match="not 8 and 7"):
        paired_interval(A, B[:7])


def test_the_interval_covers_the_true_mean_about_as_often_as_it_says() -> None:
    """200 samples of 20 pairs whose true mean difference is -3; BCa at n = 20 covers somewhat less than 95 %."""
    random = np.random.default_rng(3)
    hits = 0
    for _ in range(200):
        differences = random.exponential(4.0, 20) - 7.0
        interval = paired_interval(np.zeros(20), differences, resamples=999)
        assert interval is not None
        hits += interval[0] <= -3.0 <= interval[1]
    assert 0.88 <= hits / 200 <= 0.99


def test_a_thousand_pairs_take_little_time_and_memory() -> None:
    random = np.random.default_rng(5)
    a = random.normal(100, 10, 1000)
    low, high = paired_interval(a, a - 2 + random.normal(0, 1, 1000)) or (0, 0)
    assert low < -2 < high
    assert float(mean_difference(a, a - 2)) == pytest.approx(-2)
