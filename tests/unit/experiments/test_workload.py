"""Which job trains what, under which name, with how much work."""

import math
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backend.experiments.errors import SpecificationError
from backend.experiments.specification import Specification, parse
from backend.model.objects import Toleration
from backend.simulation.presets import PRESETS

NODES = {"nodes": {"count": 2, "cpu": 4, "memory": "8Gi"}}


def specify(**workload: Any) -> Specification:
    return parse({"name": "x", "cluster": NODES, "workload": workload, "arms": [{"name": "a"}]})


def names(specification: Specification, seed: int = 1) -> list[str]:
    return [submission.job.name for submission in specification.workload.build_submissions(seed)]


def test_models_take_turns() -> None:
    specification = specify(models=["lenet", "vae"], jobs=5, submissions={"every": 1})
    assert names(specification) == ["lenet-1", "vae-2", "lenet-3", "vae-4", "lenet-5"]


def test_models_drawn_from_the_seed() -> None:
    specification = specify(models=["lenet", "vae"], jobs=400, submissions={"every": 1}, assign="random")
    assert names(specification, 1) == names(specification, 1)
    assert names(specification, 1) != names(specification, 2)
    assert 150 < sum(name.startswith("vae") for name in names(specification)) < 250


def test_jobs_of_a_list_may_name_themselves_their_model_and_their_time() -> None:
    jobs = [
        {"name": "first", "model": "gru", "at": 5},
        {"model": "vae", "at": 2},
        {"model": "vae", "name": "vae-3", "at": 9},
    ]
    submissions = specify(jobs=jobs).workload.build_submissions(1)
    assert [(one.time, one.job.name, one.job.workload) for one in submissions] == [
        (5, "first", "gru"),
        (2, "vae-2", "vae"),
        (9, "vae-3", "vae"),
    ]


def test_a_made_name_makes_way_for_a_given_one() -> None:
    jobs = [{"name": "vae-2", "model": "vae", "at": 5}, {"model": "vae", "at": 2}]
    assert names(specify(jobs=jobs)) == ["vae-2", "vae-20"]


def test_a_job_overrides_its_model() -> None:
    job = {
        "model": "lenet",
        "at": 0,
        "iterations": 77,
        "cpu_request": "250m",
        "cpu_limit": 2,
        "memory": "3Gi",
        "parallelism": "1500m",
        "node_selector": {"zone": "b"},
        "tolerations": [{"key": "dedicated", "operator": "Exists"}],
        "migratable": False,
    }
    (submission,) = specify(jobs=[job]).workload.build_submissions(1)
    made = submission.job
    assert (made.iterations, submission.iterations) == (77, 77)
    assert (made.cpu_request_millis, made.cpu_limit_millis, made.memory_bytes) == (250, 2000, 3 * 2**30)
    assert (made.node_selector, made.migratable) == ({"zone": "b"}, False)
    assert made.tolerations == (Toleration("dedicated", "Exists"),)
    assert submission.model.parallelism == 1500


def test_a_model_spelled_out() -> None:
    inline = PRESETS["lenet"].model_dump(mode="json") | {"name": "mine", "iterations": 12, "work_spread": 0}
    specification = specify(models=[inline, "vae"], jobs=3, submissions={"every": 1})
    submissions = specification.workload.build_submissions(1)
    assert [(one.job.name, one.model.name) for one in submissions] == [
        ("mine-1", "mine"),
        ("vae-2", "vae"),
        ("mine-3", "mine"),
    ]
    assert submissions[0].iterations == 12
    assert parse(specification.to_yaml()) == specification


def test_presets_are_written_by_name_and_other_models_in_full() -> None:
    inline = PRESETS["lenet"].model_dump(mode="json") | {"iterations": 12}
    specification = specify(models=[inline, "vae"], jobs=3, submissions={"every": 1})
    written = specification.to_mapping()["workload"]["models"]
    assert written[0]["iterations"] == 12
    assert written[1] == "vae"


def test_the_workload_of_a_seed_is_the_same_each_time() -> None:
    specification = specify(models=["lenet", "vae"], jobs=30, submissions={"poisson": {"rate": 1}}, assign="random")
    assert specification.workload.build_submissions(4) == specification.workload.build_submissions(4)
    assert specification.workload.build_submissions(4) != specification.workload.build_submissions(5)


