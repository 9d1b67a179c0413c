"""The specification: the example of the issue, what is refused and with which words, round trips."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.experiments.errors import FieldError, SpecificationError
from backend.experiments.specification import json_schema, load, parse

EXAMPLE = """
name: seven-jobs
target: simulator
cluster: {nodes: {count: 3, cpu: "16", memory: 64Gi}}
workload: {models: [lenet, vae, gru], jobs: 7, submissions: {at: [25, 43, 50, 65, 86, 142, 192]}}
arms:
  - {name: default,  scheduler: {name: default}, migration: {name: none}}
  - {name: migrated, scheduler: {name: default}, migration: {name: specon, alpha: 0.1, interval: 10, round: 30}}
pin_initial_placement: true
seeds: [1, 2, 3]
"""
"""From the issue; its names are binding."""

GONE = object()


def changed(*changes: tuple[str, Any]) -> dict[str, Any]:
    """The example with values set (or taken away) at dotted paths."""
    document: dict[str, Any] = copy.deepcopy(yaml.safe_load(EXAMPLE))
    for path, value in changes:
        here: Any = document
        *parts, last = path.split(".")
        for part in parts:
            here = here[int(part)] if isinstance(here, list) else here[part]
        if value is GONE:
            del here[last]
        else:
            here[int(last) if isinstance(here, list) else last] = value
    return document


def errors_of(source: Any, **options: Any) -> list[FieldError]:
    with pytest.raises(SpecificationError) as caught:
        parse(source, **options)
    return caught.value.errors


def test_the_example_of_the_issue() -> None:
    specification = parse(EXAMPLE)
    assert specification.name == "seven-jobs"
    assert [(group.count, group.cpu, group.memory) for group in specification.cluster.nodes] == [
        (3, 16_000, 64 * 2**30)
    ]
    assert [node.name for node in specification.cluster.build_nodes()] == ["node-1", "node-2", "node-3"]
    assert [arm.name for arm in specification.arms] == ["default", "migrated"]
    assert specification.arm("migrated").migration.parameters().alpha == 0.1  # type: ignore[attr-defined]
    assert specification.seeds == (1, 2, 3)
    assert (specification.job_count, specification.node_count, specification.run_count) == (7, 3, 6)
    assert specification.pin_initial_placement
    submissions = specification.workload.build_submissions(1)
    assert [submission.time for submission in submissions] == [25, 43, 50, 65, 86, 142, 192]
    assert [submission.job.name for submission in submissions][:4] == ["lenet-1", "vae-2", "gru-3", "lenet-4"]


ONE_NODE = {"name": "a", "cpu": 1, "memory": "1Gi"}

BROKEN: list[tuple[str, list[tuple[str, Any]], str, str]] = [
    ("no name", [("name", GONE)], "name", "is missing"),
    ("a name with capitals", [("name", "Seven Jobs")], "name", "small letters, digits and dashes"),
    ("a name that is a number", [("name", 7)], "name", "must be text"),
    ("a name of 80 characters", [("name", "x" * 80)], "name", "small letters"),
    ("no cluster", [("cluster", GONE)], "cluster", "is missing"),
    ("a cluster that is a list", [("cluster", [])], "cluster", "must be a mapping"),
    ("an unknown name on top", [("sedes", [1])], "sedes", "did you mean 'seeds'?"),
    ("an unknown name within", [("cluster.nodes.memmory", 1)], "cluster.nodes.memmory", "did you mean 'memory'?"),
    ("an unknown target", [("target", "moon")], "target", "must be"),
    ("an embedded cluster in no time", [("target", "embedded"), ("speed", 5000)], "speed", "an embedded cluster lives"),
    ("an unknown target", [("target", "moon")], "target", "must be"),
    ("no nodes", [("cluster.nodes", [])], "cluster.nodes", "at least 1"),
    ("a node count of zero", [("cluster.nodes.count", 0)], "cluster.nodes.count", "at least 1"),
    ("half a node", [("cluster.nodes.count", 2.5)], "cluster.nodes.count", "whole number"),
    ("true nodes", [("cluster.nodes.count", True)], "cluster.nodes.count", "not true or false"),
    ("too many nodes", [("cluster.nodes.count", 20_001)], "cluster.nodes.count", "at most 20000"),
    (
        "too many nodes in sum",
        [("cluster.nodes", [{"count": 15_000, "cpu": 1, "memory": "1Gi"}] * 2)],
        "cluster.nodes",
        "30,000 nodes are too many",
    ),
    ("a node of zero cores", [("cluster.nodes.cpu", 0)], "cluster.nodes.cpu", "more than zero"),
    ("a node of negative cores", [("cluster.nodes.cpu", "-2")], "cluster.nodes.cpu", "must not be negative"),
    ("cores in words", [("cluster.nodes.cpu", "many")], "cluster.nodes.cpu", "'many' is not a quantity"),
    ("a list of cores", [("cluster.nodes.cpu", [16])], "cluster.nodes.cpu", "must be a quantity"),
    ("memory that is not a number", [("cluster.nodes.memory", float("nan"))], "cluster.nodes.memory", "finite"),
    ("memory beyond 64 bits", [("cluster.nodes.memory", "99999999Ei")], "cluster.nodes.memory", "out of range"),
    (
        "two nodes of one name",
        [("cluster.nodes", [ONE_NODE, ONE_NODE])],
        "cluster.nodes.1.name",
        "two nodes are called 'a'",
    ),
    (
        "a node named like one of a group",
        [("cluster.nodes", [{"count": 3, "cpu": 1, "memory": "1Gi"}, ONE_NODE | {"name": "node-2"}])],
        "cluster.nodes.1.name",
        "two nodes are called 'node-2'",
    ),
    ("a named node counted", [("cluster.nodes.name", "a")], "cluster.nodes.count", "single node"),
    (
        "a taint without effect",
        [("cluster.nodes.taints", ["dedicated"])],
        "cluster.nodes.taints.0",
        "key=value:NoSchedule",
    ),
    (
        "a taint of an unknown effect",
        [("cluster.nodes.taints", ["key1:NoShedule"])],
        "cluster.nodes.taints.0",
        "did you mean 'NoSchedule'?",
    ),
    ("labels that are numbers", [("cluster.nodes.labels", {"zone": 1})], "cluster.nodes.labels.zone", "must be text"),
    (
        "a failure of an unknown node",
        [("cluster.faults", [{"node": "node-4", "at": 5}])],
        "cluster.faults.0.node",
        "no node is called 'node-4'",
    ),
    (
        "a failure before time",
        [("cluster.faults", [{"node": "node-1", "at": -5}])],
        "cluster.faults.0.at",
        "at least 0",
    ),
    (
        "back before it failed",
        [("cluster.faults", [{"node": "node-1", "at": 5, "back_at": 5}])],
        "cluster.faults.0.back_at",
        "after the failure",
    ),
    (
        "a failure of a node that is away",
        [("cluster.faults", [{"node": "node-1", "at": 5}, {"node": "node-1", "at": 9}])],
        "cluster.faults.1.at",
        "still away",
    ),
    ("no models", [("workload.models", [])], "workload.models", "names no model"),
    ("an unknown model", [("workload.models.1", "lennet")], "workload.models.1", "did you mean 'lenet'?"),
    ("a model twice", [("workload.models.1", "lenet")], "workload.models.1", "two models are called 'lenet'"),
    ("no jobs", [("workload.jobs", 0)], "workload.jobs", "at least 1"),
    ("jobs in words", [("workload.jobs", "seven")], "workload.jobs", "must be a whole number"),
    ("an empty list of jobs", [("workload.jobs", [])], "workload.jobs", "at least 1"),
    ("too many jobs", [("workload.jobs", 10**6)], "workload.jobs", "at most 200000"),
    ("fewer times than jobs", [("workload.jobs", 8)], "workload.submissions.at", "7 times for 8 jobs"),
    (
        "jobs of one name",
        [("workload", {"jobs": [{"name": "a", "model": "vae", "at": 1}, {"name": "a", "model": "vae", "at": 2}]})],
        "workload.jobs.1.name",
        "two jobs are called 'a'",
    ),
    (
        "a job named like a migrated pod",
        [("workload", {"jobs": [{"name": "a-migrated", "model": "vae", "at": 1}]})],
        "workload.jobs.0.name",
        "ends like a pod",
    ),
    (
        "a job of an unknown model",
        [("workload", {"jobs": [{"name": "a", "model": "vea", "at": 1}]})],
        "workload.jobs.0.model",
        "did you mean 'vae'?",
    ),
    (
        "a time for some jobs",
        [("workload", {"models": ["vae"], "jobs": [{"at": 1}, {}]})],
        "workload.jobs.1.at",
        "has no time though other jobs have",
    ),
    ("no word of when", [("workload.submissions", GONE)], "workload.submissions", "when the jobs arrive"),
    ("empty submissions", [("workload.submissions", {})], "workload.submissions", "when the jobs arrive"),
    ("no times", [("workload.submissions.at", [])], "workload.submissions.at", "at least 1"),
    ("a negative time", [("workload.submissions.at.2", -1)], "workload.submissions.at.2", "at least 0"),
    ("a time that is no number", [("workload.submissions.at.2", float("nan"))], "workload.submissions.at.2", "finite"),
    ("an endless time", [("workload.submissions.at.2", float("inf"))], "workload.submissions.at.2", "finite"),
    ("a time of 400 digits", [("workload.submissions.at.2", 10**400)], "workload.submissions.at.2", "number"),
    ("two kinds of submissions", [("workload.submissions.every", 3)], "workload.submissions", "at and every together"),
    (
        "a window backwards",
        [("workload.submissions", {"uniform": [9, 3]})],
        "workload.submissions.uniform",
        "before it begins",
    ),
    (
        "a window of three",
        [("workload.submissions", {"uniform": [1, 2, 3]})],
        "workload.submissions.uniform",
        "at most 2",
    ),
    (
        "a rate of nothing",
        [("workload.submissions", {"poisson": {"rate": 0}})],
        "workload.submissions.poisson.rate",
        "more than 0",
    ),
    (
        "both a rate and a gap",
        [("workload.submissions", {"poisson": {"rate": 1, "mean_gap": 1}})],
        "workload.submissions.poisson",
        "either rate or mean_gap",
    ),
    (
        "a file through the API",
        [("workload.submissions", {"file": "/etc/passwd"})],
        "workload.submissions.file",
        "command line only",
    ),
    ("no arms", [("arms", [])], "arms", "at least 1"),
    ("arms left out", [("arms", GONE)], "arms", "is missing"),
    ("arms of one name", [("arms.1.name", "default")], "arms.1.name", "two arms are called 'default'"),
    ("a nameless arm", [("arms.1.name", GONE)], "arms.1.name", "is missing"),
    ("too many arms", [("arms", [{"name": f"a{n}"} for n in range(11)])], "arms", "at most 10"),
    (
        "an unknown scheduler",
        [("arms.0.scheduler.name", "defualt")],
        "arms.0.scheduler.name",
        "did you mean 'default'?",
    ),
    ("an unknown migration", [("arms.1.migration.name", "speccon")], "arms.1.migration.name", "did you mean 'specon'?"),
    (
        "an unknown parameter",
        [("arms.1.migration.intervall", 3)],
        "arms.1.migration.intervall",
        "did you mean 'interval'?",
    ),
    (
        "a parameter of another policy",
        [("arms.0.migration.alpha", 0.1)],
        "arms.0.migration.alpha",
        "not a name known here",
    ),
    ("a negative alpha", [("arms.1.migration.alpha", -0.1)], "arms.1.migration.alpha", "must be"),
    ("an interval of zero", [("arms.1.migration.interval", 0)], "arms.1.migration.interval", "at least 0.01"),
    ("a round in words", [("arms.1.migration.round", "often")], "arms.1.migration.round", "must be a number"),
    ("a pin with one arm", [("arms", [{"name": "a"}])], "pin_initial_placement", "needs a first arm"),
    ("a pin that is a word", [("pin_initial_placement", "maybe")], "pin_initial_placement", "true or false"),
    ("no seeds", [("seeds", [])], "seeds", "at least 1"),
    ("a seed twice", [("seeds", [4, 4])], "seeds", "names the seed 4 twice"),
    ("a negative seed", [("seeds", [-1])], "seeds.0", "at least 0"),
    ("a seed in parts", [("seeds", [1.5])], "seeds.0", "whole number"),
    ("too many seeds", [("seeds", "1..100000")], "seeds", "at most 1,000"),
    ("a range backwards", [("seeds", "9..3")], "seeds", "ends before it begins"),
    ("seeds in words", [("seeds", "all")], "seeds", "range such as '1..20'"),
    ("too many runs", [("arms", [{"name": f"a{n}"} for n in range(5)]), ("seeds", 900)], "seeds", "4,500 runs"),
    ("telemetry that is a switch", [("telemetry", {"progress": True})], "telemetry.progress", "not true or false"),
    ("an end before the beginning", [("until", -1)], "until", "more than 0"),
    ("no speed", [("speed", 0)], "speed", "more than 0"),
    ("both beside arms", [("both", True)], "both", "no use beside arms"),
    ("a migration beside arms", [("migration", {"name": "specon"})], "migration", "no use beside arms"),
]


@pytest.mark.parametrize(("changes", "field", "words"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN])
def test_broken_specifications(changes: list[tuple[str, Any]], field: str, words: str) -> None:
    """Each fault is found at its field, in plain words; nothing else is reported; the text of YAML says the same."""
    document = changed(*changes)
    errors = errors_of(document)
    assert [error.field for error in errors] == [field]
    assert words in f"{errors[0].message} ({errors[0].allowed})"
    assert len(errors[0].value) <= 60
    assert errors_of(yaml.safe_dump(document)) == errors


def test_all_faults_are_reported_at_once() -> None:
    errors = errors_of(
        changed(
            ("name", "No"),
            ("cluster.nodes.cpu", 0),
            ("cluster.faults", [{"node": "node-7", "at": 1}]),
            ("workload.models.0", "lennet"),
            ("workload.jobs", 9),
            ("arms.1.migration.alpha", "high"),
            ("arms.1.name", "default"),
            ("extra", 1),
        )
    )
    assert {error.field for error in errors} == {
        "name",
        "cluster.nodes.cpu",
        "cluster.faults.0.node",
        "workload.models.0",
        "workload.submissions.at",
        "arms.1.migration.alpha",
        "arms.1.name",
        "extra",
    }
    assert len(errors) == 8


def test_thousands_of_faults_are_cut_and_counted() -> None:
    with pytest.raises(SpecificationError) as caught:
        parse(changed(("cluster.faults", [{"node": "node-1", "at": -1}] * 3000)))
    assert len(caught.value.errors) == 100
    assert "and 2900 more" in str(caught.value)


@pytest.mark.parametrize(
    "changes",
    [
        [
            ("cluster.nodes", [{"name": f"n{place}", "cpu": 1, "memory": "1Gi"} for place in range(20_000)]),
            ("cluster.faults", [{"node": f"m{place}", "at": 1} for place in range(10_000)]),
        ],
        [("workload.jobs", [{"model": "lennet"}] * 30_000)],
        [("workload.submissions.at", [-1] * 100_000)],
        [("arms", [{"name": "a", "scheduler": "defualt"}] * 10_000)],
        [(f"key-{place}", 1) for place in range(30_000)],
    ],
    ids=["unknown nodes", "unknown models", "wrong times", "wrong arms", "unknown names"],
)
def test_masses_of_faults_are_refused(changes: list[tuple[str, Any]]) -> None:
    assert len(errors_of(changed(*changes))) == 100


def test_an_error_says_field_value_and_what_is_allowed() -> None:
    (error,) = errors_of(changed(("cluster.nodes.count", -3)))
    assert error.as_dict() == {
        "field": "cluster.nodes.count",
        "value": "-3",
        "message": "must be at least 1",
        "allowed": "a whole number from 1 to 20000",
    }
    assert str(error) == "cluster.nodes.count: must be at least 1 [is -3] (allowed: a whole number from 1 to 20000)"


@pytest.mark.parametrize("source", [None, 7, [1], "", "[]"], ids=str)
def test_what_is_no_document(source: Any) -> None:
    (error,) = errors_of(source)
    assert error.field == ""


# -- short forms


def test_both_stands_for_default_and_migrated() -> None:
    short = changed(("arms", GONE), ("both", True), ("pin_initial_placement", GONE), ("migration", {"alpha": 0.1}))
    long = changed(("arms.1.migration", {"name": "specon", "alpha": 0.1}))
    assert parse(short) == parse(long)


def test_both_with_a_scheduler_gives_it_to_both_arms() -> None:
    specification = parse(
        changed(("arms", GONE), ("both", True), ("scheduler", "procon"), ("migration", "least-loaded"))
    )
    assert [(arm.scheduler.name, arm.migration.name) for arm in specification.arms] == [
        ("procon", "none"),
        ("procon", "least-loaded"),
    ]


def test_both_may_be_had_without_pinning() -> None:
    assert not parse(changed(("arms", GONE), ("both", True), ("pin_initial_placement", False))).pin_initial_placement


def test_a_scheduler_alone_is_a_single_arm() -> None:
    specification = parse(changed(("arms", GONE), ("pin_initial_placement", GONE), ("scheduler", {"name": "random"})))
    assert [(arm.name, arm.scheduler.name, arm.migration.name) for arm in specification.arms] == [
        ("default", "random", "none")
    ]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"both": True, "migration": {"name": "specon", "alpha": "x"}}, "migration.alpha"),
        ({"both": True, "scheduler": {"name": "nobody"}}, "scheduler.name"),
        ({"both": True, "migration": {"name": "none"}}, "migration.name"),
        ({"both": "perhaps"}, "both"),
        ({"scheduler": {"name": "default", "x": 1}}, "scheduler.x"),
    ],
    ids=["migration", "scheduler", "none", "no switch", "single arm"],
)
def test_faults_in_short_forms_are_reported_where_they_were_written(change: dict[str, Any], field: str) -> None:
    document = changed(("arms", GONE), ("pin_initial_placement", GONE)) | change
    assert field in [error.field for error in errors_of(document)]


@pytest.mark.parametrize(
    ("written", "seeds"),
    [([3, 1], (3, 1)), (3, (1, 2, 3)), ("1..4", (1, 2, 3, 4)), ("7", (7,)), ("1, 5..6", (1, 5, 6))],
    ids=str,
)
def test_seeds(written: Any, seeds: tuple[int, ...]) -> None:
    assert parse(changed(("seeds", written))).seeds == seeds


def test_a_policy_may_be_its_name_alone() -> None:
    assert parse(changed(("arms.0.migration", "none"))) == parse(EXAMPLE)


def test_groups_of_one_prefix_count_on() -> None:
    group = {"count": 2, "cpu": 1, "memory": "1Gi"}
    nodes = [group, ONE_NODE, group, group | {"prefix": "big"}]
    names = [node.name for node in parse(changed(("cluster.nodes", nodes))).cluster.build_nodes()]
    assert names == ["node-1", "node-2", "a", "node-3", "node-4", "big-1", "big-2"]


# -- reading and writing


def test_two_ways_to_write_one_value_are_equal() -> None:
    assert parse(changed(("arms.1.migration.alpha", "0.10"), ("cluster.nodes.memory", 64 * 2**30))) == parse(EXAMPLE)


def test_written_yaml_reads_like_the_example() -> None:
    text = parse(EXAMPLE).to_yaml()
    assert "nodes: {count: 3, cpu: '16', memory: 64Gi}" in text
    assert "models: [lenet, vae, gru]" in text
    assert "at: [25, 43, 50, 65, 86, 142, 192]" in text
    assert "{name: default}" in text


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(EXAMPLE)
    assert load(path) == parse(EXAMPLE)
    for wrong in (tmp_path, tmp_path / "none.yaml", Path("/dev/zero")):
        with pytest.raises(SpecificationError, match="there is no file"):
            load(wrong)


def test_a_file_of_50_megabytes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "huge.yaml"
    with path.open("wb") as stream:
        stream.truncate(50 * 2**20)
    with pytest.raises(SpecificationError, match=r"52,428,800 bytes long"):
        load(path)


def test_200_000_jobs_are_not_too_many() -> None:
    many = parse(changed(("workload", {"models": ["vae"], "jobs": 200_000, "submissions": {"every": 1}})))
    assert many.job_count == 200_000


names = st.from_regex(r"[a-z]([-a-z0-9]{0,10}[a-z0-9])?", fullmatch=True)
times = st.floats(0, 1e6)
periods = st.just(0.0) | st.floats(0.01, 1e6)
cores = st.integers(1, 64_000).map(lambda millis: f"{millis}m")
memory = st.integers(1, 2**40)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
groups = st.fixed_dictionaries(
    {"cpu": cores, "memory": memory},
    optional={
        "count": st.integers(1, 5),
        "prefix": names,
        "labels": st.dictionaries(texts, texts, max_size=2),
        "taints": st.lists(st.sampled_from(["a=b:NoSchedule", "a:NoExecute"]), max_size=2),
        "max_pods": st.integers(1, 200),
    },
)
submissions = st.one_of(
    st.fixed_dictionaries({"every": times}, optional={"start": times}),
    st.tuples(times, times).map(lambda pair: {"uniform": sorted(pair)}),
    st.floats(1e-3, 10).map(lambda rate: {"poisson": {"rate": rate}}),
    st.floats(1e-3, 1e4).map(lambda gap: {"poisson": {"mean_gap": gap}}),
    st.just({"at": [float(place) / 3 for place in range(6)]}),
)
entries = st.fixed_dictionaries(
    {"at": times, "model": st.sampled_from(["lenet", "vae"])},
    optional={
        "iterations": st.integers(1, 10**6),
        "cpu_request": cores,
        "memory": memory,
        "migratable": st.booleans(),
        "node_selector": st.dictionaries(texts, texts, max_size=2),
    },
)
workloads = st.one_of(
    st.fixed_dictionaries(
        {"models": st.just(["lenet", "gru"]), "jobs": st.just(6), "submissions": submissions},
        optional={"assign": st.sampled_from(["round-robin", "random"])},
    ),
    st.lists(entries, min_size=1, max_size=4).map(lambda jobs: {"jobs": jobs}),
)
migrations = st.one_of(
    st.just({"name": "none"}),
    st.fixed_dictionaries(
        {"name": st.just("specon")}, optional={"alpha": st.floats(0.01, 0.9), "interval": st.floats(1, 100)}
    ),
)
documents = st.fixed_dictionaries(
    {
        "name": names,
        "cluster": st.lists(groups, min_size=1, max_size=3).map(lambda nodes: {"nodes": nodes}),
        "workload": workloads,
        "arms": st.lists(migrations, min_size=1, max_size=3).map(
            lambda chosen: [{"name": f"arm-{place}", "migration": one} for place, one in enumerate(chosen)]
        ),
    },
    optional={
        "title": texts,
        "description": texts,
        "seeds": st.lists(st.integers(0, 2**53 - 1), min_size=1, max_size=4, unique=True),
        "until": st.floats(1e-3, 1e6),
        "speed": st.floats(1e-3, 1e6),
        "telemetry": st.fixed_dictionaries({}, optional={"progress": periods, "usage": periods}),
    },
)


@settings(max_examples=150, deadline=None)
@given(documents)
def test_what_is_written_parses_to_an_equal_specification(document: dict[str, Any]) -> None:
    specification = parse(document)
    assert parse(specification.to_yaml()) == specification
    assert parse(specification.to_mapping()) == specification
    assert parse(specification.model_dump(mode="json")) == specification
    assert parse(specification.model_dump_json()) == specification


trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names | st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
PATHS = """
name description cluster cluster.nodes cluster.nodes.cpu cluster.faults cluster.costs workload workload.models
workload.models.0 workload.jobs workload.submissions workload.submissions.at workload.submissions.at.1 arms arms.0
arms.0.scheduler arms.1.migration arms.1.migration.alpha seeds telemetry until speed both migration
"""
paths = st.sampled_from(PATHS.split())


@settings(max_examples=300, deadline=None)
@given(paths, trees)
def test_whatever_stands_at_a_field_it_is_taken_or_refused_in_words(path: str, value: Any) -> None:
    try:
        parse(changed((path, value)))
    except SpecificationError as error:
        assert error.errors
        assert all(found.message and len(found.value) <= 60 for found in error.errors)


def test_the_schema_for_forms_knows_the_short_forms() -> None:
    schema = json_schema()
    assert {"both", "scheduler", "migration", "arms"} <= schema["properties"].keys()
    assert "arms" not in schema["required"]
