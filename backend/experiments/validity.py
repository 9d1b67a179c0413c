"""Whether two groups of runs may be compared job by job: same workload, schedule, initial placement, seed, cluster."""

from collections.abc import Iterable, Sequence

from backend.experiments.measures import Measured

SAME_TIME_S = 1e-3
"""Submissions that lie less than this apart are the same; imported times are rounded to milliseconds at best."""

Pair = tuple[Measured, Measured]
Check = dict[str, object]

LABELS = {
    "workload": "same workload",
    "schedule": "same schedule",
    "initial_placement": "same initial placement",
    "seed": "same seeds",
    "cluster": "same cluster",
}


def check(runs_a: Sequence[Measured], runs_b: Sequence[Measured], pairs: Sequence[Pair]) -> list[Check]:
    """One entry a condition: check, label, ok, detail (what differs; empty if nothing does)."""
    looked_at = pairs or [(runs_a[0], runs_b[0])]
    details = {
        "workload": _first(_workload(pair) for pair in looked_at),
        "schedule": _first(_schedule(pair) for pair in looked_at),
        "initial_placement": _first(_placement(pair) for pair in looked_at),
        "seed": _seeds(runs_a, runs_b),
        "cluster": _first(_cluster(pair) for pair in looked_at),
    }
    return [
        {"check": name, "label": LABELS[name], "ok": not detail, "detail": detail} for name, detail in details.items()
    ]


def _first(details: Iterable[str]) -> str:
    return next((detail for detail in details if detail), "")


def _only(pair: Pair) -> tuple[set[str], set[str]]:
    """Jobs that one side has and the other does not, and, if that one has ended, will never have."""
    a, b = pair
    only_a, only_b = set(a.jobs) - set(b.jobs), set(b.jobs) - set(a.jobs)
    return only_a if b.complete else set(), only_b if a.complete else set()


def _workload(pair: Pair) -> str:
    a, b = pair
    specified_a, specified_b = a.data.specification, b.data.specification
    parts = [f"only in {side}: {_some(sorted(names))}" for side, names in zip("AB", _only(pair), strict=True) if names]
    if parts:
        return "; ".join(parts)
    common = sorted(a.jobs.keys() & b.jobs.keys())
    other = [name for name in common if a.jobs[name].workload != b.jobs[name].workload]
    if other:
        return f"jobs of another kind: {_some(f'{n} ({a.jobs[n].workload}, {b.jobs[n].workload})' for n in other)}"
    if specified_a is None or specified_b is None or specified_a.workload == specified_b.workload:
        return ""
    trained = [
        {one.job.name: (one.model, one.iterations) for one in run.build_submissions(seed or 0)}
        for run, seed in ((specified_a.workload, a.seed), (specified_b.workload, b.seed))
    ]
    changed = [name for name in common if trained[0].get(name) != trained[1].get(name)]
    return f"jobs with other models or iterations: {_some(changed)}" if changed else ""


def _schedule(pair: Pair) -> str:
    a, b = pair
    apart = []
    for name in a.jobs.keys() & b.jobs.keys():
        time_a, time_b = a.jobs[name].submitted_s, b.jobs[name].submitted_s
        if time_a is None or time_b is None:
            return "the times of submission are not known on both sides"
        if abs(time_a - time_b) > SAME_TIME_S:
            apart.append(f"{name} ({time_a:g} s, {time_b:g} s)")
    return f"{len(apart)} jobs arrive at other times: {_some(sorted(apart))}" if apart else ""


def _placement(pair: Pair) -> str:
    a, b = pair
    moved, unknown = [], 0
    for name in a.jobs.keys() & b.jobs.keys():
        node_a, node_b = a.jobs[name].first_node, b.jobs[name].first_node
        if node_a is None or node_b is None:
            unknown += a.complete and b.complete and node_a != node_b
        elif node_a != node_b:
            moved.append(f"{name} ({node_a}, {node_b})")
    if moved:
        return f"{len(moved)} of {len(a.jobs)} jobs start on another node: {_some(sorted(moved))}"
    if all(row.first_node is None for run in pair for row in run.jobs.values()):
        return "the first nodes are not known"
    return f"the first node of {unknown} jobs is known on one side only" if unknown else ""


def _seeds(runs_a: Sequence[Measured], runs_b: Sequence[Measured]) -> str:
    seeds_a, seeds_b = [run.seed for run in runs_a], [run.seed for run in runs_b]
    if sorted(map(str, seeds_a)) == sorted(map(str, seeds_b)):
        return ""
    return f"A has {_some(map(str, seeds_a))}; B has {_some(map(str, seeds_b))}"


def _cluster(pair: Pair) -> str:
    specified_a, specified_b = (run.data.specification for run in pair)
    if specified_a is None or specified_b is None:
        return ""
    parts = [
        part
        for part in ("nodes", "faults", "costs")
        if getattr(specified_a.cluster, part) != getattr(specified_b.cluster, part)
    ]
    return f"other {' and '.join(parts)}" if parts else ""


def _some(names: Iterable[str], limit: int = 5) -> str:
    listed = list(names)
    more = f" and {len(listed) - limit} more" if len(listed) > limit else ""
    return ", ".join(listed[:limit]) + more
