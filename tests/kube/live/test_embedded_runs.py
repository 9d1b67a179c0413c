"""Experiments as pods on an embedded cluster: through the real API path, and as the simulator has it."""

import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

from backend.experiments.execute import RunOutcome, run_arm
from backend.experiments.specification import Specification, load
from backend.folds.tables import Fold
from backend.model import events as ev

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
SPEED = 60.0


def seven_jobs(target: str) -> Specification:
    update = {"target": target, "speed": SPEED if target == "embedded" else None}
    return load(EXAMPLES / "seven-jobs.yaml").model_copy(update=update)


def both_arms(target: str) -> dict[str, list[ev.Event]]:
    logs: dict[str, list[ev.Event]] = {"default": [], "migrated": []}
    first: RunOutcome = run_arm(seven_jobs(target), "default", 1, logs["default"])
    run_arm(seven_jobs(target), "migrated", 1, logs["migrated"], pinned=first.placements)
    return logs


@pytest.fixture(scope="module")
def embedded() -> dict[str, list[ev.Event]]:
    return both_arms("embedded")


@pytest.fixture(scope="module")
def simulated() -> dict[str, list[ev.Event]]:
    return both_arms("simulator")


def completion_times(log: list[ev.Event]) -> dict[str, float]:
    fold = Fold()
    for event in log:
        fold.add(event)
    return {row["job"]: row["completion_s"] for row in fold.tables()["jobs"].to_pylist()}


@pytest.mark.parametrize("arm", ["default", "migrated"])
def test_completion_times_are_those_of_the_simulator(
    arm: str, embedded: dict[str, list[ev.Event]], simulated: dict[str, list[ev.Event]]
) -> None:
    there, here = completion_times(embedded[arm]), completion_times(simulated[arm])
    assert there.keys() == here.keys()
    assert statistics.median(abs(there[job] / here[job] - 1) for job in here) < 0.05


def moves(log: list[ev.Event]) -> list[tuple[str, str, str]]:
    return [(e.job, e.source, e.target) for e in log if isinstance(e, ev.MigrationStarted)]


def test_the_same_jobs_move_to_the_same_nodes_as_pods_called_migrated(
    embedded: dict[str, list[ev.Event]], simulated: dict[str, list[ev.Event]]
) -> None:
    log = embedded["migrated"]
    assert moves(log) == moves(simulated["migrated"]) != []
    finished = [event for event in log if isinstance(event, ev.MigrationFinished)]
    assert [event.pod for event in finished] == [f"{job}-migrated" for job, _, _ in moves(log)]


def test_a_job_that_moved_is_one_job_in_the_log(embedded: dict[str, list[ev.Event]]) -> None:
    log = embedded["migrated"]
    ends = [event.job for event in log if isinstance(event, ev.JobFinished)]
    assert len(ends) == len(set(ends)) == 7
    assert not [event for event in log if isinstance(event, ev.JobFailed)]


def test_what_pods_consumed_is_known_from_their_reports(embedded: dict[str, list[ev.Event]]) -> None:
    submissions = {one.job.name: one for one in seven_jobs("embedded").workload.build_submissions(1)}
    finished = [event for event in embedded["default"] if isinstance(event, ev.PodFinished)]
    for event in finished:
        job = submissions[event.pod]
        assert event.core_s == pytest.approx(job.iterations * job.model.core_s_per_iteration, rel=0.05)


def test_an_end_before_the_jobs_have_ended_is_kept(tmp_path: Path) -> None:
    log: list[ev.Event] = []
    outcome = run_arm(seven_jobs("embedded").model_copy(update={"until": 60.0}), "default", 1, log)
    assert outcome.status == "finished"
    assert isinstance(log[-1], ev.RunEnded)
    assert "the limit of 60 s was reached" in log[-1].reason
    assert isinstance(log[-2], ev.WorkMeasured)


def test_a_stop_ends_it_soon(tmp_path: Path) -> None:
    log: list[ev.Event] = []
    outcome = run_arm(
        seven_jobs("embedded"),
        "default",
        1,
        log,
        should_stop=lambda: any(isinstance(event, ev.PodStarted) for event in log),
    )
    assert outcome.status == "stopped"
    assert isinstance(log[-1], ev.RunStopped)


def test_a_node_fails_when_the_specification_says_so() -> None:
    base = load(EXAMPLES / "seven-jobs.yaml").to_mapping()
    base["cluster"]["faults"] = [{"node": "node-1", "at": 60, "back_at": 120}]
    from backend.experiments.specification import parse

    specification = parse({**base, "target": "embedded", "speed": SPEED})
    log: list[ev.Event] = []
    run_arm(specification, "default", 1, log)
    assert [event.node for event in log if isinstance(event, ev.NodeRemoved)] == ["node-1"]
    assert [event.node.name for event in log if isinstance(event, ev.NodeAdded)].count("node-1") == 2
    assert len([event for event in log if isinstance(event, ev.JobFinished)]) == 7


@pytest.fixture(autouse=True)
def no_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """No test may find a cluster that somebody has on this machine."""
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    for name in ("PODSHIFT_KUBECONFIG", "PODSHIFT_CONTEXT", "PODSHIFT_PROMETHEUS"):
        monkeypatch.delenv(name, raising=False)
    yield
