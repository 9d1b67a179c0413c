"""A real Prometheus on loopback, and an exporter page for it to scrape whose rates are known."""

import contextlib
import math
import shutil
import signal
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

PROGRAM = "prometheus"


def escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class Exporter:
    """Nodes with two CPUs each whose counters go on at given rates, by the real clock."""

    CPUS = 2

    def __init__(self, busy: Mapping[str, float], kind: str = "node-exporter") -> None:
        """`kind` is "node-exporter", "idle" (shows no other mode) or "kubelet" (cAdvisor's metrics)."""
        self.busy = dict(busy)
        self.kind = kind
        self.began = time.time()
        exporter = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = exporter.page().encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.target = f"127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def page(self) -> str:
        up = time.time() - self.began
        if self.kind == "kubelet":
            usage = "container_cpu_usage_seconds_total"
            return "".join(
                f'{usage}{{node="{escape(node)}",id="/",cpu="total"}} {up * busy * self.CPUS:.6f}\n'
                f'container_memory_working_set_bytes{{node="{escape(node)}",id="/"}} {8e9 * busy:.0f}\n'
                f'machine_cpu_cores{{node="{escape(node)}"}} {self.CPUS}\n'
                for node, busy in self.busy.items()
            )
        modes = ("idle",) if self.kind == "idle" else ("idle", "user")
        cpu, total, free, uname = [], [], [], []
        for node, busy in self.busy.items():
            own = f'node="{escape(node)}"'
            for k in range(self.CPUS):
                for mode in modes:
                    part = busy if mode == "user" else 1 - busy
                    cpu.append(f'node_cpu_seconds_total{{{own},cpu="{k}",mode="{mode}"}} {up * part:.6f}')
            total.append(f"node_memory_MemTotal_bytes{{{own}}} 8e9")
            free.append(f"node_memory_MemAvailable_bytes{{{own}}} {8e9 * (1 - busy):.0f}")
            uname.append(f'node_uname_info{{{own},nodename="{escape(node)}",sysname="Linux"}} 1')
        families = (
            ("node_cpu_seconds_total", "counter", cpu),
            ("node_memory_MemTotal_bytes", "gauge", total),
            ("node_memory_MemAvailable_bytes", "gauge", free),
            ("node_uname_info", "gauge", uname),
        )
        return "".join(
            f"# TYPE {name} {kind}\n" + "".join(f"{line}\n" for line in lines) for name, kind, lines in families
        )

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Prometheus:
    """One server process at a time, always on the same port and with the same data."""

    def __init__(self, folder: Path, targets: Mapping[str, str]) -> None:
        """`targets`: job -> address to scrape each second."""
        program = shutil.which(PROGRAM)
        assert program is not None, "these tests need Debian's prometheus: sudo apt-get install prometheus"
        self._program = program
        self._folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        jobs = "".join(
            f"  - job_name: {job}\n    static_configs:\n      - targets: ['{target}']\n"
            for job, target in targets.items()
        )
        self._configuration = folder / "prometheus.yml"
        self._configuration.write_text(
            "global:\n  scrape_interval: 1s\n  scrape_timeout: 900ms\nscrape_configs:\n" + jobs, encoding="utf-8"
        )
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with (self._folder / "prometheus.log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    self._program,
                    f"--config.file={self._configuration}",
                    f"--storage.tsdb.path={self._folder / 'data'}",
                    f"--web.listen-address=127.0.0.1:{self.port}",
                ],
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def ready(self) -> bool:
        assert self._process is not None and self._process.poll() is None, self.log()
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{self.url}/-/ready", timeout=1) as page:
            return bool(page.status == 200)
        return False

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop_answering(self) -> None:
        """The process is stopped, as a machine that hangs: connections stay open and nothing comes."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def answer_again(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def log(self) -> str:
        return (self._folder / "prometheus.log").read_text(encoding="utf-8", errors="replace")[-3000:]


def near(value: float, expected: float, points: float = 2.0) -> bool:
    """Within so many percentage points."""
    return math.fabs(value - expected) * 100 <= points
