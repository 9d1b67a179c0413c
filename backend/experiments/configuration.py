"""The configuration of a run as a flat list of settings, and how two runs differ in it."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from backend.experiments.specification import Specification

MAX_ENTRIES = 12
"""Lists longer than this are shown as their length and a hash: two that are equal look equal."""
_OUTSIDE = ("arms", "name", "title", "description", "speed")
"""What is no setting of one arm's run: the other arms, words, and pacing (which changes no event)."""


def flatten(specification: Specification, arm: str) -> dict[str, Any]:
    """Dotted name -> value of every setting of an arm, defaults filled in. Raises KeyError for an unknown arm."""
    chosen = specification.arm(arm)
    settings = {name: value for name, value in specification.model_dump(mode="json").items() if name not in _OUTSIDE}
    for part, choice in (("scheduler", chosen.scheduler), ("migration", chosen.migration)):
        settings[part] = {"name": choice.name, **choice.parameters().model_dump(mode="json")}
    settings["life"] = chosen.life.model_dump(mode="json")
    settings["pin_initial_placement"] = specification.pin_initial_placement
    return dict(_leaves(settings, ""))


def difference(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One entry a setting that either has: field, a, b (None where it has none), differs; in a's order, then b's."""
    return [
        {"field": field, "a": a.get(field), "b": b.get(field), "differs": a.get(field) != b.get(field)}
        for field in dict.fromkeys([*a, *b])
    ]


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from _leaves(inner, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list) and value:
        if len(value) > MAX_ENTRIES:
            digest = hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:8]
            yield path, f"{len(value)} entries ({digest})"
        elif any(isinstance(entry, Mapping | list) for entry in value):
            for place, entry in enumerate(value):
                yield from _leaves(entry, f"{path}.{place}")
        else:
            yield path, ", ".join(str(entry) for entry in value)
    else:
        yield path, None if value in ({}, []) else value
