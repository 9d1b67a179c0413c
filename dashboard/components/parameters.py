"""Inputs for the parameters of a policy, made from the JSON schema of its model: default, bounds and help included.

A policy of another package gets its inputs the same way; nothing here knows a policy by name.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import dash_mantine_components as dmc
from dash import html

from dashboard import ids

ORDER = ["label", "input", "description", "error"]
"""Hints stand under their inputs, so that the inputs of a row are in line however long the hints are."""


@dataclass(frozen=True)
class Parameter:
    """One parameter as the form needs it."""

    name: str
    kind: str
    """number, integer, boolean, choice or text."""
    default: Any
    help: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    optional: bool = False
    """It may be null."""


def read(schema: Mapping[str, Any]) -> list[Parameter]:
    """The parameters of a schema, in its order."""
    return [_parameter(name, part, schema) for name, part in (schema.get("properties") or {}).items()]


def _parameter(name: str, part: Mapping[str, Any], schema: Mapping[str, Any]) -> Parameter:
    branches = [_resolved(branch, schema) for branch in part.get("anyOf") or [part]]
    optional = any(branch.get("type") == "null" for branch in branches)
    branches = [branch for branch in branches if branch.get("type") != "null"] or [{}]
    first = {**_resolved(part, schema), **branches[0]}
    types = {str(branch.get("type")) for branch in branches}
    choices = tuple(str(choice) for branch in branches for choice in branch.get("enum") or ())
    if not choices and "const" in first:
        choices = (str(first["const"]),)
    kind = "text"
    if choices:
        kind = "choice"
    elif types <= {"number", "integer"} and types:
        kind = "integer" if types == {"integer"} else "number"
    elif types == {"boolean"}:
        kind = "boolean"
    low, high = _bound(first, "minimum", "exclusiveMinimum"), _bound(first, "maximum", "exclusiveMaximum")
    words = part.get("description") or first.get("description") or ""
    return Parameter(name, kind, part.get("default", first.get("default")), words, low, high, choices, optional)


def _resolved(part: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = part.get("$ref", "")
    if not reference.startswith("#/"):
        return part
    found: Any = schema
    for key in reference.removeprefix("#/").split("/"):
        found = found.get(key, {})
    return {**found, **{key: value for key, value in part.items() if key != "$ref"}}


def _bound(part: Mapping[str, Any], *names: str) -> float | None:
    return next((part[name] for name in names if isinstance(part.get(name), int | float)), None)


def inputs(slot: str, schema: Mapping[str, Any], given: Mapping[str, Any]) -> Any:
    """All inputs of a policy; `given` are the values that differ from the defaults."""
    parameters = read(schema)
    if not parameters:
        return html.P("This policy has no parameters.", className="quiet")
    return html.Div(
        [_input(slot, parameter, given.get(parameter.name)) for parameter in parameters], className="fields"
    )


def _input(slot: str, parameter: Parameter, given: Any) -> Any:
    identity = ids.parameter(slot, parameter.name)
    value = parameter.default if given is None else given
    words = _help(parameter)
    label = parameter.name.replace("_", " ").capitalize()
    if parameter.kind == "boolean":
        return dmc.Switch(id=identity, label=label, description=words, checked=bool(value), size="sm")
    if parameter.kind == "choice":
        return dmc.Select(
            id=identity,
            label=label,
            description=words,
            value=None if value is None else str(value),
            data=list(parameter.choices),
            allowDeselect=False,
            clearable=parameter.optional,
            size="sm",
            comboboxProps={"transitionProps": {"duration": 0}},
            inputWrapperOrder=ORDER,
        )
    # Text, also for numbers: what a person writes wrongly must reach the check and come back as a message,
    # not be changed silently into something else.
    return dmc.TextInput(
        id=identity, label=label, description=words, value=shown(value), size="sm", debounce=250,
        inputWrapperOrder=ORDER,
        attributes={"input": {"inputMode": "decimal" if parameter.kind in ("number", "integer") else "text"}},
    )  # fmt: skip


def _help(parameter: Parameter) -> str:
    bounds = ""
    if parameter.low is not None and parameter.high is not None:
        bounds = f" ({parameter.low:g} to {parameter.high:g})"
    elif parameter.low is not None:
        bounds = f" (from {parameter.low:g})"
    words = parameter.help.rstrip(".").replace("`", "")
    words = words[:1].upper() + words[1:]
    default = shown(parameter.default)
    return f"{words}{bounds}. Default: {default or 'none'}" if words else f"Default: {default or 'none'}{bounds}"


def shown(value: Any) -> str:
    """A parameter's value as text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def changed(schema: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Of the inputs' values those that are not the default, as numbers where they are numbers."""
    made = {}
    for parameter in read(schema):
        if parameter.name not in given:
            continue
        value = _typed(parameter, given[parameter.name])
        if value != parameter.default:
            made[parameter.name] = value
    return made


def _typed(parameter: Parameter, value: Any) -> Any:
    if parameter.kind == "boolean":
        return bool(value)
    if value is None or (isinstance(value, str) and not value.strip()):
        return None if parameter.optional else parameter.default if value is None else ""
    if isinstance(value, str) and parameter.kind in ("number", "integer"):
        try:
            number = float(value)
        except ValueError:
            return value
        return int(number) if number.is_integer() and isinstance(parameter.default, int | None) else number
    if isinstance(parameter.default, list) and isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value
