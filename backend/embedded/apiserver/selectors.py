"""Label and field selectors, compiled to predicates."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from backend.embedded.apiserver.errors import ApiError, bad_request

Predicate = Callable[[Mapping[str, Any]], bool]
Requirement = Callable[[Mapping[str, str]], bool]

_SET = re.compile(r"^\s*(?P<key>[^\s!=,()]+)\s+(?P<operator>in|notin)\s*\((?P<values>[^()]*)\)\s*$")
_EQUAL = re.compile(r"^\s*(?P<key>[^\s!=,()]+)\s*(?P<operator>==|!=|=)\s*(?P<value>[^\s!=,()]*)\s*$")
_EXISTS = re.compile(r"^\s*(?P<absent>!?)\s*(?P<key>[^\s!=,()]+)\s*$")
# A comma parts two requirements unless it stands inside the brackets of a set.
_COMMA = re.compile(r",(?![^()]*\))")

_ANY_KIND = frozenset({"metadata.name", "metadata.namespace"})
# What the real server indexes; it refuses every other field, and a client that relied on more would fail there.
SELECTABLE: Mapping[str, frozenset[str]] = {
    "pods": frozenset(
        {
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        }
    ),
    "nodes": frozenset({"spec.unschedulable"}),
    "namespaces": frozenset({"status.phase"}),
    "secrets": frozenset({"type"}),
    "jobs.batch": frozenset({"status.successful"}),
    "replicasets.apps": frozenset({"status.replicas"}),
    "events": frozenset(
        {
            *(
                f"involvedObject.{part}"
                for part in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
            ),
            "reason",
            "reportingComponent",
            "source",
            "type",
        }
    ),
}
# Fields that are booleans, where absent reads as false and not as "".
_BOOLEAN = frozenset({"spec.unschedulable", "spec.hostNetwork"})
_ALIASES = {"status.successful": "status.succeeded", "source": "source.component"}
_COUNTS = frozenset({"status.successful", "status.replicas"})


def _labels(obj: Mapping[str, Any]) -> Mapping[str, str]:
    return obj["metadata"].get("labels") or {}


def _requirement(text: str) -> Requirement:
    if match := _SET.match(text):
        key = match["key"]
        values = frozenset(value.strip() for value in match["values"].split(","))
        if match["operator"] == "in":
            return lambda labels: labels.get(key) in values
        return lambda labels: labels.get(key) not in values
    if match := _EQUAL.match(text):
        key, value = match["key"], match["value"]
        if match["operator"] == "!=":
            return lambda labels: labels.get(key) != value
        return lambda labels: labels.get(key) == value
    if match := _EXISTS.match(text):
        key = match["key"]
        if match["absent"]:
            return lambda labels: key not in labels
        return lambda labels: key in labels
    raise bad_request(f"unable to parse requirement: {text!r} is no label selector")


def labels(text: str) -> Predicate | None:
    """The predicate of a label selector as clients write it; None when it selects everything."""
    if not text.strip():
        return None
    requirements = [_requirement(part) for part in _COMMA.split(text)]
    if len(requirements) == 1:
        only = requirements[0]
        return lambda obj: only(_labels(obj))
    return lambda obj: all(requirement(_labels(obj)) for requirement in requirements)


def structured(selector: Mapping[str, Any] | None) -> Predicate:
    """The predicate of a LabelSelector object. None selects nothing, an empty one everything."""
    if selector is None:
        return lambda obj: False
    wanted = dict(selector.get("matchLabels") or {})
    expressions = [_expression(e) for e in selector.get("matchExpressions") or ()]

    def matches(obj: Mapping[str, Any]) -> bool:
        have = _labels(obj)
        return all(have.get(k) == v for k, v in wanted.items()) and all(e(have) for e in expressions)

    return matches


def _expression(expression: Mapping[str, Any]) -> Requirement:
    key, operator, values = expression["key"], expression["operator"], frozenset(expression.get("values") or ())
    operators: dict[str, Requirement] = {
        "In": lambda have: have.get(key) in values,
        "NotIn": lambda have: have.get(key) not in values,
        "Exists": lambda have: key in have,
        "DoesNotExist": lambda have: key not in have,
    }
    if operator not in operators:
        raise bad_request(f"{operator!r} is not a valid label selector operator")
    return operators[operator]


def _field(path: str) -> Callable[[Mapping[str, Any]], str]:
    parts = _ALIASES.get(path, path).split(".")
    absent = "false" if path in _BOOLEAN else "0" if path in _COUNTS else ""

    def read(obj: Mapping[str, Any]) -> str:
        value: Any = obj
        for part in parts:
            value = value.get(part) if isinstance(value, Mapping) else None
        if value is None:
            return absent
        return str(value).lower() if isinstance(value, bool) else str(value)

    return read


def fields(text: str, collection: str, extra: frozenset[str] = frozenset()) -> Predicate | None:
    """The predicate of a field selector; None when it selects everything.

    Raises:
        ApiError: 400 for a field that the real server cannot select by.
    """
    checks: list[Predicate] = []
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        match = _EQUAL.match(part)
        if match is None:
            raise bad_request(f"invalid field selector: {part!r} (expected field=value or field!=value)")
        path, value = match["key"], match["value"]
        if path not in _ANY_KIND | SELECTABLE.get(collection, frozenset()) | extra:
            raise _unsupported(path)
        read = _field(path)
        if match["operator"] == "!=":
            checks.append(lambda obj, read=read, value=value: read(obj) != value)  # type: ignore[misc]
        else:
            checks.append(lambda obj, read=read, value=value: read(obj) == value)  # type: ignore[misc]
    return _all_of(checks)


def _unsupported(path: str) -> ApiError:
    return bad_request(f"field label not supported: {path}")


def _all_of(checks: list[Predicate]) -> Predicate | None:
    if len(checks) <= 1:
        return checks[0] if checks else None
    return lambda obj: all(check(obj) for check in checks)


def both(first: Predicate | None, second: Predicate | None) -> Predicate | None:
    """Both predicates, where None is the one that is always true."""
    return _all_of([predicate for predicate in (first, second) if predicate is not None])
