"""The score of a learning curve: how fast the evaluation value still moves (specon-procon.md sections 1.3, 4.1, 4.3).

A meter takes samples as they come and gives one score a window. It keeps sums, not samples: a sample and a score cost
well under a microsecond each, whatever the length of the run.
"""

from typing import Literal

Mode = Literal["relative", "raw", "per_interval", "flowcon", "growth"]

EPOCHS_A_WINDOW = 2.0
"""A window spans at least this many epochs (section 4.3): the mean of fewer is one noisy value, or none."""


class ProgressMeter:
    """Samples of one job in; scores out.

    With E_m the mean of the samples in the window that ends at t_m (section 1.3), and t in seconds, the modes are
    - raw: P = |E_m - E_(m-1)| / (t_m - t_(m-1)), per second
    - per_interval: P times the interval
    - relative: P / max P of the job so far, from 0 to 1 (0 while P never was more than 0)
    - flowcon: as raw, of e = E / max E of the job's whole life so far
    - growth: flowcon / R, R the mean share of the node's CPU that the job used in the window
    Direction plays no part: a metric that rises gives what the same metric turned upside down would give, but for
    flowcon and growth, which divide by the largest |E| as FlowCon's own code does.
    """

    __slots__ = (
        "_adjacent",
        "_cpu_samples",
        "_cpu_total",
        "_ended_at",
        "_mean",
        "_samples",
        "_ticks",
        "_total",
        "epoch_s",
        "interval",
        "mode",
        "peak_rate",
        "peak_value",
        "silent",
    )

    def __init__(self, mode: Mode, interval: float) -> None:
        self.mode = mode
        self.interval = interval
        self.peak_rate = 0.0
        """Largest P so far."""
        self.peak_value = 0.0
        """Largest |E| so far."""
        self.silent = 0
        """Windows without a sample since the last sample."""
        self.restart()

    def restart(self) -> None:
        """Begin anew with a new incarnation: peaks are kept, windows are not, so that no score spans a downtime."""
        self.epoch_s = 0.0
        self._total = self._cpu_total = 0.0
        self._samples = self._cpu_samples = self._ticks = 0
        self._mean: float | None = None
        self._ended_at = 0.0
        self._adjacent = False

    def add(self, value: float | None, cpu_millis: float, epoch_s: float) -> None:
        """Take a sample: evaluation value, CPU in use, seconds of the last epoch. No finite number: dropped."""
        if value is not None and value - value == 0.0:  # infinities and NaN give NaN
            self._total += value
            self._samples += 1
            size = value if value >= 0.0 else -value
            if size > self.peak_value:  # noqa: PLR1730 - max() costs twice as much, once a sample
                self.peak_value = size
        if cpu_millis - cpu_millis == 0.0:
            self._cpu_total += cpu_millis
            self._cpu_samples += 1
        if epoch_s - epoch_s == 0.0:
            self.epoch_s = epoch_s

    def tick(self, time: float, capacity_millis: int) -> float | None:
        """An interval has ended at `time`: the score, or None where there is none.

        There is none while the window is still being widened, in the first window, in a window without samples and,
        in the modes flowcon and growth, after one (FlowCon's first version: unknown, not zero). `capacity_millis` is
        the CPU of the node.
        """
        self._ticks += 1
        if self._ticks * self.interval < EPOCHS_A_WINDOW * self.epoch_s:
            return None
        self._ticks = 0
        samples = self._samples
        if not samples:
            self.silent += 1
            self._adjacent = False
            self._cpu_total, self._cpu_samples = 0.0, 0
            return None
        mean, before = self._total / samples, self._mean
        score = None
        if before is not None and time > self._ended_at:
            rate = abs(mean - before) / (time - self._ended_at)
            if rate - rate == 0.0:  # values near the largest float may overflow
                score = self._score(rate, capacity_millis)
        self._mean, self._ended_at, self._adjacent, self.silent = mean, time, True, 0
        self._total = self._cpu_total = 0.0
        self._samples = self._cpu_samples = 0
        return score

    def _score(self, rate: float, capacity_millis: int) -> float | None:
        self.peak_rate = max(self.peak_rate, rate)
        mode = self.mode
        if mode == "relative":
            return rate / self.peak_rate if self.peak_rate else 0.0
        if mode == "raw":
            return rate
        if mode == "per_interval":
            return rate * self.interval
        if not self._adjacent:
            return None
        normal = rate / self.peak_value if self.peak_value else 0.0
        if mode == "flowcon":
            return normal
        if not self._cpu_total or not capacity_millis:
            return None
        return normal / (self._cpu_total / self._cpu_samples / capacity_millis)
