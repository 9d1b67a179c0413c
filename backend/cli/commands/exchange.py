"""`podshift export` and `podshift import`."""

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from backend.cli import complaints
from backend.cli.home import home_option, open_store
from backend.cli.selection import NAMED, select_runs, store_errors

if TYPE_CHECKING:
    from backend.store.store import Store

FORMATS = ("bundle", "csv", "json", "job-node-info")
KINDS = ("bundle", "migration-log", "node-listing", "completion-table", "job-node-info")


@click.command(epilog=f"RUN is {NAMED}; only a bundle may hold several.")
@click.argument("run", metavar="RUN")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Where to write; - for stdout, which must not be a terminal for a bundle.  [default: named after the run]",
)
@click.option("--format", "form", type=click.Choice(FORMATS), default="bundle", show_default=True)
@click.option("--table", "name", default="jobs", show_default=True, help="The table to write as csv or json.")
@home_option
def export(run: str, output: str | None, form: str, name: str, home: str) -> None:
    """Write a run into a file: whole as a bundle, one of its tables, or its initial placement."""
    from backend.service.downloads import file_name

    store = open_store(home)
    with store_errors(), complaints.file_errors():
        runs = select_runs(store, run)
        if form == "bundle":
            first = runs[0] if len(runs) == 1 else store.run(runs[0]).experiment
            path = Path(output or file_name(first, "", "podshift.zip"))
            _write_bundle(store, runs, path, to_stdout=output == "-")
        else:
            if len(runs) != 1:
                complaints.refuse(f"{run} names {len(runs)} runs; only a bundle may hold several.")
            write, ending = _WRITERS[form]
            text = write(store, runs[0], name)
            path = Path(output or file_name(runs[0], "job_node_info" if form == "job-node-info" else name, ending))
            if output == "-":
                click.echo(text, nl=False)
            else:
                _write(path, lambda: path.write_text(text, encoding="utf-8"))
        if output != "-":
            click.echo(path)


def _write_bundle(store: "Store", runs: list[str], path: Path, *, to_stdout: bool) -> None:
    from backend.store.bundles import export_bundle

    if to_stdout and sys.stdout.isatty():
        complaints.refuse("a bundle is no text, and stdout is a terminal; name a file with --output, or redirect it.")
    if not to_stdout and path.is_dir():
        complaints.refuse(f"{path} is a folder; name a file in it with --output.")
    if not to_stdout and (path.is_file() or not path.exists()):
        export_bundle(store, runs, path)
        return
    # A device or a pipe is written to, never replaced by a file.
    with tempfile.TemporaryDirectory(prefix="podshift-export-") as folder:
        whole = Path(folder) / "bundle.zip"
        export_bundle(store, runs, whole)
        with whole.open("rb") as bundle:
            if not to_stdout:
                _write(path, lambda: _copy(bundle, path))
            while block := bundle.read(2**20):
                click.echo(block, nl=False)


def _copy(source: BinaryIO, path: Path) -> None:
    with path.open("wb") as target:
        shutil.copyfileobj(source, target)


def _write(path: Path, write: Callable[[], object]) -> None:
    try:
        write()
    except OSError as error:  # where there is no room, it does not say which file it is about
        raise OSError(error.errno, error.strerror, str(path)) from None


def _csv(store: "Store", run: str, table: str) -> str:
    from backend.store.exports import to_csv

    return to_csv(store.table(run, table))


def _json(store: "Store", run: str, table: str) -> str:
    from backend.store.exports import to_json

    return to_json(store.table(run, table)) + "\n"


def _job_node_info(store: "Store", run: str, _table: str) -> str:
    from backend.traces.node_listing import write_job_node_info

    return write_job_node_info(placements(store, run))


_WRITERS: dict[str, tuple[Callable[["Store", str, str], str], str]] = {
    "csv": (_csv, "csv"),
    "json": (_json, "json"),
    "job-node-info": (_job_node_info, "csv"),
}


def placements(store: "Store", run: str) -> dict[str, str]:
    """Job -> the node it started on. Ends the command if the run placed no job."""
    jobs: dict[str, list[Any]] = store.table(run, "jobs").select(["job", "first_node"]).to_pydict()
    found = {job: node for job, node in zip(jobs["job"], jobs["first_node"], strict=True) if node is not None}
    if not found:
        complaints.give_up(f"the run {run} placed no job, so there is no placement to write.")
    return found


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--kind", type=click.Choice(KINDS), help="What the file is.  [default: told by its content]")
@home_option
def import_(file: Path, kind: Any, home: str) -> None:
    """Import a bundle, or a file of the SpeCon authors' tools, and print the ids of its runs.

    Known are the migration log (time,job,orginal_node,to_node), the listing NODE NAME of kubectl, the table of
    completion times of two arms, and job_node_info.csv. All of a file is taken, or nothing.
    """
    from backend.service.imports import ImportFileError, import_file
    from backend.store.errors import is_disk_fault, unusable

    store = open_store(home)
    with complaints.file_errors():
        try:
            runs = import_file(store, file, kind)
        except ImportFileError as error:
            complaints.refuse(str(error))
        except OSError as error:
            if not is_disk_fault(error):
                raise
            complaints.give_up(f"{unusable(store.home, error)}.")
    for run in runs:
        click.echo(run)
