"""`podshift up`: backend and dashboard on this machine, until Ctrl-C."""

import os
import secrets
import signal
import socket
import sys
import time
from types import FrameType

import click

from backend.cli import complaints
from backend.cli.home import home_option
from backend.cli.servers import LOOPBACK, Server, listen, port_of

_READY_S = 60.0
"""A first start on a slow machine compiles every module and loads pandas and pyarrow: some 20 s."""
_TICK_S = 0.1
"""How often both servers are looked at."""
_SHORT_LIFE_S = 10.0
"""A backend that ended sooner than this after its start is not started again more than `_SHORT_LIVES` times."""
_SHORT_LIVES = 3
_THREADS = 8
"""Requests the dashboard serves at the same time; its work is passing on what the backend answers."""


@click.command()
@click.option("--port", default=8050, show_default=True, help="Port of the dashboard; 0 takes a free one.")
@click.option("--backend-port", default=8051, show_default=True, help="Port of the backend; 0 takes a free one.")
@click.option("--jobs", type=click.IntRange(1, 256), help="Runs at the same time.  [default: one a processor]")
@click.option("--browser/--no-browser", default=True, help="Open the address in the browser.")
@home_option
def up(port: int, backend_port: int, jobs: int | None, browser: bool, home: str) -> None:
    """Start backend and dashboard on this machine and print the address.

    Both listen on the loopback address only. Ctrl-C ends them; what was running is kept and marked as interrupted.
    """
    stopped: list[int] = []

    def note(signum: int, _frame: FrameType | None) -> None:
        stopped.append(signum)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, note)
    backend, dashboard = _servers(_listen(port, "--port"), _listen(backend_port, "--backend-port"), jobs, home)
    try:
        backend.start()
        dashboard.start()
        if _wait_until_ready([backend, dashboard], stopped):
            address = f"http://{LOOPBACK}:{port_of(dashboard.listener)}/"
            click.echo(address)
            click.echo("Press Ctrl-C to stop.", err=True)
            if browser and _has_display():
                click.launch(address)
            _watch(backend, dashboard, stopped)
    finally:
        dashboard.end()
        backend.end()


def _servers(front: socket.socket, back: socket.socket, jobs: int | None, home: str) -> tuple[Server, Server]:
    backend_url = f"http://{LOOPBACK}:{port_of(back)}"
    token = secrets.token_urlsafe(32)
    environment = {**os.environ, "PODSHIFT_HOME": home, "PODSHIFT_API_TOKEN": token}
    serve = [sys.executable, "-m", "backend.cli", "serve", "--fd", str(back.fileno())]
    if jobs is not None:
        serve += ["--jobs", str(jobs)]
    gunicorn = [sys.executable, "-m", "gunicorn", "--bind", f"fd://{front.fileno()}"]
    gunicorn += ["--worker-class", "gthread", "--workers", "1", "--threads", str(_THREADS)]
    gunicorn += ["--log-level", "warning", "--no-control-socket", "--graceful-timeout", "3"]
    gunicorn += [f"dashboard.server:create_app(backend_url={backend_url!r})"]
    return (
        Server("backend", serve, back, environment, "/readyz"),
        Server("dashboard", gunicorn, front, {**environment, "PODSHIFT_BACKEND_URL": backend_url}, "/healthz"),
    )


def _listen(port: int, option: str) -> socket.socket:
    try:
        return listen(port)
    except (OSError, OverflowError) as error:
        complaints.refuse(
            f"port {port} of {LOOPBACK} cannot be opened ({getattr(error, 'strerror', None) or error}); "
            f"choose another with {option}, or 0 for a free one."
        )


def _wait_until_ready(servers: list[Server], stopped: list[int]) -> bool:
    """True once all answer, False if the user ended it before."""
    deadline = time.monotonic() + _READY_S
    waiting = list(servers)
    while waiting:
        if stopped:
            return False
        for server in servers:
            if server.exit_code() == complaints.NOT_DONE and server is servers[0]:
                sys.exit(complaints.NOT_DONE)  # the backend has said why
            if server.exit_code() is not None:
                complaints.give_up(f"the {server.name} ended at once (exit code {server.exit_code()}); see above.")
        if time.monotonic() > deadline:
            names = " and ".join(server.name for server in waiting)
            complaints.give_up(f"the {names} gave no answer within {_READY_S:.0f} s.")
        waiting = [server for server in waiting if not server.healthy()]
        time.sleep(_TICK_S)
    return True


def _watch(backend: Server, dashboard: Server, stopped: list[int]) -> None:
    """Until the user ends it: a backend that died is started again; without the dashboard there is nothing to do."""
    short_lives = 0
    while not stopped:
        if dashboard.exit_code() is not None:
            complaints.give_up(f"the dashboard ended (exit code {dashboard.exit_code()}).")
        if backend.exit_code() is not None:
            lived = time.monotonic() - backend.started_at
            short_lives = short_lives + 1 if lived < _SHORT_LIFE_S else 0
            if short_lives > _SHORT_LIVES:
                complaints.give_up(f"the backend ended {short_lives} times soon after its start; see above.")
            click.echo(f"The backend ended (exit code {backend.exit_code()}); starting it again.", err=True)
            backend.start()
        time.sleep(_TICK_S)


def _has_display() -> bool:
    return sys.platform != "linux" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
