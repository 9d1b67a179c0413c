"""Filters and scores by name, through the entry points `podshift.filters` and `podshift.scores`.

A package of anybody adds one: a class with an optional pydantic model `Options` of what may be set. A filter is made
as `Filter(options)`, a score as `Score(options, max_priority)`.
"""

import inspect
from typing import Any

from pydantic import BaseModel

from backend.model.plugins import Plugins
from backend.scheduling import filters, scores

FILTERS = Plugins("podshift.filters", "filter")
SCORES = Plugins("podshift.scores", "score")


def make_filter(name: str, options: dict[str, Any]) -> Any:
    """A filter by name. Raises ValueError for an unknown name, ValidationError for options that cannot be."""
    found = FILTERS.load(name)
    return found(_options(found, name, options))


def make_score(name: str, options: dict[str, Any], max_priority: int) -> Any:
    """A score by name. Raises ValueError for an unknown name, ValidationError for options that cannot be."""
    found = SCORES.load(name)
    return found(_options(found, name, options), max_priority)


def _options(plugin: Any, name: str, options: dict[str, Any]) -> BaseModel | None:
    model = getattr(plugin, "Options", None)
    if model is None:
        if options:
            raise ValueError(f"{name} has nothing to set, and {', '.join(options)} is given")
        return None
    made: BaseModel = model.model_validate(options)
    return made


def describe() -> dict[str, str]:
    """What each filter and score does, by the name that decisions have: the first paragraph of its documentation."""
    known: list[Any] = [
        one
        for module in (filters, scores)
        for one in vars(module).values()
        if inspect.isclass(one) and one.__module__ == module.__name__
    ]
    for group in (FILTERS, SCORES):
        for name in group.names():
            try:
                known.append(group.load(name))
            except (ImportError, AttributeError):  # a package of somebody that is not whole describes nothing
                continue
    described: dict[str, str] = {}
    for one in known:
        if not isinstance(getattr(one, "name", None), str):
            continue  # nothing that a decision could name
        text = inspect.getdoc(one) or ""
        described.setdefault(one.name, " ".join(text.split("\n\n")[0].split()))
    return described
