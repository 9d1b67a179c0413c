"""Pydantic's errors in plain words: where the person wrote it, what is wrong, what is allowed.

What is allowed is read from the JSON schema of the model, which the form and the API use as well.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from backend.experiments.errors import FieldError, closest, shorten
from backend.experiments.limits import MAX_EXPLAINED

Path = tuple[str | int, ...]
Schema = Mapping[str, Any]

_NAME_PATTERN = "^[a-z0-9]([-a-z0-9]"
_MISSING = object()
_FAULT = "fault"


def fault(message: str, loc: Path = (), value: Any = None, allowed: str = "") -> InitErrorDetails:
    """A fault found by our own checks, to be raised by `raise_faults` from within a validator."""
    words = {"message": message, "allowed": allowed}
    return InitErrorDetails(type=PydanticCustomError(_FAULT, "{message}", words), loc=loc, input=value)


def raise_faults(title: str, faults: Sequence[InitErrorDetails]) -> None:
    """Raise the faults, if there are any; pydantic puts the place of the validated part before their paths."""
    if faults:
        raise ValidationError.from_exception_data(title, list(faults))


def explain(error: ValidationError, model: type[BaseModel], written: Any) -> list[FieldError]:
    """One FieldError for each faulty field (of the first MAX_EXPLAINED errors), in the order of the model.

    `written` is the document as the person wrote it: parts of a path that are not in it (tags of unions, places in a
    list that a short form stands for) are left out.
    """
    schema = _schema_of(model)
    by_path: dict[str, list[tuple[Path, FieldError]]] = {}
    for details in error.errors(include_url=False)[:MAX_EXPLAINED]:
        path, value = _locate(details, written)
        if details["type"] == "too_short" and isinstance(value, list) and len(value) >= details["ctx"]["min_length"]:
            continue  # pydantic counts the entries that are right; the wrong ones have errors of their own
        where = list(_schemas_at(schema, [schema], path, written))
        parents = list(_schemas_at(schema, [schema], path[:-1], written))
        found = _explain_one(details, path, value, where, parents)
        by_path.setdefault(found.field, []).append((details["loc"], found))
    return [error for found_here in by_path.values() for error in _merged(found_here)]


@cache  # Making it takes some 10 ms, and a model does not change.
def _schema_of(model: type[BaseModel]) -> Schema:
    return model.model_json_schema()


def _merged(found: list[tuple[Path, FieldError]]) -> list[FieldError]:
    """The errors of one field. Where pydantic tried the branches of a union, one error says them all."""
    if len({loc for loc, _ in found}) == 1:
        return list(dict.fromkeys(error for _, error in found))
    first = found[0][1]
    messages = dict.fromkeys(error.message for _, error in found)
    joined = " or ".join(text if not place else text.removeprefix("must be ") for place, text in enumerate(messages))
    return [FieldError(first.field, first.value, joined, first.allowed)]


def dotted(path: Iterable[str | int]) -> str:
    """The path of a field as the API and the CLI write it."""
    return ".".join(str(part) for part in path)


def _locate(details: ErrorDetails, written: Any) -> tuple[Path, Any]:
    """Path and value in the document as written."""
    path: list[str | int] = []
    here = written
    loc = details["loc"]
    for place, part in enumerate(loc):
        last = place == len(loc) - 1
        if isinstance(here, Mapping) and isinstance(part, str):
            if part in here:
                path.append(part)
                here = here[part]
                continue
            if last and details["type"] in ("missing", _FAULT):
                path.append(part)
                here = _MISSING
        elif isinstance(here, list) and isinstance(part, int) and part < len(here):
            path.append(part)
            here = here[part]
    return tuple(path), here


def _explain_one(
    details: ErrorDetails, path: Path, value: Any, schemas: list[Schema], parents: list[Schema]
) -> FieldError:
    kind, context = details["type"], details.get("ctx", {})
    given = "" if value is _MISSING else shorten(value)
    allowed = either(describe(schema) for schema in schemas)
    if kind == "missing":
        return FieldError(dotted(path), "", "is missing", allowed)
    if kind == "extra_forbidden":
        known = sorted({name for schema in parents for name in schema.get("properties", {})})
        message = f"is not a name known here{closest(path[-1] if path else '', known)}"
        return FieldError(dotted(path), given, message, ", ".join(known) or "nothing")
    if kind == _FAULT:
        return FieldError(dotted(path), given, context["message"], context["allowed"])
    return FieldError(dotted(path), given, _sentence(details, schemas), allowed)


def _sentence(details: ErrorDetails, schemas: list[Schema]) -> str:
    kind, context = details["type"], details.get("ctx", {})
    if kind == "value_error":
        return str(context.get("error", details["msg"]))
    if kind == "string_pattern_mismatch" and str(context.get("pattern", "")).startswith(_NAME_PATTERN):
        return "must be a name of small letters, digits and dashes"
    if kind in ("literal_error", "union_tag_invalid", "enum"):
        choices = [str(choice) for schema in schemas for choice in _choices(schema)]
        choices = choices or re.findall(r"'([^']*)'", str(context.get("expected", context.get("expected_tags", ""))))
        tag = context.get("tag", details["input"])
        return f"must be {'one of ' if len(choices) > 1 else ''}{', '.join(choices)}{closest(tag, choices)}"
    for beginning, words in _WORDS:
        if kind.startswith(beginning):
            return words.format(**context)
    return details["msg"][:1].lower() + details["msg"][1:]


_WORDS = (
    ("union_tag_not_found", "must say its kind"),
    ("string_too_long", "must be at most {max_length} characters long"),
    ("string_too_short", "must be at least {min_length} characters long"),
    ("string_type", "must be text"),
    ("int_from_float", "must be a whole number"),
    ("int_parsing_size", "must be a whole number of fewer digits"),
    ("int_", "must be a whole number"),
    ("float_", "must be a number"),
    ("finite_number", "must be a finite number"),
    ("greater_than_equal", "must be at least {ge:g}"),
    ("greater_than", "must be more than {gt:g}"),
    ("less_than_equal", "must be at most {le:g}"),
    ("less_than", "must be less than {lt:g}"),
    ("bool_", "must be true or false"),
    ("too_short", "must have at least {min_length} entries"),
    ("too_long", "must have at most {max_length} entries"),
    ("list_type", "must be a list"),
    ("tuple_type", "must be a list"),
    ("dict_type", "must be a mapping of names to values"),
    ("model_", "must be a mapping of names to values"),
    ("none_required", "must be empty"),
)
"""Beginning of an error type of pydantic -> the words for it."""


# -- what a JSON schema allows


def _schemas_at(root: Schema, schemas: Iterable[Schema], path: Sequence[str | int], written: Any) -> Iterable[Schema]:
    """The parts of the schema that speak of a path; several where alternatives exist."""
    current = [branch for schema in schemas for branch in _branches_of(root, schema, written)]
    here = written
    for part in path:
        following: list[Schema] = []
        if isinstance(here, Mapping):
            here = here.get(str(part))
        elif isinstance(here, list) and isinstance(part, int) and part < len(here):
            here = here[part]
        else:
            here = None
        for schema in current:
            if isinstance(part, int):
                inner = schema.get("items")
                prefix = schema.get("prefixItems", ())
                inner = prefix[part] if part < len(prefix) else inner
            else:
                inner = schema.get("properties", {}).get(part)
            if isinstance(inner, Mapping):
                following.extend(_branches_of(root, inner, here))
        current = following
    return current


def _branches_of(root: Schema, schema: Schema, written: Any) -> Iterable[Schema]:
    reference = schema.get("$ref")
    if reference:
        yield from _branches_of(root, root["$defs"][reference.rpartition("/")[2]], written)
        return
    options = schema.get("oneOf") or schema.get("anyOf")
    if not options:
        yield schema
        return
    discriminator = schema.get("discriminator")
    if discriminator and isinstance(written, Mapping):
        chosen = discriminator["mapping"].get(str(written.get(discriminator["propertyName"])))
        if chosen:
            yield from _branches_of(root, {"$ref": chosen}, written)
            return
        yield {"enum": list(discriminator["mapping"])}
        return
    for option in options:
        yield from _branches_of(root, option, written)


def _choices(schema: Schema) -> list[Any]:
    return list(schema["enum"]) if "enum" in schema else [schema["const"]] if "const" in schema else []


def either(descriptions: Iterable[str]) -> str:
    """Alternatives in one phrase, each said once."""
    distinct = list(dict.fromkeys(text for text in descriptions if text))
    if set(distinct) >= {"text", "a number"}:
        distinct = [text for text in distinct if text not in ("text", "a number")]
        distinct.insert(0, "a quantity such as 2, '500m' or '64Gi'")
    return " or ".join(distinct)


def describe(schema: Schema) -> str:
    """What a part of a JSON schema allows, as a phrase."""
    choices = _choices(schema)
    if choices:
        return f"one of {', '.join(str(choice) for choice in choices)}" if len(choices) > 1 else str(choices[0])
    match schema.get("type"):
        case "integer" | "number" as kind:
            return ("a whole number" if kind == "integer" else "a number") + _bounds(schema)
        case "string" if str(schema.get("pattern", "")).startswith(_NAME_PATTERN):
            return "small letters, digits and dashes, 53 at most, the first and last no dash"
        case "string":
            return "text" + (f" of at most {schema['maxLength']} characters" if "maxLength" in schema else "")
        case "boolean":
            return "true or false"
        case "array":
            low = schema.get("minItems", 0)
            return "a list" + (f" of at least {low} entries" if low > 1 else " that is not empty" if low else "")
        case "object":
            names = ", ".join(schema.get("properties", ()))
            return f"a mapping with {names}" if names else "a mapping of names to values"
    return ""


def _bounds(schema: Schema) -> str:
    low, above = schema.get("minimum"), schema.get("exclusiveMinimum")
    high, below = schema.get("maximum"), schema.get("exclusiveMaximum")
    start = f" from {low:g}" if low is not None else f" above {above:g}" if above is not None else ""
    if high is not None:
        return f"{start} to {high:g}" if start else f" up to {high:g}"
    if below is not None:
        return f"{start} and below {below:g}" if start else f" below {below:g}"
    return f"{start} on" if low is not None else start
