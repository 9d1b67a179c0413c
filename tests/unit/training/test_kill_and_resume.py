"""What this job is for: stopped at any time and gone on with elsewhere, it ends as if nothing had happened."""

import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from backend.kube.progress import LineParser, Mark
from tests.unit.training.conftest import Start, Train

STEPS = 3000
"""The lines of so many steps do not fit into the pipe: the training cannot end before its lines are read."""
JOB = ("--steps", str(STEPS), "--report-every", "1", "--checkpoint-every", "1")
End = tuple[bytes, str]
"""The last checkpoint, and the line with the hash of the weights."""


def marks(output: str) -> list[Mark]:
    parser = LineParser()
    return [mark for text in output.splitlines() if (mark := parser.parse(text)) is not None]


def read(process: "subprocess.Popen[str]", lines: int) -> None:
    assert process.stdout is not None
    assert all("\n" in process.stdout.readline() for _ in range(lines + 1))  # the first says where it starts


def moved(node: Path, name: str) -> Path:
    """The checkpoints on another node."""
    return shutil.copytree(node, node.with_name(name))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the last checkpoint of a training that nobody stopped, and what it said."""
    return tmp_path_factory.mktemp("whole")


@pytest.fixture
def uninterrupted(whole: Path, train: Train) -> End:
    said = whole / "said"
    if not said.exists():
        run = train(*JOB, "--checkpoint", whole)
        assert run.returncode == 0, run.stderr
        said.write_text(run.stdout)
    return (whole / "checkpoint").read_bytes(), said.read_text().splitlines()[-1]


def test_sigterm_then_another_node(
    tmp_path: Path, start: Start, train: Train, uninterrupted: tuple[bytes, str]
) -> None:
    node = tmp_path / "node-1"
    for number, lines in enumerate((10, 500, 700), 2):
        process = start(*JOB, "--checkpoint", node)
        read(process, lines)
        process.send_signal(signal.SIGTERM)
        process.communicate()
        assert process.returncode == 143
        node = moved(node, f"node-{number}")
    run = train(*JOB, "--checkpoint", node)
    assert ((node / "checkpoint").read_bytes(), run.stdout.splitlines()[-1]) == uninterrupted


def test_sigkill_then_another_node(
    tmp_path: Path, start: Start, train: Train, uninterrupted: tuple[bytes, str]
) -> None:
    node = tmp_path / "node-1"
    for number, lines in enumerate((1, 300, 500, 400), 2):
        process = start(*JOB, "--checkpoint", node)
        read(process, lines)
        process.kill()  # it is anywhere in the steps that follow: computing, writing, renaming, printing
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        node = moved(node, f"node-{number}")
    run = train(*JOB, "--checkpoint", node)
    assert ((node / "checkpoint").read_bytes(), run.stdout.splitlines()[-1]) == uninterrupted


def test_checkpoints_that_are_some_steps_old(tmp_path: Path, start: Start, train: Train) -> None:
    job = ("--steps", str(STEPS), "--report-every", "1", "--checkpoint-every", "97")
    whole = train(*job, "--checkpoint", tmp_path / "whole")
    process = start(*job, "--checkpoint", tmp_path / "node-1")
    read(process, 500)
    process.kill()
    process.communicate()
    run = train(*job, "--checkpoint", moved(tmp_path / "node-1", "node-2"))
    first = marks(run.stdout)[0].step - 1
    assert first and first % 97 == 0
    again = {mark.step: mark.metrics for mark in marks(run.stdout)}
    assert again == {mark.step: mark.metrics for mark in marks(whole.stdout) if mark.step > first}
    assert (tmp_path / "node-2/checkpoint").read_bytes() == (tmp_path / "whole/checkpoint").read_bytes()


def test_the_last_step_told_before_the_end_is_the_one_kept(tmp_path: Path, start: Start) -> None:
    process = start(
        "--steps", str(STEPS), "--report-every", "1", "--checkpoint-every", "1000", "--checkpoint", tmp_path
    )
    read(process, 30)
    process.send_signal(signal.SIGTERM)
    rest, _ = process.communicate()
    last = marks(rest)[-1]
    assert last.kept == last.step
    assert rest.splitlines()[-1] == (
        f"training stopped at step={last.step:g} of {STEPS}; the checkpoint holds {last.step:g} steps"
    )


def test_sigterm_ends_the_wait_of_a_slow_step(tmp_path: Path, start: Start) -> None:
    process = start("--steps", "2", "--pace", "86400", "--checkpoint", tmp_path)
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    rest, _ = process.communicate()
    assert process.returncode == 143
    assert [mark.kept for mark in marks(rest)] == [1]


def test_without_checkpoints_nothing_is_kept(start: Start) -> None:
    process = start("--steps", str(STEPS), "--report-every", "1")
    read(process, 5)
    process.send_signal(signal.SIGTERM)
    rest, _ = process.communicate()
    assert process.returncode == 143
    assert marks(rest)[-1].kept == 0


def test_started_again_after_the_end(tmp_path: Path, train: Train) -> None:
    first = train("--steps", "20", "--checkpoint", tmp_path)
    again = train("--steps", "20", "--checkpoint", tmp_path)
    assert again.returncode == 0
    assert again.stdout.startswith("training was finished before, after 20 steps; weights ")
    (last,) = marks(again.stdout)
    assert (last.step, last.kept, last.metrics) == (20, 20, marks(first.stdout)[-1].metrics)
