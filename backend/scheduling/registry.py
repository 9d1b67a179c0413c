"""Schedulers by name, through the entry points `podshift.schedulers`."""

import difflib
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from backend.scheduling.policy import Scheduler

GROUP = "podshift.schedulers"
"""Entry point group; `name = "package.module:Class"` in a package's pyproject.toml adds a scheduler."""


def names() -> list[str]:
    """Names of the schedulers that are installed, sorted."""
    return sorted(_installed())


def load(name: str) -> type[Scheduler]:
    """The class of the scheduler of that name. Raises ValueError, with the names there are, for an unknown one."""
    found = _installed().get(name)
    if found is None:
        close = difflib.get_close_matches(name, names(), n=1)
        hint = f"; did you mean '{close[0]}'?" if close else ""
        raise ValueError(f"there is no scheduler '{name[:60]}'{hint} (known: {', '.join(names())})")
    scheduler: type[Scheduler] = found.load()
    return scheduler


@cache  # Reading what is installed takes milliseconds and does not change within a process.
def _installed() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}
