"""Intervals for what was measured over several seeds.

All intervals are 95 % bootstrap intervals, computed with a fixed seed: the same measurements give the same interval.
Paired ones are bias-corrected and accelerated (BCa; Efron and Tibshirani, An Introduction to the Bootstrap, 1993,
section 14.3): seeds are resampled as pairs, so what two arms share (arrivals, curves) cancels out. Intervals of two
groups without pairs are percentile intervals (section 13.3); each group is resampled on its own.
One measurement has no interval. Of two to four the interval is given, but says little.
"""

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Statistic = Callable[[Floats, Floats], Floats]
"""Two arrays (..., n) of pairs -> (...)."""

CONFIDENCE = 0.95
RESAMPLES = 9_999
"""Enough that another seed moves the end of an interval by about 1 % of its length."""
MAX_DRAWS = 4_000_000
"""Resamples times pairs; beyond it there are fewer resamples, to stay below about 0.1 s and 50 MB a measure."""
_SEED = 20_101_130
"""Any constant; this one is the number of the SpeCon preprint with a zero behind it."""


def mean_difference(a: Floats, b: Floats) -> Floats:
    """mean(b - a) over the last axis."""
    return np.asarray((b - a).mean(axis=-1))


def percent_of_means(a: Floats, b: Floats) -> Floats:
    """Change of the mean in percent of a's mean, over the last axis; NaN where a's mean is 0."""
    base = a.mean(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(base == 0, np.nan, 100.0 * (b - a).mean(axis=-1) / base))


def paired_interval(
    a: Floats, b: Floats, statistic: Statistic = mean_difference, *, resamples: int = RESAMPLES, seed: int = _SEED
) -> tuple[float, float] | None:
    """BCa interval of a statistic of n pairs; None for fewer than two pairs and where the statistic is no number."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    n = len(a)
    if n != len(b):
        raise ValueError(f"pairs need as many values on either side, not {n} and {len(b)}")
    if n < 2:
        return None
    estimate = float(statistic(a, b))
    if not math.isfinite(estimate):
        return None
    chosen = np.random.default_rng(seed).integers(0, n, (_resamples(resamples, n), n))
    drawn = np.asarray(statistic(a[chosen], b[chosen]))
    drawn = drawn[np.isfinite(drawn)]
    if not len(drawn):
        return None
    spread = float(drawn.max() - drawn.min())
    if spread <= 1e-12 * max(1.0, abs(estimate)):
        return estimate, estimate
    normal = NormalDist()
    below = float((drawn < estimate).mean() + (drawn <= estimate).mean()) / 2
    below = min(max(below, 0.5 / len(drawn)), 1 - 0.5 / len(drawn))
    bias = normal.inv_cdf(below)
    others = _leave_one_out(n)
    jackknife = np.asarray(statistic(a[others], b[others]))
    deviation = jackknife.mean() - jackknife
    square = float((deviation**2).sum())
    acceleration = float((deviation**3).sum()) / (6.0 * square**1.5) if square > 0 else 0.0
    ends = []
    for level in ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2):
        shifted = bias + normal.inv_cdf(level)
        adjusted = normal.cdf(bias + shifted / (1.0 - acceleration * shifted))
        ends.append(float(np.quantile(drawn, adjusted)))
    return ends[0], ends[1]


def unpaired_interval(
    a: Floats, b: Floats, *, resamples: int = RESAMPLES, seed: int = _SEED
) -> tuple[float, float] | None:
    """Percentile interval of mean(b) - mean(a) of two independent groups; None if either has fewer than two values."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    if len(a) < 2 or len(b) < 2:
        return None
    random = np.random.default_rng(seed)
    count = _resamples(resamples, max(len(a), len(b)))
    means_a = a[random.integers(0, len(a), (count, len(a)))].mean(axis=1)
    means_b = b[random.integers(0, len(b), (count, len(b)))].mean(axis=1)
    low, high = np.quantile(means_b - means_a, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def _resamples(wanted: int, n: int) -> int:
    return max(1, min(wanted, MAX_DRAWS // n))


def _leave_one_out(n: int) -> NDArray[np.int64]:
    """Row i holds all places but i."""
    places = np.broadcast_to(np.arange(n), (n, n))
    return places[~np.eye(n, dtype=bool)].reshape(n, n - 1)
