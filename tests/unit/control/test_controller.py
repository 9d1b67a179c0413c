from collections.abc import Iterable

import pytest

from backend.control.controller import RESTART_LIMIT, Controller
from backend.model import events as ev
from backend.model.actions import Action, Bind, CreatePod, DeletePod, Wake
from backend.model.objects import Pod
from backend.model.state import ClusterState
from tests.unit.control.scripted import Play, Policy, Watching, controller, job, node, of

# -- from submission to end


def test_a_submission_asks_for_a_pod() -> None:
    assert list(controller(node()).handle(ev.JobSubmitted(1.0, job()))) == [CreatePod(Pod("j", "j"))]


def test_a_pod_without_a_node_gets_a_decision_and_is_bound() -> None:
    made = controller(node())
    made.handle(ev.JobSubmitted(1.0, job()))
    decision, bind = made.handle(ev.PodCreated(1.0, Pod("j", "j")))
    assert isinstance(decision, ev.DecisionMade)
    assert (decision.time, decision.pod, decision.node, bind) == (1.0, "j", "a", Bind("j", "a"))


def test_what_is_decided_is_reserved_at_once() -> None:
    """Two pods of 3 cores at the same moment do not both get the node of 4."""
    made = controller(node())
    for name in ("j", "k"):
        made.handle(ev.JobSubmitted(1.0, job(name, cores=3)))
        made.handle(ev.PodCreated(1.0, Pod(name, name)))
    assert list(made.state.pods_on["a"]) == ["j"]


def test_a_pod_that_ends_ends_its_job() -> None:
    play = Play(controller(node()))
    play.submit(job())
    assert play.finish("j") == [ev.JobFinished(1.0, "j")]


@pytest.mark.parametrize(("reason", "said"), [("out of memory", "out of memory"), ("", "its pod failed")])
def test_a_pod_that_fails_fails_its_job(reason: str, said: str) -> None:
    play = Play(controller(node()))
    play.submit(job())
    assert play.finish("j", succeeded=False, reason=reason) == [ev.JobFailed(1.0, "j", said)]


def test_a_job_ends_once_even_if_its_end_is_said_twice() -> None:
    play = Play(controller(node()))
    play.submit(job())
    said = [*play.finish("j"), *play.say(ev.PodFinished(2.0, "j", "a"))]
    assert said == [ev.JobFinished(1.0, "j")]


def test_a_job_that_was_given_up_does_not_finish_as_well() -> None:
    play = Play(controller(node()))
    play.submit(job())
    list(play.controller.unfinished())
    assert play.finish("j") == []


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(ev.PodCreated(1.0, Pod("x", "x")), id="created"),
        pytest.param(ev.PodBound(1.0, "x", "a"), id="bound"),
        pytest.param(ev.PodStarted(1.0, "x", "a"), id="started"),
        pytest.param(ev.PodFinished(1.0, "x", "a"), id="finished"),
        pytest.param(ev.PodEvicted(1.0, "x", "a", "?"), id="evicted"),
    ],
)
def test_pods_of_others_are_nothing_to_act_on(event: ev.Event) -> None:
    assert list(controller(node()).handle(event)) == []


# -- pinned placements


def test_a_pinned_pod_is_created_on_its_node() -> None:
    made = controller(node("a"), node("b"), pinned={"j": "b"})
    assert list(made.handle(ev.JobSubmitted(1.0, job()))) == [CreatePod(Pod("j", "j", 0, "b"))]


def test_a_pinned_pod_has_a_decision_that_says_who_pinned_it() -> None:
    play = Play(controller(node("a"), node("b"), pinned={"j": "b"}, pinned_by="arm default"))
    [decision] = of(play.submit(job()), ev.DecisionMade)
    assert (decision.node, decision.policy, decision.feasible, decision.nodes) == ("b", "pinned", 1, ("b",))
    assert decision.reason == "bound to b: arm default pins the first pod of j there"


