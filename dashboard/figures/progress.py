"""Learning curves of jobs as small panels, with bands for the categories and lines where a migration happened."""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from dashboard.figures.arrays import floats
from dashboard.figures.layout import base, legend_space
from dashboard.figures.palette import CATEGORIES, Palette, palette
from dashboard.figures.timeaxis import clock, ticks
from dashboard.figures.view import Columns, View, rows_of, text

PANEL_LIMIT = 12
"""Panels that stay readable on one page; more are chosen by the reader."""
COLUMNS = 3
POINTS = 400
"""A panel is about 300 pixels wide; more points than that cannot be told apart."""
PANEL_HEIGHT = 168


def view(
    progress: Columns,
    categories: Columns,
    migrations: Columns,
    chosen: Sequence[str],
    end: float,
    *,
    theme: str,
    revision: str,
) -> View:
    """One panel for each chosen job (at most PANEL_LIMIT): evaluation value over time."""
    points = _points(progress)
    if not points:
        return View(
            None, "This record has no progress reports (loss or accuracy over time), so there are no curves to show."
        )
    drawn = [job for job in chosen if job in points][:PANEL_LIMIT]
    if not drawn:
        return View(None, "None of the chosen jobs has reported progress yet.")
    colours = palette(theme)
    across = min(COLUMNS, len(drawn))
    down = math.ceil(len(drawn) / across)
    bands = _bands(categories, points, end)
    moves = _moves(migrations)
    seen = [name for name in CATEGORIES if any(band[2] == name for job in drawn for band in bands.get(job, ()))]
    moved = any(moves.get(job) for job in drawn)
    legend = legend_space([*(f"{name} (full band)" for name in seen), *(["migration"] if moved else [])])
    height = down * PANEL_HEIGHT + legend + 56
    data: list[dict[str, Any]] = []
    axes: dict[str, Any] = {}
    shapes: list[dict[str, Any]] = []
    titles: list[dict[str, Any]] = []
    rows: list[tuple[Any, ...]] = []
    for index, job in enumerate(drawn):
        suffix = "" if index == 0 else str(index + 1)
        column, line = index % across, index // across
        x, y = _domain(column, across, 0.055), _domain(down - 1 - line, down, 0.34 / down)
        axes[f"xaxis{suffix}"] = _time(end, x, "y" + suffix, bottom=index + across >= len(drawn))
        axes[f"yaxis{suffix}"] = {
            "domain": y,
            "anchor": "x" + suffix,
            "nticks": 4,
            "zeroline": False,
            "tickformat": "~g",
            "title": {"text": "value", "standoff": 4} if column == 0 else {},
        }
        data.append(_curve(job, _thinned(points[job]), suffix, colours))
        shapes += [_band(band, suffix, colours) for band in bands.get(job, ())]
        shapes += [_line(moment, suffix, colours) for moment in moves.get(job, ())]
        titles.append(
            {
                "text": f"<b>{text(job if len(job) <= 30 else job[:14] + '…' + job[-14:])}</b>",
                "x": x[0],
                "y": y[1],
                "xref": "paper",
                "yref": "paper",
                "xanchor": "left",
                "yanchor": "bottom",
                "showarrow": False,
                "font": {"size": 12, "color": colours.ink},
            }
        )
        first, last = points[job][0], points[job][-1]
        rows.append(
            (job, len(points[job]), _shown(first[1]), _shown(last[1]), _final(bands.get(job)), len(moves.get(job, ())))
        )
    data += _legend(seen, moved, colours)
    layout = base(
        colours,
        height=height,
        revision=f"{revision}:progress:{','.join(drawn)}",
        shapes=shapes,
        annotations=titles,
        meta={"ticks": 5},
        margin={"l": 52, "r": 16, "t": legend + 14, "b": 48},
        showlegend=True,
        **axes,
    )
    layout["legend"] = {**layout["legend"], "y": 1 + 22 / max(height - legend - 60, 1)}
    summary = (
        f"Evaluation value over time (loss or accuracy) of {len(drawn)} of {len(points)} jobs that reported progress."
    )
    if seen:
        summary += f" Bands: {', '.join(seen)}."
    headings = ("job", "reports", "first value", "last value", "last category", "migrations")
    return View({"data": data, "layout": layout}, summary, headings, rows)


def reporting_jobs(progress: Columns) -> list[str]:
    """Jobs with at least one report, in the order they first reported."""
    return list(dict.fromkeys(progress.get("job", ())))


def _points(progress: Columns) -> dict[str, list[tuple[float, float | None]]]:
    points: dict[str, list[tuple[float, float | None]]] = defaultdict(list)
    for job, time, value in rows_of(progress, "job", "time_s", "value"):
        points[job].append((time, value))
    return points


