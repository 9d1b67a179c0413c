"""Where the store is: the option --home, PODSHIFT_HOME, or the user's data folder."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from backend.cli import complaints

if TYPE_CHECKING:
    from backend.store.store import Store

_Command = TypeVar("_Command", bound=Callable[..., Any])


def default_home() -> str:
    """PODSHIFT_HOME, or the user's data folder as the operating system has it."""
    import platformdirs

    return os.environ.get("PODSHIFT_HOME") or platformdirs.user_data_dir("podshift", appauthor=False)


def home_option(command: _Command) -> _Command:
    """The option that every command with a store has; gives the parameter `home`."""
    option = click.option(
        "--home",
        type=click.Path(file_okay=False),
        default=default_home,
        help="Folder of the store.  [default: PODSHIFT_HOME, or the user's data folder]",
    )
    return option(command)


def open_store(home: str) -> "Store":
    """The store in that folder, made if it is not there; ends the command if it cannot be opened."""
    from backend.store.store import Store

    try:
        return Store(Path(home))
    except OSError as error:
        complaints.refuse(f"the store in {home} cannot be opened: {error.strerror or error}.")
