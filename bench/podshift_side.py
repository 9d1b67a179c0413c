"""Podshift's side of the measurements: everything a run does, from the specification's objects to the log on disk."""

import gc
import random
import resource
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from backend.control.controller import Controller
from backend.control.loop import drive
from backend.experiments.execute import run_arm
from backend.experiments.specification import load, parse
from backend.experiments.worker import collect_seldom
from backend.folds.summary import summarise
from backend.folds.tables import fold
from backend.migration.life import LifeParameters, MigrationLife
from backend.migration.policies import NoMigration
from backend.model.events import MigrationFinished
from backend.model.objects import Node
from backend.scheduling.profiles import DefaultScheduler
from backend.simulation.cluster import Costs, SimulatedCluster, Submission, Telemetry
from backend.simulation.training import TrainingModel
from backend.store.logs import LogWriter, read
from bench.workload import CORES, SLOTS, Arrival

ROOT = Path(__file__).resolve().parents[1]


def processor_sharing(nodes: int, arrivals: Sequence[Arrival]) -> tuple[float, float, int]:
    """CPU seconds, mean completion time and events of the shared workload: default profile, full log on disk."""
    kind = TrainingModel(
        name="work", iterations=1, parallelism=str(CORES), cpu_request=str(CORES // SLOTS), memory="1Gi", image_size=0
    )
    models = [kind.model_copy(update={"core_s_per_iteration": arrival.work_core_s}) for arrival in arrivals]
    submissions = [
        Submission(arrival.time, model.job(f"job-{k}"), model, 1)
        for k, (arrival, model) in enumerate(zip(arrivals, models, strict=True))
    ]
    machines = [Node(f"node-{k}", CORES * 1000, 64 * 2**30) for k in range(nodes)]
    with tempfile.TemporaryDirectory() as folder:
        log = LogWriter(Path(folder) / "log")
        began = _begin()
        cluster = SimulatedCluster(
            machines, submissions, seed=1, telemetry=Telemetry(progress=0, usage=0), costs=Costs.zero()
        )
        controller = Controller(
            DefaultScheduler(DefaultScheduler.Parameters(), random.Random(1)),
            NoMigration(NoMigration.Parameters()),
            MigrationLife(LifeParameters()),
        )
        drive(cluster, controller, log)
        log.close()
        seconds = time.process_time() - began
        jobs = fold(read(Path(folder) / "log"))["jobs"]
        mean = summarise({"jobs": jobs})["mean_completion_s"]
        return seconds, mean, log.written


def watched(nodes: int = 500, jobs: int = 10_000) -> tuple[float, float, int, int]:
    """Seconds of wall-clock time, peak memory in MB, events and migrations of jobs that SpeCon watches every 10 s."""
    specification = parse(
        {
            "name": "watched",
            "cluster": {"nodes": {"count": nodes, "cpu": "16", "memory": "64Gi"}},
            "workload": {
                "models": ["lenet", "cnn", "vae", "mnist", "gru", "lstm-cfc", "lstm-crf", "birnn"],
                "jobs": jobs,
                "submissions": {"uniform": [0, 3000]},
            },
            "arms": [{"name": "migrated", "migration": {"name": "specon", "interval": 10, "round": 30, "budget": 10}}],
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        log = LogWriter(Path(folder) / "log")
        began = time.perf_counter()
        run_arm(specification, "migrated", 1, log)
        log.close()
        seconds = time.perf_counter() - began
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        moved = sum(isinstance(event, MigrationFinished) for event in read(Path(folder) / "log"))
    return seconds, peak, log.written, moved


def seven_jobs() -> float:
    """Seconds of wall-clock time for both arms of the seven-job experiment, in memory, after start-up."""
    specification = load(ROOT / "examples" / "seven-jobs.yaml")
    began = time.perf_counter()
    placements = None
    for arm in specification.arms:
        placements = run_arm(specification, arm.name, 1, [], pinned=placements, paced=False).placements  # type: ignore[arg-type]
    return time.perf_counter() - began


def _begin() -> float:
    pa.array([0])  # start-up: the first array that pyarrow makes imports pandas
    gc.collect()
    collect_seldom()  # as every process that executes runs does
    return time.process_time()
