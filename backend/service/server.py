"""The service as a process: uvicorn on a socket that is open already."""

import logging
import socket
from collections.abc import Collection
from pathlib import Path

import uvicorn

from backend.service.app import create_app

SHUTDOWN_S = 3
"""Requests under way get this long when the service ends; polls take milliseconds."""


def serve_on(
    listener: socket.socket,
    home: Path,
    *,
    jobs: int | None = None,
    hosts: Collection[str] = (),
    token: str | None = None,
) -> None:
    """Serve the API until SIGINT or SIGTERM. Arguments as `create_app` has them."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    app = create_app(home, jobs=jobs, hosts=hosts, token=token)
    # No proxy headers: whoever sends X-Forwarded-* is not to be believed (ux.md A64).
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=SHUTDOWN_S,
    )
    uvicorn.Server(config).run(sockets=[listener])
