"""`podshift up`: an embedded cluster, backend and dashboard on this machine, until Ctrl-C."""

import os
import secrets
import signal
import socket
import sys
import time
from contextlib import closing
from pathlib import Path
from types import FrameType

import click

from backend.cli import complaints
from backend.cli.home import home_option
from backend.cli.kubernetes import kubernetes_options
from backend.cli.servers import LOOPBACK, Server, listen, port_of
from backend.model.periods import EMBEDDED_SPEED, FASTEST, SLOWEST

_READY_S = 60.0
"""A first start on a slow machine compiles every module and loads pandas and pyarrow: some 20 s."""
_TICK_S = 0.1
"""How often both servers are looked at."""
_SHORT_LIFE_S = 10.0
"""A server that ended sooner than this after its start is not started again more than `_SHORT_LIVES` times."""
_SHORT_LIVES = 3
_THREADS = 8
"""Requests the dashboard serves at the same time; its work is passing on what the backend answers."""


@click.command()
@click.option("--port", default=8050, show_default=True, help="Port of the dashboard; 0 takes a free one.")
@click.option("--backend-port", default=8051, show_default=True, help="Port of the backend; 0 takes a free one.")
@click.option("--jobs", type=click.IntRange(1, 256), help="Runs at the same time.  [default: one a processor]")
@click.option("--browser/--no-browser", default=True, help="Open the address in the browser.")
@click.option(
    "--nodes", type=click.IntRange(1, 5_000), default=3, show_default=True, help="Nodes of the embedded cluster."
)
@click.option(
    "--speed",
    type=click.FloatRange(SLOWEST, FASTEST),
    default=EMBEDDED_SPEED,
    show_default=True,
    help="Simulated seconds a second in the embedded cluster.",
)
@click.option("--cluster/--no-cluster", default=True, help="Start the embedded cluster.")
@kubernetes_options
@home_option
def up(
    port: int,
    backend_port: int,
    jobs: int | None,
    browser: bool,
    nodes: int,
    speed: float,
    cluster: bool,
    home: str,
) -> None:
    """Start an embedded cluster, backend and dashboard on this machine and print the address.

    All listen on the loopback address only. With --kubeconfig, experiments with the target `live` run on that cluster,
    and no embedded one is started. Ctrl-C ends everything; what was running is kept and marked as interrupted.
    """
    if "PODSHIFT_KUBECONFIG" in os.environ or "PODSHIFT_CONTEXT" in os.environ:
        cluster = False
    stopped: list[int] = []

    def note(signum: int, _frame: FrameType | None) -> None:
        stopped.append(signum)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, note)
    servers = _servers(_listen(port, "--port"), _listen(backend_port, "--backend-port"), jobs, home)
    dashboard = servers[-1]
    if cluster:
        servers.insert(0, _cluster(nodes, speed, home))
    try:
        for server in servers:
            server.start()
        if _wait_until_ready(servers, stopped):
            address = f"http://{LOOPBACK}:{port_of(dashboard.listener)}/"
            click.echo(address)
            if cluster:
                click.echo(f"kubectl --kubeconfig {_kubeconfig(home)} get nodes", err=True)
            click.echo("Press Ctrl-C to stop.", err=True)
            if browser and _has_display():
                click.launch(address)
            _watch(servers, stopped)
    finally:
        for server in reversed(servers):
            server.end()


def _kubeconfig(home: str) -> Path:
    return Path(home) / "embedded" / "kubeconfig"


def _cluster(nodes: int, speed: float, home: str) -> Server:
    """The embedded cluster. Its port stays the same if it has to be started again, the kubeconfig is written anew."""
    pages = _listen(0, "--no-cluster")
    with closing(_listen(0, "--no-cluster")) as free:
        port = port_of(free)
    path = _kubeconfig(home)
    path.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "backend.cli", "cluster", "--nodes", str(nodes), "--speed", f"{speed:g}"]
    command += ["--port", str(port), "--pages-fd", str(pages.fileno()), "--write-kubeconfig", str(path), "--quiet"]
    os.environ["PODSHIFT_KUBECONFIG"] = str(path)
    return Server("embedded cluster", command, pages, dict(os.environ), "/metrics")


def _servers(front: socket.socket, back: socket.socket, jobs: int | None, home: str) -> list[Server]:
    """Backend and dashboard."""
    backend_url = f"http://{LOOPBACK}:{port_of(back)}"
    token = secrets.token_urlsafe(32)
    environment = {"PODSHIFT_HOME": home, "PODSHIFT_API_TOKEN": token}
    serve = [sys.executable, "-m", "backend.cli", "serve", "--fd", str(back.fileno())]
    if jobs is not None:
        serve += ["--jobs", str(jobs)]
    gunicorn = [sys.executable, "-m", "gunicorn", "--bind", f"fd://{front.fileno()}"]
    gunicorn += ["--worker-class", "gthread", "--workers", "1", "--threads", str(_THREADS)]
    gunicorn += ["--log-level", "warning", "--no-control-socket", "--graceful-timeout", "3"]
    gunicorn += [f"dashboard.server:create_app(backend_url={backend_url!r})"]
    return [
        Server("backend", serve, back, environment, "/readyz"),
        Server("dashboard", gunicorn, front, {**environment, "PODSHIFT_BACKEND_URL": backend_url}, "/healthz"),
    ]


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
            if server.exit_code() == complaints.NOT_DONE and server.name == "backend":
                sys.exit(complaints.NOT_DONE)  # it has said why
            if server.exit_code() is not None:
                complaints.give_up(f"the {server.name} ended at once (exit code {server.exit_code()}); see above.")
        if time.monotonic() > deadline:
            names = " and ".join(server.name for server in waiting)
            complaints.give_up(f"the {names} gave no answer within {_READY_S:.0f} s.")
        waiting = [server for server in waiting if not server.healthy()]
        time.sleep(_TICK_S)
    return True


def _watch(servers: list[Server], stopped: list[int]) -> None:
    """Until the user ends it: what died is started again; without the dashboard there is nothing to do."""
    *others, dashboard = servers
    short_lives = dict.fromkeys((server.name for server in others), 0)
    while not stopped:
        if dashboard.exit_code() is not None:
            complaints.give_up(f"the dashboard ended (exit code {dashboard.exit_code()}).")
        for server in others:
            if server.exit_code() is None:
                continue
            lived = time.monotonic() - server.started_at
            name = server.name
            short_lives[name] = short_lives[name] + 1 if lived < _SHORT_LIFE_S else 0
            if short_lives[name] > _SHORT_LIVES:
                complaints.give_up(f"the {name} ended {short_lives[name]} times soon after its start; see above.")
            click.echo(f"The {name} ended (exit code {server.exit_code()}); starting it again.", err=True)
            server.start()
        time.sleep(_TICK_S)


def _has_display() -> bool:
    return sys.platform != "linux" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