def test_no_scheduler_places_a_pinned_pod() -> None:
    play = Play(controller(node("a"), node("b"), pinned={"j": "b"}))
    assert of(play.submit(job()), Bind) == []
    assert play.controller.state.pods["j"].node == "b"


def test_a_pinned_node_that_refuses_leaves_the_job_to_the_scheduler() -> None:
    play = Play(controller(node("a"), pinned={"j": "gone"}))
    play.refuses = {"gone"}
    play.submit(job())
    assert play.controller.state.pods["j-restarted"].node == "a"


def test_only_the_first_pod_is_pinned() -> None:
    play = Play(controller(node("a"), node("b"), pinned={"j": "b"}))
    play.submit(job())
    [created] = of(play.evict("j"), CreatePod)
    assert created.pod.node is None


# -- evictions


def test_an_evicted_pod_is_followed_by_another_one() -> None:
    play = Play(controller(node()))
    play.submit(job())
    assert of(play.evict("j"), CreatePod) == [CreatePod(Pod("j-restarted", "j", 1))]


def test_the_pod_of_a_job_that_has_ended_is_not_replaced() -> None:
    play = Play(controller(node()))
    play.submit(job())
    list(play.controller.unfinished())
    assert play.evict("j") == []


def refused_again_and_again(play: Play) -> list[ev.Event | Action]:
    play.refuses = {"a"}
    return play.submit(job())


def test_a_job_that_the_cluster_keeps_refusing_is_given_up() -> None:
    answers = refused_again_and_again(Play(controller(node())))
    assert len(of(answers, CreatePod)) == 1 + RESTART_LIMIT
    [failed] = of(answers, ev.JobFailed)
    assert failed.reason == (
        f"evicted {RESTART_LIMIT + 1} times in a row without having run; the last time: node a is not there"
    )


def test_a_job_that_runs_in_between_is_not_given_up() -> None:
    play = Play(controller(node()))
    play.submit(job())
    for _ in range(3 * RESTART_LIMIT):
        assert of(play.evict(play.controller.state.jobs["j"].pod or ""), ev.JobFailed) == []


def test_evictions_are_counted_by_job() -> None:
    play = Play(controller(node()))
    play.refuses = {"a"}
    answers = play.submit(*[job(f"j{k}") for k in range(2)])
    assert len(of(answers, CreatePod)) == 2 * (1 + RESTART_LIMIT)


# -- waiting


def test_a_pod_that_does_not_fit_waits_and_is_placed_when_another_one_ends() -> None:
    play = Play(controller(node()))
    play.submit(job("j", cores=3), job("k", cores=3))
    assert [answer.pod for answer in of(play.finish("j"), Bind)] == ["k"]


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(ev.NodeAdded(2.0, node("b")), id="a node joins"),
        pytest.param(ev.NodeChanged(2.0, node("a", cores=8)), id="a node grows"),
        pytest.param(ev.PodEvicted(2.0, "j", "a", "deleted"), id="a pod is evicted"),
    ],
)
def test_what_makes_room_wakes_those_who_wait(event: ev.Event) -> None:
    play = Play(controller(node()))
    play.submit(job("j", cores=3), job("k", cores=3))
    assert "k" in [answer.pod for answer in of(play.say(event), Bind)]


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(ev.TimerFired(2.0, "t"), id="timer"),
        pytest.param(ev.ImagePulled(2.0, "a", "i", 1, 1.0), id="image"),
        pytest.param(ev.UsageSampled(2.0, ("a",), (1.0,), (1.0,)), id="usage"),
    ],
)
def test_what_makes_no_room_costs_no_attempt(event: ev.Event) -> None:
    class Counting(Watching):
        attempts = 0

        def place(self, pod: object, state: ClusterState) -> ev.DecisionMade:
            self.attempts += 1
            return super().place(pod, state)  # type: ignore[arg-type]

    scheduler = Counting()
    play = Play(controller(node(), scheduler=scheduler))
    play.submit(job("j", cores=3), job("k", cores=3))
    before = scheduler.attempts
    play.say(event)
    assert scheduler.attempts == before


