"""Two groups of runs side by side: A is what B is measured against, difference = B - A.

Runs are paired by their seed. Per-job numbers and paired differences are given where both sides have the same workload;
else the groups are compared as groups. Per-job measures look at the jobs that finished on both sides of a pair, so that
a job lost by one arm does not make that arm look fast; what was left out is said.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from backend.experiments import configuration, validity
from backend.experiments.measures import MEASURES, UNDER_WAY, Measure, Measured, RunData, measure, values_of
from backend.experiments.statistics import mean_difference, paired_interval, percent_of_means, unpaired_interval
from backend.experiments.validity import Pair

SIGN = "difference = B - A; negative = B is faster"
EQUAL_S = 1e-3
"""Completion times that lie less than this apart count as equal."""
FEW_PAIRS = 5
"""Fewer pairs than this have an interval that says little; the comparison says so."""
MAX_LISTED = 20
"""Jobs named in a list of what was left out."""

MEAN_OF_CHANGES = Measure(
    "mean_of_changes_percent", "Mean of the jobs' changes", "%", "lower", "negative = B is faster", True
)


def compare(runs_a: Sequence[RunData], runs_b: Sequence[RunData]) -> dict[str, Any]:
    """The comparison of two groups of runs as plain values (docs/architecture of the API: GET /api/v1/compare).

    Raises ValueError if a group is empty or a run is in both groups.
    """
    if not runs_a or not runs_b:
        raise ValueError("a comparison needs at least one run on either side")
    side_a, side_b = [measure(run) for run in runs_a], [measure(run) for run in runs_b]
    pairs, alone = _pair(side_a, side_b)
    checks = validity.check(side_a, side_b, pairs)
    ok = {str(entry["check"]): bool(entry["ok"]) for entry in checks}
    paired = bool(pairs) and ok["workload"]
    common = [_common(pair) for pair in pairs] if paired else []
    rows = _job_rows(pairs, common)
    per_seed = [_seed_entry(pair, jobs) for pair, jobs in zip(pairs, common, strict=True)] if paired else []
    differences = [row["difference_s"] for row in rows if row["difference_s"] is not None]
    metrics = _paired_metrics(per_seed) if paired else _unpaired_metrics(side_a, side_b)
    notes = _notes((side_a, side_b), pairs, alone, paired, rows)
    mean_of_changes = next((metric["difference"] for metric in metrics if metric["name"] == MEAN_OF_CHANGES.name), None)
    return {
        "a": _side(side_a, side_b),
        "b": _side(side_b, side_a),
        "paired": paired,
        "paired_charts": paired and ok["initial_placement"] and ok["schedule"],
        "so_far": any(run.status in UNDER_WAY for run in (*side_a, *side_b)),
        "validity": checks,
        "metrics": metrics,
        "jobs": rows,
        "nodes": _nodes(side_a, side_b),
        "faster": sum(difference < -EQUAL_S for difference in differences) if paired else None,
        "slower": sum(difference > EQUAL_S for difference in differences) if paired else None,
        "equal": sum(abs(difference) <= EQUAL_S for difference in differences) if paired else None,
        "mean_of_changes_percent": mean_of_changes,
        "sign": SIGN,
        "note": "; ".join(notes),
        "notes": notes,
        "configuration": _configuration(side_a[0], side_b[0]),
        "per_seed": per_seed,
    }


def _pair(side_a: Sequence[Measured], side_b: Sequence[Measured]) -> tuple[list[Pair], list[Measured]]:
    """Runs of equal seeds, in the order of A, and the runs that found no partner."""
    waiting: dict[int | None, list[Measured]] = {}
    for run in side_b:
        waiting.setdefault(run.seed, []).append(run)
    pairs, alone = [], []
    for run in side_a:
        partners = waiting.get(run.seed)
        if partners:
            pairs.append((run, partners.pop(0)))
        else:
            alone.append(run)
    return pairs, alone + [run for partners in waiting.values() for run in partners]


def _common(pair: Pair) -> list[str]:
    """Jobs that finished on both sides, in A's order."""
    finished_b = pair[1].finished
    return [name for name in pair[0].finished if name in finished_b]


def _side(side: Sequence[Measured], other: Sequence[Measured]) -> dict[str, Any]:
    arms = list(dict.fromkeys(run.arm for run in side))
    experiments = list(dict.fromkeys(str(run.data.row.get("experiment", "")) for run in side))
    same = {str(run.data.row.get("experiment", "")) for run in (*side, *other)}
    label = ", ".join(arms)
    if len(same) > 1:
        label = f"{label} ({', '.join(experiments)})"
    return {
        "runs": [run.id for run in side],
        "arm": arms[0] if len(arms) == 1 else label,
        "label": label,
        "experiments": experiments,
        "seeds": [run.seed for run in side],
        "statuses": [run.status for run in side],
    }


# -- numbers


