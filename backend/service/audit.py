"""Who did what: one line in the store for each launch, stop, change, deletion and import."""

from typing import Any

from fastapi import Request

from backend.service.context import Service
from backend.service.problems import request_id_of

USER = "local"
"""Everyone who reaches the loopback address is this user; a header that claims otherwise is not believed."""


def note(service: Service, request: Request, action: str, target: str, **parameters: Any) -> None:
    """Add a line to the audit log."""
    service.store.append_audit(
        user=USER,
        source=request.client.host if request.client is not None else "",
        action=action,
        target=target,
        parameters=parameters,
        result="done",
        request_id=request_id_of(request.scope),
    )
