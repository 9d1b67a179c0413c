"""The golden documents: where they are, and how a test gets them as parameters.

They live in `tests/golden/data`. The environment variable `PODSHIFT_GOLDEN_DIR` names another directory of the same
layout (a larger set, say): a kind of document that is missing there gives no cases, a directory without any document is
an error. A document is a JSON object with a `schema`; its folder does not matter.
"""

import csv
import json
import os
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import pytest

Document: TypeAlias = dict[str, Any]

ENVIRONMENT_VARIABLE = "PODSHIFT_GOLDEN_DIR"
SHIPPED = Path(__file__).parent / "data"


class NoGoldenDocumentsError(Exception):
    """The directory holds no document at all: most likely a wrong path."""


def golden_directory() -> Path:
    """The directory in use: the one of the environment variable if that is set, else the shipped one."""
    override = os.environ.get(ENVIRONMENT_VARIABLE)
    return Path(override) if override else SHIPPED


def documents(schema: str, *, conform: bool | None = None) -> list[Document]:
    """All documents of a schema by file name; `conform` keeps only those that conform (True) or do not (False)."""
    found = _by_schema(golden_directory()).get(schema, [])
    return [document for document in found if conform is None or conforms(document) == conform]


def document(schema: str, identity: str) -> Document:
    """One document by its id; the test that asks is skipped when the directory in use does not have it."""
    for candidate in documents(schema):
        if candidate["id"] == identity:
            return candidate
    pytest.skip(f"no {schema} document {identity!r} in {golden_directory()}")


def conforms(part: Document) -> bool:
    """Whether an implementation should reproduce the numbers of this document or row (yes, unless it says no)."""
    return bool(part.get("conform", True))


def cases(schema: str, *, conform: bool | None = None) -> list[Any]:
    """The documents of a schema as parameters for `pytest.mark.parametrize`, each with its id."""
    return [pytest.param(found, id=found["id"]) for found in documents(schema, conform=conform)]


def row_cases(
    table: str, *, conform: bool | None = None, label: Callable[[Document], object] | None = None
) -> list[Any]:
    """The rows of one table (schema `table/1`) as parameters; `label` names a row, else its number does."""
    rows = [row for found in documents("table/1") if found["id"] == table for row in found["rows"]]
    return [
        pytest.param(row, id=f"{number}" if label is None else f"{number}-{label(row)}")
        for number, row in enumerate(rows)
        if conform is None or conforms(row) == conform
    ]


def data_table(name: str) -> list[dict[str, str]]:
    """The rows of a plain CSV table of the folder `data`; one that the override lacks is read from the shipped set."""
    for directory in (golden_directory(), SHIPPED):
        path = directory / "data" / name
        if path.is_file():
            with path.open(encoding="utf-8", newline="") as file:
                return list(csv.DictReader(file))
    raise FileNotFoundError(f"no table {name} in {golden_directory()} or {SHIPPED}")


@cache
def _by_schema(directory: Path) -> dict[str, list[Document]]:
    found: dict[str, list[Document]] = {}
    for content in _contents(sorted(directory.rglob("*.json"))):
        if isinstance(content, dict) and "schema" in content:
            found.setdefault(content["schema"], []).append(content)
    if not found:
        raise NoGoldenDocumentsError(f"no golden document in {directory} (from {ENVIRONMENT_VARIABLE}?)")
    return found


def _contents(paths: Iterable[Path]) -> Iterable[Any]:
    for path in paths:
        yield json.loads(path.read_text(encoding="utf-8"))
