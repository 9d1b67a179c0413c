"""`podshift run`: the runs of a specification, to their end."""

import json
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from backend.cli import complaints
from backend.cli.documents import read_specification
from backend.cli.home import home_option, open_store
from backend.cli.kubernetes import kubernetes_options
from backend.cli.progress import ProgressLine
from backend.cli.tables import table

if TYPE_CHECKING:
    from backend.experiments.runner import Runner
    from backend.store.store import Store

_TICK_S = 0.2
"""How often progress is looked at."""


@click.command()
@click.argument("specification", metavar="SPEC")
@click.option(
    "--seeds", metavar="SEEDS", help="Instead of those in SPEC: how many (3), a range (1..20) or a list (1,5,9)."
)
@click.option("--jobs", type=click.IntRange(1, 256), help="Runs at the same time.  [default: one a processor]")
@click.option("--both", is_flag=True, help="Run SPEC without migration and with it, as a pair.")
@click.option(
    "--target",
    type=click.Choice(["simulator", "embedded", "live"]),
    help="Where it runs, instead of where SPEC says: in the simulator, as pods on an embedded cluster, or as pods on "
    "the cluster of your kubeconfig.",
)
@click.option("--speed", type=float, help="Simulated seconds a second, instead of what SPEC says.")
@kubernetes_options
@click.option("--paced/--full-speed", default=False, help="Hold the speed that SPEC names, or go as fast as possible.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@home_option
def run(
    specification: str,
    seeds: str | None,
    jobs: int | None,
    both: bool,
    target: str | None,
    speed: float | None,
    paced: bool,
    as_json: bool,
    home: str,
) -> None:
    """Run the experiment in SPEC, a YAML or JSON file (- for stdin), and print what came of it.

    Ctrl-C stops it and keeps what was recorded. In the simulator, the log hash of a run depends on the specification,
    arm and seed only.
    """
    chosen = read_specification(specification, seeds=seeds, both=both, paced=paced, target=target, speed=speed)
    from backend.experiments.runner import Runner, create

    store = open_store(home, recovered=True)
    experiment = create(store, chosen)
    runner = Runner(store, jobs=jobs)
    stopped = False
    try:
        runner.submit(experiment, chosen)
        stopped = _follow(store, runner, experiment)
    finally:
        runner.close()
    rows = [_row(row) for row in store.runs(experiment=experiment)[0]]
    for row in rows:
        if (ended := runner.unrecorded.get(row["id"])) is not None:
            row |= {"status": ended.status, "error": ended.error}
    if as_json:
        click.echo(json.dumps({"experiment": experiment, "runs": rows}, indent=2))
    else:
        _print(rows)
    if runner.fault is not None:
        # Once, as it is the same for all; each run that failed by it has it in the store.
        left = len(runner.unrecorded)
        marked = f"; {left} of the runs could not even be marked as failed" if left else ""
        complaints.give_up(f"{runner.fault}{marked}.")
    if not as_json:
        _print_errors(rows)
        _print_failures(store, rows)
    if stopped:
        sys.exit(complaints.STOPPED)
    if any(row["status"] != "finished" for row in rows):
        sys.exit(complaints.NOT_DONE)


def _follow(store: "Store", runner: "Runner", experiment: str) -> bool:
    """Wait for the end; True if Ctrl-C stopped it."""
    line = ProgressLine()
    stopped = False
    while True:
        try:
            while not runner.wait(experiment, _TICK_S):
                rows, _ = store.runs(experiment=experiment)
                line.show([(row.status, row.progress.fraction if row.progress else 0.0) for row in rows])
            line.clear()
            return stopped
        except KeyboardInterrupt:
            line.clear()
            if stopped:  # a second time: do not wait for the end of the runs
                return True
            stopped = True
            click.echo("Stopping; what was recorded is kept.", err=True)
            runner.stop_experiment(experiment)


def _row(row: Any) -> dict[str, Any]:
    return {
        "id": row.id,
        "arm": row.arm,
        "seed": row.seed,
        "status": row.status,
        "log_sha256": row.log_sha256,
        "summary": row.summary,
        "error": row.error,
    }


def _print(rows: list[dict[str, Any]]) -> None:
    header = (
        *("run", "status", "jobs", "finished", "failed", "makespan s", "mean s", "longest s", "migrations"),
        "log sha256",
    )
    lines = []
    for row in rows:
        summary = row["summary"] or {}
        names = ("jobs", "finished", "failed", "makespan_s", "mean_completion_s", "max_completion_s", "migrations")
        lines.append((row["id"], row["status"], *(summary.get(name) for name in names), row["log_sha256"] or "-"))
    click.echo(table(header, lines))


def _print_errors(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        if row["error"]:
            click.echo(f"{row['id']}: {row['error']}", err=True)


def _print_failures(store: "Store", rows: list[dict[str, Any]]) -> None:
    """Why jobs failed, the commonest reason of each run: the table says only how many did."""
    for row in rows:
        failed = (row["summary"] or {}).get("failed")
        if not failed:
            continue
        jobs = store.table(row["id"], "jobs").select(("outcome", "reason")).to_pylist()
        reasons = Counter(job["reason"] for job in jobs if job["outcome"] == "failed")
        reason, times = reasons.most_common(1)[0]
        click.echo(f"{row['id']}: {failed} of its jobs failed, {times} of them because {reason}", err=True)
