"""Bad input ends a command with exit code 2 and one clear sentence, never a traceback."""

import contextlib
from collections.abc import Iterator
from typing import NoReturn

import click

BAD_INPUT = 2
NOT_DONE = 1
STOPPED = 130
"""What a shell reports for a command ended by Ctrl-C (128 + SIGINT)."""


class _BadInputError(click.ClickException):
    exit_code = BAD_INPUT


class _NotDoneError(click.ClickException):
    exit_code = NOT_DONE


def refuse(sentence: str) -> NoReturn:
    """End the command: the input is not usable."""
    raise _BadInputError(sentence)


def give_up(sentence: str) -> NoReturn:
    """End the command: the input is fine, but it could not be done."""
    raise _NotDoneError(sentence)


@contextlib.contextmanager
def file_errors() -> Iterator[None]:
    """Turn what the operating system says about a file into a sentence."""
    try:
        yield
    except OSError as error:
        named = f"{error.filename}: " if error.filename else ""
        refuse(f"{named}{error.strerror or error}.")
