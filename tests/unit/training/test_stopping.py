"""What signals do, in a process of their own."""

import os
import signal
import subprocess
import sys

import pytest

from backend.training.stopping import Stop

SENDS_TWO = """
import os, signal
from backend.training.stopping import Stop
with Stop() as stop:
    os.kill(os.getpid(), signal.SIGTERM)
    print(stop.code, flush=True)
    os.kill(os.getpid(), signal.SIGTERM)
    print("still here", flush=True)
"""


def test_the_second_signal_ends_the_process_at_once() -> None:
    run = subprocess.run([sys.executable, "-c", SENDS_TWO], capture_output=True, text=True, check=False)
    assert (run.stdout, run.returncode) == ("143\n", 143)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_the_first_is_only_noted(number: signal.Signals, code: int) -> None:
    with Stop() as stop:
        os.kill(os.getpid(), number)
        assert stop.code == code


def test_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with Stop():
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before
