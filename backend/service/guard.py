"""Who may speak to the API: loopback names only, same origin for changes, and the gateway's token where one is set.

A page on another site can make a browser send requests to 127.0.0.1. It cannot read our token, forge the Host header
(DNS rebinding shows the attacker's name there) or leave out Origin on a request that changes something. The port is
part of an origin: another service on the same host is another origin (ux.md section 4, "CSRF").
"""

import hmac
from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from backend.service.problems import error_response, request_id_of

TOKEN_VARIABLE = "PODSHIFT_API_TOKEN"  # noqa: S105 (the name of the variable, not a token)
"""Environment variable with the secret that gateway and backend share."""
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
OPEN_PATHS = frozenset({"/healthz", "/readyz"})
"""Answer to anyone: they say nothing but that the process lives, and a probe knows neither name nor token."""
_READING = frozenset({"GET", "HEAD", "OPTIONS"})


class Guard:
    """ASGI: refuses a request with a foreign Host or Origin (403) or without the token (401)."""

    def __init__(self, app: ASGIApp, *, token: str | None, hosts: Collection[str], origins: Collection[str]) -> None:
        self.app = app
        self._token = token.encode() if token else None
        self._hosts = LOOPBACK_NAMES | {host.lower() for host in hosts}
        self._origins = {origin.rstrip("/").lower() for origin in origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on if it may pass."""
        refusal = self._refusal(scope) if scope["type"] == "http" and scope["path"] not in OPEN_PATHS else None
        if refusal is None:
            await self.app(scope, receive, send)
            return
        status, message = refusal
        response = error_response(status, message, (), request_id_of(scope))
        if status == 401:
            response.headers["WWW-Authenticate"] = "Bearer"
        await response(scope, receive, send)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
        host = headers.get("host", "")
        name = _host_name(host)
        if name not in self._hosts:
            return 403, (
                f"The host name {host[:100]!r} is not one of this service; use localhost, "
                "or name it with --allow-host when starting the service."
            )
        origin = headers.get("origin")
        if scope["method"] not in _READING and origin is not None and not self._same_origin(origin, host, scope):
            return 403, f"The page at {origin[:100]!r} is another site and may not change anything here."
        if self._token is not None:
            given = headers.get("authorization", "")
            scheme, _, secret = given.partition(" ")
            if scheme.lower() != "bearer" or not hmac.compare_digest(secret.strip().encode(), self._token):
                return 401, f"Send the header Authorization: Bearer with the token from {TOKEN_VARIABLE}."
        return None

    def _same_origin(self, origin: str, host: str, scope: Scope) -> bool:
        wanted = f"{scope.get('scheme', 'http')}://{host}".lower()
        return origin.lower() == wanted or origin.lower() in self._origins


def _host_name(host: str) -> str:
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""
