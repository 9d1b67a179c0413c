"""The simulator against queueing theory, where theory gives the exact answer.

Seeds are fixed, so these tests are deterministic; intervals are 99.9 % intervals of batch means, which theory leaves
once in a thousand seeds if the simulator is right.
"""

import math
import random
from collections import deque
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pytest
from scipy import stats

from backend.control.loop import drive
from backend.model import events as ev
from backend.model.actions import Action, Bind, CreatePod
from backend.model.objects import Pod
from backend.simulation.cluster import Costs, SimulatedCluster, Submission, Telemetry
from tests.unit.simulation.toy_cluster import model, node

BATCHES = 20


class Fifo:
    """Binds pods to the one node in the order of their arrival, at most `places` at a time; remembers times."""

    def __init__(self, places: float) -> None:
        self.places = places
        self.running = 0
        self.waiting: deque[str] = deque()
        self.arrived: dict[str, float] = {}
        self.bound: dict[str, float] = {}
        self.finished: dict[str, float] = {}

    def handle(self, event: ev.Event) -> Iterable[Action]:
        if isinstance(event, ev.JobSubmitted):
            self.arrived[event.job.name] = event.time
            yield CreatePod(Pod(event.job.name, event.job.name))
        elif isinstance(event, ev.PodCreated):
            self.waiting.append(event.pod.name)
        elif isinstance(event, ev.PodFinished):
            self.finished[event.pod] = event.time
            self.running -= 1
        while self.waiting and self.running < self.places:
            self.running += 1
            pod = self.waiting.popleft()
            self.bound[pod] = event.time
            yield Bind(pod, "node-1")


def simulate(arrivals: Sequence[float], works: Sequence[float], cores: int, places: float) -> Fifo:
    kind = model(parallelism="1", iterations=1, image="", memory="0")
    submissions = []
    for i, (time, work) in enumerate(zip(arrivals, works, strict=True)):
        one = kind.model_copy(update={"core_s_per_iteration": work})
        submissions.append(Submission(time, one.job(f"j{i}"), one, 1))
    cluster = SimulatedCluster(
        [node("node-1", cores, max_pods=10**6)],
        submissions,
        seed=1,
        telemetry=Telemetry(progress=0, usage=0),
        costs=Costs.zero(),
    )
    controller = Fifo(places)
    drive(cluster, controller, deque(maxlen=1))  # type: ignore[arg-type]
    assert len(controller.finished) == len(works)
    return controller


def poisson(rate: float, count: int, rng: random.Random) -> list[float]:
    times, now = [], 0.0
    for _ in range(count):
        now += rng.expovariate(rate)
        times.append(now)
    return times


def interval(values: Sequence[float], skip: int) -> tuple[float, float]:
    """99.9 % interval of the mean by batch means, without the first `skip` values."""
    steady = np.array(values[skip:])
    means = steady[: len(steady) // BATCHES * BATCHES].reshape(BATCHES, -1).mean(axis=1)
    half = stats.t.ppf(0.9995, BATCHES - 1) * means.std(ddof=1) / math.sqrt(BATCHES)
    return float(means.mean() - half), float(means.mean() + half)


def erlang_c(servers: int, load: float) -> float:
    """Probability that an arrival waits in M/M/c; load = arrival rate / service rate."""
    terms = [load**k / math.factorial(k) for k in range(servers)]
    last = load**servers / math.factorial(servers) * servers / (servers - load)
    return last / (sum(terms) + last)


@pytest.mark.parametrize(("servers", "utilisation"), [(1, 0.6), (4, 0.8)], ids=["M/M/1", "M/M/4"])
def test_waiting_time_of_mmc(servers: int, utilisation: float) -> None:
    """Mean wait = C(c, a) / (c mu - lambda), mu = 1 (Erlang's formula)."""
    count, rng = 40_000, random.Random(20 + servers)
    rate = servers * utilisation
    queue = simulate(poisson(rate, count, rng), [rng.expovariate(1.0) for _ in range(count)], servers, servers)
    waits = [queue.bound[job] - queue.arrived[job] for job in queue.arrived]
    low, high = interval(waits, skip=2_000)
    assert low <= erlang_c(servers, rate) / (servers - rate) <= high
    assert high - low < 0.5 * (low + high)  # narrow enough to tell right from wrong


def _lognormal(rng: random.Random) -> float:
    return rng.lognormvariate(-0.5, 1.0)


def _exponential(rng: random.Random) -> float:
    return rng.expovariate(1.0)


def _uniform(rng: random.Random) -> float:
    return rng.uniform(0.5, 1.5)


@pytest.mark.parametrize("draw", [_lognormal, _exponential, _uniform], ids=["lognormal", "exponential", "uniform"])
def test_response_time_of_mg1_processor_sharing(draw: Callable[[random.Random], float]) -> None:
    """Mean response = E[S] / (1 - rho), whatever the distribution of the service time (here E[S] = 1, rho = 0.7)."""
    count, rho, rng = 40_000, 0.7, random.Random(7)
    queue = simulate(poisson(rho, count, rng), [draw(rng) for _ in range(count)], 1, math.inf)
    responses = [queue.finished[job] - queue.arrived[job] for job in queue.arrived]
    low, high = interval(responses, skip=2_000)
    assert low <= 1 / (1 - rho) <= high
    assert high - low < 0.5 * (low + high)


def test_first_in_first_out_equals_the_exact_recursion() -> None:
    """One server: D_k = max(A_k, D_(k-1)) + S_k (Lindley)."""
    rng = random.Random(3)
    arrivals = poisson(0.9, 5_000, rng)
    works = [rng.lognormvariate(-0.5, 1.0) for _ in arrivals]
    queue = simulate(arrivals, works, 1, 1)
    end = 0.0
    for i, (arrival, work) in enumerate(zip(arrivals, works, strict=True)):
        end = max(arrival, end) + work
        assert queue.finished[f"j{i}"] == pytest.approx(end, rel=1e-9)
