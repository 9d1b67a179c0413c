"""Plain text tables and durations, as the commands print them."""

from collections.abc import Sequence
from typing import Any


def table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Columns side by side; numbers to the right, text to the left, nothing for None."""
    cells = [[_text(value) for value in row] for row in rows]
    numeric = [all(not isinstance(row[i], str) for row in rows) for i in range(len(header))]
    widths = [max([len(name), *(len(row[i]) for row in cells)]) for i, name in enumerate(header)]

    def line(values: Sequence[str]) -> str:
        padded = [
            value.rjust(width) if right else value.ljust(width)
            for value, width, right in zip(values, widths, numeric, strict=True)
        ]
        return "  ".join(padded).rstrip()

    return "\n".join([line(header), *(line(row) for row in cells)])


def duration(seconds: float) -> str:
    """A duration as a person says it: 45 s, 3 min 20 s, 2 h 05 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.1f}"
    return str(value)
