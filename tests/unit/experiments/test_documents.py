"""Text to plain values, and what is refused before anything is built."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.experiments.documents import read_document, write_yaml
from backend.experiments.errors import SpecificationError
from backend.experiments.limits import MAX_BYTES


def refusal(source: object) -> str:
    with pytest.raises(SpecificationError) as caught:
        read_document(source)  # type: ignore[arg-type]
    assert caught.value.errors[0].field == ""
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", "on"),
        ("yes", "yes"),
        ("12:30", "12:30"),
        ("1e3", 1000.0),
        ("007", 7),
        ("0x10", 16),
        ("2026-01-01", "2026-01-01"),
        ("true", True),
        ("~", None),
        (".5", 0.5),
        ("1_000", "1_000"),
        ("'16'", "16"),
    ],
    ids=str,
)
def test_plain_values_follow_the_core_schema_of_yaml_1_2(text: str, value: object) -> None:
    read = read_document(f"x: {text}")["x"]
    assert (type(read), read) == (type(value), value)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("", "is empty"),
        ("# nothing", "is empty"),
        ("- a\n- b", "must be a mapping"),
        ("just text", "must be a mapping"),
        ([1, 2], "must be a mapping"),
        ("a: 1\n---\nb: 2", "several documents"),
        ("a: [1, 2", "did not find"),
        ("a:\n\t- 1", "line 2"),
        ("a: 1\nb: 2\na: 3", "'a' twice (again at line 3)"),
        ("x: {k: 1, k: 2}", "'k' twice"),
        ('{"a": 1, "a": 2}', "'a' twice"),
        ("a: !!python/object/apply:os.system ['true']", "tag"),
        ("a: !custom 1", "tag '!custom'"),
        ("a: !!int notanumber", "cannot be read"),
        ("a: " + "9" * 5000, "a whole number of 5,000 digits"),
        ("a: 0x" + "f" * 5000, "a whole number of 5,000 digits"),
        ('{"a": ' + "9" * 5000 + "}", "a whole number of 5,000 digits"),
        ("1: a", "1, which is no text"),
        ({1: "a"}, "1, which is no text"),
        (b"\xff\xfe\x00", "not UTF-8"),
        ("a: \x00", "not readable as YAML"),
        ("a: " + "[" * 60 + "]" * 60, "levels deep"),
        ('{"a": ' + "[" * 60 + "]" * 60 + "}", "levels deep"),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "levels deep"),
        ({"a": [[[[]] * 2] * 2] * 2, "b": [0] * 500_000}, "more than 400,000 values"),
    ],
    ids=lambda value: repr(value)[:30] if not isinstance(value, str) or len(value) < 40 else value[:30],
)
def test_refused_documents(source: object, words: str) -> None:
    assert words in refusal(source)


def test_a_bomb_of_aliases_is_refused_by_what_it_stands_for() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [
        f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]"
        for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    ]
    assert "more than 400,000 values" in refusal("\n".join(lines))


def test_aliases_stand_for_their_values() -> None:
    assert read_document("a: &x {k: [1, 2]}\nb: *x\nc: &y 3\nd: [*y, *x]") == {
        "a": {"k": [1, 2]},
        "b": {"k": [1, 2]},
        "c": 3,
        "d": [3, {"k": [1, 2]}],
    }


def test_aliases_within_each_other_are_refused_by_their_depth() -> None:
    lines = ["a0: &a0 [1]"] + [f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 60)]
    assert "levels deep" in refusal("\n".join(lines))


def test_a_recursive_document_is_refused() -> None:
    assert "contains itself" in refusal("a: &a [*a]")
    loop: dict[str, object] = {}
    loop["a"] = loop
    assert "levels deep" in refusal(loop)


@pytest.mark.parametrize(
    "text",
    ["x" * (50 * 2**20), b"x" * (50 * 2**20), "é" * (MAX_BYTES // 2 + 1)],
    ids=["50 MB of text", "50 MB of bytes", "more bytes than characters"],
)
def test_a_huge_document_is_refused_by_its_size(text: str | bytes) -> None:
    assert "bytes long" in refusal(text)


@pytest.mark.parametrize(
    "text",
    [
        "a: " + "[" * (MAX_BYTES - 10),
        "a: " + "{a: " * (MAX_BYTES // 5),
        "[" * MAX_BYTES,
        "- " * (MAX_BYTES // 2),
        "? " * (MAX_BYTES // 2),
    ],
    ids=["lists", "mappings", "top lists", "block lists", "complex keys"],
)
def test_deep_nesting_is_refused_quickly(text: str) -> None:
    began = time.perf_counter()
    refusal(text)
    assert time.perf_counter() - began < 2.0


def test_json_is_read_with_tabs_and_surrogates() -> None:
    assert read_document('{\t"a": "\\ud83d\\ude00", "b": [1, 2.5, null]}') == {"a": "😀", "b": [1, 2.5, None]}


def test_a_byte_order_mark_does_no_harm() -> None:
    assert read_document("\ufeffa: 1") == read_document(b"\xef\xbb\xbfa: 1") == {"a": 1}


scalars = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text(max_size=30)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(min_size=1, max_size=8), values, max_size=4))
def test_what_is_written_reads_back(mapping: dict[str, object]) -> None:
    assert read_document(write_yaml(mapping)) == mapping


@pytest.mark.parametrize(
    "text", ["on", "no", "1e3", "12:30", "0x1f", "~", "", "007", "2026-01-01", ".inf", "=", "<<", "- a", "a: b"]
)
def test_text_that_looks_like_something_else_stays_text(text: str) -> None:
    assert read_document(write_yaml({"a": text})) == {"a": text}
