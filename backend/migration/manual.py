"""A person asks for a job to be moved: the answer, by the rules that keep any move safe.

What a policy would think of the move does not matter: how often the job has moved, whether it gains by it, or whether
policies are paused.
"""

from backend.migration.picture import NodeLoad, Picture
from backend.migration.planner import gain
from backend.model.events import MigrationAsked, MigrationConsidered, Verdict
from backend.model.state import ClusterState, PodRecord

CAUSE = "manual"


def consider(asked: MigrationAsked, state: ClusterState) -> MigrationConsidered:
    """The verdict: migrate, not-migratable, in-migration or no-fitting-node. Without a target, it is the node with the
    fewest jobs that takes it."""
    record = state.jobs.get(asked.job)
    pod = state.pods.get(record.pod or "") if record is not None else None
    if record is None or record.ended_at is not None:
        why = "there is no such job" if record is None else "it has ended"
        return _answer(asked, pod, "not-migratable", f"{asked.job} cannot be moved: {why}")
    if record.phase == "migrating":
        return _answer(asked, pod, "in-migration", f"{asked.job} is in migration already")
    if pod is None or pod.node is None or pod.phase not in ("bound", "running"):
        return _answer(asked, pod, "not-migratable", f"{asked.job} cannot be moved: it has no node yet")
    home = pod.node
    if not pod.job.migratable:
        why = "it was submitted as not migratable, or its pod is not ours to make again"
        return _answer(asked, pod, "not-migratable", f"{asked.job} stays on {home}: {why}")
    loads = Picture(state, {}).loads
    others = [load for load in loads.values() if load.name != home]
    if asked.target is not None:
        if asked.target == home:
            return _answer(asked, pod, "no-fitting-node", f"{asked.job} is on {home} already")
        others = [load for load in others if load.name == asked.target]
        if not others:
            return _answer(asked, pod, "no-fitting-node", f"{asked.job} stays on {home}: no node is called that")
    fitting = sorted((load for load in others if load.takes(pod.job)), key=lambda load: (load.running, load.name))
    if not fitting:
        which = f"{asked.target} has no room or is not open to it" if asked.target else "no other node takes it"
        return _answer(asked, pod, "no-fitting-node", f"{asked.job} stays on {home}: {which}")
    by = asked.by or "a person"
    reason = f"{asked.job} moves from {home} to {fitting[0].name}: {by} asked for it"
    return _answer(asked, pod, "migrate", reason, source=loads.get(home), target=fitting[0])


def _answer(
    asked: MigrationAsked,
    pod: PodRecord | None,
    verdict: Verdict,
    reason: str,
    *,
    source: NodeLoad | None = None,
    target: NodeLoad | None = None,
) -> MigrationConsidered:
    return MigrationConsidered(
        time=asked.time,
        round=0,
        job=asked.job,
        pod=pod.pod.name if pod is not None else "",
        source=(pod.node or "") if pod is not None else "",
        target=target.name if target is not None else asked.target,
        verdict=verdict,
        cause=CAUSE,
        reason=reason,
        gain=gain(source, target) if source is not None and target is not None else None,
    )
