"""SimulatedCluster: the Cluster protocol over an event list, shared processors and training jobs."""

import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from backend.model import events as ev
from backend.model.actions import Action, Bind, CreatePod, DeletePod, Wake
from backend.model.images import normalise_image
from backend.model.objects import Job, Node, Pod
from backend.model.periods import next_multiple
from backend.simulation.costs import Costs, Telemetry
from backend.simulation.engine import CLUSTER, TELEMETRY, TIMER, EventList
from backend.simulation.pods import RunningNode, SimulatedPod
from backend.simulation.sharing import Task
from backend.simulation.telemetry import Reporter
from backend.simulation.training import TrainingModel
from backend.simulation.transfers import Transfers

QUIET_S = 300.0
"""Simulated seconds in which timers alone may go on while pods wait: longer than any round or time-out of a policy."""

__all__ = ["Costs", "Fault", "SimulatedCluster", "Submission", "Telemetry"]


@dataclass(frozen=True, slots=True)
class Submission:
    """A job and when it arrives."""

    time: float
    job: Job
    model: TrainingModel
    iterations: int


@dataclass(frozen=True, slots=True)
class Fault:
    """A node fails at a time and, perhaps, comes back, empty."""

    node: str
    at: float
    back_at: float | None = None


class SimulatedCluster:
    """Implements Cluster (backend/model/seam.py). One instance is one run; `events()` can be iterated once."""

    def __init__(
        self,
        nodes: Sequence[Node],
        submissions: Sequence[Submission],
        *,
        seed: int,
        telemetry: Telemetry | None = None,
        costs: Costs | None = None,
        faults: Sequence[Fault] = (),
        catalogue: ev.CatalogueDeclared | None = None,
        until: float | None = None,
    ) -> None:
        """`catalogue` declares images, storage and bandwidth; without it images have the size that jobs name."""
        self._costs = costs or Costs()
        self._telemetry = telemetry or Telemetry()
        if until is not None and not until >= 0:
            raise ValueError(f"until is {until}; it must be 0 or later")
        self._until = math.inf if until is None else until
        self._list = EventList()
        self._due: deque[ev.Event] = deque()
        self._specs = {node.name: node for node in nodes}
        self._check(nodes, submissions, faults)
        self._nodes: dict[str, RunningNode] = {}
        self._pods: dict[str, SimulatedPod] = {}
        self._submissions = {submission.job.name: submission for submission in submissions}
        self._kept: dict[str, float] = {}
        """Job -> iterations that its checkpoint on the shared volume holds."""
        self._reporter = Reporter(seed)
        self._last_action = 0.0
        self._entries = 0
        self._timers = 0
        """Timers that have not fired."""
        self._submissions_left = len(submissions)
        self._unfinished = set(self._submissions)
        self._faults_left = 0
        self.ended = ""
        """Why there are no more events."""
        self._catalogue = catalogue
        self._transfers = Transfers(nodes, self._costs, catalogue)
        for node in nodes:
            self._add_node(node)
        if catalogue is not None:
            self._due.append(catalogue)
        at = self._list.at
        for submission in submissions:
            at(submission.time, self._submit, submission)
        for fault in sorted(faults, key=lambda fault: fault.at):  # a node is back before it fails at the same time
            self._faults_left += 1 if fault.back_at is None else 2
            at(fault.at, self._fail, fault)
            if fault.back_at is not None:
                at(fault.back_at, self._come_back, fault.node)
        self._reporting = self._sampling = False
        """Whether the next report, the next sample is in the list; both rest while nothing would change in them."""
        self._sampled_memory = (0.0,) * len(nodes)
        """Bytes in use on the nodes in the last sample."""
        if self._telemetry.usage:
            self._sampling = True
            at(self._telemetry.usage, self._sample_usage, None, TELEMETRY)

    @staticmethod
    def _check(nodes: Sequence[Node], submissions: Sequence[Submission], faults: Sequence[Fault]) -> None:
        names: set[str] = set()
        for node in nodes:
            if node.name in names:
                raise ValueError(f"two nodes are called '{node.name}'")
            names.add(node.name)
            if node.cpu_millis <= 0 or node.memory_bytes <= 0:
                raise ValueError(f"node '{node.name}' must have processors and memory")
        seen: set[str] = set()
        for submission in submissions:
            if submission.job.name in seen:
                raise ValueError(f"two jobs are called '{submission.job.name}'")
            seen.add(submission.job.name)
            if not (math.isfinite(submission.time) and submission.time >= 0):
                raise ValueError(f"job '{submission.job.name}' arrives at {submission.time:g}; it must be 0 or later")
            if submission.iterations < 1:
                raise ValueError(f"job '{submission.job.name}' has {submission.iterations} iterations; at least 1")
        away_until: dict[str, float] = {}
        for fault in sorted(faults, key=lambda fault: fault.at):
            if fault.node not in names:
                raise ValueError(f"a fault names the node '{fault.node}', which the cluster does not have")
            if not (math.isfinite(fault.at) and fault.at >= 0):
                raise ValueError(f"node '{fault.node}' fails at {fault.at:g}; it must be 0 or later")
            if fault.back_at is not None and not fault.at < fault.back_at < math.inf:
                raise ValueError(
                    f"node '{fault.node}' comes back at {fault.back_at:g}, not after failing at {fault.at:g}"
                )
            if fault.at < away_until.get(fault.node, 0.0):
                raise ValueError(f"node '{fault.node}' fails at {fault.at:g} while still away from its failure before")
            away_until[fault.node] = math.inf if fault.back_at is None else fault.back_at

    # -- the protocol

    def now(self) -> float:
        """Simulated seconds since the run began."""
        return self._list.now

    def events(self) -> Iterator[ev.Event]:
        """See Cluster. Ends when nothing but telemetry and timers is left to happen, or at `until`."""
        due = self._due
        entries = self._list
        until = self._until
        while True:
            while due:
                yield due.popleft()
            entry = entries.next(until)
            if entry is None:
                if entries:
                    entries.now = until
                    self.ended = "the time limit is reached"
                else:
                    self.ended = self.ended or "nothing is left to happen"
                return
            _, order, _, what, argument = entry
            if order == CLUSTER or self._alive(order):
                what(argument)

    def run_to(self, time: float) -> None:
        """Let everything up to a time happen, at which the clock stands then: for a cluster that goes on while others
        look. What happened is given by `take`.

        Unlike with `events`, nothing ends here: what is admitted or executed later happens later.
        """
        while (entry := self._list.next(time)) is not None:
            _, _, _, what, argument = entry
            what(argument)
        self._list.now = max(self._list.now, time)

    def take(self) -> list[ev.Event]:
        """What has happened since the last call."""
        happened = list(self._due)
        self._due.clear()
        return happened

    def next_time(self) -> float:
        """When the next thing happens, as far as it is known; infinity if nothing is known to happen."""
        return self._list.now if self._due else self._list.next_time()

    def admit(self, submission: Submission) -> None:
        """Know a job from now on, without an event: its pods may be created."""
        self._submissions[submission.job.name] = submission
        self._unfinished.add(submission.job.name)

    def forget(self, job: str) -> None:
        """Forget a job that has ended, with its checkpoint."""
        self._submissions.pop(job, None)
        self._unfinished.discard(job)
        self._kept.pop(job, None)

    def join(self, node: Node) -> None:
        """A node comes, or comes back."""
        if node.name in self._nodes:
            raise ValueError(f"node '{node.name}' is there already")
        self._specs[node.name] = node
        self._transfers = Transfers(list(self._specs.values()), self._costs, self._catalogue)
        self._add_node(node)

    def lose(self, node: str) -> None:
        """A node fails now, with all that runs on it; nothing happens if it is not there."""
        self._faults_left += 1
        self._fail(Fault(node, self._list.now))

    def crash(self, pod: str, reason: str) -> None:
        """A pod that has a node dies now, without a last checkpoint; nothing happens if there is no such pod."""
        found = self._pods.get(pod)
        if found is not None and found.node is not None:
            self._gone(found, reason, self._kept_at(found))

    @property
    def running_nodes(self) -> Mapping[str, RunningNode]:
        """The nodes that are there, by name; to be looked at only."""
        return self._nodes

    def execute(self, action: Action) -> None:
        """See Cluster."""
        kind = type(action)
        if kind is Wake:
            assert isinstance(action, Wake)
            if not math.isfinite(action.time):
                raise ValueError(f"timer '{action.timer}' is to fire at {action.time}, which is no time")
            self._timers += 1
            self._list.at(action.time, self._fire, action.timer, TIMER)
            return
        self._last_action = self._list.now
        if isinstance(action, Bind):
            self._bind(action.pod, action.node)
        elif isinstance(action, CreatePod):
            self._create(action.pod)
        elif isinstance(action, DeletePod):
            self._delete(action)
        else:
            raise TypeError(f"a simulated cluster cannot carry out {action!r}")

    # -- nodes

    def _add_node(self, node: Node) -> None:
        self._nodes[node.name] = RunningNode(node, self._list.now)
        self._due.append(ev.NodeAdded(self._list.now, node))

    def _fail(self, fault: Fault) -> None:
        self._faults_left -= 1
        node = self._nodes.pop(fault.node, None)
        if node is None:
            return
        now = self._list.now
        node.processor.advance(now)
        self._due.append(ev.NodeRemoved(now, fault.node, "failed"))
        for pod in list(node.pods.values()):
            self._gone(pod, "node lost", self._kept_at(pod))

    def _come_back(self, name: str) -> None:
        self._faults_left -= 1
        self._add_node(self._specs[name])

    # -- pods

    def _submit(self, submission: Submission) -> None:
        self._submissions_left -= 1
        self._due.append(ev.JobSubmitted(self._list.now, submission.job))

    def _create(self, pod: Pod) -> None:
        if pod.name in self._pods:
            raise ValueError(f"a pod called '{pod.name}' exists already")
        submission = self._submissions.get(pod.job)
        if submission is None:
            raise ValueError(f"pod '{pod.name}' is of the job '{pod.job}', which was never submitted")
        self._entries += 1
        self._pods[pod.name] = SimulatedPod(pod, submission.job, submission.model, submission.iterations, self._entries)
        self._due.append(ev.PodCreated(self._list.now, pod))
        if pod.node is not None:
            self._bind(pod.name, pod.node)

    def _bind(self, name: str, node_name: str) -> None:
        pod = self._pods.get(name)
        if pod is None or pod.node is not None:
            return
        now = self._list.now
        node = self._nodes.get(node_name)
        refusal = f"node {node_name} is not there" if node is None else node.refusal(pod.job)
        if refusal or node is None:
            del self._pods[name]
            self._due.append(ev.PodEvicted(now, name, None, refusal, 0.0, self._kept.get(pod.job.name, 0.0)))
            return
        pod.node = node
        self._look_again()
        node.take(pod)
        self._due.append(ev.PodBound(now, name, node_name))
        image = normalise_image(pod.job.image)
        present = node.images.get(image, 0.0) if image else 0.0
        if image and image not in node.images:
            size = self._transfers.image_bytes(image, pod.job, node.node)
            duration = self._transfers.pull_s(size, node.node)
            present = node.images[image] = now + duration
            pull = (node, pod.job.image, size, duration)
            if duration > 0:
                self._list.at(present, self._pulled, pull)
            else:
                self._pulled(pull)
        pod.kept = pod.start = self._kept.get(pod.job.name, 0.0)
        load = self._costs.checkpoint_s(pod.model.checkpoint_size) if pod.start else 0.0
        if pod.job.labels:
            load += self._transfers.download_s(pod.job, node.node)
        ready = max(present, now) + self._costs.container_start_s + load
        if ready > now:
            self._list.at(ready, self._start, pod)
        else:
            self._start(pod)

    def _pulled(self, pull: tuple[RunningNode, str, int, float]) -> None:
        node, image, size, duration = pull
        if self._nodes.get(node.name) is node:
            self._due.append(ev.ImagePulled(self._list.now, node.name, image, size, duration))

    def _start(self, pod: SimulatedPod) -> None:
        node = pod.node
        if node is None or pod.ended:
            return
        now = self._list.now
        model = pod.model
        work = (pod.iterations - pod.start) * model.core_s_per_iteration
        weight = (pod.job.cpu_request_millis or 1000) / 1000
        pod.task = Task(work, weight, model.ceiling_cores, pod.number, pod)
        pod.reported = pod.start
        self._look_again()
        processor = node.processor
        processor.advance(now)
        processor.add(pod.task)
        self._due.append(ev.PodStarted(now, pod.name, node.name, pod.start))
        self._foresee(node)

    def _foresee(self, node: RunningNode) -> None:
        """Share the processors anew and foresee the next end on the node."""
        processor = node.processor
        first = processor.share()
        if first < math.inf:
            self._list.at(processor.updated + first, self._end, (node, processor.version))

    def _end(self, foreseen: tuple[RunningNode, int]) -> None:
        node, version = foreseen
        processor = node.processor
        if processor.version != version:
            return
        now = self._list.now
        processor.advance(now)
        for task in processor.done():
            pod: SimulatedPod = task.owner
            processor.remove(task)
            upload = self._transfers.upload_s(pod.job, node.node) if pod.job.labels else 0.0
            if upload > 0:
                pod.uploading = True
                self._list.at(now + upload, self._uploaded, pod)
            else:
                self._finish(pod, node, task.consumed)
        self._foresee(node)

    def _uploaded(self, pod: SimulatedPod) -> None:
        if not (pod.ended or pod.stopping):
            assert pod.node is not None and pod.task is not None
            self._finish(pod, pod.node, pod.task.consumed)

    def _finish(self, pod: SimulatedPod, node: RunningNode, consumed: float) -> None:
        self._look_again()
        node.release(pod)
        pod.ended = True
        del self._pods[pod.name]
        self._unfinished.discard(pod.job.name)
        self._due.append(ev.PodFinished(self._list.now, pod.name, node.name, True, "", consumed))

    # -- stopping

    def _delete(self, action: DeletePod) -> None:
        pod = self._pods.get(action.pod)
        if pod is None or pod.stopping:
            return
        node = pod.node
        if node is None:
            del self._pods[pod.name]
            self._due.append(ev.PodEvicted(self._list.now, pod.name, None, action.reason, 0.0, self._kept_at(pod)))
            return
        pod.stopping = True
        if pod.task is None:
            self._stopped((pod, action.reason, self._kept_at(pod)))
            return
        now = self._list.now
        if not pod.uploading:
            node.processor.advance(now)
            node.processor.remove(pod.task)
            self._foresee(node)
        kept = self._kept_at(pod)
        costs = self._costs
        duration = min(costs.stop_s, action.grace_s)
        if costs.mode == "checkpoint" and costs.checkpoint_on_stop and pod.model.checkpoint_every:
            write = costs.checkpoint_s(pod.model.checkpoint_size)
            if costs.stop_s + write <= action.grace_s:
                kept = float(math.floor(pod.reached(now) + 1e-9))
                duration = costs.stop_s + write
        self._list.at(now + duration, self._stopped, (pod, action.reason, kept))

    def _stopped(self, stop: tuple[SimulatedPod, str, float]) -> None:
        pod, reason, kept = stop
        if not pod.ended:
            self._gone(pod, reason, kept)

    def _gone(self, pod: SimulatedPod, reason: str, kept: float) -> None:
        """The pod leaves its node; its job keeps `kept` iterations."""
        node = pod.node
        assert node is not None
        now = self._list.now
        reached, consumed = pod.start, 0.0
        if pod.task is not None:
            if not (pod.stopping or pod.uploading):
                node.processor.advance(now)
                node.processor.remove(pod.task)
                self._foresee(node)
            consumed = pod.task.consumed
            reached = pod.reached(now)
        self._look_again()
        node.release(pod)
        pod.ended = True
        del self._pods[pod.name]
        self._kept[pod.job.name] = kept
        lost = max(0.0, (reached - kept) * pod.model.core_s_per_iteration)
        self._due.append(ev.PodEvicted(now, pod.name, node.name, reason, reached, kept, consumed, lost))

    def _kept_at(self, pod: SimulatedPod) -> float:
        """Iterations that the last periodic checkpoint holds."""
        if self._costs.mode == "restart":
            return 0.0
        every = pod.model.checkpoint_every
        if pod.task is None or not every:
            return self._kept.get(pod.job.name, 0.0)
        return max(pod.start, float(math.floor(pod.reached(self._list.now) / every + 1e-9) * every))

    # -- measurements and timers

    def measure(self) -> ev.WorkMeasured | None:
        """What the pods that run have consumed so far; None if none does."""
        now = self._list.now
        running = [pod for pod in self._pods.values() if pod.task is not None]
        if not running:
            return None
        consumed = [(pod.reached(now) - pod.start) * pod.model.core_s_per_iteration for pod in running]
        return ev.WorkMeasured(now, tuple(pod.name for pod in running), tuple(consumed))

    def _look_again(self) -> None:
        """Go on measuring after a rest, at the multiples of the periods: something changes now."""
        if self._reporting and self._sampling:
            return
        now = self._list.now
        telemetry = self._telemetry
        if telemetry.progress and not self._reporting:
            self._reporting = True
            self._list.at(next_multiple(now, telemetry.progress), self._report_progress, None, TELEMETRY)
        if telemetry.usage and not self._sampling:
            self._sampling = True
            self._append_sample()  # so that the rest is seen as one, and the next mean does not reach into it
            self._list.at(next_multiple(now, telemetry.usage), self._sample_usage, None, TELEMETRY)

    def _report_progress(self, _: None) -> None:
        now = self._list.now
        running = [pod for pod in self._pods.values() if pod.task is not None and not (pod.stopping or pod.uploading)]
        report = self._reporter.report(now, running)
        if report is not None:
            self._due.append(report)
        self._reporting = bool(running)
        if self._reporting:
            self._list.at(next_multiple(now, self._telemetry.progress), self._report_progress, None, TELEMETRY)

    def _sample_usage(self, _: None) -> None:
        # Samples rest where the next ones would be like this one: nothing runs, and no pod came or went.
        changed = self._append_sample()
        self._sampling = changed or any(node.processor.tasks for node in self._nodes.values())
        if self._sampling:
            now = self._list.now
            self._list.at(next_multiple(now, self._telemetry.usage), self._sample_usage, None, TELEMETRY)

    def _append_sample(self) -> bool:
        """Sample all nodes; whether any was in use or has other memory in use than in the last sample."""
        now = self._list.now
        nodes = list(self._nodes.values())
        millis = tuple([node.mean_millis(now) for node in nodes])
        memory = tuple([float(node.memory_used) for node in nodes])
        self._due.append(ev.UsageSampled(now, tuple([node.name for node in nodes]), millis, memory))
        before, self._sampled_memory = self._sampled_memory, memory
        return any(millis) or memory != before

    def _fire(self, timer: str) -> None:
        self._timers -= 1
        self._due.append(ev.TimerFired(self._list.now, timer))

    def _alive(self, order: int) -> bool:
        """Whether telemetry or a timer still has something to look at or to wait for.

        Where pods wait or are yet to be created, a timer may lead to that, so telemetry goes on as long as timers do.
        """
        if self._submissions_left:
            return True
        if self._faults_left and self._pods:
            return True
        if any(pod.node is not None for pod in self._pods.values()):
            return True
        if not (self._pods or self._unfinished):
            return False
        return (order == TIMER or self._timers > 0) and self._list.now - self._last_action <= QUIET_S
