"""Colours and patterns of the two themes.

Every colour that carries a meaning goes with a pattern, a dash or a word, so that colour is never the only cue.
Hues of the categories follow Okabe and Ito (blue, orange, bluish green), told apart with deuteranopia.
"""

from dataclasses import dataclass
from typing import Literal

Theme = Literal["light", "dark"]

FONT = "Inter, system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

CATEGORIES = ("progressing", "watching", "converged")
CATEGORY_PATTERNS = {"progressing": "", "watching": ".", "converged": "/", "running": ""}
"""Fill of a bar beside its colour; "running" is a job that no policy classifies."""


@dataclass(frozen=True)
class Palette:
    """What a figure needs to know of a theme."""

    ink: str
    muted: str
    grid: str
    surface: str
    band: str
    """Every other lane."""
    baseline: str
    """Arm A."""
    candidate: str
    """Arm B."""
    better: str
    worse: str
    pending: str
    starting: str
    transit: str
    no_data: str
    categories: dict[str, str]
    series: tuple[str, ...]
    """Colours of things without an order (jobs, nodes), after Paul Tol's "muted" set."""
    heat: tuple[tuple[float, str], ...]
    """Single-hue scale from idle to busy."""


LIGHT = Palette(
    ink="#1c2333",
    muted="#5b6478",
    grid="#e4e7ee",
    surface="#ffffff",
    band="#f6f7fa",
    baseline="#66718a",
    candidate="#5b3fd6",
    better="#067a5b",
    worse="#b8430a",
    pending="#c3c9d6",
    starting="#aab2c3",
    transit="#c2408f",
    no_data="#8b93a5",
    categories={"progressing": "#2b78c9", "watching": "#e5a11b", "converged": "#149174", "running": "#6f86b5"},
    series=(
        "#4477aa",
        "#cc6677",
        "#117733",
        "#ddaa33",
        "#882255",
        "#44aa99",
        "#aa4499",
        "#88722b",
        "#332288",
        "#66a3d2",
    ),
    heat=((0.0, "#edf2fb"), (0.25, "#bcd0f2"), (0.5, "#7fa5e3"), (0.75, "#3e74c9"), (1.0, "#123f8c")),
)
DARK = Palette(
    ink="#e6e9f0",
    muted="#9aa4b8",
    grid="#2b3242",
    surface="#171c28",
    band="#1b2130",
    baseline="#9aa6bf",
    candidate="#a48bff",
    better="#3ecf9f",
    worse="#ff9a5c",
    pending="#4a5368",
    starting="#5d6880",
    transit="#f27fc0",
    no_data="#77819a",
    categories={"progressing": "#4d9df0", "watching": "#f0b840", "converged": "#2fb893", "running": "#7f97c9"},
    series=(
        "#77aadd",
        "#ee8899",
        "#55bb77",
        "#eedd88",
        "#cc77aa",
        "#66ccbb",
        "#cc88dd",
        "#bbaa55",
        "#9999ee",
        "#99ddff",
    ),
    heat=((0.0, "#1c2740"), (0.25, "#27457a"), (0.5, "#3a6bb8"), (0.75, "#6fa0e8"), (1.0, "#c4dcff")),
)


def palette(theme: str) -> Palette:
    """The palette of a theme; anything but "dark" is light."""
    return DARK if theme == "dark" else LIGHT
