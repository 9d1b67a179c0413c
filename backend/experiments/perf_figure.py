"""The figure of the scheduler's performance experiment: one HTML file that needs no network."""

from collections.abc import Sequence
from typing import Any

from backend.experiments.perf_scheduler import Measured

COLOURS = ("#4c78a8", "#e45756", "#54a24b", "#b279a2", "#f58518", "#72b7b2", "#9d755d", "#bab0ac")
DASHES = ("solid", "dot", "dash", "dashdot")


def figure(rows: Sequence[Measured], title: str) -> dict[str, Any]:
    """Pods a second over nodes: a colour for each number of scores, a dash for each percentage."""
    scores = list(dict.fromkeys(row.constraints for row in rows))
    percentages = list(dict.fromkeys(row.percentage for row in rows))
    lines = []
    for place, count in enumerate(scores):
        for dash, percentage in enumerate(percentages):
            these = sorted(
                (row for row in rows if (row.constraints, row.percentage) == (count, percentage)),
                key=lambda row: row.nodes,
            )
            if not these:
                continue
            lines.append(
                {
                    "type": "scatter",
                    "mode": "lines+markers",
                    "name": f"{count} score{'s' * (count != 1)}, {_scored(percentage)}",
                    "x": [row.nodes for row in these],
                    "y": [row.pods_per_s for row in these],
                    "customdata": [[row.duration_ms, row.placed, row.pods] for row in these],
                    "hovertemplate": "%{x:,} nodes: %{y:,.0f} pods/s<br>%{customdata[1]} of %{customdata[2]} pods "
                    "placed in %{customdata[0]:.1f} ms<extra>%{fullData.name}</extra>",
                    "line": {"color": COLOURS[place % len(COLOURS)], "dash": DASHES[dash % len(DASHES)]},
                }
            )
    return {
        "data": lines,
        "layout": {
            "title": {"text": title},
            "template": "none",
            "font": {"family": "system-ui, sans-serif"},
            "xaxis": {"title": {"text": "nodes"}, "rangemode": "tozero", "gridcolor": "#ddd"},
            "yaxis": {"title": {"text": "pods decided per second"}, "rangemode": "tozero", "gridcolor": "#ddd"},
            "legend": {"title": {"text": "scores, nodes scored"}},
        },
    }


def html(rows: Sequence[Measured], title: str) -> str:
    """The figure as a page of its own."""
    from plotly import io  # type: ignore[import-untyped]

    page: str = io.to_html(figure(rows, title), include_plotlyjs=True, full_html=True, config={"displaylogo": False})
    return page


def _scored(percentage: int) -> str:
    return "adaptive" if percentage == 0 else f"{percentage} %"
