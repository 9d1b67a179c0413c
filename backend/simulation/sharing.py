"""A node's processors, shared by weighted max-min fairness.

Each task has a weight (its CPU request) and a ceiling (what it can use, or its limit). Rates grow together in
proportion to the weights; a task that meets its ceiling stays there and the others share what is left. Source: the
CFS weights that kubelet sets from requests; Bertsekas and Gallager, Data Networks, section 6.5.2.
"""

import math
from bisect import insort
from operator import attrgetter
from typing import Any

_SAME_TIME_S = 1e-9
"""Tasks that end within this time end together: rounding alone tells them apart."""
_SAME_TIME_STEPS = 4
"""The same in steps of the clock. A clock at 1e9 s moves in steps of 1e-7 s, and an end that it cannot meet closer
than that must count as met, or it would be foreseen again and again."""


class Task:
    """Work that a pod does on a processor. Rates in cores, work in core-seconds."""

    __slots__ = ("ceiling", "consumed", "left", "order", "owner", "rate", "saturation", "weight", "work")

    def __init__(self, work: float, weight: float, ceiling: float, order: int = 0, owner: Any = None) -> None:
        self.work = work
        self.left = work
        self.weight = weight
        self.ceiling = ceiling
        self.saturation = ceiling / weight
        """Fair share per weight at which the ceiling is met; tasks meet theirs in this order."""
        self.rate = 0.0
        self.consumed = 0.0
        self.order = order
        self.owner = owner


_by_saturation = attrgetter("saturation")


class Processor:
    """The cores of one node and the tasks that share them."""

    __slots__ = ("cores", "delivered", "tasks", "total_weight", "updated", "used", "version")

    def __init__(self, cores: float) -> None:
        self.cores = cores
        self.tasks: list[Task] = []
        """In the order in which they meet their ceilings."""
        self.total_weight = 0.0
        self.updated = 0.0
        """Time up to which work is accounted for."""
        self.delivered = 0.0
        """Core-seconds delivered up to `updated`."""
        self.used = 0.0
        """Cores in use: the sum of the rates."""
        self.version = 0
        """Raised by each change of the rates; an end that was foreseen under another version is void."""

    def advance(self, now: float) -> None:
        """Account for the work done since the last call."""
        elapsed = now - self.updated
        if elapsed > 0.0:
            self.updated = now
            self.delivered += self.used * elapsed
            for task in self.tasks:
                done = task.rate * elapsed
                task.left -= done
                task.consumed += done

    def add(self, task: Task) -> None:
        """Put a task on the processor; call `advance` before and `share` after."""
        insort(self.tasks, task, key=_by_saturation)
        self.total_weight += task.weight

    def remove(self, task: Task) -> None:
        """Take a task off, whose rate is 0 from then on; call `advance` before and `share` after."""
        self.tasks.remove(task)
        task.rate = 0.0
        self.total_weight = self.total_weight - task.weight if self.tasks else 0.0

    def share(self) -> float:
        """Set the rates; seconds until the first task is done at these rates, infinity if there is none."""
        self.version += 1
        free = self.cores
        weight = self.total_weight
        first = float("inf")
        used = 0.0
        level = free / weight if weight > 0.0 else 0.0
        filling = True
        for task in self.tasks:
            if filling:
                if task.saturation <= level:
                    rate = task.ceiling
                    free -= rate
                    weight -= task.weight
                    level = free / weight if weight > 1e-12 else 0.0
                else:
                    filling = False
                    rate = level * task.weight
            else:
                rate = level * task.weight
            task.rate = rate
            used += rate
            if rate > 0.0:
                end = task.left / rate
                if end < first:  # noqa: PLR1730 - min() takes three times as long, and this runs for each task
                    first = end
        self.used = min(used, self.cores)
        return max(0.0, first)

    def delivered_by(self, now: float) -> float:
        """Core-seconds delivered up to a time that is not before `updated`; accounts for nothing."""
        return self.delivered + self.used * (now - self.updated)

    def done(self) -> list[Task]:
        """Tasks without work left, in their order. They have consumed their work exactly, whatever was rounded."""
        slack = max(_SAME_TIME_S, _SAME_TIME_STEPS * math.ulp(self.updated))
        ended = [task for task in self.tasks if task.left <= task.rate * slack]
        for task in ended:
            self.delivered += task.left
            task.consumed = task.work
            task.left = 0.0
        if len(ended) > 1:
            ended.sort(key=attrgetter("order"))
        return ended
