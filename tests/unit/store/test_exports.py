"""Tables as CSV and JSON."""

import csv
import io
import json
import math

import pyarrow as pa
import pytest

from backend.folds.schemas import SCHEMAS
from backend.folds.tables import fold
from backend.store.exports import to_csv, to_json
from tests.unit.store.runs import simulated

MIXED = pa.table(
    {
        "text": ["a", None, ""],
        "real": [1.5, None, math.nan],
        "whole": pa.array([1, None, 3], pa.int64()),
        "flag": [True, None, False],
    }
)


def cells(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


def test_csv_has_a_header_and_empty_cells_for_what_is_not_there() -> None:
    assert to_csv(MIXED) == "text,real,whole,flag\na,1.5,1,True\n,,,\n,,3,False\n"


def test_json_has_null_for_what_is_not_there() -> None:
    assert json.loads(to_json(MIXED)) == [
        {"text": "a", "real": 1.5, "whole": 1, "flag": True},
        {"text": None, "real": None, "whole": None, "flag": None},
        {"text": "", "real": None, "whole": 3, "flag": False},
    ]


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf], ids=str)
def test_numbers_that_are_none_are_not_there(number: float) -> None:
    table = pa.table({"x": [number]})
    assert (to_csv(table), to_json(table)) == ('x\n""\n', '[{"x": null}]')


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "＋1", "－1", "＠x", "=cmd|'/c calc'!A0"]
)
def test_a_text_that_could_be_a_formula_gets_an_apostrophe(text: str) -> None:
    assert cells(to_csv(pa.table({"x": [text]})))[1] == [f"'{text}"]


def test_a_column_name_that_could_be_a_formula_gets_an_apostrophe() -> None:
    assert cells(to_csv(pa.table({"=x": ["a"]})))[0] == ["'=x"]


def test_a_negative_number_is_no_formula() -> None:
    assert to_csv(pa.table({"x": [-1.5], "y": [-1]})) == "x,y\n-1.5,-1\n"


@pytest.mark.parametrize("text", ['a"b', '"', "a,b", "a\nb", "a\r\nb", "a\rb", 'a","b', "ü 日本 🙂", " a "])
def test_a_text_is_read_back_as_it_was(text: str) -> None:
    table = pa.table({"x": [text], "y": ["z"]})
    assert cells(to_csv(table))[1] == [text, "z"]
    assert json.loads(to_json(table)) == [{"x": text, "y": "z"}]


@pytest.mark.parametrize("name", SCHEMAS)
def test_an_empty_table_has_its_header(name: str) -> None:
    empty = SCHEMAS[name].empty_table()
    assert cells(to_csv(empty)) == [SCHEMAS[name].names]
    assert to_json(empty) == "[]"


@pytest.mark.parametrize("name", SCHEMAS)
def test_csv_holds_the_cells_of_a_real_table(name: str) -> None:
    table = fold(simulated())[name]
    header, *rows = cells(to_csv(table))
    assert header == table.column_names
    assert rows == [["" if cell is None else str(cell) for cell in row.values()] for row in table.to_pylist()]


@pytest.mark.parametrize("write", [to_csv, to_json])
def test_the_same_run_gives_the_same_text(write: object) -> None:
    first, second = (write(fold(simulated())["migrations"]) for _ in range(2))  # type: ignore[operator]
    assert first == second
