"""What the policies want of a move: to help those that progress, to fill idle nodes, to even out the load."""

from backend.migration.picture import NodeLoad
from backend.model.state import PodRecord


class HelpProgressing:
    """A2 of section 1.6: a converged job leaves its node so that the progressing ones there get its share."""

    cause = "converged"

    def __init__(self, nearly_finished_factor: float, migration_cost: float) -> None:
        self._factor = nearly_finished_factor
        self._cost = migration_cost

    def keeps(self, pod: PodRecord) -> str | None:
        """Remaining time, as the last epoch foretells it, below `factor` x `cost`; unknown without a total (4.8)."""
        total = pod.job.iterations
        if total is None:
            return None
        remaining_s = (total - pod.iteration) * pod.iteration_s
        if not 0.0 < remaining_s < self._factor * self._cost:
            return None
        limit = f"{self._factor:g} times the {self._cost:g} s of a move"
        return f"about {remaining_s:.0f} s of work are left, less than {limit}"

    def nobody(self, source: NodeLoad) -> str | None:
        """No progressing job at home."""
        return None if source.progressing > 0 else "no job there is progressing, so nobody would gain"

    def rank(self, load: NodeLoad) -> tuple[float | str, ...]:
        """Fewest progressing, then CPU use, then number of jobs, then name (4.7)."""
        return (load.progressing, load.cpu_share, load.running, load.name)

    def worse(self, source: NodeLoad, target: NodeLoad) -> str | None:
        """More progressing jobs on the target than at home."""
        return (
            None if target.progressing <= source.progressing else "more jobs would be disturbed there than helped here"
        )

    def terms(self, load: NodeLoad) -> dict[str, float]:
        """Progressing jobs, CPU in use, jobs."""
        return {"progressing": float(load.progressing), "cpu_millis": load.cpu_millis, "running": float(load.running)}

    def words(self, load: NodeLoad) -> str:
        """Jobs, and how many of them are progressing."""
        return f"{_jobs(load.running)} ({load.progressing} progressing)"


class FillIdle(HelpProgressing):
    """A3 of section 1.6: a job that is not progressing goes to an idle node, whoever runs at home."""

    cause = "rebalance"

    def __init__(self, nearly_finished_factor: float, migration_cost: float, low_cpu: float) -> None:
        super().__init__(nearly_finished_factor, migration_cost)
        self._low_cpu = low_cpu

    def is_idle(self, load: NodeLoad) -> bool:
        """No job on it, or less than `low_cpu` of its CPU in use."""
        return load.running == 0 or load.cpu_share < self._low_cpu

    def nobody(self, source: NodeLoad) -> str | None:
        """Does not matter here: the job itself gains."""
        return None

    def rank(self, load: NodeLoad) -> tuple[float | str, ...]:
        """Idle nodes first, then number of jobs, then CPU use, then name."""
        return (not self.is_idle(load), load.running, load.cpu_share, load.name)

    def worse(self, source: NodeLoad, target: NodeLoad) -> str | None:
        """A target that is not idle."""
        return None if self.is_idle(target) else "it is not idle"


class EvenOut:
    """The plain load balancer's: fewer jobs where there are many. It knows nothing of progress."""

    cause = "load"

    def keeps(self, pod: PodRecord) -> str | None:
        """Not known without knowledge of progress."""
        return None

    def nobody(self, source: NodeLoad) -> str | None:
        """Not asked."""
        return None

    def rank(self, load: NodeLoad) -> tuple[float | str, ...]:
        """Fewest jobs, then CPU use, then name."""
        return (load.running, load.cpu_share, load.name)

    def worse(self, source: NodeLoad, target: NodeLoad) -> str | None:
        """The gain says all."""
        return None

    def terms(self, load: NodeLoad) -> dict[str, float]:
        """Jobs and CPU in use."""
        return {"running": float(load.running), "cpu_millis": load.cpu_millis}

    def words(self, load: NodeLoad) -> str:
        """Jobs."""
        return _jobs(load.running)


def _jobs(count: int) -> str:
    return "1 job" if count == 1 else f"{count} jobs"
