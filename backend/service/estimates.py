"""How long an experiment will take on this machine, roughly: the figure beside the launch button."""

import math

from backend.experiments.specification import Specification
from backend.model.periods import EMBEDDED_SPEED

START_S = 1.5
"""Until a worker process has started and loaded the libraries."""
JOB_S = 0.4e-3
"""A job from submission to finish without its reports; log and tables included."""
REPORT_S = 4e-6
"""One entry of a progress report or usage sample, folded and written."""
RUN_S = 0.15
"""Tables, manifest and rows of the catalogue, once a run."""
LOOKED_AT = 10_000
"""A workload with more jobs is not drawn to estimate its simulated length: the check of a form must stay quick."""


def wall_clock_s(specification: Specification, workers: int) -> float:
    """Estimated seconds from launch to the last run's end with so many worker processes.

    The simulated length is taken as the later of last submission plus a lone job's time and all work over all cores.
    """
    length_s = simulated_s(specification)
    run_s = RUN_S + specification.job_count * JOB_S + _reports(specification, length_s) * REPORT_S
    speed = _speed(specification)
    if speed is not None:
        run_s = max(run_s, length_s / speed)
    rounds = specification.run_count
    if specification.target != "live":  # a real cluster is there for one run at a time
        rounds = math.ceil(rounds / workers)
    if specification.pin_initial_placement:
        rounds = max(rounds, 2)  # the second arm waits for the first
    return START_S + rounds * run_s


def _speed(specification: Specification) -> float | None:
    """Simulated seconds a second; None for as fast as possible."""
    if specification.target == "live":
        return 1.0
    return specification.speed or (EMBEDDED_SPEED if specification.target == "embedded" else None)


def simulated_s(specification: Specification) -> float:
    """Estimated simulated seconds of one run; 0 where looking would take too long."""
    if specification.job_count > LOOKED_AT:
        return 0.0
    submissions = specification.workload.build_submissions(specification.seeds[0])
    cores = sum(node.cpu_millis for node in specification.cluster.build_nodes()) / 1000
    work = [one.iterations * one.model.core_s_per_iteration for one in submissions]
    ends = [one.time + core_s / one.model.ceiling_cores for one, core_s in zip(submissions, work, strict=True)]
    first = min((one.time for one in submissions), default=0.0)
    length = max(first + sum(work) / cores, *ends)
    return min(length, specification.until) if specification.until is not None else length


def _reports(specification: Specification, length_s: float) -> float:
    telemetry = specification.telemetry
    entries = 0.0
    if telemetry.progress:
        entries += (
            specification.job_count * (length_s / telemetry.progress) / 2
        )  # about half of a run each job is there
    if telemetry.usage:
        entries += specification.node_count * (length_s / telemetry.usage)
    return entries
