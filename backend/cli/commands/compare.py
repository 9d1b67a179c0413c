"""`podshift compare`: two groups of runs side by side."""

import json
from collections.abc import Mapping
from typing import Any

import click

from backend.cli import complaints
from backend.cli.home import home_option, open_store
from backend.cli.selection import NAMED, select_runs, store_errors
from backend.cli.tables import table


@click.command(epilog=f"A and B are {NAMED}.")
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option("--json", "as_json", is_flag=True, help="Print the whole comparison as JSON, jobs included.")
@home_option
def compare(a: str, b: str, as_json: bool, home: str) -> None:
    """Compare the runs B with the runs A: differences are B - A, negative means B is faster."""
    from backend.service.comparisons import ComparisonError, compare_runs

    store = open_store(home)
    with store_errors():
        sides = select_runs(store, a), select_runs(store, b)
        try:
            comparison = compare_runs(store, *sides)
        except ComparisonError as error:
            complaints.refuse(str(error))
    if as_json:
        click.echo(json.dumps(comparison, indent=2))
    else:
        _print(comparison)


def _print(comparison: Mapping[str, Any]) -> None:
    for side in ("a", "b"):
        entry = comparison[side]
        click.echo(f"{side.upper()}: {entry['label']} ({_count(len(entry['runs']), 'run')})")
    for check in comparison["validity"]:
        mark = "yes" if check["ok"] else "NO"
        click.echo(
            f"{check.get('label', check['check'])}: {mark}" + (f" ({check['detail']})" if check["detail"] else "")
        )
    click.echo()
    rows = []
    for metric in comparison["metrics"]:
        interval = metric["ci95"]
        rows.append(
            (
                f"{metric['label']} ({metric['unit']})" if metric["unit"] else metric["label"],
                _number(metric["a"]),
                _number(metric["b"]),
                _signed(metric["difference"]),
                _signed(metric["percent"], " %"),
                f"{_signed(interval[0])} to {_signed(interval[1])}" if interval else "",
                metric["n"],
            )
        )
    click.echo(table(("measure", "A", "B", "B - A", "change", "95 % interval of B - A", "n"), rows))
    if comparison["faster"] is not None:
        change = _signed(comparison["mean_of_changes_percent"], " %")
        click.echo(
            f"\n{_count(comparison['faster'], 'job')} faster in B, {comparison['slower']} slower, "
            f"{comparison['equal']} equal; mean of the jobs' changes {change}"
        )
    click.echo(f"Sign: {comparison['sign']}.")
    if comparison["note"]:
        click.echo(f"Note: {comparison['note']}.")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.{_digits(value)}f}"


def _signed(value: float | None, unit: str = "") -> str:
    return "" if value is None else f"{value:+.{_digits(value)}f}{unit}"


def _digits(value: float) -> int:
    """Digits behind the point: shares and indices are small numbers, times are large ones."""
    return 2 if abs(value) >= 1 or value == 0 else 4
