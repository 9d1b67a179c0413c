"""Going on from a log: cut anywhere, nothing is lost, nothing is said twice, and what was under way goes on."""

from functools import cache
from pathlib import Path

import msgspec
import pytest

from backend.control.controller import Controller
from backend.control.resume import FRAME, SAID, DivergedError, rebuild, replay, resume
from backend.experiments.build import build_controller
from backend.experiments.execute import run_arm
from backend.experiments.specification import Specification, load
from backend.model import events as ev
from backend.model.actions import CreatePod, DeletePod, Wake

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


@cache
def specification() -> Specification:
    return load(EXAMPLES / "seven-jobs.yaml")


@cache
def whole() -> tuple[ev.Event, ...]:
    log: list[ev.Event] = []
    run_arm(specification(), "migrated", 1, log, paced=False)
    assert any(isinstance(event, ev.MigrationFinished) for event in log)
    return tuple(log)


def fresh() -> Controller:
    return build_controller(specification(), "migrated", 1)


def place_of(kind: type[ev.Event], log: tuple[ev.Event, ...]) -> int:
    return next(place for place, event in enumerate(log) if isinstance(event, kind))


def test_cut_anywhere_it_says_the_rest_as_if_nothing_had_been() -> None:
    log = whole()
    for cut in range(len(log) + 1):
        controller = fresh()
        said = [outcome for outcome in replay(controller, log[:cut]) if isinstance(outcome, ev.Event)]
        for event in log[cut:]:
            if not isinstance(event, SAID + FRAME):
                said += [outcome for outcome in controller.handle(event) if isinstance(outcome, ev.Event)]
        assert said == [event for event in log[cut:] if isinstance(event, SAID)], f"cut before event {cut}"


def test_after_the_intent_the_old_pod_is_asked_to_stop() -> None:
    log = whole()
    intent = log[place_of(ev.MigrationStarted, log)]
    assert isinstance(intent, ev.MigrationStarted)
    _, left = resume(fresh, log[: place_of(ev.MigrationStarted, log) + 1])
    assert [action.pod for action in left if isinstance(action, DeletePod)] == [intent.pod]


def test_after_the_old_pod_is_gone_the_new_one_is_created() -> None:
    log = whole()
    intent = log[place_of(ev.MigrationStarted, log)]
    assert isinstance(intent, ev.MigrationStarted)
    gone = next(i for i, e in enumerate(log) if isinstance(e, ev.PodEvicted) and e.pod == intent.pod)
    _, left = resume(fresh, log[: gone + 1])
    created = [action.pod for action in left if isinstance(action, CreatePod)]
    assert [(pod.name, pod.node, pod.migration) for pod in created] == [
        (f"{intent.job}-migrated", intent.target, intent.migration)
    ]
    assert not [action for action in left if isinstance(action, DeletePod)]


def test_timers_that_have_not_fired_are_asked_for_again_and_no_others() -> None:
    log = whole()
    fired = [place for place, event in enumerate(log) if isinstance(event, ev.TimerFired)]
    cut = fired[len(fired) // 2] + 1
    _, left = resume(fresh, log[:cut])
    assert [wake.timer for wake in left if isinstance(wake, Wake) and wake.time > log[cut - 1].time]
    assert not [wake for wake in left if isinstance(wake, Wake) and wake.time < log[cut - 1].time]


def test_a_log_that_ends_in_the_middle_of_what_was_said_is_completed() -> None:
    log = whole()
    place = place_of(ev.MigrationStarted, log)
    first = resume(fresh, log[:place])[1][0]  # MigrationConsidered is there, the intent is not
    assert first == log[place]


def test_a_log_of_other_policies_gives_its_state_and_its_migrations() -> None:
    log = whole()[: place_of(ev.MigrationStarted, whole()) + 1]
    intent = log[-1]
    assert isinstance(intent, ev.MigrationStarted)

    def other() -> Controller:
        return build_controller(specification(), "default", 1)

    with pytest.raises(DivergedError):
        replay(other(), log)
    controller, left = resume(other, log)
    assert set(controller.state.pods) == set(replayed_pods(log))
    assert [action.pod for action in left if isinstance(action, DeletePod)] == [intent.pod]


def replayed_pods(log: tuple[ev.Event, ...]) -> list[str]:
    controller = fresh()
    replay(controller, log)
    return list(controller.state.pods)


def test_an_event_that_was_altered_is_noticed() -> None:
    log = list(whole())
    place = place_of(ev.DecisionMade, whole())
    log[place] = msgspec.structs.replace(log[place], reason="because")
    with pytest.raises(DivergedError, match=f"event {place} "):
        replay(fresh(), log)


def test_a_job_without_a_pod_gets_one_and_a_pod_that_waits_is_placed() -> None:
    log = whole()
    submitted = place_of(ev.JobSubmitted, log)
    job = log[submitted]
    assert isinstance(job, ev.JobSubmitted)
    nodes = [event for event in log if isinstance(event, ev.NodeAdded)]
    controller = fresh()
    left = rebuild(controller, [*nodes, job])
    assert [action.pod.name for action in left if isinstance(action, CreatePod)] == [job.job.name]
    created = next(event for event in log if isinstance(event, ev.PodCreated))
    controller = fresh()
    left = rebuild(controller, [*nodes, job, created])
    assert [event.pod for event in left if isinstance(event, ev.DecisionMade)] == [job.job.name]
