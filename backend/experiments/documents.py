"""Text to plain values: YAML or JSON, one document, within limits.

What is dangerous or hides mistakes is refused before anything is built: aliases that stand for more than the limits (a
few lines of them can stand for gigabytes) or for themselves, names given twice, several documents, deep nesting, tags
that would construct objects. Plain values are read
by the core schema of YAML 1.2, the one that JSON agrees with: `on` is text, `1e3` a number, `12:30` text.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

import yaml

from backend.experiments.errors import SpecificationError, document_error, shorten
from backend.experiments.limits import MAX_BYTES, MAX_DEPTH, MAX_DIGITS, MAX_VALUES

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_CORE_SCHEMA = (
    ("tag:yaml.org,2002:bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("tag:yaml.org,2002:null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("tag:yaml.org,2002:int", r"^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$", "-+0123456789"),
    (
        "tag:yaml.org,2002:float",
        r"^(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$",
        "-+0123456789.",
    ),
)
"""Tag, pattern and possible first characters of plain values (YAML 1.2.2, section 10.3.2)."""
_PLAIN_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("map", "seq", "str", "int", "float", "bool", "null")}


_UNUSUAL = re.compile(r"[^\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
"""Characters that PyYAML does not keep in plain or single-quoted text: other line breaks, control characters."""


class _Loader(_Base):  # type: ignore[misc]
    """The safe loader with the core schema in place of YAML 1.1's."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - replaces the base's table, filled below


class _Dumper(yaml.SafeDumper):
    """Quotes whatever a reader of YAML 1.1 or 1.2 would take for something else than text."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Lists stand indented below their name."""
        super().increase_indent(flow, False)


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = '"' if _UNUSUAL.search(text) else "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)
for _tag, _pattern, _first in _CORE_SCHEMA:
    _Loader.add_implicit_resolver(_tag, re.compile(_pattern), list(_first))
    _Dumper.add_implicit_resolver(_tag, re.compile(_pattern), list(_first))


def _int(loader: Any, node: Any) -> int:
    text = str(loader.construct_scalar(node))
    base = {"0x": 16, "0o": 8}.get(text[:2], 10)
    return _whole(text if base == 10 else text[2:], base)


def _whole(text: str, base: int = 10) -> int:
    digits = len(text.lstrip("+-"))
    if digits > MAX_DIGITS:
        # Python has a limit of its own, and its complaint tells how to change the interpreter.
        allowed = f"at most {MAX_DIGITS} digits"
        raise document_error(f"holds a whole number of {digits:,} digits", shorten(text), allowed)
    return int(text, base)


def _float(loader: Any, node: Any) -> float:
    return float(str(loader.construct_scalar(node)).lower().replace(".inf", "inf").replace(".nan", "nan"))


_Loader.add_constructor("tag:yaml.org,2002:int", _int)
_Loader.add_constructor("tag:yaml.org,2002:float", _float)


def read_document(source: str | bytes | Mapping[Any, Any]) -> dict[str, Any]:
    """The mapping that a text or an already decoded document holds. Raises SpecificationError."""
    document = _read_text(_decode(source)) if isinstance(source, str | bytes) else source
    if document is None:
        raise document_error("is empty", allowed="a mapping with name, cluster, workload and arms")
    if not isinstance(document, Mapping):
        raise document_error("must be a mapping of names to values", shorten(document))
    plain = _plain(document)
    assert isinstance(plain, dict)
    return plain


def write_yaml(mapping: Mapping[str, Any]) -> str:
    """A mapping as YAML that read_document reads back to an equal one."""
    text = yaml.dump(
        dict(mapping), Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=None, width=110
    )
    return str(text)


