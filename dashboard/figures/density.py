"""The swimlane of very many stretches: a heatmap of node by time, coloured by what most of its pods were doing.

20,000 stretches draw in 0.1 to 0.3 s this way; as bars, a zoom takes 10 s (ux.md sections 3 and 8).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dashboard.figures.arrays import floats, typed
from dashboard.figures.lanes import Bar, Swimlane
from dashboard.figures.palette import Palette
from dashboard.figures.view import text

BINS = 480
LEVELS = ("idle", "pending", "starting", "transit", "progressing", "watching", "converged", "running")


def trace(
    swim: Swimlane,
    *,
    bars: Sequence[Bar],
    offsets: dict[str, float],
    span: tuple[float, float],
    colours: Palette,
    suffix: str,
) -> dict[str, Any]:
    """One heatmap trace for one run; a cell is the state that most pods of the lane had in the time bin."""
    dominant, pods = dominant_states(swim.lanes, bars, span)
    edges = [offsets[lane] for lane in swim.lanes]
    last = swim.lanes[-1]
    edges.append(offsets[last] + swim.rows[last])
    times = np.linspace(span[0], span[1], BINS + 1)
    shades = _shades(colours)
    steps = [(index / len(LEVELS), (index + 1) / len(LEVELS)) for index in range(len(LEVELS))]
    return {
        "type": "heatmap",
        "uid": f"density{suffix}",
        "x": typed(times),
        "y": floats(edges),
        "yaxis": "y" + suffix,
        "z": typed(dominant),
        "zmin": -0.5,
        "zmax": len(LEVELS) - 0.5,
        "colorscale": [
            [at, shades[level]] for (low, high), level in zip(steps, LEVELS, strict=True) for at in (low, high)
        ],
        "showscale": not suffix,
        "colorbar": {
            "tickmode": "array",
            "tickvals": list(range(len(LEVELS))),
            "ticktext": list(LEVELS),
            "thickness": 12,
            "lenmode": "pixels",
            "len": 260,
            "y": 1,
            "yanchor": "top",
            "outlinewidth": 0,
            "title": {"text": "most pods are"},
        },
        "customdata": typed(pods),
        "text": [text(lane) for lane in swim.lanes],
        "hovertemplate": "%{customdata} pods here<extra></extra>",
    }


def dominant_states(lanes: Sequence[str], bars: Sequence[Bar], span: tuple[float, float]) -> tuple[Any, Any]:
    """Two uint8 arrays, lanes by BINS: the index into LEVELS of the most frequent state, and the number of pods."""
    index = {lane: row for row, lane in enumerate(lanes)}
    # Differences at the edges, then a running sum along time: each bar costs two additions, however long it is.
    counts = np.zeros((len(LEVELS), len(lanes), BINS + 1), dtype=np.int32)
    scale = BINS / max(span[1] - span[0], 1e-9)
    for bar in bars:
        first = int(np.clip((bar.start - span[0]) * scale, 0, BINS - 1))
        after = int(np.clip(np.ceil((bar.end - span[0]) * scale), first + 1, BINS))
        level, lane = LEVELS.index(bar.state), index[bar.lane]
        counts[level, lane, first] += 1
        counts[level, lane, after] -= 1
    present = counts.cumsum(axis=2)[:, :, :BINS]
    pods = present.sum(axis=0)
    dominant = np.where(pods > 0, present.argmax(axis=0), 0)
    return dominant.astype(np.uint8), np.minimum(pods, 255).astype(np.uint8)


def _shades(colours: Palette) -> dict[str, str]:
    return {
        "idle": colours.band,
        "pending": colours.pending,
        "starting": colours.starting,
        "transit": colours.transit,
        **colours.categories,
    }
