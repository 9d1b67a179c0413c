"""The numbers of one run, from its tables."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa


def summarise(tables: Mapping[str, pa.Table]) -> dict[str, Any]:
    """Numbers of a run; None where there is nothing to compute one from. Needs `jobs`; uses what else is there.

    All numbers are finite: those of a log whose values are too large to be added are None.

    Completion time: from a job's submission to the end of its last pod, finished jobs only. Makespan: last finish minus
    first submission. Percentiles interpolate linearly. cpu_share_mean: core-seconds consumed by the jobs over the
    core-seconds the nodes offered between first submission and last end. fairness_jain: Jain's index
    (sum x)^2 / (n sum x^2) of the jobs' speeds x = useful core-seconds / completion time (Jain, Chiu and Hawe 1984);
    1 when all jobs went equally fast. lost_core_s: work that was delivered and that no checkpoint held.
    """
    jobs = tables["jobs"].to_pydict()
    outcomes = jobs["outcome"]
    completion = np.array([value for value in jobs["completion_s"] if value is not None], float)
    submitted = [value for value in jobs["submitted_s"] if value is not None]
    finishes = [
        end for end, outcome in zip(jobs["ended_s"], outcomes, strict=True) if outcome == "finished" and end is not None
    ]
    ends = [end for end in jobs["ended_s"] if end is not None]
    first = min(submitted, default=None)
    waiting = [value for value in jobs["waiting_s"] if value is not None]
    migrations = tables["migrations"].column("outcome").to_pylist() if "migrations" in tables else []
    core_s = float(sum(jobs["core_s"]))
    # A record of completion times alone has jobs that ended without ever having had a pod: of what pods do, it says
    # nothing, and 0 would be a claim.
    tells_of_pods = not ends or sum(jobs["pods"]) > 0
    tells_of_work = core_s > 0
    known = len(completion) > 0
    numbers = {
        "jobs": len(outcomes),
        "finished": outcomes.count("finished"),
        "failed": outcomes.count("failed"),
        "unfinished": outcomes.count("unfinished"),
        "first_submitted_s": first,
        "last_ended_s": max(ends, default=None),
        "makespan_s": max(finishes) - first if finishes and first is not None else None,
        "mean_completion_s": float(completion.mean()) if known else None,
        "median_completion_s": float(np.median(completion)) if known else None,
        "p95_completion_s": float(np.percentile(completion, 95)) if known else None,
        "max_completion_s": float(completion.max()) if known else None,
        "sum_completion_s": float(completion.sum()) if known else None,
        "mean_waiting_s": float(np.mean(waiting)) if waiting else None,
        "downtime_s": float(sum(jobs["downtime_s"])) if tells_of_pods and None not in jobs["downtime_s"] else None,
        "migrations": migrations.count("finished") if tells_of_pods else None,
        "rolled_back": migrations.count("rolled-back") if tells_of_pods else None,
        "core_s": core_s if tells_of_work else None,
        "lost_core_s": float(sum(jobs["lost_core_s"])) if tells_of_work else None,
        "cpu_share_mean": _cpu_share(tables.get("nodes"), core_s, first, max(ends, default=None)),
        "fairness_jain": _jain(jobs),
    }
    return {name: None if isinstance(x, float) and not math.isfinite(x) else x for name, x in numbers.items()}


def _cpu_share(nodes: pa.Table | None, core_s: float, first: float | None, last: float | None) -> float | None:
    if nodes is None or first is None or last is None or core_s == 0:
        return None
    offered = 0.0
    for cpu, joined, left in zip(
        *(nodes.column(c).to_pylist() for c in ("cpu_millis", "joined_s", "left_s")), strict=True
    ):
        present = min(last if left is None else left, last) - max(joined, first)
        offered += max(0.0, present) * cpu / 1000
    return core_s / offered if offered > 0 else None


def _jain(jobs: Mapping[str, list[Any]]) -> float | None:
    speeds = [
        (core_s - lost) / completion
        for core_s, lost, completion in zip(jobs["core_s"], jobs["lost_core_s"], jobs["completion_s"], strict=True)
        if completion
    ]
    total = sum(speeds)
    squares = sum(speed * speed for speed in speeds)
    return total * total / (len(speeds) * squares) if squares > 0 else None
