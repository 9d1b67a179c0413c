"""The small controllers of a cluster, told of every change and run after it."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from backend.embedded.apiserver.deletion import DeleteOptions, Deletion
from backend.embedded.apiserver.errors import ApiError
from backend.embedded.apiserver.rest import Rest
from backend.embedded.apiserver.store import Change


class Part(Protocol):
    """One controller. Only ever called from one thread at a time."""

    def observe(self, change: Change) -> None:
        """Take note of a change."""

    def work(self) -> None:
        """Do what has become due. Its own writes come back as changes."""


class Housekeeping:
    """Collects the changes as they are written, and lets the parts work on them in their own time.

    The writer only appends to a queue: a controller that deletes ten thousand pods must not do so inside the
    request that deleted their owner.
    """

    def __init__(self, parts: Sequence[Part], wake: Callable[[], None]) -> None:
        self._parts = parts
        self._wake = wake
        self._changes: deque[Change] = deque()

    def observe(self, change: Change) -> None:
        """Queue a change and ask to be run."""
        self._changes.append(change)
        self._wake()

    def run(self) -> None:
        """Work until nothing more is due."""
        while self._changes:
            while self._changes:
                change = self._changes.popleft()
                for part in self._parts:
                    part.observe(change)
            for part in self._parts:
                part.work()


class Reaper:
    """Finishes the pods that are being deleted when no kubelet does: at once, as nothing runs in them."""

    def __init__(self, rest: Rest, deletion: Deletion) -> None:
        self._rest = rest
        self._deletion = deletion
        self._due: list[tuple[str, str]] = []
        self.active = True

    def observe(self, change: Change) -> None:
        """Take note of a change."""
        if change.collection == "pods" and change.type == "MODIFIED":
            metadata = change.obj["metadata"]
            if metadata.get("deletionTimestamp") and metadata.get("deletionGracePeriodSeconds"):
                self._due.append((metadata["namespace"], metadata["name"]))

    def work(self) -> None:
        """Finish them."""
        due, self._due = self._due, []
        if not self.active:
            return
        resource = self._rest.registry.named("pods")
        for namespace, name in due:
            try:
                self._deletion.delete(resource, namespace, name, DeleteOptions(grace_s=0))
            except ApiError as problem:
                if problem.code != 404:
                    raise
