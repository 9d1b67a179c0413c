"""Tables as CSV and JSON."""

import json
import math
import re
from typing import Any

import pyarrow as pa

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""First characters that make a spreadsheet take a text for a formula (OWASP, CSV injection)."""
_QUOTED = re.compile(r'[",\r\n]')


def to_csv(table: pa.Table) -> str:
    """CSV with a header; null and numbers that are no numbers are empty cells.

    Texts that a spreadsheet could execute get an apostrophe in front.
    """
    columns = [map(_cell, column.to_pylist()) for column in table.columns]
    lines = [map(_cell, table.column_names), *zip(*columns, strict=True)]
    return "".join((",".join(cells) or '""') + "\n" for cells in lines)  # readers pass over empty lines


def _cell(value: Any) -> str:
    # The csv module leaves a lone carriage return unquoted, which ends the row for every reader.
    if isinstance(value, str):
        text = safe_text(value)
        return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text
    return "" if _plain(value) is None else str(value)


def safe_text(text: str) -> str:
    """The text, with an apostrophe in front if a spreadsheet could take it for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def to_json(table: pa.Table) -> str:
    """A list of objects, one a row; numbers that are no numbers are null."""
    return json.dumps([{k: _plain(v) for k, v in row.items()} for row in table.to_pylist()], allow_nan=False)


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
