"""podshift run: results, reproducibility, options, bad input, Ctrl-C."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from backend.cli.main import main
from backend.store.store import Store
from tests.api.conditions import specification, wait_until
from tests.data.broken_specifications import BROKEN, GOOD

Podshift = Callable[..., Result]


def as_json(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_the_same_run_twice_leaves_the_same_logs(podshift: Podshift, spec: Path) -> None:
    hashes = [
        {run["arm"]: run["log_sha256"] for run in as_json(podshift("run", str(spec), "--json"))["runs"]}
        for _ in range(2)
    ]
    assert hashes[0] == hashes[1]
    assert set(hashes[0]) == {"default", "migrated"}
    assert all(re.fullmatch(r"[0-9a-f]{64}", value) for value in hashes[0].values())


def test_the_number_of_processes_changes_no_log(podshift: Podshift, spec: Path) -> None:
    one, two = (
        as_json(podshift("run", str(spec), "--json", "--seeds", "2", "--jobs", jobs))["runs"] for jobs in ("1", "2")
    )
    assert [run["log_sha256"] for run in one] == [run["log_sha256"] for run in two]
    assert len({run["log_sha256"] for run in one}) == 4


def test_the_table_names_each_run_with_its_hash(podshift: Podshift, pair: str) -> None:
    lines = podshift("runs").stdout.splitlines()
    assert [line for line in lines if line.startswith(f"{pair}.migrated.s4")]


@pytest.mark.parametrize(
    ("seeds", "expected"), [("1..3", [1, 2, 3]), ("2", [1, 2]), ("5,7", [5, 7])], ids=["range", "how many", "list"]
)
def test_seeds_on_the_command_line(podshift: Podshift, spec: Path, seeds: str, expected: list[int]) -> None:
    runs = as_json(podshift("run", str(spec), "--json", "--seeds", seeds))["runs"]
    assert [run["seed"] for run in runs if run["arm"] == "default"] == expected


def test_both_makes_a_pair_of_one_arm(podshift: Podshift, tmp_path: Path) -> None:
    path = tmp_path / "one.yaml"
    text = GOOD.replace("name: broken", "name: one").replace("pin_initial_placement: true\n", "")
    path.write_text("\n".join(line for line in text.splitlines() if "{name: default," not in line))
    runs = as_json(podshift("run", str(path), "--both", "--json"))["runs"]
    assert [run["arm"] for run in runs] == ["default", "migrated"]


def test_both_does_not_fit_two_arms(podshift: Podshift, spec: Path) -> None:
    result = podshift("run", str(spec), "--both")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "leave --both out" in result.stderr


def test_full_speed_is_the_default(podshift: Podshift, tmp_path: Path) -> None:
    path = tmp_path / "slow.yaml"
    path.write_text(GOOD + "speed: 0.001\n")
    assert as_json(podshift("run", str(path), "--json"))["runs"][0]["status"] == "finished"


def test_a_specification_from_stdin(home: Path) -> None:
    result = CliRunner().invoke(main, ["run", "-", "--json"], input=GOOD, env={"PODSHIFT_HOME": str(home)})
    assert as_json(result)["runs"][0]["status"] == "finished"


@pytest.mark.parametrize(("text", "field"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN])
def test_a_broken_specification_is_exit_code_2(tmp_path: Path, text: str, field: str) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text(text)
    result = CliRunner().invoke(main, ["run", str(path), "--home", str(tmp_path / "home")])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"Error: {path} cannot be run:")
    assert f"\n  {field or 'specification'}" in result.stderr
    assert not (tmp_path / "home").exists()


def test_fifty_megabytes_are_exit_code_2(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    path.write_bytes(b"x" * 50 * 1024 * 1024)
    result = CliRunner().invoke(main, ["run", str(path), "--home", str(tmp_path / "home")])
    assert result.exit_code == 2
    assert "bytes long" in result.stderr
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("name", ["none.yaml", "."], ids=["missing", "a folder"])
def test_a_file_that_is_none(podshift: Podshift, name: str) -> None:
    result = podshift("run", name)
    assert result.exit_code == 2
    assert name in result.stderr


def test_a_failed_run_is_exit_code_1(podshift: Podshift, tmp_path: Path) -> None:
    """A job that fits nowhere fails; the run itself finishes and says so in its numbers."""
    path = tmp_path / "crowded.yaml"
    path.write_text(GOOD.replace("memory: 64Gi", "memory: 1Mi"))
    runs = as_json(podshift("run", str(path), "--json"))["runs"]
    assert {run["summary"]["failed"] for run in runs} == {7}


def test_ctrl_c_stops_and_keeps_what_was_recorded(tmp_path: Path) -> None:
    path = tmp_path / "slow.yaml"
    path.write_text(specification("slow", speed=10))
    home = tmp_path / "home"
    command = [sys.executable, "-m", "backend.cli", "run", str(path), "--paced", "--json", "--home", str(home)]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell starts what runs in its background with SIGINT ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    ) as process:
        store = wait_until(lambda: home.exists() and Store(home))
        run = wait_until(lambda: [row.id for row in store.runs()[0] if row.status == "running"])[0]
        wait_until(lambda: store.log_size(run) > 3)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=200)
    assert process.returncode == 130
    assert "what was recorded is kept" in err
    assert "Traceback" not in err
    assert [entry["status"] for entry in json.loads(out)["runs"]] == ["stopped", "stopped"]
    assert store.log_size(run) > 3
    assert store.run(run).log_sha256


def test_why_jobs_failed_is_said(podshift: Podshift, tmp_path: Path) -> None:
    """The set `ga` takes measured images only; the example's are not."""
    example = Path(__file__).resolve().parents[3] / "examples" / "edge-images.yaml"
    spec = tmp_path / "ga.yaml"
    spec.write_text(example.read_text().replace("scheduler: skippy}", "scheduler: {name: skippy, set: ga}}"))
    result = podshift("run", str(spec))
    assert result.exit_code == 0
    (said,) = [line for line in result.stderr.splitlines() if "failed" in line]
    assert "24 of its jobs failed, 8 of them because no node can ever take it" in said
    assert "never measured" in said
