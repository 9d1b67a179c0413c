"""Tables as the API gives them: a part of their rows, by columns."""

from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

MAX_ROWS = 200_000
"""Rows of one answer: more than any figure can use."""

encode = msgspec.json.encode
"""JSON of plain values; numbers that are none (NaN, infinite) become null."""


def part(table: pa.Table, *, job: str | None, limit: int, offset: int) -> tuple[pa.Table, int]:
    """The rows asked for, and how many there are. Raises KeyError if a job is asked for and the table has no jobs."""
    if job is not None:
        if "job" not in table.column_names:
            raise KeyError("job")
        table = table.filter(pc.equal(table.column("job"), job))
    return table.slice(offset, limit), table.num_rows


def columns(table: pa.Table) -> dict[str, list[Any]]:
    """Column -> its values, null as None."""
    return {name: column.to_pylist() for name, column in zip(table.column_names, table.columns, strict=True)}
