"""The life of one migration, event by event."""

from collections.abc import Iterable
from typing import Any

import pytest

from backend.migration.life import LifeParameters, MigrationLife
from backend.model import events as ev
from backend.model.actions import CreatePod, DeletePod, Wake
from backend.model.objects import Node, Pod
from backend.model.state import ClusterState

GIB = 2**30
NODE_1 = Node("node-1", 16_000, 64 * GIB)
NODE_2 = Node("node-2", 16_000, 64 * GIB)


class World:
    """A job `train` on node-1, a life, and what it answered; events it answers are applied as a controller does."""

    def __init__(self, scene: Any) -> None:
        made = scene(nodes=3)
        made.run("train", "node-1", at=1.0)
        self.state: ClusterState = made.state
        self.life = MigrationLife(LifeParameters(grace_s=30.0, start_timeout_s=300.0))

    def begin(self, target: str = "node-2", pod: str = "train", source: str = "node-1") -> list[Any]:
        self.state.time = 100.0
        return self._keep(self.life.begin(considered(target, pod, source), self.state))

    def happens(self, *events: ev.Event) -> list[Any]:
        """The answers to the last of the events."""
        answers: list[Any] = []
        for event in events:
            self.state.apply(event)
            answers = self._keep(self.life.handle(event, self.state))
        return answers

    def stopped(self) -> list[Any]:
        return self.happens(ev.PodEvicted(110.0, "train", "node-1", "migration 1 to node-2", 50.0, 48.0))

    def created(self, name: str = "train-migrated", node: str = "node-2", number: int = 1) -> list[Any]:
        pod = Pod(name, "train", 1, node, number)
        return self.happens(ev.PodCreated(110.0, pod), ev.PodBound(110.0, name, node))

    def _keep(self, answers: Iterable[Any]) -> list[Any]:
        kept = list(answers)
        for answer in kept:
            if isinstance(answer, ev.Event):
                self.state.apply(answer)
        return kept


def considered(target: str | None, pod: str = "train", source: str = "node-1", verdict: Any = "migrate") -> Any:
    return ev.MigrationConsidered(100.0, 3, "train", pod, source, target, verdict, "converged", "train moves")


@pytest.fixture
def world(scene: Any) -> World:
    return World(scene)


STARTED = ev.MigrationStarted(100.0, 1, "train", "train", "node-1", "node-2", "converged", "train moves")
DELETE = DeletePod("train", "migration 1 to node-2", 30.0)
CREATE = CreatePod(Pod("train-migrated", "train", 1, "node-2", 1))


def back(node: str | None, name: str = "train-restarted", incarnation: int = 2) -> CreatePod:
    return CreatePod(Pod(name, "train", incarnation, node))


def rolled_back(time: float, reason: str) -> ev.MigrationRolledBack:
    return ev.MigrationRolledBack(time, 1, "train", reason)


# -- the straight way


def test_it_begins_with_the_intent_before_any_action(world: World) -> None:
    assert world.begin() == [STARTED, DELETE, Wake(430.0, "migration-1-stop")]
    assert world.state.jobs["train"].phase == "migrating"


def test_the_new_pod_is_created_when_the_old_one_is_gone(world: World) -> None:
    world.begin()
    assert world.stopped() == [CREATE, Wake(410.0, "migration-1-start")]


def test_it_is_finished_when_the_new_pod_works(world: World) -> None:
    world.begin()
    world.stopped()
    world.created()
    finished = world.happens(ev.PodStarted(125.0, "train-migrated", "node-2", 48.0))
    assert finished == [ev.MigrationFinished(125.0, 1, "train", "train-migrated", "node-2", 25.0)]
    assert (bool(world.life.underway), world.state.migrations, world.state.jobs["train"].migrations) == (False, {}, 1)


def test_it_owns_the_job_from_begin_to_end(world: World) -> None:
    owns = [world.life.owns("train")]
    for step in (world.begin, world.stopped, world.created):
        step()
        owns.append(world.life.owns("train"))
    world.happens(ev.PodStarted(125.0, "train-migrated", "node-2"))
    assert [*owns, world.life.owns("train")] == [False, True, True, True, False]


def test_a_source_that_fails_while_the_pod_stops_does_not_matter(world: World) -> None:
    world.begin()
    world.happens(ev.NodeRemoved(105.0, "node-1", "failed"))
    assert world.happens(ev.PodEvicted(105.0, "train", "node-1", "node lost"))[0] == CREATE


