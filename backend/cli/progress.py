"""The progress line of running experiments, on stderr so that stdout holds results only."""

import sys
import time
from collections.abc import Sequence

import click

from backend.cli.tables import duration

LINE_S = 10.0
"""Seconds between two lines where there is no terminal to write one line over and over."""
_ENDED = ("finished", "stopped", "failed", "interrupted")


class ProgressLine:
    """Writes how far the runs are and how long they may still take."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._began = time.monotonic()
        self._next = self._began + (0.0 if self._terminal else LINE_S)
        self._width = 0

    def show(self, runs: Sequence[tuple[str, float]]) -> None:
        """`runs` holds status and done fraction (0 to 1) of each run."""
        now = time.monotonic()
        if now < self._next or not runs:
            return
        self._next = now + (0.0 if self._terminal else LINE_S)
        done = sum(1.0 if status in _ENDED else fraction for status, fraction in runs) / len(runs)
        ended = sum(status in _ENDED for status, _ in runs)
        text = f"{ended} of {len(runs)} runs ended, {done:.0%} done"
        if 0 < done < 1:
            text += f", about {duration((now - self._began) * (1 - done) / done)} left"
        if self._terminal:
            click.echo("\r" + text.ljust(self._width), nl=False, err=True)
            self._width = len(text)
        else:
            click.echo(text, err=True)

    def clear(self) -> None:
        """Take the line away."""
        if self._terminal and self._width:
            click.echo("\r" + " " * self._width + "\r", nl=False, err=True)
            self._width = 0
