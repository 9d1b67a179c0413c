"""Noise by counting: the noise of iteration k of a job is a function of seed, job and k.

No generator is advanced, so the noise does not depend on when, where or beside whom a job runs, and two arms see the
same curves. The mix is SplitMix64 (Steele, Lea and Flood 2014), the normal numbers are Box and Muller's.
"""

import numpy as np
from numpy.typing import NDArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)


def _mix(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    z = (z ^ (z >> np.uint64(30))) * _MIX1
    z = (z ^ (z >> np.uint64(27))) * _MIX2
    return z ^ (z >> np.uint64(31))


def normal(keys: NDArray[np.uint64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Standard normal numbers, one for each pair of a key (of a job) and a count (its iteration)."""
    base = keys + counts.astype(np.uint64) * np.uint64(2) * _GOLDEN
    first = (_mix(base) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    second = (_mix(base + _GOLDEN) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    drawn: NDArray[np.float64] = np.sqrt(-2.0 * np.log1p(-first)) * np.cos(2.0 * np.pi * second)
    return drawn
