"""New experiment: a form and its YAML, each following the other, checked while one writes."""

from collections.abc import Mapping, Sequence
from typing import Any

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard import form, ids
from dashboard.components import parameters
from dashboard.components.icons import icon
from dashboard.components.states import problem
from dashboard.formats import plural, seconds
from dashboard.pages.frame import heading, page
from dashboard.source import Problem
from dashboard.urlstate import Links

BASE = "form-base"
"""Store: the specification the inputs are written onto."""
SPECIFICATION = "form-specification"
"""Store: what would be launched; {specification} or {yaml}, whichever side was written last."""
SHOWN = "form-shown"
"""Store: the YAML on screen, the mark of the inputs that agree with it, and which of both was written by the person."""
FORM = "form-cards"
KEY = "form-key"
PIN = "form-pin"
YAML = "form-yaml"
LAUNCH = "form-launch"
REVIEW = "form-review"
REST = "form-rest"
COMMAND = "form-command"
FAILURE = "form-failure"
INPUT: dict[str, Any] = {"size": "sm", "debounce": 250, "inputWrapperOrder": parameters.ORDER}
"""What all text inputs share; a quarter of a second after the last key the value is checked."""
CHOICE: dict[str, Any] = {
    "size": "sm",
    "inputWrapperOrder": parameters.ORDER,
    "comboboxProps": {"transitionProps": {"duration": 0}},
}
"""What all choices share."""


def slot(name: str) -> str:
    """Id of the box with the parameters of a policy."""
    return f"form-{name}-parameters"


def layout(
    links: Links,
    base: Mapping[str, Any],
    *,
    policies: Any,
    models: Any,
    origin: str,
    key: str,
    notices: Sequence[str] = (),
) -> list[Any]:
    """The page, filled from a specification."""
    for answer in (policies, models):
        if isinstance(answer, Problem):
            return page(
                [heading("New experiment"), problem(answer, "Reload the page when the backend is back.")],
                title="New experiment",
                watch=links.feed("health"),
            )
    return page(
        [
            dcc.Store(id=BASE, data=dict(base)),
            dcc.Store(id=SPECIFICATION),
            dcc.Store(id=SHOWN),
            dcc.Store(id=KEY, data=key),
            heading(
                "New experiment",
                below=f"Filled from {origin}. Change what you like."
                if origin
                else "Every value has a sensible default.",
            ),
            html.Div(
                [
                    html.Div(form_cards(base, policies, models), className="form", id=FORM),
                    html.Aside(_review(), className="review", **{"aria-label": "Review and launch"}),
                ],
                className="form-columns",
            ),
        ],
        title="New experiment",
        watch=links.feed("health"),
        notices=notices,
    )


def form_cards(base: Mapping[str, Any], policies: Mapping[str, Any], models: Sequence[Mapping[str, Any]]) -> list[Any]:
    """All inputs, filled from a specification."""
    values, given, beyond = form.to_values(base)
    return [
        _beyond(beyond),
        _what(values),
        _workload(values, models),
        _policies(values, given, policies),
        _repeats(values),
    ]


def _card(step: int, title: str, *content: Any) -> html.Section:
    return html.Section(
        [html.H2([html.Span(str(step), className="step"), title]), *content],
        className="panel padded form-card",
        **{"aria-label": title},
    )


