"""Random clusters and what happens to them, told to the event-sourced state and to the plain reference alike."""

import random
from collections.abc import Callable
from typing import Any

from backend.model import events as ev
from backend.model.bandwidth import MatrixBandwidth
from backend.model.objects import Job, Node, Pod
from backend.model.state import ClusterState
from backend.model.storage import StoredObject
from tests.golden import reference_skippy as plain
from tests.golden.reference_adapter import measurements

MIB, GIB = 2**20, 2**30
MEASURED = measurements()
KINDS = ("rpi3", "rpi4", "rockpi", "nano", "tx2", "nx", "coral", "nuc", "xeongpu", "xeoncpu", "unheard", "n")
FUNCTIONS = ("python-pi", "fio", "resnet-inference-cpu", "resnet-inference-gpu", "speech-inference-gpu", "tf-gpu")
IMAGES = (
    *(f"faas-workloads/{name}" for name in FUNCTIONS),
    "faas-workloads/fio:latest",
    "fn/a:1",
    "fn/b",
    "reg:5000/c",
    "nobody/knows:2",
)
ARCHITECTURES = ("amd64", "arm64", "arm")
BUCKETS = ("in", "out", "empty", "far")
ITEMS = ("x", "deep/y")
PATHS = ("in/x", "in/x", "out/x", "out/x", "in/deep/y", "out/new", "far/x", "empty/x", "nowhere/x", "noslash", "")
REQUIREMENTS = (
    '{"device.edgerun.io/disk": {"SSD": 0.3, "SD": 0.1}, "device.edgerun.io/location": {"EDGE": 0.7}}',
    "{'device.edgerun.io/location': {'CLOUD': 0.1, 'EDGE': 0.2, 'MEC': 0.9}, 'x': 3}",
    '{"device.edgerun.io/disk": {"NVME": -0.25, "": 0.5}, "capability.skippy.io/gpu": {"": 0.1}}',
    "{not a dictionary",
    "[1, 2]",
)
NO_LIMIT = 100_000


def node_labels(rng: random.Random) -> dict[str, str]:
    """Labels of a node, each there or not."""
    offered: dict[str, tuple[str, ...]] = {
        plain.ARCHITECTURE: (*ARCHITECTURES, *ARCHITECTURES, "riscv", ""),
        plain.LOCALITY: ("edge", "edge", "cloud", "elsewhere"),
        "capability.skippy.io/gpu": ("",),
        "capability.skippy.io/cuda": ("9", "10"),
        plain.ACCELERATOR: ("GPU", "GPU", "TPU", "NONE"),
        plain.VRAM: ("4000", "6000", "lots", "-1"),
        plain.DISK: ("NVME", "SSD", "HDD", "FLASH", "SD", "TAPE"),
        plain.LOCATION: ("CLOUD", "EDGE", "MEC", "MOBILE"),
    }
    labels = {key: rng.choice(values) for key, values in offered.items() if rng.random() < 0.6}
    if rng.random() < 0.1:
        labels[plain.STORAGE] = rng.choice(("", "true"))
    return labels


def pod_labels(rng: random.Random) -> dict[str, str]:
    """Labels of a pod, each there or not."""
    offered: dict[str, tuple[str, ...]] = {
        plain.RECEIVES_PATH: PATHS,
        plain.SENDS_PATH: PATHS,
        plain.SENDS_SIZE: ("58M", "3Ki", "7K", "12345678", "10 Mi", "5MB", "-4", "", "much"),
        "capability.skippy.io/gpu": ("", "x"),
        "capability.skippy.io/cuda": ("9", "10"),
        plain.ACCELERATOR: ("GPU", "GPU", "TPU", "NONE", ""),
        plain.VRAM: ("1000", "2500", "none", "-7000"),
        plain.REQUIREMENTS: REQUIREMENTS,
    }
    often = {plain.RECEIVES_PATH, plain.SENDS_PATH}
    return {key: rng.choice(of) for key, of in offered.items() if rng.random() < (0.5 if key in often else 0.3)}


