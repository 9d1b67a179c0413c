"""podshift runs, compare, export, import, pin, unpin."""

import csv
import io
import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from click.testing import Result

from tests.data.broken_specifications import GOOD

Podshift = Callable[..., Result]
DATA = Path(__file__).resolve().parents[2] / "data"


def test_runs_as_json(podshift: Podshift, pair: str) -> None:
    listed = json.loads(podshift("runs", "--json", "--limit", "1000").stdout)
    mine = [run for run in listed["runs"] if run["experiment"] == pair]
    assert {run["id"] for run in mine} == {
        f"{pair}.{arm}.s{seed}" for arm in ("default", "migrated") for seed in (1, 4)
    }
    assert all(run["status"] == "finished" for run in mine)


def test_no_runs_yet(podshift: Podshift, tmp_path: Path) -> None:
    result = podshift("runs", "--home", str(tmp_path))
    assert (result.exit_code, result.stdout) == (0, "")
    assert "no runs yet" in result.stderr


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("{0}:default", "{0}:migrated"),
        ("{0}.default.s1,{0}.default.s4", "{0}.migrated.s1,{0}.migrated.s4"),
    ],
    ids=["arms", "runs"],
)
def test_comparison(podshift: Podshift, pair: str, a: str, b: str) -> None:
    comparison = json.loads(podshift("compare", a.format(pair), b.format(pair), "--json").stdout)
    assert comparison["a"]["seeds"] == comparison["b"]["seeds"] == [1, 4]
    text = podshift("compare", a.format(pair), b.format(pair)).stdout
    makespan = next(metric for metric in comparison["metrics"] if metric["name"] == "makespan_s")
    assert f"{makespan['difference']:+.2f}" in text
    assert comparison["sign"] in text
    assert "same initial placement: yes" in text


def test_a_name_stands_for_its_newest_experiment(podshift: Podshift, pair: str) -> None:
    assert podshift("compare", "pair:default", "pair:migrated").exit_code == 0


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        ("none", "{0}:default", "no run and no experiment 'none'"),
        ("{0}:other", "{0}:default", "its arms are default, migrated"),
        ("{0}:default", "{0}:default", "both sides"),
        (",", "{0}:default", "names no run"),
    ],
)
def test_what_cannot_be_compared_is_exit_code_2(podshift: Podshift, pair: str, a: str, b: str, words: str) -> None:
    result = podshift("compare", a.format(pair), b.format(pair))
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr


def test_a_bundle_goes_out_and_comes_back(podshift: Podshift, pair: str, tmp_path: Path) -> None:
    file = tmp_path / "pair.zip"
    assert podshift("export", pair, "-o", str(file)).stdout.strip() == str(file)
    other = str(tmp_path / "other")
    copies = podshift("import", str(file), "--home", other).stdout.split()
    assert len(copies) == 4
    for copy in copies:
        arm, seed = copy.split(".")[1:]
        before, after = (
            podshift("export", run, "--format", "csv", "-o", "-", *home).stdout
            for run, home in ((f"{pair}.{arm}.{seed}", ()), (copy, ("--home", other)))
        )
        assert before == after


def test_a_bundle_goes_to_stdout(podshift: Podshift, pair: str, tmp_path: Path) -> None:
    result = podshift("export", f"{pair}.default.s1", "-o", "-")
    assert result.exit_code == 0
    (tmp_path / "piped.zip").write_bytes(result.stdout_bytes)
    assert len(podshift("import", str(tmp_path / "piped.zip"), "--home", str(tmp_path / "other")).stdout.split()) == 1
    assert "- for stdout" in podshift("export", "--help").stdout


def test_a_bundle_does_not_go_to_a_terminal(home: Path, pair: str) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "backend.cli", "export", pair, "-o", "-", "--home", str(home)]
    done = subprocess.run(command, stdout=theirs, stderr=subprocess.PIPE, text=True, check=False)
    os.close(theirs)
    os.close(ours)
    assert (done.returncode, done.stderr) == (
        2,
        "Error: a bundle is no text, and stdout is a terminal; name a file with --output, or redirect it.\n",
    )


@pytest.mark.parametrize("form", ["bundle", "csv"])
def test_a_device_is_written_to_and_not_replaced(podshift: Podshift, pair: str, tmp_path: Path, form: str) -> None:
    device = tmp_path / "device"
    device.symlink_to("/dev/full")  # the device itself is not for a test to lose
    result = podshift("export", f"{pair}.default.s1", "--format", form, "-o", str(device))
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == f"Error: {device}: No space left on device.\n"
    assert device.is_char_device()


