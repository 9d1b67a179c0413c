"""`podshift train` as a process, as it runs in a pod."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Start = Callable[..., "subprocess.Popen[str]"]
Train = Callable[..., "subprocess.CompletedProcess[str]"]

SMALL = ("--samples", "200", "--features", "4", "--hidden", "16,8")


def _command(arguments: tuple[str | Path, ...]) -> list[str]:
    return [sys.executable, "-m", "backend.cli", "train", *SMALL, *map(str, arguments)]


@pytest.fixture
def train() -> Train:
    """train("--steps", 3) runs a training to its end; `env` are more variables."""

    def call(*arguments: str | Path, env: dict[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
        environment = os.environ | (env or {})
        return subprocess.run(_command(arguments), env=environment, capture_output=True, text=True, check=False)

    return call


@pytest.fixture
def start() -> Iterator[Start]:
    """start("--steps", 3) starts a training; what is left of it at the end is killed.

    Its pipe is small: it can be some 200 lines ahead of the reader, and no more.
    """
    started: list[subprocess.Popen[str]] = []

    def call(*arguments: str | Path) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            _command(arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, pipesize=4096
        )
        started.append(process)
        return process

    yield call
    for process in started:
        process.kill()
        process.communicate()
