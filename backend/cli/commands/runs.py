"""`podshift runs`: what is stored."""

import json

import click

from backend.cli.home import home_option, open_store
from backend.cli.tables import table


@click.command()
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="How many, newest first.")
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
@home_option
def runs(limit: int, as_json: bool, home: str) -> None:
    """List the runs that are stored, newest first."""
    import msgspec

    rows, total = open_store(home, recovered=True).runs(limit=limit)
    if as_json:
        hidden = {"pid"}
        plain = [{k: v for k, v in msgspec.to_builtins(row).items() if k not in hidden} for row in rows]
        click.echo(json.dumps({"runs": plain, "total": total}, indent=2))
        return
    if not rows:
        click.echo("There are no runs yet; podshift run examples/seven-jobs.yaml makes two.", err=True)
        return
    header = ("run", "status", "created (UTC)", "jobs", "finished", "failed", "makespan s", "mean s", "migrations")
    lines = []
    for row in rows:
        summary = row.summary or {}
        names = ("jobs", "finished", "failed", "makespan_s", "mean_completion_s", "migrations")
        numbers = (summary.get(name) for name in names)
        lines.append((row.id, row.status, row.created_at[:19].replace("T", " "), *numbers))
    click.echo(table(header, lines))
    if total > len(rows):
        click.echo(f"{total - len(rows)} older ones are not shown; --limit shows more.", err=True)
