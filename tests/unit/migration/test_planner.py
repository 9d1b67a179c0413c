"""Verdicts of one round: each refusal, the choice of the target, budget, once-only and cool-down."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.migration.picture import Picture
from backend.migration.planner import Planner, PlannerParameters, Round
from backend.migration.purposes import EvenOut, FillIdle, HelpProgressing
from backend.model import events as ev
from backend.model.objects import Node, Pod, Taint, Toleration
from backend.model.state import ClusterState

GIB = 2**30
HELP = HelpProgressing(2.0, 15.0)
REFUSED = "no-fitting-node"


def planner(**parameters: Any) -> Planner:
    return Planner(PlannerParameters.model_validate(parameters))


def open_round(scene: Any, planner: Planner, slow: tuple[str, ...] = (), **usage: float) -> Round:
    named = {node.replace("_", "-"): millis for node, millis in usage.items()}
    return planner.open(scene.state, lambda: Picture(scene.state, named, slow))


def consider(scene: Any, this: Round, job: str, purpose: Any = HELP) -> ev.MigrationConsidered:
    considered = this.consider(scene.state.pods[scene.state.jobs[job].pod], purpose)
    assert considered is not None
    return considered


def home(scene: Any, **fields: Any) -> Any:
    """Node-1 with the converged job-c, fast-1 and fast-2; node-2 and node-3 empty."""
    made = scene(nodes=3)
    made.run("job-c", "node-1", **fields)
    made.run("fast-1", "node-1")
    made.run("fast-2", "node-1")
    made.state.time = 100.0
    return made


def test_a_converged_job_leaves_those_that_progress(scene: Any) -> None:
    made = home(scene)
    verdict = consider(made, open_round(made, planner(), ("job-c",)), "job-c")
    assert (verdict.verdict, verdict.source, verdict.target, verdict.gain) == ("migrate", "node-1", "node-2", 2.0)


def test_a_verdict_says_what_it_compared(scene: Any) -> None:
    made = home(scene)
    verdict = consider(made, open_round(made, planner(), ("job-c",), node_2=500.0), "job-c")
    assert verdict.candidates == {
        "node-3": {"progressing": 0.0, "cpu_millis": 0.0, "running": 0.0, "gain": 2.0},
        "node-2": {"progressing": 0.0, "cpu_millis": 500.0, "running": 0.0, "gain": 2.0},
    }
    assert verdict.reason == (
        "job-c moves from node-1 to node-3: "
        "node-1 has 3 jobs (2 progressing), node-3 has 0 jobs (0 progressing); gain 2"
    )


def migrating(made: Any) -> None:
    made.state.apply(ev.MigrationStarted(100.0, 1, "job-c", "job-c", "node-1", "node-2", "manual", "by hand"))


def nobody_progresses(made: Any) -> None:
    made.end("fast-1")
    made.end("fast-2")
    made.run("slow-1", "node-1")


def no_room(made: Any) -> None:
    for number in (2, 3):
        made.run(f"big-{number}", f"node-{number}", memory_bytes=40 * GIB)


def as_full_elsewhere(made: Any) -> None:
    for number in (2, 3):
        made.run(f"other-{number}-a", f"node-{number}")
        made.run(f"other-{number}-b", f"node-{number}")


def report(iteration: float, epoch_s: float) -> Callable[[Any], None]:
    return lambda made: made.report(100.0, {"job-c": 1.0}, iteration=iteration, epoch_s=epoch_s)


REFUSALS = [
    pytest.param({}, migrating, "in-migration", "in migration already", id="in-migration"),
    pytest.param({"migratable": False}, None, "not-migratable", "not migratable", id="not-migratable"),
    pytest.param({"iterations": 100}, report(90.0, 2.0), "nearly-finished", "20 s of work", id="nearly-finished"),
    pytest.param({}, nobody_progresses, "nobody-to-help", "nobody would gain", id="nobody-to-help"),
    pytest.param({"memory_bytes": 32 * GIB}, no_room, "no-fitting-node", "32Gi of memory", id="no room"),
    pytest.param({"node_selector": {"zone": "b"}}, None, "no-fitting-node", "no other node", id="no label"),
    pytest.param({}, as_full_elsewhere, "no-better-node", "gain 0 is not above 0", id="as full elsewhere"),
]


@pytest.mark.parametrize(("fields", "prepare", "verdict", "words"), REFUSALS)
def test_refusals(scene: Any, fields: dict[str, Any], prepare: Any, verdict: str, words: str) -> None:
    made = home(scene, **fields)
    if prepare is not None:
        prepare(made)
    found = consider(made, open_round(made, planner(), ("job-c", "slow-1")), "job-c")
    assert found.verdict == verdict
    assert words in found.reason
    assert found.reason.startswith("job-c stays")


def test_more_progressing_jobs_on_the_target_refuse_it_whatever_the_gain(scene: Any) -> None:
    """node-1: 4 jobs, 1 progressing; node-2: 2 jobs, both progressing; gain 1 but more would be disturbed."""
    made = scene(nodes=2)
    for job in ("slow-1", "slow-2", "slow-3", "fast-1"):
        made.run(job, "node-1")
    for job in ("fast-2", "fast-3"):
        made.run(job, "node-2")
    found = consider(made, open_round(made, planner(), ("slow-1", "slow-2", "slow-3")), "slow-1")
    assert (found.verdict, found.gain) == ("no-better-node", 1.0)
    assert "disturbed" in found.reason


@pytest.mark.parametrize(
    ("iterations", "iteration", "epoch_s", "verdict"),
    [
        pytest.param(None, 90.0, 2.0, "migrate", id="no total: not known"),
        pytest.param(100, 90.0, 2.0, "nearly-finished", id="20 s left"),
        pytest.param(100, 85.0, 2.0, "migrate", id="30 s left, exactly 2 x 15 s"),
        pytest.param(100, 1.0, 0.0, "migrate", id="no epoch yet: not known"),
        pytest.param(100, 99.0, 200.0, "migrate", id="one long epoch left"),
    ],
)
def test_nearly_finished(scene: Any, iterations: int | None, iteration: float, epoch_s: float, verdict: str) -> None:
    made = home(scene, iterations=iterations)
    report(iteration, epoch_s)(made)
    assert consider(made, open_round(made, planner(), ("job-c",)), "job-c").verdict == verdict


ZONE = {"zone": "a"}


@pytest.mark.parametrize(
    ("node", "verdict"),
    [
        pytest.param(Node("node-2", 16_000, 64 * GIB, labels=ZONE), "migrate", id="nothing in the way"),
        pytest.param(Node("node-2", 16_000, 64 * GIB, labels=ZONE, ready=False), REFUSED, id="not ready"),
        pytest.param(Node("node-2", 16_000, 64 * GIB, labels=ZONE, unschedulable=True), REFUSED, id="cordoned"),
        pytest.param(Node("node-2", 16_000, 64 * GIB, labels=ZONE, taints=(Taint("k"),)), REFUSED, id="NoSchedule"),
        pytest.param(
            Node("node-2", 16_000, 64 * GIB, labels=ZONE, taints=(Taint("k", "NoExecute"),)), REFUSED, id="NoExecute"
        ),
        pytest.param(Node("node-2", 16_000, 64 * GIB, labels={"zone": "b"}), REFUSED, id="other label"),
        pytest.param(Node("node-2", 999, 64 * GIB, labels=ZONE), REFUSED, id="too few cores"),
        pytest.param(Node("node-2", 1000, 64 * GIB, labels=ZONE), "migrate", id="just enough cores"),
        pytest.param(Node("node-2", 16_000, GIB, labels=ZONE), REFUSED, id="too little memory"),
        pytest.param(Node("node-2", 16_000, 64 * GIB, 0, labels=ZONE), REFUSED, id="no pod more"),
    ],
)
def test_a_node_that_cannot_take_the_job_is_no_candidate(scene: Any, node: Node, verdict: str) -> None:
    made = scene(nodes=0)
    made.apply(ev.NodeAdded(0.0, Node("node-1", 16_000, 64 * GIB, labels=ZONE)))
    made.apply(ev.NodeAdded(0.0, node))
    made.run("job-c", "node-1", node_selector=ZONE, cpu_request_millis=1000, memory_bytes=2 * GIB)
    for job in ("fast-1", "fast-2"):
        made.run(job, "node-1")
    assert consider(made, open_round(made, planner(), ("job-c",)), "job-c").verdict == verdict


@pytest.mark.parametrize(
    ("taint", "tolerations"),
    [
        pytest.param(Taint("key1"), (Toleration("key1", "Exists"),), id="tolerated"),
        pytest.param(Taint("key1", "PreferNoSchedule"), (), id="only preferred"),
    ],
)
def test_a_taint_that_keeps_nobody_away_is_no_obstacle(
    scene: Any, taint: Taint, tolerations: tuple[Toleration, ...]
) -> None:
    made = scene(nodes=1)
    made.apply(ev.NodeAdded(0.0, Node("node-2", 16_000, 64 * GIB, taints=(taint,))))
    made.run("job-c", "node-1", tolerations=tolerations)
    for job in ("fast-1", "fast-2"):
        made.run(job, "node-1")
    assert consider(made, open_round(made, planner(), ("job-c",)), "job-c").target == "node-2"


def test_a_node_that_has_left_is_no_candidate(scene: Any) -> None:
    made = home(scene)
    made.apply(ev.NodeRemoved(100.0, "node-2", "failed"))
    assert consider(made, open_round(made, planner(), ("job-c",)), "job-c").target == "node-3"


def test_a_single_node_has_nobody_to_give_to(scene: Any) -> None:
    made = scene(nodes=1)
    made.run("job-c", "node-1")
    made.run("fast-1", "node-1")
    assert consider(made, open_round(made, planner(), ("job-c",)), "job-c").verdict == "no-fitting-node"


@pytest.mark.parametrize(
    ("jobs", "slow", "usage", "target"),
    [
        pytest.param({"node-2": 1, "node-3": 1}, ("node-3-0",), {}, "node-3", id="fewest progressing first"),
        pytest.param({"node-2": 0, "node-3": 0}, (), {"node_2": 900.0, "node_3": 800.0}, "node-3", id="then CPU use"),
        pytest.param({"node-2": 1, "node-3": 0}, ("node-2-0",), {}, "node-3", id="then number of jobs"),
        pytest.param({"node-2": 0, "node-3": 0}, (), {}, "node-2", id="then name"),
    ],
)
def test_the_target_is_the_least_by_section_4_7(
    scene: Any, jobs: dict[str, int], slow: tuple[str, ...], usage: dict[str, float], target: str
) -> None:
    made = home(scene)
    for node, count in jobs.items():
        for number in range(count):
            made.run(f"{node}-{number}", node)
    assert consider(made, open_round(made, planner(), ("job-c", *slow), **usage), "job-c").target == target


def test_cpu_use_is_compared_as_a_share_of_the_node(scene: Any) -> None:
    made = home(scene)
    made.apply(ev.NodeAdded(0.0, Node("node-4", 64_000, 64 * GIB)))
    usage = {"node_2": 2000.0, "node_3": 2000.0, "node_4": 4000.0}
    assert consider(made, open_round(made, planner(), ("job-c",), **usage), "job-c").target == "node-4"


def test_without_usage_samples_the_reports_of_the_pods_tell_the_cpu_use(scene: Any) -> None:
    made = home(scene)
    for node in ("node-2", "node-3"):
        made.run(f"slow-{node}", node)
    made.report(100.0, {"slow-node-2": 1.0}, cpu_millis=3000.0)
    made.report(100.0, {"slow-node-3": 1.0}, cpu_millis=2000.0)
    slow = ("job-c", "slow-node-2", "slow-node-3")
    assert consider(made, open_round(made, planner(), slow), "job-c").target == "node-3"


# -- budget, once only, cool-down


def crowd(scene: Any) -> Any:
    """Six converged jobs and one that progresses on node-1, two empty nodes."""
    made = scene(nodes=3)
    for number in range(6):
        made.run(f"slow-{number}", "node-1")
    made.run("fast", "node-1")
    made.state.time = 100.0
    return made


SLOW = tuple(f"slow-{number}" for number in range(6))


@pytest.mark.parametrize("budget", [1, 2, 3])
def test_a_round_begins_no_more_than_its_budget(scene: Any, budget: int) -> None:
    made = crowd(scene)
    this = open_round(made, planner(budget=budget), SLOW)
    verdicts = [consider(made, this, job).verdict for job in SLOW]
    assert verdicts == ["migrate"] * budget + ["round-budget"] * (6 - budget)


def test_a_move_changes_the_picture_of_its_round_at_once(scene: Any) -> None:
    """7 jobs on node-1, none elsewhere: node-2, node-3, node-2, node-3; then 3 to 2 is no gain."""
    made = crowd(scene)
    this = open_round(made, planner(budget=9), SLOW)
    found = [consider(made, this, job) for job in SLOW]
    assert [verdict.target for verdict in found] == ["node-2", "node-3", "node-2", "node-3", "node-2", "node-2"]
    assert [verdict.gain for verdict in found] == [6.0, 5.0, 3.0, 2.0, 0.0, 0.0]
    assert [verdict.verdict for verdict in found][4:] == ["no-better-node"] * 2


def test_the_cpu_of_a_job_on_its_way_counts_on_the_target(scene: Any) -> None:
    made = crowd(scene)
    made.report(100.0, {"slow-0": 1.0}, cpu_millis=4000.0)
    this = open_round(made, planner(budget=9), SLOW)
    consider(made, this, "slow-0")
    assert {name: load.cpu_millis for name, load in this.picture.loads.items()} == {
        "node-1": 0.0,
        "node-2": 4000.0,
        "node-3": 0.0,
    }


def test_requests_of_a_job_on_its_way_are_held_on_the_target(scene: Any) -> None:
    made = scene(nodes=2)
    for number in range(4):
        made.run(f"slow-{number}", "node-1", memory_bytes=16 * GIB)
    made.apply(ev.NodeChanged(0.0, Node("node-2", 16_000, 16 * GIB)))
    made.run("fast", "node-1")
    this = open_round(made, planner(budget=9), SLOW[:4])
    assert [consider(made, this, job).verdict for job in SLOW[:2]] == ["migrate", "no-fitting-node"]


def test_a_migration_between_two_pods_counts_on_its_target(scene: Any) -> None:
    """The old pod is gone, the new one not there yet: node-2 is not empty."""
    made = crowd(scene)
    made.apply(
        ev.MigrationStarted(100.0, 1, "slow-0", "slow-0", "node-1", "node-2", "converged", ""),
        ev.PodEvicted(101.0, "slow-0", "node-1", "migration"),
    )
    assert consider(made, open_round(made, planner(), SLOW), "slow-1").target == "node-3"


def test_a_migration_whose_old_pod_is_still_there_counts_on_its_target_only(scene: Any) -> None:
    made = crowd(scene)
    made.apply(ev.MigrationStarted(100.0, 1, "slow-0", "slow-0", "node-1", "node-2", "converged", ""))
    picture = Picture(made.state, {}, SLOW)
    assert [(load.running, load.progressing) for load in picture.loads.values()] == [(6, 1), (1, 0), (0, 0)]


def test_a_job_moves_once_in_its_life(scene: Any) -> None:
    made = crowd(scene)
    plan = planner()
    consider(made, open_round(made, plan, SLOW), "slow-0")
    made.state.time = 1e6
    found = consider(made, open_round(made, plan, SLOW), "slow-0")
    assert (found.verdict, "1 of 1 migrations" in found.reason) == ("already-migrated", True)


def test_a_migration_begun_by_hand_counts(scene: Any) -> None:
    made = crowd(scene)
    made.apply(
        ev.MigrationStarted(50.0, 1, "slow-0", "slow-0", "node-2", "node-1", "manual", ""),
        ev.MigrationFinished(60.0, 1, "slow-0", "slow-0", "node-1", 10.0),
    )
    assert consider(made, open_round(made, planner(), SLOW), "slow-0").verdict == "already-migrated"


@pytest.mark.parametrize(
    ("now", "verdict"), [(150.0, "cooling-down"), (159.9, "cooling-down"), (160.0, "migrate")], ids=str
)
def test_a_second_migration_waits_for_the_cooldown(scene: Any, now: float, verdict: str) -> None:
    made = crowd(scene)
    plan = planner(max_migrations=2, cooldown=60)
    consider(made, open_round(made, plan, SLOW), "slow-0")
    made.state.time = now
    assert consider(made, open_round(made, plan, SLOW), "slow-0").verdict == verdict


def test_a_job_does_not_move_twice_in_one_round(scene: Any) -> None:
    made = crowd(scene)
    this = open_round(made, planner(max_migrations=9, cooldown=0, budget=9), SLOW)
    assert [consider(made, this, "slow-0").verdict for _ in range(2)] == ["migrate", "in-migration"]


@pytest.mark.parametrize(("margin", "verdict"), [(1, "migrate"), (2, "no-better-node")])
def test_the_gain_has_to_be_above_the_margin(scene: Any, margin: int, verdict: str) -> None:
    made = home(scene)
    assert consider(made, open_round(made, planner(margin=margin), ("job-c",)), "job-c").verdict == verdict


# -- what is logged


def test_a_refusal_is_said_once(scene: Any) -> None:
    made = crowd(scene)
    made.end("fast")
    plan = planner()
    pod = made.state.pods["slow-0"]
    said = [open_round(made, plan, SLOW).consider(pod, HELP) is not None for _ in range(3)]
    assert said == [True, False, False]


def test_a_refusal_is_said_again_on_demand(scene: Any) -> None:
    made = crowd(scene)
    made.end("fast")
    plan = planner(repeat_refusals=True)
    pod = made.state.pods["slow-0"]
    assert all(open_round(made, plan, SLOW).consider(pod, HELP) is not None for _ in range(3))


def test_another_refusal_is_said(scene: Any) -> None:
    made = crowd(scene)
    plan = planner()
    this = open_round(made, plan, SLOW)
    consider(made, this, "slow-0")
    assert consider(made, this, "slow-1").verdict == "round-budget"
    made.end("fast")
    assert consider(made, open_round(made, plan, SLOW), "slow-1").verdict == "nobody-to-help"


def test_rounds_are_numbered(scene: Any) -> None:
    made = crowd(scene)
    plan = planner()
    assert [consider(made, open_round(made, plan, SLOW), job).round for job in SLOW[:3]] == [1, 2, 3]


def test_only_so_many_nodes_are_explained(scene: Any) -> None:
    made = scene(nodes=12)
    for job in ("job-c", "fast-1", "fast-2"):
        made.run(job, "node-1")
    found = consider(made, open_round(made, planner(explain_nodes=3), ("job-c",)), "job-c")
    assert list(found.candidates) == ["node-10", "node-11", "node-12"]


def test_no_picture_is_drawn_for_a_job_that_stays_anyway(scene: Any) -> None:
    made = home(scene, migratable=False)

    def fail() -> Picture:
        raise AssertionError("nobody had to look at the nodes")

    assert planner().open(made.state, fail).consider(made.state.pods["job-c"], HELP) is not None


# -- properties over random pictures


@st.composite
def crowds(draw: st.DrawFn) -> tuple[list[list[bool]], int]:
    """Per node, for each job on it whether it is slow; and a budget."""
    nodes = draw(st.lists(st.lists(st.booleans(), max_size=7), min_size=1, max_size=6))
    return nodes, draw(st.integers(1, 4))


def squares(state: ClusterState) -> int:
    return sum(state.running_on(name) ** 2 for name in state.nodes.names)


def populate(scene: Any, nodes: list[list[bool]]) -> tuple[Any, list[str]]:
    made = scene(nodes=len(nodes))
    slow = []
    for number, jobs in enumerate(nodes, 1):
        for index, is_slow in enumerate(jobs):
            job = f"job-{number}-{index}"
            made.run(job, f"node-{number}")
            if is_slow:
                slow.append(job)
    return made, slow


def rounds(made: Any, plan: Planner, slow: list[str], purpose: Any) -> list[list[ev.MigrationConsidered]]:
    """The moves of each round, carried out at once, until a round has none."""
    all_moves = []
    while True:
        made.state.time += 30.0
        this = open_round(made, plan, tuple(slow))
        verdicts = [this.consider(made.state.pods[made.state.jobs[job].pod], purpose) for job in slow]
        moves = [verdict for verdict in verdicts if verdict is not None and verdict.verdict == "migrate"]
        for move in moves:
            number, before = sum(map(len, all_moves)) + 1, squares(made.state)
            made.apply(
                ev.PodEvicted(made.state.time, move.pod, move.source, "migration"),
                ev.PodCreated(made.state.time, Pod(f"{move.job}-{number}", move.job)),
                ev.PodBound(made.state.time, f"{move.job}-{number}", move.target or ""),
                ev.PodStarted(made.state.time, f"{move.job}-{number}", move.target or ""),
            )
            assert move.gain is not None
            assert before - squares(made.state) == 2 * move.gain
        if not moves:
            return all_moves
        all_moves.append(moves)


@given(crowd=crowds(), purpose=st.sampled_from([HELP, FillIdle(2.0, 15.0, 0.1), EvenOut()]))
def test_each_move_lowers_the_sum_of_squares_and_moves_come_to_an_end(
    scene: Any, crowd: tuple[list[list[bool]], int], purpose: Any
) -> None:
    """Without the once-only rule: the gain alone ends it."""
    made, slow = populate(scene, crowd[0])
    plan = planner(budget=crowd[1], max_migrations=10_000, cooldown=0)
    before = squares(made.state)
    moves = [move for moved in rounds(made, plan, slow, purpose) for move in moved]
    assert before - squares(made.state) == sum(2 * (move.gain or 0.0) for move in moves)
    assert all((move.gain or 0.0) > 0 for move in moves)


@given(crowd=crowds())
def test_no_round_is_over_budget_and_no_job_moves_twice(scene: Any, crowd: tuple[list[list[bool]], int]) -> None:
    made, slow = populate(scene, crowd[0])
    moved = rounds(made, planner(budget=crowd[1]), slow, HELP)
    assert all(len(moves) <= crowd[1] for moves in moved)
    jobs = [move.job for moves in moved for move in moves]
    assert len(jobs) == len(set(jobs))


@given(crowd=crowds())
def test_no_job_leaves_a_node_where_nobody_progresses(scene: Any, crowd: tuple[list[list[bool]], int]) -> None:
    made, slow = populate(scene, crowd[0])
    fast_at = {f"node-{number}" for number, jobs in enumerate(crowd[0], 1) if not all(jobs)}
    moved = rounds(made, planner(budget=crowd[1]), slow, HELP)
    assert all(move.source in fast_at for moves in moved for move in moves)
