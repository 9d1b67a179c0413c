"""ProCon's estimate of what is left to do on a node (specon-procon.md section 3.1).

All estimates are C = 1 + sum over jobs of max(0, ceil P), where P is the time until a job ends: the area under the
number of jobs expected to be still running (EJR), in its closed form.
"""

import math
from collections.abc import Iterable, Sequence

from msgspec import Struct


class ReportedJob(Struct, frozen=True):
    """A job with at least two progress reports."""

    cpu_percent: float
    """CPU in use; 100 is one core."""
    total: float
    """Iterations of the whole training."""
    current: float
    iteration_s: float
    """Seconds of the last iteration (corrected mode: smoothed)."""


class SilentJob(Struct, frozen=True):
    """A job that has not reported twice."""

    elapsed_s: float
    """Since it was placed."""
    total: float


class Estimate(Struct, frozen=True):
    """What a node's assistant reports."""

    cost: float | None
    """C; None where the node is out of limit."""
    used_percent: float
    remaining_s: tuple[float, ...]
    """P of each job that counts."""


def area(remaining_s: Iterable[float]) -> int:
    """C: 1 + the sum of max(0, ceil P)."""
    return 1 + sum(max(0, math.ceil(p)) for p in remaining_s)


def paper(total_percent: float, alpha: float, reported: Sequence[ReportedJob], silent: Sequence[SilentJob]) -> Estimate:
    """Algorithm 1 as the authors' code computes it: use scaled up for silent jobs, capped, compared with the limit."""
    count = len(reported) + len(silent)
    used = sum(job.cpu_percent for job in reported if job.current < job.total)
    used = min(used * count / len(reported), total_percent) if reported else 0.0
    if used > alpha * total_percent:
        return Estimate(None, used, ())
    remaining = [
        job.iteration_s / (job.cpu_percent / used) * (job.total - job.current)
        for job in reported
        if used > 0 and job.cpu_percent > 0
    ]
    remaining += [job.elapsed_s * count * job.total for job in silent]
    return Estimate(area(remaining), used, tuple(remaining))


def paper_fallback(reported: Sequence[ReportedJob], silent: Sequence[SilentJob]) -> float:
    """Algorithm 2, step 4: the cost used when every node is out of limit; n jobs share the node equally."""
    count = len(reported) + len(silent)
    remaining = [job.iteration_s * count * (job.total - job.current) for job in reported]
    remaining += [job.elapsed_s * count * job.total for job in silent]
    return area(remaining) * count


def processor_sharing(works_core_s: Sequence[float], cores: float) -> list[float]:
    """Times at which jobs end that begin together and share `cores` equally; in the order given.

    With works sorted, T_k = T_(k-1) + (n - k + 1) (w_k - w_(k-1)) / cores.
    """
    order = sorted(range(len(works_core_s)), key=lambda place: works_core_s[place])
    ends = [0.0] * len(works_core_s)
    time = before = 0.0
    for rank, place in enumerate(order):
        work = max(0.0, works_core_s[place])
        time += (len(order) - rank) * (work - before) / cores
        before = work
        ends[place] = time
    return ends
