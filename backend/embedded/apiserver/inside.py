"""The door for code in the same process: a kubelet, a simulator, a test.

Every method may be called from any thread. What is written here goes through the same rules as what comes over HTTP,
and is seen by the same watchers.
"""

from collections.abc import Callable

from backend.embedded.apiserver import subresources
from backend.embedded.apiserver.deletion import DeleteOptions, Deletion
from backend.embedded.apiserver.errors import Object
from backend.embedded.apiserver.housekeeping import Reaper
from backend.embedded.apiserver.providers import LogProvider, Logs, Metrics, UsageProvider
from backend.embedded.apiserver.resources import METRICS, Resource
from backend.embedded.apiserver.rest import Rest
from backend.embedded.apiserver.store import Change

OnChange = Callable[[str, Object], None]
"""Called with "ADDED", "MODIFIED" or "DELETED" and the object, which must not be altered."""


class Inside:
    """Objects by the name of their resource ("pods", "jobs.batch"), namespace ("" for none) and name."""

    def __init__(self, rest: Rest, deletion: Deletion, reaper: Reaper, logs: Logs, metrics: Metrics) -> None:
        self._rest = rest
        self._deletion = deletion
        self._reaper = reaper
        self._logs = logs
        self._metrics = metrics

    def _resource(self, name: str) -> Resource:
        return self._rest.registry.named(name)

    def get(self, resource: str, namespace: str, name: str) -> Object | None:
        """One object, or None. It must not be altered."""
        return self._rest.store.get(self._resource(resource).stored_as, namespace, name)

    def items(self, resource: str, namespace: str | None = None) -> list[Object]:
        """All objects (of one namespace). They must not be altered."""
        return self._rest.store.items(self._resource(resource).stored_as, namespace)

    def create(self, resource: str, namespace: str, obj: Object) -> Object:
        """Create an object; `obj` is handed over.

        Raises:
            ApiError: as over HTTP.
        """
        return self._rest.create(self._resource(resource), namespace, obj)

    def mutate(self, resource: str, namespace: str, name: str, change: Callable[[Object], Object]) -> Object:
        """Replace an object's metadata and specification by what `change` makes of it (a new object).

        Raises:
            ApiError: 404, 422.
        """
        return self._rest.mutate(self._resource(resource), namespace, name, change)

    def update_status(self, resource: str, namespace: str, name: str, status: Object, uid: str = "") -> Object:
        """Replace an object's status; with `uid` only if it is still the same object.

        Raises:
            ApiError: 404, 409 for another uid.
        """

        def change(old: Object) -> Object:
            metadata = {**old["metadata"], "uid": uid} if uid else old["metadata"]
            return {**old, "metadata": metadata, "status": status}

        return self._rest.mutate(self._resource(resource), namespace, name, change, "status")

    def bind(self, namespace: str, name: str, node: str) -> None:
        """Give a pod its node.

        Raises:
            ApiError: 404, 409.
        """
        subresources.bind(self._rest, self._resource("pods"), namespace, name, {"target": {"name": node}})

    def delete(self, resource: str, namespace: str, name: str, grace_s: int | None = None, uid: str = "") -> bool:
        """Delete an object. With `grace_s` 0 a kubelet says that a pod's containers have stopped: it goes at once.

        Returns whether it is gone already.

        Raises:
            ApiError: 404, 409 for another uid.
        """
        options = DeleteOptions(grace_s, uid, propagation="Background")
        return self._deletion.delete(self._resource(resource), namespace, name, options)[1]

    def watch(self, resource: str, callback: OnChange) -> Callable[[], None]:
        """Call `callback` with every object there is and then with every change. Returns the function that ends it.

        It is called on the writer's thread, in order and before the writer goes on: it has to be quick (put the
        change into a queue) and must not wait for another thread.
        """
        collection = self._resource(resource).stored_as

        def told(change: Change) -> None:
            if change.collection == collection:
                callback(change.type, change.obj)

        with self._rest.store.lock:
            for obj in self._rest.store.items(collection):
                callback("ADDED", obj)
            return self._rest.store.listen(told)

    def serve_logs(self, provider: LogProvider) -> None:
        """Take the logs of pods from there."""
        self._logs.provider = provider

    def serve_usage(self, provider: UsageProvider) -> None:
        """Take metrics.k8s.io from there; without it the group does not exist."""
        self._metrics.provider = provider
        for resource in METRICS:
            self._rest.registry.add(resource)

    def kubelet_takes_over(self) -> None:
        """From now on somebody else finishes the pods that are being deleted, with `delete(..., grace_s=0)`."""
        self._reaper.active = False
