"""A linear axis in seconds since the start of the run, with tick text such as 2:30.

Dates are not used: plotly.js misreads a date `base` of bars, and a simulated run has no date.
assets/charts.js computes the ticks again with the same steps when a person zooms.
"""

import math
from typing import Any

STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400)
"""Distances between ticks that read well, in seconds."""


def clock(seconds: float) -> str:
    """Seconds since the start as m:ss or h:mm:ss; tenths only if there are any: 150 -> "2:30", 0.5 -> "0:00.5"."""
    sign = "−" if seconds < 0 else ""
    tenths = round(abs(seconds) * 10)
    whole, tenth = divmod(tenths, 10)
    minutes, second = divmod(whole, 60)
    hours, minute = divmod(minutes, 60)
    fraction = f".{tenth}" if tenth else ""
    if hours:
        return f"{sign}{hours}:{minute:02d}:{second:02d}{fraction}"
    return f"{sign}{minute}:{second:02d}{fraction}"


def about(seconds: float) -> str:
    """The same to the whole second, for sentences."""
    return clock(float(round(seconds)))


def ticks(start: float, end: float, most: int = 9) -> list[float]:
    """At most about `most` round times between start and end."""
    span = max(end - start, 0.1)
    step = next((step for step in STEPS if span / step <= most), None)
    if step is None:
        days = math.ceil(span / most / STEPS[-1])
        step = days * STEPS[-1]
    first = math.ceil(start / step - 1e-9)
    last = math.floor(end / step + 1e-9)
    return [round(index * step, 3) for index in range(first, last + 1)]


def axis(end: float, *, start: float = 0.0, title: str = "time since start (m:ss)", **more: Any) -> dict[str, Any]:
    """Layout of a time axis from `start` to `end` seconds."""
    values = ticks(start, end)
    return {
        "type": "linear",
        "range": [start, end],
        "tickmode": "array",
        "tickvals": values,
        "ticktext": [clock(value) for value in values],
        "title": {"text": title, "standoff": 8},
        "zeroline": False,
        "podshiftTime": True,
        **more,
    }
