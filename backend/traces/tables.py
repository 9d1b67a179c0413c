"""Reading small tables of text: any line ending, a byte-order mark, a last line without line feed."""

import csv
import io
from collections.abc import Iterator

from backend.traces.errors import TraceError

MAX_BYTES = 50 * 2**20
"""Files of these kinds are kilobytes; beyond this it is another file."""


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
    """Line number and cells, stripped, of each row that is not empty."""
    reader = csv.reader(io.StringIO(text_of(content, name), newline=""))
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if any(cells):
                yield reader.line_num, cells
    except csv.Error as error:
        raise TraceError(name, reader.line_num, str(error)) from None


def base_job(pod: str) -> str:
    """The job that a pod of the original tools belongs to: `job1-migrated` is a pod of job1."""
    return pod.removesuffix("-migrated")
