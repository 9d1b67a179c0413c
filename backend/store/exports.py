"""Tables as CSV and JSON."""

import csv
import io
import json
import math
from typing import Any

import pyarrow as pa

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First characters that make a spreadsheet take a text for a formula (OWASP, CSV injection)."""


def to_csv(table: pa.Table) -> str:
    """CSV with a header; null is an empty cell. Texts that a spreadsheet could execute get an apostrophe in front."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([safe_text(name) for name in table.column_names])
    columns = []
    for field, column in zip(table.schema, table.columns, strict=True):
        values = column.to_pylist()
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            columns.append(["" if value is None else safe_text(value) for value in values])
        else:
            columns.append(["" if value is None else value for value in values])
    writer.writerows(zip(*columns, strict=True))
    return out.getvalue()


def safe_text(text: str) -> str:
    """The text, with an apostrophe in front if a spreadsheet could take it for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def to_json(table: pa.Table) -> str:
    """A list of objects, one a row; numbers that are no numbers are null."""
    return json.dumps([{k: _plain(v) for k, v in row.items()} for row in table.to_pylist()], allow_nan=False)


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
