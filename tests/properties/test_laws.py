"""Laws that every run keeps, over random experiments: the whole way from a specification to its log."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backend.experiments.build import build_arm
from backend.experiments.execute import run_arm
from backend.experiments.specification import Specification, parse
from backend.folds.tables import fold
from backend.model import events as ev
from backend.model.state import ClusterState

LAWFUL = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
MODELS = ("lenet", "cnn", "vae", "mnist", "gru", "birnn")
MIGRATIONS = st.sampled_from(
    [
        {"name": "none"},
        {"name": "specon"},
        {"name": "specon", "rebalance": True},
        {"name": "specon", "interval": 5, "round": 15, "alpha": 0.3},
        {"name": "least-loaded"},
    ]
)


@st.composite
def specifications(draw: st.DrawFn, migration: Any = MIGRATIONS) -> Specification:
    nodes = draw(st.integers(2, 4))
    faults = draw(st.booleans())
    return parse(
        {
            "name": "random",
            "cluster": {
                "nodes": {"count": nodes, "cpu": "8", "memory": "16Gi"},
                "costs": {"mode": draw(st.sampled_from(["checkpoint", "restart"]))},
                "faults": [{"node": "node-1", "at": 120, "back_at": 300}] if faults else [],
            },
            "workload": {
                "models": list(draw(st.sets(st.sampled_from(MODELS), min_size=1, max_size=4))),
                "jobs": draw(st.integers(2, 12)),
                "assign": "random",
                "submissions": {"uniform": [0, draw(st.integers(1, 300))]},
            },
            "arms": [
                {
                    "name": "one",
                    "scheduler": {"name": draw(st.sampled_from(["default", "random", "round-robin", "procon"]))},
                    "migration": draw(migration),
                }
            ],
            "seeds": [draw(st.integers(0, 10_000))],
        }
    )


def log_of(specification: Specification) -> list[ev.Event]:
    log: list[ev.Event] = []
    run_arm(specification, "one", specification.seeds[0], log, paced=False)  # type: ignore[arg-type]
    return log


@LAWFUL
@given(specifications())
def test_no_node_is_ever_asked_for_more_than_it_has(specification: Specification) -> None:
    state = ClusterState()
    for event in log_of(specification):
        state.apply(event)
        table = state.nodes
        assert (table.requested_memory_bytes <= table.memory_bytes).all()
        assert (table.requested_cpu_millis <= table.cpu_millis).all()
        assert (table.pods <= table.max_pods).all()
        if isinstance(event, ev.UsageSampled):
            assert all(millis <= 8000 * (1 + 1e-9) for millis in event.cpu_millis)


@LAWFUL
@given(specifications())
def test_work_is_conserved(specification: Specification) -> None:
    """Core-seconds delivered = core-seconds the jobs needed + core-seconds lost."""
    log = log_of(specification)
    seed = specification.seeds[0]
    needed = sum(
        one.iterations * one.model.core_s_per_iteration for one in specification.workload.build_submissions(seed)
    )
    delivered = sum(event.core_s for event in log if isinstance(event, ev.PodFinished | ev.PodEvicted))
    lost = sum(event.lost_core_s for event in log if isinstance(event, ev.PodEvicted))
    assert delivered == pytest.approx(needed + lost, rel=1e-6)


@LAWFUL
@given(specifications())
def test_every_job_ends_exactly_once_and_by_one_pod_at_a_time(specification: Specification) -> None:
    log = log_of(specification)
    ends = Counter(event.job for event in log if isinstance(event, ev.JobFinished | ev.JobFailed))
    submitted = [event.job.name for event in log if isinstance(event, ev.JobSubmitted)]
    assert ends == Counter(submitted)
    active: Counter[str] = Counter()
    jobs: dict[str, str] = {}
    for event in log:
        if isinstance(event, ev.PodCreated):
            assert event.pod.name not in jobs, "a pod name was given twice"
            jobs[event.pod.name] = event.pod.job
            active[event.pod.job] += 1
            assert active[event.pod.job] == 1
        elif isinstance(event, ev.PodFinished | ev.PodEvicted):
            active[jobs[event.pod]] -= 1


@LAWFUL
@given(specifications())
def test_at_most_one_migration_a_job_and_one_a_round(specification: Specification) -> None:
    begun = [event for event in log_of(specification) if isinstance(event, ev.MigrationStarted)]
    assert all(count == 1 for count in Counter(event.job for event in begun).values())
    assert all(count == 1 for count in Counter(event.time for event in begun).values())


@LAWFUL
@given(specifications(st.just({"name": "specon"})))
def test_specon_moves_only_where_somebody_progresses_at_home_and_squares_fall(specification: Specification) -> None:
    """The sum of squared job counts falls with each move of the default gain rule (specon-procon.md, A2)."""
    state = ClusterState()
    for event in log_of(specification):
        if isinstance(event, ev.MigrationStarted) and event.cause == "converged":
            # A pod that is still pulling its image counts: new containers begin as progressing (section 1.4).
            neighbours = [pod for name, pod in state.pods_on[event.source].items() if name != event.pod]
            assert any(pod.category == "progressing" for pod in neighbours)
            source, target = state.running_on(event.source), state.running_on(event.target)
            assert (source - 1) ** 2 + (target + 1) ** 2 < source**2 + target**2
        state.apply(event)


@LAWFUL
@given(specifications())
def test_state_rebuilt_from_the_log_equals_the_state_kept(specification: Specification) -> None:
    seed = specification.seeds[0]
    cluster, controller = build_arm(specification, "one", seed)
    log: list[ev.Event] = []
    for event in cluster.events():
        log.append(event)
        for outcome in controller.handle(event):
            if isinstance(outcome, ev.Event):
                log.append(outcome)
            else:
                cluster.execute(outcome)
    rebuilt = ClusterState()
    for event in ev.decode_lines(ev.encode_lines(log)):
        rebuilt.apply(event)
    kept, again = controller.state.as_dict(), rebuilt.as_dict()
    assert again == kept


@LAWFUL
@given(specifications())
def test_one_seed_gives_one_log_byte_for_byte(specification: Specification) -> None:
    assert ev.encode_lines(log_of(specification)) == ev.encode_lines(log_of(specification))


@LAWFUL
@given(specifications())
def test_tables_agree_with_the_log(specification: Specification) -> None:
    log = log_of(specification)
    tables = fold(log)
    finished = sum(isinstance(event, ev.JobFinished) for event in log)
    assert tables["jobs"].column("outcome").to_pylist().count("finished") == finished
    assert tables["segments"].num_rows == sum(isinstance(event, ev.PodBound) for event in log)
    assert tables["considerations"].num_rows == sum(isinstance(event, ev.MigrationConsidered) for event in log)
    assert "open" not in tables["segments"].column("end").to_pylist()
