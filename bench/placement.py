"""Pods placed a second: Podshift's Skippy beside skippy-core, with the same choices pod by pod."""

import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from backend.model import node_table
from bench import peers

ROOT = Path(__file__).resolve().parents[1]
PEER = "edgerun-skippy-core==0.1.1"
WARM = 6
"""Pods before those whose time is taken: two of each of the three shapes."""
REPEATS = 5
"""Fresh clusters a round for Podshift's side, which takes milliseconds."""


class Size(NamedTuple):
    nodes: int
    pods: int
    """Few where the peer is slow."""
    more: int
    """Pods of a longer run of Podshift alone, as many as find room."""
    target: int | None


SIZES = (
    Size(100, 300, 600, 30),
    Size(1_000, 120, 6_000, 150),
    Size(5_000, 30, 20_000, 300),
    Size(15_000, 12, 20_000, None),
)


def lines(rounds: int) -> list[str]:
    """The section of RESULTS.md."""
    peer = peers.interpreter("skippy", PEER)
    compiled = "compiled" if (node_table.__file__ or "").endswith(".so") else "interpreted"
    made = [
        "## Placement: pods a second",
        "",
        "Skippy's five scores, all nodes scored. The cluster is the paper's testbed, repeated (a cloud VM, a Jetson,",
        "four Raspberry Pis; a storage node every 50), with its workflow of three pods, images, data and bandwidth:",
        "bench/skippy_cluster.py. Podshift's side is state, scheduler and an explained decision per pod, applied",
        f"(inner loops {compiled}). Processor time, one process a side and round, no garbage collection.",
        f"Both place the same pods after {WARM} others that fill their caches; `with the first` counts these as well.",
        *_said_of(peer),
        "",
        "| nodes | pods | Podshift (pods/s) | skippy-core (pods/s) | ratio (target) | ratio with the first "
        "| same choices | Podshift, longer run: pods | pods/s |",
        "|---:|---:|---:|---:|---:|---:|---|---:|---:|",
    ]
    for size in SIZES:
        made.append(_row(size, peer, rounds))
        print(made[-1], flush=True)
    return [*made, "", *_memory(SIZES[-1].nodes), ""]


def _said_of(peer: Path | str) -> list[str]:
    if isinstance(peer, str):
        return [f"**No peer in this run**: {peer}."]
    return [
        f"The peer is {PEER} from PyPI, unchanged (it imports and runs on this Python), in bench/.venv-skippy.",
        "Its logging is switched off.",
    ]


def _row(size: Size, peer: Path | str, rounds: int) -> str:
    ours: list[dict[str, Any]] = []
    theirs: list[dict[str, Any]] = []
    for _ in range(rounds):
        ours.append(_ours(size.nodes, size.pods, WARM, REPEATS))
        if isinstance(peer, Path):
            theirs.append(_measured(str(peer), "bench/skippy_peer.py", size.nodes, size.pods, WARM))
            same_choices(ours[-1]["choices"], theirs[-1]["choices"])
    longer = [_ours(size.nodes, size.more, WARM, 1)["seconds"] for _ in range(3)]
    cells = [f"{size.nodes:,}", f"{size.pods:,}", _rate(size.pods, ours)]
    if theirs:
        target = "none" if size.target is None else f"{size.target}"
        cells += [
            _rate(size.pods, theirs),
            f"{ratio(ours, theirs, 'seconds'):.0f} ({target})",
            f"{ratio(ours, theirs, 'with_first'):.0f}",
            f"all {size.pods + WARM}",
        ]
    else:
        cells += ["", "", "", "not compared"]
    cells += [f"{size.more:,}", f"{size.more / statistics.median(longer):,.0f}"]
    return f"| {' | '.join(cells)} |"


def same_choices(ours: Sequence[str | None], theirs: Sequence[str | None]) -> None:
    """End the benchmark where the two sides do not choose the same nodes, pod by pod."""
    if len(ours) != len(theirs):
        raise SystemExit(f"Podshift decided {len(ours)} pods and skippy-core {len(theirs)}")
    for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        if one != other:
            raise SystemExit(f"pod {number}: Podshift chose {one}, skippy-core {other}")


def ratio(ours: Sequence[dict[str, Any]], theirs: Sequence[dict[str, Any]], what: str) -> float:
    """Median over the rounds of how many times quicker Podshift was."""
    return statistics.median(b[what] / a[what] for a, b in zip(ours, theirs, strict=True))


def _rate(pods: int, rounds: Sequence[dict[str, Any]]) -> str:
    return f"{pods / statistics.median(one['seconds'] for one in rounds):,.0f}"


def _memory(nodes: int) -> list[str]:
    found = _measured(sys.executable, "-m", "bench.skippy_side", "memory", nodes)
    return [
        f"Memory at {nodes:,} nodes, after 60 pods: the picture that schedulers see (NodeTable with columns, masks,",
        f"links, names and its reserve for growth) takes {found['picture']:,.0f} bytes a node (limit 1,000), what",
        f"Skippy keeps of the three shapes of pods {found['kept']:,.0f}, and the node objects with their labels "
        f"{found['objects']:,.0f}.",
    ]


def _ours(*arguments: int) -> dict[str, Any]:
    return _measured(sys.executable, "-m", "bench.skippy_side", *arguments)


def _measured(python: str, *arguments: object) -> dict[str, Any]:
    """One measurement in a process of its own."""
    command = [python, *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    print("\n".join(lines(int(sys.argv[1]) if len(sys.argv) > 1 else 5)))
