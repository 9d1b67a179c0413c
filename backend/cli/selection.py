"""Runs as a person names them on the command line."""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from backend.cli import complaints

if TYPE_CHECKING:
    from backend.store.store import Store

NAMED = "a run id, several with commas, EXPERIMENT:ARM for all runs of an arm, or EXPERIMENT for all its runs"


@contextlib.contextmanager
def store_errors() -> Iterator[None]:
    """Turn what the store says into a sentence: what is not there is bad input, a store that is broken is none."""
    from backend.store.errors import StoreError, UnusableError

    try:
        yield
    except UnusableError as error:
        complaints.give_up(f"{error}.")
    except StoreError as error:
        complaints.refuse(f"{error}.")


def select_runs(store: "Store", text: str) -> list[str]:
    """Ids of the runs that a text names (see NAMED). Ends the command if it names none."""
    found: list[str] = []
    for part in (part.strip() for part in text.split(",")):
        if part:
            found += _one(store, part)
    if not found:
        complaints.refuse(f"{text!r} names no run; give {NAMED}.")
    return list(dict.fromkeys(found))


def _one(store: "Store", name: str) -> list[str]:
    from backend.store.errors import UnknownError

    experiment, colon, arm = name.partition(":")
    if not colon:
        with contextlib.suppress(UnknownError):
            return [store.run(name).id]
    runs = store.runs(_experiment(store, experiment))[0]
    if not colon:
        return [run.id for run in runs]
    chosen = [run.id for run in runs if run.arm == arm]
    if not chosen:
        arms = ", ".join(dict.fromkeys(run.arm for run in runs))
        complaints.refuse(f"{experiment} has no runs of the arm {arm!r}; its arms are {arms}.")
    return chosen


def _experiment(store: "Store", name: str) -> str:
    """The experiment of that id, or the newest one of that name."""
    from backend.store.errors import UnknownError

    with contextlib.suppress(UnknownError):
        return store.experiment(name).id
    rows, _ = store.experiments(name, limit=1_000)
    newest = next((row.id for row in rows if row.name == name), None)
    if newest is None:
        complaints.refuse(f"there is no run and no experiment {name[:80]!r}; podshift runs lists what there is.")
    return newest
