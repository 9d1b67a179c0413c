"""The event kinds of the one log that live, recorded and simulated runs all leave.

Time is seconds since the run began. An event's place in its log is its sequence number: the log
counts, so no event carries the number itself. Base units: millicores, bytes, seconds.
A field at its default is not written.
Events that arrive for many pods at once (progress, usage) hold parallel columns, one entry a pod or node.
"""

from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec
from msgspec import Struct

from backend.model.bandwidth import BandwidthModel
from backend.model.objects import Job, Node, Pod
from backend.model.storage import StoredObject

SCHEMA_VERSION = 1
"""Raised when a kind or a field changes its meaning; a reader refuses what is newer than itself."""

Category = Literal["progressing", "watching", "converged"]


class Event(Struct, frozen=True, gc=False, omit_defaults=True, tag_field="kind"):
    """Something that happened at `time`, in seconds since the run began."""

    time: float


class RunStarted(Event, frozen=True, gc=False, tag="run_started"):
    """First event of every log."""

    run: str
    experiment: str
    arm: str
    seed: int
    schema: int = SCHEMA_VERSION


class RunEnded(Event, frozen=True, gc=False, tag="run_ended"):
    """Last event of a run that came to its end."""

    reason: str = ""
    """What ended it before its jobs had ended; empty where they had."""


class RunStopped(Event, frozen=True, gc=False, tag="run_stopped"):
    """Last event of a run that was stopped or interrupted before its end."""

    reason: str


class TimerFired(Event, frozen=True, gc=False, tag="timer_fired"):
    """Answer to a Wake action."""

    timer: str


class NodeAdded(Event, frozen=True, gc=False, tag="node_added"):
    """A node joined, or one that was removed came back (it holds node.images again and no pods)."""

    node: Node


class NodeChanged(Event, frozen=True, gc=False, tag="node_changed"):
    """Labels, taints, readiness, schedulability or capacity changed; its pods stay."""

    node: Node


class NodeRemoved(Event, frozen=True, gc=False, tag="node_removed"):
    """A node failed or left. A PodEvicted for each of its pods follows at once."""

    node: str
    reason: str


class JobSubmitted(Event, frozen=True, gc=False, tag="job_submitted"):
    """A job asks to be run; the controller answers with CreatePod."""

    job: Job


class JobFinished(Event, frozen=True, gc=False, tag="job_finished"):
    """A job completed its work; exactly one JobFinished or JobFailed ends each job."""

    job: str


class JobFailed(Event, frozen=True, gc=False, tag="job_failed"):
    """A job ended without completing its work."""

    job: str
    reason: str


class PodCreated(Event, frozen=True, gc=False, tag="pod_created"):
    """A pod exists; it is pending until bound."""

    pod: Pod


class PodBound(Event, frozen=True, gc=False, tag="pod_bound"):
    """A pod got its node and holds its requests there from now on."""

    pod: str
    node: str


class BindFailed(Event, frozen=True, gc=False, tag="bind_failed"):
    """The cluster refused to give a pod the node that was decided; the pod waits on, the node is free for others."""

    pod: str
    node: str
    reason: str


class PodStarted(Event, frozen=True, gc=False, tag="pod_started"):
    """A pod is running: image there, container started, checkpoint loaded; it works from now on."""

    pod: str
    node: str
    iteration: float = 0.0
    """Iterations the pod starts from (0 or those of the checkpoint)."""


class PodFinished(Event, frozen=True, gc=False, tag="pod_finished"):
    """A pod ended by itself and gave its resources back."""

    pod: str
    node: str
    succeeded: bool = True
    reason: str = ""
    core_s: float = 0.0
    """Core-seconds this pod consumed on its node."""


