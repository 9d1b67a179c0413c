"""What a pod of the embedded cluster does: train, as a simulated job, or merely run for a time."""

from typing import Any

import msgspec
from msgspec import Struct
from pydantic import ValidationError

from backend.kube import names
from backend.kube.convert import job_of
from backend.model.quantities import QuantityError
from backend.simulation.cluster import Submission
from backend.simulation.presets import PRESETS
from backend.simulation.training import TrainingModel

Object = dict[str, Any]

OUR_IMAGES = frozenset({"podshift", "podshift-train"})
"""Last parts of the names of images whose program is `podshift train`."""
STEPS = "PODSHIFT_TRAIN_STEPS"
"""The variable by which `podshift train` is told how many iterations it does."""
FOR_EVER_S = 1e9
_IDLE_CORES = 0.001
"""What a pod that trains nothing uses: so little that it never waits for the processor, and so ends on time."""


class Work(Struct, frozen=True):
    """A pod's job as the simulator takes it."""

    submission: Submission
    trains: bool
    """Whether it writes progress lines and checkpoints."""


class WorkError(Exception):
    """A pod says what cannot be done."""


def work_of(pod: Object, key: str) -> Work:
    """What a pod does. `key` names the job of a pod that trains nothing, for nothing of it is kept.

    Raises WorkError for annotations and amounts that cannot be read.
    """
    about, spec = pod["metadata"], pod["spec"]
    notes = about.get("annotations") or {}
    try:
        job = job_of(pod)
    except (QuantityError, KeyError, ValueError) as error:
        raise WorkError(f"the pod's resources cannot be read: {error}") from None
    model = _model(notes, job.workload, [str(c.get("image") or "") for c in spec.get("containers") or ()])
    if model is None:
        seconds = _number(notes, names.RUN_SECONDS, FOR_EVER_S)
        model = TrainingModel(
            name="run",
            iterations=1,
            core_s_per_iteration=max(seconds, 1e-6) * _IDLE_CORES,
            parallelism=max(1, round(_IDLE_CORES * 1000)),
            checkpoint_every=0,
        )
        job = msgspec.structs.replace(job, name=key, image_bytes=model.image_size)
        return Work(Submission(0.0, job, model, 1), False)
    own = {"cpu_request": job.cpu_request_millis, "memory": job.memory_bytes}
    if job.cpu_limit_millis:
        own["cpu_limit"] = job.cpu_limit_millis
    iterations = job.iterations or _steps(spec) or model.iterations
    model = model.model_copy(update=own)
    job = msgspec.structs.replace(job, image_bytes=model.image_size, iterations=iterations)
    return Work(Submission(0.0, job, model, iterations), True)


def _model(notes: dict[str, str], workload: str, images: list[str]) -> TrainingModel | None:
    said = notes.get(names.TRAINING)
    if said in PRESETS:
        return PRESETS[said]
    if said:
        try:
            return TrainingModel.model_validate_json(said)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "it"
            raise WorkError(f"annotation {names.TRAINING} is no training model: {where}: {first['msg']}") from None
    if workload in PRESETS:
        return PRESETS[workload]
    if any(_last_part(image) in OUR_IMAGES for image in images):
        return TrainingModel(name="training")
    return None


def _last_part(image: str) -> str:
    return image.partition("@")[0].rpartition("/")[2].partition(":")[0]


def _steps(spec: Object) -> int | None:
    for container in spec.get("containers") or ():
        for variable in container.get("env") or ():
            text = str(variable.get("value") or "")
            if variable.get("name") == STEPS and text.isdecimal() and 0 < int(text) <= 10_000_000:
                return int(text)
    return None


def _number(notes: dict[str, str], key: str, default: float) -> float:
    text = notes.get(key)
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= FOR_EVER_S:
        raise WorkError(f"annotation {key} is '{text[:40]}'; it must be a number of seconds from 0 to {FOR_EVER_S:g}")
    return value
