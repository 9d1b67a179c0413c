"""Migration policies by name, through the entry points `podshift.migrations`."""

import difflib
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from backend.migration.policy import MigrationPolicy

GROUP = "podshift.migrations"
"""Entry point group; `name = "package.module:Class"` in a package's pyproject.toml adds a policy."""


def names() -> list[str]:
    """Names of the policies that are installed, sorted."""
    return sorted(_installed())


def load(name: str) -> type[MigrationPolicy]:
    """The class of the policy of that name. Raises ValueError, with the names there are, for an unknown one."""
    found = _installed().get(name)
    if found is None:
        close = difflib.get_close_matches(name, names(), n=1)
        hint = f"; did you mean '{close[0]}'?" if close else ""
        raise ValueError(f"there is no migration policy '{name[:60]}'{hint} (known: {', '.join(names())})")
    policy: type[MigrationPolicy] = found.load()
    return policy


@cache  # Reading what is installed takes milliseconds and does not change within a process.
def _installed() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}
