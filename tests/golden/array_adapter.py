"""The array implementation behind the protocols of the golden documents, through the scheduler of experiments."""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from backend.model import events as ev
from backend.model.bandwidth import MatrixBandwidth
from backend.model.images import normalise_image
from backend.model.objects import Job, Node, Pod
from backend.model.state import ClusterState
from backend.model.storage import StoredObject
from backend.scheduling import plugins
from backend.scheduling.filters import Filter
from backend.scheduling.framework import Profile, needed_images
from backend.scheduling.selection import FirstInWalk, nodes_to_find
from backend.scheduling.skippy.policy import SkippyParameters, SkippyScheduler
from tests.golden.documents import Document
from tests.golden.scenarios import MAX_PRIORITY, Outcome

ALL_NODES = 1000
"""So many nodes may a decision list."""
NO_LIMIT = 1_000_000
"""Skippy knows no number of pods per node."""
DEFAULT_CPU_MILLIS, DEFAULT_MEMORY_BYTES = 100, 200 * 2**20
DEFAULT_PREDICATES = {"PodFitsResourcesPred", "CheckNodeLabelPresencePred"}


def filter_choice(part: Document) -> Document:
    """A predicate of a document as the parameters of the scheduler have it."""
    name = part["name"].removesuffix("Pred")
    name = {"EssentialPreds": "PodFitsResources", "NonCriticalPreds": "PodFitsResources"}.get(name, name)
    return part | {"name": name}


def make_filter(part: Document) -> Filter:
    choice = filter_choice(part)
    made: Filter = plugins.make_filter(choice.pop("name"), choice)
    return made


def score_choice(part: Document) -> Document:
    """A priority of a document as the parameters of the scheduler have it."""
    return {"name": part["name"].removesuffix("Priority"), "weight": part["weight"]}


def job_of(document: Document) -> Job:
    """What the pod of a document asks for."""
    requests = [container["requests"] or {} for container in document["containers"]]
    images = [container["image"] for container in document["containers"]]
    return Job(
        document["name"],
        "function",
        image=images[0] if images else "",
        cpu_request_millis=sum(one.get("cpu", DEFAULT_CPU_MILLIS) for one in requests),
        memory_bytes=sum(one.get("memory", DEFAULT_MEMORY_BYTES) for one in requests),
        labels=document["labels"],
        more_images=tuple(images[1:]),
    )


def submit(state: ClusterState, job: Job) -> None:
    """A pod of the job waits from now on."""
    state.apply(ev.JobSubmitted(state.time, job))
    state.apply(ev.PodCreated(state.time, Pod(job.name, job.name)))


def cluster_events(document: Document) -> list[ev.Event]:
    """What the part `cluster` of a document says."""
    nodes = [
        Node(
            node["name"],
            node["allocatable"]["cpu_millis"],
            node["allocatable"]["memory"],
            max_pods=NO_LIMIT,
            labels=node["labels"],
            images=tuple(node["images"]),
        )
        for node in document["nodes"]
    ]
    storage = document["storage"]
    objects = tuple(StoredObject(item["bucket"], item["name"], item["size"]) for item in storage["items"])
    buckets = {bucket: tuple(holders) for bucket, holders in storage["buckets"].items()}
    bandwidth = MatrixBandwidth(document["bandwidth"])
    return [
        *(ev.NodeAdded(0.0, node) for node in nodes),
        ev.CatalogueDeclared(0.0, document["images"], buckets, objects, bandwidth),
    ]


