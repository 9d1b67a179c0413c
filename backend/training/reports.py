"""What a training says of its progress, in the two forms that Podshift reads: lines of a log, rows of a CSV file."""

import os
import time
from collections.abc import Callable
from pathlib import Path

COLUMNS = "cpu,total_iteration,num_iteration,epoch_time,loss"
"""As ProCon's jobs write them: CPU in percent of one core, steps in all and done, seconds the last step took."""


class CsvError(Exception):
    """The file is something else."""


class CsvFile:
    """Rows at the end of a file. What a stopped training wrote stays, but for a line that was cut short."""

    def __init__(self, path: Path) -> None:
        """Raises OSError, and CsvError if the file begins with other columns."""
        self._path = path
        if not path.parent.exists():
            path.parent.mkdir(parents=True)
        self._handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        content = path.read_bytes() if path.is_file() else b""
        whole = content[: content.rfind(b"\n") + 1]
        if whole and whole.splitlines()[0].decode(errors="replace") != COLUMNS:
            raise CsvError(f"{path} exists and does not begin with {COLUMNS}")
        if len(whole) < len(content):
            os.ftruncate(self._handle, len(whole))
        if not whole:
            self._append(COLUMNS)

    def add(self, cpu_millis: float, total: int, step: int, step_s: float, loss: float) -> None:
        """A row. Raises OSError."""
        self._append(f"{cpu_millis / 10:.6g},{total},{step},{step_s:.6g},{loss:.6g}")

    def _append(self, line: str) -> None:
        data = f"{line}\n".encode()  # in one piece, so that a reader sees no half lines
        try:
            while data:
                data = data[os.write(self._handle, data) :]
        except OSError as error:
            error.filename = str(self._path)
            raise


class Reports:
    """Tells of the steps that were done since it told last."""

    def __init__(self, total: int, say: Callable[[str], None], csv: CsvFile | None = None) -> None:
        """`total` is the number of steps; `say` takes lines without their line feed."""
        self._total = total
        self._say = say
        self._csv = csv
        self._step = 0
        self._wall_s = self._cpu_s = 0.0

    def begin(self, step: int) -> None:
        """Time counts from here, at so many steps done."""
        self._step, self._wall_s, self._cpu_s = step, time.monotonic(), time.process_time()

    def tell(self, step: int, loss: float, quality: tuple[str, float], kept: int) -> None:
        """After `step` steps, of which a checkpoint holds `kept` (0: there is none)."""
        step_s, cpu_millis = 0.0, 0.0
        done, wall_s = step - self._step, time.monotonic() - self._wall_s
        if done > 0 and wall_s > 0:
            step_s, cpu_millis = wall_s / done, 1000 * (time.process_time() - self._cpu_s) / wall_s
        times = f"cpu_millis={cpu_millis:.6g} iteration_s={step_s:.6g} checkpoint={kept}"
        self._say(f"{line(step, self._total, loss, quality)} {times}")
        if self._csv is not None:
            self._csv.add(cpu_millis, self._total, step, step_s, loss)
        self.begin(step)


def line(step: int, total: int, loss: float, quality: tuple[str, float]) -> str:
    """The part of a progress line that is the same however often the training was stopped."""
    name, value = quality
    return f"podshift progress step={step} total={total} loss={loss:.6g} {name}={value:.6g}"
