"""What tests of running things share: an experiment to run and waiting for a condition."""

import time
from collections.abc import Callable
from typing import Any

from tests.data.broken_specifications import GOOD

PATIENCE_S = 60.0
"""How long a condition may take on a slow machine."""


def wait_until(condition: Callable[[], Any]) -> Any:
    """The first true value that the condition gives."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"this did not come true within {PATIENCE_S:.0f} s")


def specification(name: str, *, speed: float | None = None, seeds: str = "[1]") -> str:
    """Seven jobs, two arms; `speed` makes it last."""
    text = GOOD.replace("name: broken", f"name: {name}").replace("seeds: [1]", f"seeds: {seeds}")
    return text + (f"speed: {speed}\n" if speed else "")
