"""The form: inputs and YAML follow each other, every change is checked by the backend, launch happens in the browser."""

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

    @app.callback(
        Output(pages.SPECIFICATION, "data"),
        [Input(ids.field(name), "checked" if name in CHECKED else "value") for name in NAMES],
        Input({"part": "parameter", "slot": ALL, "name": ALL}, "value"),
        Input({"part": "parameter", "slot": ALL, "name": ALL}, "checked"),
        Input(pages.YAML, "value"),
        State({"part": "parameter", "slot": ALL, "name": ALL}, "id"),
        State(pages.BASE, "data"),
        State(pages.SHOWN, "data"),
    )
    def collect(
        values: list[Any], written: list[Any], ticked: list[Any], yaml: str, named: list[Id], base: Any, shown: Any
    ) -> Any:
        shown = shown or {}
        if ctx.triggered_id == pages.YAML:
            if not yaml or shown.get("yaml") == yaml:
                raise PreventUpdate  # what we wrote there ourselves
            return {"yaml": yaml, "by": "yaml"}
        policies = source.policies()
        if isinstance(policies, Problem):
            raise PreventUpdate
        inputs = dict(zip(NAMES, values, strict=True))
        given = {slot: _given(slot, inputs, policies, named, written, ticked) for slot in SLOTS}
        made = form.to_specification(base, inputs, given)
        if shown.get("form") == etag(made):  # inputs and YAML agree already; check again only, to clear old faults
            return (
                {"yaml": shown["yaml"], "by": "echo"}
                if shown["by"] == "yaml"
                else {"specification": made, "by": "echo"}
            )
        return {"specification": made, "by": "form"}

    @app.callback(
        Output(pages.REVIEW, "children"),
        Output(pages.REST, "children"),
        Output(pages.COMMAND, "children"),
        Output(pages.LAUNCH, "disabled"),
        Output({"part": "parameter", "slot": ALL, "name": ALL}, "error"),
        [Output(ids.field(name), "error") for name in NAMES if name != "side"],
        Input(pages.SPECIFICATION, "data"),
        State({"part": "parameter", "slot": ALL, "name": ALL}, "id"),
        prevent_initial_call=True,
    )
    def check(asked: dict[str, Any], named: list[Id]) -> Any:
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
        return pages.review_words(answer), None, answer.get("cli") or "", False, *_clean(named)

    app.clientside_callback(
        ClientsideFunction("podshift", "launchForm"),
        Output(pages.FAILURE, "children"),
        Output(pages.LAUNCH, "loading"),
        Input(pages.LAUNCH, "n_clicks"),
        State(pages.SPECIFICATION, "data"),
        State(pages.KEY, "data"),
        prevent_initial_call=True,
    )


def _clean(named: list[Id]) -> tuple[list[None], list[None]]:
    """No faults at any input."""
    return [None] * len(named), [None] * (len(NAMES) - 1)


def _given(
    slot: str,
    inputs: Mapping[str, Any],
    policies: Mapping[str, Any],
    named: list[Id],
    written: list[Any],
    ticked: list[Any],
) -> dict[str, Any]:
    """Parameters of the chosen policy that are not at their default."""
    schema = schema_of(policies, slot, str(inputs.get(slot)))
    kinds = {parameter.name: parameter.kind for parameter in parameters.read(schema)}
    values = {
        identity["name"]: tick if kinds.get(identity["name"]) == "boolean" else value
        for identity, value, tick in zip(named, written, ticked, strict=True)
        if identity["slot"] == slot
    }
    return parameters.changed(schema, values)


def schema_of(policies: Mapping[str, Any], slot: str, name: str) -> dict[str, Any]:
    """JSON schema of a policy's parameters; empty for an unknown one."""
    found = next((policy for policy in policies[f"{slot}s"] if policy["name"] == name), None)
    return (found or {}).get("schema") or {}


def _refused(answer: Problem, named: list[Id], asked: Mapping[str, Any]) -> Any:
    if answer.status is None or answer.status >= 500:
        return problem(answer), None, no_update, True, *_clean(named)
    inputs, of_parameters, rest = form.faults_by_input(answer.errors)
    if not answer.errors:
        rest = [answer.why]
    there = {(identity["slot"], identity["name"]) for identity in named}
    rest += [f"{slot} {name}: {text}" for (slot, name), text in of_parameters.items() if (slot, name) not in there]
    if "side" in inputs:
        rest.append(inputs["side"])
    if asked["by"] == "yaml":
        set_props(pages.YAML, {"error": answer.why})
    return (
        pages.refusal_words(len(answer.errors)),
        pages.rest_words(rest),
        no_update,
        True,
        [of_parameters.get((identity["slot"], identity["name"])) for identity in named],
        [inputs.get(name) for name in NAMES if name != "side"],
    )


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
            return parameters.inputs(slot, found.get("schema") or {}, {}), str(found.get("description") or "")[:160]
