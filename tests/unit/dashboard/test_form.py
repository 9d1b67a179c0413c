import pytest

from dashboard import form
from dashboard.components import parameters
from tests.unit.dashboard.fake_backend import PARAMETERS, SPECIFICATION


def round_trip(specification: dict) -> dict:
    values, given, _ = form.to_values(specification)
    return form.to_specification(specification, values, given)


def test_what_the_form_shows_is_what_the_specification_says() -> None:
    values, given, beyond = form.to_values(SPECIFICATION)
    assert values["node_count"] == 3
    assert values["models"] == ["lenet", "vae", "gru"]
    assert (values["submission_kind"], values["submission_value"]) == ("at", "25, 43, 50, 65, 86, 142, 192")
    assert (values["side"], values["migration"], values["pin"]) == ("both", "specon", True)
    assert given == {"scheduler": {}, "migration": {"alpha": 0.1}}
    assert beyond == []


def test_untouched_inputs_give_an_equal_experiment() -> None:
    made = round_trip(SPECIFICATION)
    assert made["workload"] == SPECIFICATION["workload"]
    assert made["cluster"]["nodes"] == SPECIFICATION["cluster"]["nodes"]
    assert (made["both"], made["migration"]) == (True, {"name": "specon", "alpha": 0.1})
    assert round_trip(made) == made


def test_parts_without_inputs_stay_as_written() -> None:
    written = {
        **SPECIFICATION,
        "cluster": {**SPECIFICATION["cluster"], "faults": [{"node": "node-1", "at": 50}], "costs": {"stop_s": 1}},
        "workload": {
            "models": ["lenet", {"name": "mine", "iterations": 5}],
            "jobs": [{"name": "x", "model": "mine", "at": 4}],
        },
        "telemetry": {"progress": 5},
    }
    made = round_trip(written)
    for part in ("faults", "costs"):
        assert made["cluster"][part] == written["cluster"][part]
    assert made["workload"] == written["workload"]
    assert made["telemetry"] == {"progress": 5}
    assert form.to_values(written)[2] == [
        "spelled-out models",
        "a list of jobs",
        "failures of nodes",
        "costs of a migration",
        "telemetry",
    ]


def test_arms_the_form_cannot_say_are_kept() -> None:
    arms = [{"name": f"arm-{i}", "migration": {"name": "specon"}} for i in range(3)]
    written = {**SPECIFICATION, "arms": arms}
    assert form.to_values(written)[2] == ["arms of your own"]
    assert round_trip(written)["arms"] == arms


@pytest.mark.parametrize(
    ("side", "expected"),
    [
        ("off", [{"name": "default", "scheduler": {"name": "default"}, "migration": {"name": "none"}}]),
        ("on", [{"name": "migrated", "scheduler": {"name": "default"}, "migration": {"name": "specon", "alpha": 0.2}}]),
    ],
)
def test_one_side_is_one_arm(side: str, expected: list) -> None:
    values, _, _ = form.to_values(SPECIFICATION)
    made = form.to_specification(SPECIFICATION, {**values, "side": side}, {"migration": {"alpha": 0.2}})
    assert made["arms"] == expected
    assert "both" not in made


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("every", "30", {"every": 30}),
        ("at", "1, 2.5, 4", {"at": [1, 2.5, 4]}),
        ("uniform", "0, 300", {"uniform": [0, 300]}),
        ("poisson", "20", {"poisson": {"mean_gap": 20}}),
        ("every", "soon", {"every": "soon"}),
        ("every", "", {"every": ""}),
    ],
    ids=["every", "at", "uniform", "poisson", "no number", "nothing"],
)
def test_submissions(kind: str, text: str, expected: dict) -> None:
    assert form.write_submissions(kind, text) == expected


@pytest.mark.parametrize(
    ("text", "seeds"), [("1, 2, 3", [1, 2, 3]), ("1..20", "1..20"), ("7", [7]), ("many", "many"), ("", "")], ids=str
)
def test_seeds(text: str, seeds: object) -> None:
    assert form.read_seeds(text) == seeds


def test_each_fault_is_at_its_input() -> None:
    inputs, of_parameters, rest = form.faults_by_input(
        [
            {"field": "cluster.nodes.0.cpu", "message": "must be more than zero", "allowed": ""},
            {"field": "arms.1.migration.alpha", "message": "must be at most 1", "allowed": "0 to 1"},
            {"field": "migration.name", "message": "no migration policy is called 'x'", "allowed": ""},
            {"field": "workload.models.1", "message": "no model is called 'y'", "allowed": ""},
            {"field": "workload.submissions.at", "message": "has 3 times for 9 jobs", "allowed": ""},
            {"field": "cluster.faults.0.node", "message": "names no node", "allowed": ""},
        ]
    )
    assert inputs == {
        "node_cpu": "Must be more than zero.",
        "migration": "No migration policy is called 'x'.",
        "models": "No model is called 'y'.",
        "submission_value": "Has 3 times for 9 jobs.",
    }
    assert of_parameters == {("migration", "alpha"): "Must be at most 1. Allowed: 0 to 1."}
    assert rest == ["cluster.faults.0.node: Names no node."]


# -- parameters from a schema


def test_a_schema_becomes_inputs_with_bounds_and_defaults() -> None:
    alpha, rebalance, mode = parameters.read(PARAMETERS)
    assert (alpha.kind, alpha.default, alpha.low, alpha.high) == ("number", 0.1, 0, 1)
    assert (rebalance.kind, rebalance.default) == ("boolean", False)
    assert (mode.kind, mode.choices) == ("choice", ("paper", "corrected"))


@pytest.mark.parametrize(
    ("given", "changed"),
    [
        ({"alpha": "0.1", "rebalance": False, "mode": "corrected"}, {}),
        ({"alpha": "0.25"}, {"alpha": 0.25}),
        ({"alpha": "much"}, {"alpha": "much"}),
        ({"alpha": ""}, {"alpha": ""}),
        ({"rebalance": True, "mode": "paper"}, {"rebalance": True, "mode": "paper"}),
        ({"unknown": 1}, {}),
    ],
    ids=["defaults", "number", "no number", "blank", "others", "unknown"],
)
def test_only_what_is_not_the_default_is_written(given: dict, changed: dict) -> None:
    assert parameters.changed(PARAMETERS, given) == changed


def test_optional_and_referenced_parameters_are_understood() -> None:
    schema = {
        "$defs": {"Mode": {"enum": ["a", "b"]}},
        "properties": {
            "budget": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}], "default": None},
            "mode": {"$ref": "#/$defs/Mode", "default": "a"},
        },
    }
    budget, mode = parameters.read(schema)
    assert (budget.kind, budget.optional, budget.low) == ("integer", True, 1)
    assert mode.choices == ("a", "b")
    assert parameters.changed(schema, {"budget": "3", "mode": "a"}) == {"budget": 3}
    assert parameters.changed(schema, {"budget": ""}) == {}


def test_arms_that_are_spelled_out_are_pinned_only_if_they_say_so() -> None:
    arms = [{"name": "default"}, {"name": "skippy", "scheduler": "skippy"}]
    values, _, _ = form.to_values({"name": "x", "arms": arms})
    assert values["pin"] is False
    values, _, _ = form.to_values({"name": "x", "both": True})
    assert values["pin"] is True
