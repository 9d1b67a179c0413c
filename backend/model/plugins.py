"""Policies by name, through entry points: a package of anybody adds one without touching ours."""

import difflib
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Any


class Plugins:
    """The entry points of one group; `name = "package.module:Class"` in a package's pyproject.toml adds one."""

    def __init__(self, group: str, sort: str) -> None:
        """`sort` is what a person calls one of them, for messages."""
        self.group = group
        self._sort = sort

    def names(self) -> list[str]:
        """Names that are installed, sorted."""
        return sorted(self._installed)

    def load(self, name: str) -> Any:
        """The class of that name. Raises ValueError, with the names there are, for an unknown one."""
        found = self._installed.get(name)
        if found is None:
            close = difflib.get_close_matches(name, self.names(), n=1)
            hint = f"; did you mean '{close[0]}'?" if close else ""
            raise ValueError(f"there is no {self._sort} '{name[:60]}'{hint} (known: {', '.join(self.names())})")
        return found.load()

    @cached_property  # Reading what is installed takes milliseconds and does not change within a process.
    def _installed(self) -> dict[str, EntryPoint]:
        return {entry.name: entry for entry in entry_points(group=self.group)}