# -- the job ends on its way: exactly one end, nothing created


def test_a_job_that_finishes_before_it_is_stopped_creates_nothing(world: World) -> None:
    world.begin()
    assert world.happens(ev.PodFinished(100.0, "train", "node-1")) == [rolled_back(100.0, "train finished first")]
    assert not world.life.owns("train")


def test_a_job_that_fails_before_it_is_stopped_creates_nothing(world: World) -> None:
    world.begin()
    assert world.happens(ev.PodFinished(100.0, "train", "node-1", False)) == [rolled_back(100.0, "train failed first")]


def test_an_eviction_behind_the_end_of_a_job_creates_nothing(world: World) -> None:
    world.begin()
    world.happens(ev.PodFinished(100.0, "train", "node-1"))
    assert world.stopped() == []


def test_a_new_pod_that_fails_to_start_ends_the_migration(world: World) -> None:
    world.begin()
    world.stopped()
    world.created()
    ended = world.happens(ev.PodFinished(120.0, "train-migrated", "node-2", False, "cannot start"))
    assert ended == [rolled_back(120.0, "train-migrated failed first")]
    assert not world.life.owns("train")


# -- the target is lost


@pytest.mark.parametrize(
    "loss",
    [
        pytest.param(ev.NodeRemoved(105.0, "node-2", "failed"), id="gone"),
        pytest.param(ev.NodeChanged(105.0, Node("node-2", 16_000, 64 * GIB, ready=False)), id="not ready"),
        pytest.param(ev.NodeChanged(105.0, Node("node-2", 16_000, 64 * GIB, unschedulable=True)), id="cordoned"),
    ],
)
def test_a_target_lost_while_the_pod_stops_puts_the_job_back(world: World, loss: ev.Event) -> None:
    world.begin()
    world.happens(loss)
    assert world.stopped() == [rolled_back(110.0, "node-2 takes no pods any more"), back("node-1", incarnation=1)]
    assert not world.life.owns("train")


def test_a_target_lost_while_the_new_pod_starts_puts_the_job_back(world: World) -> None:
    world.begin()
    world.stopped()
    world.created()
    world.happens(ev.NodeRemoved(115.0, "node-2", "failed"))
    answer = world.happens(ev.PodEvicted(115.0, "train-migrated", "node-2", "node lost"))
    assert answer == [rolled_back(115.0, "no pod could stay on node-2: node lost"), back("node-1")]


def test_a_refused_pod_puts_the_job_back(world: World) -> None:
    world.begin()
    world.stopped()
    world.happens(ev.PodCreated(110.0, Pod("train-migrated", "train", 1, "node-2", 1)))
    answer = world.happens(ev.PodEvicted(110.0, "train-migrated", None, "node-2 has no memory left"))
    assert answer == [rolled_back(110.0, "no pod could stay on node-2: node-2 has no memory left"), back("node-1")]


def test_with_the_source_gone_too_the_scheduler_places_the_job(world: World) -> None:
    world.begin()
    world.stopped()
    world.created()
    world.happens(ev.NodeRemoved(112.0, "node-1", "failed"), ev.NodeRemoved(115.0, "node-2", "failed"))
    answer = world.happens(ev.PodEvicted(115.0, "train-migrated", "node-2", "node lost"))
    assert answer[1] == back(None)


def test_a_target_that_is_not_ready_any_more_is_left_in_two_steps(world: World) -> None:
    world.begin()
    world.stopped()
    world.created()
    reason = "node-2 is not ready any more"
    assert world.happens(ev.NodeChanged(115.0, Node("node-2", 16_000, 64 * GIB, ready=False))) == [
        rolled_back(115.0, reason),
        DeletePod("train-migrated", f"migration 1 is rolled back: {reason}", 0.0),
    ]
    assert world.life.owns("train")
    assert world.happens(ev.PodEvicted(116.0, "train-migrated", "node-2", "deleted")) == [back("node-1")]
    assert not world.life.owns("train")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(ev.NodeChanged(115.0, Node("node-3", 16_000, 64 * GIB, ready=False)), id="another node"),
        pytest.param(ev.NodeChanged(115.0, Node("node-2", 32_000, 64 * GIB)), id="still ready"),
        pytest.param(ev.NodeChanged(115.0, Node("node-2", 1, 1, unschedulable=True)), id="cordoned: pods stay"),
    ],
)
def test_other_changes_of_nodes_do_not_matter(world: World, change: ev.Event) -> None:
    world.begin()
    world.stopped()
    world.created()
    assert world.happens(change) == []


