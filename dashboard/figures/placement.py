"""Where did each job run and when: one lane a node, one bar a stretch, an arrow a migration.

Bars up to BAR_LIMIT, above that the lanes as a heatmap (figures/density.py). Budgets: ux.md sections 3 and 8.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from dashboard.figures import density
from dashboard.figures.arrays import floats
from dashboard.figures.lanes import Bar, Swimlane
from dashboard.figures.layout import base, legend_space
from dashboard.figures.palette import CATEGORIES, CATEGORY_PATTERNS, Palette, palette
from dashboard.figures.timeaxis import about, axis, clock
from dashboard.figures.view import View, text

BAR_LIMIT = 2000
"""SVG bars stay quick up to here: 0.2 s for a zoom at 2,000, 10 s at 20,000 (ux.md section 8)."""
LABEL_LIMIT = 60
"""So many job names are written over their bars, in one text trace; names as bar text would cost 15 times the bars."""
LABEL_ROW = 14.0
"""Pixels a row needs for a name to fit into it."""
PLOT_WIDTH = 1000
"""Typical width of the plot in pixels, to tell whether a name fits its bar."""
DENSE_ROW = 3.5
"""Least pixels of a lane of the dense form, which needs no row for each pod."""
TICK_PX = 13.0
"""Pixels that the name of a lane needs; of lanes closer than that only some are named."""
RUN_GAP_PX = 28
"""Space between two runs."""
GAP = 0.45
"""Space between lanes, in rows."""

NAMES = {
    "pending": "waiting for a node",
    "starting": "starting",
    "transit": "in transit (migrating)",
    "running": "running (not classified)",
}
ORDER = ("pending", "starting", *CATEGORIES, "running", "transit")


def view(swim: Swimlane, *, colour: str, theme: str, revision: str, window: tuple[float, float] | None = None) -> View:
    """One run. `colour` is "category" or "job"; `window` limits what is drawn to a zoomed range of seconds."""
    return _view([("", swim)], colour=colour, theme=theme, revision=revision, window=window)


def pair(first: tuple[str, Swimlane], second: tuple[str, Swimlane], *, colour: str, theme: str, revision: str) -> View:
    """Two runs, each with its label, one above the other on one time axis."""
    return _view([first, second], colour=colour, theme=theme, revision=revision, window=None)


def _view(
    runs: Sequence[tuple[str, Swimlane]],
    *,
    colour: str,
    theme: str,
    revision: str,
    window: tuple[float, float] | None,
) -> View:
    if not any(swim.bars for _, swim in runs):
        return View(None, "No job has been on a node yet, or this record does not say where jobs were.")
    colours = palette(theme)
    span = window or (0.0, max(swim.end for _, swim in runs) * 1.01 or 1.0)
    drawn = [[bar for bar in swim.bars if bar.end >= span[0] and bar.start <= span[1]] for _, swim in runs]
    dense = sum(map(len, drawn)) > BAR_LIMIT
    if dense:
        runs = [(label, _one_row_each(swim)) for label, swim in runs]
    data: list[dict[str, Any]] = []
    axes: dict[str, Any] = {}
    shapes: list[dict[str, Any]] = []
    named: set[str] = set()
    heights = [_rows(swim) for _, swim in runs]
    per_row = min(24.0, max(DENSE_ROW if dense else 7.0, 560 / sum(heights)))
    domains = _domains(heights, per_row)
    for index, ((label, swim), bars) in enumerate(zip(runs, drawn, strict=True)):
        suffix = "" if index == 0 else str(index + 1)
        offsets = _offsets(swim)
        axes["yaxis" + suffix] = _lane_axis(swim, offsets, domains[index], label, per_row)
        if not bars:  # nothing there yet, or out of sight: the lanes stay, which takes a trace
            data.append({"type": "scatter", "x": [0], "y": [None], "yaxis": "y" + suffix, "showlegend": False})
        if dense:
            data.append(density.trace(swim, bars=bars, offsets=offsets, span=span, colours=colours, suffix=suffix))
        else:
            shapes += _bands(swim, offsets, colours, suffix)
            data += _bar_traces(
                bars, offsets, colour=colour, colours=colours, suffix=suffix, named=named, jobs=swim.jobs
            )
            if per_row >= LABEL_ROW:
                data += _labels(bars, offsets, span=span, colours=colours, suffix=suffix, colour=colour)
        data += _arrow_trace(swim, offsets, colours, suffix, named)
    legend = legend_space([NAMES.get(name, name) for name in named])
    layout = base(
        colours,
        height=round(max(120 * len(runs), sum(heights) * per_row) + legend + 52 + RUN_GAP_PX * (len(runs) - 1)),
        revision=f"{revision}:{colour}:{'dense' if dense else 'bars'}",
        barmode="overlay",
        xaxis=axis(span[1], start=span[0], showgrid=True, anchor="y" if len(runs) == 1 else f"y{len(runs)}"),
        shapes=shapes,
        meta={"windowed": sum(len(swim.bars) for _, swim in runs) > BAR_LIMIT and len(runs) == 1},
        margin={"l": 64, "r": 16, "t": legend, "b": 48},
        **axes,
    )
    note = (
        f"{sum(map(len, drawn)):,} stretches shown as density; zoom in to see bars (up to {BAR_LIMIT:,})."
        if dense
        else ""
    )
    return View({"data": data, "layout": layout}, _summary(runs), *_table(runs), note=note)


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Labels for an axis: the part before the first dot where that stays unique, and never more than 22 characters."""
    names = list(names)
    heads = [name.split(".")[0] for name in names]
    chosen = heads if len(set(heads)) == len(heads) else names
    return {
        name: label if len(label) <= 22 else f"{label[:10]}…{label[-10:]}"
        for name, label in zip(names, chosen, strict=True)
    }


