"""KubernetesCluster: the Cluster protocol over the Kubernetes API.

Informers and calls have threads of their own; what they learn comes as work into one inbox, and whoever iterates
`events()` does that work. All that is known is therefore in one thread's hands.
"""

import heapq
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

import msgspec
from msgspec import Struct

from backend.kube import manifests, steps
from backend.kube.calls import Calls, CallsHealth
from backend.kube.client import Api, ApiError, Json
from backend.kube.convert import SeenNode, SeenPod, pod_of, seen_node
from backend.kube.names import RUN, pods_path
from backend.kube.nodes import NodeBook
from backend.kube.pods import Entry, PodBook, Said, Scope
from backend.kube.progress import RunningPod, Sample, reported
from backend.kube.watch import Change, Health, Informer
from backend.model import events as ev
from backend.model.actions import Action, Bind, CreatePod, DeletePod, Wake
from backend.model.objects import Job, Pod
from backend.model.state import ClusterState

BIND_PATIENCE_S = 30.0
"""After so long without an answer a bind has failed: its node may not be the best one any more."""
BUDGET_PATIENCE_S = 60.0
"""How long a disruption budget may forbid an eviction; shorter than a migration waits for its pod to stop."""
LATE_S = 1.0
"""A timer that is late by more goes before events of the cluster, however many there are."""
LONGEST_WAIT_S = 3600.0

Work = Callable[[], Iterable[ev.Event]]


class ClusterHealth(Struct, frozen=True):
    """What a page on the state of things shows."""

    server: str
    nodes: Health
    pods: Health
    calls: CallsHealth
    not_placed: dict[str, str]
    """Pods of ours that wait and that our scheduler must not place, with the reason."""

    @property
    def ready(self) -> bool:
        """Whether nodes and pods are known and were heard of without an error since."""
        return all(part.synced and not part.failing for part in (self.nodes, self.pods))


