"""Errors as JSON: one form for all of them, with a request id and never a traceback.

`{"error": {"message": ..., "errors": [{"field", "value", "message", "allowed"}], "request_id": ...}}`
"""

import logging
import re
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

REQUEST_ID_HEADER = "X-Request-Id"
_REQUEST_ID = re.compile(r"[A-Za-z0-9-]{1,64}")
_SHOWN_VALUE = 200
"""Characters of a refused value that an answer repeats; a hostile value could be a megabyte."""

_logger = logging.getLogger(__name__)


class Problem(Exception):  # noqa: N818 (it is the answer to a request, not a fault of ours)
    """A request that cannot be done, with the status and the sentence the client gets."""

    def __init__(self, status: int, message: str, errors: Sequence[dict[str, Any]] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.errors = list(errors)


def field_error(field: str, value: Any, message: str, allowed: str = "") -> dict[str, Any]:
    """One entry of `errors`; long values are cut."""
    text = value if isinstance(value, str | int | float | bool) or value is None else repr(value)
    if isinstance(text, str) and len(text) > _SHOWN_VALUE:
        text = text[:_SHOWN_VALUE] + "…"
    return {"field": field, "value": text, "message": message, "allowed": allowed}


def error_body(message: str, errors: Sequence[dict[str, Any]] = (), request_id: str = "") -> bytes:
    """The JSON of an error; numbers that JSON does not have become null."""
    return msgspec.json.encode({"error": {"message": message, "errors": list(errors), "request_id": request_id}})


def error_response(status: int, message: str, errors: Sequence[dict[str, Any]] = (), request_id: str = "") -> Response:
    """An error as a response."""
    return Response(
        error_body(message, errors, request_id),
        status_code=status,
        media_type="application/json",
        headers={REQUEST_ID_HEADER: request_id} if request_id else None,
    )


def request_id_of(scope: Scope) -> str:
    """The id that `RequestId` gave to a request."""
    return str(scope.get("podshift_request_id", ""))


class RequestId:
    """ASGI: gives each request an id (the gateway's, if it sent a proper one) and repeats it in the answer."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its id."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = next((v.decode("latin-1") for k, v in scope["headers"] if k == b"x-request-id"), "")
        request_id = given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex[:16]
        scope["podshift_request_id"] = request_id

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[REQUEST_ID_HEADER] = request_id
            await send(message)

        await self.app(scope, receive, send_with_id)


class FieldFault(BaseModel):
    """One thing that is wrong with a request."""

    field: str
    value: str | int | float | bool | None
    message: str
    allowed: str


class Fault(BaseModel):
    """Why a request was not done."""

    message: str
    errors: list[FieldFault] = Field(description="what is wrong with which field; empty where it is no field's fault")
    request_id: str


class ErrorAnswer(BaseModel):
    """The answer to a request that was not done."""

    error: Fault


_MEANINGS = {
    401: "the token is missing or another one",
    403: "the host or the origin of the request is none of this service's",
    404: "there is nothing of that id",
    409: "the state of what is there does not allow it",
    413: "the body is too large",
    415: "the body is not sent in the form that is asked for",
    422: "the request is not valid; `errors` says where",
    503: "the store cannot be used",
}


def answers(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors that a route answers with, for its documentation."""
    return {status: {"model": ErrorAnswer, "description": _MEANINGS[status]} for status in statuses}


def _field_error(error: Mapping[str, Any]) -> dict[str, Any]:
    if error["type"] == "json_invalid":  # its place is not the name of a field but how many characters come before it
        problem = f"is no JSON: {error['ctx']['error']} at character {error['loc'][-1] + 1}"
        return field_error("body", None, problem, "a JSON object")
    return field_error(".".join(str(part) for part in error["loc"][1:]) or "body", error.get("input"), error["msg"])


def install(app: FastAPI) -> None:
    """Register the handlers that turn every exception into an error of the one form."""

    @app.exception_handler(Problem)
    async def _problem(request: Request, problem: Problem) -> Response:
        return error_response(problem.status, problem.message, problem.errors, request_id_of(request.scope))

    @app.exception_handler(RequestValidationError)
    async def _invalid(request: Request, invalid: RequestValidationError) -> Response:
        errors = [_field_error(error) for error in invalid.errors()]
        message = "The request is not valid: " + "; ".join(f"{e['field']}: {e['message']}" for e in errors[:5]) + "."
        return error_response(422, message, errors, request_id_of(request.scope))

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> Response:
        if error.status_code == 400 and request.method not in ("GET", "HEAD"):
            # What FastAPI says of a body it cannot read.
            message = "The body cannot be read as JSON."
            allowed = "a JSON object that is not nested too deep and has no number of thousands of digits"
            errors = [field_error("body", None, message, allowed)]
            return error_response(422, message, errors, request_id_of(request.scope))
        where = f"{request.method} {request.url.path}"
        sentence = {404: f"There is nothing at {where}.", 405: f"{where} is not allowed."}.get(error.status_code)
        response = error_response(error.status_code, sentence or str(error.detail), (), request_id_of(request.scope))
        response.headers.update(error.headers or {})
        return response

    @app.exception_handler(Exception)
    async def _fault(request: Request, fault: Exception) -> Response:
        request_id = request_id_of(request.scope)
        _logger.error("request %s: %s %s: %r", request_id, request.method, request.url.path, fault)
        message = f"The service failed on this request; its log names the cause under request id {request_id}."
        return error_response(500, message, (), request_id)