def _thinned(points: list[tuple[float, float | None]]) -> list[tuple[float, float | None]]:
    """Every n-th report, the last one always."""
    step = math.ceil(len(points) / POINTS)
    return points if step <= 1 else [*points[:-1:step], points[-1]]


def _bands(categories: Columns, points: dict[str, list], end: float) -> dict[str, list[tuple[float, float, str]]]:
    """Job -> (from, to, category) from its first report on. Nothing if no policy classified any job."""
    changes: dict[str, list[tuple[float, str, str]]] = defaultdict(list)
    for job, time, before, after in rows_of(categories, "job", "time_s", "before", "after"):
        changes[job].append((time, before, after))
    if not changes:
        return {}
    bands = {}
    for job, reports in points.items():
        at, last = reports[0][0], reports[-1][0]
        state = changes[job][0][1] if changes.get(job) else "progressing"
        mine = []
        for time, _, after in sorted(changes.get(job, ())):
            if time > at:
                mine.append((at, time, state))
            at, state = max(at, time), after
        mine.append((at, max(last, at), state))
        bands[job] = [band for band in mine if band[1] > band[0]]
    return bands


def _moves(migrations: Columns) -> dict[str, list[float]]:
    moves: dict[str, list[float]] = defaultdict(list)
    for job, time in rows_of(migrations, "job", "started_s"):
        if time is not None:
            moves[job].append(time)
    return moves


def _domain(place: int, of: int, gap: float) -> list[float]:
    size = (1 - gap * (of - 1)) / of
    return [place * (size + gap), place * (size + gap) + size]


def _time(end: float, domain: list[float], anchor: str, *, bottom: bool) -> dict[str, Any]:
    values = ticks(0, end, 5)
    return {
        "domain": domain,
        "anchor": anchor,
        "range": [0, end],
        "tickmode": "array",
        "tickvals": values,
        "ticktext": [clock(value) for value in values],
        "zeroline": False,
        "podshiftTime": True,
        "title": {"text": "time (m:ss)", "standoff": 6} if bottom else {},
        **({} if anchor == "y" else {"matches": "x"}),
    }


def _curve(job: str, points: list[tuple[float, float | None]], suffix: str, colours: Palette) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "uid": text(f"curve-{job}"),
        "x": floats([point[0] for point in points]),
        "y": floats([point[1] for point in points]),
        "xaxis": "x" + suffix,
        "yaxis": "y" + suffix,
        "line": {"color": colours.ink, "width": 1.6},
        "showlegend": False,
        "hovertemplate": f"{text(job)}<br>%{{y:.4g}} at %{{x:.0f}} s<extra></extra>",
    }


def _band(band: tuple[float, float, str], suffix: str, colours: Palette) -> dict[str, Any]:
    # The category is told by height as well as by colour: the strip at the bottom is tall, middling or low.
    rank = {"progressing": 1.0, "watching": 0.55, "converged": 0.25}.get(band[2], 1.0)
    return {
        "type": "rect",
        "layer": "below",
        "xref": "x" + suffix,
        "yref": f"y{suffix} domain",
        "x0": band[0],
        "x1": band[1],
        "y0": 0,
        "y1": rank,
        "fillcolor": colours.categories.get(band[2], colours.band),
        "opacity": 0.24,
        "line": {"width": 0},
    }


def _line(moment: float, suffix: str, colours: Palette) -> dict[str, Any]:
    return {
        "type": "line",
        "xref": "x" + suffix,
        "yref": f"y{suffix} domain",
        "x0": moment,
        "x1": moment,
        "y0": 0,
        "y1": 1,
        "line": {"color": colours.transit, "width": 1.8, "dash": "dot"},
    }


def _legend(seen: Sequence[str], moved: bool, colours: Palette) -> list[dict[str, Any]]:
    heights = {"progressing": "full", "watching": "half", "converged": "low"}
    entries: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "x": [None],
            "y": [None],
            "mode": "markers",
            "name": f"{name} ({heights[name]} band)",
            "marker": {"symbol": "square", "size": 12, "color": colours.categories[name], "opacity": 0.5},
        }
        for name in seen
    ]
    if moved:
        line = {"color": colours.transit, "width": 1.8, "dash": "dot"}
        entries.append(
            {"type": "scatter", "x": [None], "y": [None], "mode": "lines", "name": "migration", "line": line}
        )
    return entries


def _final(bands: list[tuple[float, float, str]] | None) -> str:
    return bands[-1][2] if bands else "not classified"


def _shown(value: float | None) -> str:
    return "not a number" if value is None else f"{value:.4g}"
