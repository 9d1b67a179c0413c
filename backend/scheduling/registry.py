"""Schedulers by name, through the entry points `podshift.schedulers`."""

from backend.model.plugins import Plugins
from backend.scheduling.policy import Scheduler

_plugins = Plugins("podshift.schedulers", "scheduler")


def names() -> list[str]:
    """Names of those that are installed, sorted."""
    return _plugins.names()


def load(name: str) -> type[Scheduler]:
    """The class of that name. Raises ValueError, with the names there are, for an unknown one."""
    found: type[Scheduler] = _plugins.load(name)
    return found