class PodEvicted(Event, frozen=True, gc=False, tag="pod_evicted"):
    """A pod was stopped from outside (deleted, node lost) and is gone. `node` is None if it was never bound."""

    pod: str
    node: str | None
    reason: str
    iteration: float = 0.0
    """Iterations it had reached."""
    kept_iteration: float = 0.0
    """Iterations its last checkpoint holds; the next pod of the job starts from there."""
    core_s: float = 0.0
    """Core-seconds this pod consumed on its node."""
    lost_core_s: float = 0.0
    """Core-seconds of work done that the checkpoint does not hold (wasted work)."""


class PluginScores(Struct, frozen=True, gc=False, omit_defaults=True):
    """What one score plugin gave to the nodes of a decision, parallel to `DecisionMade.nodes`."""

    plugin: str
    weight: float
    normalised: tuple[float, ...]
    raw: tuple[float, ...] = ()
    """Empty where the plugin does not normalise (raw equals normalised)."""


class DecisionMade(Event, frozen=True, gc=False, tag="decision_made"):
    """A scheduler chose a node for a pod, or none, and says why. The node is reserved from now on."""

    pod: str
    node: str | None
    policy: str
    reason: str
    """The decision as one sentence."""
    feasible: int = 0
    """How many nodes passed every filter."""
    nodes: tuple[str, ...] = ()
    """The best feasible nodes, best first (all of them in a small cluster)."""
    totals: tuple[float, ...] = ()
    scores: tuple[PluginScores, ...] = ()
    refused: dict[str, tuple[str, ...]] = {}
    """Filter -> the nodes it refused first (cut to the same length as `nodes` may have)."""
    refused_counts: dict[str, int] = {}
    """Filter -> how many nodes it refused."""
    permanent: bool = False
    """No node could take the pod even if the cluster were empty."""
    needed_images: tuple[str, ...] = ()
    """Images of the pod that the chosen node has to pull; only schedulers that know of images say so."""


class ProgressReported(Event, frozen=True, gc=False, tag="progress_reported"):
    """What running jobs said of their training since the last report; columns, one entry a pod."""

    pods: tuple[str, ...]
    iterations: tuple[float, ...]
    """Iterations completed."""
    values: tuple[float | None, ...]
    """The evaluation value E (loss, accuracy ...), mean over the iterations since the last report; None: no number."""
    cpu_millis: tuple[float, ...]
    """CPU in use."""
    iteration_s: tuple[float, ...]
    """Seconds that the last iteration took (an "epoch time" in ProCon's words)."""


class UsageSampled(Event, frozen=True, gc=False, tag="usage_sampled"):
    """CPU and memory in use on the nodes; columns, one entry a node."""

    nodes: tuple[str, ...]
    cpu_millis: tuple[float, ...]
    """Mean over the time since the last sample."""
    memory_bytes: tuple[float, ...]


class WorkMeasured(Event, frozen=True, gc=False, tag="work_measured"):
    """What pods that still run have consumed, at the end of a log; columns, one entry a pod. Said of the others when
    they ended."""

    pods: tuple[str, ...]
    core_s: tuple[float, ...]


class ImagePulled(Event, frozen=True, gc=False, tag="image_pulled"):
    """A node holds an image from now on."""

    node: str
    image: str
    size_bytes: int
    duration_s: float


class ImageRemoved(Event, frozen=True, gc=False, tag="image_removed"):
    """A node does not hold an image any more."""

    node: str
    image: str


class CatalogueDeclared(Event, frozen=True, tag="catalogue_declared"):
    """What is known of images, data and links besides the nodes; later ones add to earlier ones."""

    images: dict[str, dict[str, int]] = {}
    """Image -> architecture -> bytes."""
    buckets: dict[str, tuple[str, ...]] = {}
    """Bucket -> the nodes that hold it."""
    objects: tuple[StoredObject, ...] = ()
    bandwidth: BandwidthModel | None = None
    """None: as it was."""


class CategoryChanged(Event, frozen=True, gc=False, tag="category_changed"):
    """A monitor put a job into another category (SpeCon section 1.4)."""

    job: str
    pod: str
    node: str
    before: Category
    after: Category
    score: float
    previous_score: float | None
    threshold: float
    reason: str


