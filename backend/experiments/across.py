"""Faults between fields of a document that has other faults as well.

Models check what stands between their fields once each field is right. So that a person hears of everything at once,
`suspect` looks at the same things in a document that is not right yet, where its parts can be read at all.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from backend.experiments.errors import FieldError, closest, shorten
from backend.experiments.limits import MAX_NODES


def suspect(document: Mapping[str, Any], faulty: Collection[str]) -> list[FieldError]:
    """The faults between fields that can be seen in a document as it is written; `faulty` are fields known as wrong."""
    cluster, workload = _mapping(document.get("cluster")), _mapping(document.get("workload"))
    found = [
        *_twice(document.get("arms"), "arms", "arm"),
        *_twice(cluster.get("nodes"), "cluster.nodes", "node"),
        *_twice(workload.get("jobs"), "workload.jobs", "job"),
        *_unknown_nodes(cluster),
        *([] if "workload.jobs" in faulty else _counts(workload)),
        *_lonely_pin(document),
    ]
    return [error for error in found if error.field not in faulty]


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _twice(entries: Any, path: str, noun: str) -> Iterator[FieldError]:
    places: dict[str, int] = {}
    for place, entry in enumerate(entries if isinstance(entries, list) else []):
        name = _mapping(entry).get("name")
        if not isinstance(name, str):
            continue
        if name in places:
            message = f"two {noun}s are called '{name[:60]}' (entries {places[name]} and {place})"
            yield FieldError(f"{path}.{place}.name", shorten(name), message, f"a name for each {noun}")
        places.setdefault(name, place)


def _unknown_nodes(cluster: Mapping[str, Any]) -> Iterator[FieldError]:
    groups = cluster.get("nodes")
    groups = groups if isinstance(groups, list) else [groups]
    faults = cluster.get("faults")
    names: set[str] = set()
    used: dict[str, int] = {}
    for group in map(_mapping, groups):
        if isinstance(group.get("name"), str):
            names.add(group["name"])
            continue
        prefix, count = group.get("prefix", "node"), group.get("count", 1)
        if not isinstance(prefix, str) or not isinstance(count, int) or not 0 < count <= MAX_NODES:
            return
        start = used.get(prefix, 0)
        used[prefix] = start + count
        names.update(f"{prefix}-{number}" for number in range(start + 1, start + count + 1))
    unknown = 0
    for place, entry in enumerate(faults if isinstance(faults, list) else []):
        node = _mapping(entry).get("node")
        if isinstance(node, str) and node not in names:
            message = f"no node is called '{node[:60]}'{closest(node, names, unknown)}"
            unknown += 1
            yield FieldError(f"cluster.faults.{place}.node", shorten(node), message, "a node of the cluster")


def _counts(workload: Mapping[str, Any]) -> Iterator[FieldError]:
    at, jobs = _mapping(workload.get("submissions")).get("at"), workload.get("jobs")
    count = len(jobs) if isinstance(jobs, list) else jobs
    if isinstance(at, list) and at and isinstance(count, int) and not isinstance(count, bool) and len(at) != count > 0:
        message = f"has {len(at)} times for {count} jobs"
        yield FieldError("workload.submissions.at", shorten(at), message, f"{count} times, or leave out jobs")


def _lonely_pin(document: Mapping[str, Any]) -> Iterator[FieldError]:
    arms = document.get("arms")
    if document.get("pin_initial_placement") is True and isinstance(arms, list) and len(arms) == 1:
        message = "needs a first arm whose placement a second one takes over, and there is one arm"
        yield FieldError("pin_initial_placement", "true", message, "false, or two arms")
