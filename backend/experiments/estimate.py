"""How long an experiment will take, before it is run: an order of magnitude for the form and the command line."""

import math

from msgspec import Struct

from backend.experiments.specification import Specification

JOB_S = 150e-6
"""Wall-clock seconds a job takes from submission to end: its decisions, events and rows of tables."""
REPORT_S = 10e-6
"""A running job's progress report, with a migration policy that listens to it."""
SAMPLE_S = 1e-6
"""A node's sample of use."""
RUN_S = 0.05
"""A run besides: building the cluster, opening and closing its files."""


class Estimate(Struct, frozen=True):
    """What to expect of an experiment."""

    simulated_s: float
    """Length of one run, in simulated seconds."""
    run_s: float
    """Wall-clock seconds of one run."""
    total_s: float
    """Wall-clock seconds of all runs, so many at a time."""


def estimate(specification: Specification, processes: int = 1) -> Estimate:
    """Length of the runs and time they take, with `processes` runs at a time.

    A run lasts at least until its last job has arrived and been trained alone, and until its work has gone through the
    cluster's processors; whichever is more is taken. Jobs waiting for others and migrations come on top.
    """
    workload, cluster = specification.workload, specification.cluster
    models = workload.models_of_jobs(specification.seeds[0])
    work = [model.iterations * model.core_s_per_iteration for model in models]
    alone = [amount / model.ceiling_cores for amount, model in zip(work, models, strict=True)]
    cores = sum(group.count * group.cpu for group in cluster.nodes) / 1000
    entries = [entry.at or 0.0 for entry in workload.entries]
    last = workload.submissions.last_s(len(models)) if workload.submissions else max(entries, default=0.0)
    length = max(last + sum(alone) / max(1, len(alone)), sum(work) / cores, max(alone, default=0.0))
    if specification.until is not None:
        length = min(length, specification.until)
    # Each job runs for as long as it would alone, or longer where there is more work than processors.
    running = min(len(models), max(sum(alone), sum(work) * len(models) / cores / 2) / max(length, 1e-9))
    telemetry = specification.telemetry
    reports = running * length / telemetry.progress if telemetry.progress else 0.0
    samples = cluster.node_count * length / telemetry.usage if telemetry.usage else 0.0
    run = RUN_S + JOB_S * len(models) + REPORT_S * reports + SAMPLE_S * samples
    if specification.speed is not None:
        run = max(run, length / specification.speed)
    # The first arm of a seed must have ended before the others can take over its placement.
    rounds = math.ceil(specification.run_count / max(1, processes))
    if specification.pin_initial_placement:
        rounds = max(rounds, 2)
    return Estimate(length, run, run * rounds)