class World:
    """One cluster, in two implementations. Every happening is an event for `state` and a call on `cluster`."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = random.Random(seed)
        self.state = ClusterState()
        self.log: list[ev.Event] = []
        self.cluster = plain.Cluster([])
        self.seats: list[str] = []
        """Names of all nodes that ever were, in the order in which they joined: a node that comes back has its seat."""
        self.closed: set[str] = set()
        """Nodes that are cordoned or not ready."""
        self.running: dict[str, tuple[plain.Pod, str]] = {}
        """Pod -> what it is, and its node."""
        self.images_of: list[tuple[str, str]] = []
        """Node and image wherever a pod was placed: what may be removed."""
        self.number = 0
        self.large = rng.random() < 0.03
        count = rng.randint(101, 180) if self.large else rng.randint(1, 12)
        self.names = [f"{rng.choice(KINDS)}_{number}" for number in range(count + 3)]
        if rng.random() < 0.1:
            self.names[0] = plain.REGISTRY
        self._declare_links()
        for name in self.names[:count]:
            self.add_node(name)
        self.declare()
        self.templates = [self._template() for _ in range(rng.randint(1, 4))]

    # -- what happens

    def apply(self, event: ev.Event) -> None:
        self.log.append(event)
        self.state.apply(event)

    def _declare_links(self) -> None:
        ends = {*self.names, plain.REGISTRY, "outside"}
        values = [self.rng.choice((1e5, 1.25e6, 3e6, 1.25e7, 1e8, self.rng.uniform(1e5, 1e8))) for _ in range(7)]
        speed = self.rng.choice
        self.cluster.bandwidth = {one: {other: speed(values) for other in sorted(ends)} for one in sorted(ends)}
        bandwidth = MatrixBandwidth({one: dict(to) for one, to in self.cluster.bandwidth.items()})
        self.apply(ev.CatalogueDeclared(0.0, bandwidth=bandwidth))

    def declare(self) -> None:
        """Some images, buckets and objects become known, or known better."""
        rng = self.rng
        images: dict[str, dict[str, int]] = {}
        for name in rng.sample(IMAGES[:-1], rng.randint(1, len(IMAGES) - 1)):
            named = rng.sample(ARCHITECTURES, rng.randint(0, len(ARCHITECTURES)))
            images[name] = {
                one: rng.choice((0, 5 * MIB, rng.randrange(3 * GIB), rng.randrange(20 * GIB))) for one in named
            }
            self.cluster.images.setdefault(plain.full_image_name(name), {}).update(images[name])
        buckets: dict[str, tuple[str, ...]] = {"far": ("outside",)}
        for bucket in rng.sample(("in", "out"), rng.randint(1, 2)):
            buckets[bucket] = tuple(rng.sample(self.names, min(len(self.names), rng.randint(1, 3))))
        for bucket, holders in buckets.items():
            for holder in holders:
                self.cluster.storage.make_bucket(bucket, holder)
        objects = []
        for bucket in BUCKETS:
            for item in ITEMS:
                if self.cluster.storage.nodes(bucket) and rng.random() < 0.7:
                    size = rng.choice((0, 1, 10**7, rng.randrange(10**9)))
                    self.cluster.storage.put(bucket, item, size)
                    objects.append(StoredObject(bucket, item, size))
        self.apply(ev.CatalogueDeclared(self.state.time, images, buckets, tuple(objects)))

    def _node(self, name: str) -> Node:
        rng = self.rng
        return Node(
            name,
            rng.choice((100, 1000, 4000, 4000, 88_000)),
            rng.choice((GIB, 4 * GIB, 8 * GIB, 188 * 10**9)),
            max_pods=NO_LIMIT,
            labels=node_labels(rng),
            images=tuple(rng.sample(IMAGES, rng.choice((0, 1, 3, 5)))),
            ready=rng.random() < 0.95,
            unschedulable=rng.random() < 0.1,
        )

    def _note(self, node: Node) -> None:
        self.closed.discard(node.name)
        if node.unschedulable or not node.ready:
            self.closed.add(node.name)

    def add_node(self, name: str) -> None:
        """A node joins, or one that left comes back."""
        node = self._node(name)
        if name not in self.seats:
            self.seats.append(name)
        self._note(node)
        made = plain.Node(name, node.cpu_millis, node.memory_bytes, dict(node.labels), list(node.images))
        self.cluster.nodes = sorted([*self.cluster.nodes, made], key=lambda one: self.seats.index(one.name))
        self.apply(ev.NodeAdded(self.state.time, node))

    def change_node(self, name: str) -> None:
        """New labels and capacity, ready or not, cordoned or not; or only one of these."""
        rng = self.rng
        old = self.state.nodes.nodes[self.state.nodes.row_of[name]]
        node = self._node(name)
        if rng.random() < 0.5:
            part = rng.choice(("labels", "unschedulable"))
            fields = {field: getattr(old, field) for field in Node.__struct_fields__}
            node = Node(**fields | {part: getattr(node, part)})
        self._note(node)
        told = self.cluster.node(name)
        told.labels = dict(node.labels)
        told.free_cpu_millis += node.cpu_millis - told.cpu_millis
        told.free_memory_bytes += node.memory_bytes - told.memory_bytes
        told.cpu_millis, told.memory_bytes = node.cpu_millis, node.memory_bytes
        self.apply(ev.NodeChanged(self.state.time, node))

    def remove_node(self, name: str) -> None:
        """A node is lost with all that is on it."""
        self.cluster.nodes = [node for node in self.cluster.nodes if node.name != name]
        self.apply(ev.NodeRemoved(self.state.time, name, "lost"))
        for pod in [pod for pod, (_, node) in self.running.items() if node == name]:
            del self.running[pod]
            self.apply(ev.PodEvicted(self.state.time, pod, name, "node lost"))

    def end_pod(self, name: str) -> None:
        pod, node = self.running.pop(name)
        self.cluster.remove(pod, self.cluster.node(node))
        end: ev.Event = ev.PodFinished(self.state.time, name, node)
        if self.rng.random() < 0.5:
            end = ev.PodEvicted(self.state.time, name, node, "deleted")
        self.apply(end)

    def remove_images(self, name: str, node: str) -> None:
        """Forget the images of a pod, which may be gone already, on a node."""
        pod = plain.Pod(name, {}, [(name, None, None)])
        self.cluster.remove_images(pod, self.cluster.node(node))
        self.apply(ev.ImageRemoved(self.state.time, node, name))

    def pull(self, name: str, image: str) -> None:
        node, full = self.cluster.node(name), plain.full_image_name(image)
        if full not in node.images:
            node.images.append(full)
        self.apply(ev.ImagePulled(self.state.time, name, image, 1, 1.0))

    # -- pods

    def _template(self) -> plain.Pod:
        rng = self.rng
        containers: list[plain.Container] = []
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            again = bool(containers) and rng.random() < 0.3
            image = containers[0][0] if again else rng.choice(IMAGES)
            cpu = rng.choice((None, None, 50, 250, 1000, 3333))
            memory = rng.choice((None, None, 32 * MIB, 10**9, GIB, 5 * GIB))
            containers.append((image, cpu, memory))
        return plain.Pod("", pod_labels(rng), containers)

    def new_pod(self) -> plain.Pod:
        """One that waits now; most are like others before."""
        if self.rng.random() < 0.15:
            self.templates[self.rng.randrange(len(self.templates))] = self._template()
        like = self.rng.choice(self.templates)
        self.number += 1
        pod = plain.Pod(f"pod-{self.number}", dict(like.labels), list(like.containers))
        job = job_of(pod)
        self.apply(ev.JobSubmitted(float(self.number), job))
        self.apply(ev.PodCreated(float(self.number), Pod(job.name, job.name)))
        return pod

    def note(self, pod: plain.Pod, node: str) -> None:
        """The reference has the pod on the node."""
        self.running[pod.name] = pod, node
        self.images_of += [(image, node) for image in pod.images]

    def burst(self) -> None:
        """Many pods come to nodes of which nobody asked the scheduler."""
        for _ in range(self.rng.choice((3, 30))):
            pod = self.new_pod()
            node = self.rng.choice(self.cluster.nodes)
            self.cluster.place(pod, node)
            self.note(pod, node.name)
            self.apply(ev.PodBound(self.state.time, pod.name, node.name))

    def something(self) -> None:
        """One random happening besides scheduling."""
        rng = self.rng
        here = [node.name for node in self.cluster.nodes]
        away = [name for name in self.names if name not in here]
        pulled = [(image, node) for image, node in self.images_of if node in here]
        offered: list[Callable[[], Any]] = [self.declare]
        if away:
            offered.append(lambda: self.add_node(rng.choice(away)))
        if here:
            offered += [lambda: self.change_node(rng.choice(here))] * 3
            offered += [lambda: self.pull(rng.choice(here), rng.choice(IMAGES))] * 2
            offered.append(self.burst)
        if len(here) > 1 and not self.large:  # nodes that left still count for how many nodes are looked for
            offered.append(lambda: self.remove_node(rng.choice(here)))
        if self.running:
            offered += [lambda: self.end_pod(rng.choice(sorted(self.running)))] * 4
        if pulled:
            offered += [lambda: self.remove_images(*rng.choice(pulled))] * 3
        rng.choice(offered)()


def job_of(pod: plain.Pod) -> Job:
    """What the pod asks for. A single container that requests nothing is a job that requests nothing."""
    first, *others = [image for image, _, _ in pod.containers]
    cpu, memory = pod.cpu_millis, pod.memory_bytes
    if not others:
        _, own_cpu, own_memory = pod.containers[0]
        cpu, memory = own_cpu or 0, own_memory or 0
    return Job(
        pod.name,
        "function",
        image=first,
        cpu_request_millis=cpu,
        memory_bytes=memory,
        labels=pod.labels,
        more_images=tuple(others),
    )
