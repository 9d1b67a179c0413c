"""Numbers as people read them. A missing value is a dash, never a zero."""

import math
from datetime import UTC, datetime
from typing import Any

from dashboard.figures.timeaxis import clock

MISSING = "–"


def seconds(value: float | None) -> str:
    """A duration: "0.4 s", "48 s", "2:30", "1:02:30"."""
    if not _known(value):
        return MISSING
    if abs(value) < 10:
        return f"{_minus(f'{value:.1f}')} s"
    return f"{_minus(f'{value:.0f}')} s" if abs(value) < 60 else clock(round(value))


def exact_seconds(value: float | None) -> str:
    """Seconds with one decimal: "1,048.3 s"."""
    return f"{_minus(f'{value:,.1f}')} s" if _known(value) else MISSING


def number(value: float | None, digits: int = 1) -> str:
    """A number with thousands separators and no needless decimals."""
    if not _known(value):
        return MISSING
    shown = f"{value:,.{digits}f}"
    return _minus(shown.rstrip("0").rstrip(".") if "." in shown else shown)


def signed(value: float | None, digits: int = 1, unit: str = "") -> str:
    """A difference with its sign always shown: "+12.0 s", "−3.5 %", "0.0 s"."""
    if not _known(value):
        return MISSING
    rounded = round(value, digits)
    shown = f"{rounded:+,.{digits}f}" if rounded else f"{0:.{digits}f}"
    return _minus(shown) + (f" {unit}" if unit else "")


def quantity(value: Any, unit: str) -> str:
    """A value of a metric in its unit; the API's units are "s", "core-s", "1" (a share) and "" (a count)."""
    if not _known(value):
        return MISSING
    if unit == "s":
        return f"{number(value)} s"
    if unit in ("fraction", "share"):
        return f"{100 * value:.1f} %"
    if unit in ("", "1"):
        return number(value, 1 if value == round(value) else 3)
    return f"{number(value)} {unit}"


def moment(iso: str | None, now: datetime | None = None) -> str:
    """An ISO time as an age: "just now", "4 min ago", "3 h ago", then the date."""
    when = parsed(iso)
    if when is None:
        return MISSING
    age = ((now or datetime.now(UTC)) - when).total_seconds()
    if age < 45:
        return "just now"
    if age < 3600:
        return f"{max(1, round(age / 60))} min ago"
    if age < 86400:
        return f"{round(age / 3600)} h ago"
    return when.strftime("%Y-%m-%d %H:%M UTC")


def stamp(iso: str | None) -> str:
    """An ISO time in full, with its zone."""
    when = parsed(iso)
    return when.strftime("%Y-%m-%d %H:%M:%S UTC") if when else MISSING


def parsed(iso: str | None) -> datetime | None:
    """The time an ISO text says, in UTC; None if it says none."""
    try:
        when = datetime.fromisoformat(iso) if iso else None
    except ValueError:
        return None
    if when is None:
        return None
    return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)


def plural(count: int, noun: str) -> str:
    """ "1 job", "7 jobs"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _known(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _minus(shown: str) -> str:
    return shown.replace("-", "−")
