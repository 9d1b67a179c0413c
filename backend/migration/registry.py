"""Migration policies by name, through the entry points `podshift.migrations`."""

from backend.migration.policy import MigrationPolicy
from backend.model.plugins import Plugins

_plugins = Plugins("podshift.migrations", "migration policy")


def names() -> list[str]:
    """Names of those that are installed, sorted."""
    return _plugins.names()


def load(name: str) -> type[MigrationPolicy]:
    """The class of that name. Raises ValueError, with the names there are, for an unknown one."""
    found: type[MigrationPolicy] = _plugins.load(name)
    return found
