"""What filters and scores say of single rows, as functions of a row for one job until a node changes.

They stand apart from the filters and scores because this module is compiled (backend/compiled.py).
"""

from collections.abc import Callable

from backend.model.node_table import RowItems


def requests_fit(items: RowItems, cpu: int, memory: int) -> Callable[[int], bool]:
    """Whether requests and one more pod fit; a request of 0 fits everywhere."""
    pods, most, has_cpu, has_memory = items.pods, items.max_pods, items.cpu_millis, items.memory_bytes
    used_cpu, used_memory = items.requested_cpu_millis, items.requested_memory_bytes

    def fits(row: int) -> bool:
        return bool(
            pods[row] < most[row]
            and (not cpu or used_cpu[row] + cpu <= has_cpu[row])
            and (not memory or used_memory[row] + memory <= has_memory[row])
        )

    return fits


def counted_requests_fit(items: RowItems, cpu: int, memory: int) -> Callable[[int], bool]:
    """The same where pods that request nothing count with the defaults."""
    pods, most, has_cpu, has_memory = items.pods, items.max_pods, items.cpu_millis, items.memory_bytes
    used_cpu, used_memory = items.scoring_cpu_millis, items.scoring_memory_bytes

    def fits(row: int) -> bool:
        return bool(
            used_cpu[row] + cpu <= has_cpu[row]
            and used_memory[row] + memory <= has_memory[row]
            and pods[row] < most[row]
        )

    return fits


def parts_in_use(items: RowItems, cpu: int, memory: int) -> Callable[[int], tuple[float, float]]:
    """Parts of CPU and memory in use with the requests on the node, at most 1."""
    used_cpu, used_memory = items.scoring_cpu_millis, items.scoring_memory_bytes
    per_cpu, per_memory = items.per_cpu_milli, items.per_memory_byte

    def parts(row: int) -> tuple[float, float]:
        of_cpu: float = (used_cpu[row] + cpu) * per_cpu[row]
        of_memory: float = (used_memory[row] + memory) * per_memory[row]
        return (of_cpu if of_cpu < 1.0 else 1.0), (of_memory if of_memory < 1.0 else 1.0)

    return parts


def balance_of_free(items: RowItems, cpu: int, memory: int, highest: float) -> Callable[[int], float]:
    """int((1 - |f - g|) x highest) for the parts f, g that requests take of what is free; 0 if either is 1 or more."""
    has_cpu, has_memory = items.cpu_millis, items.memory_bytes
    used_cpu, used_memory = items.scoring_cpu_millis, items.scoring_memory_bytes

    def value(row: int) -> float:
        of_cpu: float = cpu / ((has_cpu[row] - used_cpu[row]) or 1)
        of_memory: float = memory / ((has_memory[row] - used_memory[row]) or 1)
        if of_cpu >= 1 or of_memory >= 1:
            return 0.0
        return float(int((1 - abs(of_cpu - of_memory)) * highest))

    return value
