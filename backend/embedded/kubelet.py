"""The kubelet of all embedded nodes: it runs in the World what the API server has bound, and reports what came of it.

One thread does it all. It hears of pods from the API server (Inside.watch), of what they do from the World, and writes
status objects, logs, heartbeats and Events back. Periods of grace, back-off and images are in simulated seconds, as
the speed of the world is the speed of everything in it; heartbeats and timestamps go by the clock on the wall.
"""

import contextlib
import heapq
import logging
import time
from collections.abc import Callable
from datetime import timedelta
from queue import Empty, SimpleQueue
from typing import Any

from backend.embedded import statuses
from backend.embedded.apiserver.clock import Clock, parsed, stamp
from backend.embedded.apiserver.errors import ApiError
from backend.embedded.apiserver.inside import Inside
from backend.embedded.apiserver.providers import Usage
from backend.embedded.logbook import LogBook
from backend.embedded.work import Work, WorkError, work_of
from backend.embedded.world import World
from backend.kube.background import Background
from backend.model import events as ev
from backend.model.images import normalise_image
from backend.model.labels import ARCHITECTURE_STABLE, architecture
from backend.model.objects import Node, Pod

Object = dict[str, Any]

HEARTBEAT_S = 10.0
"""Wall-clock seconds between two renewals of a node's lease: the kubelet's own."""
EVENTS_KEPT = timedelta(hours=1)
"""Age at which Events are dropped, as the real API server does."""
BACK_OFF_S = 10.0
"""Simulated seconds until an image is asked for again, or a container that crashed is started again."""
_SHORTEST_WAIT_S = 0.002
"""Wall-clock seconds between two looks at least: at high speeds many things happen within one."""
_LONGEST_WAIT_S = 0.5
_LEASES = "kube-node-lease"

_logger = logging.getLogger(__name__)


class _Container:
    """A pod on one of our nodes; its containers are one."""

    __slots__ = ("failed", "name", "namespace", "pod", "restarts", "run", "stopping", "uid", "work")

    def __init__(self, pod: Object) -> None:
        about = pod["metadata"]
        self.namespace: str = about["namespace"]
        self.name: str = about["name"]
        self.uid: str = about["uid"]
        self.pod = pod
        """As it was seen last."""
        self.work: Work | None = None
        self.run = ""
        """Its name in the world while it is there."""
        self.restarts = 0
        self.stopping = False
        self.failed = ""
        """Why its process died, until that was reported."""