def _what(values: Mapping[str, Any]) -> html.Section:
    return _card(
        1,
        "Where and on what",
        html.Div(
            [
                dmc.TextInput(
                    id=ids.field("name"), label="Name",
                    description="Small letters, digits and dashes; runs are called after it",
                    value=values["name"], **INPUT,
                ),
                dmc.Select(
                    id=ids.field("target"), label="Target",
                    description="Clusters run in real time, jobs as pods; a live one has its own nodes",
                    value=values["target"],
                    data=[
                        {"value": "simulator", "label": "Simulator"},
                        {"value": "embedded", "label": "Embedded cluster of its own"},
                        {"value": "live", "label": "The cluster Podshift is connected to"},
                    ],
                    allowDeselect=False, **CHOICE,
                ),
            ],
            className="fields",
        ),
        html.Div(
            [
                dmc.NumberInput(
                    id=ids.field("node_count"), label="Nodes", description="How many equal nodes",
                    value="" if values["node_count"] is None else values["node_count"], min=0, **INPUT,
                    clampBehavior="none",
                ),
                dmc.TextInput(
                    id=ids.field("node_cpu"), label="Cores of each", description="Such as 16 or 7500m",
                    value=values["node_cpu"], **INPUT,
                ),
                dmc.TextInput(
                    id=ids.field("node_memory"), label="Memory of each", description="Such as 64Gi",
                    value=values["node_memory"], **INPUT,
                ),
            ],
            className="fields three",
        ),
    )  # fmt: skip


def _workload(values: Mapping[str, Any], models: Sequence[Mapping[str, Any]]) -> html.Section:
    return _card(
        2,
        "Workload",
        dmc.MultiSelect(
            id=ids.field("models"), label="Models", description="What the jobs train; jobs take them in turn",
            value=values["models"],
            data=[{"value": str(model["name"]), "label": str(model["name"])} for model in models],
            searchable=True, **CHOICE, hidePickedOptions=True,
        ),
        html.Div(
            [
                dmc.NumberInput(
                    id=ids.field("jobs"), label="Jobs", description="How many", min=0, **INPUT,
                    value=values["jobs"] if values["jobs"] is not None else "", clampBehavior="none",
                ),
                dmc.Select(
                    id=ids.field("submission_kind"), label="Jobs arrive", description="The same in all arms",
                    value=values["submission_kind"],
                    data=[
                        {"value": "every", "label": "Every … seconds"},
                        {"value": "at", "label": "At these seconds"},
                        {"value": "uniform", "label": "Uniformly between … and … s"},
                        {"value": "poisson", "label": "At random, every … s on average"},
                    ],
                    allowDeselect=False, **CHOICE,
                ),
                dmc.TextInput(
                    id=ids.field("submission_value"), label="Seconds", description="One number, or several with commas",
                    value=values["submission_value"], **INPUT,
                ),
            ],
            className="fields three",
        ),
    )  # fmt: skip


def _policies(values: Mapping[str, Any], given: Mapping[str, Any], policies: Mapping[str, Any]) -> html.Section:
    migrations = [policy for policy in policies["migrations"] if policy["name"] != "none"]
    return _card(
        3,
        "Scheduling and migration",
        html.Div(
            [
                html.Span("Arms to run", className="group-label", id="side-label"),
                dmc.SegmentedControl(
                    id=ids.field("side"),
                    value=values["side"],
                    data=[
                        {"value": "both", "label": "Both, to compare"},
                        {"value": "on", "label": "Migration on"},
                        {"value": "off", "label": "Migration off"},
                    ],
                    size="sm",
                    transitionDuration=0,
                    attributes={"root": {"aria-labelledby": "side-label"}},
                ),
                html.Div(
                    dmc.Switch(
                        id=ids.field("pin"),
                        label="Same initial placement in both arms",
                        description="The second arm starts where the first put its jobs, so only migrations differ",
                        checked=values["pin"],
                        size="sm",
                    ),
                    id=PIN,
                    hidden=values["side"] != "both",
                ),
            ],
            className="sides",
        ),
        _policy(
            "scheduler",
            "Scheduler",
            value=values["scheduler"],
            choices=policies["schedulers"],
            given=given["scheduler"],
            hidden=False,
        ),
        _policy(
            "migration",
            "Migration policy",
            value=values["migration"],
            choices=migrations,
            given=given["migration"],
            hidden=values["side"] == "off",
        ),
    )


