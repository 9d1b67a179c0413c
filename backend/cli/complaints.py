"""Bad input ends a command with exit code 2 and one clear sentence, never a traceback; what cannot be done, with 1."""

import contextlib
import errno
import os
import sys
import traceback
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
        if is_of_output(error):
            raise  # `Commands` has a sentence for it
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            give_up(about(error))
        refuse(about(error))


def about(error: OSError) -> str:
    """What the operating system says, with the file that it is about if it says so."""
    named = f"{error.filename}: " if error.filename else ""
    return f"{named}{error.strerror or error}."


def is_of_output(error: OSError) -> bool:
    """Whether it came from printing: such an error names no file, and the stream may not show it a second time."""
    frames = (frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__))
    return any(code.co_name == "echo" and code.co_filename == click.utils.__file__ for code in frames)


class Commands(click.Group):
    """A group whose commands end with a sentence where the store or the output cannot be used, never a traceback."""

    def main(self, *args: Any, **options: Any) -> Any:
        """As click has it."""
        try:
            return super().main(*args, **options)
        except UnusableError as error:
            _end(f"{error}.")
        except OSError as error:
            if not is_of_output(error):
                _end(about(error))
            _end(f"what was printed could not be written: {error.strerror or error}; see to where stdout leads.")


def _end(sentence: str) -> NoReturn:
    with contextlib.suppress(OSError):
        click.echo(f"Error: {sentence}", err=True)
    # Python flushes once more at its end and would complain again.
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(NOT_DONE)
