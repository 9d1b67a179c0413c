"""`make bench`: measure both sides in one run, alternating, and write bench/RESULTS.md."""

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from bench import placement

RESULTS = Path(__file__).with_name("RESULTS.md")
ROUNDS = 5
JOBS = 20_000


def main() -> None:
    """Measure and write."""
    lines = [
        "# Speed",
        "",
        f"Written by `make bench` on {datetime.now(UTC):%Y-%m-%d}: {_machine()}.",
        f"Both sides of a ratio ran in one go, alternating, {ROUNDS} rounds; figures are medians. The machine is",
        "shared: read rates as plus or minus 30 %; ratios hold better.",
        "",
    ]
    for part in (_processor_sharing, _placement, _watched, _seven_jobs, _help):
        lines += part()
        print("\n".join(lines[-8:]), flush=True)
    RESULTS.write_text("\n".join(lines) + "\n")
    print(f"wrote {RESULTS}")


def _processor_sharing() -> list[str]:
    lines = [
        "## Training jobs, end to end",
        "",
        f"{JOBS:,} jobs of the workload in bench/workload.py on one core. Podshift: default scheduler (five filters,",
        "five scores, an explained decision per pod), controller, simulator and the full event log on disk. SimPy 4:",
        "the same processor sharing written the obvious way (a process per job, interrupted at each change of share),",
        "no scheduler but the node with fewest jobs, no log.",
        "",
        "| nodes | Podshift (jobs/s) | target | SimPy (jobs/s) | Podshift / SimPy | mean completion of both (s) |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    for nodes, target in ((100, 20_000), (1_000, 8_000)):
        ours, peers = [], []
        for _ in range(ROUNDS):
            ours.append(_isolated("podshift", nodes))
            peers.append(_isolated("simpy", nodes))
        rate = statistics.median(JOBS / one["seconds"] for one in ours)
        peer = statistics.median(JOBS / one["seconds"] for one in peers)
        ratio = statistics.median(b["seconds"] / a["seconds"] for a, b in zip(ours, peers, strict=True))
        lines.append(
            f"| {nodes:,} | {rate:,.0f} | {target:,} | {peer:,.0f} | {ratio:.2f} "
            f"| {ours[0]['mean']:.1f} / {peers[0]['mean']:.1f} |"
        )
    return [*lines, ""]


def _placement() -> list[str]:
    return placement.lines(ROUNDS)


def _watched() -> list[str]:
    runs = [_isolated("watched", 500) for _ in range(3)]
    best = sorted(runs, key=lambda run: run["seconds"])[1]
    return [
        "## 10,000 jobs on 500 nodes, watched by SpeCon every 10 s",
        "",
        "| time (s) | limit | peak memory (MB) | limit | events | migrations |",
        "|---:|---:|---:|---:|---:|---:|",
        f"| {best['seconds']:.1f} | 10 | {best['peak']:.0f} | 500 | {best['events']:,} | {best['migrations']:,} |",
        "",
    ]


def _seven_jobs() -> list[str]:
    milliseconds = 1000 * statistics.median(_isolated("seven", 0)["seconds"] for _ in range(ROUNDS))
    return [
        "## The seven-job experiment, both arms, after start-up",
        "",
        f"{milliseconds:.1f} ms (limit 50 ms)",
        "",
    ]


def _help() -> list[str]:
    command = [str(Path(sys.executable).with_name("podshift")), "--help"]
    seconds = _median_time(lambda: subprocess.run(command, check=True, capture_output=True))
    bare = _median_time(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True))
    return [
        "## `podshift --help`",
        "",
        f"{seconds:.2f} s (limit 0.4 s); an empty Python program takes {bare:.2f} s here",
        "",
    ]


def _median_time(run: Callable[[], object]) -> float:
    times = []
    for _ in range(2 * ROUNDS):
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def _isolated(side: str, nodes: int) -> dict[str, float]:
    """One measurement in a process of its own, so that neither side inherits the other's memory."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.one", side, str(nodes), str(JOBS)],
        check=True,
        capture_output=True,
        text=True,
        cwd=RESULTS.parents[1],
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _machine() -> str:
    model = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ),
        platform.processor(),
    )
    return f"{os.cpu_count()} cores ({model}), Python {platform.python_version()}, {platform.system()}"


if __name__ == "__main__":
    main()