# -- timeouts


def timeout(time: float, step: str, number: int = 1) -> ev.TimerFired:
    return ev.TimerFired(time, f"migration-{number}-{step}")


def test_a_pod_that_does_not_start_in_time_is_deleted_and_the_job_put_back(world: World) -> None:
    world.begin()
    world.stopped()
    world.created()
    reason = "train-migrated did not run within 300 s"
    assert world.happens(timeout(410.0, "start")) == [
        rolled_back(410.0, reason),
        DeletePod("train-migrated", f"migration 1 is rolled back: {reason}", 0.0),
    ]
    assert world.happens(ev.PodEvicted(411.0, "train-migrated", "node-2", "deleted")) == [back("node-1")]


def test_a_pod_that_starts_after_it_was_called_back_does_not_finish_the_migration(world: World) -> None:
    world.begin()
    world.stopped()
    world.created()
    world.happens(timeout(410.0, "start"))
    assert world.happens(ev.PodStarted(410.0, "train-migrated", "node-2")) == []


def test_a_job_that_ends_after_it_was_called_back_ends_once(world: World) -> None:
    world.begin()
    world.stopped()
    world.created()
    world.happens(timeout(410.0, "start"), ev.PodStarted(410.0, "train-migrated", "node-2"))
    assert world.happens(ev.PodFinished(410.5, "train-migrated", "node-2")) == []
    assert not world.life.underway


def test_a_pod_that_does_not_stop_in_time_is_left_to_others(world: World) -> None:
    world.begin()
    assert world.happens(timeout(430.0, "stop")) == [rolled_back(430.0, "train did not stop in time")]
    assert not world.life.owns("train")
    assert world.happens(ev.PodEvicted(500.0, "train", "node-1", "migration 1 to node-2")) == []


@pytest.mark.parametrize("step", ["stop", "start"])
def test_late_timers_change_nothing(world: World, step: str) -> None:
    world.begin()
    world.stopped()
    world.created()
    world.happens(ev.PodStarted(125.0, "train-migrated", "node-2"))
    assert world.happens(timeout(430.0, step)) == []


def test_the_stop_timer_does_not_end_a_pod_that_starts(world: World) -> None:
    world.begin()
    world.stopped()
    world.created()
    assert world.happens(timeout(430.0, "stop")) == []


def test_the_timer_of_an_earlier_migration_does_not_end_a_later_one(world: World) -> None:
    world.begin()
    world.happens(ev.PodFinished(100.0, "train", "node-1", False))
    world.happens(ev.PodCreated(101.0, Pod("again", "train", 1)), ev.PodBound(101.0, "again", "node-1"))
    world.begin(pod="again")
    assert world.happens(timeout(430.0, "stop", 1)) == []
    assert len(world.happens(timeout(430.0, "stop", 2))) == 1


# -- repeated events


def test_repeated_events_change_nothing(world: World) -> None:
    world.begin()
    world.stopped()
    assert world.stopped() == []
    world.created()
    assert world.created() == []
    started = ev.PodStarted(125.0, "train-migrated", "node-2")
    world.happens(started)
    assert world.happens(started) == []
    assert world.stopped() == []


def test_a_late_end_of_the_old_pod_does_not_end_the_migration(world: World) -> None:
    world.begin()
    world.stopped()
    world.created()
    assert world.happens(ev.PodFinished(111.0, "train", "node-1")) == []
    assert world.life.owns("train")


def test_a_repeated_timeout_changes_nothing(world: World) -> None:
    world.begin()
    world.stopped()
    world.created()
    world.happens(timeout(410.0, "start"))
    assert world.happens(timeout(410.0, "start")) == []


def test_events_of_other_pods_change_nothing(world: World) -> None:
    world.begin()
    assert world.happens(ev.PodEvicted(105.0, "other", "node-1", "node lost")) == []
    assert world.happens(ev.PodFinished(105.0, "other", "node-1")) == []


# -- names and numbers


def test_pods_of_later_migrations_are_numbered(world: World) -> None:
    names = []
    pod, source, target = "train", "node-1", "node-2"
    for number in (1, 2, 3):
        intent = world.begin(target, pod, source)[0]
        assert intent.migration == number
        created = world.happens(ev.PodEvicted(110.0, pod, source, "migration"))[0]
        names.append(created.pod.name)
        world.created(created.pod.name, target, number)
        world.happens(ev.PodStarted(120.0, created.pod.name, target))
        pod, source, target = created.pod.name, target, source
    assert names == ["train-migrated", "train-migrated-2", "train-migrated-3"]


