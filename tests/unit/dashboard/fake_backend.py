"""A stand-in for the backend's HTTP API: it counts requests and can be told to fail."""

import json
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.unit.dashboard import sample

SPECIFICATION = {
    "name": "seven-jobs",
    "cluster": {"nodes": {"count": 3, "cpu": "16", "memory": "64Gi"}},
    "workload": {"models": ["lenet", "vae", "gru"], "jobs": 7, "submissions": {"at": [25, 43, 50, 65, 86, 142, 192]}},
    "arms": [
        {"name": "default", "scheduler": {"name": "default"}, "migration": {"name": "none"}},
        {"name": "migrated", "scheduler": {"name": "default"}, "migration": {"name": "specon", "alpha": 0.1}},
    ],
    "pin_initial_placement": True,
    "seeds": [1],
}
SUMMARY = {"jobs": 3, "finished": 2, "makespan_s": 120.0, "mean_completion_s": 105.0, "p95_completion_s": 119.0,
           "migrations": 1, "downtime_s": 10.0, "lost_core_s": 4.0, "cpu_share_mean": 0.37}  # fmt: skip
PARAMETERS = {
    "type": "object",
    "properties": {
        "alpha": {"type": "number", "default": 0.1, "minimum": 0, "maximum": 1, "description": "threshold of progress"},
        "rebalance": {"type": "boolean", "default": False, "description": "also even out"},
        "mode": {"enum": ["paper", "corrected"], "default": "corrected", "description": "how to count"},
    },
}


class FakeBackend:
    """Serves one experiment with two runs on a free port."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.posted: list[tuple[str, Any, dict[str, str]]] = []
        self.failing: int | None = None
        self.status = "finished"
        self.rev = 1
        self.most_rows = 1000
        self.total: int | None = None
        handler = self._handler()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self._thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop serving and free the port."""
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()

    def run(self, arm: str) -> dict[str, Any]:
        """Row of one run."""
        return {
            "id": f"seven-jobs-7k3f.{arm}.s1",
            "experiment": "seven-jobs-7k3f",
            "arm": arm,
            "seed": 1,
            "status": self.status,
            "created_at": "2026-12-01T10:00:00Z",
            "progress": {"time_s": 120.0, "jobs_done": 2, "jobs": 3, "fraction": 0.66, "eta_s": 3.0, "events": 99},
            "summary": SUMMARY if self.status == "finished" else None,
            "source": "simulator",
            "rev": self.rev,
        }

    def answer(self, path: str, query: dict[str, list[str]]) -> tuple[int, Any]:
        """Status and JSON of a GET."""
        if path == "/healthz":
            return 200, {"status": "ok"}
        parts = path.removeprefix("/api/v1/").split("/")
        if parts[0] == "examples":
            example = {"name": "seven-jobs", "title": "Seven jobs", "description": "Small.", "yaml": "name: seven-jobs"}
            return 200, {"items": [{**example, "specification": SPECIFICATION}]}
        if parts[0] == "policies":
            policy = {
                "name": "default",
                "description": "as kube-scheduler",
                "schema": {"type": "object", "properties": {}},
            }
            specon = {"name": "specon", "description": "SpeCon", "schema": PARAMETERS}
            return 200, {"schedulers": [policy], "migrations": [{**policy, "name": "none"}, specon]}
        if parts[0] == "models":
            return 200, {"items": [{"name": "lenet"}, {"name": "vae"}, {"name": "gru"}]}
        if parts[0] == "experiments":
            runs = [self.run("default"), self.run("migrated")]
            item = {
                "id": "seven-jobs-7k3f", "name": "seven-jobs", "status": self.status,
                "created_at": "2026-12-01T10:00:00Z", "source": "simulator", "arms": ["default", "migrated"],
                "seeds": [1], "jobs": 3, "note": "",
                "summary": {"default": SUMMARY, "migrated": {**SUMMARY, "makespan_s": 110.0}}, "runs": runs,
            }  # fmt: skip
            return 200, {"items": [item], "total": 1}
        if parts[0] == "runs":
            return self._run(parts[1:], query)
        return 404, {"error": {"message": f"there is nothing at {path}", "errors": []}}

    def _run(self, parts: list[str], query: dict[str, list[str]]) -> tuple[int, Any]:
        arm = parts[0].split(".")[1] if parts[0].startswith("seven-jobs-7k3f.") else ""
        if arm not in ("default", "migrated"):
            return 404, {"error": {"message": f"there is no run {parts[0]}", "errors": []}}
        if len(parts) == 1:
            siblings = [self.run("default"), self.run("migrated")]
            return 200, {**self.run(arm), "specification": SPECIFICATION, "siblings": siblings}
        if parts[1] == "decisions":
            return self._decisions(parts[2:], query)
        table = sample.tables().get(parts[2])
        if table is None:
            return 404, {"error": {"message": f"there is no table {parts[2]}", "errors": []}}
        most, start = int(query.get("limit", ["1000"])[0]), int(query.get("offset", ["0"])[0])
        most = min(most, self.most_rows)
        part = {name: values[start : start + most] for name, values in table.items()}
        size, total = (len(next(iter(one.values()))) for one in (part, table))
        return 200, {"columns": part, "rows": size, "total": self.total or total, "rev": self.rev}

    def _decisions(self, parts: list[str], query: dict[str, list[str]]) -> tuple[int, Any]:
        if parts:
            made = sample.IN_FULL.get(int(parts[0]))
            return (200, made) if made else (404, {"error": {"message": "no placement decision", "errors": []}})
        most, start = int(query.get("limit", ["100"])[0]), int(query.get("offset", ["0"])[0])
        items = sample.LISTED[start : start + min(most, self.most_rows)]
        return 200, {"items": items, "total": len(sample.LISTED), "rev": self.rev}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        backend = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                split = urlsplit(self.path)
                backend.asked[split.path] += 1
                if backend.failing:
                    self._send(backend.failing, {"error": {"message": "told to fail", "errors": []}})
                elif split.path.endswith("/bundle"):
                    self._stream()
                else:
                    self._send(*backend.answer(split.path, parse_qs(split.query)))

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                backend.posted.append((self.path, body, dict(self.headers)))
                if self.path.endswith("/validate"):
                    fault = {
                        "field": "arms.1.migration.alpha",
                        "message": "must be at most 1",
                        "allowed": "0 to 1",
                    }
                    self._send(422, {"error": {"message": "1 fault", "errors": [fault]}})
                else:
                    self._send(202, {"id": "seven-jobs-7k3f", "runs": ["seven-jobs-7k3f.default.s1"]})

            def _send(self, status: int, value: Any) -> None:
                body = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def _stream(self) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "application/zip")
                self.send_header("Content-Disposition", 'attachment; filename="run.zip"')
                self.send_header("Content-Length", "200000")
                self.end_headers()
                for _ in range(200):
                    self.wfile.write(b"z" * 1000)

            def log_message(self, *_: Any) -> None:
                pass

        return Handler
