"""One round of a planner: which job moves where, and why all others stay (specon-procon.md sections 1.6 and 4.8).

SpeCon and the plain load balancer share it; what differs is their Purpose.
"""

from collections.abc import Callable
from typing import Any, Protocol

from pydantic import Field

from backend.migration.picture import NodeLoad, Picture
from backend.model.events import MigrationConsidered, Verdict
from backend.model.fields import Count, Parameters, Period, PositiveCount, Seconds
from backend.model.objects import Job
from backend.model.quantities import format_cpu, format_memory
from backend.model.state import ClusterState, PodRecord


class PlannerParameters(Parameters):
    """What every planner lets one set."""

    round: Period = Field(
        30.0, description="seconds between two rounds of the planner; the authors' log shows 29.5 to 31.6"
    )
    budget: PositiveCount = Field(
        1, description="migrations that one round may begin; never more than 1 in the authors' log"
    )
    max_migrations: PositiveCount = Field(
        1,
        description="migrations that may be begun for one job, those that were rolled back included; "
        "in the authors' log no job moves twice",
    )
    cooldown: Seconds = Field(
        60.0,
        description="seconds from a job's last migration until its next; counts with max_migrations above 1 only",
    )
    margin: Count = Field(
        0,
        description="jobs by which a move must do better than break even: "
        "(jobs on the source - jobs on the target) - 1 has to be above it",
    )
    explain_nodes: PositiveCount = Field(8, description="nodes, best first, whose terms are kept with a verdict")
    dry_run: bool = Field(
        False, description="only say what would be moved: every move gets the verdict dry-run and none is begun"
    )
    repeat_refusals: bool = Field(
        False, description="log a job's refusal again in each round even if the verdict is that of the round before"
    )


class Purpose(Protocol):
    """What a policy wants of a move; the rules that keep moves safe are the planner's."""

    cause: str
    """Goes into MigrationConsidered.cause."""

    def keeps(self, pod: PodRecord) -> str | None:
        """Why the job is so near its end that it had better stay; None if it is not (verdict "nearly-finished")."""
        ...

    def nobody(self, source: NodeLoad) -> str | None:
        """Why nobody at home would gain from the move; None if somebody would (verdict "nobody-to-help")."""
        ...

    def rank(self, load: NodeLoad) -> tuple[float | str, ...]:
        """Key of a target: the least one is the best. Ends with the name, so that no two are equal."""
        ...

    def worse(self, source: NodeLoad, target: NodeLoad) -> str | None:
        """What, beside the gain, speaks against the target; None if nothing does (verdict "no-better-node")."""
        ...

    def terms(self, load: NodeLoad) -> dict[str, float]:
        """The terms by which a target is compared."""
        ...

    def words(self, load: NodeLoad) -> str:
        """The terms as words, such as "4 jobs, 2 progressing"."""
        ...


class _Tries:
    """Migrations begun for one job."""

    __slots__ = ("at", "count")

    def __init__(self) -> None:
        self.count = 0
        self.at = float("-inf")


class Planner:
    """What a planner remembers from round to round: migrations begun a job, and what it has said already."""

    def __init__(self, parameters: PlannerParameters) -> None:
        self.parameters = parameters
        self.rounds = 0
        self._tries: dict[str, _Tries] = {}
        self._said: dict[str, dict[str, Verdict]] = {}
        """Job -> cause -> the last refusal."""

    def open(self, state: ClusterState, picture: Callable[[], Picture]) -> "Round":
        """Begin a round at the time of the state. `picture` is asked at most once, when a node has to be looked at."""
        self.rounds += 1
        return Round(self, state, picture)

    def forget_refusals(self, job: str) -> None:
        """Say the next refusal of this job whatever it is: something has changed with the job."""
        self._said.pop(job, None)

    def forget(self, job: str) -> None:
        """The job has ended."""
        self._said.pop(job, None)
        self._tries.pop(job, None)

    def tries(self, job: str, state: ClusterState) -> tuple[int, float]:
        """Migrations begun for a job, and when the last one was begun or ended (minus infinity: never)."""
        tries, record = self._tries.get(job), state.jobs[job]
        count, at = (tries.count, tries.at) if tries is not None else (0, float("-inf"))
        if record.migrated_at is not None:
            count, at = max(count, record.migrations), max(at, record.migrated_at)
        return count, at

    def _begun(self, job: str, time: float) -> None:
        tries = self._tries.setdefault(job, _Tries())
        tries.count += 1
        tries.at = time

    def _is_news(self, job: str, cause: str, verdict: Verdict) -> bool:
        said = self._said.setdefault(job, {})
        news = said.get(cause) != verdict or self.parameters.repeat_refusals
        said[cause] = verdict
        return news


