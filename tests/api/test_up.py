"""`podshift up`: both servers as real processes, from the printed address to the end."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.api.conditions import PATIENCE_S, specification, wait_until
from tests.api.test_crash import gone


def children(pid: int) -> dict[str, int]:
    """Command line -> id of the processes that a process started."""
    found = {}
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        with contextlib.suppress(OSError):
            found[Path(f"/proc/{child}/cmdline").read_text().replace("\0", " ")] = int(child)
    return found


def child(pid: int, word: str) -> int | None:
    return next((number for line, number in children(pid).items() if word in line), None)


@pytest.fixture
def up(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [sys.executable, "-m", "backend.cli", "up", "--port", "0", "--backend-port", "0", "--no-browser"]
    with subprocess.Popen(
        [*command, "--home", str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()
        if process.poll() is None:
            process.terminate()
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            raise


def answers(client: httpx.Client, path: str) -> bool:
    try:
        return client.get(path).status_code == 200
    except httpx.TransportError:
        return False


def test_the_printed_address_serves_dashboard_and_api(up: tuple[subprocess.Popen[str], str]) -> None:
    process, address = up
    with httpx.Client(base_url=address, timeout=PATIENCE_S) as client:
        assert "Podshift" in client.get("/").text
        made = client.post("/api/v1/experiments", json={"yaml": specification("through-gateway")})
        assert made.status_code == 202
        experiment = made.json()["id"]
        wait_until(lambda: client.get(f"/api/v1/experiments/{experiment}").json()["status"] == "finished")

        backend = child(process.pid, "serve")
        assert backend is not None
        os.kill(backend, signal.SIGKILL)
        wait_until(lambda: child(process.pid, "serve") not in (None, backend))
        wait_until(lambda: answers(client, f"/api/v1/experiments/{experiment}"))

    pids = list(children(process.pid).values())
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE_S) == 0
    assert all(gone(pid) for pid in pids)


def test_the_backend_is_closed_to_those_without_the_token(up: tuple[subprocess.Popen[str], str]) -> None:
    process, _ = up
    gateway = next(line for line in children(process.pid) if "gunicorn" in line)
    backend = gateway.partition("backend_url='")[2].partition("'")[0]
    with httpx.Client(base_url=backend, timeout=PATIENCE_S) as client:
        assert client.get("/healthz").status_code == 200
        assert client.get("/api/v1/experiments").status_code == 401


def test_servers_do_not_outlive_a_killed_command(up: tuple[subprocess.Popen[str], str]) -> None:
    process, _ = up
    pids = list(children(process.pid).values())
    assert len(pids) == 3  # embedded cluster, backend, dashboard
    process.kill()
    process.wait()
    wait_until(lambda: all(gone(pid) for pid in pids))


@pytest.mark.parametrize("option", ["--port", "--backend-port"])
def test_a_busy_port_is_one_clear_sentence(tmp_path: Path, option: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ports = {"--port": "0", "--backend-port": "0", option: port}
        command = [sys.executable, "-m", "backend.cli", "up", "--no-browser", "--home", str(tmp_path)]
        for name, value in ports.items():
            command += [name, value]
        run = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert run.returncode == 2
    assert f"port {port}" in run.stderr
    assert option in run.stderr
    assert "Traceback" not in run.stderr
