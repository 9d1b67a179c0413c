"""The 50-job experiment of the SpeCon paper, simulated: `make reproduce` writes docs/reproduction.md.

The default arm is calibrated by two numbers (work and submission window) so that its completion times have the
published mean and maximum. Then the other arms run as they are, with the defaults of the specification; nothing of them
is tuned. Source of the published numbers: tests/data/specon_completion_50jobs.csv (specon-procon.md section 2.3).
"""

import argparse
import csv
import multiprocessing
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from backend.experiments.execute import run_arm
from backend.experiments.specification import Specification, parse
from backend.experiments.statistics import paired_interval
from backend.model import events as ev
from backend.simulation.presets import get_model

ROOT = Path(__file__).resolve().parents[1]
PUBLISHED = ROOT / "tests" / "data" / "specon_completion_50jobs.csv"
REPORT = ROOT / "docs" / "reproduction.md"
JOBS = 50
NODES = 4
MODELS = ("lenet", "cnn", "vae", "mnist", "gru", "lstm-cfc", "lstm-crf", "birnn")
SEEDS = tuple(range(1, 21))
EARLY = 20
"""The published pattern is told of the first 20 jobs and the last 30."""
WINDOWS = (200.0, 400.0, 600.0, 900.0, 1200.0)
"""Submission windows that are tried, in seconds; the paper does not give it."""
ARMS: dict[str, dict[str, Any]] = {
    "default": {"migration": {"name": "none"}},
    "migrated": {"migration": {"name": "specon"}},
    "rebalance": {"migration": {"name": "specon", "rebalance": True}},
    "least-loaded": {"migration": {"name": "least-loaded"}},
}
PINNED = ("migrated", "rebalance", "least-loaded")


@dataclass(frozen=True)
class Result:
    """Completion times of one run, in the order of submission."""

    completion_s: tuple[float, ...]
    makespan_s: float
    migrations: int
    placements: dict[str, str]


class _Listener:
    """An event log that keeps what the report needs."""

    def __init__(self) -> None:
        self.submitted: dict[str, float] = {}
        self.finished: dict[str, float] = {}
        self.migrations = 0

    def append(self, event: ev.Event) -> None:
        if isinstance(event, ev.JobSubmitted):
            self.submitted[event.job.name] = event.time
        elif isinstance(event, ev.JobFinished):
            self.finished[event.job] = event.time
        elif isinstance(event, ev.MigrationFinished):
            self.migrations += 1


def specification(work: float, window_s: float, arms: dict[str, dict[str, Any]]) -> Specification:
    """50 jobs of the paper's models on four nodes of 16 threads; `work` multiplies the work of every model."""
    models = []
    for name in MODELS:
        model = get_model(name)
        written = model.model_dump(mode="json", exclude_defaults=True)
        written["curve"] = {"kind": model.curve.kind, **written.get("curve", {})}
        models.append(written | {"name": name, "core_s_per_iteration": model.core_s_per_iteration * work})
    return parse(
        {
            "name": "reproduction",
            "cluster": {"nodes": {"count": NODES, "cpu": "16", "memory": "64Gi"}},
            "workload": {
                "models": models,
                "jobs": JOBS,
                "assign": "random",
                "submissions": {"uniform": [0, window_s]},
            },
            "arms": [{"name": name, "scheduler": {"name": "default"}, **arm} for name, arm in arms.items()],
            "pin_initial_placement": len(arms) > 1,
            "seeds": list(SEEDS),
        }
    )


def run(
    arm: str, seed: int, work: float, window_s: float, arms: dict[str, dict[str, Any]], pinned: Any = None
) -> Result:
    """One arm with one seed."""
    log = _Listener()
    outcome = run_arm(specification(work, window_s, arms), arm, seed, log, pinned=pinned)
    missing = set(log.submitted) - set(log.finished)
    if missing:
        raise RuntimeError(f"jobs without an end: {sorted(missing)}")
    order = sorted(log.submitted, key=lambda name: (log.submitted[name], name))
    times = tuple(log.finished[name] - log.submitted[name] for name in order)
    makespan = max(log.finished.values()) - min(log.submitted.values())
    return Result(times, makespan, log.migrations, dict(outcome.placements))


def _pair(seed: int, work: float, window_s: float, arm: dict[str, Any]) -> tuple[Result, Result]:
    arms = {"default": ARMS["default"], "other": arm}
    first = run("default", seed, work, window_s, arms)
    return first, run("other", seed, work, window_s, arms, first.placements)


