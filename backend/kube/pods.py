"""What has been said of each pod, and what is to be said next.

The API server tells how pods are, sometimes twice and sometimes late; our log tells what happened, each thing once and
in order: submitted, created, bound, started, ended. This book stands in between. It has no thread and makes no call.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, MutableMapping
from enum import IntEnum

import msgspec
from msgspec import Struct

from backend.kube.convert import SeenPod
from backend.kube.names import MOVE_TO
from backend.kube.progress import RunningPod
from backend.model import events as ev
from backend.model.objects import Job, Pod
from backend.model.state import ClusterState

REMEMBERED = 4096
"""Pods that are gone and may still be spoken of by an answer that comes late."""


class Scope(Struct, frozen=True):
    """Which pods are ours, and what is done for them."""

    scheduler: str = "podshift"
    """Pods with this schedulerName are ours to place."""
    namespace: str | None = None
    """None: all namespaces."""
    run: str = ""
    """Label of the pods we create; those that have it are ours as well."""
    restarts: bool = True
    """Whether the job of a pod of ours that somebody deletes goes on in a new pod. Jobs that are migrated always do."""
    counts_others: bool = True
    """Whether other schedulers' pods take part, as jobs that stay where they are; without them nodes look emptier."""

    def has(self, scheduler: str, run: str) -> bool:
        """Whether a pod with this schedulerName and this label of a run is ours."""
        return scheduler == self.scheduler or (bool(self.run) and run == self.run)


class Said(IntEnum):
    """How far the story of a pod has been told."""

    NOTHING = 0
    SUBMITTED = 1
    CREATED = 2
    BOUND = 3
    STARTED = 4
    ENDED = 5


class Entry:
    """A pod that the API server has."""

    __slots__ = (
        "asked",
        "core_s",
        "cores",
        "iteration",
        "job",
        "kept",
        "let_go",
        "lost",
        "measured",
        "moved",
        "node",
        "pod",
        "said",
    )

    def __init__(self, pod: SeenPod, job: str) -> None:
        self.pod = pod
        self.job = job
        self.said = Said.NOTHING
        self.node: str | None = None
        """Where it was said to be bound."""
        self.asked = ""
        """Why we asked it to stop."""
        self.lost = False
        """It ended, as far as the log says, with its node."""
        self.let_go = False
        """We gave up placing it, and left it where it is."""
        self.iteration = 0.0
        self.kept = 0.0
        self.core_s = 0.0
        """Core-seconds consumed until `measured`, by what it has reported of its CPU."""
        self.cores = 0.0
        """Cores in use by its last report."""
        self.measured = 0.0
        self.moved = ""
        """Where a person asked it to be moved, as far as that was said."""

    def consumed(self, now: float) -> float:
        """Core-seconds consumed by now, if it goes on as it last reported; 0 where it never reported any use."""
        return self.core_s + self.cores * (now - self.measured) if self.said is Said.STARTED else self.core_s


class KnownJob:
    """A job that was submitted."""

    __slots__ = ("active", "ended", "incarnations", "kept", "manifest")

    def __init__(self, manifest: bytes) -> None:
        self.active: str | None = None
        """Name of its pod, from when it is seen to when its end is said."""
        self.ended = False
        self.incarnations = 0
        """Pods of it that a log holds which is gone on from."""
        self.kept = 0.0
        """Iterations that its last checkpoint holds."""
        self.manifest = manifest
        """What its pods are made from; empty: we make none."""