class ArrayAdapter:
    """Runs a scenario document on the node table."""

    state: ClusterState

    def build(self, document: Document) -> None:
        self.state = ClusterState()
        for event in cluster_events(document["cluster"]):
            self.state.apply(event)
        self.jobs: dict[str, Job] = {}
        scheduler = document["scheduler"]
        self.predicates = scheduler["predicates"]
        self.priorities = scheduler["priorities"]
        self.percentage = scheduler["percentage_of_nodes_to_score"]
        self.place, self.walk = self._scheduler(scheduler)

    def _scheduler(self, scheduler: Document) -> tuple[Any, FirstInWalk]:
        """The scheduler as experiments have it, or its profile for what its parameters do not allow."""
        highest = scheduler["max_priority"]
        default = {part["name"] for part in self.predicates} >= DEFAULT_PREDICATES
        if default and all(part["weight"] >= 0 for part in self.priorities):
            parameters = SkippyParameters.model_validate(
                {
                    "filters": [filter_choice(part) for part in self.predicates],
                    "scores": [score_choice(part) for part in self.priorities],
                    "percentage_of_nodes_to_score": self.percentage,
                    "max_priority": highest,
                    "explain_nodes": ALL_NODES,
                }
            )
            skippy = SkippyScheduler(parameters, random.Random(0))
            return skippy.place, skippy.walk
        choices = [score_choice(part) for part in self.priorities]
        scores = [(plugins.make_score(one["name"], {}, highest), one["weight"]) for one in choices]
        walk = FirstInWalk(self.percentage)
        filters = [make_filter(part) for part in self.predicates]
        profile = Profile("skippy", scores, walk, explain_nodes=ALL_NODES, filters=filters, needed_images=needed_images)
        return profile.place, walk

    def schedule(self, pod: Document) -> Outcome:
        job = self.jobs[pod["name"]] = job_of(pod)
        table = self.state.nodes
        submit(self.state, job)
        failed = {
            f"{number}:{part['name']}": [table.names[row] for row in (~self._mask(part, job)).nonzero()[0]]
            for number, part in enumerate(self.predicates)
        }
        start = self.walk.start
        decision: ev.DecisionMade = self.place(self.state.pods[pod["name"]], self.state)
        self.state.apply(decision)
        walk = [table.names[(start + step) % len(table)] for step in range(len(table))]
        columns = [dict(zip(decision.nodes, one.normalised, strict=True)) for one in decision.scores]
        raws = [dict(zip(decision.nodes, one.raw or one.normalised, strict=True)) for one in decision.scores]
        totals = dict(zip(decision.nodes, decision.totals, strict=True))
        feasible = [name for name in walk if name in totals]
        return Outcome(
            start_index=start,
            predicates_failed=failed,
            num_nodes_to_find=nodes_to_find(len(table), self.percentage),
            feasible=feasible,
            priorities=[
                {
                    "name": f"{one.plugin}Priority",
                    "weight": one.weight,
                    "raw": [raw[name] for name in feasible],
                    "normalised": [column[name] for name in feasible],
                }
                for one, raw, column in zip(decision.scores, raws, columns, strict=True)
            ]
            or [
                {"name": part["name"], "weight": part["weight"], "raw": [], "normalised": []}
                for part in self.priorities
            ],
            total=[totals[name] for name in feasible],
            chosen=decision.node,
            feasible_nodes=len(feasible),
            needed_images=None if decision.node is None else list(decision.needed_images),
            next_start_index=self.walk.start,
            chosen_allocatable_after=None if decision.node is None else self.allocatable(decision.node),
        )

    def _mask(self, part: Document, job: Job) -> Any:
        return make_filter(part).mask(job, self.state.nodes)

    def remove_pod(self, node: str, pod: str) -> None:
        self.state.apply(ev.PodFinished(self.state.time, pod, node))

    def remove_pod_images(self, node: str, pod: str) -> None:
        for image in self.jobs[pod].images():
            self.state.apply(ev.ImageRemoved(self.state.time, node, image))

    def allocatable(self, node: str) -> dict[str, int]:
        table = self.state.nodes
        row = table.row_of[node]
        return {
            "cpu_millis": int(table.cpu_millis[row] - table.scoring_cpu_millis[row]),
            "memory": int(table.memory_bytes[row] - table.scoring_memory_bytes[row]),
        }

    def images_on_node(self, node: str) -> list[str]:
        table = self.state.nodes
        return [image for image in self._known_images() if table.expected(image)[table.row_of[node]]]

    def _known_images(self) -> list[str]:
        """Every image that somebody named: the table is asked image by image."""
        held = [normalise_image(image) for node in self.state.nodes.nodes for image in node.images]
        needed = [image for job in self.jobs.values() for image in job.images()]
        return list(dict.fromkeys([*self.state.nodes.facts.images.names(), *held, *needed]))

    def final_state(self) -> Document:
        table = self.state.nodes
        nodes = {
            name: {
                "allocatable": self.allocatable(name),
                "pods": list(self.state.pods_on[name]),
                "images": self.images_on_node(name),
            }
            for name in table.names
        }
        counts = {image: int(np.count_nonzero(table.expected(image))) for image in self._known_images()}
        return {"nodes": nodes, "image_num_nodes": counts, "last_scored_node_index": self.walk.start}


