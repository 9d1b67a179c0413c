"""What jobs say of their progress: lines such as `podshift progress step=12 total=150 loss=0.41`."""

import math
import re
from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from backend.model.events import ProgressReported

LINE = "podshift progress "
"""What begins the part of a line that counts."""
LONGEST_LINE = 4096

_FIELD = re.compile(r"([A-Za-z_][\w.-]*)=(\S+)")
STEP = ("step", "iteration", "num_iteration", "epoch")
TOTAL = ("total", "total_iteration", "total_iterations", "epochs")
SECONDS = ("iteration_s", "epoch_time", "step_s")
CPU = ("cpu_millis",)
PERCENT = ("cpu",)
"""Of one core, as ProCon's jobs report it (specon-procon.md section 1.2)."""
KEPT = ("checkpoint", "kept")
KNOWN = frozenset((*STEP, *TOTAL, *SECONDS, *CPU, *PERCENT, *KEPT))


class Mark(Struct, frozen=True):
    """One thing a job said: it has completed `step` iterations."""

    step: float
    total: float | None = None
    metrics: dict[str, float] = {}
    seconds: float | None = None
    """That the last iteration took."""
    cpu_millis: float | None = None
    kept: float | None = None
    """Iterations that its last checkpoint holds."""


class Sample(Struct, frozen=True):
    """What a pod did since it was looked at last."""

    pod: str
    iteration: float
    value: float | None = None
    cpu_millis: float = 0.0
    iteration_s: float = 0.0
    kept: float | None = None


class RunningPod(Struct, frozen=True):
    """What a source has to know of a pod that runs."""

    job: str
    metric: str = ""
    """Name of the evaluation value."""
    container: str = ""
    """Whose log counts."""
    annotation: str = ""
    """What the pod says in its annotation podshift.io/progress."""


class LineParser:
    """Reads marks from lines of a log."""

    def __init__(self, pattern: str | None = None) -> None:
        """`pattern` is a regular expression for programs that know nothing of us: its groups are named as fields of our
        own line are (`step` at least). Raises ValueError for one that is none or names no step.
        """
        self._pattern = None
        if pattern:
            try:
                self._pattern = re.compile(pattern)
            except re.error as error:
                raise ValueError(f"'{pattern}' is no regular expression: {error}") from None
            if not any(name in self._pattern.groupindex for name in STEP):
                raise ValueError(f"'{pattern}' needs a group called 'step', as in (?P<step>\\d+)")

    def parse(self, line: str) -> Mark | None:
        """The mark of a line; None if it is none."""
        if len(line) > LONGEST_LINE:
            return None
        _, ours, rest = line.partition(LINE)
        if ours:
            return mark_of(dict(_FIELD.findall(rest.rpartition(LINE)[2])))
        if self._pattern is not None:
            match = self._pattern.search(line)
            if match is not None:
                return mark_of({name: text for name, text in match.groupdict().items() if text is not None})
        return None


def mark_of(fields: dict[str, str]) -> Mark | None:
    """The mark of named texts; None without a step. A field that is no number is left out."""
    numbers = {name: number for name, text in fields.items() if (number := _number(text)) is not None}

    def first(keys: Sequence[str]) -> float | None:
        return next((numbers[key] for key in keys if key in numbers), None)

    step, percent = first(STEP), first(PERCENT)
    if step is None or step < 0:
        return None
    cpu = first(CPU)
    return Mark(
        step,
        first(TOTAL),
        {name: value for name, value in numbers.items() if name not in KNOWN},
        first(SECONDS),
        percent * 10 if cpu is None and percent is not None else cpu,
        first(KEPT),
    )


class Progress:
    """The marks of one pod, in order, made into samples. Marks that say nothing new are passed over."""

    def __init__(self, pod: str, metric: str = "") -> None:
        """`metric` names the evaluation value; where a mark has none of that name, it is the first that it has."""
        self._pod = pod
        self._metric = metric
        self._step = -1.0
        self._at: float | None = None

    def take(self, marks: Sequence[tuple[Mark, float | None]]) -> Sample | None:
        """Marks with the times they were said at, in seconds; the sample of those that are new, None if none is."""
        new = [(mark, at) for mark, at in marks if mark.step > self._step]
        if not new:
            return None
        last, at = max(new, key=lambda entry: entry[0].step)
        values = [value for mark, _ in new if (value := self._value(mark)) is not None]
        seconds = last.seconds
        if seconds is None and at is not None:
            (before, since) = (self._step, self._at) if self._at is not None else (new[0][0].step, new[0][1])
            if since is not None and last.step > before and at > since:
                seconds = (at - since) / (last.step - before)
        self._step, self._at = last.step, at
        loads = [mark.cpu_millis for mark, _ in new if mark.cpu_millis is not None]
        return Sample(
            self._pod,
            last.step,
            sum(values) / len(values) if values else None,
            sum(loads) / len(loads) if loads else 0.0,
            seconds or 0.0,
            last.kept,
        )

    def _value(self, mark: Mark) -> float | None:
        if self._metric in mark.metrics:
            return mark.metrics[self._metric]
        return next(iter(mark.metrics.values()), None)


class Trackers:
    """A Progress for each pod that runs."""

    def __init__(self) -> None:
        self._by_pod: dict[str, Progress] = {}

    def of(self, pod: str, running: RunningPod) -> Progress:
        """The pod's own."""
        if pod not in self._by_pod:
            self._by_pod[pod] = Progress(pod, running.metric)
        return self._by_pod[pod]

    def keep(self, pods: Collection[str]) -> None:
        """Forget all other pods."""
        for pod in self._by_pod.keys() - set(pods):
            del self._by_pod[pod]


class Annotations:
    """Progress that pods write into their own annotation: the fields of a progress line."""

    def __init__(self) -> None:
        self._parser = LineParser()
        self._trackers = Trackers()

    def poll(self, running: Mapping[str, RunningPod], now: float) -> list[Sample]:
        """What is new."""
        self._trackers.keep(running)
        found = []
        for pod, about in running.items():
            mark = self._parser.parse(LINE + about.annotation) if about.annotation else None
            sample = self._trackers.of(pod, about).take([(mark, now)]) if mark is not None else None
            if sample is not None:
                found.append(sample)
        return found


def reported(time: float, samples: Sequence[Sample]) -> ProgressReported:
    """Samples as one event."""
    return ProgressReported(
        time,
        tuple(sample.pod for sample in samples),
        tuple(sample.iteration for sample in samples),
        tuple(sample.value for sample in samples),
        tuple(sample.cpu_millis for sample in samples),
        tuple(sample.iteration_s for sample in samples),
    )


def _number(text: str) -> float | None:
    try:
        value = float(text.rstrip(",;%"))
    except ValueError:
        return None
    return value if math.isfinite(value) else None