class Round:
    """One pass. Verdicts are given in the order in which jobs are brought up; each move changes the picture at once."""

    def __init__(self, planner: Planner, state: ClusterState, picture: Callable[[], Picture]) -> None:
        self.number = planner.rounds
        self.budget = planner.parameters.budget
        """Migrations that may still be begun."""
        self.verdict: Verdict | None = None
        """The last verdict, whether it was news or not."""
        self.moved: set[str] = set()
        """Jobs whose migration this round has begun."""
        self._planner = planner
        self._state = state
        self._draw = picture
        self._picture: Picture | None = None
        self._ranked: dict[str, list[NodeLoad]] = {}
        self._fitting: dict[tuple[Any, ...], list[NodeLoad]] = {}

    @property
    def picture(self) -> Picture:
        """The nodes as they are after the moves decided so far."""
        if self._picture is None:
            self._picture = self._draw()
        return self._picture

    def consider(self, pod: PodRecord, purpose: Purpose) -> MigrationConsidered | None:
        """The verdict on moving a running pod's job; None if it only repeats the one of an earlier round.

        Refusals come in this order: in-migration, not-migratable, already-migrated, cooling-down, nearly-finished,
        round-budget, nobody-to-help, no-fitting-node, no-better-node, paused, dry-run.
        """
        verdict, reason, nodes = self._judge(pod, purpose)
        self.verdict = verdict
        job, source = pod.pod.job, pod.node or ""
        if verdict == "migrate":
            self.budget -= 1
            self.moved.add(job)
            self._planner._begun(job, self._state.time)
            self._planner.forget_refusals(job)
        elif not self._planner._is_news(job, purpose.cause, verdict):
            return None
        loads = self._picture.loads if self._picture is not None else {}
        target = nodes[0] if nodes else None
        considered = MigrationConsidered(
            time=self._state.time,
            round=self.number,
            job=job,
            pod=pod.pod.name,
            source=source,
            target=target.name if target is not None else None,
            verdict=verdict,
            cause=purpose.cause,
            reason=f"{job} {reason()}",
            gain=gain(loads[source], target) if target is not None else None,
            margin=float(self._planner.parameters.margin) if target is not None else None,
            candidates={
                load.name: {**purpose.terms(load), "gain": gain(loads[source], load)}
                for load in nodes[: self._planner.parameters.explain_nodes]
            },
        )
        if verdict == "migrate" and target is not None:
            self.picture.move(pod, source, target.name)
            self._ranked.clear()
            self._fitting.clear()
        return considered

    def _judge(self, pod: PodRecord, purpose: Purpose) -> tuple[Verdict, Callable[[], str], list[NodeLoad]]:
        """Verdict, its sentence without the job's name (made only if it is wanted), and targets, best first."""
        rules, job, home = self._planner.parameters, pod.job, pod.node or ""
        if job.name in self.moved or self._state.jobs[job.name].phase == "migrating":
            return "in-migration", lambda: f"stays on {home}: it is in migration already", []
        if not job.migratable:
            return "not-migratable", lambda: f"stays on {home}: it was submitted as not migratable", []
        count, last = self._planner.tries(job.name, self._state)
        if count >= rules.max_migrations:
            most = rules.max_migrations
            return (
                "already-migrated",
                lambda: f"stays on {home}: {count} of {most} migrations have been begun for it",
                [],
            )
        if self._state.time < last + rules.cooldown:
            until = last + rules.cooldown
            return "cooling-down", lambda: f"stays on {home}: it may move again from {until:g} s on", []
        near = purpose.keeps(pod)
        if near is not None:
            return "nearly-finished", lambda: f"stays on {home}: {near}", []
        if self.budget < 1:
            return "round-budget", lambda: f"stays on {home}: this round has begun its {_count(rules.budget)}", []
        source = self.picture.loads.get(home)
        if source is None:
            return "no-fitting-node", lambda: f"stays: its node {home} has left", []
        nobody = purpose.nobody(source)
        if nobody is not None:
            return "nobody-to-help", lambda: f"stays on {home}: {nobody}", []
        nodes = [load for load in self._targets(job, purpose) if load is not source]
        if not nodes:
            return "no-fitting-node", lambda: f"stays on {home}: no other node is open to it with {_room(job)}", []
        target = nodes[0]
        better = gain(source, target)

        def sides() -> str:
            return f"{home} has {purpose.words(source)}, {target.name} has {purpose.words(target)}"

        worse = purpose.worse(source, target)
        if worse is not None:
            return "no-better-node", lambda: f"stays on {home}: {sides()}; {worse}", nodes
        if better <= rules.margin:
            why = f"gain {better:g} is not above {rules.margin}"
            return "no-better-node", lambda: f"stays on {home}: {sides()}; {why}", nodes
        if self._state.paused_by is not None:
            by = self._state.paused_by
            return "paused", lambda: f"stays on {home}: migrations are paused by {by}; {sides()}", nodes
        if rules.dry_run:
            return "dry-run", lambda: f"would move from {home} to {target.name}: {sides()}; gain {better:g}", nodes
        return "migrate", lambda: f"moves from {home} to {target.name}: {sides()}; gain {better:g}", nodes

    def _targets(self, job: Job, purpose: Purpose) -> list[NodeLoad]:
        """The best nodes that take the job, best first: one more than are explained, as its own may be among them."""
        needs = (
            purpose.cause,
            job.cpu_request_millis,
            job.memory_bytes,
            tuple(sorted(job.node_selector.items())),
            job.tolerations,
        )
        found = self._fitting.get(needs)
        if found is None:
            found = self._fitting[needs] = []
            for load in self._rank(purpose):
                if load.takes(job):
                    found.append(load)
                    if len(found) > self._planner.parameters.explain_nodes:
                        break
        return found

    def _rank(self, purpose: Purpose) -> list[NodeLoad]:
        ranked = self._ranked.get(purpose.cause)
        if ranked is None:
            ranked = self._ranked[purpose.cause] = sorted(self.picture.loads.values(), key=purpose.rank)
        return ranked


def gain(source: NodeLoad, target: NodeLoad) -> float:
    """(jobs on the source - jobs on the target) - 1, the default gain of section 1.6.

    A move with a gain above 0 lowers the sum over the nodes of the squared number of jobs, by twice the gain; so a
    sequence of moves without arrivals comes to an end.
    """
    return float(source.running - target.running - 1)


def _room(job: Job) -> str:
    return f"room for {format_cpu(job.cpu_request_millis)} CPU and {format_memory(job.memory_bytes)} of memory"


def _count(budget: int) -> str:
    return "one migration" if budget == 1 else f"{budget} migrations"
