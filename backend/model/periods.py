"""Regular times, counted from the beginning of a run."""

import math


def next_multiple(now: float, period: float) -> float:
    """The first multiple of a period behind `now`."""
    count = math.floor(now / period) + 1
    while count * period <= now:
        count += 1
    return count * period


EMBEDDED_SPEED = 20.0
"""Simulated seconds a second of an embedded cluster where nobody says how many."""
SLOWEST, FASTEST = 0.1, 1000.0
"""Seconds of an embedded cluster's clock in a second on the wall, at least and at most."""
