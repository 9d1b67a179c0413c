"""The form: inputs and YAML follow each other, the backend checks every change, the browser launches."""

from collections.abc import Mapping
from typing import Any

from dash import ALL, ClientsideFunction, Dash, Input, Output, State, ctx, no_update, set_props
from dash.exceptions import PreventUpdate

from dashboard import form, ids
from dashboard.components import parameters
from dashboard.components.states import problem
from dashboard.pages import new as pages
from dashboard.source import Problem, Source, etag
from dashboard.urlstate import Links

CHECKED = frozenset({"pin"})
"""Inputs that are switches: their value is the property `checked`."""
NAMES = tuple(form.FIELDS)
SLOTS = ("scheduler", "migration")
Id = dict[str, str]


def register(app: Dash, source: Source, links: Links) -> None:
    """Register the callbacks of the page."""
    del links
    _policy_inputs(app, source)

    every = {"part": "parameter", "slot": ALL, "name": ALL}

    @app.callback(
        output=Output(pages.SPECIFICATION, "data"),
        inputs={
            "inputs": {name: Input(ids.field(name), "checked" if name in CHECKED else "value") for name in NAMES},
            "written": Input(every, "value"),
            "ticked": Input(every, "checked"),
            "yaml": Input(pages.YAML, "value"),
        },
        state={"named": State(every, "id"), "base": State(pages.BASE, "data"), "shown": State(pages.SHOWN, "data")},
    )
    def collect(
        *,
        inputs: dict[str, Any],
        written: list[Any],
        ticked: list[Any],
        yaml: str,
        named: list[Id],
        base: Any,
        shown: Any,
    ) -> Any:
        shown = shown or {}
        if ctx.triggered_id == pages.YAML:
            if not yaml or shown.get("yaml") == yaml:
                raise PreventUpdate  # what we wrote there ourselves
            return {"yaml": yaml, "by": "yaml"}
        policies = source.policies()
        if isinstance(policies, Problem):
            raise PreventUpdate
        values = list(zip(named, written, ticked, strict=True))
        made = form.to_specification(base, inputs, {slot: _given(slot, inputs, policies, values) for slot in SLOTS})
        if shown.get("form") == etag(made):  # inputs and YAML agree already; check again only, to clear old faults
            return (
                {"yaml": shown["yaml"], "by": "echo"}
                if shown["by"] == "yaml"
                else {"specification": made, "by": "echo"}
            )
        return {"specification": made, "by": "form"}

    @app.callback(
        output={
            "review": Output(pages.REVIEW, "children"),
            "rest": Output(pages.REST, "children"),
            "command": Output(pages.COMMAND, "children"),
            "disabled": Output(pages.LAUNCH, "disabled"),
            "parameters": Output(every, "error"),
            "inputs": {name: Output(ids.field(name), "error") for name in NAMES if name != "side"},
        },
        inputs={"asked": Input(pages.SPECIFICATION, "data")},
        state={"named": State(every, "id")},
        prevent_initial_call=True,
    )
    def check(*, asked: dict[str, Any], named: list[Id]) -> dict[str, Any]:
        answer = source.validate({key: asked[key] for key in ("specification", "yaml") if key in asked})
        if isinstance(answer, Problem):
            return _refused(answer, named, asked)
        # By set_props, for these are inputs of `collect`: as outputs here they would close a circle.
        set_props(pages.YAML, {"error": None, **({"value": answer["yaml"]} if asked["by"] == "form" else {})})
        if asked["by"] == "form":
            set_props(
                pages.SHOWN, {"data": {"yaml": answer["yaml"], "form": etag(asked["specification"]), "by": "form"}}
            )
        elif asked["by"] == "yaml":
            _follow_yaml(source, answer["specification"], asked["yaml"])
        return {
            "review": pages.review_words(answer),
            "rest": None,
            "command": answer.get("cli") or "",
            "disabled": False,
            **_faults(named, {}, {}),
        }

    app.clientside_callback(
        ClientsideFunction("podshift", "sides"),
        Output("policy-migration", "hidden"),
        Output(pages.PIN, "hidden"),
        Input(ids.field("side"), "value"),
    )
    app.clientside_callback(
        ClientsideFunction("podshift", "launchForm"),
        Output(pages.FAILURE, "children"),
        Output(pages.LAUNCH, "loading"),
        Input(pages.LAUNCH, "n_clicks"),
        State(pages.SPECIFICATION, "data"),
        State(pages.KEY, "data"),
        prevent_initial_call=True,
    )