class Kubelet(Background):
    """See the module. `start` registers the nodes; the other methods may be called from any thread."""

    def __init__(self, inside: Inside, world: World, clock: Clock) -> None:
        super().__init__("kubelet")
        self._inside = inside
        self._world = world
        self._clock = clock
        self._inbox: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._pods: dict[str, _Container] = {}
        """By uid."""
        self._runs: dict[str, _Container] = {}
        """By the name in the world."""
        self._nodes: dict[str, Node] = {}
        self._images: dict[str, dict[str, int]] = {}
        self._since: dict[str, str] = {}
        self._later: list[tuple[float, int, Callable[[], None]]] = []
        self._asked = 0
        self._bad_images: set[str] = set()
        self._next_heartbeat = 0.0
        self._unwatch: list[Callable[[], None]] = []
        self.logs = LogBook(clock)
        inside.kubelet_takes_over()
        inside.serve_logs(self.logs.read)
        inside.serve_usage(self)

    # -- from any thread

    def start(self) -> None:
        """Register the nodes, take over the pods that are there, and begin."""
        self._turn()
        self._unwatch = [self._inside.watch("pods", self._told), self._inside.watch("nodes", self._told_of_node)]
        super().start()

    def stop(self) -> None:
        """End; pods stay as they are."""
        for unwatch in self._unwatch:
            unwatch()
        self._stopping.set()
        self.nudge()
        super().stop()

    def nudge(self) -> None:
        """Look at the world now: its speed or its nodes were changed."""
        self._inbox.put(None)

    def lose(self, node: str) -> None:
        """A machine is gone with all on it, and the cluster's controllers have noticed. Raises KeyError."""
        if node not in self._nodes:
            raise KeyError(node)
        self._inbox.put(lambda: self._world.lose(node))

    def bring_back(self, node: Node) -> None:
        """A machine joins, or joins again."""
        self._inbox.put(lambda: self._join(node))

    def crash(self, namespace: str, name: str, reason: str = "Error") -> None:
        """The process of a pod dies. Raises KeyError if it does not run."""
        found = [c for c in list(self._pods.values()) if (c.namespace, c.name) == (namespace, name) and c.run]
        if not found:
            raise KeyError(f"{namespace}/{name}")
        self._inbox.put(lambda: self._crash(found[0], reason))

    def break_image(self, image: str) -> None:
        """From now on no node can pull an image."""
        self._bad_images.add(normalise_image(image))

    def mend_images(self) -> None:
        """All images can be pulled again."""
        self._bad_images.clear()

    def nodes(self) -> dict[str, Usage]:
        """For metrics.k8s.io: what each node uses."""
        return {use.node.name: Usage(round(use.used_cores * 1000), use.memory_bytes) for use in self._world.use()}

    def pods(self) -> dict[tuple[str, str], Usage]:
        """For metrics.k8s.io: what each pod uses."""
        used = self._world.pods()
        return {
            (found.namespace, found.name): Usage(round(cores * 1000), memory)
            for run, (cores, memory) in used.items()
            if (found := self._runs.get(run)) is not None
        }

    def _told(self, kind: str, pod: Object) -> None:
        self._inbox.put(lambda: self._pod_changed(kind, pod))

    def _told_of_node(self, kind: str, node: Object) -> None:
        if kind == "DELETED" and node["metadata"]["name"] in self._nodes:
            self._inbox.put(lambda: self._world.lose(node["metadata"]["name"]))

    # -- the thread

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._round()
            except Exception:
                _logger.exception("the embedded kubelet met something unforeseen and goes on")

    def _round(self) -> None:
        wait = min(self._world.next_in(), self._next_heartbeat - time.monotonic(), _LONGEST_WAIT_S)
        if self._later:
            wait = min(wait, (self._later[0][0] - self._world.now()) / self._world.speed)
        with contextlib.suppress(Empty):
            work = self._inbox.get(timeout=max(wait, _SHORTEST_WAIT_S))
            while True:
                if work is not None:
                    work()
                work = self._inbox.get_nowait()
        while self._later and self._later[0][0] <= self._world.now():
            heapq.heappop(self._later)[2]()
        self._turn()
        if time.monotonic() >= self._next_heartbeat:
            self._next_heartbeat = time.monotonic() + HEARTBEAT_S
            self._heartbeat()

    def _turn(self) -> None:
        """Report what has happened in the world."""
        reactions: dict[type[ev.Event], Callable[[Any], None]] = {
            ev.NodeAdded: self._node_added,
            ev.NodeRemoved: self._node_removed,
            ev.ImagePulled: self._image_pulled,
            ev.PodStarted: self._pod_started,
            ev.PodFinished: self._pod_finished,
            ev.PodEvicted: self._pod_gone,
            ev.ProgressReported: self._progress,
        }
        for event in self._world.turn():
            reaction = reactions.get(type(event))
            if reaction is not None:
                reaction(event)

    def _after(self, seconds: float, what: Callable[[], None]) -> None:
        self._asked += 1
        heapq.heappush(self._later, (self._world.now() + seconds, self._asked, what))

    # -- nodes

    def _join(self, node: Node) -> None:
        with contextlib.suppress(ValueError):  # it is there already
            self._world.join(node)

    def _node_added(self, event: ev.NodeAdded) -> None:
        node = event.node
        self._nodes[node.name] = node
        self._images[node.name] = dict.fromkeys(map(normalise_image, node.images), 0)
        self._since[node.name] = stamp(self._clock())
        labels = {
            "kubernetes.io/hostname": node.name,
            "kubernetes.io/os": "linux",
            ARCHITECTURE_STABLE: architecture(node.labels) or "amd64",
            **node.labels,
        }
        taints = [{"key": t.key, "effect": t.effect} | ({"value": t.value} if t.value else {}) for t in node.taints]
        spec: Object = {"providerID": f"podshift://{node.name}"}
        if taints:
            spec["taints"] = taints
        if node.unschedulable:
            spec["unschedulable"] = True
        body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node.name, "labels": labels}, "spec": spec}
        lease = {"metadata": {"name": node.name}, "spec": {"holderIdentity": node.name, "leaseDurationSeconds": 40}}
        for resource, namespace, made in (("nodes", "", body), ("leases.coordination.k8s.io", _LEASES, lease)):
            with contextlib.suppress(ApiError):  # a person has created it already
                self._inside.create(resource, namespace, made)
        self._report_node(node.name)
        # Pods may have been bound to it by name before it was there.
        for pod in self._inside.items("pods"):
            if pod["spec"].get("nodeName") == node.name and pod["metadata"]["uid"] not in self._pods:
                self._pod_changed("ADDED", pod)

    def _node_removed(self, event: ev.NodeRemoved) -> None:
        self._nodes.pop(event.node, None)
        for resource, namespace in (("nodes", ""), ("leases.coordination.k8s.io", _LEASES)):
            with contextlib.suppress(ApiError):
                self._inside.delete(resource, namespace, event.node)
        # The pod garbage collector takes what was on it, also what had ended there.
        for found in [c for c in self._pods.values() if c.pod["spec"].get("nodeName") == event.node and not c.run]:
            self._remove(found)

    def _report_node(self, name: str) -> None:
        node = self._nodes[name]
        number = list(self._nodes).index(name) + 1
        address = f"10.0.{number // 250}.{number % 250 + 1}"
        now = stamp(self._clock())
        status = statuses.node(node, self._images[name], now, self._since[name], address)
        with contextlib.suppress(ApiError):
            self._inside.update_status("nodes", "", name, status)

    def _image_pulled(self, event: ev.ImagePulled) -> None:
        if event.node in self._nodes:
            self._images[event.node][normalise_image(event.image)] = event.size_bytes
            self._report_node(event.node)

    def _heartbeat(self) -> None:
        now = self._clock()
        renewed = now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        for name in self._nodes:
            with contextlib.suppress(ApiError):
                self._inside.mutate(
                    "leases.coordination.k8s.io",
                    _LEASES,
                    name,
                    lambda lease: {**lease, "spec": {**lease["spec"], "renewTime": renewed}},
                )
        for event in self._inside.items("events"):
            said = event["metadata"].get("creationTimestamp")
            if said and parsed(said) < now - EVENTS_KEPT:
                with contextlib.suppress(ApiError):
                    self._inside.delete("events", event["metadata"]["namespace"], event["metadata"]["name"])

    # -- pods

    def _pod_changed(self, kind: str, pod: Object) -> None:
        about = pod["metadata"]
        found = self._pods.get(about["uid"])
        if kind == "DELETED":
            if found is not None:
                self._forget(found)
            return
        if found is None:
            node = pod["spec"].get("nodeName")
            phase = (pod.get("status") or {}).get("phase") or "Pending"
            if node not in self._nodes:
                return
            found = self._pods[about["uid"]] = _Container(pod)
            if phase in ("Pending", "Running") and not about.get("deletionTimestamp"):
                self._begin(found)
        found.pod = pod
        if about.get("deletionTimestamp") and not found.stopping:
            found.stopping = True
            if found.run:
                self._world.stop(found.run, "deleted", float(about.get("deletionGracePeriodSeconds") or 0))
            else:
                self._remove(found)

    def _begin(self, found: _Container) -> None:
        """Start the pod's containers, if its node takes them and its image is to be had."""
        pod, now = found.pod, stamp(self._clock())
        images = [str(container.get("image") or "") for container in pod["spec"]["containers"]]
        if bad := [image for image in images if normalise_image(image) in self._bad_images]:
            message = f'failed to pull image "{bad[0]}": a fault that was asked for'
            self._write(found, statuses.waiting(pod, now, "ErrImagePull", message))
            self._note(found, "Warning", "Failed", message)
            self._after(BACK_OFF_S, lambda: self._again(found))
            return
        try:
            work = work_of(pod, f"{found.uid}#{found.restarts}")
        except WorkError as error:
            self._write(found, statuses.waiting(pod, now, "CreateContainerConfigError", str(error)))
            self._note(found, "Warning", "Failed", str(error))
            return
        found.work = work
        job = work.submission.job.name
        labels = pod["metadata"].get("labels") or {}
        if labels.get("podshift.io/incarnation", "0") == "0" and not found.restarts:
            self._world.forget(job)  # the first pod of a job finds no checkpoint, whoever had its name before
        found.run = f"{found.uid}#{found.restarts}"
        self._runs[found.run] = found
        self._write(found, statuses.waiting(pod, now))
        self._world.start(work.submission, Pod(found.run, job, found.restarts, pod["spec"]["nodeName"]))

    def _again(self, found: _Container) -> None:
        if self._pods.get(found.uid) is found and not (found.run or found.stopping):
            self._begin(found)

    def _pod_started(self, event: ev.PodStarted) -> None:
        found = self._runs.get(event.pod)
        if found is None:
            return
        self.logs.open(found.namespace, found.name)
        if found.work is not None and found.work.trains:
            total = found.work.submission.iterations
            words = f"resumes from step={event.iteration:g}" if event.iteration else "starts"
            self.logs.write(found.namespace, found.name, f"training {words} of {total}")
        number = int(found.uid.replace("-", "")[:4], 16)
        last = self._last_state(found)
        status = statuses.running(
            found.pod,
            stamp(self._clock()),
            f"10.244.{number // 250 % 250}.{number % 250 + 1}",
            restarts=found.restarts,
            last=last,
        )
        self._write(found, status)
        self._note(found, "Normal", "Started", "Started container")

    def _progress(self, event: ev.ProgressReported) -> None:
        columns = zip(event.pods, event.iterations, event.values, event.cpu_millis, event.iteration_s, strict=True)
        for run, step, value, cpu, seconds in columns:
            found = self._runs.get(run)
            if found is None or found.work is None or not found.work.trains:
                continue
            submission = found.work.submission
            every = submission.model.checkpoint_every
            kept = step // every * every if every else 0
            parts = [f"step={step:g}", f"total={submission.iterations}"]
            parts += [f"{submission.model.metric}={value:.6g}"] if value is not None else []
            parts += [f"cpu_millis={cpu:.6g}", f"iteration_s={seconds:.6g}", f"checkpoint={kept:g}"]
            self.logs.write(found.namespace, found.name, f"podshift progress {' '.join(parts)}")

    def _pod_finished(self, event: ev.PodFinished) -> None:
        found = self._runs.pop(event.pod, None)
        if found is None:
            return
        found.run = ""
        if found.work is not None:
            if found.work.trains:
                steps = found.work.submission.iterations
                self.logs.write(found.namespace, found.name, f"training finished after {steps} steps")
            self._world.forget(found.work.submission.job.name)
        self._exited(found, 0, "Completed")

    def _pod_gone(self, event: ev.PodEvicted) -> None:
        found = self._runs.pop(event.pod, None)
        if found is None:
            return
        found.run = ""
        if event.node is None:
            reason = next((f"OutOf{what}" for what in ("memory", "pods") if what in event.reason), "OutOfcpu")
            self._write(found, statuses.refused(found.pod, stamp(self._clock()), reason, event.reason))
            self._note(found, "Warning", reason, event.reason)
        elif found.stopping:
            if found.work is not None and found.work.trains:
                kept = f"podshift progress step={event.kept_iteration:g} checkpoint={event.kept_iteration:g}"
                self.logs.write(found.namespace, found.name, kept)
            self._remove(found)
        elif event.node not in self._nodes:
            self._remove(found)
        else:
            self._exited(found, 1, found.failed or "Error")

    def _crash(self, found: _Container, reason: str) -> None:
        if found.run:
            found.failed = reason
            self._world.crash(found.run, reason)

    def _exited(self, found: _Container, code: int, reason: str) -> None:
        """The process has ended by itself: the pod's restart policy says what comes next."""
        self.logs.close(found.namespace, found.name)
        policy = found.pod["spec"].get("restartPolicy") or "Always"
        now = stamp(self._clock())
        message = found.failed if code else ""
        found.failed = ""
        if found.stopping:
            self._remove(found)
        elif policy == "Always" or (policy == "OnFailure" and code):
            ended = statuses.terminated(found.pod, now, code, reason, message)
            found.restarts += 1
            status = statuses.running(found.pod, now, "", restarts=found.restarts, last=ended)
            for container in status["containerStatuses"]:
                container |= {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "ready": False, "started": False}
            kept = {key: value for key, value in status.items() if key not in ("podIP", "podIPs")}
            self._write(found, kept)
            self._after(BACK_OFF_S if code else 0.0, lambda: self._again(found))
        else:
            self._write(found, statuses.ended(found.pod, now, code, reason, message, restarts=found.restarts))

    @staticmethod
    def _last_state(found: _Container) -> Object | None:
        for container in (found.pod.get("status") or {}).get("containerStatuses") or ():
            last: Object | None = (container.get("lastState") or {}).get("terminated")
            return last
        return None

    def _remove(self, found: _Container) -> None:
        """Nothing of the pod runs any more: it may go."""
        with contextlib.suppress(ApiError):
            self._inside.delete("pods", found.namespace, found.name, grace_s=0, uid=found.uid)

    def _forget(self, found: _Container) -> None:
        del self._pods[found.uid]
        if found.run:
            self._world.stop(found.run, "deleted", 0.0)
            self._runs.pop(found.run, None)
        self.logs.drop(found.namespace, found.name)

    def _write(self, found: _Container, status: Object) -> None:
        with contextlib.suppress(ApiError):  # it was deleted meanwhile
            self._inside.update_status("pods", found.namespace, found.name, status, found.uid)
        found.pod = {**found.pod, "status": status}

    def _note(self, found: _Container, kind: str, reason: str, message: str) -> None:
        now = stamp(self._clock())
        body: Object = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"generateName": f"{found.name}.", "namespace": found.namespace},
            "involvedObject": {
                "apiVersion": "v1",
                "kind": "Pod",
                "namespace": found.namespace,
                "name": found.name,
                "uid": found.uid,
            },
            "type": kind,
            "reason": reason,
            "message": message[:1000],
            "source": {"component": "kubelet", "host": found.pod["spec"].get("nodeName", "")},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        with contextlib.suppress(ApiError):
            self._inside.create("events", found.namespace, body)
