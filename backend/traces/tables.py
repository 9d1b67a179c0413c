"""Reading small tables of text: any line ending, a byte-order mark, a last line without line feed."""

import csv
import io
import math
import re
from collections.abc import Iterator, Sequence

from backend.traces.errors import TraceError

MAX_BYTES = 50 * 2**20
"""Files of these kinds are kilobytes; beyond this it is another file."""
MAX_SECONDS = 1e11
"""About the year 5100; more are milliseconds or no time at all, and sums of them would lose the seconds."""
MAX_NAME = 253
"""Characters of a name, as Kubernetes has them (RFC 1123 subdomains)."""
_NUMBER = re.compile(r"[+-]?[0-9.]+(e[+-]?[0-9]+)?", re.ASCII | re.IGNORECASE)
_HEAD_BYTES = 64 * 1024
_SUFFIX = re.compile(r"(-(migrated|restarted)(-[0-9]{1,9})?)+$")


def text_of(content: bytes, name: str) -> str:
    """The text of a file. Raises TraceError."""
    if len(content) > MAX_BYTES:
        raise TraceError(name, None, f"{len(content):,} bytes are more than {MAX_BYTES:,}")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise TraceError(name, None, "is not text in UTF-8") from None
    if "\0" in text:
        raise TraceError(name, None, "is not a text file")
    return text


def csv_rows(content: bytes, name: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells, stripped, of each row that is not empty. Raises TraceError."""
    reader = csv.reader(io.StringIO(text_of(content, name), newline=""), strict=True)
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if any(cells):
                yield reader.line_num, cells
    except csv.Error as error:
        raise TraceError(name, reader.line_num, str(error)) from None


def first_cells(content: bytes) -> list[str]:
    """The cells of the first line that holds any, in small letters; nothing is refused."""
    text = content[:_HEAD_BYTES].decode("utf-8-sig", "replace")
    line = next((line for line in text.splitlines() if line.strip(" \t,")), "")
    return [cell.strip().lower() for cell in next(csv.reader([line]), [])]


def header_and_rows(content: bytes, name: str) -> tuple[int, list[str], Iterator[tuple[int, list[str]]]]:
    """Line and names (in small letters) of the header, and the rows below it. Raises TraceError."""
    rows = csv_rows(content, name)
    line, header = next(rows, (1, []))
    columns = [cell.lower() for cell in header]
    twice = next((column for column in columns if column and columns.count(column) > 1), None)
    if twice is not None:
        raise TraceError(name, line, f"names the column '{twice[:40]}' twice")
    return line, columns, rows


def fitted(cells: list[str], columns: Sequence[str], name: str, line: int, *, needed: int) -> list[str]:
    """As many cells as there are columns; at least `needed` have to be written. Raises TraceError.

    A row with more is not cut: it may hold a number with a decimal comma.
    """
    width = len(columns)
    if len(cells) < needed or any(cells[width:]):
        raise TraceError(name, line, f"has {len(cells)} cells, the first line has {width}")
    return cells[:width] + [""] * (width - len(cells))


def check_name(text: str, name: str, line: int) -> str:
    """The name of a job or node, if it is no longer than one can be. Raises TraceError."""
    if len(text) > MAX_NAME:
        problem = f"'{text[:40]}...' has {len(text):,} characters; a name has at most {MAX_NAME}"
        raise TraceError(name, line, problem)
    return text


def seconds(text: str) -> float | None:
    """The number of seconds that a cell holds; None if it holds none, or more than MAX_SECONDS."""
    try:
        value = float(text) if _NUMBER.fullmatch(text) else math.nan
    except ValueError:
        return None
    return value if abs(value) <= MAX_SECONDS else None


def base_job(pod: str) -> str:
    """The job that a pod belongs to: `job1-migrated` is a pod of job1, as are our own `job1-migrated-2` and
    `job1-restarted`."""
    return _SUFFIX.sub("", pod) or pod


def pod_order(pod: str) -> tuple[bool, int]:
    """Sorts the pods of a job by age: itself, `-migrated`, `-migrated-2` ..."""
    number = re.search(r"-([0-9]{1,9})$", pod.removeprefix(base_job(pod)))
    return pod != base_job(pod), int(number[1]) if number else 0
