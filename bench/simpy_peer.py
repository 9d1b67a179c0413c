"""The same workload in SimPy 4, written the obvious way: a process per job, interrupted at each change of share.

No scheduler and no log: a job goes to the node with the fewest jobs among those with a free slot, or waits in line.
"""

from collections import deque
from collections.abc import Generator, Sequence
from typing import Any

import simpy

from bench.workload import CORES, SLOTS, Arrival


class _Node:
    def __init__(self) -> None:
        self.jobs: set[simpy.Process] = set()


def mean_completion_s(nodes: int, arrivals: Sequence[Arrival]) -> float:
    """Simulate and give the mean time from arrival to end."""
    env = simpy.Environment()
    cluster = [_Node() for _ in range(nodes)]
    waiting: deque[simpy.Event] = deque()
    total = 0.0

    def free_node() -> _Node | None:
        best = min(cluster, key=lambda node: len(node.jobs))
        return best if len(best.jobs) < SLOTS else None

    def share_changed(node: _Node, but: simpy.Process) -> None:
        for process in node.jobs:
            if process is not but and process.is_alive:
                process.interrupt()

    def job(arrival: Arrival) -> Generator[simpy.Event, Any, None]:
        nonlocal total
        me = env.active_process
        assert me is not None
        node = free_node()
        if node is None:
            turn = env.event()
            waiting.append(turn)
            node = yield turn
        node.jobs.add(me)
        share_changed(node, me)
        left = arrival.work_core_s
        while left > 1e-9:
            rate = CORES / len(node.jobs)
            since = env.now
            try:
                yield env.timeout(left / rate)
                left = 0.0
            except simpy.Interrupt:
                left -= rate * (env.now - since)
        node.jobs.discard(me)
        total += env.now - arrival.time
        if waiting:
            waiting.popleft().succeed(node)
        else:
            share_changed(node, me)

    def source() -> Generator[simpy.Event, Any, None]:
        for arrival in arrivals:
            yield env.timeout(arrival.time - env.now)
            env.process(job(arrival))

    env.process(source())
    env.run()
    return total / len(arrivals)
