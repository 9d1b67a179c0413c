"""Runs through the Kubernetes API: the jobs of a specification as pods, on an embedded cluster or on a real one.

Time in the log of an embedded run is the cluster's simulated time, so that both kinds of run read alike. On a real
cluster it is seconds.
"""

import hashlib
import json
import logging
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from backend.embedded.apiserver.tls import TlsUnavailableError
from backend.embedded.cluster import EmbeddedCluster
from backend.experiments.errors import UnreachableError
from backend.experiments.grounds import Ground, Terms
from backend.experiments.specification import Specification
from backend.kube import names
from backend.kube.client import Api, ApiError, ConnectError, connect
from backend.kube.clock import ClusterClock
from backend.kube.cluster import KubernetesCluster
from backend.kube.convert import job_of
from backend.kube.feed import Feed
from backend.kube.pod_logs import PodLogs
from backend.kube.pods import Scope
from backend.kube.progress import Annotations
from backend.kube.records import RecordedLog, Recorder
from backend.kube.templates import TemplateError, TemplateFolder, default_folder, pod_of
from backend.metrics.metrics_server import PATH as NODE_METRICS
from backend.metrics.metrics_server import MetricsServerSource
from backend.metrics.prometheus import PrometheusSource
from backend.metrics.reading import UsageSource
from backend.metrics.sampler import UsageSampler
from backend.model import events as ev
from backend.model.actions import Action, CreatePod, Wake
from backend.model.periods import EMBEDDED_SPEED
from backend.model.quantities import format_cpu
from backend.model.seam import EventLog
from backend.simulation.cluster import Fault, Submission
from backend.store.home import default_home

Json = dict[str, Any]

IMAGE = "podshift:latest"
TICK_S = 0.25
"""Wall-clock seconds between two looks at whether the run is to stop."""
SHORTEST_LOOK_S = 0.05
"""Wall-clock seconds between two looks for progress at least, however fast the cluster lives."""
CHECKPOINTS = "/checkpoints"
CLEANING_S = 60.0
"""How long a run waits for its pods to be gone after its end."""
RECOVERY_S = 5.0
"""How long a start of the service waits for the pods of a run that was killed to be gone."""
_OURS = "podshift/run "
"""Beginning of the names of timers that are ours, not the controller's."""

_logger = logging.getLogger(__name__)


class Settings(Struct, frozen=True):
    """How the real cluster is reached, and what runs there."""

    kubeconfig: str = ""
    """Empty: where kubectl looks."""
    context: str = ""
    in_cluster: bool = False
    prometheus: str = ""
    """Address of a Prometheus; empty: node usage comes from metrics-server."""
    image: str = IMAGE
    """Image of the built-in training job."""
    templates: Path = Path("templates")
    """Folder of the job templates."""
    claim: str = ""
    """PersistentVolumeClaim that all nodes can mount, for checkpoints; without one a job that moves begins anew."""

    @classmethod
    def from_environment(cls) -> "Settings":
        """PODSHIFT_KUBECONFIG, PODSHIFT_CONTEXT, PODSHIFT_IN_CLUSTER, PODSHIFT_PROMETHEUS, PODSHIFT_IMAGE,
        PODSHIFT_TEMPLATES, PODSHIFT_CHECKPOINT_CLAIM."""
        get = os.environ.get
        return cls(
            get("PODSHIFT_KUBECONFIG", ""),
            get("PODSHIFT_CONTEXT", ""),
            get("PODSHIFT_IN_CLUSTER", "") in ("1", "true"),
            get("PODSHIFT_PROMETHEUS", ""),
            get("PODSHIFT_IMAGE", "") or IMAGE,
            default_folder(default_home()),
            get("PODSHIFT_CHECKPOINT_CLAIM", ""),
        )

    def connect(self) -> Api:
        """The API server. Raises ConnectError."""
        return connect(kubeconfig=self.kubeconfig or None, context=self.context or None, in_cluster=self.in_cluster)


