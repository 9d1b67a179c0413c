from typing import Any

import numpy as np
import pytest

from backend.model import events as ev
from backend.model.objects import Job, Toleration
from backend.model.state import ClusterState
from backend.scheduling.scores import (
    BalancedAllocation,
    ImageLocality,
    LeastAllocated,
    PreferredTaints,
    Score,
    Spreading,
)
from tests.unit.scheduling.small_world import EVERYTHING, cluster, job, node, running, tainted

MIB = 2**20


def raw(one: Score, state: ClusterState, what: Job | None = None) -> list[float] | None:
    what = what or job()
    values = one.raw(what, state.nodes)
    return None if values is None else values.tolist()


def normalised(one: Score, values: list[float], feasible: list[bool] | None = None) -> list[float]:
    assert one.normalises
    return one.normalise(np.array(values, np.float64), np.array(feasible) if feasible else None).tolist()


USES = [
    # A node of 4 cores and 16 GiB; the new pod asks for 1 core and 2 GiB, so 1/4 and 1/8 of it.
    pytest.param((0, 0), 81.25, 93.75, id="empty: 1/4 and 1/8"),
    pytest.param((2, 2), 50.0, 75.0, id="3/4 and 1/4"),
    pytest.param((1, 10), 37.5, 87.5, id="1/2 and 3/4"),
    pytest.param((3, 14), 0.0, 100.0, id="full with the pod"),
    pytest.param((4, 14), 0.0, 100.0, id="more than full counts as full"),
]


@pytest.mark.parametrize(("used", "least", "balanced"), USES)
def test_scores_of_one_node(used: tuple[float, float], least: float, balanced: float) -> None:
    """LeastAllocated: 100 - 50 (cpu + memory); balanced: 100 - 50 |cpu - memory|."""
    state = cluster(node("a"))
    if any(used):
        running(state, "a", job("old", *used))
    assert (raw(LeastAllocated(), state), raw(BalancedAllocation(), state)) == ([least], [balanced])


@pytest.mark.parametrize(("used", "least", "balanced"), USES)
def test_one_row_is_scored_as_all_are(used: tuple[float, float], least: float, balanced: float) -> None:
    state = cluster(node("a"))
    if any(used):
        running(state, "a", job("old", *used))
    row = (job(), state.nodes, 0)
    assert (LeastAllocated().at(*row), BalancedAllocation().at(*row)) == (least, balanced)


def test_pods_that_ask_for_nothing_count_as_100_millicores_and_200_mebibytes() -> None:
    """Two of them on 1 core and 1,000 MiB: 1/5 and 2/5."""
    state = cluster(node("a", cpu=1, memory=1000 / 1024))
    running(state, "a", job("old", cpu=0, memory=0))
    assert raw(LeastAllocated(), state, job(cpu=0, memory=0)) == [pytest.approx(70.0)]


def test_a_node_without_cpu_counts_as_full() -> None:
    assert raw(LeastAllocated(), cluster(node("a", cpu=0, memory=16)), job(cpu=0, memory=8)) == [25.0]


@pytest.mark.parametrize(
    ("mebibytes", "holders", "expected"),
    [
        pytest.param(23, 4, None, id="at the lower threshold: nothing"),
        pytest.param(1000, 4, [100.0] * 4, id="at the upper threshold, everywhere"),
        pytest.param(5000, 4, [100.0] * 4, id="beyond the upper threshold"),
        pytest.param(1000, 2, [100 * (500 - 23) / 977] * 2 + [0.0] * 2, id="half of the nodes: half the size"),
        pytest.param(80, 1, None, id="20 MiB for each node is below the threshold"),
        pytest.param(1000, 0, None, id="nowhere"),
    ],
)
def test_image_locality(mebibytes: int, holders: int, expected: list[float] | None) -> None:
    """100 (size x part of nodes - 23 MiB) / (1,000 MiB - 23 MiB)."""
    state = cluster(*[node(f"n{k}", images=("i",) if k < holders else ()) for k in range(4)])
    values = raw(ImageLocality(), state, job(image="i", image_bytes=mebibytes * MIB))
    assert values == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("happened", "expected"),
    [
        pytest.param(ev.ImagePulled(1.0, "b", "i", 5000 * MIB, 1.0), [True, True], id="pulled"),
        pytest.param(ev.NodeRemoved(1.0, "a", "failed"), [False, False], id="its node left"),
        pytest.param(ev.NodeAdded(1.0, node("c", images=("i",))), [True, False, True], id="another node joined"),
    ],
)
def test_image_locality_follows_the_images(happened: ev.Event, expected: list[bool]) -> None:
    state = cluster(node("a", images=("i",)), node("b"))
    score = ImageLocality()
    what = job(image="i", image_bytes=5000 * MIB)
    before = score.revision(what, state.nodes), state.nodes.version
    state.apply(happened)
    assert (score.revision(what, state.nodes), state.nodes.version) != before
    assert [value > 0 for value in raw(score, state, what) or [0, 0]] == expected


