"""`podshift train`: the training job of our container image."""

import dataclasses
import math
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from backend.cli import complaints

if TYPE_CHECKING:
    from backend.training.configuration import Configuration
    from backend.training.job import Job, Rhythm
    from backend.training.stopping import Stop

MODELS = ("mlp", "softmax", "linear")
STEPS = 1000
MOST = 10_000_000


def _finite(_context: click.Context, _option: click.Parameter, value: float) -> float:
    if not math.isfinite(value):
        raise click.BadParameter(f"{value} is not a finite number.")
    return value


def _layers(_context: click.Context, _option: click.Parameter, text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) > 16 or not all(part.isascii() and part.isdecimal() and 0 < len(part) < 6 for part in parts):
        raise click.BadParameter(f"{text[:60]!r} must be up to 16 whole numbers with commas between them, as in 64,32.")
    sizes = tuple(map(int, parts))
    if not all(sizes):
        raise click.BadParameter("a layer has at least one unit.")
    return sizes


def _whole(least: int, most: int = MOST) -> click.IntRange:
    return click.IntRange(least, most)


def _option(name: str, **about: Any) -> Callable[[Any], Any]:
    """An option that a variable of the pod gives as well, and of which messages name both."""
    variable = "PODSHIFT_TRAIN_" + name.strip("-").replace("-", "_").upper()
    return click.option(name, envvar=variable, show_envvar=True, **about)


@click.command(context_settings={"show_default": True})
@_option("--model", type=click.Choice(MODELS), default="mlp", help="What is trained.")
@_option("--seed", type=_whole(0, 2**31), default=1, help="Of data set, first weights and order.")
@_option("--steps", type=_whole(1), show_default=str(STEPS), help="Minibatches in all; or --epochs.")
@_option("--epochs", type=_whole(1), help="So many times --steps-per-epoch, in place of --steps.")
@_option("--steps-per-epoch", type=_whole(1), show_default="one pass through the data", help="Steps of an epoch.")
@_option("--batch-size", type=_whole(1, 1_000_000), default=32, help="Samples of a minibatch.")
@_option("--hidden", metavar="UNITS", callback=_layers, default="64,32", help="Of each hidden layer of mlp.")
@click.option(
    "--learning-rate", type=click.FloatRange(0, min_open=True), callback=_finite, default=0.01, help="Of SGD."
)
@_option("--samples", type=_whole(10), default=4000, help="Of the data set; a fifth is held out.")
@_option("--features", type=_whole(1, 100_000), default=16, help="Numbers that a sample has.")
@_option("--classes", type=_whole(2, 10_000), default=4, help="Not for linear.")
@_option("--checkpoint", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="Folder of checkpoints.")
@_option("--checkpoint-every", type=_whole(1), default=10, metavar="STEPS", help="How often one is written.")
@_option("--report-every", type=_whole(1), default=10, metavar="STEPS", help="How often progress is told.")
@click.option(
    "--csv", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Progress as ProCon has it."
)
@click.option(
    "--work", type=click.FloatRange(0, 86_400), callback=_finite, default=0.0, help="Least processor time of a step."
)
@click.option(
    "--pace", type=click.FloatRange(0, 86_400), callback=_finite, default=0.0, help="Least seconds of a step."
)
def train(**options: Any) -> None:
    """Train a small model on data it makes itself, as the job of a pod.

    With --checkpoint a training that was stopped or killed goes on, there or with a copy of the folder elsewhere, and
    ends with the same weights. An option goes before the variable of its name.

    Exit codes: 0 done, 1 diverged or the disk is full, 2 bad input, 143 stopped by SIGTERM with a checkpoint (130 by
    Ctrl-C).
    """
    from backend.training.reproducible import settings
    from backend.training.stopping import Stop

    with Stop() as stop:  # first of all: what follows takes time, and process 1 of a container ignores other signals
        os.environ.update(settings())
        done = _train(stop, options)
    if not done:
        sys.exit(stop.code)


def _train(stop: "Stop", options: dict[str, Any]) -> bool:
    """Whether it is done; else it was stopped."""
    from backend.training import checkpoints as cp
    from backend.training.job import Job, Rhythm
    from backend.training.state import DivergedError

    configuration = _configuration(options)
    rhythm = Rhythm(
        report_every=options["report_every"],
        checkpoint_every=options["checkpoint_every"],
        pace_s=options["pace"],
        work_s=options["work"],
    )
    folder: Path | None = options["checkpoint"]
    try:
        with complaints.file_errors():
            kept = cp.Checkpoints(folder) if folder else None
            job = Job(configuration, kept)
        if kept and kept.fallback:
            click.echo(f"{kept.fallback}; the one before it is taken, of step {job.kept}.", err=True)
        _run(job, configuration, rhythm, stop, options["csv"])
        return job.done
    except cp.OtherTrainingError as error:
        complaints.refuse(f"{error}; give --checkpoint another folder, or the options it was started with.")
    except (cp.DamagedError, DivergedError) as error:
        complaints.give_up(f"{error}.")
    except MemoryError:
        complaints.give_up("there is not enough memory; take fewer --samples, --features or --hidden units.")


def _run(job: "Job", configuration: "Configuration", rhythm: "Rhythm", stop: "Stop", csv: Path | None) -> None:
    from backend.training.checkpoints import fingerprint
    from backend.training.reports import CsvError, CsvFile, Reports, line

    total = configuration.steps
    if job.done:
        click.echo(f"training was finished before, after {total} steps; weights {fingerprint(job.state)}")
        click.echo(f"{line(total, total, job.state.loss, job.quality())} checkpoint={job.kept}")
        return
    try:
        with complaints.file_errors():
            file = CsvFile(csv) if csv else None
    except CsvError as error:
        complaints.refuse(f"{error}.")
    click.echo(f"training {f'resumes from step={job.kept} of' if job.kept else 'starts,'} {total} steps")
    job.run(rhythm, Reports(total, click.echo, file), stop)
    if job.done:
        click.echo(f"training finished after {total} steps; weights {fingerprint(job.state)}")
    else:
        click.echo(f"training stopped at step={job.state.step} of {total}; the checkpoint holds {job.kept} steps")


def _configuration(options: dict[str, Any]) -> "Configuration":
    from backend.training.configuration import Configuration

    steps, epochs, steps_per_epoch = (options[name] for name in ("steps", "epochs", "steps_per_epoch"))
    if steps and epochs:
        complaints.refuse(f"--steps ({steps}) and --epochs ({epochs}) both say how long it takes; give one of them.")
    names = ("model", "seed", "batch_size", "hidden", "learning_rate", "samples", "features", "classes")
    try:
        found = Configuration(**{name: options[name] for name in names})
    except ValueError as error:
        complaints.refuse(f"{error}.")
    if epochs:
        steps = epochs * (steps_per_epoch or found.steps_a_pass)
    return dataclasses.replace(found, steps=steps or STEPS)
