"""What all figures have in common: font, colours, margins, no mode bar, zoom kept over updates."""

from collections.abc import Iterable
from typing import Any

from dashboard.figures.palette import FONT, Palette

CONFIG = {"displayModeBar": False, "responsive": True, "scrollZoom": False, "doubleClick": "reset"}
"""The mode bar's links have no names for a screen reader; each panel has labelled buttons instead."""

TIME = "podshiftTime"
"""Key that marks an axis of times; taken out before the layout is handed over."""


def base(colours: Palette, *, height: int, revision: str, **more: Any) -> dict[str, Any]:
    """A layout. `revision` (run and view mode) keeps zoom, hidden legend items and selection while data change."""
    layout: dict[str, Any] = {
        "height": height,
        "autosize": True,
        "uirevision": revision,
        "font": {"family": FONT, "size": 12, "color": colours.ink},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 64, "r": 16, "t": 12, "b": 48},
        "hovermode": "closest",
        "hoverlabel": {
            "bgcolor": colours.surface,
            "bordercolor": colours.muted,
            "font": {"family": FONT, "size": 12, "color": colours.ink},
            "align": "left",
            "namelength": -1,
        },
        "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.0, "yanchor": "bottom", "font": {"size": 12}},
        "dragmode": "zoom",
    }
    layout.update(more)
    # For assets/charts.js: which axes show times, and what "reset zoom" goes back to.
    meta: dict[str, Any] = {"times": [], "ranges": {}, **layout.get("meta", {})}
    for name, axis in layout.items():
        if name.startswith(("xaxis", "yaxis")):
            for key, value in _axis(colours).items():
                axis.setdefault(key, value)
            if axis.get("title"):
                axis["title"].setdefault("font", {"size": 12, "color": colours.muted})
            if axis.pop(TIME, False):
                meta["times"].append(name)
            if axis.get("range"):
                meta["ranges"][name] = axis["range"]
    layout["meta"] = meta
    return layout


def _axis(colours: Palette) -> dict[str, Any]:
    return {
        "gridcolor": colours.grid,
        "linecolor": colours.grid,
        "zerolinecolor": colours.grid,
        "tickfont": {"size": 11, "color": colours.muted},
        "ticks": "",
        "automargin": True,
    }


def legend_space(names: Iterable[str], width: int = 900) -> int:
    """Top margin in pixels for a horizontal legend with these names in a plot of that width."""
    lines, at = 0, float(width)
    for name in names:
        entry = 40 + 6.4 * len(name)
        if at + entry > width:
            lines, at = lines + 1, 0.0
        at += entry
    return 12 + 22 * lines if lines else 12