def _seed_entry(pair: Pair, jobs: Sequence[str]) -> dict[str, Any]:
    a, b = pair
    values_a, values_b = values_of(a, jobs), values_of(b, jobs)
    changes = [_percent(a.jobs[name].completion_s, b.jobs[name].completion_s) for name in jobs]
    known = [change for change in changes if change is not None]
    mean_change = float(np.mean(known)) if known else None
    values: dict[str, dict[str, float | None]] = {
        one.name: {
            "a": values_a[one.name],
            "b": values_b[one.name],
            "difference": _difference(values_a[one.name], values_b[one.name]),
        }
        for one in MEASURES
    }
    values[MEAN_OF_CHANGES.name] = {"a": None, "b": None, "difference": mean_change}
    apart = [(b.jobs[name].completion_s or 0.0) - (a.jobs[name].completion_s or 0.0) for name in jobs]
    return {
        "seed": a.seed,
        "run_a": a.id,
        "run_b": b.id,
        "status_a": a.status,
        "status_b": b.status,
        "jobs": len(jobs),
        "faster": sum(difference < -EQUAL_S for difference in apart),
        "slower": sum(difference > EQUAL_S for difference in apart),
        "equal": sum(abs(difference) <= EQUAL_S for difference in apart),
        "values": values,
    }