def test_the_older_pod_goes_first_when_there_is_room_again() -> None:
    """A big old pod and a small young one; either fits, not both."""
    play = Play(controller(node()))
    play.submit(job("j", cores=4), job("old", cores=4), job("young", cores=1))
    assert [answer.pod for answer in of(play.finish("j"), Bind)] == ["old"]


def test_a_refusal_is_logged() -> None:
    play = Play(controller(node()))
    [refusal] = of(play.submit(job("j", cores=4), job("k", cores=1))[2:], ev.DecisionMade)
    assert (refusal.pod, refusal.node) == ("k", None)


def test_a_refusal_that_repeats_the_last_one_is_logged_once() -> None:
    play = Play(controller(node("a"), node("b", ready=False)))
    play.submit(job("j", cores=4), job("k", cores=1))
    assert of(play.say(ev.NodeChanged(2.0, node("b", ready=False))), ev.DecisionMade) == []


def test_a_refusal_for_another_reason_is_logged_again() -> None:
    play = Play(controller(node("a"), node("b", ready=False)))
    play.submit(job("j", cores=4), job("k", cores=1))
    [refusal] = of(play.say(ev.NodeChanged(2.0, node("b", unschedulable=True))), ev.DecisionMade)
    assert "1 node cordoned" in refusal.reason


def test_a_job_that_can_never_be_placed_fails_and_its_pod_goes() -> None:
    answers = Play(controller(node())).submit(job(cores=5))
    refusal, failed, delete = answers[1:]
    assert isinstance(refusal, ev.DecisionMade)
    assert refusal.permanent
    assert failed == ev.JobFailed(1.0, "j", refusal.reason)
    assert delete == DeletePod("j", "the job can never be placed", 0.0)


def test_a_job_that_can_never_be_placed_leaves_nothing_behind() -> None:
    play = Play(controller(node()))
    play.submit(job(cores=5))
    assert (play.controller.state.pods, play.say(ev.NodeChanged(2.0, node(cores=8)))) == ({}, [])


# -- the end of a run


def test_whoever_has_not_ended_fails_with_a_reason() -> None:
    play = Play(controller(node()))
    play.submit(job("done"), job("waits", cores=4), job("runs"))
    play.finish("done")
    play.time = 9.0
    reasons = {failed.job: failed.reason for failed in play.controller.unfinished()}
    assert reasons == {
        "waits": "still waiting at the end: none of 1 node can take it: "
        "1 node without enough CPU (asks for 4, at most 3 free)",
        "runs": "had not finished when the run ended",
    }


def test_at_the_end_nobody_fails_twice() -> None:
    play = Play(controller(node()))
    play.submit(job())
    assert len(list(play.controller.unfinished())) == 1
    assert list(play.controller.unfinished()) == []


# -- policies


def test_a_scheduler_sees_events_and_outcomes_once_they_are_in_the_state() -> None:
    scheduler = Watching()
    play = Play(controller(node(), scheduler=scheduler))
    play.submit(job())
    play.finish("j")
    assert [ev.kind(event) for event in scheduler.seen] == [
        "node_added",
        "job_submitted",
        "pod_created",
        "decision_made",
        "pod_bound",
        "pod_started",
        "pod_finished",
        "job_finished",
    ]


def test_a_migration_policy_sees_what_the_cluster_says() -> None:
    policy = Policy()
    play = Play(controller(node(), policy=policy))
    play.submit(job())
    assert [ev.kind(event) for event in policy.seen] == [
        "node_added",
        "job_submitted",
        "pod_created",
        "pod_bound",
        "pod_started",
    ]


def test_what_a_migration_policy_answers_is_passed_on() -> None:
    changed = ev.CategoryChanged(2.0, "j", "j", "a", "progressing", "watching", 0.0, None, 0.1, "slow")

    def answer(event: ev.Event, state: ClusterState) -> Iterable[ev.Event | Action]:
        return [changed, Wake(9.0, "again")] if isinstance(event, ev.TimerFired) else ()

    play = Play(controller(node(), policy=Policy(answer)))
    play.submit(job())
    assert play.say(ev.TimerFired(2.0, "t")) == [changed, Wake(9.0, "again")]
    assert play.controller.state.pods["j"].category == "watching"