class PodBook:
    """See the module. Methods give the events that follow, in order."""

    def __init__(self, scope: Scope, now: Callable[[], float], kept: MutableMapping[str, bytes]) -> None:
        """`kept` holds the manifests of jobs that may be without a pod when Podshift ends and is started again."""
        self._scope = scope
        self._now = now
        self._kept = kept
        self._entries: dict[str, Entry] = {}
        """By the pod's name, until the API server has it no more."""
        self._jobs: dict[str, KnownJob] = {}
        self._past: OrderedDict[str, str] = OrderedDict()
        """Uid -> name of pods that are gone."""

    # -- questions

    def entry(self, name: str) -> Entry | None:
        """A pod that exists, by name."""
        return self._entries.get(name)

    def ours(self, pod: SeenPod) -> bool:
        """Whether we place it, or have created it."""
        return self._scope.has(pod.scheduler, pod.run)

    def uids(self, name: str) -> set[str]:
        """Uids of the pods of this name that there are or were lately. May be called from any thread."""
        entry = self._entries.get(name)
        past = {uid for uid, of in list(self._past.items()) if of == name}
        return past | {entry.pod.uid} if entry is not None else past

    def manifest(self, job: str) -> bytes:
        """What a new pod of a job is made from; empty if we make none."""
        known = self._jobs.get(job)
        if known is None or known.ended:
            return b""
        return known.manifest or self._kept.get(job, b"")

    def keep(self, job: str) -> None:
        """Make sure that a new pod of a job can be made even after a restart."""
        manifest = self.manifest(job)
        if manifest and self._kept.get(job) != manifest:
            self._kept[job] = manifest

    def running(self) -> dict[str, RunningPod]:
        """Pods that run. May be called from any thread."""
        entries = [entry for entry in list(self._entries.values()) if entry.said is Said.STARTED]
        return {
            entry.pod.name: RunningPod(entry.job, entry.pod.job.metric, entry.pod.container, entry.pod.progress)
            for entry in entries
            if not entry.pod.stopping
        }

    def not_placed(self) -> dict[str, str]:
        """Pods of ours that wait and that we must not place, with the reason."""
        waiting = (e for e in list(self._entries.values()) if e.said is Said.NOTHING and e.pod.node is None)
        return {e.pod.name: e.pod.refusal for e in waiting if e.pod.refusal and self.ours(e.pod)}

    # -- what the API server says

    def seen(self, pod: SeenPod, *, first: bool = False) -> Iterator[ev.Event]:
        """A pod as it is now. `first`: in the first list, where most pods that have ended are old stories."""
        entry = self._entries.get(pod.name)
        if entry is not None and entry.pod.uid != pod.uid:
            if entry.pod.uid:
                yield from self.gone(entry.pod)
                entry = None
            else:  # known from a log, which holds no uid
                entry.pod = pod
        if entry is None:
            if pod.uid in self._past:
                return
            entry = self._entries[pod.name] = Entry(pod, self._identity(pod))
            known = self._jobs.get(entry.job)
            if known is not None:
                entry.iteration = entry.kept = known.kept
            if first and pod.phase in ("Succeeded", "Failed") and not self._is_news(pod, known):
                entry.said = Said.ENDED
        entry.pod = pod
        if entry.said is Said.NOTHING:
            yield from self._introduce(entry)
        yield from self._advance(entry)
        if pod.move_to != entry.moved and entry.said is Said.STARTED and self.ours(pod):
            entry.moved = pod.move_to
            if pod.move_to:
                target = None if pod.move_to == "any" else pod.move_to
                yield ev.MigrationAsked(self._now(), entry.job, target, f"the annotation {MOVE_TO}")

    def gone(self, pod: SeenPod) -> Iterator[ev.Event]:
        """A pod exists no more; `pod` is how it was last."""
        entry = self._entries.get(pod.name)
        if entry is None or (entry.pod.uid and entry.pod.uid != pod.uid):
            return
        entry.pod = pod
        last = list(self._advance(entry))
        if Said.CREATED <= entry.said < Said.ENDED:
            last.append(self._taken_away(entry, entry.asked or pod.reason or "deleted by somebody else"))
        del self._entries[pod.name]
        if pod.uid:
            self._past[pod.uid] = pod.name
        if len(self._past) > REMEMBERED:
            self._past.popitem(last=False)
        yield from last

    def node_gone(self, node: str, reason: str) -> Iterator[ev.PodEvicted | ev.PodFinished]:
        """The pods of a node that is there no more."""
        for entry in list(self._entries.values()):
            if entry.node == node and Said.CREATED <= entry.said < Said.ENDED:
                entry.lost = True
                yield self._taken_away(entry, reason)

    def nodes_changed(self, came: str = "") -> Iterator[ev.Event]:
        """Nodes are different: who found no place may find one; pods whose node came back are on it again."""
        for entry in list(self._entries.values()):
            back = entry.lost and entry.node == came and not self.ours(entry.pod) and entry.pod.phase == "Running"
            if entry.said is Said.ENDED and (entry.let_go or back):
                entry.said, entry.let_go, entry.lost = Said.NOTHING, False, False
                yield from self.seen(entry.pod)

    # -- what we do

    def submitted(self, job: Job, manifest: bytes) -> ev.JobSubmitted:
        """A job of ours that has no pod yet."""
        self._jobs[job.name] = KnownJob(manifest)
        self.keep(job.name)
        return ev.JobSubmitted(self._now(), job)

    def adopt(self, pod: Pod) -> list[ev.Event] | None:
        """The pod that a job was seen by, if that is what is to be created; None: there is none, and one is to be made.

        Where the job has a pod at work, of whatever name, or has ended, nothing is to be done: no job runs twice.
        """
        known = self._jobs.get(pod.job)
        if known is not None and known.ended:
            return []
        entry = self._entries.get(known.active) if known is not None and known.active else None
        if entry is None:
            return None
        if entry.said is not Said.SUBMITTED:
            return []
        entry.said = Said.CREATED
        seen = entry.pod
        node = seen.node or pod.node
        made = Pod(seen.name, pod.job, max(seen.incarnation, pod.incarnation), node, seen.migration)
        return [ev.PodCreated(self._now(), made), *self._advance(entry)]

    def refused(self, pod: Pod, reason: str) -> Iterator[ev.Event]:
        """A pod could not be created."""
        now = self._now()
        entry = self._entries.get(pod.name)
        if entry is not None and Said.CREATED <= entry.said < Said.ENDED:
            return  # another pod has this name in the log; an end said now would be taken for its end
        if pod.job in self._jobs:
            yield ev.PodCreated(now, pod)
        yield ev.PodEvicted(now, pod.name, None, reason)

    def bound(self, name: str, uid: str, node: str) -> Iterator[ev.Event]:
        """The API server took our binding."""
        entry = self._entries.get(name)
        if entry is not None and entry.pod.uid == uid and entry.said is Said.CREATED:
            yield self._bind(entry, node)
            yield from self._advance(entry)

    def let_go(self, entry: Entry, reason: str) -> ev.PodEvicted:
        """Give up placing a pod that is not ours to delete."""
        entry.let_go = True
        return self._evict(entry, reason)

    def progressed(self, name: str, iteration: float, kept: float | None, cpu_millis: float = 0.0) -> None:
        """Remember how far a pod is, for the day it is evicted, and what it uses."""
        entry = self._entries.get(name)
        if entry is not None:
            now = self._now()
            # It used as much before its first report: that is the mean since its start.
            entry.cores = entry.cores or cpu_millis / 1000
            # Between two reports it used what both say, on average.
            entry.core_s += (entry.cores + cpu_millis / 1000) / 2 * (now - entry.measured)
            entry.measured, entry.cores = now, cpu_millis / 1000
            entry.iteration = iteration
            entry.kept = entry.kept if kept is None else kept

    def resume(self, state: ClusterState) -> None:
        """Know what a log has told already, so that only what happened since is said."""
        phases = {"pending": Said.CREATED, "reserved": Said.CREATED, "bound": Said.BOUND, "running": Said.STARTED}
        for job_name, job in state.jobs.items():
            known = self._jobs.setdefault(job_name, KnownJob(b""))
            known.active, known.ended = job.pod, job.ended_at is not None
            known.incarnations, known.kept = job.incarnations, job.kept_iteration
        for name, record in state.pods.items():
            seen = SeenPod(name, "", record.job, record.pod.incarnation, record.node, "Unknown", self._scope.scheduler)
            entry = self._entries[name] = Entry(seen, record.pod.job)
            entry.said = phases[record.phase]
            entry.node = record.node if entry.said >= Said.BOUND else None
            entry.iteration, entry.kept = record.iteration, self._jobs[record.pod.job].kept

    def unseen(self) -> Iterator[ev.Event]:
        """Ends of the pods that a log knows and the first list does not have."""
        for entry in [entry for entry in self._entries.values() if not entry.pod.uid]:
            yield from self.gone(entry.pod)

    # -- the story

    @staticmethod
    def _is_news(pod: SeenPod, job: KnownJob | None) -> bool:
        """Whether a pod that has ended was created for a job that goes on, after what the log holds of it."""
        return job is not None and not job.ended and pod.incarnation >= job.incarnations

    def _identity(self, pod: SeenPod) -> str:
        """The job's name; the pod's own where another pod is at work under that name."""
        known = self._jobs.get(pod.job.name)
        other = self._entries.get(known.active) if known is not None and known.active else None
        alone = other is None or other.pod.name == pod.name or other.pod.stopping or other.said is Said.ENDED
        return pod.job.name if alone else pod.name

    def _introduce(self, entry: Entry) -> Iterator[ev.Event]:
        pod, scope = entry.pod, self._scope
        if self.ours(pod):
            if pod.node is None and (pod.refusal or pod.stopping or pod.scheduler != scope.scheduler):
                return
        elif pod.node is None or not scope.counts_others:
            return
        known = self._jobs.get(entry.job)
        submits = known is None or known.ended
        if known is None or known.ended:
            known = self._jobs[entry.job] = KnownJob(b"")
        known.active = pod.name
        if self.ours(pod):
            known.manifest = pod.manifest or known.manifest
            if pod.run:
                self.keep(entry.job)
        if submits:
            entry.said = Said.SUBMITTED
            stays = not self.ours(pod) or not pod.manifest
            job = msgspec.structs.replace(
                pod.job,
                name=entry.job,
                migratable=pod.job.migratable and not stays,
                background=not self.ours(pod),
            )
            yield ev.JobSubmitted(self._now(), job)
        else:
            entry.said = Said.CREATED
            yield ev.PodCreated(self._now(), Pod(pod.name, entry.job, pod.incarnation, pod.node, pod.migration))

    def _advance(self, entry: Entry) -> Iterator[ev.Event]:
        pod = entry.pod
        if not Said.CREATED <= entry.said < Said.ENDED:
            return
        known = self._jobs.get(entry.job)
        if known is not None and not known.manifest and self.ours(pod):
            known.manifest = pod.manifest  # a log that is read again holds none
        if entry.said is Said.CREATED and pod.node is not None:
            yield self._bind(entry, pod.node)
        worked = pod.phase in ("Running", "Succeeded") or (pod.phase == "Failed" and pod.worked and not pod.displaced)
        if entry.said is Said.BOUND and worked:
            entry.said = Said.STARTED
            entry.measured = self._now()
            yield ev.PodStarted(entry.measured, pod.name, entry.node or "", entry.kept)
        if pod.phase in ("Succeeded", "Failed"):
            if self._goes_on(entry) and pod.stopping and not pod.ended_first:
                return  # it stopped because it was asked to: evicted, once it is gone
            if self._goes_on(entry) and pod.displaced and pod.phase == "Failed":
                yield self._evict(entry, pod.reason or "displaced")
            else:
                yield self._finish(entry, pod.phase == "Succeeded", pod.reason)

    def _goes_on(self, entry: Entry) -> bool:
        """Whether the job of a pod that is taken away goes on in another one."""
        if not (self.ours(entry.pod) and self.manifest(entry.job)) or entry.pod.owned:
            return False
        return self._scope.restarts or bool(entry.asked)

    def _taken_away(self, entry: Entry, reason: str) -> ev.PodEvicted | ev.PodFinished:
        return self._evict(entry, reason) if self._goes_on(entry) else self._finish(entry, False, reason)

    def _bind(self, entry: Entry, node: str) -> ev.PodBound:
        entry.said, entry.node = Said.BOUND, node
        return ev.PodBound(self._now(), entry.pod.name, node)

    def consumed(self) -> dict[str, float]:
        """Pods that run -> core-seconds consumed so far, see Entry; without those that never reported any use."""
        now = self._now()
        running = {e.pod.name: e.consumed(now) for e in self._entries.values() if e.said is Said.STARTED}
        return {name: core_s for name, core_s in running.items() if core_s > 0}

    def _evict(self, entry: Entry, reason: str) -> ev.PodEvicted:
        self.keep(entry.job)
        now = self._now()
        core_s = entry.consumed(now)
        self._end(entry)
        self._jobs[entry.job].kept = entry.kept
        return ev.PodEvicted(now, entry.pod.name, entry.node, reason, entry.iteration, entry.kept, core_s)

    def _finish(self, entry: Entry, succeeded: bool, reason: str) -> ev.PodFinished:
        now = self._now()
        core_s = entry.consumed(now)
        self._end(entry)
        known = self._jobs[entry.job]
        known.ended, known.manifest = True, b""
        self._kept.pop(entry.job, None)
        return ev.PodFinished(now, entry.pod.name, entry.node or "", succeeded, reason, core_s)

    def _end(self, entry: Entry) -> None:
        entry.said = Said.ENDED
        known = self._jobs.get(entry.job)
        if known is not None and known.active == entry.pod.name:
            known.active = None