def test_spreading_counts_pods_of_the_workload() -> None:
    state = cluster(node("a"), node("b"), node("c"))
    for number, (on, workload) in enumerate([("a", "lenet"), ("a", "lenet"), ("b", "gru"), ("c", "lenet")]):
        running(state, on, job(f"old-{number}", workload=workload))
    assert raw(Spreading(), state) == [2.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("counts", "feasible", "expected"),
    [
        pytest.param([2, 0, 1], None, [0.0, 100.0, 50.0], id="100 (2 + 0 - count) / 2"),
        pytest.param([4, 3, 2], None, [50.0, 75.0, 100.0], id="100 (4 + 2 - count) / 4"),
        pytest.param([0, 0], None, [100.0, 100.0], id="none anywhere"),
        pytest.param([3, 3], None, [100.0, 100.0], id="equally many"),
        pytest.param([9, 0, 1], [False, True, True], [-800.0, 100.0, 0.0], id="a node that is out sets no scale"),
    ],
)
def test_spreading_is_normalised(counts: list[float], feasible: list[bool] | None, expected: list[float]) -> None:
    assert normalised(Spreading(), counts, feasible) == expected


@pytest.mark.parametrize(
    ("tolerations", "expected"),
    [
        pytest.param((), [2.0, 0.0, 1.0], id="PreferNoSchedule taints only"),
        pytest.param((Toleration("key-0", "Exists"),), [1.0, 0.0, 0.0], id="without those tolerated"),
        pytest.param((EVERYTHING,), None, id="all are tolerated"),
    ],
)
def test_preferred_taints_are_counted(tolerations: tuple[Toleration, ...], expected: list[float] | None) -> None:
    soft = "PreferNoSchedule"
    state = cluster(
        node("a", taints=tainted(soft, soft)), node("b"), node("c", taints=tainted(soft, "NoSchedule", "NoExecute"))
    )
    assert raw(PreferredTaints(), state, job(tolerations=tolerations)) == expected


def test_without_preferred_taints_there_is_nothing_to_score() -> None:
    assert raw(PreferredTaints(), cluster(node("a", taints=tainted("NoSchedule")))) is None


def test_preferred_taints_follow_a_change_of_a_node() -> None:
    state = cluster(node("a", taints=tainted("PreferNoSchedule")), node("b"))
    score = PreferredTaints()
    state.apply(ev.NodeChanged(1.0, node("b", taints=tainted("PreferNoSchedule", "PreferNoSchedule"))))
    assert raw(score, state) == [1.0, 2.0]


@pytest.mark.parametrize(
    ("counts", "feasible", "expected"),
    [
        pytest.param([2, 0, 1], None, [0.0, 100.0, 50.0], id="100 (1 - count / 2)"),
        pytest.param([2, 0, 0], [False, True, True], [100.0] * 3, id="only on a node that is out"),
    ],
)
def test_preferred_taints_are_normalised(counts: list[float], feasible: list[bool] | None, expected: list[Any]) -> None:
    assert normalised(PreferredTaints(), counts, feasible) == expected
