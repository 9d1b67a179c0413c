"""Small marks: status of a run, source of its data, arms, progress."""

from collections.abc import Mapping
from typing import Any

from dash import html

from dashboard.components.icons import icon
from dashboard.formats import seconds

_STATUS = {  # status -> (tone, icon); the word itself is always shown
    "queued": ("quiet", "clock"),
    "running": ("live", "play"),
    "stopping": ("warn", "stop"),
    "finished": ("good", "check"),
    "stopped": ("warn", "stop"),
    "failed": ("bad", "alert"),
    "interrupted": ("bad", "alert"),
    "imported": ("quiet", "import"),
}
ACTIVE = frozenset({"queued", "running", "stopping"})
SOURCES = {
    "simulator": ("SIM", "Simulated", "sim"),
    "import": ("REC", "Recorded elsewhere, imported", "rec"),
    "embedded": ("EMB", "Pods on an embedded cluster, in real time", "emb"),
    "live": ("LIVE", "Pods on a Kubernetes cluster", "livesource"),
}


def status(word: str | None) -> html.Span:
    """A run's status as word and icon."""
    tone, symbol = _STATUS.get(word or "", ("quiet", "clock"))
    return html.Span([icon(symbol, 12), word or "unknown"], className=f"badge badge-{tone}")


def source(word: str | None) -> html.Span:
    """Where a run's data come from."""
    short, words, kind = SOURCES.get(word or "", SOURCES["simulator"])
    return html.Span(short, className=f"badge source-{kind}", title=words)


def arm(letter: str, label: str) -> html.Span:
    """One side of a comparison, with its letter."""
    return html.Span([html.Span(letter, className="arm-letter"), label], className=f"arm arm-{letter.lower()}")


def fraction(progress: Mapping[str, Any] | None) -> float:
    """Share done, 0 to 1."""
    value = (progress or {}).get("fraction")
    return min(max(float(value), 0.0), 1.0) if isinstance(value, int | float) else 0.0


def progress_words(progress: Mapping[str, Any] | None) -> str:
    """ "3 of 7 jobs · 2:30 simulated · about 4 s left"."""
    given = progress or {}
    said = []
    if given.get("jobs"):
        said.append(f"{given.get('jobs_done') or 0} of {given['jobs']} jobs")
    if given.get("time_s") is not None:
        said.append(f"{seconds(given['time_s'])} of the run")
    if given.get("eta_s") is not None:
        said.append(f"about {seconds(given['eta_s'])} left")
    return " · ".join(said) or "waiting to start"


def bar(progress: Mapping[str, Any] | None, label: str) -> html.Div:
    """A progress bar that a screen reader can read."""
    share = round(100 * fraction(progress))
    return html.Div(
        html.Span(style={"width": f"{share}%"}),
        role="progressbar",
        className="progress",
        **{"aria-label": label, "aria-valuenow": str(share), "aria-valuemin": "0", "aria-valuemax": "100"},
    )
