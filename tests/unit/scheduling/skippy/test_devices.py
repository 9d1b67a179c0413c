"""Pods of several containers, and devices that nobody measured."""

import pytest

from backend.model import events as ev
from backend.scheduling.skippy.device_scores import Contention, ExecutionTime
from backend.scheduling.skippy.devices import execution_times, uses
from tests.unit.scheduling.skippy.skippy_world import decide, raw, scheduler, values, world
from tests.unit.scheduling.small_world import job, node, running

FIO, PI = "faas-workloads/fio", "faas-workloads/python-pi"
BOTH = {"image": FIO, "more_images": (PI, f"{FIO}:latest")}


def test_times_of_several_containers_add_up_and_an_image_counts_once() -> None:
    state = world(node("rpi4_0"), node("nuc_7"))
    times = execution_times()
    wanted = {name: -(times[kind, FIO] + times[kind, PI]) for name, kind in (("rpi4_0", "rpi4"), ("nuc_7", "nuc"))}
    decision = decide(state, job(**BOTH), scores=["ExecutionTime"])
    assert raw(decision, "ExecutionTime") == pytest.approx(wanted)


def test_use_of_several_containers_adds_up() -> None:
    state = world(node("rpi4_0"), node("strange"))
    taken = [uses()["rpi4", image] for image in (FIO, PI)]
    own = sum(use.blkio / 1.0 + use.net / 125e6 + use.cpu + use.gpu for use in taken)
    decision = decide(state, job(**BOTH), scores=["Contention"])
    assert raw(decision, "Contention") == pytest.approx({"rpi4_0": -own, "strange": 0})
    assert decision.node == "strange", "unmeasured use counts nothing"
    running(state, "rpi4_0", job("busy", **BOTH))
    for own_use, sign in (("against", -1), ("for", 1)):
        column = Contention(Contention.Options.model_validate({"own_use": own_use})).raw(
            job("new", **BOTH), state.nodes
        )
        assert column.tolist() == pytest.approx([sign * own - own, 0])


def test_a_pod_can_run_where_all_its_images_were_measured() -> None:
    state = world(node("rpi4_0"), node("strange"), node("registry"))
    assert decide(state, job(**BOTH), filters=["CanRun"]).nodes == ("rpi4_0",)
    decision = decide(state, job("other", image=FIO, more_images=("nobody/knows",)), filters=["CanRun"])
    assert decision.node is None
    assert f"of a kind on which {FIO}:latest or nobody/knows:latest was never measured" in decision.reason


def test_ram_of_several_containers_adds_up() -> None:
    state = world(node("rpi4_0", cpu=1000, memory=1000))
    share = sum(uses()["rpi4", image].ram for image in (FIO, PI))
    skippy = scheduler(filters=["HasEnoughRam"])
    fitting = 0
    while decide(state, job(f"p-{fitting}", 0.1, 0.1, **BOTH), skippy).node:
        fitting += 1
    assert fitting == int(1 / share)


def test_an_unknown_time_is_as_bad_as_the_worst_of_the_nodes_that_are_there() -> None:
    """A node that left is not looked at, and the unknown one gets 0."""
    names = sorted(
        {kind for kind, image in execution_times() if image == FIO}, key=lambda kind: execution_times()[kind, FIO]
    )
    quick, middle, slow = names[0], names[1], names[-1]
    state = world(*(node(f"{kind}_0") for kind in ("strange", quick, middle, slow)))
    decision = decide(state, job("one", image=FIO), scores=["ExecutionTime"])
    assert raw(decision, "ExecutionTime")["strange_0"] == -execution_times()[slow, FIO]
    state.apply(ev.NodeRemoved(1.0, f"{slow}_0", "lost"))
    decision = decide(state, job("two", image=FIO), scores=["ExecutionTime"])
    assert raw(decision, "ExecutionTime")["strange_0"] == -execution_times()[middle, FIO]
    assert values(decision, "ExecutionTime") == {"strange_0": 0, f"{middle}_0": 0, f"{quick}_0": 10}
    assert ExecutionTime().raw(job(image="nobody/knows"), state.nodes).tolist() == [0, 0, 0, 0]


def test_running_pods_of_unknown_images_take_nothing() -> None:
    state = world(node("rpi4_0"), node("rpi4_1"))
    running(state, "rpi4_0", job("busy", image="nobody/knows"))
    decision = decide(state, job(image=FIO), scores=["Contention"], filters=["HasEnoughRam"])
    column = raw(decision, "Contention")
    assert column["rpi4_0"] == column["rpi4_1"] < 0
