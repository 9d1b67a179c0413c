"""`podshift cluster`: the embedded Kubernetes cluster alone, and what one may do to it while it runs."""

import json
import signal
import socket
import threading
from contextlib import closing
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from backend.cli import complaints
from backend.model.periods import FASTEST, SLOWEST

if TYPE_CHECKING:
    from backend.kube.client import Api

_KUBECONFIG = "podshift-kubeconfig"


@click.group(invoke_without_command=True)
@click.option("--nodes", type=click.IntRange(1, 5_000), default=3, show_default=True, help="Number of nodes.")
@click.option("--cpu", default="16", show_default=True, help="Cores of each node, as Kubernetes writes them.")
@click.option("--memory", default="64Gi", show_default=True, help="Memory of each node.")
@click.option(
    "--speed",
    type=click.FloatRange(SLOWEST, FASTEST),
    default=1.0,
    show_default=True,
    help="Simulated seconds a second.",
)
@click.option("--port", default=6443, show_default=True, help="Port of the API server; 0 takes a free one.")
@click.option("--pages-port", default=0, help="Port of the node-exporter pages.  [default: a free one]")
@click.option(
    "--seed", type=click.IntRange(0), default=1, show_default=True, help="Seed of the learning curves' noise."
)
@click.option("--tls/--no-tls", default=True, help="Without TLS there are no tokens: whoever reaches it may do all.")
@click.option(
    "--write-kubeconfig",
    type=click.Path(dir_okay=False, path_type=Path),
    default=_KUBECONFIG,
    show_default=True,
    help="File to write for kubectl and others.",
)
@click.option("--quiet", is_flag=True, hidden=True, help="Say nothing that is no error.")
@click.option("--pages-fd", type=int, hidden=True, help="A listening socket for the pages, opened for us.")
@click.pass_context
def cluster(
    context: click.Context,
    nodes: int,
    cpu: str,
    memory: str,
    speed: float,
    port: int,
    pages_port: int,
    seed: int,
    tls: bool,
    write_kubeconfig: Path,
    quiet: bool,
    pages_fd: int | None,
) -> None:
    """Start an embedded Kubernetes cluster on this machine, without Docker, until Ctrl-C.

    It speaks the Kubernetes API on the loopback address. Pods with a training model run as simulated training jobs,
    others as long as their annotation podshift.io/run-seconds says.
    """
    if context.invoked_subcommand is not None:
        return
    from backend.embedded.apiserver.tls import TlsUnavailableError
    from backend.embedded.cluster import EmbeddedCluster
    from backend.model.objects import Node

    millis, size = _amounts(cpu, memory)
    width = len(str(nodes))
    specs = [Node(f"node-{number:0{width}}", millis, size) for number in range(1, nodes + 1)]
    machines = EmbeddedCluster(specs, seed=seed, speed=speed)
    stopping = threading.Event()

    def note(_signum: int, _frame: FrameType | None) -> None:
        stopping.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, note)
    try:
        listener = None if pages_fd is None else socket.socket(fileno=pages_fd)
        machines.start(port, pages_port=pages_port, pages_listener=listener, tls=tls)
    except (OSError, OverflowError) as error:
        words = getattr(error, "strerror", None) or error
        complaints.refuse(f"port {port} or {pages_port} of 127.0.0.1 cannot be opened ({words}); 0 takes a free one.")
    except TlsUnavailableError as error:
        complaints.give_up(f"{error}; --no-tls does without.")
    try:
        with complaints.file_errors():
            path = machines.kubeconfig(write_kubeconfig)
        if not quiet:
            click.echo(f"{machines.server.url}  ({nodes} nodes, speed {speed:g})")
            click.echo(f"Node metrics: {machines.pages.url}/metrics", err=True)
            click.echo(f"kubectl --kubeconfig {path} get nodes", err=True)
            click.echo("Press Ctrl-C to stop.", err=True)
        stopping.wait()
    finally:
        machines.stop()


_config = click.option(
    "--kubeconfig",
    type=click.Path(exists=True, dir_okay=False),
    default=_KUBECONFIG,
    show_default=True,
    help="The file that the cluster wrote.",
)


@cluster.command()
@click.argument("speed", type=click.FloatRange(SLOWEST, FASTEST))
@_config
def speed(speed: float, kubeconfig: str) -> None:
    """Have a cluster that runs go on at SPEED simulated seconds a second."""
    with closing(_connected(kubeconfig)) as api:
        answer = _call(lambda: api.put("/podshift/clock", {"speed": speed}))
    click.echo(f"speed {answer['speed']:g}, at {answer['time']:.1f} s")


@cluster.command()
@click.argument("fault")
@click.argument("details", nargs=-1, metavar="[NAME=VALUE]...")
@_config
def fault(fault: str, details: tuple[str, ...], kubeconfig: str) -> None:
    """Have something go wrong in a cluster that runs.

    \b
    node-lost node=NAME        node-back node=NAME       pod-crash pod=NAME
    image-error image=NAME     away seconds=N            slow seconds=N
    errors rate=R count=N      cut-watches               expire
    clock-step seconds=N       clear
    """
    body: dict[str, Any] = {"fault": fault}
    for detail in details:
        name, equals, text = detail.partition("=")
        if not equals or not name:
            complaints.refuse(f"{detail!r} is no NAME=VALUE.")
        try:
            value = json.loads(text)
        except ValueError:
            value = text
        body[name] = value if isinstance(value, int | float | bool) else text
    with closing(_connected(kubeconfig)) as api:
        click.echo(_call(lambda: api.post("/podshift/faults", body))["done"])


def _amounts(cpu: str, memory: str) -> tuple[int, int]:
    from backend.model.quantities import QuantityError, cpu_millis, memory_bytes

    try:
        millis, size = cpu_millis(cpu), memory_bytes(memory)
    except QuantityError as error:
        complaints.refuse(f"{error}.")
    if millis <= 0 or size <= 0:
        complaints.refuse("nodes need processors and memory: --cpu and --memory must be more than 0.")
    return millis, size


def _connected(kubeconfig: str) -> "Api":
    from backend.kube.client import ConnectError, connect

    try:
        return connect(kubeconfig=kubeconfig)
    except ConnectError as error:
        complaints.refuse(f"{error}.")


def _call(call: Any) -> Any:
    from backend.kube.client import ApiError

    try:
        return call()
    except ApiError as error:
        words = f"{error.message.rstrip('.')}."
        if error.transient:
            complaints.give_up(words)
        complaints.refuse(words)
