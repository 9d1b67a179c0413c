"""Waiting for what another thread brings about."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(condition: Callable[[], T], within: float = 20.0, what: str = "") -> T:
    """The condition's first true value; fails loudly if there is none in time."""
    until = time.monotonic() + within
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < until, f"not within {within:g} s: {what or condition}"
        time.sleep(0.01)
