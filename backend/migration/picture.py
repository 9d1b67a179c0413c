"""What a planner's round sees of the nodes, kept up to date with the moves that the round itself decides."""

from collections.abc import Collection, Mapping

from backend.model.objects import Job, Node
from backend.model.state import ClusterState, PodRecord


class NodeLoad:
    """One node of a picture."""

    __slots__ = (
        "capacity_millis",
        "cpu_millis",
        "free_cpu_millis",
        "free_memory_bytes",
        "free_pods",
        "name",
        "node",
        "open",
        "progressing",
        "running",
    )

    def __init__(self, node: Node, is_open: bool, free_cpu_millis: int, free_memory_bytes: int) -> None:
        self.node = node
        self.name = node.name
        self.open = is_open
        """Ready and schedulable."""
        self.running = 0
        """Jobs on it: bound, reserved or running, and those on their way to it."""
        self.progressing = 0
        """Those among them that are progressing."""
        self.cpu_millis = 0.0
        """CPU in use."""
        self.capacity_millis = node.cpu_millis
        self.free_cpu_millis = free_cpu_millis
        self.free_memory_bytes = free_memory_bytes
        self.free_pods = node.max_pods

    @property
    def cpu_share(self) -> float:
        """CPU in use as a part of the node's; 1 for a node without any."""
        return self.cpu_millis / self.capacity_millis if self.capacity_millis else 1.0

    def takes(self, job: Job) -> bool:
        """Whether a pod of the job may be put here: open, taints tolerated, labels selected, requests fit."""
        if (
            not self.open
            or self.free_pods < 1
            or job.memory_bytes > self.free_memory_bytes
            or (job.cpu_request_millis and job.cpu_request_millis > self.free_cpu_millis)
        ):
            return False
        node = self.node
        for taint in node.taints:
            if taint.effect != "PreferNoSchedule" and not any(t.tolerates(taint) for t in job.tolerations):
                return False
        return all(node.labels.get(key) == value for key, value in job.node_selector.items())

    def count(self, job: Job, *, progressing: bool, sign: int = 1) -> None:
        """Count a job here (sign 1) or take it off (sign -1), with its requests."""
        self.running += sign
        if progressing:
            self.progressing += sign
        self.free_cpu_millis -= sign * job.cpu_request_millis
        self.free_memory_bytes -= sign * job.memory_bytes
        self.free_pods -= sign


class Picture:
    """The nodes that are present, by name, in the order in which they joined.

    `slow` names the jobs that are not progressing; all others are taken as progressing, new ones too. Jobs in
    migration are counted on their target from the decision on.
    """

    def __init__(self, state: ClusterState, usage: Mapping[str, float], slow: Collection[str] = ()) -> None:
        """`usage` is node -> millicores in use; nodes it lacks are given the sum of what their pods reported."""
        self._slow = slow
        self.loads: dict[str, NodeLoad] = {}
        self._read_nodes(state, usage)
        self._count_slow(state)
        for migration in state.migrations.values():
            self._count_migration(state, migration.job, migration.pod, migration.source, migration.target)

    def move(self, pod: PodRecord, source: str, target: str) -> None:
        """Count a pod's job on the target from now on, and no longer on the source."""
        progressing = pod.pod.job not in self._slow
        for name, sign in ((source, -1), (target, 1)):
            load = self.loads.get(name)
            if load is not None:
                load.count(pod.job, progressing=progressing, sign=sign)
                load.cpu_millis = max(0.0, load.cpu_millis + sign * pod.cpu_millis)

    def _read_nodes(self, state: ClusterState, usage: Mapping[str, float]) -> None:
        table = state.nodes
        # Plain lists: reading one element of an array costs several times as much.
        columns = zip(
            table.nodes,
            table.present.tolist(),
            (table.ready & ~table.unschedulable).tolist(),
            (table.cpu_millis - table.requested_cpu_millis).tolist(),
            (table.memory_bytes - table.requested_memory_bytes).tolist(),
            strict=True,
        )
        for node, present, is_open, free_cpu, free_memory in columns:
            if not present:
                continue
            load = self.loads[node.name] = NodeLoad(node, is_open, free_cpu, free_memory)
            pods = state.pods_on.get(node.name, {})
            load.running = load.progressing = len(pods)
            load.free_pods -= len(pods)
            measured = usage.get(node.name)
            load.cpu_millis = sum(pod.cpu_millis for pod in pods.values()) if measured is None else measured

    def _count_slow(self, state: ClusterState) -> None:
        for job in self._slow:
            record = state.jobs.get(job)
            pod = state.pods.get(record.pod or "") if record is not None else None
            load = self.loads.get(pod.node or "") if pod is not None else None
            if load is not None:
                load.progressing -= 1

    def _count_migration(self, state: ClusterState, job: str, pod: str, source: str, target: str) -> None:
        record = state.jobs[job]
        old = state.pods.get(pod)
        if old is not None:
            self.move(old, source, target)
        elif record.pod is None and record.ended_at is None and target in self.loads:
            self.loads[target].count(record.job, progressing=job not in self._slow)
