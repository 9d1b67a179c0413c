"""Waiting for a condition, never for a time."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE_S = 20.0


def until(condition: Callable[[], T], what: str, patience_s: float = PATIENCE_S) -> T:
    """The first true value of a condition; a failure that says what never happened."""
    end = time.monotonic() + patience_s
    pause = threading.Event()
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"not within {patience_s} s: {what}"
        pause.wait(0.01)
