"""Podshift from Python: stored runs as data frames, and what a scheduler or migration policy of one's own builds on.

    import podshift

    run = podshift.load_run("seven-jobs-7k3f.migrated.s1")
    run.table("migrations")      # a pandas data frame
    run.summary["makespan_s"]

Everything here is defined in `backend` and loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from backend.experiments.results import Run as Run
    from backend.experiments.results import load_run as load_run
    from backend.experiments.results import runs as runs
    from backend.migration.policy import MigrationPolicy as MigrationPolicy
    from backend.model.fields import Parameters as Parameters
    from backend.scheduling.filters import Filter as Filter
    from backend.scheduling.policy import Scheduler as Scheduler
    from backend.scheduling.scores import Score as Score

_HOMES = {
    "Filter": "backend.scheduling.filters",
    "MigrationPolicy": "backend.migration.policy",
    "Parameters": "backend.model.fields",
    "Run": "backend.experiments.results",
    "Scheduler": "backend.scheduling.policy",
    "Score": "backend.scheduling.scores",
    "load_run": "backend.experiments.results",
    "runs": "backend.experiments.results",
}
"""Name -> the module that defines it."""

__all__ = ["Filter", "MigrationPolicy", "Parameters", "Run", "Scheduler", "Score", "load_run", "runs"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"podshift has no {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
