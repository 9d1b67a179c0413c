"""`podshift perf scheduler` as a person would call it."""

import csv
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from backend.cli.commands import perf

NODES = "sn,cpu_milli,memory_mib,gpu,model\nn0,32000,262144,0,\nn1,96000,786432,8,G2\n"
PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time\np0,100,100,1,1000,,0\np1,100,100,0,0,,5\n"


def rows(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader((folder / "scheduler.csv").read_text().splitlines()))


def test_a_table_a_csv_and_a_figure(podshift: Callable[..., Result], tmp_path: Path) -> None:
    options = ("--nodes", "10,20", "--priorities", "1,6", "--percentage", "0,100", "--pods", "6")
    result = podshift("perf", "scheduler", *options, "--out", str(tmp_path / "new" / "folder"))
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[0].split() == ["scores", "nodes", "percentage", "pods", "placed", "ms", "pods/s"]
    measured = rows(tmp_path / "new" / "folder")
    assert [(row["nodes"], row["constraints"], row["percentage"], row["placed"]) for row in measured] == [
        (nodes, scores, part, "6") for nodes in ("10", "20") for scores in ("1", "6") for part in ("0", "100")
    ]
    assert all(float(row["duration_ms"]) >= 0 for row in measured)
    assert "ten cloud regions" in (tmp_path / "new" / "folder" / "scheduler.html").read_text()


@pytest.mark.parametrize("as_folder", [True, False], ids=["folder", "files"])
def test_a_trace(podshift: Callable[..., Result], tmp_path: Path, as_folder: bool) -> None:
    nodes, pods = tmp_path / "openb_node_list_gpu.csv", tmp_path / "openb_pod_list_x.csv"
    nodes.write_text(NODES)
    pods.write_text(PODS)
    trace = ("--trace", str(tmp_path)) if as_folder else ("--trace", str(pods), "--trace", str(nodes))
    result = podshift("perf", "scheduler", *trace, "--priorities", "5", "--percentage", "100", "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    (row,) = rows(tmp_path)
    assert (row["nodes"], row["pods"], row["placed"]) == ("2", "2", "2")


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("100..15000", [100, 500, *range(1000, 15001, 1000)]),
        ("250..2500", [250, 500, 1000, 2000, 2500]),
        ("7", [7]),
        ("30..30", [30]),
        ("20, 10,20", [20, 10]),
        ("10,400..1000", [10, 400, 500, 1000]),
    ],
)
def test_sizes(text: str, sizes: list[int]) -> None:
    assert perf._sizes(text) == sizes


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--nodes", "many"], "--nodes: 'many' must be a whole number from 1 to 100,000"),
        (["--nodes", "0"], "--nodes: '0'"),
        (["--nodes", ""], "--nodes: ''"),
        (["--nodes", "10,,20"], "--nodes: '10,,20' must be numbers with commas"),
        (["--nodes", "500..100"], "--nodes: the range 500..100 ends before it begins"),
        (["--nodes", "100.."], "--nodes: ''"),
        (["--nodes", "1..200000"], "--nodes: '200000'"),
        (["--nodes", "-5"], "--nodes: '-5'"),
        (["--priorities", "31"], "--priorities: '31' must be a whole number from 1 to 30"),
        (["--priorities", "1.5"], "--priorities: '1.5'"),
        (["--percentage", "101"], "--percentage: '101' must be a whole number from 0 to 100"),
        (["--pods", "0"], "--pods"),
        (["--trace", "/nowhere"], "'/nowhere' does not exist"),
        (
            ["--nodes", "1..100000", "--priorities", ",".join(map(str, range(1, 31))), "--percentage", "1,2,3,4"],
            "combin",
        ),
    ],
    ids=str,
)
def test_bad_arguments_are_exit_code_2_and_one_line(
    podshift: Callable[..., Result], tmp_path: Path, options: list[str], problem: str
) -> None:
    out = tmp_path / "out"
    result = podshift("perf", "scheduler", "--out", str(out), *options)
    assert result.exit_code == 2
    assert problem in result.stderr
    assert not out.exists()


def test_a_trace_that_is_none(podshift: Callable[..., Result], tmp_path: Path) -> None:
    nodes, pods = tmp_path / "nodes.csv", tmp_path / "pods.csv"
    nodes.write_text(NODES)
    pods.write_text(PODS.replace("p1,100", "p1,x"))

    def refusal(*traces: Path) -> str:
        options = [word for path in traces for word in ("--trace", str(path))]
        result = podshift("perf", "scheduler", "--out", str(tmp_path / "out"), *options)
        assert result.exit_code == 2
        return result.stderr

    assert "pods.csv, line 3: cpu_milli is 'x'" in refusal(nodes, pods)
    assert "are both lists of nodes" in refusal(nodes, nodes)
    assert "one folder, or two files" in refusal(nodes)
    assert "holds 0 files *node_list*.csv" in refusal(tmp_path)


def test_ctrl_c_keeps_what_was_measured(
    podshift: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from backend.experiments import perf_scheduler

    made = perf_scheduler.cloud_regions

    def interrupted(nodes: int, pods: int, seed: int) -> perf_scheduler.Scene:
        if nodes == 20:
            raise KeyboardInterrupt
        return made(nodes, pods, seed)

    monkeypatch.setattr(perf_scheduler, "cloud_regions", interrupted)
    options = ("--nodes", "10,20", "--priorities", "1", "--percentage", "0")
    result = podshift("perf", "scheduler", *options, "--out", str(tmp_path))
    assert result.exit_code == 130
    assert "Stopped after 1 of 2 combinations." in result.stderr
    assert [row["nodes"] for row in rows(tmp_path)] == ["10"]


def test_help_says_what_a_range_means(podshift: Callable[..., Result]) -> None:
    result = podshift("perf", "scheduler", "--help")
    assert result.exit_code == 0
    assert "100, 500, 1000, 2000, 3000" in " ".join(result.stdout.split())