class LiveRun:
    """Implements Cluster (backend/model/seam.py) around a KubernetesCluster: submits the jobs when their time has come,
    has nodes fail when they are to, and ends when all jobs have ended."""

    def __init__(
        self,
        inner: KubernetesCluster,
        specification: Specification,
        terms: Terms,
        *,
        recorder: Recorder,
        speed: Callable[[], float],
        manifest: Callable[[Submission], Json],
        templates: Mapping[str, Json],
        fail: Callable[[Fault, bool], None] | None = None,
    ) -> None:
        """`fail` has a node fail (True) or come back (False)."""
        self._inner = inner
        self._terms = terms
        self._recorder = recorder
        self._speed = speed
        self._manifest = manifest
        self._templates = templates
        self._pinned: dict[str, str] = {}
        """Job -> the node that its template names."""
        self._until = specification.until
        self._plan: dict[str, Callable[[], None]] = {}
        """Timer -> what is to be done then."""
        for number, submission in enumerate(specification.workload.build_submissions(terms.seed)):
            self._at(submission.time, f"submit {number}", partial(self._submit, submission))
        if fail is not None:
            for number, fault in enumerate(specification.cluster.build_faults()):
                self._at(fault.at, f"fail {number}", partial(fail, fault, True))
                if fault.back_at is not None:
                    self._at(fault.back_at, f"back {number}", partial(fail, fault, False))
        self._tick()

    @property
    def cluster(self) -> "LiveRun":
        """See Ground."""
        return self

    def measure(self) -> ev.WorkMeasured | None:
        """See Ground."""
        return self._inner.measure()

    def told(self, log: EventLog) -> EventLog:
        """See Ground: decisions and migrations become Events of their pods as well."""
        return RecordedLog(log, self._recorder)

    def now(self) -> float:
        """See Cluster."""
        return self._inner.now()

    def execute(self, action: Action) -> None:
        """See Cluster. A first pod goes where its template says, if the controller leaves it open."""
        if isinstance(action, CreatePod) and action.pod.node is None and action.pod.incarnation == 0:
            pinned = self._pinned.get(action.pod.job)
            if pinned is not None:
                action = CreatePod(msgspec.structs.replace(action.pod, node=pinned))
        self._inner.execute(action)

    def events(self) -> Iterator[ev.Event]:
        """See Cluster."""
        for event in self._inner.events():
            if isinstance(event, ev.TimerFired) and event.timer.startswith(_OURS):
                if self._until is not None and event.time >= self._until:
                    break
                todo = self._plan.pop(event.timer, None)
                if todo is not None:
                    todo()
                else:
                    if self._terms.finished() or self._terms.waiting(event.time):
                        break
                    self._tick()
            else:
                yield event
        self._inner.stop()

    def _at(self, at: float, name: str, todo: Callable[[], None]) -> None:
        self._plan[_OURS + name] = todo
        self._inner.execute(Wake(at, _OURS + name))

    def _tick(self) -> None:
        at = self._inner.elapsed() + TICK_S * self._speed()
        self._inner.execute(Wake(at if self._until is None else min(at, self._until), f"{_OURS}tick"))

    def _submit(self, submission: Submission) -> None:
        job, manifest = submission.job, self._manifest(submission)
        template = self._templates.get(submission.model.template)
        if template is not None:
            manifest = pod_of(template, job.name, job.workload, manifest["metadata"]["annotations"])
            job = msgspec.structs.replace(job_of(manifest), name=job.name, workload=job.workload)
            if template["spec"].get("nodeName"):
                self._pinned[job.name] = template["spec"]["nodeName"]
        self._inner.submit(job, manifest)