FILTERS: dict[str, tuple[str, Document]] = {
    "CanRunPred": ("CanRun", {}),
    "HasEnoughRamPredicate": ("HasEnoughRam", {}),
    "NodeHasAcceleratorPred": ("NodeHasAccelerator", {}),
    "NodeHasFreeGpu": ("NodeHasFreeGpu", {}),
    "NodeHasFreeTpu": ("NodeHasFreeTpu", {}),
    "NodeHasFreeGpu(use_vram)": ("NodeHasFreeGpu", {"use_vram": True}),
}
SCORES: dict[str, tuple[str, Document]] = {
    "CapabilityMatchingPriority": ("CapabilityMatching", {}),
    "ExecutionTimePriority": ("ExecutionTime", {}),
    "ContentionPriority": ("Contention", {"own_use": "for"}),  # the published rule
}


class ArrayScoringAdapter:
    """Runs a scoring document on the node table."""

    state: ClusterState

    def build(self, document: Document) -> None:
        self.state = ClusterState()
        for node in document["nodes"]:
            self.state.apply(ev.NodeAdded(0.0, Node(node["name"], NO_LIMIT, 2**40, NO_LIMIT, node["labels"])))
        for running in document["running_pods"]:
            submit(self.state, _function(running["pod"], running))
            self.state.apply(ev.PodBound(0.0, running["pod"], running["node"]))

    def failed(self, pod: Document, predicate: str, nodes: Sequence[str]) -> list[str]:
        return [name for name in nodes if name not in self._decide(pod, [FILTERS[predicate]], []).nodes]

    def scores(self, pod: Document, priority: str, nodes: Sequence[str]) -> tuple[list[float], list[float]]:
        decision = self._decide(pod, [], [SCORES[priority]], nodes)
        assert sorted(decision.nodes) == sorted(nodes)
        if decision.node is None:
            return [], []
        (column,) = decision.scores
        raw = dict(zip(decision.nodes, column.raw, strict=True))
        normalised = dict(zip(decision.nodes, column.normalised, strict=True))
        return [raw[name] for name in nodes], [normalised[name] for name in nodes]

    def _decide(
        self,
        pod: Document,
        filters: list[tuple[str, Document]],
        scores: list[tuple[str, Document]],
        among: Sequence[str] | None = None,
    ) -> ev.DecisionMade:
        """A decision that nobody carries out; `among` are the only nodes that may be chosen."""
        asking = _function("new", pod)
        submit(self.state, asking)
        made = [plugins.make_filter(*one) for one in filters]
        if among is not None:
            made.append(Among(among))
        profile = Profile(
            "skippy",
            [(plugins.make_score(*one, MAX_PRIORITY), 1.0) for one in scores],
            FirstInWalk(100),
            explain_nodes=ALL_NODES,
            filters=made,
        )
        decision = profile.place(self.state.pods["new"], self.state)
        self.state.apply(ev.PodEvicted(0.0, "new", None, "only asked"))
        return decision


class Among:
    """The given nodes alone."""

    name = "Among"
    static = True

    def __init__(self, names: Sequence[str]) -> None:
        self._names = frozenset(names)

    def mask(self, job: Job, table: Any) -> Any:
        return np.array([name in self._names for name in table.names], np.bool_)

    def explain(self, job: Job, table: Any, refused: Any) -> str:
        return "not asked for"


def _function(name: str, document: Document) -> Job:
    return Job(name, "function", image=document["image"], labels=document["labels"])
