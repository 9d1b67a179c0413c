"""The three ready examples: they parse, they show migrations, they last as long as a person will watch."""

from pathlib import Path

import pytest

from backend.experiments.execute import run_arm
from backend.experiments.specification import Specification, load
from backend.model import events as ev

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
NAMES = ("seven-jobs", "fifty-jobs", "node-failure")


class Memory(list[ev.Event]):
    """A log in memory; a list has the `append` that a log needs."""


def example(name: str) -> Specification:
    return load(EXAMPLES / f"{name}.yaml")


def test_these_are_the_examples() -> None:
    assert sorted(path.stem for path in EXAMPLES.glob("*.yaml")) == sorted([*NAMES, "edge-images"])


def test_skippy_waits_less_for_images_and_data_at_the_edge() -> None:
    specification = example("edge-images")
    waiting, pulled = {}, {}
    for arm in ("default", "skippy"):
        log = Memory()
        run_arm(specification, arm, specification.seeds[0], log, paced=False)
        assert specification.speed is not None
        assert 5 <= log[-1].time / specification.speed <= 20
        submitted = {event.job.name: event.time for event in log if isinstance(event, ev.JobSubmitted)}
        waiting[arm] = sum(event.time - submitted[event.pod] for event in log if isinstance(event, ev.PodStarted))
        pulled[arm] = sum(event.size_bytes for event in log if isinstance(event, ev.ImagePulled))
    assert waiting["skippy"] < 0.6 * waiting["default"]
    assert pulled["skippy"] < pulled["default"]


@pytest.mark.parametrize("name", NAMES)
def test_an_example_says_what_it_shows(name: str) -> None:
    specification = example(name)
    assert specification.name == name
    assert specification.title
    assert len(specification.description) > 100
    assert [arm.name for arm in specification.arms] == ["default", "migrated"]
    assert specification.pin_initial_placement


@pytest.mark.parametrize("name", NAMES)
def test_an_example_shows_migrations_in_a_time_that_a_person_watches(name: str) -> None:
    specification = example(name)
    seed = specification.seeds[0]
    first, second = Memory(), Memory()
    outcome = run_arm(specification, "default", seed, first, paced=False)
    run_arm(specification, "migrated", seed, second, pinned=outcome.placements, paced=False)
    assert not any(isinstance(event, ev.MigrationFinished) for event in first)
    assert any(isinstance(event, ev.MigrationFinished) for event in second)
    for log in (first, second):
        assert specification.speed is not None
        assert 5 <= log[-1].time / specification.speed <= 20
        ended = [event.job for event in log if isinstance(event, ev.JobFinished)]
        assert sorted(ended) == sorted(event.job.name for event in log if isinstance(event, ev.JobSubmitted))
    before, after = _completion(first), _completion(second)
    assert any(after[job] < time - 1 for job, time in before.items())


def test_migration_pays_for_some_jobs_only() -> None:
    """As in the authors' figure, where 30 of 50 jobs are faster and 20 slower."""
    specification = example("fifty-jobs")
    outcome = run_arm(specification, "default", 1, first := Memory(), paced=False)
    run_arm(specification, "migrated", 1, second := Memory(), pinned=outcome.placements, paced=False)
    before, after = _completion(first), _completion(second)
    assert sum(after[job] < time - 1 for job, time in before.items()) >= 5
    assert sum(after[job] > time + 1 for job, time in before.items()) >= 5


def test_the_node_that_failed_is_used_again_only_with_migration() -> None:
    specification = example("node-failure")
    outcome = run_arm(specification, "default", 1, first := Memory(), paced=False)
    run_arm(specification, "migrated", 1, second := Memory(), pinned=outcome.placements, paced=False)
    after = [
        [event for event in log if isinstance(event, ev.PodBound) and event.node == "node-2" and event.time > 700]
        for log in (first, second)
    ]
    assert after[0] == []
    assert after[1]


def _completion(log: Memory) -> dict[str, float]:
    submitted = {event.job.name: event.time for event in log if isinstance(event, ev.JobSubmitted)}
    return {event.job: event.time - submitted[event.job] for event in log if isinstance(event, ev.JobFinished)}
