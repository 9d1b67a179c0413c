"""The pages that a Prometheus scrapes, over plain HTTP on the loopback address, as node-exporter has them.

/metrics has all nodes, each line with a label `node`; /nodes/<name>/metrics has one node; /targets lists the latter for
Prometheus' HTTP service discovery.
"""

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote, unquote

from backend.embedded import exporter
from backend.embedded.world import World

_PATIENCE_S = 5.0


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # A scraper that went away must not be waited for.
    block_on_close = False
    world: World

    def handle_error(self, request: object, client_address: object) -> None:
        """Nothing: whose connection broke has nobody to be told."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    timeout = 10.0

    def do_GET(self) -> None:
        """Answer a scrape."""
        nodes = self.server.world.use()
        parts = [unquote(part) for part in self.path.partition("?")[0].strip("/").split("/")]
        if parts == ["metrics"]:
            self._answer(200, exporter.CONTENT_TYPE, exporter.page(nodes))
        elif parts == ["targets"]:
            self._answer(200, "application/json", json.dumps([self._target(use.node.name) for use in nodes]))
        elif len(parts) == 3 and parts[0] == "nodes" and parts[2] == "metrics":
            mine = [use for use in nodes if use.node.name == parts[1]]
            if mine:
                self._answer(200, exporter.CONTENT_TYPE, exporter.page(mine, named=False))
            else:
                self._answer(404, "text/plain; charset=utf-8", f"there is no node '{parts[1]}'\n")
        else:
            words = "there are /metrics, /nodes/<name>/metrics and /targets\n"
            self._answer(404, "text/plain; charset=utf-8", words)

    def log_message(self, *_: object) -> None:
        """Nothing: a line for each scrape would bury the rest."""

    def _target(self, node: str) -> dict[str, object]:
        address = f"{self.server.server_address[0]!s}:{self.server.server_port}"
        return {
            "targets": [address],
            "labels": {"__metrics_path__": f"/nodes/{quote(node, safe='')}/metrics", "node": node},
        }

    def _answer(self, code: int, content_type: str, text: str) -> None:
        body = text.encode()
        self.send_response(code)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Pages:
    """The server of these pages."""

    def __init__(self, world: World, host: str) -> None:
        self._world = world
        self._host = host
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """Where it listens."""
        port = self._server.server_port if self._server is not None else 0
        return f"http://{self._host}:{port}"

    def start(self, port: int = 0, listener: socket.socket | None = None) -> None:
        """Listen, on a socket that listens already if one is given; port 0 is any free one.

        Raises OSError if the port is taken.
        """
        server = _Server((self._host, port), _Handler, bind_and_activate=listener is None)
        if listener is not None:
            server.socket.close()
            server.socket = listener
            server.server_address = listener.getsockname()[:2]
            server.server_port = server.server_address[1]
        server.world = self._world
        self._server = server
        self._thread = threading.Thread(target=server.serve_forever, args=(0.1,), name="node-exporter", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
        if self._thread is not None:
            self._thread.join(_PATIENCE_S)