def _calibrate_window(
    window_s: float, target_mean: float, map_: Callable[..., Iterable[Result]]
) -> tuple[float, float, float]:
    """Work factor that gives the target mean at this window, with the mean and the mean of the longest it gives."""
    low, high = 0.05, 8.0
    only = {"default": ARMS["default"]}
    mean = longest = work = 0.0
    for _ in range(12):
        work = (low * high) ** 0.5
        results = list(map_(partial(_default_only, work=work, window_s=window_s, arms=only), SEEDS))
        times = np.array([result.completion_s for result in results])
        mean, longest = float(times.mean()), float(times.max(axis=1).mean())
        low, high = (work, high) if mean < target_mean else (low, work)
    return work, mean, longest


def _default_only(seed: int, *, work: float, window_s: float, arms: dict[str, dict[str, Any]]) -> Result:
    return run("default", seed, work, window_s, arms)


def published() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Completion times of the 50-job figure, default and SpeCon, in seconds."""
    with PUBLISHED.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    return np.array([float(row["NS_s"]) for row in rows]), np.array([float(row["SpeCon_s"]) for row in rows])


MEASURES: dict[str, Callable[[Any, Any], float]] = {
    "mean completion": lambda a, b: float(b.mean() / a.mean() - 1),
    "median completion": lambda a, b: float(np.median(b) / np.median(a) - 1),
    "p90 completion": lambda a, b: float(np.percentile(b, 90) / np.percentile(a, 90) - 1),
    "longest job": lambda a, b: float(b.max() / a.max() - 1),
    f"first {EARLY} jobs (sum)": lambda a, b: float(b[:EARLY].sum() / a[:EARLY].sum() - 1),
    f"last {JOBS - EARLY} jobs (sum)": lambda a, b: float(b[EARLY:].sum() / a[EARLY:].sum() - 1),
    "best job": lambda a, b: float((b / a - 1).min()),
    "worst job": lambda a, b: float((b / a - 1).max()),
    "mean of the jobs' changes": lambda a, b: float((b / a - 1).mean()),
}


def interval(values: Sequence[float]) -> str:
    """Mean and 95 % bootstrap interval of changes, as percent."""
    array = np.array(values, float)
    found = paired_interval(np.zeros(len(array)), array)
    ends = f" [{100 * found[0]:+.1f}, {100 * found[1]:+.1f}]" if found else ""
    return f"{100 * array.mean():+.1f}{ends}"


def main() -> None:
    """Calibrate, run, sweep and write the report."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--output", type=Path, default=REPORT)
    arguments = options.parse_args()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), mp_context=context) as pool:
        arguments.output.write_text(_report(pool))
    print(f"wrote {arguments.output}")


def _report(pool: ProcessPoolExecutor) -> str:
    default, specon = published()
    tried = []
    for window in WINDOWS:
        work, mean, longest = _calibrate_window(window, float(default.mean()), pool.map)
        tried.append((abs(longest / default.max() - 1), window, work, mean, longest))
    _, window, work, mean, longest = min(tried)
    pairs = {name: list(pool.map(partial(_pair, work=work, window_s=window, arm=ARMS[name]), SEEDS)) for name in PINNED}
    base = [first for first, _ in pairs["migrated"]]
    lines = _head(default, base, tried, window, work)
    lines += _arms(default, specon, pairs)
    lines += _sweep(pool, work, window)
    return "\n".join(lines) + "\n"


def _head(default: Any, base: list[Result], tried: list[Any], window: float, work: float) -> list[str]:
    times = np.array([result.completion_s for result in base])
    rows = [
        ("mean", default.mean(), times.mean()),
        ("median", np.median(default), np.median(times, axis=1).mean()),
        ("p90", np.percentile(default, 90), np.percentile(times, 90, axis=1).mean()),
        ("longest", default.max(), times.max(axis=1).mean()),
        ("shortest", default.min(), times.min(axis=1).mean()),
    ]
    return [
        "# Reproduction of the 50-job experiment",
        "",
        "Written by `make reproduce`; every number below was measured by that run. Published numbers are those of the",
        "figure with 50 jobs (specon-procon.md section 2.3), where NS is the default Kubernetes scheduler.",
        "",
        f"## The default arm, calibrated ({len(SEEDS)} seeds)",
        "",
        f"{JOBS} jobs of {len(MODELS)} models on {NODES} nodes with 16 cores. Two numbers were fitted to the default",
        f"arm alone: the work of all models (times {work:.3f}) and the window in which jobs are submitted",
        f"({window:.0f} s, chosen from {', '.join(f'{w:.0f}' for w in WINDOWS)} s by the longest job).",
        "No arm with migration took part.",
        "",
        "| completion time | published (s) | simulated, mean over seeds (s) | deviation |",
        "|---|---:|---:|---:|",
        *[f"| {name} | {a:.0f} | {b:.0f} | {100 * (b / a - 1):+.1f} % |" for name, a, b in rows],
        "",
        "Windows tried (each with the work that gives the published mean): "
        + "; ".join(f"{w:.0f} s: longest {longest:.0f} s" for _, w, _, _, longest in sorted(tried, key=lambda t: t[1]))
        + ".",
        "",
    ]


