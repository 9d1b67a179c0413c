"""The time as Kubernetes writes it. A clock is a function, so that a test or a fault can step it."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Clock = Callable[[], datetime]


def wall_clock() -> datetime:
    """The time now, in UTC."""
    return datetime.now(UTC)


def stamp(moment: datetime) -> str:
    """A moment to the second: creationTimestamp and its like."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def parsed(text: str) -> datetime:
    """The moment that a timestamp names, with or without parts of a second."""
    return datetime.fromisoformat(text)


def age(since: str | None, now: datetime) -> str:
    """How long ago, as `kubectl get` shows it: "5s", "3m20s", "2d4h"."""
    if not since:
        return "<unknown>"
    return duration(now - parsed(since))


def duration(span: timedelta) -> str:
    """A span in at most two units, the finer one only while it still tells something."""
    seconds = int(span.total_seconds())
    if seconds < -1:
        return "<invalid>"
    seconds = max(seconds, 0)
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if seconds < 120:
        return f"{seconds}s"
    if minutes < 10:
        return _two(minutes, "m", seconds % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return _two(days, "d", hours % 24, "h")
    return f"{days}d" if days < 730 else _two(days // 365, "y", days % 365, "d")


def _two(large: int, unit: str, small: int, small_unit: str) -> str:
    return f"{large}{unit}{small}{small_unit}" if small else f"{large}{unit}"
