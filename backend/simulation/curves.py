"""Learning curves: what a job's evaluation value is after a part of its training.

All take x, the part of the job's iterations that is done (0 to 1, shape (n,)), and give values of that shape.
"""

import csv
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Discriminator, Field, model_validator

from backend.model.fields import Parameters

Floats = NDArray[np.float64]
Number = Annotated[float, Field(allow_inf_nan=False)]
MAX_POINTS = 10_000
"""Points of a recorded curve; no chart shows more."""
MAX_FILE_BYTES = 2**20
"""A file of MAX_POINTS with some columns beside them fits."""
PositiveNumber = Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)]


class CurveBase(Parameters):
    """What all curves have: the value before training and the one it tends to. Loss falls, accuracy rises."""

    start: Number = Field(2.3, description="value before training")
    end: Number = Field(0.1, description="value that the curve tends to")

    def fall(self, x: Floats) -> Floats:
        """Part of the way from end back to start that is left at x: 1 at the beginning."""
        raise NotImplementedError

    def values(self, x: Floats) -> Floats:
        """Values after the parts x of the training."""
        return self.end + (self.start - self.end) * self.fall(x)

    @property
    def span(self) -> float:
        """Distance from the first value to the last: what noise is relative to."""
        return abs(self.start - self.end)


class Exponential(CurveBase):
    """exp(-rate x): fast at first, then ever slower."""

    kind: Literal["exponential"] = "exponential"
    rate: PositiveNumber = Field(5.0, description="e-foldings over the whole training")

    def fall(self, x: Floats) -> Floats:
        """See CurveBase."""
        left: Floats = np.exp(-self.rate * x)
        return left


class PowerLaw(CurveBase):
    """(1 + scale x) ** -exponent: a long tail."""

    kind: Literal["power-law"] = "power-law"
    scale: PositiveNumber = Field(30.0, description="how early the bend is")
    exponent: PositiveNumber = Field(0.8, description="how steep the tail is")

    def fall(self, x: Floats) -> Floats:
        """See CurveBase."""
        return (1.0 + self.scale * x) ** -self.exponent


class Sigmoid(CurveBase):
    """Slow, then fast around `midpoint`, then slow; scaled so that it begins at 1."""

    kind: Literal["sigmoid"] = "sigmoid"
    midpoint: Annotated[float, Field(ge=0, le=1)] = Field(0.3, description="part of the training at the steepest place")
    steepness: PositiveNumber = Field(12.0, description="slope there")

    def fall(self, x: Floats) -> Floats:
        """See CurveBase."""
        first = 1.0 + float(np.exp(-self.steepness * self.midpoint))
        left: Floats = first / (1.0 + np.exp(self.steepness * (x - self.midpoint)))
        return left


class Plateau(CurveBase):
    """Falls to a plateau in each stretch; each learning-rate drop opens the next, lower one."""

    kind: Literal["plateau"] = "plateau"
    drops: tuple[Annotated[float, Field(gt=0, lt=1)], ...] = Field((0.5, 0.75), description="where the rate drops")
    levels: tuple[Annotated[float, Field(ge=0, le=1)], ...] = Field(
        (0.35, 0.12, 0.05), description="part of the way left on each plateau, one more than drops"
    )
    rate: PositiveNumber = Field(25.0, description="e-foldings per training at the beginning of each stretch")

    @model_validator(mode="after")
    def _levels_follow_drops(self) -> "Plateau":
        if len(self.levels) != len(self.drops) + 1:
            raise ValueError(f"needs one level more than drops: {len(self.drops)} drops, {len(self.levels)} levels")
        if list(self.drops) != sorted(set(self.drops)) or list(self.levels) != sorted(self.levels, reverse=True):
            raise ValueError("drops must rise and levels must fall")
        return self

    def fall(self, x: Floats) -> Floats:
        """See CurveBase."""
        left = np.empty_like(x)
        begin, level = 0.0, 1.0
        edges = [*self.drops, np.inf]
        for edge, plateau in zip(edges, self.levels, strict=True):
            inside = (x >= begin) & (x < edge)
            left[inside] = plateau + (level - plateau) * np.exp(-self.rate * (x[inside] - begin))
            level = plateau + (level - plateau) * float(np.exp(-self.rate * (min(edge, 1.0) - begin)))
            begin = edge
        return left


class Recorded(Parameters):
    """A recorded curve, straight lines between its points: from a CSV file with the columns progress and metric, or
    spelled out."""

    kind: Literal["recorded"] = "recorded"
    file: str | None = Field(None, description="path of the CSV file")
    points: Annotated[tuple[tuple[Number, Number], ...], Field(min_length=2, max_length=MAX_POINTS)] | None = Field(
        None, description="progress and metric of each point, progress rising"
    )

    @model_validator(mode="after")
    def _readable(self) -> "Recorded":
        if (self.file is None) == (self.points is None):
            raise ValueError("needs either file or points")
        self._curve()
        return self

    def _curve(self) -> tuple[Floats, Floats]:
        if self.file is not None:
            return read_recorded(self.file)
        return _scaled(tuple(self.points or ()), "the points")

    def values(self, x: Floats) -> Floats:
        """Values after the parts x of the training."""
        progress, metric = self._curve()
        return np.interp(x, progress, metric)

    @property
    def span(self) -> float:
        """Distance from the least value to the greatest."""
        _, metric = self._curve()
        return float(metric.max() - metric.min())


@lru_cache(maxsize=64)
def read_recorded(file: str) -> tuple[Floats, Floats]:
    """Progress (scaled to end at 1) and metric of a curve in a file. Raises ValueError naming file and line."""
    return _scaled(read_points(file), file)


def read_points(file: str) -> tuple[tuple[float, float], ...]:
    """Progress and metric of each point in a CSV file. Raises ValueError naming file and line."""
    points: list[tuple[float, float]] = []
    try:
        path = Path(file)
        if not path.is_file():
            raise ValueError(f"{file} is no file")
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ValueError(f"{file} is larger than {MAX_FILE_BYTES // 2**20} MiB")
        with path.open(newline="", encoding="utf-8-sig") as stream:
            rows = csv.DictReader(stream)
            if rows.fieldnames is None or not {"progress", "metric"} <= set(rows.fieldnames):
                raise ValueError(f"{file} must have the columns progress and metric")
            for row in rows:
                try:
                    points.append((float(row["progress"]), float(row["metric"])))
                except (TypeError, ValueError):
                    raise ValueError(f"{file} line {rows.line_num}: progress and metric must be numbers") from None
                if len(points) > MAX_POINTS:
                    raise ValueError(f"{file} has more than {MAX_POINTS:,} points")
    except (OSError, csv.Error, UnicodeDecodeError) as error:
        raise ValueError(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    return tuple(points)


@lru_cache(maxsize=64)
def _scaled(points: tuple[tuple[float, float], ...], where: str) -> tuple[Floats, Floats]:
    for place, (progress, metric) in enumerate(points):
        if not (np.isfinite(progress) and np.isfinite(metric)):
            raise ValueError(f"{where}: progress and metric of point {place + 1} must be finite")
        if place and progress <= points[place - 1][0]:
            raise ValueError(f"{where}: progress must rise, and does not at point {place + 1}")
    if len(points) < 2 or points[-1][0] <= 0:
        raise ValueError(f"{where} must have at least two points and end beyond progress 0")
    progress_and_metric = np.array(points)
    return progress_and_metric[:, 0] / points[-1][0], progress_and_metric[:, 1]


Curve = Annotated[Exponential | PowerLaw | Sigmoid | Plateau | Recorded, Discriminator("kind")]
