"""Jobs, replica sets and deployments: a controller small enough that their pods come, go and are counted."""

import zlib
from collections.abc import Callable
from typing import Any

import msgspec

from backend.embedded.apiserver.deletion import Deletion
from backend.embedded.apiserver.errors import ApiError, Object
from backend.embedded.apiserver.garbage import BACKGROUND, Garbage
from backend.embedded.apiserver.rest import Rest
from backend.embedded.apiserver.store import Change, copied

JOBS, SETS, DEPLOYMENTS = "jobs.batch", "replicasets.apps", "deployments.apps"
_KINDS = {"Job": JOBS, "ReplicaSet": SETS, "Deployment": DEPLOYMENTS}
_HASH = "pod-template-hash"


def ready(pod: Object) -> bool:
    """Whether a pod is ready, by its condition."""
    conditions = pod.get("status", {}).get("conditions") or ()
    return any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions)


def _phase(pod: Object) -> str:
    phase: str = pod.get("status", {}).get("phase", "Pending")
    return phase


def _running(pods: list[Object]) -> list[Object]:
    return [p for p in pods if _phase(p) not in ("Succeeded", "Failed") and not p["metadata"].get("deletionTimestamp")]


class Workloads:
    """Brings what is there in line with what a job, a replica set or a deployment asks for."""

    def __init__(self, rest: Rest, deletion: Deletion, garbage: Garbage) -> None:
        self._rest = rest
        self._deletion = deletion
        self._garbage = garbage
        # In the order of arrival, each once.
        self._due: dict[tuple[str, str, str], None] = {}
        self._steps: dict[str, Callable[[Object], None]] = {
            JOBS: self._job,
            SETS: self._set,
            DEPLOYMENTS: self._deployment,
        }

    def observe(self, change: Change) -> None:
        """Take note of a change."""
        metadata = change.obj["metadata"]
        if change.collection in self._steps:
            self._due[change.collection, metadata["namespace"], metadata["name"]] = None
        if change.collection in ("pods", SETS):
            for owner in metadata.get("ownerReferences") or ():
                if owner.get("controller") and owner["kind"] in _KINDS:
                    self._due[_KINDS[owner["kind"]], metadata["namespace"], owner["name"]] = None

    def work(self) -> None:
        """Bring everything that was touched in line."""
        due, self._due = self._due, {}
        for collection, namespace, name in due:
            obj = self._rest.store.get(collection, namespace, name)
            if obj is not None and not obj["metadata"].get("deletionTimestamp"):
                try:
                    self._steps[collection](obj)
                except ApiError as problem:
                    # The namespace is going, or something was quicker: the next change brings us back.
                    if problem.code not in (403, 404, 409):
                        raise

    def _child(self, kind: str, owner: Object, name: Object, template: Object) -> Object:
        """A new object owned by another."""
        metadata = copied(template.get("metadata") or {})
        reference = {
            "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"], "controller": True, "blockOwnerDeletion": True,
        }  # fmt: skip
        body = {"metadata": metadata | name | {"ownerReferences": [reference]}, "spec": copied(template["spec"])}
        return self._rest.create(self._rest.registry.named(kind), owner["metadata"]["namespace"], body)

    def _remove(self, collection: str, obj: Object) -> None:
        resource = self._rest.registry.named(collection)
        self._deletion.delete(resource, obj["metadata"]["namespace"], obj["metadata"]["name"], BACKGROUND)

    def _status(self, collection: str, obj: Object, status: Object) -> None:
        resource = self._rest.registry.named(collection)
        merged = {k: v for k, v in {**obj.get("status", {}), **status}.items() if v is not None}
        namespace, name = obj["metadata"]["namespace"], obj["metadata"]["name"]
        self._rest.mutate(resource, namespace, name, lambda old: {**old, "status": merged}, "status")

    def _condition(self, obj: Object, kind: str, value: str, reason: str, message: str) -> list[Object]:
        """The object's conditions with one of them set; its time moves only when its value does."""
        have = obj.get("status", {}).get("conditions") or []
        if any(c["type"] == kind and c["status"] == value for c in have):
            return list(have)
        now = self._rest.now()
        new = {"type": kind, "status": value, "reason": reason, "message": message, "lastTransitionTime": now}
        return [c for c in have if c["type"] != kind] + [new]

    def _job(self, job: Object) -> None:
        spec, pods = job["spec"], self._garbage.dependents(job["metadata"]["uid"], "pods")
        succeeded = sum(_phase(pod) == "Succeeded" for pod in pods)
        failed = sum(_phase(pod) == "Failed" for pod in pods)
        active = _running(pods)
        over = {c["type"] for c in job.get("status", {}).get("conditions") or () if c["status"] == "True"}
        status: dict[str, Any] = {"startTime": job.get("status", {}).get("startTime") or self._rest.now()}
        if not over & {"Complete", "Failed"}:
            # Without a number of completions one success is enough, once the others have ended too.
            enough = succeeded >= spec["completions"] if spec.get("completions") else succeeded > 0 and not active
            if enough:
                status["conditions"] = self._condition(
                    job, "Complete", "True", "CompletionsReached", "Reached expected number of succeeded pods"
                )
                status["completionTime"] = self._rest.now()
            elif failed > spec["backoffLimit"]:
                message = "Job has reached the specified backoff limit"
                status["conditions"] = self._condition(job, "Failed", "True", "BackoffLimitExceeded", message)
                for pod in active:
                    self._remove("pods", pod)
                active = []
            else:
                active = self._parallel(job, active, succeeded)
        up = sum(ready(pod) for pod in active)
        status |= {"active": len(active) or None, "succeeded": succeeded or None, "failed": failed or None, "ready": up}
        self._status(JOBS, job, status)

    def _parallel(self, job: Object, active: list[Object], succeeded: int) -> list[Object]:
        """Start or stop pods until as many are active as the job asks for."""
        spec = job["spec"]
        wanted = 0 if spec.get("suspend") else spec["parallelism"]
        if spec.get("completions") is not None:
            wanted = min(wanted, spec["completions"] - succeeded)
        elif succeeded:
            wanted = len(active)
        for pod in active[wanted:]:
            self._remove("pods", pod)
        prefix = {"generateName": job["metadata"]["name"] + "-"}
        new = [self._child("pods", job, prefix, spec["template"]) for _ in range(wanted - len(active))]
        return active[:wanted] + new

    def _set(self, replica_set: Object) -> None:
        spec, pods = replica_set["spec"], self._garbage.dependents(replica_set["metadata"]["uid"], "pods")
        # Those that are furthest from being of use go first.
        active = sorted(_running(pods), key=lambda p: (not ready(p), not p["spec"].get("nodeName")))
        wanted = spec["replicas"]
        for pod in active[wanted:]:
            self._remove("pods", pod)
        prefix = {"generateName": replica_set["metadata"]["name"] + "-"}
        for _ in range(wanted - len(active)):
            active.append(self._child("pods", replica_set, prefix, spec["template"]))
        active = active[:wanted]
        up = sum(ready(pod) for pod in active)
        counts = {"replicas": len(active), "fullyLabeledReplicas": len(active) or None}
        ready_counts = {"readyReplicas": up or None, "availableReplicas": up or None}
        generation = {"observedGeneration": replica_set["metadata"]["generation"]}
        self._status(SETS, replica_set, counts | ready_counts | generation)

    def _deployment(self, deployment: Object) -> None:
        spec, uid = deployment["spec"], deployment["metadata"]["uid"]
        digest = f"{zlib.crc32(msgspec.json.encode(spec['template'], order='deterministic')):08x}"
        sets = self._garbage.dependents(uid, SETS)
        current = next((s for s in sets if s["metadata"]["labels"].get(_HASH) == digest), None)
        if current is None:
            current = self._revision(deployment, digest, len(sets) + 1)
        if current["spec"]["replicas"] != spec["replicas"]:
            current = self._scaled(current, spec["replicas"])
        up = current.get("status", {}).get("readyReplicas", 0)
        # The old revision serves until the new one can.
        if up >= spec["replicas"]:
            for old in sets:
                if old["metadata"]["uid"] != current["metadata"]["uid"] and old["spec"]["replicas"]:
                    self._scaled(old, 0)
        total = sum(s.get("status", {}).get("replicas", 0) for s in self._garbage.dependents(uid, SETS))
        least = spec["replicas"] > up
        conditions = self._condition(
            deployment,
            "Available",
            "False" if least else "True",
            "MinimumReplicasUnavailable" if least else "MinimumReplicasAvailable",
            f"Deployment {'does not have' if least else 'has'} minimum availability.",
        )
        status = {
            "observedGeneration": deployment["metadata"]["generation"], "replicas": total or None,
            "updatedReplicas": current.get("status", {}).get("replicas") or None, "readyReplicas": up or None,
            "availableReplicas": up or None, "unavailableReplicas": max(spec["replicas"] - up, 0) or None,
            "conditions": conditions,
        }  # fmt: skip
        self._status(DEPLOYMENTS, deployment, status)

    def _revision(self, deployment: Object, digest: str, number: int) -> Object:
        """The replica set of the deployment's present template."""
        spec, template = deployment["spec"], copied(deployment["spec"]["template"])
        labels = template.setdefault("metadata", {}).setdefault("labels", {})
        labels[_HASH] = digest
        selector = copied(spec["selector"])
        selector.setdefault("matchLabels", {})[_HASH] = digest
        body = {
            "metadata": {
                "labels": dict(labels), "annotations": {"deployment.kubernetes.io/revision": str(number)},
            },
            "spec": {"replicas": spec["replicas"], "selector": selector, "template": template},
        }  # fmt: skip
        name = f"{deployment['metadata']['name']}-{digest}"
        return self._child(SETS, deployment, {"name": name}, body)

    def _scaled(self, replica_set: Object, replicas: int) -> Object:
        namespace, name = replica_set["metadata"]["namespace"], replica_set["metadata"]["name"]

        def change(old: Object) -> Object:
            return {**old, "spec": {**old["spec"], "replicas": replicas}}

        return self._rest.mutate(self._rest.registry.named(SETS), namespace, name, change)
