"""Backend and dashboard as real processes on free loopback ports, and the browser's options."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
READY_S = 60.0
"""A first start compiles modules and loads pandas and pyarrow; on a busy machine that takes a while."""
_open = build_opener(ProxyHandler({})).open


class Stack:
    """A backend and a dashboard. The backend can be killed and started again on its port."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.backend_port, self.port = _free_port(), _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.backend_url = f"http://127.0.0.1:{self.backend_port}"
        self._backend: subprocess.Popen[bytes] | None = None
        self._dashboard: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start both and wait until they answer."""
        self.start_backend()
        application = f"dashboard.server:create_app(backend_url={self.backend_url!r})"
        self._dashboard = self._process(
            "-m", "gunicorn", "--bind", f"127.0.0.1:{self.port}", "--worker-class", "gthread", "--threads", "8",
            "--log-level", "warning", "--no-control-socket", "--graceful-timeout", "1", application,
        )  # fmt: skip
        self.wait_for(f"{self.url}/healthz", self._dashboard)
        self.wait_for(f"{self.backend_url}/readyz", self._backend)

    def start_backend(self) -> None:
        """Start the backend, without waiting."""
        self._backend = self._process("-m", "backend.cli", "serve", "--port", str(self.backend_port))

    def kill_backend(self) -> None:
        """End the backend without warning."""
        assert self._backend is not None
        self._backend.kill()
        self._backend.wait()

    def stop(self) -> None:
        """End both."""
        for process in (self._dashboard, self._backend):
            if process is not None and process.poll() is None:
                process.terminate()
                try:
                    process.wait(8)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()

    def wait_for(self, url: str, process: subprocess.Popen[bytes] | None) -> None:
        """Until the address answers. Raises RuntimeError if the process ends or the time is up."""

        def answers() -> bool:
            if process is not None and process.poll() is not None:
                raise RuntimeError(f"the process for {url} ended with {process.returncode}")
            try:
                return _open(url, timeout=2).status == 200
            except OSError:
                return False

        until(answers, READY_S, f"{url} answers")

    def api(self, method: str, path: str, body: Any = None, data: bytes | None = None) -> Any:
        """A request to the backend through the gateway; the JSON of its answer."""
        content = json.dumps(body).encode() if body is not None else data
        kind = "application/json" if body is not None else "application/octet-stream"
        request = Request(f"{self.url}/api/v1/{path}", content, {"Content-Type": kind}, method=method)
        with _open(request, timeout=30) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def launch(self, specification: dict[str, Any]) -> list[str]:
        """Ids of the runs of a new experiment."""
        runs: list[str] = self.api("POST", "experiments", {"specification": specification})["runs"]
        return runs

    def finished(self, runs: list[str], timeout: float = 60.0) -> list[str]:
        """The same runs, once none is under way any more."""
        active = {"queued", "running", "stopping"}
        until(lambda: all(self.api("GET", f"runs/{run}")["status"] not in active for run in runs), timeout, "runs end")
        return runs

    def _process(self, *arguments: str) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "PODSHIFT_HOME": str(self.home), "PYTHONDONTWRITEBYTECODE": "1"}
        environment.pop("PODSHIFT_API_TOKEN", None)
        return subprocess.Popen([sys.executable, *arguments], cwd=ROOT, env=environment, start_new_session=True)


@contextlib.contextmanager
def running(home: Path) -> Iterator[Stack]:
    """A started stack; both processes end with the block."""
    stack = Stack(home)
    try:
        stack.start()
        yield stack
    finally:
        stack.stop()


def until(condition: Callable[[], bool], timeout: float, what: str) -> None:
    """Wait for a condition. Raises TimeoutError."""
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {timeout:.0f} s until {what}")
        time.sleep(0.05)


def seven_jobs(**changed: Any) -> dict[str, Any]:
    """A small experiment of both arms."""
    return {
        "name": "seven-jobs",
        "cluster": {"nodes": {"count": 3, "cpu": "16", "memory": "64Gi"}},
        "workload": {
            "models": ["lenet", "vae", "gru"],
            "jobs": 7,
            "submissions": {"at": [25, 43, 50, 65, 86, 142, 192]},
        },
        "both": True,
        "seeds": [1],
        **changed,
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
