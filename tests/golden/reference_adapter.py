"""The reference implementation behind the protocols of the golden documents."""

from collections.abc import Sequence

from tests.golden.documents import Document, data_table
from tests.golden.reference_skippy import (
    AllOf,
    BalancedResources,
    CanRun,
    Capability,
    CapabilityMatching,
    Cluster,
    Contention,
    DataLocality,
    EnoughGpuMemory,
    Equal,
    ExecutionTime,
    Filter,
    FitsResources,
    FreeAccelerator,
    HasAccelerator,
    HasEnoughRam,
    ImageLocality,
    LabelPresence,
    LatencyAwareImageLocality,
    LocalityType,
    Measurements,
    Node,
    Pod,
    Reference,
    Score,
    Storage,
    Usage,
)
from tests.golden.scenarios import MAX_PRIORITY, Outcome

SCORES: dict[str, Score] = {
    "EqualPriority": Equal(),
    "BalancedResourcePriority": BalancedResources(),
    "ImageLocalityPriority": ImageLocality(),
    "LatencyAwareImageLocalityPriority": LatencyAwareImageLocality(),
    "LocalityTypePriority": LocalityType(),
    "DataLocalityPriority": DataLocality(),
    "CapabilityPriority": Capability(),
}


def filter_of(part: Document) -> Filter:
    """The filter that a predicate of a document names."""
    match part["name"]:
        case "PodFitsResourcesPred":
            return FitsResources()
        case "EssentialPreds" | "NonCriticalPreds":
            return AllOf()
        case "GeneralPreds":
            return AllOf([AllOf(), AllOf()])
        case "CheckNodeLabelPresencePred":
            return LabelPresence(part["labels"], part["should_be_present"])
    raise KeyError(part["name"])


def pod_of(document: Document) -> Pod:
    """The pod that a document describes."""
    containers = []
    for container in document["containers"]:
        requests = container["requests"] or {}
        containers.append((container["image"], requests.get("cpu"), requests.get("memory")))
    return Pod(document["name"], document["labels"], containers)


def cluster_of(document: Document) -> Cluster:
    """The cluster that the part `cluster` of a document describes."""
    nodes = [
        Node(
            name=node["name"],
            cpu_millis=node["capacity"]["cpu_millis"],
            memory_bytes=node["capacity"]["memory"],
            labels=node["labels"],
            images=node["images"],
            allocatable=(node["allocatable"]["cpu_millis"], node["allocatable"]["memory"]),
        )
        for node in document["nodes"]
    ]
    storage = Storage()
    for bucket, holders in document["storage"]["buckets"].items():
        for holder in holders:
            storage.make_bucket(bucket, holder)
    for item in document["storage"]["items"]:
        storage.put(item["bucket"], item["name"], item["size"])
    return Cluster(nodes, document["images"], document["bandwidth"], storage)