def pod_manifest(submission: Submission, image: str, *, claim: str = "", folder: str = "") -> Json:
    """The pod of a job: what a person would write to have it trained.

    The built-in training job uses one processor: a step takes the time there that an iteration of the model takes when
    it is alone. Its checkpoints are in `folder` of the volume of `claim`.
    """
    job, model = submission.job, submission.model
    requests = {"cpu": format_cpu(job.cpu_request_millis)} if job.cpu_request_millis else {}
    if job.memory_bytes:
        requests["memory"] = str(job.memory_bytes)
    limits = {"cpu": format_cpu(job.cpu_limit_millis)} if job.cpu_limit_millis else {}
    environment = {
        "PODSHIFT_TRAIN_STEPS": str(submission.iterations),
        "PODSHIFT_TRAIN_WORK": f"{model.core_s_per_iteration / model.ceiling_cores:.6g}",
        "PODSHIFT_TRAIN_SEED": str(_number_of(job.name)),
        "PODSHIFT_TRAIN_REPORT_EVERY": "1",
    }
    if claim:
        environment["PODSHIFT_TRAIN_CHECKPOINT"] = f"{CHECKPOINTS}/{folder}/{job.name}"
        environment["PODSHIFT_TRAIN_CHECKPOINT_EVERY"] = str(model.checkpoint_every or submission.iterations)
    spec: Json = {
        "restartPolicy": "Never",
        "containers": [
            {
                "name": "train",
                "image": image,
                "args": ["train"],
                "env": [{"name": name, "value": value} for name, value in environment.items()],
                "resources": {"requests": requests, "limits": limits},
            }
        ],
    }
    if claim:
        spec["volumes"] = [{"name": "checkpoints", "persistentVolumeClaim": {"claimName": claim}}]
        spec["containers"][0]["volumeMounts"] = [{"name": "checkpoints", "mountPath": CHECKPOINTS}]
    if job.node_selector:
        spec["nodeSelector"] = dict(job.node_selector)
    if job.tolerations:
        spec["tolerations"] = [
            {k: v for k, v in (("key", t.key), ("operator", t.operator), ("value", t.value), ("effect", t.effect)) if v}
            for t in job.tolerations
        ]
    notes = {
        names.ITERATIONS: str(submission.iterations),
        names.METRIC: job.metric,
        names.TRAINING: json.dumps(model.model_dump(mode="json", exclude_none=True)),
    }
    if not job.migratable:
        notes[names.MIGRATABLE] = "false"
    namespace, own = names.located(job.name)
    metadata = {
        "name": own,
        "namespace": namespace,
        "labels": {**job.labels, names.WORKLOAD: job.workload},
        "annotations": notes,
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _templates(specification: Specification, folder: Path) -> dict[str, Json]:
    """The templates that jobs of a specification are made from, by name."""
    names_of = {one.model.template for one in specification.workload.build_submissions(specification.seeds[0])} - {""}
    try:
        return {name: TemplateFolder(folder).pod(name) for name in sorted(names_of)}
    except (TemplateError, OSError) as error:
        text = str(error)
        raise UnreachableError(f"{text[:1].upper()}{text[1:]}.") from None


def _number_of(name: str) -> int:
    """A seed for a job, the same in all arms."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")


@contextmanager
def embedded(specification: Specification, terms: Terms) -> Iterator[Ground]:
    """A cluster of the run's own, with the nodes of its specification, in this process."""
    templates = _templates(specification, Settings.from_environment().templates)
    with ExitStack() as stack:
        machines = EmbeddedCluster(
            specification.cluster.build_nodes(),
            seed=terms.seed,
            speed=specification.speed or EMBEDDED_SPEED,
            costs=specification.cluster.costs,
            progress_s=specification.telemetry.progress,
            catalogue=specification.cluster.build_catalogue(),
        )
        stack.callback(machines.stop)
        try:
            machines.start()
        except (OSError, TlsUnavailableError) as error:
            raise UnreachableError(f"The embedded cluster could not be started: {error}") from None
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="podshift-")))
        api = connect(kubeconfig=machines.kubeconfig(folder / "kubeconfig"))
        stack.callback(api.close)

        def fail(fault: Fault, away: bool) -> None:
            if away:
                machines.kubelet.lose(fault.node)
            else:
                machines.bring_back(fault.node)

        inner = KubernetesCluster(
            api,
            Scope(run=label_of(terms.label)),
            clock=machines.world.now,
            speed=lambda: machines.world.speed,
        )
        sources: list[UsageSource] = [MetricsServerSource(lambda: api.get(NODE_METRICS), api.server)]
        _observe(stack, api, inner, sources, specification, machines.world.speed)
        yield LiveRun(
            inner,
            specification,
            terms,
            recorder=_recorder(stack, api, inner),
            speed=lambda: machines.world.speed,
            manifest=lambda one: pod_manifest(one, one.job.image),
            templates=templates,
            fail=fail,
        )


