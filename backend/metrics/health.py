"""How the sources of node usage are: which query to which address gave what, and when it last worked."""

from dataclasses import dataclass

from backend.metrics.reading import State


@dataclass(frozen=True, slots=True)
class SourceHealth:
    """One source."""

    name: str
    state: State
    address: str
    query: str
    """The query that the answer belongs to, shortened."""
    answer: str
    """What it gave, or what went wrong, in a few words."""
    asked_ago_s: float | None
    """Since it was asked last; None: never."""
    worked_at: float | None
    """Seconds since the epoch at which it last worked; None: never."""
    worked_ago_s: float | None
    age_s: float | None
    """Age of the newest sample it gave."""
    failures: int
    """In a row, since it last worked."""


@dataclass(frozen=True, slots=True)
class Health:
    """All sources, best first."""

    source: str | None
    """The one that `latest()` comes from; None while none works."""
    age_s: float | None
    """Age of the newest sample there is; None: there is none."""
    sources: tuple[SourceHealth, ...]
    handler_error: str = ""
    """What the receiver of samples raised last; empty where it took them all."""
