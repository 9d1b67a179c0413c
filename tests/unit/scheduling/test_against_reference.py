"""The default profile against an implementation of the same that looks at one node after another."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.model import events as ev
from backend.model.objects import Job, Node, Taint, Toleration
from backend.model.state import ClusterState, PodRecord
from backend.scheduling.profiles import DefaultScheduler
from tests.unit.scheduling.small_world import GIB, cluster, pending

WEIGHTS = {
    "NodeResourcesFit": 1.0,
    "NodeResourcesBalancedAllocation": 1.0,
    "ImageLocality": 1.0,
    "PodTopologySpread": 2.0,
    "TaintToleration": 3.0,
}


class Reference:
    """What the documentation of kube-scheduler says, in plain Python; knows pods and nodes, no table."""

    def __init__(self, seed: int) -> None:
        self.ties = random.Random(seed)
        self.nodes: dict[str, Node] = {}
        self.images: dict[str, set[str]] = {}
        self.pods: dict[str, tuple[str, Job]] = {}

    def on(self, name: str) -> list[Job]:
        return [job for node, job in self.pods.values() if node == name]

    def refusal(self, job: Job, node: Node) -> str | None:
        jobs = self.on(node.name)
        if not node.ready:
            return "NodeReady"
        if node.unschedulable:
            return "NodeUnschedulable"
        for taint in node.taints:
            if taint.effect != "PreferNoSchedule" and not any(t.tolerates(taint) for t in job.tolerations):
                return "TaintToleration"
        if any(node.labels.get(key) != value for key, value in job.node_selector.items()):
            return "NodeSelector"
        cpu = sum(one.cpu_request_millis for one in jobs) + job.cpu_request_millis
        memory = sum(one.memory_bytes for one in jobs) + job.memory_bytes
        if (
            len(jobs) >= node.max_pods
            or (job.cpu_request_millis and cpu > node.cpu_millis)
            or (job.memory_bytes and memory > node.memory_bytes)
        ):
            return "NodeResourcesFit"
        return None

    def parts(self, job: Job, node: Node) -> tuple[float, float]:
        jobs = [*self.on(node.name), job]
        cpu = sum(one.cpu_request_millis or 100 for one in jobs) * (1.0 / node.cpu_millis)
        memory = sum(one.memory_bytes or 200 * 2**20 for one in jobs) * (1.0 / node.memory_bytes)
        return min(cpu, 1.0), min(memory, 1.0)

    def image(self, job: Job, node: Node) -> float:
        holders = [name for name in self.nodes if job.image in self.images[name]]
        if node.name not in holders:
            return 0.0
        size = job.image_bytes * (len(holders) / len(self.nodes))
        size = min(max(size, 23 * 2**20), 1000 * 2**20)
        return 100.0 * (size - 23 * 2**20) / (977 * 2**20)

    def scores(self, job: Job, feasible: list[Node]) -> dict[str, dict[str, float]]:
        """Node -> plugin -> score from 0 to 100."""
        same = {node.name: sum(one.workload == job.workload for one in self.on(node.name)) for node in feasible}
        soft = {
            node.name: sum(
                taint.effect == "PreferNoSchedule" and not any(t.tolerates(taint) for t in job.tolerations)
                for taint in node.taints
            )
            for node in feasible
        }
        most, least = max(same.values()), min(same.values())
        softest = max(soft.values())
        found = {}
        for node in feasible:
            cpu, memory = self.parts(job, node)
            count = same[node.name]
            found[node.name] = {
                "NodeResourcesFit": 100.0 * ((1 - cpu) + (1 - memory)) / 2,
                "NodeResourcesBalancedAllocation": 100.0 * (1 - abs(cpu - memory) / 2),
                "ImageLocality": self.image(job, node),
                "PodTopologySpread": 100.0 * (most + least - count) / most if most else 100.0,
                "TaintToleration": 100.0 * (1 - soft[node.name] / softest) if softest else 100.0,
            }
        return found


def check(decision: ev.DecisionMade, record: PodRecord, plain: Reference) -> None:
    """Equal feasible sets, scores and choice."""
    job = record.job
    refusals = {name: plain.refusal(job, node) for name, node in plain.nodes.items()}
    feasible = [node for name, node in plain.nodes.items() if refusals[name] is None]
    refused: dict[str, list[str]] = {}
    for name, by in refusals.items():
        if by is not None:
            refused.setdefault(by, []).append(name)
    assert {by: list(names) for by, names in decision.refused.items()} == refused
    assert decision.refused_counts == {by: len(names) for by, names in refused.items()}
    assert decision.feasible == len(feasible)
    if not feasible:
        assert decision.node is None
        return
    scores = plain.scores(job, feasible)
    assert sorted(decision.nodes) == sorted(scores)
    constant = 0.0  # scores that do not tell the nodes apart may be left out of a decision
    given_plugins = {plugin.plugin for plugin in decision.scores}
    for plugin, weight in WEIGHTS.items():
        if plugin not in given_plugins:
            values = {one[plugin] for one in scores.values()}
            assert len(values) == 1
            constant += weight * values.pop()
    for plugin in decision.scores:
        expected = [scores[name][plugin.plugin] for name in decision.nodes]
        assert list(plugin.normalised) == pytest.approx(expected, abs=1e-9)
    totals = {name: sum(WEIGHTS[plugin] * value for plugin, value in one.items()) for name, one in scores.items()}
    assert list(decision.totals) == pytest.approx([totals[name] - constant for name in decision.nodes], abs=1e-9)
    best = [name for name in totals if totals[name] > max(totals.values()) - 1e-9]
    assert decision.node == (best[plain.ties.randrange(len(best))] if len(best) > 1 else best[0])


taints = st.lists(
    st.builds(Taint, st.sampled_from(["x", "y"]), st.sampled_from(["NoSchedule", "PreferNoSchedule"])), max_size=2
).map(tuple)


def nodes(name: str) -> st.SearchStrategy[Node]:
    return st.builds(
        Node,
        st.just(name),
        st.sampled_from([2000, 4000, 8000]),
        st.sampled_from([4 * GIB, 8 * GIB]),
        st.sampled_from([2, 110]),
        st.sampled_from([{}, {}, {"zone": "a"}]),
        taints,
        st.sampled_from([(), ("i",), ("i", "k")]),
        ready=st.sampled_from([True, True, True, False]),
        unschedulable=st.sampled_from([False, False, False, True]),
    )


tolerations = st.sampled_from([(), (), (Toleration("x", "Exists"),), (Toleration("y", "Exists"),)])
jobs = st.builds(
    Job,
    st.just("job"),
    st.sampled_from(["lenet", "gru"]),
    st.sampled_from(["", "i", "k"]),
    st.sampled_from([0, 500, 1000, 3000]),
    memory_bytes=st.sampled_from([0, GIB, 3 * GIB]),
    image_bytes=st.sampled_from([50 * 2**20, 2**30]),
    node_selector=st.sampled_from([{}, {}, {}, {"zone": "a"}]),
    tolerations=tolerations,
)
NAMES = [f"n{k}" for k in range(6)]


def step(data: st.DataObject, number: int, state: ClusterState, plain: Reference) -> PodRecord | None:
    """One random happening in both worlds; a pod that waits, or None."""
    kinds = ["pod", "pod", "pod"] + ["end"] * bool(plain.pods) + ["change", "leave", "join", "pull"] * bool(plain.nodes)
    kind = data.draw(st.sampled_from(kinds))
    if kind == "pod":
        job = data.draw(jobs)
        fields: dict[str, Any] = {field: getattr(job, field) for field in Job.__struct_fields__}
        return pending(state, Job(**fields | {"name": f"job-{number}"}), at=float(number))
    if kind == "end":
        name = data.draw(st.sampled_from(sorted(plain.pods)))
        on, _ = plain.pods.pop(name)
        state.apply(ev.PodFinished(float(number), name, on))
        return None
    if kind == "join":
        gone = [name for name in NAMES if name not in plain.nodes]
        if gone:
            node = data.draw(nodes(data.draw(st.sampled_from(gone))))
            state.apply(ev.NodeAdded(float(number), node))
            plain.nodes[node.name] = node
            plain.nodes = {name: plain.nodes[name] for name in state.nodes.names if name in plain.nodes}
            plain.images[node.name] = set(node.images)
        return None
    name = data.draw(st.sampled_from(sorted(plain.nodes)))
    if kind == "change":
        node = data.draw(nodes(name))
        state.apply(ev.NodeChanged(float(number), node))
        plain.nodes[name] = node
    elif kind == "pull":
        state.apply(ev.ImagePulled(float(number), name, "i", 2**30, 1.0))
        plain.images[name].add("i")
    else:
        state.apply(ev.NodeRemoved(float(number), name, "failed"))
        for pod in [pod for pod, (on, _) in plain.pods.items() if on == name]:
            state.apply(ev.PodEvicted(float(number), pod, name, "node lost"))
            del plain.pods[pod]
        del plain.nodes[name]
    return None


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_decisions_equal_the_reference(data: st.DataObject) -> None:
    """Placements, ends, changes, departures and returns of nodes: what is kept between decisions must follow."""
    first = data.draw(
        st.lists(st.sampled_from(NAMES), min_size=1, unique=True).flatmap(lambda n: st.tuples(*map(nodes, n)))
    )
    state = cluster(*first)
    plain = Reference(seed=3)
    for node in first:
        plain.nodes[node.name] = node
        plain.images[node.name] = set(node.images)
    policy = DefaultScheduler(DefaultScheduler.Parameters(), random.Random(3))
    for number in range(1, data.draw(st.integers(2, 25))):
        record = step(data, number, state, plain)
        if record is None:
            continue
        decision = policy.place(record, state)
        check(decision, record, plain)
        state.apply(decision)
        if decision.node is not None:
            plain.pods[record.pod.name] = (decision.node, record.job)
            state.apply(ev.PodBound(float(number), record.pod.name, decision.node))


def test_many_changes_between_two_decisions_are_all_seen() -> None:
    """More rows than are renewed one by one."""
    state = cluster(*[Node(f"n{k:02}", 4000, 8 * GIB) for k in range(40)])
    plain = Reference(seed=3)
    for node in state.nodes.nodes:
        plain.nodes[node.name] = node
        plain.images[node.name] = set()
    policy = DefaultScheduler(DefaultScheduler.Parameters(explain_nodes=40), random.Random(3))
    for number in range(4):
        record = pending(state, Job(f"new-{number}", "lenet", cpu_request_millis=1000))
        decision = policy.place(record, state)
        check(decision, record, plain)
        for k in range(30):
            other = Job(f"other-{number}-{k}", "gru", cpu_request_millis=700)
            pending(state, other)
            on = f"n{k:02}"
            state.apply(ev.PodBound(0.0, other.name, on))
            plain.pods[other.name] = (on, other)
