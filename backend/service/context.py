"""What all routes share: the store, the runner and the revisions. One per app, no globals."""

from dataclasses import dataclass, field
from typing import Annotated, cast

from fastapi import Depends, Request

from backend.experiments.runner import Runner
from backend.service.launches import Launches
from backend.service.revisions import Revisions
from backend.store.store import Store


@dataclass
class Service:
    """The parts of a running service."""

    store: Store
    runner: Runner
    launches: Launches
    revisions: Revisions = field(default_factory=Revisions)

    def revision(self, run: str) -> int:
        """The revision of a run: rises with its status, its progress and its log. Raises UnknownError."""
        row = self.store.run(run)
        state = (row.status, row.progress, row.ended_at, row.error)
        return self.revisions.of(run, state)


def _service(request: Request) -> Service:
    return cast(Service, request.app.state.service)


Here = Annotated[Service, Depends(_service)]
"""The service, as a parameter of a route."""
