"""Forwards /api/* to the backend, so that a browser speaks to one address and never sees the token."""

from collections.abc import Iterator

import requests
from flask import Blueprint, Response, jsonify, request, stream_with_context
from werkzeug.wsgi import LimitedStream

from dashboard.source import CONNECT_S, Source

ANSWER_S = 120.0
"""Exports of long runs take a while until their first byte."""
CHUNK = 64 * 1024
BODY_LIMIT = 200 * 1024 * 1024
"""The largest bundle the backend takes; more is refused here already."""
_FORWARDED = ("Accept", "Content-Type", "If-None-Match", "X-Request-Id", "Idempotency-Key", "Range")
_RETURNED = (
    "Content-Type", "Content-Length", "Content-Disposition", "ETag", "Last-Modified", "Cache-Control", "Location",
    "Retry-After", "X-Request-Id", "Allow", "Accept-Ranges", "Content-Range",
)  # fmt: skip


def blueprint(source: Source, prefix: str) -> Blueprint:
    """Routes under `prefix` + api/. Only named headers pass in either direction; Origin stays here, it was checked."""
    gateway = Blueprint("gateway", __name__)

    @gateway.route(f"{prefix}api/<path:path>", methods=["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"])
    def forward(path: str) -> Response | tuple[Response, int]:
        size = request.content_length or 0
        if size > BODY_LIMIT:
            return _error(413, f"The body is {size:,} bytes; at most {BODY_LIMIT:,} are taken.")
        headers = {name: request.headers[name] for name in _FORWARDED if name in request.headers}
        # Bytes pass through as the backend made them; compression is for the last hop.
        headers |= source.headers | {"Accept-Encoding": "identity"}
        try:
            answer = source.session().request(
                request.method,
                f"{source.backend_url}/api/{path}",
                params=request.query_string.decode("latin-1"),
                headers=headers,
                data=_body(size),
                timeout=(CONNECT_S, ANSWER_S),
                stream=True,
                allow_redirects=False,
            )
        except requests.Timeout:
            return _error(504, f"The backend at {source.backend_url} did not answer within {ANSWER_S:g} s.")
        except requests.RequestException:
            return _error(502, f"The backend at {source.backend_url} cannot be reached. It may be starting; try again.")
        kept = {name: answer.headers[name] for name in _RETURNED if name in answer.headers}
        return Response(stream_with_context(_chunks(answer)), status=answer.status_code, headers=kept)

    return gateway


def _body(size: int) -> LimitedStream | None:
    """The body as a stream that knows its length, so that an upload is never held in memory."""
    if not size:
        return None
    stream = LimitedStream(request.environ["wsgi.input"], size)
    stream.__dict__["len"] = size  # how requests learns the Content-Length of a stream
    return stream


def _chunks(answer: requests.Response) -> Iterator[bytes]:
    try:
        yield from answer.iter_content(CHUNK)
    finally:
        answer.close()


def _error(status: int, message: str) -> tuple[Response, int]:
    return jsonify({"error": {"message": message, "errors": []}}), status