def _policy(
    name: str, label: str, *, value: str, choices: Sequence[Mapping[str, Any]], given: Mapping[str, Any], hidden: bool
) -> html.Div:
    chosen = next((choice for choice in choices if choice["name"] == value), {})
    schema = chosen.get("schema") or {}
    return html.Div(
        [
            dmc.Select(
                id=ids.field(name),
                label=label,
                description=policy_words(chosen),
                value=value,
                data=[{"value": str(choice["name"]), "label": str(choice["name"])} for choice in choices],
                allowDeselect=False,
                **CHOICE,
            ),
            html.Details(
                [
                    html.Summary(f"Parameters of the {label.lower()}"),
                    html.Div(parameters.inputs(name, schema, given), id=slot(name), className="parameters"),
                ],
                open=bool(parameters.changed(schema, given)),
                id=f"{slot(name)}-box",
            ),
        ],
        className="policy",
        id=f"policy-{name}",
        hidden=hidden,
    )


def policy_words(policy: Mapping[str, Any]) -> str:
    """What a policy does, as a hint under its name."""
    return str(policy.get("description") or "").replace("`", "")[:200]


def _repeats(values: Mapping[str, Any]) -> html.Section:
    return _card(
        4,
        "Repeats",
        dmc.TextInput(
            id=ids.field("seeds"),
            label="Seeds",
            description="A list such as 1, 2, 3 or a range such as 1..20. One seed gives no interval.",
            value=values["seeds"],
            **INPUT,
        ),
    )


def _review() -> list[Any]:
    return [
        html.Section(
            [
                html.H2("Review"),
                html.Div(html.P("Checking …", className="quiet"), id=REVIEW, role="status", className="review-words"),
                html.Div(id=REST, role="alert"),
                html.Div(id=FAILURE, role="alert"),
                dmc.Button(
                    "Launch",
                    className="primary-button",
                    id=LAUNCH,
                    n_clicks=0,
                    disabled=True,
                    leftSection=icon("play"),
                    fullWidth=True,
                    size="md",
                    attributes={"root": {"aria-describedby": REVIEW}},
                ),
                html.P("The same from a terminal", className="group-label"),
                html.Div(html.Code("…", id=COMMAND), className="command", tabIndex="0"),
            ],
            className="panel padded",
        ),
        html.Section(
            [
                dmc.Textarea(
                    id=YAML,
                    label="YAML",
                    description="The whole specification. The form follows what you write here.",
                    autosize=True,
                    minRows=14,
                    maxRows=34,
                    value="",
                    debounce=500,
                    className="yaml-input",
                    spellCheck=False,
                ),
            ],
            className="panel padded",
        ),
    ]


def _beyond(beyond: Sequence[str]) -> Any:
    if not beyond:
        return None
    return html.Div(
        f"Set in the YAML and kept as written, because the form has no inputs for it: {', '.join(beyond)}.",
        className="notice info",
    )


def review_words(answer: Mapping[str, Any]) -> html.Div:
    """What a valid specification will do."""
    jobs, nodes, runs, estimate = (answer.get(name) for name in ("jobs", "nodes", "runs", "estimate_s"))
    said = [f"{plural(int(runs or 1), 'run')} of {plural(int(jobs or 0), 'job')} on {plural(int(nodes or 0), 'node')}."]
    if estimate is not None:
        said.append("Takes under a second." if estimate < 1 else f"Takes about {seconds(estimate)}.")
    return html.Div(
        [html.Span([icon("check", 14), "Ready to launch"], className="badge badge-good"), html.P(" ".join(said))]
    )


def refusal_words(count: int) -> html.Div:
    """Why it cannot be launched."""
    words = (
        f"{plural(count, 'value')} must be changed before launch." if count else "The specification cannot be launched."
    )
    return html.Div([html.Span([icon("alert", 14), "Not ready"], className="badge badge-warn"), html.P(words)])


def rest_words(rest: Sequence[str]) -> Any:
    """Faults that belong to no input."""
    return html.Ul([html.Li(text) for text in rest], className="faults") if rest else None
