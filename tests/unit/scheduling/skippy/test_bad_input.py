"""Bad input ends in a clear error where it is read, or in a round in the documented fallback; no round fails."""

import math
from typing import Any

import pytest
from pydantic import ValidationError

from backend.experiments.facts import FactsPart
from backend.model import events as ev
from backend.model.bandwidth import LocalityBandwidth, MatrixBandwidth
from backend.model.facts import ClusterFacts
from backend.model.labels import ACCELERATOR, ARCHITECTURE_STABLE, RECEIVES_PATH, REQUIREMENTS, SENDS, SENDS_PATH, VRAM
from backend.model.objects import Job
from backend.model.quantities import MAX_BASE_UNITS, QuantityError, cpu_millis, memory_bytes
from backend.model.storage import StoredObject
from backend.scheduling.skippy.device_scores import read_requirements
from backend.scheduling.skippy.policy import SkippyParameters
from tests.unit.scheduling.skippy.skippy_world import (
    EVERY_FILTER,
    EVERY_SCORE,
    decide,
    raw,
    scheduler,
    values,
    world,
)
from tests.unit.scheduling.small_world import job, node, running

ARM = {"beta.kubernetes.io/arch": "arm"}
AMD = {"beta.kubernetes.io/arch": "amd64"}


# --- Sizes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "size"), [("1.5Gi", 3 * 2**29), ("58M", 58_000_000), ("1e3", 1000), ("0", 0), (" 10Mi ", 10 * 2**20)]
)
def test_sizes_that_are_quantities(text: str, size: int) -> None:
    assert FactsPart.model_validate({"images": {"i": text}}).images["i"] == {"any": size} == {"any": memory_bytes(text)}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("10 Mi", "'10 Mi' is not a quantity such as"),
        ("5MB", "'5MB' is not a quantity such as"),
        ("5mi", "'5mi' is not a quantity such as"),
        ("", "'' is not a quantity such as"),
        ("much", "'much' is not a quantity such as"),
        ("nan", "'nan' is not a quantity such as"),
        ("1e40", "'1e40' is out of range for a quantity"),
        ("9Ei", "'9Ei' is out of range for a quantity"),
        ("-5Gi", "must not be negative"),
        (True, "must be a quantity such as"),
        (math.inf, "must be a finite quantity such as"),
        (None, "must be a quantity such as"),
    ],
)
@pytest.mark.parametrize(
    "at", [lambda size: {"images": {"i": size}}, lambda size: {"images": {"i": {"arm": size}}},
           lambda size: {"storage": [{"bucket": "b", "nodes": ["n"], "objects": {"x": size}}]},
           lambda size: {"network": {"edge_edge": size}}]
)  # fmt: skip
def test_sizes_that_are_none(text: Any, told: str, at: Any) -> None:
    with pytest.raises(ValidationError) as raised:
        FactsPart.model_validate(at(text))
    assert told in str(raised.value)


def test_cpu_and_memory_are_read_apart() -> None:
    """The original's parser took "250m" for 250 bytes and "1" for 1 millicore."""
    assert [cpu_millis(text) for text in ("250m", "1", "0.5")] == [250, 1000, 500]
    assert memory_bytes("250m") == 1
    with pytest.raises(QuantityError):
        cpu_millis("250 m")


@pytest.mark.parametrize("bandwidth", [0, -1, math.nan, math.inf])
def test_a_bandwidth_that_cannot_be_is_refused(bandwidth: float) -> None:
    with pytest.raises(ValueError, match=r"bandwidth from registry to n is .* it must be a number of bytes a second"):
        ClusterFacts().declare({}, {}, (), MatrixBandwidth({"registry": {"n": bandwidth}}))


def test_a_negative_image_is_refused() -> None:
    with pytest.raises(ValueError, match="image 'i' is -1 bytes on arm"):
        ClusterFacts().declare({"i": {"arm": -1}}, {}, (), None)


@pytest.mark.parametrize("memory", [2**62, MAX_BASE_UNITS])
@pytest.mark.parametrize("also", [0, 1])
def test_an_absurd_request_is_refused_by_every_node(memory: int, also: int) -> None:
    """Sums with it would exceed 64 bits, in all rows at once and in a row alone."""
    state = world(node("a"), node("b"))
    skippy = scheduler()
    for number in range(3):
        for one in (skippy, scheduler()):
            decision = decide(state, Job(f"absurd-{number}", "w", memory_bytes=memory), one)
            assert decision.node is None
            assert decision.refused == {"PodFitsResources": ("a", "b")}
            assert "2 nodes too small in memory (asks for " in decision.reason
        if also:
            running(state, "a", job(f"other-{number}"))


