"""What the simulator knows of a pod and of a node while they exist."""

from backend.model.images import normalise_image
from backend.model.objects import Job, Node, Pod
from backend.simulation.sharing import Processor, Task
from backend.simulation.training import TrainingModel


class SimulatedPod:
    """A pod from creation to end, with the truth about its training."""

    __slots__ = (
        "ended",
        "iterations",
        "job",
        "kept",
        "last_report_at",
        "model",
        "name",
        "node",
        "number",
        "pod",
        "reported",
        "start",
        "stopping",
        "task",
        "uploading",
    )

    def __init__(self, pod: Pod, job: Job, model: TrainingModel, iterations: int, number: int) -> None:
        self.pod = pod
        self.name = pod.name
        self.job = job
        self.model = model
        self.iterations = iterations
        self.number = number
        self.node: RunningNode | None = None
        self.task: Task | None = None
        self.start = 0.0
        self.kept = 0.0
        self.reported = 0.0
        self.stopping = False
        self.uploading = False
        """It has trained to the end and sends its data; its task is off the processors."""
        self.ended = False

    def reached(self, now: float) -> float:
        """Iterations reached, parts of one included."""
        task = self.task
        if task is None or self.node is None:
            return self.start
        consumed = task.consumed + task.rate * (now - self.node.processor.updated)
        return min(self.start + consumed / self.model.core_s_per_iteration, float(self.iterations))


class RunningNode:
    """A node that is there, its processors and what it holds."""

    __slots__ = (
        "cpu_requested",
        "images",
        "max_pods",
        "memory_used",
        "name",
        "node",
        "pods",
        "processor",
        "sampled_at",
        "sampled_core_s",
    )

    def __init__(self, node: Node, now: float) -> None:
        self.node = node
        self.name = node.name
        self.processor = Processor(node.cpu_millis / 1000)
        self.processor.updated = now
        self.images: dict[str, float] = dict.fromkeys(map(normalise_image, node.images), 0.0)
        """Image -> time from which it is there (later than now while it is pulled)."""
        self.pods: dict[str, SimulatedPod] = {}
        self.cpu_requested = 0
        self.memory_used = 0
        self.max_pods = node.max_pods
        self.sampled_at = now
        self.sampled_core_s = 0.0

    def refusal(self, job: Job) -> str:
        """Why the node cannot take a pod of the job; empty if it can."""
        memory = self.node.memory_bytes - self.memory_used
        if memory < job.memory_bytes:
            return f"{self.name} has {memory} bytes left of the {job.memory_bytes} asked for"
        cpu = self.node.cpu_millis - self.cpu_requested
        if cpu < job.cpu_request_millis:
            return f"{self.name} has {cpu} millicores left of the {job.cpu_request_millis} asked for"
        if len(self.pods) >= self.max_pods:
            return f"{self.name} takes no more than {self.max_pods} pods"
        return ""

    def take(self, pod: SimulatedPod) -> None:
        """Count a pod's requests."""
        self.pods[pod.name] = pod
        self.cpu_requested += pod.job.cpu_request_millis
        self.memory_used += pod.job.memory_bytes

    def release(self, pod: SimulatedPod) -> None:
        """Give a pod's requests back."""
        del self.pods[pod.name]
        self.cpu_requested -= pod.job.cpu_request_millis
        self.memory_used -= pod.job.memory_bytes

    def mean_millis(self, now: float) -> float:
        """Mean millicores in use since the last call. Looks and touches nothing: ends do not depend on samples."""
        core_s = self.processor.delivered_by(now)
        elapsed = now - self.sampled_at
        delivered = max(0.0, core_s - self.sampled_core_s)
        self.sampled_at = now
        self.sampled_core_s = core_s
        return 1000.0 * delivered / elapsed if elapsed > 0 else 0.0
