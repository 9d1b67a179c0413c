"""What goes wrong, as the Status bodies that Kubernetes clients understand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from backend.embedded.apiserver.resources import Resource

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Cause:
    """One reason why an object is refused: the field's path, a machine word and a sentence."""

    field: str
    message: str
    reason: str = "FieldValueInvalid"

    def sentence(self) -> str:
        """The cause as it reads inside the message of the whole refusal."""
        return f"{self.field}: {self.message}"


def required(field: str, why: str = "") -> Cause:
    """A field that has to be there."""
    return Cause(field, f"Required value: {why}" if why else "Required value", "FieldValueRequired")


def bad_value(field: str, value: object, why: str) -> Cause:
    """A field whose value is not allowed."""
    shown = f'"{value}"' if isinstance(value, str) else str(value)
    return Cause(field, f"Invalid value: {shown}: {why}")


def forbidden_change(field: str, why: str) -> Cause:
    """A field that may not be set or changed."""
    return Cause(field, f"Forbidden: {why}", "FieldValueForbidden")


class ApiError(Exception):
    """An answer that is not a success: HTTP code, the reason word, a message and the details of the Status."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = dict(details or {})
        self.headers = dict(headers or {})

    def status(self) -> Object:
        """The Status body."""
        body: Object = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "code": self.code,
        }
        if self.details:
            body["details"] = self.details
        return body


def _about(resource: Resource, name: str) -> Object:
    about: Object = {"name": name, "kind": resource.plural}
    if resource.group:
        about["group"] = resource.group
    return about


def not_found(resource: Resource, name: str) -> ApiError:
    """No object of that name."""
    return ApiError(404, "NotFound", f'{resource.qualified} "{name}" not found', _about(resource, name))


def no_such_path() -> ApiError:
    """The server has no such endpoint. The wording is what kubectl looks for."""
    return ApiError(404, "NotFound", "the server could not find the requested resource")


def already_exists(resource: Resource, name: str) -> ApiError:
    """The name is taken."""
    return ApiError(409, "AlreadyExists", f'{resource.qualified} "{name}" already exists', _about(resource, name))


def conflict(resource: Resource, name: str, why: str, causes: Sequence[Object] = ()) -> ApiError:
    """The object is not as the caller thought."""
    message = f'Operation cannot be fulfilled on {resource.qualified} "{name}": {why}'
    details = _about(resource, name)
    if causes:
        details["causes"] = list(causes)
    return ApiError(409, "Conflict", message, details)


def invalid(resource: Resource, name: str, causes: Sequence[Cause]) -> ApiError:
    """The object does not hold up: 422 with every cause."""
    sentences = [cause.sentence() for cause in causes]
    listed = sentences[0] if len(sentences) == 1 else "[" + ", ".join(sentences) + "]"
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    details = _about(resource, name) | {
        "kind": resource.kind,
        "causes": [{"reason": c.reason, "message": c.message, "field": c.field} for c in causes],
    }
    return ApiError(422, "Invalid", f'{kind} "{name}" is invalid: {listed}', details)


def bad_request(message: str) -> ApiError:
    """The request itself makes no sense."""
    return ApiError(400, "BadRequest", message)


def forbidden(resource: Resource, name: str, why: str, causes: Sequence[Object] = ()) -> ApiError:
    """Not allowed now, or not to this user."""
    details = _about(resource, name)
    if causes:
        details["causes"] = list(causes)
    return ApiError(403, "Forbidden", f'{resource.qualified} "{name}" is forbidden: {why}', details)


def unauthorized() -> ApiError:
    """No token, or one that nobody knows."""
    return ApiError(401, "Unauthorized", "Unauthorized")


def expired(message: str) -> ApiError:
    """The history no longer reaches back that far: list again."""
    return ApiError(410, "Expired", message)


def too_large_version(asked: int, current: int) -> ApiError:
    """A version that this server has not reached, from another server or another life of this one."""
    message = f"Too large resource version: {asked}, current: {current}"
    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    return ApiError(504, "Timeout", message, {"causes": causes, "retryAfterSeconds": 1})


def method_not_allowed() -> ApiError:
    """The endpoint exists, the verb does not."""
    return ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")


def unsupported_media(got: str, accepted: Sequence[str]) -> ApiError:
    """A body in a format that is not read here."""
    message = f"the body of the request was in an unknown format ({got}) - accepted media types include: " + ", ".join(
        accepted
    )
    return ApiError(415, "UnsupportedMediaType", message)
