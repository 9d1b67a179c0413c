"""The command line of `podshift train`: its options, its two forms of progress, and its complaints."""

import resource
from pathlib import Path

import pytest

from backend.kube.csv_folder import CsvFolder
from backend.kube.progress import LineParser, RunningPod, Sample
from tests.unit.training.conftest import Train


def rows(folder: Path) -> list[Sample]:
    """What our reader makes of job.csv."""
    return CsvFolder(folder).poll({"job": RunningPod("job", "loss")}, 0.0)


def test_our_own_parser_reads_its_lines(train: Train) -> None:
    run = train("--steps", "12", "--report-every", "5")
    marks = [mark for line in run.stdout.splitlines() if (mark := LineParser().parse(line))]
    assert [(mark.step, mark.total, mark.kept) for mark in marks] == [(5, 12, 0), (10, 12, 0), (12, 12, 0)]
    assert all(list(mark.metrics) == ["loss", "accuracy"] for mark in marks)
    assert all(mark.seconds and mark.seconds > 0 and mark.cpu_millis is not None for mark in marks)


def test_our_own_reader_reads_its_csv(tmp_path: Path, train: Train) -> None:
    run = train("--steps", "12", "--report-every", "12", "--csv", tmp_path / "job.csv")
    (sample,) = rows(tmp_path)
    told = LineParser().parse(run.stdout.splitlines()[1])
    assert told is not None
    assert (sample.iteration, sample.value, sample.iteration_s) == (12, told.metrics["loss"], told.seconds)
    assert sample.cpu_millis == pytest.approx(told.cpu_millis, rel=1e-4)


def test_a_csv_row_that_was_cut_short_is_taken_away(tmp_path: Path, train: Train) -> None:
    path = tmp_path / "job.csv"
    train("--steps", "10", "--csv", path)
    whole = path.read_text()
    path.write_text(f"{whole}80.1,10,")
    train("--steps", "10", "--csv", path)
    assert path.read_text().startswith(whole)
    assert [line.count(",") for line in path.read_text().splitlines()] == [4, 4, 4]


def test_options_come_from_the_environment_too(train: Train) -> None:
    run = train(env={"PODSHIFT_TRAIN_STEPS": "3", "PODSHIFT_TRAIN_MODEL": "linear", "PODSHIFT_TRAIN_REPORT_EVERY": "3"})
    assert " step=3 total=3 " in run.stdout
    assert " r2=" in run.stdout


@pytest.mark.parametrize(
    ("options", "steps"),
    [
        (("--epochs", "2"), 10),
        (("--epochs", "2", "--batch-size", "100"), 4),
        (("--epochs", "2", "--steps-per-epoch", "7"), 14),
    ],
)
def test_epochs_are_counted_in_steps(train: Train, options: tuple[str, ...], steps: int) -> None:
    assert train(*options).stdout.startswith(f"training starts, {steps} steps\n")


def test_a_damaged_checkpoint_is_told_of(tmp_path: Path, train: Train) -> None:
    job = ("--steps", "30", "--checkpoint", tmp_path)
    train(*job)
    (tmp_path / "checkpoint").write_bytes(b"")
    run = train(*job)
    assert run.stdout.startswith("training resumes from step=20 of 30 steps\n")
    assert run.stderr == (
        f"{tmp_path}/checkpoint is damaged (it does not match its hash); the one before it is taken, of step 20.\n"
    )
    assert run.returncode == 0


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--steps", "3", "--epochs", "3"), "--steps (3) and --epochs (3) both say how long it takes"),
        (("--steps", "0"), "0 is not in the range"),
        (("--learning-rate", "nan"), "nan is not a finite number"),
        (("--pace", "-1"), "-1.0 is not in the range"),
        (("--hidden", "64,x"), "must be up to 16 whole numbers"),
        (("--hidden", "64,0"), "a layer has at least one unit"),
        (("--samples", "9999999", "--features", "99999"), "samples times features is more than"),
        (("--checkpoint", __file__), "is a file."),
        (("--checkpoint", "/dev/null/x"), "/dev/null/x: Not a directory."),
        (("--csv", "/dev/null/x.csv"), "Not a directory."),
    ],
)
def test_bad_input_is_one_sentence_and_code_2(train: Train, options: tuple[str, ...], complaint: str) -> None:
    run = train(*options)
    assert run.returncode == 2
    assert "Error: " in run.stderr.splitlines()[-1]
    assert complaint in run.stderr.splitlines()[-1]
    assert run.stdout == ""


def test_a_variable_that_is_wrong_is_named(train: Train) -> None:
    run = train(env={"PODSHIFT_TRAIN_STEPS": "many"})
    assert run.returncode == 2
    assert "PODSHIFT_TRAIN_STEPS" in run.stderr


def test_a_checkpoint_of_another_training_is_refused(tmp_path: Path, train: Train) -> None:
    train("--steps", "3", "--checkpoint", tmp_path)
    before = (tmp_path / "checkpoint").read_bytes()
    run = train("--steps", "4", "--seed", "2", "--checkpoint", tmp_path)
    assert run.returncode == 2
    assert run.stderr.startswith(
        f"Error: {tmp_path}/checkpoint cannot be gone on with: it is of a training with seed 1, not 2; steps 3, not 4;"
    )
    assert (tmp_path / "checkpoint").read_bytes() == before


def test_a_csv_file_of_something_else_is_left_alone(tmp_path: Path, train: Train) -> None:
    path = tmp_path / "job.csv"
    path.write_text("time,job\n")
    run = train("--steps", "3", "--csv", path)
    assert run.returncode == 2
    assert "does not begin with cpu,total_iteration" in run.stderr
    assert path.read_text() == "time,job\n"


def test_divergence_ends_it_and_leaves_the_last_good_checkpoint(tmp_path: Path, train: Train) -> None:
    job = ("--model", "linear", "--learning-rate", "1.5", "--checkpoint-every", "1", "--checkpoint", tmp_path)
    run = train(*job)
    assert run.returncode == 1
    assert run.stderr.startswith("Error: the training diverged at step ")
    assert len(run.stderr.splitlines()) == 1
    diverged = int(run.stderr.split()[6])
    assert f'"step": {diverged - 1}' in (tmp_path / "checkpoint").read_bytes().split(b"\n")[1].decode()


def test_a_full_disk_ends_it_with_a_sentence(train: Train) -> None:
    run = train("--steps", "3", "--csv", "/dev/full")
    assert (run.returncode, run.stderr) == (1, "Error: /dev/full: No space left on device.\n")


def test_a_checkpoint_that_does_not_fit_leaves_the_one_before(tmp_path: Path, train: Train) -> None:
    job = ("--steps", "30", "--checkpoint", tmp_path)
    train(*job)
    (tmp_path / "checkpoint").unlink()  # so that there is something left to do
    before = (tmp_path / "checkpoint.previous").read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))  # the process inherits it
    try:
        run = train(*job)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (run.returncode, run.stderr) == (1, f"Error: {tmp_path}/checkpoint.partial: File too large.\n")
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.previous"]
    assert (tmp_path / "checkpoint.previous").read_bytes() == before