def considered(verdict: ev.Verdict) -> ev.MigrationConsidered:
    return ev.MigrationConsidered(2.0, 1, "j", "j", "a", "b", verdict, "manual", "because")


def moving(verdict: ev.Verdict) -> Play:
    def answer(event: ev.Event, state: ClusterState) -> Iterable[ev.Event | Action]:
        return [considered(verdict)] if isinstance(event, ev.TimerFired) else ()

    play = Play(controller(node("a"), node("b"), policy=Policy(answer)))
    play.submit(job())
    return play


def test_the_verdict_migrate_begins_a_migration() -> None:
    """The intent is logged before the old pod is deleted, and the new pod is created on the target when it is gone."""
    play = moving("migrate")
    play.time = 2.0
    said = play.say(ev.TimerFired(2.0, "t"))
    assert [type(answer).__name__ for answer in said if not isinstance(answer, Wake)] == [
        "MigrationConsidered",
        "MigrationStarted",
        "DeletePod",
        "CreatePod",
        "MigrationFinished",
    ]
    assert play.controller.state.pods["j-migrated"].node == "b"


def test_a_pod_that_is_moved_gets_no_second_one_from_the_controller() -> None:
    said = moving("migrate").say(ev.TimerFired(2.0, "t"))
    assert [created.pod.name for created in of(said, CreatePod)] == ["j-migrated"]


def test_any_other_verdict_moves_nothing() -> None:
    assert moving("round-budget").say(ev.TimerFired(2.0, "t")) == [considered("round-budget")]


# -- binds that the cluster refuses


def refused_bind(times: int = 1) -> tuple[Controller, list[Wake]]:
    made = controller(node())
    made.handle(ev.JobSubmitted(1.0, job(cores=3)))
    made.handle(ev.PodCreated(1.0, Pod("j", "j")))
    wakes: list[Wake] = []
    for _ in range(times):
        (wake,) = made.handle(ev.BindFailed(2.0, "j", "a", "409 Conflict"))
        assert isinstance(wake, Wake)
        wakes.append(wake)
        if len(wakes) < times:
            made.handle(ev.TimerFired(2.0, wake.timer))
    return made, wakes


def test_a_refused_bind_frees_the_node_for_others() -> None:
    made, _ = refused_bind()
    assert (made.state.pods["j"].phase, made.state.pods_on["a"]) == ("pending", {})
    made.handle(ev.JobSubmitted(2.0, job("k", cores=3)))
    decision, _ = made.handle(ev.PodCreated(2.0, Pod("k", "k")))
    assert isinstance(decision, ev.DecisionMade)
    assert decision.node == "a"


def test_a_refused_bind_is_tried_again_later_and_later() -> None:
    made, wakes = refused_bind(9)
    assert [wake.time - 2.0 for wake in wakes] == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    decision, bind = made.handle(ev.TimerFired(3.0, wakes[-1].timer))
    assert isinstance(decision, ev.DecisionMade)
    assert (decision.node, bind) == ("a", Bind("j", "a"))


def test_a_bind_that_succeeds_ends_the_waiting() -> None:
    made, wakes = refused_bind(3)
    made.handle(ev.TimerFired(3.0, wakes[-1].timer))
    made.handle(ev.PodBound(3.0, "j", "a"))
    (wake,) = made.handle(ev.BindFailed(4.0, "j", "a", "late"))
    assert isinstance(wake, Wake)
    assert (wake.time, made.state.pods["j"].phase) == (5.0, "bound"), "what is bound stays bound"
    assert made.handle(ev.TimerFired(5.0, wake.timer)) == []


def test_the_end_of_a_pod_ends_the_trying() -> None:
    made, (wake,) = refused_bind()
    made.handle(ev.PodEvicted(2.5, "j", None, "deleted"))
    assert made.handle(ev.TimerFired(3.0, wake.timer)) == []
