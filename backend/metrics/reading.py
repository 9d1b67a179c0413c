"""What a source of node usage answers, and how it says that it cannot."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

State = Literal["ok", "down", "slow", "no data", "unused"]
"""`unused`: nobody asked, because a better source works. `no data`: it answers, but with nothing of use."""


@dataclass(frozen=True, slots=True)
class NodeUsage:
    """One node at one time."""

    cpu_millis: float
    memory_bytes: float | None = None
    """None: the source does not know."""
    clamped: bool = False
    """The source said less than nothing or more than the node has."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One answer of a source."""

    nodes: Mapping[str, NodeUsage]
    query: str
    answer: str
    """What came, in a few words."""
    age_s: float = 0.0
    """Age of the newest sample when it was read."""


class SourceError(Exception):
    """A source did not give a reading; `query` got `answer`."""

    def __init__(self, state: State, query: str, answer: str) -> None:
        super().__init__(answer)
        self.state: State = state
        self.query = shorten(query, 400)
        self.answer = shorten(answer)


class UsageSource(Protocol):
    """Somebody who knows what nodes use. `read` may take long; while one hangs, another may be begun."""

    @property
    def name(self) -> str:
        """What people call it."""

    @property
    def address(self) -> str:
        """Where it is asked, without credentials."""

    @property
    def query(self) -> str:
        """What it is asked first."""

    def read(self) -> Reading:
        """Usage now. Raises SourceError."""

    def close(self) -> None:
        """Give connections back."""


def shorten(text: str, limit: int = 240) -> str:
    """A text on one line, cut to a length that a page can show."""
    line = " ".join(text[: 8 * limit].split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def within(value: float, most: float | None) -> tuple[float, bool]:
    """A value held between 0 and `most`, and whether it had to be."""
    held = max(0.0, value) if most is None else min(max(0.0, value), most)
    return held, held != value


def some(names: list[str], limit: int = 3) -> str:
    """A few of the names and how many more there are."""
    shown = ", ".join(names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"