Verdict = Literal[
    "migrate",
    "round-budget",
    "nobody-to-help",
    "no-better-node",
    "no-fitting-node",
    "already-migrated",
    "cooling-down",
    "nearly-finished",
    "not-migratable",
    "in-migration",
    "paused",
    "dry-run",
]


class MigrationConsidered(Event, frozen=True, gc=False, tag="migration_considered"):
    """One verdict of a planner's round: the refusals are kept as well as the moves."""

    round: int
    job: str
    pod: str
    source: str
    target: str | None
    """The best target looked at; None if there was none to look at."""
    verdict: Verdict
    cause: str
    """"converged", "rebalance", "load" or "manual": what brought the job up."""
    reason: str
    """The verdict as one sentence."""
    gain: float | None = None
    """Gain of the move as the policy defines it; the unit is the policy's."""
    margin: float | None = None
    candidates: dict[str, dict[str, float]] = {}
    """Node -> the terms it was compared by (progressing, cpu_millis, running, ...)."""


class MigrationAsked(Event, frozen=True, gc=False, tag="migration_asked"):
    """A person asks for a job to be moved; a MigrationConsidered with the cause "manual" answers."""

    job: str
    target: str | None = None
    """None: wherever it fits best."""
    by: str = ""


class MigrationsPaused(Event, frozen=True, gc=False, tag="migrations_paused"):
    """A person has policies begin no more migrations, or lets them go on. Those under way go on, and so do those that a
    person asks for."""

    paused: bool
    by: str = ""


class MigrationStarted(Event, frozen=True, gc=False, tag="migration_started"):
    """A migration was decided and begins; written before the first action, so that it is the durable intent."""

    migration: int
    job: str
    pod: str
    source: str
    target: str
    cause: str
    reason: str


class MigrationFinished(Event, frozen=True, gc=False, tag="migration_finished"):
    """The job runs on the target."""

    migration: int
    job: str
    pod: str
    node: str
    downtime_s: float | None
    """From the moment the old pod stopped working to the moment the new one works; None in a record that does not say
    so."""


class MigrationRolledBack(Event, frozen=True, gc=False, tag="migration_rolled_back"):
    """A migration did not reach its target: called off, or the job was put back on its source."""

    migration: int
    job: str
    reason: str


AnyEvent = (
    RunStarted
    | RunEnded
    | RunStopped
    | TimerFired
    | NodeAdded
    | NodeChanged
    | NodeRemoved
    | JobSubmitted
    | JobFinished
    | JobFailed
    | PodCreated
    | PodBound
    | BindFailed
    | PodStarted
    | PodFinished
    | PodEvicted
    | DecisionMade
    | ProgressReported
    | UsageSampled
    | WorkMeasured
    | ImagePulled
    | ImageRemoved
    | CatalogueDeclared
    | CategoryChanged
    | MigrationConsidered
    | MigrationStarted
    | MigrationFinished
    | MigrationRolledBack
    | MigrationAsked
    | MigrationsPaused
)

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[AnyEvent] = msgspec.json.Decoder(AnyEvent)


def encode(event: Event) -> bytes:
    """One event as one line of JSON without its line feed; equal events give equal bytes."""
    return _encoder.encode(event)


def decode(line: bytes | str) -> AnyEvent:
    """The event of one line. Raises msgspec.DecodeError (ValidationError for an unknown kind or a missing field)."""
    return _decoder.decode(line)


def encode_lines(events: Iterable[Event]) -> bytes:
    """A log as JSON lines."""
    return _encoder.encode_lines(list(events))


def decode_lines(lines: bytes | str) -> Iterator[AnyEvent]:
    """The events of JSON lines, in order."""
    yield from _decoder.decode_lines(lines)


def kind(event: Event) -> str:
    """The tag of an event's kind, such as "pod_bound"."""
    return str(type(event).__struct_config__.tag)
