"""What the store refuses."""


class StoreError(Exception):
    """The store cannot do what was asked; the message says what and why."""


class UnknownError(StoreError, KeyError):
    """No such experiment, run or table."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class FinishedError(StoreError):
    """A run that has ended is not written any more."""
