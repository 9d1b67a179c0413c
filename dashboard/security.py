"""What every answer of the dashboard carries, and which requests it refuses before anything else looks at them."""

from collections.abc import Collection, Sequence
from urllib.parse import urlsplit

from flask import Flask, Response, jsonify, request

READING = frozenset({"GET", "HEAD", "OPTIONS"})


def protect(server: Flask, script_hashes: Sequence[str], hosts: Collection[str] = ()) -> None:
    """Add the guard and the headers. `hosts`: names the dashboard answers to; empty means any."""
    policy = content_policy(script_hashes)
    allowed = {name.lower() for name in hosts}

    @server.before_request
    def _refuse_strangers() -> tuple[Response, int] | None:
        if allowed and _name(request.host) not in allowed:
            return _refusal(400, f"The dashboard does not answer to the name {request.host[:100]!r}.")
        if request.method not in READING and not same_origin(request.headers.get("Origin"), request.host_url):
            return _refusal(403, "A page of another site may not change anything here (the Origin header differs).")
        return None

    @server.after_request
    def _headers(response: Response) -> Response:
        response.headers.setdefault("Content-Security-Policy", policy)
        response.headers.setdefault("X-Content-Type-Options", "nosniff")
        response.headers.setdefault("X-Frame-Options", "DENY")
        response.headers.setdefault("Referrer-Policy", "same-origin")
        response.headers.setdefault("Cross-Origin-Opener-Policy", "same-origin")
        response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        response.headers.setdefault("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
        return response


def content_policy(script_hashes: Sequence[str]) -> str:
    """The Content-Security-Policy: everything from here, Dash's own inline scripts by their hashes.

    Inline styles are allowed because Mantine, plotly.js and AG Grid write them; images and workers from data and blob
    because plotly.js draws pictures for download that way.
    """
    scripts = " ".join(["'self'", *(f"'{value.strip(chr(39))}'" for value in script_hashes)])
    return "; ".join(
        [
            "default-src 'self'",
            f"script-src {scripts}",
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "connect-src 'self'",
            "worker-src 'self' blob:",
            "object-src 'none'",
            "base-uri 'self'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        ]
    )


def same_origin(origin: str | None, host_url: str) -> bool:
    """Whether a request that changes something comes from our own page: scheme, host and port all equal.

    No Origin means no browser page sent it (browsers always send it with such requests).
    Cookies and SameSite ignore ports, so the port is what tells a notebook on the same host from us.
    """
    if origin is None:
        return True
    given, own = urlsplit(origin), urlsplit(host_url)
    return (given.scheme, given.netloc.lower()) == (own.scheme, own.netloc.lower())


def _name(host: str) -> str:
    return (urlsplit(f"//{host}").hostname or "").lower()


def _refusal(status: int, message: str) -> tuple[Response, int]:
    return jsonify({"error": {"message": message, "errors": []}}), status