def test_the_name_of_a_pod_that_did_not_start_is_not_given_again(world: World) -> None:
    world.begin()
    world.stopped()
    world.created()
    world.happens(ev.PodEvicted(115.0, "train-migrated", "node-2", "node lost"))
    world.happens(
        ev.PodCreated(115.0, Pod("train-restarted", "train", 2, "node-1")),
        ev.PodBound(115.0, "train-restarted", "node-1"),
        ev.PodStarted(116.0, "train-restarted", "node-1"),
    )
    world.begin(pod="train-restarted")
    created = world.happens(ev.PodEvicted(210.0, "train-restarted", "node-1", "migration"))[0]
    assert created.pod.name == "train-migrated-2"


# -- what cannot be begun


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        pytest.param(considered("node-2", verdict="round-budget"), "nothing to begin", id="a refusal"),
        pytest.param(considered(None), "nothing to begin", id="no target"),
        pytest.param(considered("node-2", pod="gone"), "no pod gone on node-1", id="no such pod"),
        pytest.param(considered("node-2", source="node-3"), "no pod train on node-3", id="not there"),
    ],
)
def test_what_cannot_be_begun_is_refused(world: World, verdict: ev.MigrationConsidered, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        world.life.begin(verdict, world.state)


def test_a_second_migration_at_a_time_is_refused(world: World) -> None:
    world.begin()
    with pytest.raises(ValueError, match="in migration 1 already"):
        world.begin()


# -- after a restart of the controller


def restarted(world: World) -> MigrationLife:
    life = MigrationLife(LifeParameters())
    for event in (ev.PodCreated(1.0, Pod("train", "train")), STARTED):
        life.recall(event)
    return life


def test_resumed_while_the_pod_stops_it_is_asked_to_stop_again(world: World) -> None:
    world.begin()
    assert list(restarted(world).resume(world.state)) == [DELETE, Wake(430.0, "migration-1-stop")]


def test_resumed_between_two_pods_it_creates_the_new_one_once(world: World) -> None:
    world.begin()
    world.stopped()
    life = restarted(world)
    assert list(life.resume(world.state)) == [CREATE, Wake(410.0, "migration-1-start")]
    assert list(life.resume(world.state)) == []


def test_resumed_while_the_new_pod_starts_it_creates_no_second_one(world: World) -> None:
    world.begin()
    world.stopped()
    world.created()
    life = restarted(world)
    assert list(life.resume(world.state)) == [Wake(410.0, "migration-1-start")]
    started = ev.PodStarted(125.0, "train-migrated", "node-2")
    world.state.apply(started)
    assert list(life.handle(started, world.state)) == [
        ev.MigrationFinished(125.0, 1, "train", "train-migrated", "node-2", 25.0)
    ]


def test_resumed_with_the_new_pod_at_work_it_is_finished(world: World) -> None:
    world.begin()
    world.stopped()
    world.created()
    world.state.apply(ev.PodStarted(125.0, "train-migrated", "node-2"))
    assert list(restarted(world).resume(world.state)) == [
        ev.MigrationFinished(125.0, 1, "train", "train-migrated", "node-2", 25.0)
    ]


def test_resumed_with_the_job_ended_it_is_called_off(world: World) -> None:
    world.begin()
    world.state.apply(ev.PodFinished(100.0, "train", "node-1"))
    world.state.apply(ev.JobFinished(100.0, "train"))
    assert list(restarted(world).resume(world.state)) == [rolled_back(100.0, "the job had ended before the restart")]


def test_resumed_with_another_pod_at_work_it_is_called_off(world: World) -> None:
    world.begin()
    world.stopped()
    world.state.apply(ev.PodCreated(111.0, Pod("train-restarted", "train", 1)))
    assert list(restarted(world).resume(world.state)) == [rolled_back(111.0, "the job went on as train-restarted")]


def test_numbers_go_on_after_a_restart(world: World) -> None:
    world.begin()
    world.stopped()
    life = restarted(world)
    world.created()
    world.state.apply(ev.PodStarted(125.0, "train-migrated", "node-2"))
    list(life.resume(world.state))
    verdict = considered("node-1", pod="train-migrated", source="node-2")
    assert next(iter(life.begin(verdict, world.state))).migration == 2