def test_long_names_of_models_are_cut() -> None:
    inline = PRESETS["lenet"].model_dump(mode="json") | {"name": "m" * 53}
    (name,) = names(specify(models=[inline], jobs=1, submissions={"every": 1}))
    assert name == "m" * 51 + "-1"


def test_work_is_spread_around_the_iterations_of_the_model() -> None:
    """Log-normal with mean 1: 4,000 jobs have a mean near 1,000 and logarithms that deviate by about 0.5."""
    inline = PRESETS["lenet"].model_dump(mode="json") | {"name": "m", "iterations": 1000, "work_spread": 0.5}
    jobs = specify(models=[inline], jobs=4000, submissions={"every": 1}).workload.build_submissions(1)
    work = [submission.iterations for submission in jobs]
    logs = [math.log(one) for one in work]
    assert statistics.mean(work) == pytest.approx(1000, rel=0.03)
    assert statistics.stdev(logs) == pytest.approx(0.5, rel=0.04)
    assert all(submission.job.iterations == submission.iterations for submission in jobs)


def test_no_spread_means_equal_work() -> None:
    inline = PRESETS["lenet"].model_dump(mode="json") | {"name": "m", "iterations": 1000, "work_spread": 0}
    jobs = specify(models=[inline], jobs=5, submissions={"every": 1}).workload.build_submissions(1)
    assert [submission.iterations for submission in jobs] == [1000] * 5


def test_setting_the_work_of_one_job_leaves_that_of_the_others() -> None:
    entries: list[dict[str, Any]] = [{"model": "vae", "at": place} for place in range(4)]
    shorter = [entries[0], entries[1] | {"iterations": 5}, *entries[2:]]
    before, after = (
        [one.iterations for one in specify(jobs=jobs).workload.build_submissions(1)] for jobs in (entries, shorter)
    )
    assert after == [before[0], 5, *before[2:]]
    assert len(set(before)) > 1


RECORDED = {"name": "mine", "curve": {"kind": "recorded", "file": "curve.csv"}}


def recorded(folder: Path | None) -> Specification:
    workload = {"models": [RECORDED], "jobs": 1, "submissions": {"every": 1}}
    document = {"name": "x", "cluster": NODES, "workload": workload, "arms": [{"name": "a"}]}
    return parse(document, folder=folder)


def test_a_recorded_curve_is_taken_into_the_specification(tmp_path: Path) -> None:
    (tmp_path / "curve.csv").write_text("progress,metric\n0,2\n5,1\n10,0.5\n")
    specification = recorded(tmp_path)
    (submission,) = specification.workload.build_submissions(1)
    assert submission.model.curve.values(np.array([0.0, 0.25, 1.0])).tolist() == [2.0, 1.5, 0.5]
    assert parse(specification.to_yaml()) == specification


@pytest.mark.parametrize(
    ("content", "words"),
    [(None, "is no file"), ("a,b\n1,2", "columns progress and metric"), ("progress,metric\n1,x", "line 2")],
    ids=["missing", "other columns", "words"],
)
def test_broken_curves(tmp_path: Path, content: str | None, words: str) -> None:
    if content is not None:
        (tmp_path / "curve.csv").write_text(content)
    with pytest.raises(SpecificationError) as caught:
        recorded(tmp_path)
    (error,) = caught.value.errors
    assert error.field == "workload.models.0.curve.file"
    assert words in error.message


def test_a_recorded_curve_is_not_read_through_the_api() -> None:
    with pytest.raises(SpecificationError, match="command line only"):
        recorded(None)


@pytest.mark.parametrize("preset", PRESETS)
def test_every_kind_of_curve_reads_back(preset: str) -> None:
    changed = PRESETS[preset].model_dump(mode="json") | {"name": "mine", "cpu_request": "1500m", "metric": "accuracy"}
    specification = specify(models=[changed], jobs=1, submissions={"every": 1})
    assert parse(specification.to_yaml()) == specification
    assert specification.workload.models[0].curve == PRESETS[preset].curve
