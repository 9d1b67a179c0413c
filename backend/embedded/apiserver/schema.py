"""Custom objects against the schema of their definition: unknown fields dropped, defaults set, values checked."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from backend.embedded.apiserver.errors import Cause, Object, bad_value, required
from backend.embedded.apiserver.pod_rules import unsupported

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
# Every object has these, whatever its schema says.
_ALWAYS = frozenset({"apiVersion", "kind", "metadata"})


def shaped(definition: Mapping[str, Any], obj: Object) -> list[Cause]:
    """Drop from `obj` what its schema does not know, set its defaults, and say what is wrong with the rest."""
    schema = (definition.get("schema") or {}).get("openAPIV3Schema")
    if not schema:
        return []
    kept = {name: obj[name] for name in _ALWAYS if name in obj}
    body = {name: value for name, value in obj.items() if name not in _ALWAYS}
    declared = {name: inner for name, inner in (schema.get("properties") or {}).items() if name not in _ALWAYS}
    causes = _value("", {**schema, "properties": declared}, body)
    obj.clear()
    obj.update(kept | body)
    return causes


def _value(field: str, schema: Mapping[str, Any], value: Any) -> list[Cause]:
    if value is None:
        return [] if schema.get("nullable") else [bad_value(field, "null", f"must be of type {schema.get('type')}")]
    if schema.get("x-kubernetes-int-or-string"):
        return [] if isinstance(value, int | str) else [bad_value(field, value, "must be an integer or a string")]
    wanted = schema.get("type")
    types = _TYPES.get(wanted) if isinstance(wanted, str) else None
    # A bool is an int to Python, but not to JSON.
    if types and (not isinstance(value, types) or (isinstance(value, bool) and wanted != "boolean")):
        got = next((name for name, known in _TYPES.items() if type(value) in known), type(value).__name__)
        why = f'{field} in body must be of type {wanted}: "{got}"'
        return [Cause(field, f'Invalid value: "{got}": {why}', "FieldValueTypeInvalid")]
    if isinstance(value, dict):
        return _object(field, schema, value)
    if isinstance(value, list):
        items = schema.get("items") or {}
        return [cause for n, item in enumerate(value) for cause in _value(f"{field}[{n}]", items, item)]
    return _scalar(field, schema, value)


def _object(field: str, schema: Mapping[str, Any], value: Object) -> list[Cause]:
    known, rest = schema.get("properties") or {}, schema.get("additionalProperties")
    causes: list[Cause] = []
    for name, inner in known.items():
        if name not in value and "default" in inner:
            value[name] = inner["default"]
    causes += [required(_join(field, name)) for name in schema.get("required") or () if name not in value]
    for name in list(value):
        if name in known:
            causes += _value(_join(field, name), known[name], value[name])
        elif isinstance(rest, Mapping):
            causes += _value(_join(field, name), rest, value[name])
        elif not rest and not schema.get("x-kubernetes-preserve-unknown-fields"):
            del value[name]
    return causes


def _scalar(field: str, schema: Mapping[str, Any], value: Any) -> list[Cause]:
    if "enum" in schema and value not in schema["enum"]:
        return [unsupported(field, value, [str(choice) for choice in schema["enum"]])]
    checks: list[tuple[str, Callable[[Any], bool], str]] = [
        ("minimum", lambda limit: value >= limit, "should be greater than or equal to"),
        ("maximum", lambda limit: value <= limit, "should be less than or equal to"),
        ("pattern", lambda limit: re.search(limit, value) is not None, "should match"),
        ("minLength", lambda limit: len(value) >= limit, "should be at least of length"),
        ("maxLength", lambda limit: len(value) <= limit, "should be at most of length"),
    ]
    return [
        bad_value(field, value, f"{field} in body {words} {schema[name]}")
        for name, holds, words in checks
        if name in schema and not holds(schema[name])
    ]


def _join(field: str, name: str) -> str:
    return f"{field}.{name}" if field else name
