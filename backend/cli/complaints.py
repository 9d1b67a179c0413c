"""Bad input ends a command with exit code 2 and one clear sentence, never a traceback; what could not be done, with 1."""

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from typing import Any, NoReturn

import click

from backend.store.errors import UnusableError

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
        if output_fault() is not None:
            raise  # `Commands` has a sentence for it
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            give_up(about(error))
        refuse(about(error))


def about(error: OSError) -> str:
    """What the operating system says, with the file that it is about if it says so."""
    named = f"{error.filename}: " if error.filename else ""
    return f"{named}{error.strerror or error}."


def output_fault() -> OSError | None:
    """Why what was printed cannot be written, if it cannot: it stays in the buffer, and so does not go away again."""
    try:
        sys.stdout.flush()
    except OSError as error:
        return error
    return None


class Commands(click.Group):
    """A group whose commands end with a sentence where the store or the output cannot be used, never a traceback."""

    def main(self, *args: Any, **options: Any) -> Any:
        """As click has it."""
        try:
            return super().main(*args, **options)
        except UnusableError as error:
            _end(f"{error}.")
        except OSError as error:
            if output_fault() is None:
                _end(about(error))
            _end(f"what was printed could not be written: {error.strerror or error}; see to where stdout leads.")


def _end(sentence: str) -> NoReturn:
    with contextlib.suppress(OSError):
        click.echo(f"Error: {sentence}", err=True)
    # Python flushes once more at its end and would complain again.
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(NOT_DONE)
