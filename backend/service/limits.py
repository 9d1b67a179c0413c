"""How large the body of a request may be, counted as it arrives, so that a chunked body has no way around it."""

import contextlib
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from backend.service.problems import error_response, field_error, request_id_of

SPECIFICATION_BYTES = 1024 * 1024
"""1 MiB: a specification with 10,000 jobs spelled out has about half of it."""
UPLOAD_BYTES = 200 * 1024 * 1024
"""200 MiB: a bundle of a run with 10,000 jobs on 500 nodes has about a tenth of it."""
DRAINED_BYTES = 256 * 1024 * 1024
"""What is read and thrown away behind a refused body, so that an ordinary client comes to read the answer."""
SPECIFICATION_PATHS = frozenset({"/api/v1/experiments", "/api/v1/experiments/validate"})


def limit_of(path: str) -> int:
    """Bytes that a body sent to a path may have."""
    return UPLOAD_BYTES if path == "/api/v1/import" else SPECIFICATION_BYTES


class BodyTooLargeError(Exception):
    """Raised into the application by `receive` once the body is over the limit."""


class BodyLimit:
    """ASGI: answers 413 to a body over the limit; 422 with a field error where the body is a specification."""

    def __init__(self, app: ASGIApp, limit: Callable[[str], int] = limit_of) -> None:
        self.app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, counting what it sends."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit = self._limit(scope["path"])
        announced = _announced(scope)
        received = 0
        answered = ended = False
        over = announced > limit

        async def counted() -> Message:
            nonlocal received, over, ended
            message = await receive()
            ended = not message.get("more_body", False)
            received += len(message.get("body", b""))
            if received > limit:
                over = True
                raise BodyTooLargeError
            return message

        async def noted(message: Message) -> None:
            nonlocal answered
            if over and not answered:
                return  # what a framework makes of BodyTooLargeError; ours follows
            answered = True
            await send(message)

        if not over:
            with contextlib.suppress(BodyTooLargeError):
                await self.app(scope, counted, noted)
        if over and not answered:
            if not ended:
                received = await _drain(receive, received)
            await _refusal(scope, limit, max(received, announced))(scope, receive, send)


async def _drain(receive: Receive, received: int) -> int:
    while received <= DRAINED_BYTES:
        message = await receive()
        received += len(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body", False):
            break
    return received


def _announced(scope: Scope) -> int:
    for key, value in scope["headers"]:
        if key == b"content-length" and value.isdigit():
            return int(value)
    return 0


def _refusal(scope: Scope, limit: int, size: int) -> ASGIApp:
    message = f"The body has {size} bytes or more; at most {limit} bytes ({limit // 1024**2} MiB) are taken here."
    if scope["path"] in SPECIFICATION_PATHS and scope["method"] == "POST":
        errors = [field_error("specification", f"{size} bytes", "is too large", f"at most {limit} bytes")]
        return error_response(422, message, errors, request_id_of(scope))
    return error_response(413, message, (), request_id_of(scope))