class KubernetesCluster:
    """Implements Cluster (backend/model/seam.py). One instance is one run; `events()` can be iterated once.

    `execute`, `resume` and the iteration belong to one thread; the other methods may be called from any.
    """

    def __init__(
        self,
        api: Api,
        scope: Scope | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        speed: Callable[[], float] = lambda: 1.0,
        began_at: float = 0.0,
        kept: MutableMapping[str, bytes] | None = None,
        calls: Calls | None = None,
        informing: dict[str, Any] | None = None,
    ) -> None:
        """`clock` gives seconds that never go back, `speed` how many of them there are in a second on the wall (an
        embedded cluster's are many); `began_at` is the run's time now, for one that goes on.

        `kept` holds manifests beyond the process (ManifestFolder); `informing` are more arguments for the informers.
        """
        self._api = api
        self._scope = scope or Scope()
        self._clock = clock
        self._speed = speed
        self._began = clock() - began_at
        self._last = self._at_hand = began_at
        self._inbox: SimpleQueue[Work] = SimpleQueue()
        self._due: deque[ev.Event] = deque()
        self._timers: list[tuple[float, int, str]] = []
        self._timers_asked = 0
        self._stopping = threading.Event()
        self._calls = calls or Calls()
        self._nodes = NodeBook(self._tick)
        self._pods = PodBook(self._scope, self._tick, {} if kept is None else kept)
        self._creating: dict[str, Pod] = {}
        """Pods whose creation was not answered yet."""
        self._reserved: dict[str, str] = {}
        """Pod -> node of the decisions that a log holds without their bind."""
        self._listed_nodes = self._listed_pods = False
        self._early: list[Callable[[], None]] = []
        """Submissions and actions that came before the first list of pods, which shows what they still have to do."""
        options = informing or {}
        self._node_informer: Informer[SeenNode] = Informer(
            api, "/api/v1/nodes", seen_node, self._deliver(self._nodes_differ), **options
        )
        self._pod_informer: Informer[SeenPod] = Informer(
            api, pods_path(self._scope.namespace), self._read_pod, self._deliver(self._pods_differ), **options
        )

    # -- the protocol

    def now(self) -> float:
        """The time of the event at hand; see `elapsed`."""
        return self._at_hand

    def elapsed(self) -> float:
        """Seconds since the run began, at this moment."""
        return self._clock() - self._began

    def events(self) -> Iterator[ev.Event]:
        """See Cluster. Goes on until `stop`, whatever happens to the API server."""
        self._calls.start()
        self._node_informer.start()
        try:
            while True:
                while self._due and not self._stopping.is_set():
                    event = self._due.popleft()
                    self._at_hand = event.time
                    yield event
                work = self._next()
                if work is None:
                    return
                self._due.extend(work())
        finally:
            self.stop()
            self._node_informer.stop()
            self._pod_informer.stop()
            self._calls.stop()

    def execute(self, action: Action) -> None:
        """See Cluster. Returns at once; never raises for what the API server says."""
        if isinstance(action, Wake):
            if not math.isfinite(action.time):
                raise ValueError(f"timer '{action.timer}' is to fire at {action.time}, which is no time")
            self._timers_asked += 1
            heapq.heappush(self._timers, (action.time, self._timers_asked, action.timer))
        elif not self._listed_pods:
            self._early.append(partial(self.execute, action))
        elif isinstance(action, Bind):
            self._bind(action.pod, action.node)
        elif isinstance(action, CreatePod):
            self._create(action.pod)
        elif isinstance(action, DeletePod):
            self._delete(action)
        else:
            raise TypeError(f"a Kubernetes cluster cannot carry out {action!r}")

    def stop(self) -> None:
        """End the iteration of `events`, which waits for all threads then."""
        self._stopping.set()
        self.wake()

    # -- besides the protocol

    def wake(self) -> None:
        """Have timers looked at now: for a clock that was set by hand."""
        self._inbox.put(tuple)

    def resume(self, state: ClusterState) -> None:
        """Go on from a log that was read again: what it has told already is not told again. Before `events`."""
        self._nodes.resume(state)
        self._pods.resume(state)
        waiting = ((name, record) for name, record in state.pods.items() if record.phase == "reserved")
        self._reserved = {name: record.node for name, record in waiting if record.node is not None}

    def submit(self, job: Job, manifest: Json) -> None:
        """A job whose pods are made from a manifest; it arrives as JobSubmitted now, or once the cluster is known."""
        self._inbox.put(partial(self._submitted, job, msgspec.json.encode(manifests.clean(manifest))))

    def report(self, samples: Sequence[Sample]) -> None:
        """What a source of progress found."""
        self._inbox.put(partial(self._progress, samples))

    def tell(self, event: ev.Event) -> None:
        """Something that somebody else measured; it counts as happening when it is told."""
        self._inbox.put(lambda: (msgspec.structs.replace(event, time=self._tick()),))

    def measure(self) -> ev.WorkMeasured | None:
        """What the pods that run have consumed so far, by what they report of their CPU; None if none does. Like the
        iteration of `events`, it is for one thread."""
        consumed = self._pods.consumed()
        return ev.WorkMeasured(self._tick(), tuple(consumed), tuple(consumed.values())) if consumed else None

    def running(self) -> dict[str, RunningPod]:
        """Pods that run."""
        return self._pods.running()

    def uid(self, pod: str) -> str:
        """The uid of a pod that exists; empty if there is none."""
        entry = self._pods.entry(pod)
        return entry.pod.uid if entry is not None else ""

    def health(self) -> ClusterHealth:
        """How up to date all this is."""
        informers = self._node_informer.health(), self._pod_informer.health()
        return ClusterHealth(self._api.server, *informers, self._calls.health(), self._pods.not_placed())

    # -- the inbox

    def _tick(self) -> float:
        """Time of an event that happens now; never before that of the one before."""
        self._last = max(self._last, self.elapsed())
        return self._last

    def _next(self) -> Work | None:
        while not self._stopping.is_set():
            wait = self._timers[0][0] - self.elapsed() if self._timers else LONGEST_WAIT_S
            if wait <= 0 and (wait < -LATE_S or self._inbox.empty()):
                timer = heapq.heappop(self._timers)[2]
                return lambda: (ev.TimerFired(self._tick(), timer),)
            try:
                return self._inbox.get(timeout=min(max(wait, 0.0) / self._speed(), LONGEST_WAIT_S))
            except Empty:
                continue
        return None

    def _deliver(self, work: Callable[[Any], Iterable[ev.Event]]) -> Callable[[Any], None]:
        """A function for other threads that leaves its argument in the inbox, to be worked on."""
        return lambda argument: self._inbox.put(partial(work, argument))

    def _read_pod(self, item: Json) -> SeenPod:
        scheduler = (item.get("spec") or {}).get("schedulerName")
        run = (item["metadata"].get("labels") or {}).get(RUN)
        return pod_of(item, keep=self._scope.has(str(scheduler), str(run)))

    # -- what the informers say

    def _nodes_differ(self, changes: Sequence[Change[SeenNode]]) -> Iterator[ev.Event]:
        present = [change.value for change in changes if change.kind != "deleted"]
        for change in changes:
            if change.kind == "deleted":
                yield from self._node_gone(change.value.node.name)
        if not self._listed_nodes:
            for name in set(self._nodes.names()) - {seen.node.name for seen in present}:
                yield from self._node_gone(name)
        for seen in present:
            came = seen.node.name if self._nodes.get(seen.node.name) is None else ""
            said = list(self._nodes.seen(seen))
            yield from said
            if any(isinstance(event, ev.NodeAdded | ev.NodeChanged) for event in said):
                yield from self._pods.nodes_changed(came)
        yield from self._nodes.catalogue(present)
        if not self._listed_nodes:
            self._listed_nodes = True
            self._pod_informer.start()

    def _node_gone(self, name: str) -> Iterator[ev.Event]:
        yield from self._nodes.gone(name)
        for event in self._pods.node_gone(name, "node lost"):
            yield event
            entry = self._pods.entry(event.pod)
            if isinstance(event, ev.PodEvicted) and entry is not None and entry.pod.uid:
                # Nobody is left on the node to confirm a graceful end.
                make = partial(steps.delete, self._api, event.pod, entry.pod.uid, 0.0, evict=False)
                self._calls.submit(event.pod, make, _ignore)

    def _pods_differ(self, changes: Sequence[Change[SeenPod]]) -> Iterator[ev.Event]:
        first, self._listed_pods = not self._listed_pods, True
        for change in changes:
            if change.kind == "deleted":
                yield from self._pods.gone(change.value)
        present = [change.value for change in changes if change.kind != "deleted"]
        # What holds a place on a node must count before anybody is placed; who waits comes in the order of arrival.
        present.sort(key=lambda pod: (pod.node is None, pod.created, pod.name))
        for pod in present:
            yield from self._pods.seen(pod, first=first)
        if first:
            yield from self._pods.unseen()
            reason = "Podshift was started again before it had been bound"
            for name, node in self._reserved.items():
                entry = self._pods.entry(name)
                if entry is not None and entry.said is Said.CREATED:
                    yield ev.BindFailed(self._tick(), name, node, reason)

            for act in self._early:
                act()

    def _submitted(self, job: Job, manifest: bytes) -> Iterable[ev.Event]:
        if self._listed_pods:
            self._due.append(self._pods.submitted(job, manifest))
        else:
            self._early.append(lambda: self._due.append(self._pods.submitted(job, manifest)))
        return ()

    def _progress(self, samples: Sequence[Sample]) -> Iterator[ev.Event]:
        running = self._pods.running()
        known = [sample for sample in samples if sample.pod in running]
        for sample in known:
            self._pods.progressed(sample.pod, sample.iteration, sample.kept, sample.cpu_millis)
        if known:
            yield reported(self._tick(), known)

    # -- actions

    def _bind(self, name: str, node: str) -> None:
        entry = self._pods.entry(name)
        if entry is None or entry.said is not Said.CREATED:
            return  # it ended or was bound meanwhile, and the event that says so is on its way
        if self._nodes.get(node) is None:
            self._due.append(ev.BindFailed(self._tick(), name, node, f"node {node} is not there"))
            return
        uid = entry.pod.uid
        make = partial(steps.bind, self._api, name, uid, node)
        self._calls.submit(name, make, self._deliver(partial(self._bind_answered, name, uid, node)), BIND_PATIENCE_S)

    def _bind_answered(self, name: str, uid: str, node: str, answer: ApiError | None) -> Iterator[ev.Event]:
        if answer is None:
            yield from self._pods.bound(name, uid, node)
            return
        entry = self._pods.entry(name)
        if entry is not None and entry.pod.uid == uid and entry.said is Said.CREATED:
            yield ev.BindFailed(self._tick(), name, node, str(answer))

    def _create(self, pod: Pod) -> None:
        adopted = self._pods.adopt(pod)
        if adopted is not None:
            self._due.extend(adopted)
            created = [event.pod for event in adopted if isinstance(event, ev.PodCreated)]
            if len(adopted) == 1 and created and created[0].node is not None:
                self._bind(created[0].name, created[0].node)
            return
        template = self._pods.manifest(pod.job)
        if not template:
            self._due.extend(self._pods.refused(pod, f"there is nothing to make a pod of job '{pod.job}' from"))
            return
        if pod.node is not None and self._nodes.get(pod.node) is None:
            self._due.extend(self._pods.refused(pod, f"node {pod.node} is not there"))
            return
        run = self._scope.run
        try:
            body = manifests.for_pod(msgspec.json.decode(template), pod, run=run, scheduler=self._scope.scheduler)
        except ValueError as error:
            self._due.extend(self._pods.refused(pod, str(error)))
            return
        self._creating[pod.name] = pod
        uids = partial(self._pods.uids, pod.name)
        make = partial(steps.create, self._api, body, pod, run, uids(), uids)
        self._calls.submit(pod.name, make, self._deliver(partial(self._create_answered, pod)))

    def _create_answered(self, pod: Pod, answer: Json | ApiError | None) -> Iterator[ev.Event]:
        self._creating.pop(pod.name, None)
        if isinstance(answer, ApiError):
            yield from self._pods.refused(pod, str(answer))
        if not isinstance(answer, dict):
            return
        try:
            seen = pod_of(answer, keep=True)
        except (ValueError, KeyError, TypeError, AttributeError):
            return  # the pod is there; the informer tells of it
        yield from self._pods.seen(seen)

    def _delete(self, action: DeletePod) -> None:
        name = action.pod
        entry = self._pods.entry(name)
        if entry is None:
            pod = self._creating.get(name)
            if pod is not None:
                make = partial(steps.delete_created, self._api, pod, self._scope.run, action.grace_s)
                self._calls.submit(name, make, _ignore)
            return
        if entry.said is Said.ENDED or not self._pods.ours(entry.pod):
            return
        if self._is_left_alone(entry):
            self._due.append(self._pods.let_go(entry, action.reason))
            return
        entry.asked = entry.asked or action.reason
        self._pods.keep(entry.job)
        node = self._nodes.get(entry.node or "")
        grace_s = action.grace_s
        if node is not None and node.ready:
            grace_s = max(grace_s, 1.0)  # 0 takes the pod out of the API before its containers have stopped
        evict = action.grace_s > 0 and entry.node is not None
        make = partial(steps.delete, self._api, name, entry.pod.uid, grace_s, evict=evict)
        done = self._deliver(partial(self._delete_answered, name, entry.pod.uid))
        self._calls.submit(name, make, done, BUDGET_PATIENCE_S if evict else math.inf)

    def _is_left_alone(self, entry: Entry) -> bool:
        """Whether a pod waits for its node and was created by somebody else: it may stay until a node can take it."""
        created = bool(self._scope.run) and entry.pod.run == self._scope.run
        return entry.node is None and entry.pod.node is None and not created

    def _delete_answered(self, name: str, uid: str, answer: ApiError | None) -> Iterable[ev.Event]:
        entry = self._pods.entry(name)
        if answer is not None and entry is not None and entry.pod.uid == uid:
            entry.asked = ""  # it stays; whoever waits for its end gives up
        return ()


def _ignore(answer: object) -> None:
    """The informers tell what came of it."""
