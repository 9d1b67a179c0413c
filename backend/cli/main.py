"""The group of all commands."""

import click

from backend.cli.commands.cluster import cluster
from backend.cli.commands.compare import compare
from backend.cli.commands.exchange import export, import_
from backend.cli.commands.perf import perf
from backend.cli.commands.pin import pin, unpin
from backend.cli.commands.run import run
from backend.cli.commands.runs import runs
from backend.cli.commands.serve import serve
from backend.cli.commands.template import template
from backend.cli.commands.train import train
from backend.cli.commands.up import up
from backend.cli.complaints import Commands


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="podshift", prog_name="podshift")
def main() -> None:
    """Run experiments on a simulated cluster, default and migrated, and compare them.

    Runs are kept in the folder that --home or PODSHIFT_HOME names. Start with: podshift up
    """


for _command in (run, compare, runs, export, import_, template, pin, unpin, perf, train, cluster, up, serve):
    main.add_command(_command)
