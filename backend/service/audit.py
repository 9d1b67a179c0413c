"""Who did what: one line in the store for each launch, stop, change, deletion and import."""

from typing import Any

from fastapi import Request

from backend.service.context import Service
from backend.service.problems import request_id_of

ACTOR = "local"
"""Everyone who reaches the loopback address is this user; a header that claims otherwise is not believed."""


def note(service: Service, request: Request, action: str, target: str, **parameters: Any) -> None:
    """Add a line to the audit."""
    service.store.append_audit(
        action,
        target,
        actor=ACTOR,
        address=request.client.host if request.client is not None else "",
        parameters=parameters,
        request=request_id_of(request.scope),
    )
