"""When the jobs of a workload arrive: a list, every n seconds, uniform in a window, Poisson, or a file.

What is random comes from the stream "arrivals" of the run's seed, so that all arms of one seed see the same arrivals.
"""

import csv
import math
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationInfo, model_validator

from backend.experiments.errors import shorten
from backend.experiments.explain import fault, raise_faults
from backend.experiments.limits import MAX_JOBS, MAX_SIMULATED_S
from backend.experiments.nodes import Moment, not_bool
from backend.model.fields import Parameters
from backend.model.random_streams import stream

MAX_FILE_BYTES = 16 * 1024 * 1024
"""A file of MAX_JOBS times with some columns beside them fits."""
TIME_COLUMNS = ("seconds", "at", "time", "submitted_s", "submit_time", "submission", "start")
"""Headings under which a file may hold its times; without any of them the first column is taken."""
KINDS = ("at", "every", "uniform", "poisson", "file")

Number = Annotated[Moment, BeforeValidator(not_bool)]
Gap = Annotated[float, Field(gt=0, le=MAX_SIMULATED_S, allow_inf_nan=False), BeforeValidator(not_bool)]


class Poisson(Parameters):
    """Arrivals with independent, exponentially distributed gaps: give the rate or the mean gap."""

    rate: Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False), BeforeValidator(not_bool)] | None = Field(
        None, description="jobs per second on average"
    )
    mean_gap: Gap | None = Field(None, description="seconds between two jobs on average")

    @model_validator(mode="after")
    def _one_of_two(self) -> "Poisson":
        if (self.rate is None) == (self.mean_gap is None):
            raise_faults("poisson", [fault("needs either rate or mean_gap", allowed="rate: 0.05 or mean_gap: 20")])
        return self

    @property
    def gap_s(self) -> float:
        """Mean gap in seconds."""
        return self.mean_gap if self.mean_gap is not None else 1.0 / (self.rate or math.nan)


class Submissions(Parameters):
    """`workload.submissions`: exactly one of at, every, uniform, poisson and file."""

    at: Annotated[tuple[Number, ...], Field(min_length=1, max_length=MAX_JOBS)] | None = Field(
        None, description="the second at which each job arrives, in the order of the jobs"
    )
    every: Annotated[Number, Field()] | None = Field(None, description="seconds between two jobs; 0 is all at once")
    uniform: tuple[Number, Number] | None = Field(None, description="window [from, to] of uniformly random times")
    poisson: Poisson | None = Field(None, description="random arrivals with a mean rate")
    file: Annotated[str, Field(min_length=1, max_length=1000)] | None = Field(
        None, description="CSV or plain lines of seconds, beside the specification (command line only)"
    )
    start: Number | None = Field(None, description="second from which every and poisson count; 0 if left out")

    @model_validator(mode="before")
    @classmethod
    def _file_becomes_list(cls, value: Any, info: ValidationInfo) -> Any:
        """A specification holds the times themselves, so that it says the same wherever it is read again."""
        if not isinstance(value, dict) or not isinstance(value.get("file"), str):
            return value
        folder = (info.context or {}).get("folder")
        if folder is None:
            message = "a file of submissions is read from the command line only (podshift run)"
            raise_faults("submissions", [fault(message, ("file",), value["file"], "at: [...] with the times")])
            return value
        times, problem = read_times(Path(folder) / value["file"])
        if problem:
            raise_faults("submissions", [fault(problem, ("file",), value["file"], "one time in seconds a line")])
        rest = {name: inner for name, inner in value.items() if name != "file"}
        if "at" in rest:
            raise_faults("submissions", [fault("has no use beside at", ("file",), value["file"])])
        return {**rest, "at": times}

    @model_validator(mode="after")
    def _one_kind(self) -> "Submissions":
        given = [kind for kind in KINDS if getattr(self, kind) is not None]
        faults = []
        if len(given) != 1:
            message = f"has {' and '.join(given)} together" if given else "says nothing of when the jobs arrive"
            faults.append(fault(message, (), None, f"exactly one of {', '.join(KINDS)}"))
        if self.start is not None and not {"every", "poisson"} & set(given):
            faults.append(fault("is used with every and poisson only", ("start",), self.start))
        if self.uniform is not None and self.uniform[1] < self.uniform[0]:
            faults.append(fault("must not end before it begins", ("uniform",), list(self.uniform), "[from, to]"))
        raise_faults("submissions", faults)
        return self

    @property
    def fixed_count(self) -> int | None:
        """How many jobs these submissions are for, where they say so themselves."""
        return None if self.at is None else len(self.at)

    def times(self, jobs: int, seed: int) -> list[float]:
        """Seconds at which the jobs arrive, one for each, in the order of the jobs."""
        if self.at is not None:
            return list(self.at)
        start = self.start or 0.0
        if self.every is not None:
            return [start + self.every * place for place in range(jobs)]
        arrivals = stream(seed, "arrivals")
        if self.uniform is not None:
            return sorted(arrivals.uniform(*self.uniform) for _ in range(jobs))
        assert self.poisson is not None
        rate = 1.0 / self.poisson.gap_s
        times = []
        for _ in range(jobs):
            start += arrivals.expovariate(rate)
            times.append(start)
        return times


def read_times(path: Path) -> tuple[list[float], str]:
    """The times in a file, and what is wrong with it ("" if nothing).

    The file is CSV or one time a line; blank lines and lines that begin with # count for nothing; a first line that
    holds no number is a heading.
    """
    try:
        if not path.is_file():
            return [], f"there is no file {path}"
        with path.open("rb") as stream_of_bytes:
            raw = stream_of_bytes.read(MAX_FILE_BYTES + 1)
        if len(raw) > MAX_FILE_BYTES:
            return [], f"{path.name} is larger than {MAX_FILE_BYTES // 2**20} MiB"
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return [], f"{path.name} is not UTF-8 text"
    except (OSError, ValueError) as error:
        return [], f"{path.name} cannot be read: {getattr(error, 'strerror', None) or error}"
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    lines = [(number, line) for number, line in lines if not line.lstrip().startswith("#")]
    column = 0
    times: list[float] = []
    for place, (number, line) in enumerate(lines):
        cells = next(csv.reader([line]), [])
        if place == 0 and not any(_is_number(cell) for cell in cells):
            headings = [cell.strip().lower() for cell in cells]
            column = next((headings.index(name) for name in TIME_COLUMNS if name in headings), 0)
            continue
        cell = cells[column].strip() if column < len(cells) else ""
        if not _is_number(cell) or not 0 <= float(cell) <= MAX_SIMULATED_S:
            return [], f"line {number} of {path.name} holds {shorten(cell)}, which is no time in seconds from 0 on"
        times.append(float(cell))
        if len(times) > MAX_JOBS:
            return [], f"{path.name} holds more than {MAX_JOBS:,} times"
    return times, "" if times else f"{path.name} holds no times"


def _is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False