def _arms(default: Any, specon: Any, pairs: dict[str, list[tuple[Result, Result]]]) -> list[str]:
    lines = [
        "## What migration changes",
        "",
        f"Change against the default arm in percent (negative = faster), mean over {len(SEEDS)} seeds with the 95 %",
        "bootstrap interval. Each arm starts from the default arm's initial placement. `migrated` is SpeCon with the",
        "defaults of the specification; `rebalance` adds step A3; `least-loaded` knows no progress.",
        "",
        "| measure | published | " + " | ".join(pairs) + " |",
        "|---|---:|" + "---:|" * len(pairs),
    ]
    for name, change in MEASURES.items():
        cells = [
            interval([change(np.array(a.completion_s), np.array(b.completion_s)) for a, b in results])
            for results in pairs.values()
        ]
        lines.append(f"| {name} | {100 * change(default, specon):+.1f} | " + " | ".join(cells) + " |")
    makespans = [interval([b.makespan_s / a.makespan_s - 1 for a, b in results]) for results in pairs.values()]
    lines.append("| makespan | not in the figure | " + " | ".join(makespans) + " |")
    faster = [f"{np.mean([_faster(a, b) for a, b in results]):.1f}" for results in pairs.values()]
    lines.append(f"| jobs faster (of {JOBS}) | {int((specon < default).sum())} | " + " | ".join(faster) + " |")
    moved = [f"{np.mean([b.migrations for _, b in results]):.1f}" for results in pairs.values()]
    lines.append("| migrations | not in the figure | " + " | ".join(moved) + " |")
    return [*lines, "", *_verdict(default, specon, pairs["migrated"]), ""]


def _faster(a: Result, b: Result) -> int:
    return sum(y < x - 1e-3 for x, y in zip(a.completion_s, b.completion_s, strict=True))


def _verdict(default: Any, specon: Any, results: list[tuple[Result, Result]]) -> list[str]:
    """Say per feature of the published shape whether the interval of the simulated change has the same sign."""
    lines = ["Shape, feature by feature (reproduced: the whole interval has the published sign):", ""]
    for name in (
        f"first {EARLY} jobs (sum)",
        f"last {JOBS - EARLY} jobs (sum)",
        "longest job",
        "mean completion",
        "median completion",
    ):
        change = MEASURES[name]
        target = change(default, specon)
        values = np.array([change(np.array(a.completion_s), np.array(b.completion_s)) for a, b in results])
        found = paired_interval(np.zeros(len(values)), values)
        assert found is not None
        low, high = found
        if low > 0 or high < 0:
            says = "reproduced" if (low > 0) == (target > 0) else "NOT reproduced: the other way round"
        else:
            says = "not decided: the interval holds 0"
        inside = "; the published value lies inside the interval" if low <= target <= high else ""
        lines.append(
            f"- {name}: published {100 * target:+.1f} %, simulated {interval(values.tolist())} %: {says}{inside}"
        )
    return lines


def _sweep(pool: ProcessPoolExecutor, work: float, window: float) -> list[str]:
    lines = [
        "## Sweep of alpha, interval and round",
        "",
        "SpeCon otherwise at its defaults, interval and round in seconds; change against the default arm in",
        f"percent, mean over {len(SEEDS)} seeds with the 95 % interval.",
        "",
        "| alpha | interval | round | mean | median | p90 | longest | makespan | faster | slower | migrations |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    grid = [
        (a, i, r) for a in (0.02, 0.05, 0.1, 0.2, 0.4) for i, r in ((10, 30), (5, 15), (20, 60), (10, 10), (30, 30))
    ]
    for alpha, every, round_s in grid:
        arm = {"migration": {"name": "specon", "alpha": alpha, "interval": every, "round": round_s}}
        results = list(pool.map(partial(_pair, work=work, window_s=window, arm=arm), SEEDS))
        arrays = [(np.array(a.completion_s), np.array(b.completion_s)) for a, b in results]
        cells = [
            interval([MEASURES[name](a, b) for a, b in arrays])
            for name in ("mean completion", "median completion", "p90 completion", "longest job")
        ]
        cells.append(interval([b.makespan_s / a.makespan_s - 1 for a, b in results]))
        cells.append(f"{np.mean([(b < a - 1e-3).sum() for a, b in arrays]):.1f}")
        cells.append(f"{np.mean([(b > a + 1e-3).sum() for a, b in arrays]):.1f}")
        cells.append(f"{np.mean([b.migrations for _, b in results]):.1f}")
        lines.append(f"| {alpha:g} | {every} | {round_s} | " + " | ".join(cells) + " |")
    return lines


if __name__ == "__main__":
    main()
