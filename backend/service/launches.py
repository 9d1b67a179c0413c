"""Launching an experiment once, however often the request for it is sent."""

import hashlib
import threading
from collections import OrderedDict

from backend.experiments.runner import Runner, create
from backend.experiments.specification import Specification
from backend.service.problems import Problem
from backend.store.store import Store

KEPT = 1_000
"""Idempotency keys remembered. They guard against double clicks and repeated requests, which come within seconds."""


class Launches:
    """Stores experiments and hands them to the runner. Safe to use from several threads."""

    def __init__(self, store: Store, runner: Runner) -> None:
        self._store = store
        self._runner = runner
        self._lock = threading.Lock()
        self._known: OrderedDict[str, tuple[str, str]] = OrderedDict()
        """Idempotency key -> hash of the specification, experiment."""

    def launch(self, specification: Specification, key: str | None) -> tuple[str, bool]:
        """The id of the experiment, and whether this call stored it.

        The same key again gives the experiment of the first time. Raises Problem (409) if it came with another
        specification then.
        """
        digest = hashlib.sha256(specification.to_yaml().encode()).hexdigest()
        with self._lock:
            if key is not None and key in self._known:
                known_digest, experiment = self._known[key]
                if known_digest != digest:
                    raise Problem(409, f"The idempotency key {key!r} belongs to another specification; use a new key.")
                return experiment, False
            experiment = create(self._store, specification)
            if key is not None:
                self._known[key] = digest, experiment
                if len(self._known) > KEPT:
                    self._known.popitem(last=False)
        self._runner.submit(experiment, specification)
        return experiment, True
