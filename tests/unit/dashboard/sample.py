"""A small run in the shape of the API's tables, written by hand so that expected pictures can be counted.

Three jobs on two nodes: `a` migrates from n1 to n2 at 60 s (work stops at 60, starts again at 70), `b` stays on n1,
`c` waits 15 s for a node.
"""

import math
from typing import Any

NODES = ["n1", "n2"]

JOBS = {
    "job": ["a", "b", "c"],
    "workload": ["lenet", "vae", "gru"],
    "submitted_s": [0.0, 10.0, 20.0],
    "started_s": [2.0, 12.0, 37.0],
    "ended_s": [120.0, 100.0, None],
    "outcome": ["finished", "finished", "unfinished"],
    "completion_s": [120.0, 90.0, None],
    "waiting_s": [2.0, 2.0, 17.0],
    "downtime_s": [10.0, 0.0, 0.0],
    "migrations": [1, 0, 0],
    "pods": [2, 1, 1],
    "core_s": [400.0, 300.0, 90.0],
    "lost_core_s": [4.0, 0.0, 0.0],
    "first_node": ["n1", "n1", "n2"],
    "last_node": ["n2", "n1", "n2"],
    "reason": [None, None, None],
}
SEGMENTS = {
    "job": ["a", "a", "b", "c"],
    "pod": ["a", "a-migrated", "b", "c"],
    "node": ["n1", "n2", "n1", "n2"],
    "incarnation": [0, 1, 0, 0],
    "bound_s": [0.0, 62.0, 10.0, 35.0],
    "started_s": [2.0, 70.0, 12.0, 37.0],
    "end_s": [62.0, 120.0, 100.0, None],
    "end": ["migrated", "finished", "finished", "open"],
    "migration": [None, 1, None, None],
}
MIGRATIONS = {
    "migration": [1],
    "job": ["a"],
    "from_pod": ["a"],
    "to_pod": ["a-migrated"],
    "source": ["n1"],
    "target": ["n2"],
    "cause": ["converged"],
    "reason": ["a has converged and b, which progresses, gains"],
    "started_s": [60.0],
    "ended_s": [70.0],
    "outcome": ["finished"],
    "downtime_s": [10.0],
    "lost_core_s": [4.0],
    "outcome_reason": [None],
}
CATEGORIES = {
    "seq": [30, 40],
    "time_s": [40.0, 55.0],
    "job": ["a", "a"],
    "pod": ["a", "a"],
    "node": ["n1", "n1"],
    "before": ["progressing", "watching"],
    "after": ["watching", "converged"],
    "score": [0.05, 0.02],
    "previous_score": [0.2, 0.05],
    "threshold": [0.1, 0.1],
    "reason": ["below", "below again"],
}
NODE_TABLE = {
    "node": NODES,
    "cpu_millis": [16000, 16000],
    "memory_bytes": [2**36, 2**36],
    "joined_s": [0.0, 0.0],
    "left_s": [None, None],
}
CONSIDERATIONS = {
    "seq": [50, 51],
    "time_s": [60.0, 60.0],
    "round": [2, 2],
    "job": ["a", "b"],
    "pod": ["a", "b"],
    "source": ["n1", "n1"],
    "target": ["n2", None],
    "verdict": ["migrate", "nobody-to-help"],
    "cause": ["converged", "converged"],
    "reason": ["a moves to n2", "nobody progresses on n1"],
    "gain": [2.0, None],
    "margin": [1.0, None],
    "candidates": ['{"n1": {"progressing": 1}, "n2": {"progressing": 0}}', "{}"],
}
_BOTH = {"policy": "default", "permanent": False}
LISTED = [
    {"seq": 3, "time_s": 0.0, "pod": "a", "job": "a", "node": "n1", "reason": "n1 has the highest score",
     "feasible": 2, "refused": 0, **_BOTH},
    {"seq": 9, "time_s": 35.0, "pod": "c", "job": "c", "node": "n2", "reason": "only n2 fits", "feasible": 1,
     "refused": 1, **_BOTH},
]  # fmt: skip
"""Placement decisions as the API lists them."""
IN_FULL = {
    3: {
        **LISTED[0], "needed_images": [], "nodes": ["n1", "n2"], "totals": [90.0, 85.0], "ranks": [1, 2],
        "scores": [{"plugin": "least-allocated", "description": "Nodes with much left.", "weight": 1.0,
                    "raw": [90.0, 85.0], "normalised": [90.0, 85.0], "weighted": [90.0, 85.0]}],
        "refusals": [],
    },
    9: {
        **LISTED[1], "needed_images": [], "nodes": ["n2"], "totals": [100.0], "ranks": [1], "scores": [],
        "refusals": [{"filter": "fit", "description": "Nodes with enough left.", "count": 1, "nodes": ["n1"]}],
    },
}  # fmt: skip
"""The same in full, by their sequence numbers."""


def progress(jobs: tuple[str, ...] = ("a", "b"), until: int = 120) -> dict[str, list[Any]]:
    """A report every 10 s, falling exponentially."""
    rows = [(float(t), job, math.exp(-t / 40)) for t in range(10, until + 1, 10) for job in jobs]
    return {
        "time_s": [row[0] for row in rows],
        "job": [row[1] for row in rows],
        "pod": [row[1] for row in rows],
        "node": ["n1" for _ in rows],
        "iteration": [row[0] * 3 for row in rows],
        "value": [row[2] for row in rows],
        "cpu_millis": [4000.0 for _ in rows],
        "iteration_s": [0.3 for _ in rows],
    }


def usage(until: int = 120) -> dict[str, list[Any]]:
    """A sample every 10 s: n1 uses 8 of 16 cores, n2 uses 4; n2 has no samples from 50 to 80 s."""
    rows = [(float(t), "n1", 8000.0) for t in range(10, until + 1, 10)]
    rows += [(float(t), "n2", 4000.0) for t in range(10, until + 1, 10) if not 50 <= t <= 80]
    rows.sort()
    return {
        "time_s": [row[0] for row in rows],
        "node": [row[1] for row in rows],
        "cpu_millis": [row[2] for row in rows],
        "memory_bytes": [2.0**30 for _ in rows],
        "capacity_millis": [16000.0 for _ in rows],
    }


def empty(table: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """The same columns without rows."""
    return {name: [] for name in table}


def tables() -> dict[str, dict[str, list[Any]]]:
    """All tables of the run by name."""
    return {
        "jobs": JOBS,
        "segments": SEGMENTS,
        "migrations": MIGRATIONS,
        "categories": CATEGORIES,
        "nodes": NODE_TABLE,
        "considerations": CONSIDERATIONS,
        "progress": progress(),
        "usage": usage(),
    }
