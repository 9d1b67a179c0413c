"""`podshift serve`: the backend alone."""

import os
import socket
from pathlib import Path

import click

from backend.cli import complaints
from backend.cli.home import home_option, open_store
from backend.cli.servers import LOOPBACK, listen, port_of


@click.command()
@click.option("--port", default=8051, show_default=True, help="Port on the loopback address; 0 takes a free one.")
@click.option("--jobs", type=click.IntRange(1, 256), help="Runs at the same time.  [default: one a processor]")
@click.option("--allow-host", multiple=True, help="A host name that requests may name besides localhost; repeatable.")
@click.option("--fd", type=int, hidden=True, help="A listening socket that was opened for us.")
@home_option
def serve(port: int, jobs: int | None, allow_host: tuple[str, ...], fd: int | None, home: str) -> None:
    """Start the backend alone, on the loopback address.

    With PODSHIFT_API_TOKEN set, every request to the API has to bear that token.
    """
    if fd is not None:
        listener = socket.socket(fileno=fd)
    else:
        try:
            listener = listen(port)
        except (OSError, OverflowError) as error:
            complaints.refuse(f"port {port} of {LOOPBACK} cannot be opened ({error}); choose another with --port.")
    # A store that cannot be used is to be known before anybody goes to the address.
    open_store(home, recovered=True).close()
    if fd is None:
        click.echo(f"http://{LOOPBACK}:{port_of(listener)}/api/v1/openapi.json")
    from backend.service.server import serve_on

    serve_on(listener, Path(home), jobs=jobs, hosts=allow_host, token=os.environ.get("PODSHIFT_API_TOKEN"))