def test_an_absurd_request_of_cpu_is_refused_by_every_node() -> None:
    decision = decide(world(node("a")), job(cpu=MAX_BASE_UNITS // 1000))
    assert (decision.node, decision.refused) == (None, {"PodFitsResources": ("a",)})


def test_absurd_sizes_and_bandwidths_count_as_very_slow() -> None:
    state = world(
        node("a", labels=ARM),
        node("b", labels=AMD),
        node("s"),
        images={"i": {"arm": 10**400, "amd64": 5}},
        buckets={"in": ("s",)},
        objects=(StoredObject("in", "x", 10**400),),
        bandwidth=MatrixBandwidth({"registry": {"a": 5e-324, "b": 1.0}, "s": {"a": 1.0, "b": 5e-324}}),
    )
    what = job(image="i", labels={RECEIVES_PATH: "in/x"})
    decision = decide(state, what, scores=["LatencyAwareImageLocality", "DataLocality", "ImageLocality"])
    assert raw(decision, "LatencyAwareImageLocality") == {"a": 1e15, "b": 5, "s": math.trunc(2**63 / 1.25e7)}
    assert raw(decision, "DataLocality") == {"a": 1e15, "b": 1e15, "s": 0}
    assert decision.node == "s"
    assert all(math.isfinite(total) for total in decision.totals)


# --- What nobody knows ------------------------------------------------------------------------------------------------


def test_an_unknown_image_has_the_size_that_the_job_gives() -> None:
    state = world(node("a"), node("b", images=("fn/x",)))
    decision = decide(state, job(image="fn/x", image_bytes=10**9), scores=["LatencyAwareImageLocality"])
    assert raw(decision, "LatencyAwareImageLocality") == {"a": 80, "b": 0}
    decision = decide(state, job("other", image="fn/y"), scores=["LatencyAwareImageLocality"])
    assert raw(decision, "LatencyAwareImageLocality") == {"a": 0, "b": 0}
    assert decision.needed_images == ("fn/y:latest",)


def test_an_unknown_architecture_counts_as_the_first_of_the_image() -> None:
    sizes = {"fn/x": {"arm": 25 * 10**7, "amd64": 10**9}}
    nodes = [
        node("arm", labels=ARM),
        node("amd", labels=AMD),
        node("none"),
        node("riscv", labels={ARCHITECTURE_STABLE: "riscv"}),
    ]
    nodes.append(node("stable", labels={ARCHITECTURE_STABLE: "amd64"}))
    decision = decide(world(*nodes, images=sizes), job(image="fn/x"), scores=["LatencyAwareImageLocality"])
    wanted = {"arm": 20, "amd": 80, "none": 20, "riscv": 20, "stable": 80}
    assert raw(decision, "LatencyAwareImageLocality") == wanted


def test_an_image_counts_nothing_for_image_locality_on_an_architecture_it_lacks() -> None:
    held = {"images": ("fn/x", "fn/any")}
    nodes = [node("arm", labels=ARM, **held), node("amd", labels=AMD, **held), node("none", **held)]
    state = world(*nodes, images={"fn/x": {"arm": 2**30}, "fn/any": {"any": 2**30}, "fn/empty": {}})
    decision = decide(state, job(image="fn/x"), scores=["ImageLocality"])
    assert values(decision, "ImageLocality") == {"arm": 10, "amd": 0, "none": 0}
    decision = decide(state, job("any", image="fn/any"), scores=["ImageLocality"])
    assert values(decision, "ImageLocality") == {"arm": 10, "amd": 10, "none": 10}
    decision = decide(state, job("empty", image="fn/empty"), scores=["ImageLocality"])
    assert set(values(decision, "ImageLocality").values()) == {0}


@pytest.mark.parametrize("path", ["nowhere/x", "empty/x", "in/unknown", "in", "", "/", "in/", "/x", "//"])
def test_data_that_is_nowhere_takes_no_time(path: str) -> None:
    state = world(node("a"), node("b"), buckets={"in": ("b",), "empty": ()}, objects=(StoredObject("in", "x", 10**9),))
    decision = decide(state, job(labels={RECEIVES_PATH: path, SENDS_PATH: path}), scores=["DataLocality"])
    assert raw(decision, "DataLocality") == {"a": 0, "b": 0}
    assert decision.node == "a"


def test_an_object_in_a_bucket_without_nodes_is_refused() -> None:
    with pytest.raises(KeyError, match="no node holds the bucket 'empty' that 'x' is to be put into"):
        ClusterFacts().declare({}, {"empty": ()}, (StoredObject("empty", "x", 1),), None)
    with pytest.raises(ValidationError, match="at least 1 item"):
        FactsPart.model_validate({"storage": [{"bucket": "b", "nodes": []}]})


def test_a_bucket_on_a_node_that_is_not_there() -> None:
    state = world(node("a"), node("b"), buckets={"in": ("gone",)}, objects=(StoredObject("in", "x", 125 * 10**7),))
    decision = decide(state, job(labels={RECEIVES_PATH: "in/x"}), scores=["DataLocality"])
    assert raw(decision, "DataLocality") == {"a": 10, "b": 10}


@pytest.mark.parametrize(
    ("text", "size"),
    [("125M", 1), ("1.25G", 10), ("10 Mi", 0), ("5MB", 0), ("-5G", 0), ("1e99", 0), ("", 0), ("K", 0), ("125000K", 1)],
)
def test_the_size_of_new_data_is_read_from_its_label(text: str, size: int) -> None:
    state = world(node("a"), node("b"), buckets={"out": ("b",)})
    labels = {SENDS_PATH: "out/new", SENDS: text}
    assert raw(decide(state, job(labels=labels), scores=["DataLocality"]), "DataLocality") == {"a": size, "b": 0}


def test_links_that_nobody_names_go_by_locality() -> None:
    """A matrix may be partial: the rest is the edge and the cloud of the fallback."""
    edge = {"locality.skippy.io/type": "edge"}
    otherwise = LocalityBandwidth(registry_edge=1e6, registry_cloud=2e6, cloud_edge=5e6)
    bandwidth = MatrixBandwidth({"registry": {"named": 4e6}, "s": {"named": 1e9}}, otherwise)
    state = world(
        *(node("named", labels=edge), node("edge", labels=edge), node("cloud"), node("s")),
        images={"i": {"any": 10**8}},
        buckets={"in": ("s",)},
        objects=(StoredObject("in", "x", 10**9),),
        bandwidth=bandwidth,
    )
    decision = decide(state, job(image="i", labels={RECEIVES_PATH: "in/x"}))
    assert raw(decision, "LatencyAwareImageLocality") == {"named": 25, "edge": 100, "cloud": 50, "s": 50}
    assert raw(decision, "DataLocality") == {"named": 1, "edge": 200, "cloud": 8, "s": 0}


# --- Labels that nobody can read --------------------------------------------------------------------------------------

GARBAGE = [
    "",
    "{",
    "garbage",
    "[1, 2]",
    "7",
    "null",
    "NaN",
    '{"zone": 5}',
    '{"zone": {"a": "much"}}',
    '{"zone": {"a": NaN}}',
    '{"zone": {"a": Infinity}}',
    '{"zone": {"a": 1e999}}',
    '{"zone": {"a": 1' + "0" * 400 + "}}",
    '{"zone": {"a": 1' + "0" * 5000 + "}}",
    "{'zone': {'a': 1e300, 'b': -1e300}}",
    "{'zone': {'a': 2j}}",
    "{[]: 1}",
    "{{}}",
    "{0x" + "f" * 6000 + ": {'a': 1}}",
    "__import__('os').getcwd()",
    "[" * 100_000,
    "(" * 5_000,
    "-" * 50_000 + "1",
    "\0",
    "\ud800",
]


@pytest.mark.parametrize("text", GARBAGE, ids=range(len(GARBAGE)))
def test_requirements_that_nobody_can_read_ask_for_nothing(text: str) -> None:
    state = world(node("nuc_0", labels={"zone": "a"}), node("nuc_1", labels={"zone": "b"}))
    decision = decide(state, job(labels={REQUIREMENTS: text}), scores=["CapabilityMatching"])
    assert (decision.node, decision.totals) == ("nuc_0", (0, 0))


def test_what_can_be_read_of_requirements_counts() -> None:
    text = "{'zone': {'a': 0.25, 'b': 'x', 3: 1, 'c': True}, 4: {'a': 1}, 'x': None}"
    assert read_requirements(text) == {"zone": {"a": 0.25, "c": 1.0}}


@pytest.mark.parametrize("there", ["", "lots", "nan", "inf", "-4000", "1e999"])
def test_gpu_memory_that_nobody_can_read_is_none(there: str) -> None:
    labels = {ACCELERATOR: "GPU", VRAM: there}
    state = world(node("a", labels=labels), node("b", labels={VRAM: "1000"}))
    filters = [{"name": "NodeHasFreeGpu", "use_vram": True}]
    decision = decide(state, job(labels={ACCELERATOR: "GPU", VRAM: "1000"}), filters=filters)
    assert decision.nodes == ("b",)
    decision = decide(state, job("any", labels=labels), filters=filters)
    assert sorted(decision.nodes) == ["a", "b"]
    decision = decide(state, job("more", labels={ACCELERATOR: "GPU", VRAM: "1"}), filters=filters)
    assert decision.node is None, "a negative request must not free memory"


@pytest.mark.parametrize(
    "labels",
    [
        {},
        {ACCELERATOR: "", VRAM: "", REQUIREMENTS: "", RECEIVES_PATH: "", SENDS_PATH: "", SENDS: ""},
        {ACCELERATOR: "NONE", VRAM: "x", REQUIREMENTS: "{}", RECEIVES_PATH: "a/b/c", SENDS_PATH: "/", SENDS: "5MB"},
    ],
)
@pytest.mark.parametrize("images", [(), ("nobody/knows",), ("faas-workloads/fio", "nobody/knows", "")])
def test_a_round_with_everything_and_nothing_known(labels: dict[str, str], images: tuple[str, ...]) -> None:
    """All filters and scores, for nodes without labels and for a name that is no device."""
    state = world(node("rpi4_0"), node("strange"), node("_"), node("registry"), node("none", cpu=0, memory=0))
    skippy = scheduler(filters=EVERY_FILTER, scores=EVERY_SCORE, percentage_of_nodes_to_score=0)
    image, *more = images or ("",)
    for number in range(4):
        decision = decide(state, job(f"p-{number}", 0, 0, image=image, more_images=tuple(more), labels=labels), skippy)
        assert decision.node is None
        assert decision.refused["CanRun"]
        state.apply(ev.NodeRemoved(1.0, state.nodes.names[number], "lost"))
    skippy = scheduler(scores=EVERY_SCORE)
    state = world(node("rpi4_0"), node("strange"), node("registry"), node("none", cpu=0, memory=0))
    for number in range(4):
        what = job(f"q-{number}", 0, 0, image=image, more_images=tuple(more), labels=labels)
        assert decide(state, what, skippy).node in {"rpi4_0", "strange", "registry"}


# --- Parameters -------------------------------------------------------------------------------------------------------

FIVE = (
    "the set skippy has 5 scores: BalancedResource, LatencyAwareImageLocality, LocalityType, DataLocality, Capability"
)


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"weights": [1, 2]}, f"weights\n  Value error, holds 2 numbers; {FIVE}"),
        ({"weights": "1,2,3,4,5,6"}, f"weights\n  Value error, holds 6 numbers; {FIVE}"),
        ({"weights": ""}, f"weights\n  Value error, holds 0 numbers; {FIVE}"),
        ({"set": "kube", "weights": "1, 2, 3"}, "holds 3 numbers; the set kube has 2 scores: BalancedResource, Im"),
        ({"weights": [1, math.nan, 1, 1, 1]}, "weights.1\n  Input should be a finite number"),
        ({"weights": "1, inf, 1, 1, 1"}, "weights.1\n  Input should be a finite number"),
        ({"weights": "1, 1, -1, 1, 1"}, "weights.2\n  Input should be greater than or equal to 0"),
        ({"weights": "1, 1, heavy, 1, 1"}, "weights.2\n  Input should be a valid number"),
        ({"weights": 7}, "weights\n  Input should be a valid tuple"),
        ({"weights": [1], "scores": "Equal"}, "has no use beside scores, each of which has its own weight"),
        ({"scores": "Equal=nan"}, "scores.0.weight\n  Input should be a finite number"),
        ({"scores": "Equal=heavy"}, "scores.0.weight\n  Input should be a valid number"),
        ({"scores": "Equl"}, "there is no score 'Equl'; did you mean 'Equal'?"),
        ({"filters": "CanRunn"}, "there is no filter 'CanRunn'; did you mean 'CanRun'?"),
        ({"filters": [{"name": "CanRun", "x": 1}]}, "x: Extra inputs are not permitted"),
        ({"filters": [{"name": "CheckNodeLabelPresence", "labels": []}]}, "labels: Tuple should have at least 1 item"),
        ({"scores": [{"name": "Contention", "own_use": "maybe"}]}, "own_use: Input should be 'against' or 'for'"),
        ({"set": "edge"}, "Input should be 'skippy', 'urban', 'iiot'"),
        ({"percentage_of_nodes_to_score": 101}, "less than or equal to 100"),
        ({"percentage_of_nodes_to_score": -1}, "greater than or equal to 0"),
        ({"max_priority": 0}, "greater than or equal to 1"),
    ],
)
def test_parameters_that_cannot_be(parameters: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError) as raised:
        SkippyParameters.model_validate(parameters)
    assert told in str(raised.value)


def test_weights_of_the_right_number() -> None:
    assert SkippyParameters.model_validate({"weights": "[1,2,0.5,1,1]"}).weights == (1, 2, 0.5, 1, 1)


@pytest.mark.parametrize("text", ["Equal=", "Equal=x", "Equal= "])
def test_a_weight_that_is_announced_and_not_given_is_refused(text: str) -> None:
    with pytest.raises(ValidationError, match="weight"):
        SkippyParameters.model_validate({"scores": text})
