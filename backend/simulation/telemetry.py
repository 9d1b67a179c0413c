"""What running jobs report: iterations done and the mean of the evaluation value since the last report."""

import math
from collections.abc import Sequence

import numpy as np

from backend.model import events as ev
from backend.model.random_streams import stream_seed
from backend.simulation.noise import normal
from backend.simulation.pods import SimulatedPod

MAX_EVALUATIONS = 256
"""Iterations that one value is the mean of, at most. A job may do millions between two reports; the mean of 256 of
them, evenly spread, differs from the mean of all by a sixteenth of the noise, and memory stays small."""


class Reporter:
    """Makes one ProgressReported for all pods that completed an iteration since their last report."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._keys: dict[str, int] = {}

    def report(self, now: float, pods: Sequence[SimulatedPod]) -> ev.ProgressReported | None:
        """The report at `now`; None if there is nothing to report."""
        chosen: list[SimulatedPod] = []
        firsts: list[int] = []
        lasts: list[int] = []
        for pod in pods:
            last = math.floor(pod.reached(now) + 1e-9)
            if last > pod.reported:
                chosen.append(pod)
                firsts.append(math.floor(pod.reported) + 1)
                lasts.append(last)
                pod.reported = last
        if not chosen:
            return None
        values = self._values(chosen, firsts, lasts)
        cpu, seconds = [], []
        for pod in chosen:
            rate = pod.task.rate if pod.task is not None else 0.0
            cpu.append(1000.0 * rate)
            seconds.append(pod.model.core_s_per_iteration / rate if rate > 0 else 0.0)
        return ev.ProgressReported(
            now,
            tuple(pod.name for pod in chosen),
            tuple(map(float, lasts)),
            tuple(value if math.isfinite(value) else None for value in values),
            tuple(cpu),
            tuple(seconds),
        )

    def _values(self, pods: Sequence[SimulatedPod], firsts: list[int], lasts: list[int]) -> list[float]:
        # Jobs of one model share its curve even where they set something else otherwise than the model.
        groups: dict[tuple[int, float], list[int]] = {}
        for place, pod in enumerate(pods):
            groups.setdefault((id(pod.model.curve), pod.model.noise), []).append(place)
        values = [0.0] * len(pods)
        for places in groups.values():
            model = pods[places[0]].model
            done = np.array([lasts[p] - firsts[p] + 1 for p in places])
            counts = np.minimum(done, MAX_EVALUATIONS)
            starts = np.cumsum(counts) - counts
            before_last = np.repeat(starts + counts - 1, counts) - np.arange(counts.sum())
            step_back = before_last * np.repeat(done, counts) // np.repeat(counts, counts)
            iteration = np.repeat(np.array([lasts[p] for p in places]), counts) - step_back
            total = np.repeat(np.array([pods[p].iterations for p in places], dtype=np.float64), counts)
            curve = model.curve.values(iteration / total)
            if model.noise:
                keys = np.array([self._key(pods[p].job.name) for p in places], dtype=np.uint64)
                curve = curve + model.noise * model.curve.span * normal(np.repeat(keys, counts), iteration)
            means = np.add.reduceat(curve, starts) / counts
            for place, mean in zip(places, means.tolist(), strict=True):
                values[place] = mean
        return values

    def _key(self, job: str) -> int:
        key = self._keys.get(job)
        if key is None:
            key = self._keys[job] = stream_seed(self._seed, f"curve/{job}")
        return key
