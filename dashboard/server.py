"""The dashboard as a Flask application: pages, feeds for the poller, and the gateway to the backend.

Nothing is kept at module level: two applications in one process, or several workers, share nothing.
"""

import os
from pathlib import Path
from typing import Any

from dash import Dash
from flask import Flask, Response, jsonify
from flask_caching import Cache
from flask_compress import Compress

from dashboard import feed, gateway, security, shell
from dashboard.callbacks import compare, experiments, new, routing, run
from dashboard.source import Source
from dashboard.urlstate import Links

ASSETS = Path(__file__).resolve().parents[1] / "assets"
DEFAULT_BACKEND = "http://127.0.0.1:8051"
LOOPBACK_NAMES = "localhost,127.0.0.1,::1"
CACHED_ANSWERS = 400
"""Shared answers kept in memory; the oldest go first."""


def create_app(
    backend_url: str | None = None, token: str | None = None, prefix: str | None = None, hosts: str | None = None
) -> Flask:
    """The application, for gunicorn: `dashboard.server:create_app()`.

    What is not given comes from the environment: PODSHIFT_BACKEND_URL, PODSHIFT_API_TOKEN, PODSHIFT_PREFIX (path it is
    served under, such as /dash/), PODSHIFT_HOSTS (names it answers to, with commas, or * for any; loopback names if
    left out, so that a page elsewhere cannot reach it by pointing a name of its own at this machine).
    """
    backend_url = backend_url or os.environ.get("PODSHIFT_BACKEND_URL") or DEFAULT_BACKEND
    token = token or os.environ.get("PODSHIFT_API_TOKEN") or None
    prefix = _slashed(prefix or os.environ.get("PODSHIFT_PREFIX") or "/")
    given = hosts or os.environ.get("PODSHIFT_HOSTS") or LOOPBACK_NAMES
    names = [] if given.strip() == "*" else [name.strip() for name in given.split(",") if name.strip()]

    server = Flask("dashboard")
    server.config["COMPRESS_MIMETYPES"] = [
        "text/html", "text/css", "application/json", "application/javascript", "text/javascript", "text/csv",
    ]  # fmt: skip
    server.config["COMPRESS_ALGORITHM"] = ["gzip"]
    server.config["COMPRESS_LEVEL"] = 5
    Compress(server)
    cache = Cache(server, config={"CACHE_TYPE": "SimpleCache", "CACHE_THRESHOLD": CACHED_ANSWERS})
    source = Source(backend_url, cache, token)
    server.register_blueprint(gateway.blueprint(source, prefix))
    server.register_blueprint(feed.blueprint(source, prefix))

    @server.get("/healthz")
    def healthz() -> Response:
        return jsonify({"status": "ok"})

    app = _dash(server, source, Links(prefix))
    # After all callbacks are known: Dash's inline scripts are part of the policy.
    security.protect(server, app.csp_hashes(), names)
    return server


def _dash(server: Flask, source: Source, links: Links) -> Dash:
    app = Dash(
        "dashboard",
        server=server,
        assets_folder=str(ASSETS),
        requests_pathname_prefix=links.prefix,
        routes_pathname_prefix=links.prefix,
        title="Podshift",
        update_title="",
        suppress_callback_exceptions=True,  # pages come and go; their callbacks are registered from the start
        index_string=shell.INDEX.replace("PREFIX", links.prefix),
        meta_tags=[
            {"name": "viewport", "content": "width=device-width, initial-scale=1"},
            {"name": "color-scheme", "content": "light dark"},
        ],
        compress=False,
        on_error=None,
    )
    frame: Any = shell.layout
    app.layout = lambda: frame(links)
    for module in (routing, experiments, new, run, compare):
        module.register(app, source, links)
    return app


def _slashed(prefix: str) -> str:
    return f"/{prefix.strip('/')}/" if prefix.strip("/") else "/"
