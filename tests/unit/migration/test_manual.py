"""What a person asks for: a move, a pause, a dry run."""

from typing import Any

import pytest

from backend.migration.manual import consider
from backend.model import events as ev
from tests.unit.migration.test_planner import consider as by_policy
from tests.unit.migration.test_planner import home, open_round, planner

GIB = 2**30


def ask(made: Any, job: str = "job-c", target: str | None = None, by: str = "ada") -> ev.MigrationConsidered:
    return consider(ev.MigrationAsked(made.state.time, job, target, by), made.state)


def test_a_job_moves_to_the_node_that_was_asked_for(scene: Any) -> None:
    made = home(scene)
    found = ask(made, target="node-3")
    assert (found.verdict, found.source, found.target, found.cause) == ("migrate", "node-1", "node-3", "manual")
    assert found.reason == "job-c moves from node-1 to node-3: ada asked for it"


def test_without_a_target_it_is_the_node_with_the_fewest_jobs(scene: Any) -> None:
    made = home(scene)
    made.run("other", "node-2")
    assert ask(made).target == "node-3"


def test_a_job_that_moved_before_moves_again(scene: Any) -> None:
    made = home(scene)
    made._take(by_policy(made, open_round(made, planner(), ("job-c",)), "job-c"))
    assert made.state.jobs["job-c"].migrations == 1
    assert ask(made, target="node-1").verdict == "migrate"


def ended(made: Any) -> None:
    made.end("job-c")


def under_way(made: Any) -> None:
    made.apply(ev.MigrationStarted(100.0, 1, "job-c", "job-c", "node-1", "node-2", "manual", "because"))


def full(made: Any) -> None:
    made.run("big", "node-2", memory_bytes=64 * GIB)


@pytest.mark.parametrize(
    ("fields", "prepare", "target", "verdict", "words"),
    [
        pytest.param({}, ended, None, "not-migratable", "it has ended", id="ended"),
        pytest.param({}, under_way, None, "in-migration", "in migration already", id="under way"),
        pytest.param({"migratable": False}, None, None, "not-migratable", "not migratable", id="excluded"),
        pytest.param({}, None, "node-1", "no-fitting-node", "is on node-1 already", id="where it is"),
        pytest.param({}, None, "node-9", "no-fitting-node", "no node is called that", id="no such node"),
        pytest.param({"memory_bytes": GIB}, full, "node-2", "no-fitting-node", "has no room", id="full"),
        pytest.param({"node_selector": {"a": "b"}}, None, None, "no-fitting-node", "no other node", id="nowhere"),
    ],
)
def test_refusals(
    scene: Any, fields: dict[str, Any], prepare: Any, target: str | None, verdict: str, words: str
) -> None:
    made = home(scene, **fields)
    if prepare is not None:
        prepare(made)
    found = ask(made, target=target)
    assert found.verdict == verdict
    assert words in found.reason


def test_an_unknown_job_is_said_and_harms_nothing(scene: Any) -> None:
    assert "there is no such job" in ask(home(scene), "nobody").reason


def test_policies_begin_nothing_while_they_are_paused(scene: Any) -> None:
    made = home(scene)
    made.apply(ev.MigrationsPaused(100.0, True, "ada"))
    plan = planner()
    found = by_policy(made, open_round(made, plan, ("job-c",)), "job-c")
    assert (found.verdict, found.target) == ("paused", "node-2")
    assert "paused by ada" in found.reason
    assert ask(made).verdict == "migrate", "what a person asks for is done"
    made.apply(ev.MigrationsPaused(110.0, False, "ada"))
    assert by_policy(made, open_round(made, plan, ("job-c",)), "job-c").verdict == "migrate"


def test_a_dry_run_says_the_move_and_begins_none(scene: Any) -> None:
    made = home(scene)
    plan = planner(dry_run=True)
    found = by_policy(made, open_round(made, plan, ("job-c",)), "job-c")
    assert (found.verdict, found.target, found.gain) == ("dry-run", "node-2", 2.0)
    assert found.reason.startswith("job-c would move from node-1 to node-2")
    assert plan.tries("job-c", made.state) == (0, float("-inf"))