@contextmanager
def live(specification: Specification, terms: Terms) -> Iterator[Ground]:
    """The cluster that the settings name; what the run created there is deleted when it ends, however it ends."""
    settings = Settings.from_environment()
    templates = _templates(specification, settings.templates)
    with ExitStack() as stack:
        try:
            api = settings.connect()
            stack.callback(api.close)
            api.get("/version")  # a cluster that cannot be reached is said now, not by a run in which nothing happens
        except ConnectError as error:
            raise UnreachableError(f"There is no telling which cluster to run on: {error}") from None
        except ApiError as error:
            raise UnreachableError(f"The cluster at {api.server} cannot be used: {error}") from None
        stack.callback(clean, api, label_of(terms.label))
        clock = ClusterClock(api)
        clock.start()
        stack.callback(clock.stop)
        inner = KubernetesCluster(api, Scope(run=label_of(terms.label)), clock=clock.now, speed=clock.speed)
        sources: list[UsageSource] = [PrometheusSource(settings.prometheus)] if settings.prometheus else []
        sources.append(MetricsServerSource(lambda: api.get(NODE_METRICS), api.server))
        _observe(stack, api, inner, sources, specification, clock.speed())
        yield LiveRun(
            inner,
            specification,
            terms,
            recorder=_recorder(stack, api, inner),
            speed=clock.speed,
            manifest=lambda one: pod_manifest(one, settings.image, claim=settings.claim, folder=label_of(terms.label)),
            templates=templates,
        )


def _recorder(stack: ExitStack, api: Api, inner: KubernetesCluster) -> Recorder:
    recorder = Recorder(api, inner.uid)
    recorder.start()
    stack.callback(recorder.stop)
    return recorder


def _observe(
    stack: ExitStack,
    api: Api,
    inner: KubernetesCluster,
    sources: list[UsageSource],
    specification: Specification,
    speed: float,
) -> None:
    """Progress and usage into the log, as often as the specification says."""
    telemetry = specification.telemetry
    if telemetry.progress:
        logs = PodLogs(api)
        stack.callback(logs.close)
        # Twice as often as jobs report, so that what they say is at most half a period old.
        every = max(telemetry.progress / speed / 2, SHORTEST_LOOK_S)
        feed = Feed([Annotations(), logs], inner.running, inner.report, every)
        feed.start()
        stack.callback(feed.stop)
    if telemetry.usage:
        every = max(telemetry.usage / speed, SHORTEST_LOOK_S)
        sampler = UsageSampler(sources, every, inner.elapsed, inner.tell)
        sampler.start()
        stack.callback(sampler.stop)


def label_of(run: str) -> str:
    """The value of the label podshift.io/run of a run's pods: its id, or its hash where a label cannot hold that."""
    return run if names.is_label_value(run) else hashlib.sha256(run.encode()).hexdigest()[:32]


def clean_up(run: str) -> None:
    """Delete what a run left on the cluster that the settings name, when its process did not. Never raises."""
    try:
        api = Settings.from_environment().connect()
    except ConnectError as error:
        _logger.warning("the pods of run %s could not be looked for: %s", run, error)
        return
    with closing(api):
        clean(api, label_of(run), patience_s=RECOVERY_S)


def clean(api: Api, label: str, *, patience_s: float = CLEANING_S) -> int:
    """Delete the pods that a run created, and nothing else; how many are left after a while. Never raises."""
    query = {"labelSelector": f"{names.RUN}={label}"}
    deadline = time.monotonic() + patience_s
    left: list[Json] = []
    while True:
        try:
            left = api.get("/api/v1/pods", query).get("items") or []
            for pod in left:
                about = pod["metadata"]
                if not about.get("deletionTimestamp"):
                    options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": about["uid"]}}
                    api.delete(f"/api/v1/namespaces/{about['namespace']}/pods/{about['name']}", options)
        except ApiError as error:
            if not error.transient and error.status not in (404, 409):
                _logger.warning("the pods of run %s could not be deleted: %s", label, error)
                return len(left)
        if not left or time.monotonic() >= deadline:
            break
        time.sleep(TICK_S)
    if left:
        _logger.warning("%d pods of run %s are still there", len(left), label)
    return len(left)
