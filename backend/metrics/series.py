"""Series of an answer of Prometheus to values by node: what is no number or no node is left out and counted."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from backend.metrics.promql import QuerySettings


@dataclass(slots=True)
class Values:
    """What a query gave, by node, and what was wrong with the rest."""

    by_node: dict[str, float] = field(default_factory=dict)
    time: float | None = None
    """When Prometheus worked it out, by its own clock."""
    series: int = 0
    no_number: int = 0
    """Values that are NaN or infinite, or no number at all."""
    no_node: int = 0
    """Series without the label."""
    doubled: list[str] = field(default_factory=list)
    """Nodes with several series; the mean is used."""


def instant(result: Sequence[Any], settings: QuerySettings, only: frozenset[str] = frozenset()) -> Values:
    """The values of an instant query."""
    values = Values()
    found: dict[str, list[float]] = {}
    for one in result:
        values.series += 1
        node = _node(one, settings)
        if node is None:
            values.no_node += 1
            continue
        if only and node not in only:
            continue
        point = _point(one.get("value"))
        if point is None:
            values.no_number += 1
            continue
        values.time = point[0]
        found.setdefault(node, []).append(point[1])
    values.by_node, values.doubled = _merged(found)
    return values


def ranged(result: Sequence[Any], settings: QuerySettings, only: frozenset[str] = frozenset()) -> dict[float, Values]:
    """The values of a range query, by time."""
    found: dict[float, dict[str, list[float]]] = {}
    for one in result:
        node = _node(one, settings)
        if node is None or (only and node not in only):
            continue
        raw = one.get("values")
        for each in raw if isinstance(raw, list) else ():
            point = _point(each)
            if point is not None:
                found.setdefault(point[0], {}).setdefault(node, []).append(point[1])
    moments = {}
    for time in sorted(found):
        by_node, doubled = _merged(found[time])
        moments[time] = Values(by_node=by_node, time=time, doubled=doubled)
    return moments


def single(result: Sequence[Any]) -> tuple[float, float] | None:
    """Time and value of the one series of an answer, or None."""
    if len(result) == 1 and isinstance(result[0], Mapping):
        return _point(result[0].get("value"))
    return None


def _node(one: Any, settings: QuerySettings) -> str | None:
    labels = one.get("metric") if isinstance(one, Mapping) else None
    value = labels.get(settings.result_label) if isinstance(labels, Mapping) else None
    return settings.node(value) if isinstance(value, str) and value else None


def _point(raw: Any) -> tuple[float, float] | None:
    try:
        time, value = float(raw[0]), float(raw[1])
    except (TypeError, ValueError, LookupError):
        return None
    return (time, value) if math.isfinite(time) and math.isfinite(value) else None


def _merged(found: dict[str, list[float]]) -> tuple[dict[str, float], list[str]]:
    merged = {node: math.fsum(many) / len(many) for node, many in sorted(found.items())}
    return merged, [node for node in merged if len(found[node]) > 1]