def _paired_metrics(per_seed: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    metrics = []
    for one in MEASURES:
        entries = [entry["values"][one.name] for entry in per_seed]
        both = [(entry["a"], entry["b"]) for entry in entries if entry["difference"] is not None]
        a, b = (np.array(values, float) for values in (zip(*both, strict=True) if both else ((), ())))
        percent = float(percent_of_means(a, b)) if both else None
        metrics.append(
            _metric(
                one,
                a=float(a.mean()) if both else None,
                b=float(b.mean()) if both else None,
                difference=float(mean_difference(a, b)) if both else None,
                percent=_finite(percent),
                ci95=paired_interval(a, b),
                percent_ci95=paired_interval(a, b, percent_of_means),
                n=len(both),
                note=_metric_note(len(both), "pairs"),
            )
        )
    changes = [entry["values"][MEAN_OF_CHANGES.name]["difference"] for entry in per_seed]
    known = np.array([change for change in changes if change is not None], float)
    mean = float(known.mean()) if len(known) else None
    interval = paired_interval(np.zeros(len(known)), known)
    metrics.append(
        _metric(
            MEAN_OF_CHANGES,
            difference=mean,
            percent=mean,
            ci95=interval,
            percent_ci95=interval,
            n=len(known),
            note=_metric_note(len(known), "pairs"),
        )
    )
    return metrics


def _unpaired_metrics(side_a: Sequence[Measured], side_b: Sequence[Measured]) -> list[dict[str, Any]]:
    every_a = [values_of(run, run.finished) for run in side_a]
    every_b = [values_of(run, run.finished) for run in side_b]
    metrics = []
    for one in MEASURES:
        a = np.array([values[one.name] for values in every_a if values[one.name] is not None], float)
        b = np.array([values[one.name] for values in every_b if values[one.name] is not None], float)
        known = len(a) > 0 and len(b) > 0
        mean_a, mean_b = (float(values.mean()) if len(values) else None for values in (a, b))
        metrics.append(
            _metric(
                one,
                a=mean_a,
                b=mean_b,
                difference=_difference(mean_a, mean_b),
                percent=_percent(mean_a, mean_b),
                ci95=unpaired_interval(a, b),
                n=min(len(a), len(b)) if known else 0,
                note=_metric_note(min(len(a), len(b)), "runs a side, not paired"),
            )
        )
    return metrics


def _metric(
    one: Measure,
    *,
    a: float | None = None,
    b: float | None = None,
    difference: float | None,
    percent: float | None,
    ci95: tuple[float, float] | None,
    percent_ci95: tuple[float, float] | None = None,
    n: int,
    note: str,
) -> dict[str, Any]:
    return {
        "name": one.name,
        "label": one.label,
        "unit": one.unit,
        "a": a,
        "b": b,
        "difference": difference,
        "percent": percent,
        "ci95": None if ci95 is None else list(ci95),
        "percent_ci95": None if percent_ci95 is None else list(percent_ci95),
        "n": n,
        "better": one.better,
        "sign": one.sign,
        "note": note,
    }


def _metric_note(n: int, noun: str) -> str:
    if n == 0:
        return "not known on both sides"
    if n == 1:
        return "single run, no interval"
    return f"95 % bootstrap interval of {n} {noun}" + (", few for an interval" if n < FEW_PAIRS else "")


# -- jobs and nodes


def _job_rows(pairs: Sequence[Pair], common: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    """One row a job, in order of submission; means over the pairs in which it finished on both sides."""
    if not common:
        return []
    usable = [set(names) for names in common]
    places: dict[str, list[tuple[int, Pair]]] = {}
    for place, pair in enumerate(pairs):
        for name in dict.fromkeys([*pair[0].jobs, *pair[1].jobs]):
            places.setdefault(name, []).append((place, pair))
    rows = []
    for name, seen in places.items():
        both = [(a.jobs[name], b.jobs[name]) for place, (a, b) in seen if name in usable[place]]
        a_s = _mean(row.completion_s for row, _ in both)
        b_s = _mean(row.completion_s for _, row in both)
        missing = "; ".join(
            sorted({why for place, pair in seen if name not in usable[place] for why in _why_missing(name, pair)})
        )
        any_row = next(run.jobs[name] for _, pair in seen for run in pair if name in run.jobs)
        rows.append(
            {
                "job": name,
                "workload": any_row.workload,
                "submitted_s": any_row.submitted_s,
                "a_s": a_s,
                "b_s": b_s,
                "difference_s": _difference(a_s, b_s),
                "percent": _percent(a_s, b_s),
                "waiting_a_s": _mean(row.waiting_s for row, _ in both),
                "waiting_b_s": _mean(row.waiting_s for _, row in both),
                "downtime_a_s": _mean(row.downtime_s for row, _ in both),
                "downtime_b_s": _mean(row.downtime_s for _, row in both),
                "migrations_a": _mean(row.migrations for row, _ in both),
                "migrations_b": _mean(row.migrations for _, row in both),
                "n": len(both),
                "note": missing,
            }
        )
    rows.sort(key=lambda row: (row["submitted_s"] is None, row["submitted_s"] or 0.0))
    return rows


def _why_missing(name: str, pair: Pair) -> Iterable[str]:
    for side, run in zip("AB", pair, strict=True):
        row = run.jobs.get(name)
        if row is None:
            yield f"not in {side} so far"
        elif row.completion_s is None:
            yield f"{row.outcome} in {side}"


def _nodes(side_a: Sequence[Measured], side_b: Sequence[Measured]) -> list[dict[str, Any]]:
    """CPU use of each node and in total, means over the runs; empty where no usage was recorded."""
    if not all(run.nodes for run in (*side_a, *side_b)):
        return []
    names = dict.fromkeys(name for run in (*side_a, *side_b) for name in run.nodes)
    entries = [_node_entry(name, side_a, side_b) for name in names]
    total: dict[str, Any] = {"node": "", "label": "all nodes"}
    for side, runs in (("a", side_a), ("b", side_b)):
        total[f"{side}_core_s"] = _mean(sum(use.core_s for use in run.nodes.values()) for run in runs)
        total[f"{side}_share"] = _mean(run.summary.get("cpu_share_mean") for run in runs)
    total["difference_core_s"] = _difference(total["a_core_s"], total["b_core_s"])
    total["difference_share"] = _difference(total["a_share"], total["b_share"])
    return [total, *entries]


def _node_entry(name: str, side_a: Sequence[Measured], side_b: Sequence[Measured]) -> dict[str, Any]:
    entry: dict[str, Any] = {"node": name, "label": name}
    for side, runs in (("a", side_a), ("b", side_b)):
        uses = [use for run in runs if (use := run.nodes.get(name)) is not None]
        entry[f"{side}_core_s"] = _mean(use.core_s for use in uses)
        entry[f"{side}_share"] = _mean(use.share for use in uses)
    entry["difference_core_s"] = _difference(entry["a_core_s"], entry["b_core_s"])
    entry["difference_share"] = _difference(entry["a_share"], entry["b_share"])
    return entry


# -- words


def _notes(
    sides: tuple[Sequence[Measured], Sequence[Measured]],
    pairs: Sequence[Pair],
    alone: Sequence[Measured],
    paired: bool,
    rows: Sequence[dict[str, Any]],
) -> list[str]:
    notes = []
    runs = [*sides[0], *sides[1]]
    growing = [run.id for run in runs if run.status in UNDER_WAY]
    if growing:
        notes.append(f"so far: {_listed(growing)} {'is' if len(growing) == 1 else 'are'} still under way")
    cut = [f"{run.id} ({run.status})" for run in runs if not run.complete and run.status not in UNDER_WAY]
    if cut:
        notes.append(f"not run to the end: {_listed(cut)}")
    if not paired:
        why = "no seed is on both sides" if not pairs else "the workloads differ"
        notes.append(f"compared as groups, not job by job: {why}")
    elif len(pairs) == 1:
        notes.append("single run, no interval")
    elif len(pairs) < FEW_PAIRS:
        notes.append(f"{len(pairs)} pairs of runs, few for an interval")
    if paired and alone:
        notes.append(f"without a partner of the same seed and left out: {_listed([run.id for run in alone])}")
    left_out = [f"{row['job']} ({row['note']})" for row in rows if row["note"]]
    if left_out:
        verb = "job is" if len(left_out) == 1 else "jobs are"
        notes.append(f"{len(left_out)} {verb} left out where it did not finish on both sides: {_listed(left_out)}")
    return notes


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    return ", ".join(names[:MAX_LISTED]) + more


def _configuration(a: Measured, b: Measured) -> list[dict[str, Any]]:
    """Settings of the first run of each side; empty where a run has no specification."""
    flat = []
    for run in (a, b):
        specification = run.data.specification
        if specification is None:
            return []
        flat.append(configuration.flatten(specification, run.arm))
    return configuration.difference(*flat)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _difference(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else b - a


def _percent(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None or a == 0 else 100.0 * (b - a) / a


def _finite(value: float | None) -> float | None:
    return value if value is not None and np.isfinite(value) else None
