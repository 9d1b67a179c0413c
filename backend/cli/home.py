"""Where the store is: the option --home, PODSHIFT_HOME, or the user's data folder."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from backend.cli import complaints

if TYPE_CHECKING:
    from backend.store.store import Store

_Command = TypeVar("_Command", bound=Callable[..., Any])


def _default() -> str:
    from backend.store.home import default_home

    return str(default_home())


def home_option(command: _Command) -> _Command:
    """The option that every command with a store has; gives the parameter `home`."""
    option = click.option(
        "--home",
        type=click.Path(file_okay=False),
        default=_default,
        help="Folder of the store.  [default: PODSHIFT_HOME, or the user's data folder]",
    )
    return option(command)


def open_store(home: str, *, recovered: bool = False) -> "Store":
    """The store in that folder, made if it is not there; ends the command if it cannot be opened.

    With `recovered`, runs whose process is gone are marked interrupted first.
    """
    from backend.store.errors import UnusableError
    from backend.store.store import Store

    try:
        store = Store(Path(home))
        if recovered and store.abandoned():
            from backend.experiments.runner import recover

            recover(store)
    except UnusableError as error:
        complaints.give_up(f"{error}.")
    return store