class ReferenceAdapter:
    """Runs a scenario document on the reference."""

    cluster: Cluster
    reference: Reference

    def build(self, document: Document) -> None:
        scheduler = document["scheduler"]
        self.cluster = cluster_of(document["cluster"])
        self.predicates = scheduler["predicates"]
        self.priorities = scheduler["priorities"]
        self.pods: dict[str, Pod] = {}
        self.reference = Reference(
            self.cluster,
            [filter_of(part) for part in self.predicates],
            [(part["weight"], SCORES[part["name"]]) for part in self.priorities],
            scheduler["percentage_of_nodes_to_score"],
            scheduler["max_priority"],
        )

    def schedule(self, pod: Document) -> Outcome:
        self.pods[pod["name"]] = pod_of(pod)
        decision = self.reference.schedule(self.pods[pod["name"]])
        failures = zip(self.predicates, decision.failures, strict=True)
        columns = zip(self.priorities, decision.scores, strict=True)
        return Outcome(
            start_index=decision.start_index,
            predicates_failed={f"{i}:{part['name']}": failed for i, (part, failed) in enumerate(failures)},
            num_nodes_to_find=decision.nodes_to_find,
            feasible=decision.feasible,
            priorities=[{"name": part["name"], **vars(column)} for part, column in columns],
            total=decision.totals,
            chosen=decision.chosen,
            feasible_nodes=len(decision.feasible),
            needed_images=decision.needed_images,
            next_start_index=decision.next_start_index,
            chosen_allocatable_after=None if decision.chosen is None else self.allocatable(decision.chosen),
        )

    def remove_pod(self, node: str, pod: str) -> None:
        self.cluster.remove(self.pods[pod], self.cluster.node(node))

    def remove_pod_images(self, node: str, pod: str) -> None:
        self.cluster.remove_images(self.pods[pod], self.cluster.node(node))

    def allocatable(self, node: str) -> dict[str, int]:
        found = self.cluster.node(node)
        return {"cpu_millis": found.free_cpu_millis, "memory": found.free_memory_bytes}

    def images_on_node(self, node: str) -> list[str]:
        return self.cluster.node(node).images

    def final_state(self) -> Document:
        nodes = {
            node.name: {
                "allocatable": self.allocatable(node.name),
                "pods": [pod.name for pod in node.pods],
                "images": node.images,
            }
            for node in self.cluster.nodes
        }
        counts = {image: self.cluster.nodes_with_image(image) for image in self.cluster.images}
        return {
            "nodes": nodes,
            "image_num_nodes": counts,
            "last_scored_node_index": self.reference.start_index,
        }


def measurements() -> Measurements:
    """The published mean execution times and resource usages."""
    times = {(row["device"], row["image"]): float(row["mean_s"]) for row in data_table("raith21_fet_mean.csv")}
    columns = ("cpu", "blkio", "gpu", "net", "ram")
    usages = {
        (row["device"], row["image"]): Usage(**{column: float(row[column]) for column in columns})
        for row in data_table("raith21_resources.csv")
    }
    return Measurements(times, usages)


class ReferenceScoringAdapter:
    """Runs a scoring document on the reference."""

    cluster: Cluster

    def __init__(self) -> None:
        measured = measurements()
        self.filters: dict[str, Filter] = {
            "CanRunPred": CanRun(measured),
            "HasEnoughRamPredicate": HasEnoughRam(measured),
            "NodeHasAcceleratorPred": HasAccelerator(),
            "NodeHasFreeGpu": FreeAccelerator("GPU"),
            "NodeHasFreeTpu": FreeAccelerator("TPU"),
            "NodeHasFreeGpu(use_vram)": EnoughGpuMemory(),
        }
        self.score_rules: dict[str, Score] = {
            "CapabilityMatchingPriority": CapabilityMatching(),
            "ExecutionTimePriority": ExecutionTime(measured),
            "ContentionPriority": Contention(measured, published=True),
        }

    def build(self, document: Document) -> None:
        self.cluster = Cluster([Node(node["name"], labels=node["labels"]) for node in document["nodes"]])
        for running in document["running_pods"]:
            pod = Pod(running["pod"], running["labels"], [(running["image"], None, None)])
            self.cluster.place(pod, self.cluster.node(running["node"]))

    def failed(self, pod: Document, predicate: str, nodes: Sequence[str]) -> list[str]:
        rule, asking = self.filters[predicate], _function(pod)
        return [name for name in nodes if not rule.passes(self.cluster, asking, self.cluster.node(name))]

    def scores(self, pod: Document, priority: str, nodes: Sequence[str]) -> tuple[list[float], list[float]]:
        rule, asking = self.score_rules[priority], _function(pod)
        raw = [rule.raw(self.cluster, asking, self.cluster.node(name), MAX_PRIORITY) for name in nodes]
        return raw, rule.normalise(raw, MAX_PRIORITY)


def _function(pod: Document) -> Pod:
    return Pod("new", pod["labels"], [(pod["image"], None, None)])
