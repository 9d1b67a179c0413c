"""TrainingModel: a kind of training job, as presets and specifications describe it."""

from typing import Annotated, Literal

from pydantic import Field

from backend.model.fields import Cpu, Memory, ObjectName, Parameters, PositiveCount, PositiveCpu
from backend.model.objects import Job, Toleration
from backend.simulation.curves import Curve, Exponential

CoreSeconds = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]


class TrainingModel(Parameters):
    """What a training job does and needs."""

    name: ObjectName = Field(description="name of the model; jobs of it are equal pods")
    iterations: PositiveCount = Field(100, le=10_000_000, description="iterations of a full training")
    core_s_per_iteration: CoreSeconds = Field(40.0, description="core-seconds that one iteration takes")
    parallelism: PositiveCpu = Field(8000, description="cores that the job can use at most")
    cpu_request: Cpu = Field(0, description="cores it asks for; 0 as in the authors' experiments")
    cpu_limit: PositiveCpu | None = Field(None, description="cores it may use at most")
    memory: Memory = Field(2 * 2**30, description="memory it asks for")
    image: str = Field("", description="container image; <name>:latest if left out")
    image_size: Memory = Field(10**9, description="bytes to pull where the image is absent")
    checkpoint_every: Annotated[int, Field(ge=0)] = Field(1, description="iterations between checkpoints; 0 is never")
    checkpoint_size: Memory = Field(100 * 2**20, description="bytes of a checkpoint")
    curve: Curve = Field(default_factory=Exponential, description="evaluation value over the training")
    metric: Literal["loss", "accuracy"] = Field("loss", description="what the evaluation value is")
    noise: Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)] = Field(
        0.005, description="standard deviation of the noise, as part of the curve's span"
    )
    work_spread: Annotated[float, Field(ge=0, le=3, allow_inf_nan=False)] = Field(
        0.0, description="sigma of the log-normal spread of iterations between jobs"
    )
    node_selector: dict[str, str] = Field(default={}, description="labels a node must have")
    tolerations: tuple[Toleration, ...] = Field((), description="taints it tolerates")
    labels: dict[str, str] = Field(
        default={}, description="labels of its pods, such as data and capabilities that Skippy looks at"
    )
    template: Annotated[str, Field(max_length=63)] = Field(
        "", description="job template that its pods are made from on a cluster; the built-in training if left out"
    )
    migratable: bool = Field(True, description="whether it may be migrated")

    def job(self, name: str, iterations: int | None = None) -> Job:
        """A job of this model as policies see it, with `iterations` in place of the model's."""
        return Job(
            name=name,
            workload=self.name,
            image=self.image or f"{self.name}:latest",
            cpu_request_millis=self.cpu_request,
            cpu_limit_millis=self.cpu_limit,
            memory_bytes=self.memory,
            image_bytes=self.image_size,
            iterations=self.iterations if iterations is None else iterations,
            metric=self.metric,
            node_selector=dict(self.node_selector),
            tolerations=tuple(self.tolerations),
            migratable=self.migratable,
            labels=dict(self.labels),
        )

    @property
    def ceiling_cores(self) -> float:
        """Cores a job can use at most: the lesser of parallelism and limit."""
        millis = self.parallelism if self.cpu_limit is None else min(self.parallelism, self.cpu_limit)
        return millis / 1000
