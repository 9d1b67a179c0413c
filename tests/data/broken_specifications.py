"""Specifications with one fault each, as text: what the API answers with 422 and the command line with exit code 2.

Each entry: what is wrong, the text, the field that the error has to name ("" is the document as a whole).
"""

import json

import yaml

GOOD = """\
name: broken
target: simulator
cluster: {nodes: {count: 3, cpu: "16", memory: 64Gi}}
workload: {models: [lenet, vae, gru], jobs: 7, submissions: {at: [25, 43, 50, 65, 86, 142, 192]}}
arms:
  - {name: default,  scheduler: {name: default}, migration: {name: none}}
  - {name: migrated, scheduler: {name: default}, migration: {name: specon, alpha: 0.1, interval: 10, round: 30}}
pin_initial_placement: true
seeds: [1]
"""
"""Nothing is wrong with this one."""


def _with(old: str, new: str) -> str:
    assert old in GOOD, old
    return GOOD.replace(old, new)


_BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join(['*' + before] * 9)}]\n"
    for before, name in zip("abcdefghi", "bcdefghij", strict=True)
)
_JOBS = "jobs: 7, submissions: {at: [25, 43, 50, 65, 86, 142, 192]}"

BROKEN: list[tuple[str, str, str]] = [
    ("empty", "", ""),
    ("a list", "[1, 2]", ""),
    ("a word", "hello", ""),
    ("not YAML", "name: [seven\n  jobs: }", ""),
    ("two documents", GOOD + "---\n" + GOOD, ""),
    ("YAML bomb", _BOMB, ""),
    ("Python object", _with("name: broken", "name: !!python/object/apply:os.system ['true']"), ""),
    ("deep nesting", "name: " + "[" * 5000 + "]" * 5000, ""),
    ("name given twice", GOOD + "name: again\n", ""),
    ("too large", GOOD + "# " + "x" * (1024 * 1024), ""),
    ("unknown name at the top", GOOD + "speeed: 3\n", "speeed"),
    ("no cluster", _with('cluster: {nodes: {count: 3, cpu: "16", memory: 64Gi}}\n', ""), "cluster"),
    ("no workload", _with("workload:", "description:").replace("{models", '"').replace("192]}}", '"'), "workload"),
    ("no arms in the list", GOOD[: GOOD.index("arms:")] + "arms: []\nseeds: [1]\n", "arms"),
    ("name with capitals", _with("name: broken", "name: Broken Name"), "name"),
    ("unknown target", _with("target: simulator", "target: moon"), "target"),
    ("zero nodes", _with("count: 3", "count: 0"), "cluster.nodes.count"),
    ("a node of zero cores", _with('cpu: "16"', 'cpu: "0"'), "cluster.nodes.cpu"),
    ("negative memory", _with("memory: 64Gi", "memory: -1Gi"), "cluster.nodes.memory"),
    ("a unit that is none", _with("memory: 64Gi", "memory: 64Gb"), "cluster.nodes.memory"),
    ("cores as a list", _with('cpu: "16"', "cpu: [16]"), "cluster.nodes.cpu"),
    ("unknown model", _with("lenet", "lennet"), "workload.models.0"),
    ("no models", _with("[lenet, vae, gru]", "[]"), "workload.models"),
    ("negative number of jobs", _with("jobs: 7", "jobs: -7"), "workload.jobs"),
    ("true as a number", _with("jobs: 7", "jobs: true"), "workload.jobs"),
    ("negative time", _with("at: [25,", "at: [-25,"), "workload.submissions.at.0"),
    ("NaN as a time", _with("at: [25,", "at: [.nan,"), "workload.submissions.at.0"),
    ("infinite time", _with("at: [25,", "at: [.inf,"), "workload.submissions.at.0"),
    ("fewer times than jobs", _with("142, 192]", "142]"), "workload"),
    (
        "two jobs of one name",
        _with(_JOBS, "jobs: [{name: a, model: lenet, at: 0}, {name: a, model: vae, at: 1}]"),
        "workload.jobs",
    ),
    ("unknown scheduler", _with("scheduler: {name: default}", "scheduler: {name: defualt}"), "arms.0.scheduler"),
    ("unknown migration policy", _with("{name: specon,", "{name: specom,"), "arms.1.migration"),
    ("unknown parameter", _with("alpha: 0.1", "alhpa: 0.1"), "arms.1.migration.alhpa"),
    ("parameter out of range", _with("interval: 10", "interval: -10"), "arms.1.migration.interval"),
    ("parameter of the wrong type", _with("alpha: 0.1", "alpha: much"), "arms.1.migration.alpha"),
    ("two arms of one name", _with("{name: migrated,", "{name: default,"), "arms.1.name"),
    ("no seeds", _with("seeds: [1]", "seeds: []"), "seeds"),
    ("a seed twice", _with("seeds: [1]", "seeds: [1, 1]"), "seeds"),
    ("a negative seed", _with("seeds: [1]", "seeds: [-1]"), "seeds.0"),
    ("speed of zero", GOOD + "speed: 0\n", "speed"),
    ("JSON with NaN", json.dumps({**yaml.safe_load(GOOD), "until": float("nan")}), "until"),
]


def contains_field(errors: list[dict[str, str]], field: str) -> bool:
    """Whether an error names the field or something in it."""
    return any(error["field"] == field or error["field"].startswith(field + ".") for error in errors)
