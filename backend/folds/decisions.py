"""Placement decisions out of the table that a log folds into: one row of a list, or one decision in full."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

IN_LIST = (
    "seq",
    "time_s",
    "pod",
    "job",
    "node",
    "policy",
    "reason",
    "feasible",
    "permanent",
    "refused_counts",
)
"""Columns of a list: `detail` holds all nodes of a decision, so a list with it would be many megabytes."""


def select(decisions: pa.Table, *, job: str | None = None, placed: bool | None = None) -> pa.Table:
    """The decisions of a job, and those that found a node or that found none."""
    if job is not None:
        decisions = decisions.filter(pc.equal(decisions.column("job"), job))
    if placed is not None:
        has_node = pc.is_valid(decisions.column("node"))
        decisions = decisions.filter(has_node if placed else pc.invert(has_node))
    return decisions


def entries(decisions: pa.Table) -> list[dict[str, Any]]:
    """Rows of a list. `refused` is how many nodes the filters refused."""
    rows: list[dict[str, Any]] = decisions.select(IN_LIST).to_pylist()
    for row in rows:
        row["refused"] = sum(json.loads(row.pop("refused_counts")).values())
    return rows


def in_full(decisions: pa.Table, seq: int, plugins: Mapping[str, str]) -> dict[str, Any] | None:
    """The decision with this sequence number in the log; None if there is none.

    `plugins` is name of a filter or score -> what it does; one that it does not name is described by nothing.
    Everything of a score is parallel to `nodes`.
    """
    found = decisions.filter(pc.equal(decisions.column("seq"), seq))
    if not found.num_rows:
        return None
    made = found.slice(0, 1)
    entry = entries(made)[0]
    detail = json.loads(made.column("detail")[0].as_py())
    counts = json.loads(made.column("refused_counts")[0].as_py())
    named = detail["refused"]
    return {
        **entry,
        "needed_images": detail["needed_images"],
        "nodes": detail["nodes"],
        "totals": detail["totals"],
        "ranks": ranks(detail["totals"]),
        "scores": [_score(one, plugins) for one in detail["scores"]],
        "refusals": [
            {
                "filter": name,
                "description": plugins.get(name, ""),
                "count": counts.get(name, len(named.get(name, ()))),
                "nodes": named.get(name, []),
            }
            for name in dict.fromkeys([*counts, *named])
        ],
    }


def ranks(totals: Sequence[float | None]) -> list[int | None]:
    """Place of each total, the highest first. Equals share a place, so that a choice among equals is seen as one."""
    places: dict[float, int] = {}
    for place, total in enumerate(sorted((one for one in totals if one is not None), reverse=True), start=1):
        places.setdefault(total, place)
    return [None if total is None else places[total] for total in totals]


def _score(given: Mapping[str, Any], plugins: Mapping[str, str]) -> dict[str, Any]:
    normalised, weight = given["normalised"], given["weight"]
    return {
        "plugin": given["plugin"],
        "description": plugins.get(given["plugin"], ""),
        "weight": weight,
        # A log leaves out the raw values of a score that does not normalise: they are the same.
        "raw": given.get("raw") or normalised,
        "normalised": normalised,
        "weighted": [None if one is None or weight is None else one * weight for one in normalised],
    }