def _faults(named: list[Id], inputs: Mapping[str, str], of_parameters: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    """Messages at their inputs, None where there is no fault."""
    return {
        "parameters": [of_parameters.get((identity["slot"], identity["name"])) for identity in named],
        "inputs": {name: inputs.get(name) for name in NAMES if name != "side"},
    }


def _given(
    slot: str, inputs: Mapping[str, Any], policies: Mapping[str, Any], values: list[tuple[Id, Any, Any]]
) -> dict[str, Any]:
    """Parameters of the chosen policy that are not at their default; `values` are (id, value, checked) of inputs."""
    schema = schema_of(policies, slot, str(inputs.get(slot)))
    kinds = {parameter.name: parameter.kind for parameter in parameters.read(schema)}
    mine = {
        identity["name"]: tick if kinds.get(identity["name"]) == "boolean" else value
        for identity, value, tick in values
        if identity["slot"] == slot
    }
    return parameters.changed(schema, mine)


def schema_of(policies: Mapping[str, Any], slot: str, name: str) -> dict[str, Any]:
    """JSON schema of a policy's parameters; empty for an unknown one."""
    found = next((policy for policy in policies[f"{slot}s"] if policy["name"] == name), None)
    return (found or {}).get("schema") or {}


def _refused(answer: Problem, named: list[Id], asked: Mapping[str, Any]) -> dict[str, Any]:
    made = {"rest": None, "command": no_update, "disabled": True}
    if answer.status is None or answer.status >= 500:
        return {**made, "review": problem(answer), **_faults(named, {}, {})}
    inputs, of_parameters, rest = form.faults_by_input(answer.errors)
    if not answer.errors:
        rest = [answer.why]
    there = {(identity["slot"], identity["name"]) for identity in named}
    rest += [f"{slot} {name}: {text}" for (slot, name), text in of_parameters.items() if (slot, name) not in there]
    if "side" in inputs:
        rest.append(inputs["side"])
    if asked["by"] == "yaml":
        set_props(pages.YAML, {"error": answer.why})
    for slot in {slot for slot, _ in of_parameters}:
        set_props(f"{pages.slot(slot)}-box", {"open": True})  # a message nobody sees helps nobody
    return {
        **made,
        "review": pages.refusal_words(len(answer.errors)),
        "rest": pages.rest_words(rest),
        **_faults(named, inputs, of_parameters),
    }


def _follow_yaml(source: Source, specification: dict[str, Any], written: str) -> None:
    """Make the form anew from what the YAML says; the YAML stays as the person wrote it."""
    policies, models = source.policies(), source.models()
    if isinstance(policies, Problem) or isinstance(models, Problem):
        return
    values, given, _ = form.to_values(specification)
    echo = form.to_specification(specification, values, given)
    set_props(pages.BASE, {"data": specification})
    set_props(pages.SHOWN, {"data": {"yaml": written, "form": etag(echo), "by": "yaml"}})
    set_props(pages.FORM, {"children": pages.form_cards(specification, policies, models)})


def _policy_inputs(app: Dash, source: Source) -> None:
    """Another policy has other parameters."""
    for slot in SLOTS:

        @app.callback(
            Output(pages.slot(slot), "children"),
            Output(ids.field(slot), "description"),
            Input(ids.field(slot), "value"),
            prevent_initial_call=True,
        )
        def change(name: str, slot: str = slot) -> Any:
            policies = source.policies()
            if isinstance(policies, Problem):
                raise PreventUpdate
            found = next((policy for policy in policies[f"{slot}s"] if policy["name"] == name), {})
            return parameters.inputs(slot, found.get("schema") or {}, {}), pages.policy_words(found)
