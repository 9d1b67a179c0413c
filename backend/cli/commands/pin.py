"""`podshift pin` and `podshift unpin`: initial placements in job templates."""

from pathlib import Path

import click

from backend.cli import complaints
from backend.cli.commands.exchange import placements
from backend.cli.home import home_option, open_store
from backend.cli.selection import select_runs, store_errors

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command()
@click.argument("run", metavar="RUN")
@click.argument("folder", type=_FOLDER)
@home_option
def pin(run: str, folder: Path, home: str) -> None:
    """Write where the jobs of RUN started into the job templates (YAML) in FOLDER, as nodeName."""
    from backend.traces import templates
    from backend.traces.errors import TraceError

    store = open_store(home)
    with store_errors(), complaints.file_errors():
        runs = select_runs(store, run)
        if len(runs) != 1:
            complaints.refuse(f"{run} names {len(runs)} runs; a placement comes from one.")
        wanted = placements(store, runs[0])
        try:
            pinned = templates.pin(folder, wanted)
        except TraceError as error:
            complaints.refuse(f"{error}.")
    for job, node in pinned.items():
        click.echo(f"{job} {node}")
    missing = [job for job in wanted if job not in pinned]
    if missing:
        shown = ", ".join(missing[:10]) + (" ..." if len(missing) > 10 else "")
        click.echo(f"No template for {len(missing)} of {len(wanted)} jobs: {shown}", err=True)


@click.command()
@click.argument("folder", type=_FOLDER)
def unpin(folder: Path) -> None:
    """Take nodeName out of the job templates (YAML) in FOLDER."""
    from backend.traces import templates
    from backend.traces.errors import TraceError

    with complaints.file_errors():
        try:
            freed = templates.unpin(folder)
        except TraceError as error:
            complaints.refuse(f"{error}.")
    for job in freed:
        click.echo(job)
