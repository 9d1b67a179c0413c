"""SIGTERM and Ctrl-C: the first asks a training to end with a checkpoint, the second ends it at once."""

import os
import signal
import time
from types import FrameType
from typing import Any

_LOOK_S = 0.1
"""A wait looks so often whether it shall end; a signal alone does not end a sleep."""


class Stop:
    """Whether a signal has come. For the main thread only; in its `with` block signals are taken."""

    def __init__(self) -> None:
        self.code = 0
        """The exit code that tells of the signal, 128 and its number: 143 for SIGTERM. 0 while none has come."""
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "Stop":
        """Take the signals."""
        self._before = {number: signal.signal(number, self._note) for number in (signal.SIGTERM, signal.SIGINT)}
        return self

    def __exit__(self, *error: object) -> None:
        """Leave them to whoever had them before."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def wait_until(self, at_s: float) -> None:
        """Until that time of `time.monotonic`, or a signal."""
        while not self.code and (left := at_s - time.monotonic()) > 0:
            time.sleep(min(left, _LOOK_S))

    def _note(self, number: int, _frame: FrameType | None) -> None:
        if self.code:
            os._exit(128 + number)  # the first process of a container is not ended by its signals otherwise
        self.code = 128 + number