def _rows(swim: Swimlane) -> float:
    return sum(swim.rows[lane] + GAP for lane in swim.lanes) or 1.0


def _offsets(swim: Swimlane) -> dict[str, float]:
    offsets, at = {}, 0.0
    for lane in swim.lanes:
        offsets[lane] = at
        at += swim.rows[lane] + GAP
    return offsets


def _one_row_each(swim: Swimlane) -> Swimlane:
    """The same with one row for each lane, as the dense form draws it."""
    arrows = [replace(arrow, source_row=0, target_row=0) for arrow in swim.arrows]
    return replace(swim, rows=dict.fromkeys(swim.lanes, 1), arrows=arrows)


def _domains(heights: Sequence[float], per_row: float) -> list[list[float]]:
    """Shares of the height, first run on top."""
    if len(heights) == 1:
        return [[0.0, 1.0]]
    gap = RUN_GAP_PX / (sum(heights) * per_row + RUN_GAP_PX)
    top = (1 - gap) * heights[0] / sum(heights)
    return [[1 - top, 1.0], [0.0, 1 - top - gap]]


def _lane_axis(
    swim: Swimlane, offsets: dict[str, float], domain: list[float], label: str, per_row: float
) -> dict[str, Any]:
    labels = short_names(swim.lanes)
    every = max(1, math.ceil(TICK_PX * len(swim.lanes) / max(1.0, _rows(swim) * per_row)))
    named = swim.lanes[::every]
    return {
        "domain": domain,
        "range": [_rows(swim), -GAP],
        "tickmode": "array",
        "tickvals": [offsets[lane] + swim.rows[lane] / 2 for lane in named],
        "ticktext": [text(labels[lane]) for lane in named],
        "showgrid": False,
        "zeroline": False,
        "fixedrange": True,
        "title": {"text": text(label), "standoff": 12} if label else {},
    }


def _bands(swim: Swimlane, offsets: dict[str, float], colours: Palette, suffix: str) -> list[dict[str, Any]]:
    if len(swim.lanes) > 60:
        return []
    return [
        {
            "type": "rect",
            "layer": "below",
            "xref": "paper",
            "yref": "y" + suffix,
            "x0": 0,
            "x1": 1,
            "y0": offsets[lane] - GAP / 2,
            "y1": offsets[lane] + swim.rows[lane] + GAP / 2,
            "fillcolor": colours.band,
            "line": {"width": 0},
        }
        for lane in swim.lanes[::2]
    ]


