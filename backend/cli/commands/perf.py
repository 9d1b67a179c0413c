"""`podshift perf`: measurements of Podshift itself."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from backend.cli import complaints
from backend.cli.progress import ProgressLine
from backend.cli.tables import table

if TYPE_CHECKING:
    from backend.experiments.perf_scheduler import Measured, Scene
    from backend.traces.openb import TraceNode, TracePod

NODES = "100..15000"
PODS = 30
MOST_COMBINATIONS, MOST_PODS = 10_000, 1_000_000
CSV, FIGURE = "scheduler.csv", "scheduler.html"
NODE_LIST, POD_LIST = "openb_node_list_all_node.csv", "openb_pod_list_default.csv"


@click.group()
def perf() -> None:
    """Measure how quick Podshift itself is on this machine."""


@perf.command()
@click.option(
    "--nodes",
    metavar="SIZES",
    help="Sizes of the cluster: a list (100,1000), or a range A..B for A, B and of 100, 500, 1000, 2000, 3000 ... what "
    f"lies between.  [default: {NODES}; with --trace: the trace's nodes]",
)
@click.option(
    "--priorities",
    metavar="LIST",
    default="1,5,10,15",
    show_default=True,
    help="How many scores: Skippy's five in turn, with weight 1, until there are so many.",
)
@click.option(
    "--percentage",
    metavar="LIST",
    default="0,100",
    show_default=True,
    help="Part of the nodes that is scored, in percent; 0 adapts it to their number.",
)
@click.option(
    "--pods",
    type=click.IntRange(1, MOST_PODS),
    metavar="COUNT",
    help=f"Pods to be placed.  [default: {PODS}; with --trace: the trace's pods]",
)
@click.option("--seed", type=click.IntRange(0, 2**31), default=1, show_default=True, help="Of bandwidth and storage.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default="perf-scheduler",
    show_default=True,
    help=f"Folder for {CSV} and {FIGURE}.",
)
@click.option(
    "--trace",
    type=click.Path(exists=True, path_type=Path),
    multiple=True,
    metavar="PATH",
    help="Nodes and pods of the openb trace format: a folder, or --trace NODES.csv --trace PODS.csv.",
)
def scheduler(
    nodes: str | None,
    priorities: str,
    percentage: str,
    pods: int | None,
    seed: int,
    out: Path,
    trace: tuple[Path, ...],
) -> None:
    """Place pods with the scheduler skippy on clusters of several sizes, and write how long it takes.

    The cluster has ten cloud regions with a tenth of the nodes each, random bandwidth, and gets the pods of Skippy's
    workflow. Every combination starts with an empty cluster; its processor time is measured. Ctrl-C keeps what was
    measured until then.
    """
    from backend.experiments.perf_scheduler import MOST_SCORES

    counts = _numbers("--priorities", priorities, 1, MOST_SCORES)
    percentages = _numbers("--percentage", percentage, 0, 100)
    sizes = None if nodes is None and trace else _sizes(NODES if nodes is None else nodes)
    lists = _read_trace(trace) if trace else None

    from backend.experiments.perf_figure import html
    from backend.experiments.perf_scheduler import as_table, combinations, run
    from backend.store.exports import to_csv

    scene, there = _scene(lists, pods, seed)
    wanted = combinations(sizes or [there], counts, percentages)
    if len(wanted) > MOST_COMBINATIONS:
        complaints.refuse(f"these are {len(wanted):,} combinations; at most {MOST_COMBINATIONS:,} are measured.")
    with complaints.file_errors():
        out.mkdir(parents=True, exist_ok=True)
    rows: list[Measured] = []
    line = ProgressLine()
    stopped = False
    try:
        for row in run(wanted, scene):
            rows.append(row)
            line.show([("finished", 1.0)] * len(rows) + [("running", 0.0)] * (len(wanted) - len(rows)))
    except KeyboardInterrupt:
        stopped = True
    line.clear()
    if rows:
        where = "openb trace" if lists else "ten cloud regions"
        with complaints.file_errors():
            (out / CSV).write_text(to_csv(as_table(rows)), encoding="utf-8")
            (out / FIGURE).write_text(html(rows, f"Placement by Skippy, {where}"), encoding="utf-8")
        _print(rows)
        click.echo(f"\n{out / CSV}\n{out / FIGURE}")
    if stopped:
        click.echo(f"Stopped after {len(rows)} of {len(wanted)} combinations.", err=True)
        sys.exit(complaints.STOPPED)


def _scene(
    lists: "tuple[list[TraceNode], list[TracePod]] | None", pods: int | None, seed: int
) -> "tuple[Callable[[int], Scene], int]":
    """What makes cluster and pods of a number of nodes, and the number of nodes of the trace (0 without one)."""
    from backend.experiments.perf_scheduler import cloud_regions, from_trace

    if lists is None:
        return lambda size: cloud_regions(size, pods or PODS, seed), 0
    trace_nodes, trace_pods = lists
    return lambda size: from_trace(trace_nodes, trace_pods, size, pods or len(trace_pods), seed), len(trace_nodes)


def _print(rows: "list[Measured]") -> None:
    header = ("scores", "nodes", "percentage", "pods", "placed", "ms", "pods/s")
    lines = [(r.constraints, r.nodes, r.percentage, r.pods, r.placed, r.duration_ms, round(r.pods_per_s)) for r in rows]
    click.echo(table(header, lines))


def _read_trace(paths: tuple[Path, ...]) -> "tuple[list[TraceNode], list[TracePod]]":
    from backend.traces import openb
    from backend.traces.errors import TraceError

    files = _in_folder(paths[0]) if len(paths) == 1 and paths[0].is_dir() else list(paths)
    if len(files) != 2 or any(path.is_dir() for path in files):
        complaints.refuse("--trace takes one folder, or two files: --trace NODES.csv --trace PODS.csv.")
    with complaints.file_errors():
        contents = [(path.read_bytes(), str(path)) for path in files]
    try:
        contents.sort(key=lambda one: openb.kind_of(*one))
        kinds = [openb.kind_of(*one) for one in contents]
        if kinds != ["nodes", "pods"]:
            complaints.refuse(
                f"{contents[0][1]} and {contents[1][1]} are both lists of {kinds[0]}; one must be of each."
            )
        return openb.read_nodes(*contents[0]), openb.read_pods(*contents[1])
    except TraceError as error:
        complaints.refuse(f"{error}.")


def _in_folder(folder: Path) -> list[Path]:
    found = []
    for usual, pattern in ((NODE_LIST, "*node_list*.csv"), (POD_LIST, "*pod_list*.csv")):
        there = [folder / usual] if (folder / usual).is_file() else sorted(folder.glob(pattern))
        if len(there) != 1:
            complaints.refuse(
                f"{folder} holds {len(there)} files {pattern} and no {usual}; name both files: "
                "--trace NODES.csv --trace PODS.csv."
            )
        found += there
    return found


def _sizes(text: str) -> list[int]:
    """The sizes that a list of numbers and ranges names, each once, in the order given."""
    from backend.experiments.perf_scheduler import MOST_NODES

    found: list[int] = []
    for part in _parts("--nodes", text):
        first, dots, last = (piece.strip() for piece in part.partition(".."))
        if not dots:
            found.append(_number("--nodes", first, 1, MOST_NODES))
            continue
        least, most = _number("--nodes", first, 1, MOST_NODES), _number("--nodes", last, 1, MOST_NODES)
        if least > most:
            complaints.refuse(f"--nodes: the range {part} ends before it begins.")
        between = [size for size in (100, 500, *range(1000, most, 1000)) if least < size < most]
        found += [least, *between, most]
    return list(dict.fromkeys(found))


def _numbers(option: str, text: str, least: int, most: int) -> list[int]:
    return list(dict.fromkeys(_number(option, part, least, most) for part in _parts(option, text)))


def _parts(option: str, text: str) -> list[str]:
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        complaints.refuse(f"{option}: {text[:60]!r} must be numbers with commas between them.")
    return parts


def _number(option: str, text: str, least: int, most: int) -> int:
    value = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else -1
    if not least <= value <= most:
        complaints.refuse(f"{option}: {text[:40]!r} must be a whole number from {least} to {most:,}.")
    return value