def test_run_and_runs_say_the_same_of_jobs(podshift: Podshift, tmp_path: Path) -> None:
    """A run that was stopped by its time limit: not all of its jobs have finished."""
    path = tmp_path / "cut.yaml"
    path.write_text(GOOD.replace("name: broken", "name: cut") + "until: 150\n")
    said = []
    for lines in (podshift("run", str(path)).stdout.splitlines(), podshift("runs").stdout.splitlines()):
        places = {name: lines[0].index(name) + len(name) for name in ("jobs", "finished", "failed")}
        row = next(line for line in lines if line.startswith("cut-") and ".default." in line)
        said.append({name: int(row[:end].split()[-1]) for name, end in places.items()})
    assert said[0] == said[1]
    assert said[0]["finished"] < said[0]["jobs"]


def test_a_file_is_named_after_its_run(
    podshift: Podshift, pair: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = podshift("export", f"{pair}.default.s1", "--format", "csv", "--table", "usage").stdout.strip()
    assert name.startswith(f"{pair}.default.s1_usage_2")
    assert (tmp_path / name).read_text().startswith("time_s,node,")


def test_a_table_as_json(podshift: Podshift, pair: str) -> None:
    rows = json.loads(
        podshift("export", f"{pair}.migrated.s1", "--format", "json", "--table", "migrations", "-o", "-").stdout
    )
    assert rows[0]["outcome"] == "finished"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("none",), "no run and no experiment"),
        (("{0}", "--format", "csv"), "only a bundle may hold several"),
        (("{0}.default.s1", "--format", "csv", "--table", "secrets"), "no table"),
        (("{0}.default.s1", "-o", "/nowhere/x.zip"), "Error: /nowhere/x.zip: No such file or directory.\n"),
        (("{0}.default.s1", "-o", "/"), "Error: / is a folder; name a file in it with --output.\n"),
        (("{0}.default.s1", "--format", "csv", "-o", "/nowhere/x"), "Error: /nowhere/x: No such file or directory.\n"),
    ],
)
def test_an_export_that_cannot_be_is_exit_code_2(
    podshift: Podshift, pair: str, arguments: tuple[str, ...], words: str
) -> None:
    result = podshift("export", *(argument.format(pair) for argument in arguments))
    assert result.exit_code == 2
    assert words in result.stderr


@pytest.mark.parametrize(("file", "runs"), [("specon_migration_log.csv", 1), ("specon_completion_50jobs.csv", 2)])
def test_files_of_the_authors(podshift: Podshift, file: str, runs: int) -> None:
    assert len(podshift("import", str(DATA / file)).stdout.split()) == runs


@pytest.mark.parametrize(
    ("content", "arguments", "words"),
    [
        ("hello\n", (), "say which kind"),
        ("hello\n", ("--kind", "migration-log"), "line 1"),
        ("time,job,orginal_node,to_node\nx,a,b,c\n", (), "x.csv, line 2: 'x' is no time"),
        ("\n ,\nTime,Job,original_node,to_node\n1,a,b,c\n0,a,c,d\n", (), "line 5: lies before"),
        ("job,NS_s,SpeCon_s\na,1,2\nb,1\n", (), "line 3: has 2 cells"),
        ("NODE NAME\nm1 a\nm2 a\n", (), "line 3: pod 'a' is there already"),
        ("job,node\na,m1\na,m2\n", (), "line 3: 'a' is there already"),
    ],
)
def test_a_broken_file_is_exit_code_2(
    podshift: Podshift, tmp_path: Path, content: str, arguments: tuple[str, ...], words: str
) -> None:
    (tmp_path / "x.csv").write_text(content)
    result = podshift("import", str(tmp_path / "x.csv"), *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr


def test_the_placement_goes_into_templates_and_out_again(podshift: Podshift, pair: str, tmp_path: Path) -> None:
    run = f"{pair}.default.s1"
    listing = podshift("export", run, "--format", "job-node-info", "-o", "-").stdout
    placed = {row["job"]: row["node"] for row in csv.DictReader(io.StringIO(listing))}
    template = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "vae-2"},
        "spec": {"template": {"spec": {"containers": [{"name": "train", "image": "vae"}]}}},
    }
    file = tmp_path / "vae-2.yaml"
    file.write_text(yaml.safe_dump(template))
    result = podshift("pin", run, str(tmp_path))
    assert result.stdout == f"vae-2 {placed['vae-2']}\n"
    assert "No template for 6 of 7 jobs" in result.stderr
    assert yaml.safe_load(file.read_text())["spec"]["template"]["spec"]["nodeName"] == placed["vae-2"]
    assert podshift("unpin", str(tmp_path)).stdout == "vae-2\n"
    assert yaml.safe_load(file.read_text()) == template