def _bar_traces(
    bars: Sequence[Bar],
    offsets: dict[str, float],
    *,
    colour: str,
    colours: Palette,
    suffix: str,
    named: set[str],
    jobs: Sequence[str],
) -> list[dict[str, Any]]:
    """One trace a state (or, by job, a colour): eight traces draw faster than one with a colour per bar."""
    groups: dict[str, list[Bar]] = defaultdict(list)
    shade = {job: index % len(colours.series) for index, job in enumerate(jobs)}
    few = len(jobs) <= len(colours.series)
    for bar in bars:
        if colour == "job" and bar.state not in ("pending", "starting", "transit"):
            groups[bar.job if few else f"#{shade.get(bar.job, 0)}"].append(bar)
        else:
            groups[bar.state].append(bar)
    states = [state for state in ORDER if state in groups]
    others = sorted(set(groups) - set(states), key=lambda name: list(jobs).index(name) if name in shade else 0)
    traces = []
    for name in [*states, *others]:
        of_group = groups[name]
        first = of_group[0]
        marker = _marker(name if name in states else "job", colours, colours.series[shade.get(first.job, 0)])
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": text(NAMES.get(name, name)),
                "legendgroup": text(name),
                "showlegend": name not in named and not name.startswith("#"),
                "uid": text(f"{name}{suffix}"),
                "base": floats([bar.start for bar in of_group]),
                "x": floats([bar.end - bar.start for bar in of_group]),
                "y": floats([offsets[bar.lane] + bar.row + 0.5 for bar in of_group]),
                "yaxis": "y" + suffix,
                "width": 0.84,
                "marker": marker,
                "textposition": "none",
                "customdata": [
                    [
                        text(bar.job),
                        text(bar.pod or "no pod yet"),
                        text(bar.lane),
                        NAMES.get(bar.state, bar.state),
                        clock(bar.start),
                        clock(bar.end) + (" (still)" if bar.open else ""),
                        f"{bar.end - bar.start:.1f} s",
                    ]
                    for bar in of_group
                ],
                "hovertemplate": "<b>%{customdata[0]}</b> · %{customdata[3]}<br>%{customdata[2]}, pod %{customdata[1]}"
                "<br>%{customdata[4]} to %{customdata[5]} (%{customdata[6]})<extra></extra>",
            }
        )
        if not name.startswith("#"):
            named.add(name)
    return traces


def _marker(state: str, colours: Palette, series: str) -> dict[str, Any]:
    if state == "job":
        return {"color": series, "line": {"width": 0}}
    plain = {"pending": colours.pending, "starting": colours.starting, "transit": colours.transit}
    shape = {"pending": "", "starting": "\\", "transit": "x"}.get(state) or CATEGORY_PATTERNS.get(state, "")
    fill = plain.get(state) or colours.categories[state]
    if not shape:
        return {"color": fill, "line": {"width": 0}}
    marks = {"shape": shape, "size": 6, "solidity": 0.3}
    if state in ("starting", "transit"):  # work stands still: hatched, not filled
        return {
            "color": fill,
            "pattern": {**marks, "fillmode": "replace", "fgcolor": fill, "bgcolor": "rgba(0,0,0,0)"},
            "line": {"width": 1, "color": fill},
        }
    return {
        "color": fill,
        "pattern": {**marks, "solidity": 0.18, "fillmode": "overlay", "fgcolor": colours.surface},
        "line": {"width": 0},
    }