def _decode(source: str | bytes) -> str:
    size = len(source)
    if size <= MAX_BYTES and isinstance(source, str):
        size = len(source.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        raise document_error(
            f"is {size:,} bytes long, more than {MAX_BYTES:,}",
            allowed="long lists of jobs or submissions can be written shorter: jobs: 500, submissions: {every: 10}",
        )
    if isinstance(source, bytes):
        try:
            return source.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise document_error(f"is not UTF-8 text (byte {error.start})") from None
    return source.removeprefix("\ufeff")


def _read_text(text: str) -> Any:
    if text.lstrip().startswith("{"):
        try:
            return json.loads(text, object_pairs_hook=_pairs, parse_int=_whole)
        except RecursionError:
            raise document_error(f"is nested more than {MAX_DEPTH} levels deep") from None
        except ValueError as error:
            if isinstance(error, SpecificationError):
                raise
            # Not JSON: it may still be YAML in braces.
    try:
        _check_events(text)
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            _check_names(node)
            return loader.construct_document(node)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise document_error(f"is not readable as YAML{where}: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise document_error(f"is not readable as YAML: {' '.join(str(error).split())[:200]}") from None
    except ValueError as error:
        if isinstance(error, SpecificationError):
            raise
        raise document_error(f"holds a value that cannot be read: {error}") from None


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise document_error(f"gives the name {shorten(name)} twice in one mapping")
            seen.add(name)
    return mapping


def _check_events(text: str) -> None:
    """Walk over the events, which costs no memory, and stop at the first thing that is refused."""
    documents = values = 0
    open_collections: list[tuple[str | None, int]] = []
    """Anchor of each collection that is open, and the values counted before it."""
    sizes: dict[str, int] = {}
    """Anchor -> values that an alias of it stands for."""
    for event in yaml.parse(text, Loader=_Loader):
        line = event.start_mark.line + 1 if event.start_mark else 0
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise document_error(f"holds several documents (the second begins at line {line})", allowed="one")
        elif isinstance(event, yaml.AliasEvent):
            if any(anchor == event.anchor for anchor, _ in open_collections):
                raise document_error(f"contains itself, by the alias *{event.anchor} at line {line}")
            values += sizes.get(str(event.anchor), 1)
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = open_collections.pop()
            if anchor is not None:
                sizes[anchor] = values - before
        elif isinstance(event, yaml.NodeEvent):
            tag = getattr(event, "tag", None)
            if tag not in (None, "!") and tag not in _PLAIN_TAGS:
                raise document_error(f"uses the tag {shorten(tag)} at line {line}", allowed="values without tags")
            if isinstance(event, yaml.CollectionStartEvent):
                open_collections.append((event.anchor, values))
                if len(open_collections) > MAX_DEPTH:
                    raise document_error(f"is nested more than {MAX_DEPTH} levels deep at line {line}")
            values += 1
        if values > MAX_VALUES:
            raise document_error(f"holds more than {MAX_VALUES:,} values, aliases written out")


def _check_names(root: yaml.Node) -> None:
    """PyYAML lets the last of two equal names win, which hides a mistake."""
    waiting = [root]
    looked_at: set[int] = set()
    while waiting:
        node = waiting.pop()
        if id(node) in looked_at:
            continue
        looked_at.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting.extend(node.value)
        elif isinstance(node, yaml.MappingNode):
            seen: set[str] = set()
            for key, value in node.value:
                if isinstance(key, yaml.ScalarNode):
                    if key.value in seen:
                        line = key.start_mark.line + 1
                        raise document_error(f"gives the name {shorten(key.value)} twice (again at line {line})")
                    seen.add(key.value)
                waiting.append(value)


def _plain(document: Any) -> Any:
    """A copy made of dict, list and scalars, with names that are text, within the limits on depth and number."""
    count = 0

    def copy(value: Any, depth: int) -> Any:
        nonlocal count
        count += 1
        if count > MAX_VALUES:
            raise document_error(f"holds more than {MAX_VALUES:,} values")
        if depth > MAX_DEPTH:
            raise document_error(f"is nested more than {MAX_DEPTH} levels deep")
        if isinstance(value, Mapping):
            for name in value:
                if not isinstance(name, str):
                    raise document_error(f"has the name {shorten(name)}, which is no text", allowed="names in quotes")
            return {name: copy(inner, depth + 1) for name, inner in value.items()}
        if isinstance(value, list | tuple):
            return [copy(inner, depth + 1) for inner in value]
        return value

    return copy(document, 0)
