"""PodDisruptionBudgets: how many pods may be taken away now, and the eviction that asks first."""

import math
from typing import Any

from backend.embedded.apiserver import selectors
from backend.embedded.apiserver.deletion import DeleteOptions, Deletion
from backend.embedded.apiserver.errors import ApiError, Object
from backend.embedded.apiserver.resources import Resource
from backend.embedded.apiserver.rest import Rest
from backend.embedded.apiserver.store import Change
from backend.embedded.apiserver.workloads import ready

BUDGETS = "poddisruptionbudgets.policy"


def _share(value: Any, total: int) -> int:
    """A number, or a percentage of a total, rounded up as the real controller does."""
    if isinstance(value, str):
        return math.ceil(int(value.rstrip("%")) * total / 100)
    return int(value)


class Budgets:
    """Keeps the budgets' status, and evicts pods within them."""

    def __init__(self, rest: Rest, deletion: Deletion) -> None:
        self._rest = rest
        self._store = rest.store
        self._deletion = deletion
        self._due: set[tuple[str, str]] = set()

    def observe(self, change: Change) -> None:
        """Take note of a change."""
        namespace = change.obj["metadata"].get("namespace", "")
        if change.collection == BUDGETS:
            self._due.add((namespace, change.obj["metadata"]["name"]))
        elif change.collection == "pods" and self._store.count(BUDGETS):
            # Counting looks at every pod, so only a pod that a budget covers may cause it.
            self._due.update((namespace, b["metadata"]["name"]) for b in self._covering(change.obj, namespace))

    def work(self) -> None:
        """Count again what changed."""
        due, self._due = self._due, set()
        resource = self._rest.registry.named(BUDGETS)
        for namespace, name in due:
            budget = self._store.get(BUDGETS, namespace, name)
            if budget is not None:
                status = self._counted(budget)
                try:
                    self._rest.mutate(resource, namespace, name, lambda old, s=status: {**old, "status": s}, "status")  # type: ignore[misc]
                except ApiError as problem:
                    # Deleted in this very moment.
                    if problem.code != 404:
                        raise

    def _covering(self, pod: Object, namespace: str) -> list[Object]:
        """The budgets whose selector chooses a pod."""
        return [
            budget
            for budget in self._store.items(BUDGETS, namespace)
            if selectors.structured((budget.get("spec") or {}).get("selector"))(pod)
        ]

    def _counted(self, budget: Object) -> Object:
        """A budget's status from the pods as they are."""
        spec, namespace = budget.get("spec") or {}, budget["metadata"]["namespace"]
        chosen = selectors.structured(spec.get("selector"))
        pods = [
            pod
            for pod in self._store.items("pods", namespace)
            if chosen(pod) and pod["status"].get("phase") not in ("Succeeded", "Failed")
        ]
        healthy = sum(ready(pod) and not pod["metadata"].get("deletionTimestamp") for pod in pods)
        expected = self._expected(pods)
        if spec.get("maxUnavailable") is not None:
            desired = max(expected - _share(spec["maxUnavailable"], expected), 0)
        elif isinstance(spec.get("minAvailable", 1), str):
            desired = _share(spec["minAvailable"], expected)
        else:
            desired, expected = spec.get("minAvailable", 1), len(pods)
        return {
            "currentHealthy": healthy, "desiredHealthy": desired, "expectedPods": expected,
            "disruptionsAllowed": max(healthy - desired, 0) if expected else 0,
            "observedGeneration": budget["metadata"].get("generation", 1),
        }  # fmt: skip

    def _expected(self, pods: list[Object]) -> int:
        """How many pods there should be: what their controllers ask for, and one for a pod without any."""
        wanted: dict[str, int] = {}
        for pod in pods:
            owner = next((o for o in pod["metadata"].get("ownerReferences") or () if o.get("controller")), None)
            if owner is None:
                wanted[pod["metadata"]["uid"]] = 1
                continue
            kind = self._rest.registry.of_kind(owner["apiVersion"], owner["kind"])
            found = self._store.get(kind.stored_as, pod["metadata"]["namespace"], owner["name"]) if kind else None
            spec = (found or {}).get("spec") or {}
            wanted[owner["uid"]] = spec.get("replicas", spec.get("parallelism", 1))
        return sum(wanted.values())

    def evict(self, pods: Resource, namespace: str, name: str, options: DeleteOptions) -> None:
        """Delete a pod unless a budget forbids it.

        Raises:
            ApiError: 404, 409 for a precondition, 429 when a budget allows no disruption now, 500 when several
                budgets cover the pod.
        """
        with self._store.lock:
            pod = self._rest.get(pods, namespace, name)
            phase = pod["status"].get("phase")
            # A pod that does not serve, or is going anyway, disrupts nothing.
            if phase in ("Pending", "Succeeded", "Failed") or pod["metadata"].get("deletionTimestamp"):
                self._deletion.delete(pods, namespace, name, options)
                return
            covering = self._covering(pod, namespace)
            if len(covering) > 1:
                message = (
                    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
                )
                raise ApiError(500, "InternalError", message)
            if covering and not (not ready(pod) and self._spare(covering[0])):
                self._ask(covering[0])
            self._deletion.delete(pods, namespace, name, options)

    def _spare(self, budget: Object) -> bool:
        """Whether enough other pods are healthy, so that one which is not may go."""
        status = self._counted(budget)
        enough: bool = status["currentHealthy"] >= status["desiredHealthy"] > 0
        return enough

    def _ask(self, budget: Object) -> None:
        status, name = self._counted(budget), budget["metadata"]["name"]
        if status["disruptionsAllowed"] <= 0:
            why = f"needs {status['desiredHealthy']} healthy pods and has {status['currentHealthy']} currently"
            message = f"The disruption budget {name} {why}"
            causes = [{"reason": "DisruptionBudget", "message": message}]
            refusal = "Cannot evict pod as it would violate the pod's disruption budget."
            raise ApiError(429, "TooManyRequests", refusal, {"causes": causes})