def _labels(
    bars: Sequence[Bar],
    offsets: dict[str, float],
    *,
    span: tuple[float, float],
    colours: Palette,
    suffix: str,
    colour: str,
) -> list[dict[str, Any]]:
    """Job names over the longest stretch of each pod, where there are few and they fit."""
    longest: dict[tuple[str, str], Bar] = {}
    for bar in bars:
        key = (bar.job, bar.pod)
        if bar.state not in ("pending", "starting", "transit") and (
            key not in longest or bar.end - bar.start > longest[key].end - longest[key].start
        ):
            longest[key] = bar
    per_second = PLOT_WIDTH / max(span[1] - span[0], 1e-9)
    fitting = [bar for bar in longest.values() if (bar.end - bar.start) * per_second > 7 * len(bar.job) + 14]
    if len(longest) > LABEL_LIMIT or not fitting:
        return []
    dark_ink = colours.surface == "#171c28" or colour == "job"
    return [
        {
            "type": "scatter",
            "mode": "text",
            "x": [bar.start + 5 / per_second for bar in fitting],
            "y": [offsets[bar.lane] + bar.row + 0.5 for bar in fitting],
            "yaxis": "y" + suffix,
            "text": [text(bar.job) for bar in fitting],
            "textposition": "middle right",
            "textfont": {
                "size": 11,
                "color": ["#10131c" if dark_ink or bar.state == "watching" else "#ffffff" for bar in fitting],
            },
            "hoverinfo": "skip",
            "showlegend": False,
            "uid": f"labels{suffix}",
        }
    ]


def _arrow_trace(
    swim: Swimlane, offsets: dict[str, float], colours: Palette, suffix: str, named: set[str]
) -> list[dict[str, Any]]:
    """All migrations as one trace: annotations would cost eight times as much (ux.md finding 7)."""
    if not swim.arrows:
        return []
    x: list[float | None] = []
    y: list[float | None] = []
    sizes: list[int] = []
    said: list[list[str]] = []
    for arrow in swim.arrows:
        x += [arrow.start, arrow.end, None]
        y += [
            offsets[arrow.source] + arrow.source_row + 0.5,
            offsets[arrow.target] + arrow.target_row + 0.5,
            None,
        ]
        sizes += [6, 15, 0]
        words = [
            text(arrow.job),
            text(arrow.source),
            text(arrow.target),
            f"{arrow.end - arrow.start:.1f} s",
            text(arrow.reason[:120]),
            text(arrow.outcome),
        ]
        said += [words, words, words]
    shown = "migration" not in named
    named.add("migration")
    return [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": "migration",
            "legendgroup": "migration",
            "showlegend": shown,
            "uid": f"arrows{suffix}",
            "x": floats(x),
            "y": floats(y),
            "yaxis": "y" + suffix,
            "connectgaps": False,
            "line": {"color": colours.transit, "width": 1.8},
            "marker": {
                "symbol": ["circle", "arrow", "circle"] * len(swim.arrows),
                "angleref": "previous",
                "size": sizes,
                "color": colours.transit,
                "opacity": 1,
                "line": {"width": 1, "color": colours.surface},
            },
            "customdata": said,
            "hovertemplate": "<b>%{customdata[0]}</b> migrates: %{customdata[1]} → %{customdata[2]}"
            "<br>%{customdata[3]} without work, %{customdata[5]}<br>%{customdata[4]}<extra></extra>",
        }
    ]


def _summary(runs: Sequence[tuple[str, Swimlane]]) -> str:
    said = []
    for label, swim in runs:
        nodes = [lane for lane in swim.lanes if any(bar.lane == lane and bar.state != "pending" for bar in swim.bars)]
        moved = len({arrow.job for arrow in swim.arrows})
        jobs = len({bar.job for bar in swim.bars})
        prefix = f"{label}: " if label else ""
        moves = f"{_count(len(swim.arrows), 'migration')} of {_count(moved, 'job')}" if swim.arrows else "no migration"
        where = f"{_count(jobs, 'job')} on {_count(len(nodes), 'node')}"
        said.append(f"{prefix}{where} until {about(swim.end)}, {moves}.")
    return " ".join(said)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _table(runs: Sequence[tuple[str, Swimlane]]) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    several = len(runs) > 1
    rows = [
        (*([label] if several else []), bar.job, bar.pod, bar.lane, NAMES.get(bar.state, bar.state), clock(bar.start),
         clock(bar.end), round(bar.end - bar.start, 1))
        for label, swim in runs
        for bar in sorted(swim.bars, key=lambda bar: (bar.start, bar.job))
    ]  # fmt: skip
    return (*(["arm"] if several else []), "job", "pod", "node", "state", "from", "to", "seconds"), rows
