"""What the store refuses."""

import errno
from pathlib import Path

_FULL = (errno.ENOSPC, errno.EDQUOT)
_SEALED = (errno.EROFS, errno.EACCES, errno.EPERM)
_DISK = (*_FULL, errno.EROFS, errno.EIO)


class StoreError(Exception):
    """The store cannot do what was asked; the message says what and why."""


class UnknownError(StoreError, KeyError):
    """No such experiment, run or table."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class FinishedError(StoreError):
    """A run that has ended is not written any more."""


class UnusableError(StoreError):
    """The store itself cannot be read or written: its disk is full, its folder sealed, its database damaged."""


def is_disk_fault(error: BaseException) -> bool:
    """Whether it is the fault of the disk that something could not be done, whoever tried to."""
    return isinstance(error, UnusableError) or (isinstance(error, OSError) and error.errno in _DISK)


def unusable(home: Path, error: OSError) -> UnusableError:
    """What the operating system says of a file of the store in `home`, as a sentence with a way out."""
    reason = error.strerror or str(error)
    if error.errno in _FULL:
        return full(home)
    if error.errno in _SEALED:
        return sealed(home, f"{error.filename}: {reason}" if error.filename else reason)
    named = f"{error.filename}: " if error.filename else ""
    return UnusableError(f"the store in {home} cannot be used ({named}{reason}); {_ELSEWHERE}")


def full(home: Path) -> UnusableError:
    """There is no room on the disk of the store."""
    return UnusableError(f"the disk of the store in {home} is full; make room on it, or {_ELSEWHERE}")


def sealed(home: Path, reason: str) -> UnusableError:
    """The store may not be written."""
    return UnusableError(f"the store in {home} cannot be written ({reason}); make it writable, or {_ELSEWHERE}")


_ELSEWHERE = "name another folder with --home or PODSHIFT_HOME"
