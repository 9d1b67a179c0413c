"""An HTTP server on loopback that answers like Prometheus, or in all the ways it should not."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

EVALUATED = 1_700_000_000.0


def vector(values: dict[str, Any], label: str = "node") -> list[dict[str, Any]]:
    return [{"metric": {label: name}, "value": [EVALUATED, str(value)]} for name, value in values.items()]


def result_of(result: list[Any], kind: str = "vector") -> bytes:
    return json.dumps({"status": "success", "data": {"resultType": kind, "result": result}}).encode()


class FakePrometheus:
    """`results` holds what a query gives, by a part of its text; `body` and `status` answer everything alike."""

    def __init__(self, port: int = 0) -> None:
        self.results: dict[str, list[Any]] = {}
        self.ranges: dict[str, Any] = {}
        self.body: bytes | None = None
        self.status = 200
        self.hang = False
        self.let_go = threading.Event()
        self.asked: list[tuple[str, dict[str, str], dict[str, str]]] = []
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                params = {name: values[0] for name, values in parse_qs(parts.query).items()}
                fake.asked.append((parts.path, params, dict(self.headers)))
                if fake.hang:
                    fake.let_go.wait(60)
                    self.close_connection = True
                    return
                body = fake.answer(parts.path, params)
                self.send_response(fake.status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

            def handle_error(self, *_: Any) -> None:
                pass

        self.server = Server(("127.0.0.1", port), Handler)
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def answer(self, path: str, params: dict[str, str]) -> bytes:
        if self.body is not None:
            return self.body
        query = params.get("query", "")
        if path.endswith("query_range"):
            for part, make in self.ranges.items():
                if part in query:
                    return result_of(
                        make(float(params["start"]), float(params["end"]), float(params["step"])), "matrix"
                    )
        else:
            for part, result in self.results.items():
                if part in query:
                    return result_of(result)
        return result_of([])

    def nodes(
        self, cpu: dict[str, Any], memory: dict[str, Any] | None = None, cores: float = 4, age: float = 3
    ) -> None:
        """Answer like node-exporter's series of these nodes."""
        self.results = {
            "rate(": vector(cpu),
            "MemTotal": vector(memory or dict.fromkeys(cpu, 2**30)),
            "count by": vector(dict.fromkeys(cpu, cores)),
            "timestamp(": [{"metric": {}, "value": [EVALUATED, str(EVALUATED - age)]}],
        }

    def close(self) -> None:
        self.let_go.set()
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()
