"""What a pod asks of a node, as kube-scheduler counts it."""

from collections.abc import Iterable
from typing import Any

from backend.model.quantities import cpu_millis, memory_bytes

Json = dict[str, Any]

COUNTED = frozenset({"cpu", "memory"})
UNCOUNTED = frozenset({"ephemeral-storage"})
"""Requests that are left out of account: almost no node runs short of them."""


def pod_requests(spec: Json) -> tuple[int, int]:
    """Millicores and bytes of a pod's spec: containers and sidecars together, or the largest moment of its start if
    that is more; where the pod as a whole names a request that counts instead; overhead comes on top.

    Raises QuantityError.
    """
    return _effective(spec, "cpu", cpu_millis), _effective(spec, "memory", memory_bytes)


def cpu_limit(spec: Json) -> int | None:
    """Millicores that the containers may use together; None if one of them has no limit."""
    total = 0
    for container in spec.get("containers") or ():
        limit = _resources(container, "limits").get("cpu")
        if limit is None:
            return None
        total += cpu_millis(limit)
    return total or None


def other_requests(spec: Json) -> list[str]:
    """Resources asked for besides those that are counted, such as nvidia.com/gpu."""
    named: set[str] = set(_resources(spec, "requests"))
    for container in _containers(spec):
        for where in ("requests", "limits"):
            named.update(name for name, amount in _resources(container, where).items() if str(amount) != "0")
    return sorted(named - COUNTED - UNCOUNTED)


def _effective(spec: Json, resource: str, base_units: Any) -> int:
    def of(container: Json) -> int:
        amount = _resources(container, "requests").get(resource)
        if amount is None:  # a limit without a request is the request too
            amount = _resources(container, "limits").get(resource)
        return 0 if amount is None else int(base_units(amount))

    whole = _resources(spec, "requests").get(resource)
    if whole is not None:
        total = int(base_units(whole))
    else:
        sidecars = start = 0
        for container in spec.get("initContainers") or ():
            if container.get("restartPolicy") == "Always":
                sidecars += of(container)
                start = max(start, sidecars)
            else:
                start = max(start, sidecars + of(container))
        total = max(start, sidecars + sum(of(container) for container in spec.get("containers") or ()))
    overhead = (spec.get("overhead") or {}).get(resource)
    return total + (0 if overhead is None else int(base_units(overhead)))


def _containers(spec: Json) -> Iterable[Json]:
    yield from spec.get("containers") or ()
    yield from spec.get("initContainers") or ()


def _resources(owner: Json, where: str) -> Json:
    return (owner.get("resources") or {}).get(where) or {}
