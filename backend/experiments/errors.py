"""What is wrong with a specification: one FieldError for each fault, all of them in one SpecificationError."""

import difflib
import reprlib
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from backend.experiments.limits import MAX_ERRORS, MAX_QUOTED, MAX_RESEMBLING

_repr = reprlib.Repr()
_repr.maxstring = _repr.maxother = MAX_QUOTED
_repr.maxlong = 30
_repr.maxlevel = 2


def shorten(value: Any) -> str:
    """A value as text of at most MAX_QUOTED characters, however large it is."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = _repr.repr(value)
    return text if len(text) <= MAX_QUOTED else text[: MAX_QUOTED - 3] + "..."


def closest(name: object, known: Collection[str], before: int = 0) -> str:
    """ "; did you mean 'interval'?" if a known name resembles this one, else nothing.

    Nothing as well among more than MAX_RESEMBLING names, and where `before` faults precede this one: comparing
    names is slow, and what lies behind the first MAX_ERRORS faults is not shown.
    """
    if before >= MAX_ERRORS or len(known) > MAX_RESEMBLING:
        return ""
    match = difflib.get_close_matches(str(name)[:100], known, n=1, cutoff=0.6)
    return f"; did you mean '{match[0]}'?" if match else ""


@dataclass(frozen=True)
class FieldError:
    """One fault: where it is, what stands there, what is wrong with it and what would be right."""

    field: str
    """Dotted path such as "arms.1.migration.alpha"; empty for the document as a whole."""
    value: str
    """What stands there, shortened."""
    message: str
    allowed: str = ""

    def __str__(self) -> str:
        where = self.field or "specification"
        allowed = f" (allowed: {self.allowed})" if self.allowed else ""
        given = f" [is {self.value}]" if self.value else ""
        return f"{where}: {self.message}{given}{allowed}"

    def as_dict(self) -> dict[str, str]:
        """As the API gives it."""
        return asdict(self)


class SpecificationError(ValueError):
    """A specification that cannot be taken; `errors` holds every fault found, in the order of the document."""

    def __init__(self, errors: Sequence[FieldError], unexplained: int = 0) -> None:
        self.errors = list(errors[:MAX_ERRORS])
        self.more = len(errors) - len(self.errors) + unexplained
        """Faults found beyond the MAX_ERRORS kept."""
        super().__init__(str(self))

    def __str__(self) -> str:
        lines = [str(error) for error in self.errors]
        if self.more > 0:
            lines.append(f"and {self.more} more")
        return "\n".join(lines)


class UnreachableError(Exception):
    """The cluster that a run was to take place on cannot be reached or started; says which, and why."""


def document_error(message: str, value: str = "", allowed: str = "") -> SpecificationError:
    """A fault of the document as a whole."""
    return SpecificationError([FieldError("", value, message, allowed)])
