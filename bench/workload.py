"""The processor-sharing workload that Podshift and SimPy are both given.

Each node has 16 cores shared equally by at most four jobs; a job can use all 16. Jobs come in waves (as people submit
sweeps): each wave brings 3.4 jobs a node within a minute, the next comes when the cluster could just have done 85 % of
its core-seconds in between. So nodes do share: with Poisson arrivals at the same load, a scheduler that spreads would
nearly always find an empty node and there would be nothing to share.
"""

import math
import random
from dataclasses import dataclass

CORES = 16
SLOTS = 4
MEAN_WORK_CORE_S = 4800.0
"""300 s on an empty node: the order of the training jobs of the experiments."""
LOAD = 0.85
WAVE_JOBS_A_NODE = LOAD * SLOTS
WAVE_S = 60.0
SIGMA = 1.0


@dataclass(frozen=True)
class Arrival:
    time: float
    work_core_s: float


def arrivals(nodes: int, jobs: int, seed: int = 1) -> list[Arrival]:
    """`jobs` arrivals, in the order of their time, that load `nodes` nodes by LOAD."""
    rng = random.Random(seed)
    wave_jobs = max(1, round(WAVE_JOBS_A_NODE * nodes))
    period = wave_jobs * MEAN_WORK_CORE_S / (LOAD * nodes * CORES)
    mu = math.log(MEAN_WORK_CORE_S) - SIGMA**2 / 2
    made = [
        Arrival(index // wave_jobs * period + rng.uniform(0, WAVE_S), rng.lognormvariate(mu, SIGMA))
        for index in range(jobs)
    ]
    return sorted(made, key=lambda arrival: arrival.time)
