"""What a view hands over: a figure, its summary in words and the same data as a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Columns = Mapping[str, Sequence[Any]]
"""A table as the API gives it: column name -> values, all of one length."""


@dataclass(frozen=True)
class View:
    """One panel. `figure` is None if there is nothing to draw; `summary` then says why."""

    figure: dict[str, Any] | None
    summary: str
    headings: tuple[str, ...] = ()
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    note: str = ""
    """Shown beside the title, such as why a dense form was chosen."""


def rows_of(table: Columns, *names: str) -> list[tuple[Any, ...]]:
    """The rows of some columns; a column the table lacks is None throughout."""
    size = length(table)
    return list(zip(*(table.get(name) or [None] * size for name in names), strict=True))


def length(table: Columns) -> int:
    """Number of rows."""
    return max((len(column) for column in table.values()), default=0)


def text(value: object) -> str:
    """A name as plotly shows it literally: plotly reads markup in labels and hovers, so hostile names are escaped."""
    return str(value).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
