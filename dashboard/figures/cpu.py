"""CPU of the nodes: a heatmap of all of them, lines of a chosen few, the cluster as an area."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dashboard.figures.arrays import floats, typed
from dashboard.figures.layout import base, legend_space
from dashboard.figures.palette import palette
from dashboard.figures.placement import short_names
from dashboard.figures.timeaxis import about, axis, clock
from dashboard.figures.view import Columns, View, length, rows_of, text

NO_DATA = 255
"""In a uint8 matrix of percent: nothing was measured. Never drawn as 0."""
MOST_COLUMNS = 240
LINE_LIMIT = 10
"""SVG lines of more nodes update too slowly (ux.md section 8)."""
ABSENT = (
    "This record has no CPU samples, so there is nothing to show here. Placement and completion times do not need them."
)
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")


def matrix(usage: Columns, nodes: Sequence[str], end: float) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """CPU percent of capacity as uint8, nodes by time bins, and the edges of the bins in seconds.

    NO_DATA where no sample fell. Samples above 100 % or below 0 are clamped. A sample stands for the time before it.
    """
    row = {name: index for index, name in enumerate(nodes)}
    time, used, capacity = (_numbers(usage, name) for name in ("time_s", "cpu_millis", "capacity_millis"))
    lane = np.array([row.get(name, -1) for name in usage.get("node", ())], dtype=np.int64)
    columns = max(1, min(MOST_COLUMNS, np.unique(time).size))
    edges = np.linspace(0.0, max(end, float(np.max(time, initial=0.0)), 1e-9), columns + 1)
    total = np.zeros((len(nodes), columns))
    count = np.zeros((len(nodes), columns), dtype=np.int32)
    kept = (lane >= 0) & np.isfinite(used) & (capacity > 0)
    if kept.any():
        # A sample taken at an edge describes the bin before it.
        bins = np.clip(np.searchsorted(edges, time[kept], side="left") - 1, 0, columns - 1)
        np.add.at(total, (lane[kept], bins), 100.0 * used[kept] / capacity[kept])
        np.add.at(count, (lane[kept], bins), 1)
    percent = np.clip(np.rint(total / np.maximum(count, 1)), 0, 100)
    return np.where(count > 0, percent, NO_DATA).astype(np.uint8), edges


def heatmap(usage: Columns, nodes: Sequence[str], end: float, *, theme: str, revision: str) -> View:
    """All nodes, hottest scale end = all cores in use, on a fixed scale of 0 to 100 %."""
    if not length(usage) or not nodes:
        return View(None, ABSENT)
    colours = palette(theme)
    percent, edges = matrix(usage, nodes, end)
    missing = percent == NO_DATA
    labels = short_names(nodes)
    # One byte a cell: 0 to 100 keep the scale, 255 lies beyond zmax of the scale's own part and is drawn clear.
    scale = [[at * 100 / NO_DATA, shade] for at, shade in colours.heat]
    clear = "rgba(0,0,0,0)"
    scale += [[100.5 / NO_DATA, clear], [1.0, clear]]
    data: list[dict[str, Any]] = [
        {
            "type": "heatmap",
            "uid": "cpu",
            "z": typed(percent),
            "x": typed(edges),
            "y": list(range(len(nodes))),
            "zmin": 0,
            "zmax": NO_DATA,
            "colorscale": scale,
            "showscale": False,
            "hovertemplate": "%{y}<br>%{z} % CPU at %{x:.0f} s<extra></extra>",
            "xgap": 0,
            "ygap": 1 if len(nodes) <= 100 else 0,
        },
        {  # the colour bar: 0 to 100 only
            "type": "scatter",
            "x": [None],
            "y": [None],
            "mode": "markers",
            "marker": {
                "cmin": 0,
                "cmax": 100,
                "color": [0],
                "colorscale": [list(step) for step in colours.heat],
                "showscale": True,
                "colorbar": {"title": {"text": "CPU %", "side": "top"}, "thickness": 12, "outlinewidth": 0, "len": 1.0},
            },
            "showlegend": False,
            "hoverinfo": "skip",
        },
    ]
    gaps = _gaps(missing, edges)
    if gaps:
        data.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": "no data",
                "base": [gap[1] for gap in gaps],
                "x": [gap[2] - gap[1] for gap in gaps],
                "y": [gap[0] for gap in gaps],
                "width": 0.94,
                "marker": {
                    "color": colours.no_data,
                    "pattern": {
                        "shape": "/",
                        "size": 5,
                        "solidity": 0.25,
                        "fillmode": "replace",
                        "fgcolor": colours.no_data,
                        "bgcolor": "rgba(0,0,0,0)",
                    },
                    "line": {"width": 0},
                },
                "hovertemplate": "%{y}: no data<extra></extra>",
                "showlegend": True,
            }
        )
    per_row = min(34.0, max(3.0, 520 / len(nodes)))
    sparse = max(1, len(nodes) // 40)
    shown = list(range(0, len(nodes), sparse))
    layout = base(
        colours,
        height=round(max(130, per_row * len(nodes)) + 52 + legend_space(["no data"] if gaps else [])),
        revision=f"{revision}:cpu",
        xaxis=axis(float(edges[-1]), showgrid=False),
        yaxis={
            "tickmode": "array",
            "tickvals": shown,
            "ticktext": [text(labels[nodes[index]]) for index in shown],
            "range": [len(nodes) - 0.5, -0.5],
            "showgrid": False,
            "zeroline": False,
        },
        margin={"l": 64, "r": 16, "t": legend_space(["no data"] if gaps else []), "b": 48},
    )
    known = np.where(missing, np.nan, percent.astype(float))
    means = [float(np.nanmean(line)) if not gone.all() else None for line, gone in zip(known, missing, strict=True)]
    peaks = [float(np.nanmax(line)) if not gone.all() else None for line, gone in zip(known, missing, strict=True)]
    busiest = max(
        (index for index, mean in enumerate(means) if mean is not None), key=lambda i: means[i] or 0, default=None
    )
    summary = f"CPU of {len(nodes)} nodes until {about(float(edges[-1]))}."
    if busiest is not None:
        summary += f" Busiest on average: {nodes[busiest]}, {means[busiest]:.0f} %."
    rows = [
        (node, _rounded(mean), _rounded(peak), round(100.0 * float(gone.mean())))
        for node, mean, peak, gone in zip(nodes, means, peaks, missing, strict=True)
    ]
    return View({"data": data, "layout": layout}, summary, ("node", "mean %", "peak %", "% of time without data"), rows)


def lines(usage: Columns, nodes: Sequence[str], end: float, *, theme: str, revision: str) -> View:
    """CPU of up to LINE_LIMIT chosen nodes over time, in cores."""
    chosen = list(nodes)[:LINE_LIMIT]
    samples = rows_of(usage, "time_s", "node", "cpu_millis", "memory_bytes")
    if not samples:
        return View(None, ABSENT)
    if not chosen:
        return View(None, "No node is chosen. Choose up to ten above.")
    colours = palette(theme)
    data, rows = [], []
    for index, node in enumerate(chosen):
        mine = [sample for sample in samples if sample[1] == node]
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": text(node),
                "uid": text(f"line-{node}"),
                "x": floats([sample[0] for sample in mine]),
                "y": floats([None if sample[2] is None else sample[2] / 1000 for sample in mine]),
                "line": {
                    "width": 2,
                    "color": colours.series[index % len(colours.series)],
                    "dash": DASHES[index % len(DASHES)],
                    "shape": "vh",
                },
                "connectgaps": False,
                "hovertemplate": f"{text(node)}: %{{y:.2f}} cores at %{{x:.0f}} s<extra></extra>",
            }
        )
        rows += [(node, clock(sample[0]), None if sample[2] is None else round(sample[2] / 1000, 2)) for sample in mine]
    layout = base(
        colours,
        height=300,
        revision=f"{revision}:lines",
        xaxis=axis(max(end, 1e-9)),
        yaxis={"title": {"text": "CPU in use (cores)"}, "rangemode": "tozero", "zeroline": False},
        margin={"l": 64, "r": 16, "t": legend_space(chosen), "b": 48},
        showlegend=True,
    )
    return View(
        {"data": data, "layout": layout}, f"CPU over time of {', '.join(chosen)}.", ("node", "time", "cores"), rows
    )


def areas(arms: Sequence[tuple[str, Columns, float]], *, theme: str, revision: str) -> View:
    """CPU of the whole cluster, one panel an arm (label, usage, end in seconds), with common axes."""
    if not any(length(usage) for _, usage, _ in arms):
        return View(None, ABSENT)
    colours = palette(theme)
    shades = (colours.baseline, colours.candidate)
    data: list[dict[str, Any]] = []
    rows, said = [], []
    top, end = 0.0, 1e-9
    for index, (label, usage, until) in enumerate(arms):
        times, used, capacity = cluster_total(usage)
        top = max(top, float(np.max(capacity, initial=0)), float(np.max(used, initial=0)))
        end = max(end, until, float(np.max(times, initial=0)))
        suffix = "" if index == 0 else str(index + 1)
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": text(label),
                "uid": f"area-{index}",
                # A side without samples keeps its panel: without a trace plotly.js draws its axes at NaN.
                "x": typed(times) if times.size else [0],
                "y": typed(used) if times.size else [None],
                "xaxis": "x" + suffix,
                "yaxis": "y" + suffix,
                "fill": "tozeroy",
                "fillcolor": _faint(shades[index % 2]),
                "line": {"width": 1.5, "color": shades[index % 2], "shape": "vh", "dash": ("solid", "dot")[index % 2]},
                "hovertemplate": f"{text(label)}: %{{y:.1f}} cores at %{{x:.0f}} s<extra></extra>",
            }
        )
        mean = float(np.mean(used)) if used.size else None
        said.append(
            f"{label}: no CPU samples."
            if mean is None
            else f"{label}: {mean:.1f} cores on average until {about(until)}."
        )
        rows += [
            (label, clock(time), round(value, 2)) for time, value in zip(times.tolist(), used.tolist(), strict=True)
        ]
    layout = base(
        colours,
        height=360,
        revision=f"{revision}:areas",
        xaxis=axis(end, title="", showticklabels=False, anchor="y"),
        xaxis2=axis(end, matches="x", anchor="y2"),
        yaxis={"title": {"text": "cores"}, "domain": [0.54, 1.0], "range": [0, top * 1.06 or 1], "zeroline": False},
        yaxis2={"title": {"text": "cores"}, "domain": [0.0, 0.46], "matches": "y", "anchor": "x2", "zeroline": False},
        margin={"l": 64, "r": 16, "t": legend_space([label for label, *_ in arms]), "b": 48},
        showlegend=True,
    )
    return View({"data": data, "layout": layout}, " ".join(said), ("arm", "time", "cores"), rows)


def cluster_total(usage: Columns) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Times in seconds, cores in use over all nodes and cores present, at each sample time."""
    time, used, present = (_numbers(usage, name) for name in ("time_s", "cpu_millis", "capacity_millis"))
    times, which = np.unique(time, return_inverse=True)
    if not times.size:
        return times, times, times
    return (
        times,
        np.bincount(which, weights=np.nan_to_num(used)) / 1000,
        np.bincount(which, weights=np.nan_to_num(present)) / 1000,
    )


def _numbers(table: Columns, name: str) -> NDArray[np.float64]:
    """A column as floats, None as NaN."""
    return np.asarray(table.get(name, ()), dtype=np.float64)


def _gaps(missing: NDArray[np.bool_], edges: NDArray[np.float64]) -> list[tuple[int, float, float]]:
    """(row, from, to) of each stretch without data; at most 500 are worth hatching."""
    gaps = []
    for row, line in enumerate(missing):
        change = np.flatnonzero(np.diff(np.concatenate(([0], line.astype(np.int8), [0]))))
        gaps += [(row, float(edges[a]), float(edges[b])) for a, b in zip(change[::2], change[1::2], strict=True)]
    return gaps[:500]


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.28)"


def _rounded(value: float | None) -> int | None:
    return None if value is None else round(value)
