"""The tabs of a run that are tables: jobs, decisions, configuration."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import yaml
from dash import dcc, html

from dashboard.components import grid
from dashboard.components.states import empty
from dashboard.figures.timeaxis import clock
from dashboard.figures.view import Columns, rows_of
from dashboard.formats import MISSING, number, plural
from dashboard.pages.run import COUNT, DETAIL, grid_id, mark_id, toggle
from dashboard.source import etag
from dashboard.urlstate import RunState

VERDICTS = {  # verdict -> what it means in words
    "migrate": "migrates",
    "round-budget": "not this round: budget used",
    "nobody-to-help": "stays: nobody at home would gain",
    "no-better-node": "stays: no node is better enough",
    "no-fitting-node": "stays: fits nowhere else",
    "already-migrated": "stays: migrated before",
    "cooling-down": "stays: migrated a moment ago",
    "nearly-finished": "stays: nearly finished",
    "not-migratable": "stays: may not be migrated",
    "in-migration": "is being migrated",
    "paused": "stays: migration is paused",
    "dry-run": "would migrate: dry run",
    "left": "considered and left",
}


LIST_ROWS = 15
"""Decisions on one page of their list."""
JOB_COLUMNS = (
    "job", "workload", "outcome", "submitted_s", "completion_s", "waiting_s", "downtime_s", "migrations", "core_s",
    "lost_core_s", "first_node", "last_node", "reason",
)  # fmt: skip


def job_rows(jobs: Columns, decisions: Sequence[Mapping[str, Any]], href: Callable[[int], str]) -> list[dict[str, Any]]:
    """Rows of the jobs; `href` is the address of a decision by its sequence number.

    A job that was placed leads to the decision that chose its first node, another to the last that found it none.
    """
    rows = [dict(zip(JOB_COLUMNS, row, strict=True), id=row[0]) for row in rows_of(jobs, *JOB_COLUMNS)]
    chosen: dict[str, int] = {}
    refused: dict[str, int] = {}
    for made in decisions:
        if made["node"]:
            chosen.setdefault(made["job"], made["seq"])
        else:
            refused[made["job"]] = made["seq"]
    for row in rows:
        seq = (chosen if row["first_node"] else refused).get(row["job"])
        row["decision"] = None if seq is None else href(seq)
    return rows


def jobs_tab(rows: Sequence[Mapping[str, Any]]) -> list[Any]:
    """All jobs of the run, as `job_rows` gives them."""
    if not rows:
        return [empty("No jobs yet", "No job has been submitted so far.")]
    columns = [
        grid.text_column("job", "Job", minWidth=140, pinned="left"),
        grid.text_column("workload", "Workload", minWidth=110),
        grid.text_column("outcome", "Outcome", minWidth=110),
        {**grid.text_column("first_node", "First node", minWidth=120), "cellRenderer": "PodshiftPlaced"},
        grid.number_column("submitted_s", "Submitted (s)", minWidth=120),
        grid.number_column("completion_s", "Completion (s)", minWidth=130),
        grid.number_column("waiting_s", "Waiting (s)", minWidth=110),
        grid.number_column("downtime_s", "Downtime (s)", minWidth=120),
        grid.number_column("migrations", "Migrations", minWidth=110),
        grid.number_column("core_s", "CPU time (core-s)", minWidth=140),
        grid.number_column("lost_core_s", "Wasted (core-s)", minWidth=140),
        grid.text_column("last_node", "Last node", minWidth=120),
        grid.text_column("reason", "Reason", minWidth=160),
    ]
    title = html.Span(plural(len(rows), "job"), id=COUNT)
    return [_section(title, grid.grid(grid_id("jobs"), columns, rows)), dcc.Store(id=mark_id("jobs"), data=etag(rows))]


def decisions_tab(
    search: str,
    state: RunState,
    rows: Sequence[Mapping[str, Any]],
    migration: str,
    shown: Any,
) -> list[Any]:
    """Placements, or what was considered for migration: `rows`; the chosen one in full below: `shown`."""
    kinds = toggle(
        search,
        "kind",
        state.kind,
        (("placements", "Placements"), ("migrations", "Migrations considered")),
        "Kind of decisions",
    )
    if not rows:
        return [_section("Decisions", _none(state.kind, migration), kinds)]
    time = {**_counted("time_s", "Time", 95), "cellRenderer": "PodshiftTime"}
    if state.kind == "placements":
        columns = [
            time,
            grid.text_column("pod", "Pod", minWidth=105),
            grid.text_column("node", "Node", minWidth=100),
            grid.text_column("job", "Job", minWidth=100),
            grid.text_column("policy", "Scheduler", minWidth=122, maxWidth=140),
            _counted("feasible", "Nodes that fit", 105),
            _counted("refused", "Refused", 115),
            grid.long_text_column("reason", "Why", flex=4, minWidth=225),
        ]
    else:
        columns = [
            time,
            grid.text_column("job", "Job", minWidth=120),
            grid.text_column("move", "Where to", minWidth=150),
            grid.long_text_column("verdict", "Verdict", minWidth=150),
            grid.number_column("gain", "Gain", minWidth=70, maxWidth=90),
            grid.long_text_column("reason", "Why", flex=4, minWidth=320),
        ]
    place = next((place for place, row in enumerate(rows) if row["id"] == state.decision), None)
    chosen = None if place is None else rows[place]
    table = grid.grid(
        grid_id(state.kind),
        columns,
        rows,
        page_size=LIST_ROWS,
        options={
            "rowSelection": {"mode": "singleRow", "checkboxes": False, "enableClickSelection": True},
            # An address that names a decision opens the list where it stands.
            "initialState": {"pagination": {"page": (place or 0) // LIST_ROWS, "pageSize": LIST_ROWS}},
        },
        selected=[chosen] if chosen else None,
    )
    hint = "Choose a row (by click, or arrow keys and Space) to see what every node scored and who refused."
    return [
        _section(html.Span(plural(len(rows), "decision"), id=COUNT), table, kinds, hint),
        html.Div(shown, id=DETAIL, **{"aria-live": "polite"}),
        dcc.Store(id=mark_id(state.kind), data=etag(rows)),
    ]


def no_such_decision(identity: str) -> html.P:
    """What is shown where the address names a decision that the list does not have, such as one of another run."""
    return html.P(f"There is no decision “{identity}” in this list; choose a row.", className="quiet")


def _counted(name: str, heading: str, width: int) -> dict[str, Any]:
    """A narrow column of numbers that can be filtered."""
    return grid.number_column(name, heading, minWidth=width, maxWidth=width + 10, filter="agNumberColumnFilter")


def placements(decisions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows of the scheduler's decisions."""
    return [
        {**made, "id": f"d{made['seq']}", "time": clock(made["time_s"]), "node": made["node"] or "none"}
        for made in decisions
    ]


def placement_seq(identity: str) -> int | None:
    """The sequence number that the id of a placement's row says, if it is one."""
    digits = identity[1:] if identity.startswith("d") else ""
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 19 else None


def considered(considerations: Columns) -> list[dict[str, Any]]:
    """Rows of what the migration policy looked at, the refusals included."""
    names = (
        "seq", "time_s", "round", "job", "pod", "source", "target", "verdict", "cause", "reason", "gain", "margin",
        "candidates",
    )  # fmt: skip
    rows = [dict(zip(names, row, strict=True)) for row in rows_of(considerations, *names)]
    for place, row in enumerate(rows):
        row |= {"id": f"c{row['seq'] if row['seq'] is not None else place}", "time": clock(row["time_s"] or 0.0)}
        row["verdict"] = VERDICTS.get(row["verdict"], row["verdict"])
        row["move"] = f"{row['source']} → {row['target']}" if row["target"] else row["source"]
        row["target"] = row["target"] or "none"
    return rows


def _none(kind: str, migration: str) -> html.Div:
    if kind == "placements":
        return empty(
            "No placement was decided", "Initial placements were pinned, or this record does not hold decisions."
        )
    if migration == "none":
        return empty("Migration is off", "This arm has the migration policy “none”, so nothing was considered.")
    if migration:
        return empty(
            "Nothing was considered", f"Migration is on ({migration}), but no job came up in any of its rounds so far."
        )
    return empty("Nothing was considered", "This record does not hold migration decisions.")


def listed(considerations: Columns) -> list[dict[str, Any]]:
    """Rows of what was considered, without the candidates, which only one in full shows."""
    return [{name: value for name, value in row.items() if name != "candidates"} for row in considered(considerations)]


def considered_detail(considerations: Columns, identity: str) -> html.Section | None:
    """What was considered once, in full, by the id of its row."""
    row = next((row for row in considered(considerations) if row["id"] == identity), None)
    return None if row is None else _considered_detail(row)


def _considered_detail(row: Mapping[str, Any]) -> html.Section:
    candidates = _as_mapping(row.get("candidates"))
    terms = list(dict.fromkeys(term for values in candidates.values() for term in values))
    table = [[node, *[number(values.get(term), 3) for term in terms]] for node, values in candidates.items()]
    facts = [
        ("Verdict", row.get("verdict")),
        ("Cause", row.get("cause")),
        ("Round", number(row.get("round"), 0)),
        ("Gain", number(row.get("gain"), 3)),
        ("Needed margin", number(row.get("margin"), 3)),
    ]
    return html.Section(
        [
            html.H2(f"{row.get('job')} at {row.get('time')}: {row.get('source')} → {row.get('target')}"),
            html.P(row.get("reason") or "", className="sentence"),
            html.Dl(
                [html.Div([html.Dt(name), html.Dd(value or MISSING)]) for name, value in facts],
                className="inline-facts",
            ),
            _scores(["Node", *terms], table, str(row.get("target")), str(row.get("source"))) if table else None,
        ],
        className="panel padded",
    )


def _scores(headings: Sequence[str], rows: Sequence[Sequence[Any]], chosen: str, source: str = "") -> html.Div:
    def name(node: str) -> list[Any]:
        mark = "chosen" if node == chosen else "where it is" if node == source else ""
        return [node, html.Span(mark, className="mark") if mark else None]

    return html.Div(
        html.Table(
            [
                html.Thead(html.Tr([html.Th(heading, scope="col") for heading in headings])),
                html.Tbody(
                    [
                        html.Tr(
                            [html.Th(name(str(row[0])), scope="row"), *[html.Td(value) for value in row[1:]]],
                            className="chosen" if row[0] == chosen else "",
                        )
                        for row in rows
                    ]
                ),
            ],
            className="plain scores",
        ),
        className="table-scroll",
        tabIndex="0",
        role="region",
        **{"aria-label": "Scores of the nodes"},
    )


def _as_mapping(value: Any) -> dict[str, Any]:
    """A mapping that a table holds as JSON; empty for anything else."""
    try:
        read = json.loads(value) if value else {}
    except (ValueError, TypeError):
        return {}
    return read if isinstance(read, dict) else {}


def config_tab(run: Mapping[str, Any]) -> list[Any]:
    """What the run was told to do, as settings and as the specification."""
    specification = run.get("specification")
    if not specification:
        return [
            empty(
                "No specification",
                "This run was imported from a record that holds none, so its configuration is not known.",
            )
        ]
    rows = [("run", str(run["id"])), ("arm", str(run.get("arm"))), ("seed", str(run.get("seed")))]
    rows += leaves(run.get("configuration") or {})
    if run.get("log_sha256"):
        rows.append(("log (SHA-256)", str(run["log_sha256"])))
    return [
        _section(
            "Settings of this run",
            html.Div(
                html.Table(
                    html.Tbody([html.Tr([html.Th(name, scope="row"), html.Td(value)]) for name, value in rows]),
                    className="plain settings",
                ),
                className="table-scroll",
                tabIndex="0",
                role="region",
                **{"aria-label": "Settings of this run"},
            ),
        ),
        _section(
            "Specification of the experiment",
            html.Pre(
                yaml.safe_dump(specification, sort_keys=False, allow_unicode=True, width=110),
                className="yaml",
                tabIndex="0",
            ),
        ),
    ]


def leaves(value: Any, prefix: str = "") -> list[tuple[str, str]]:
    """Nested settings as (dotted name, value)."""
    if isinstance(value, Mapping):
        return [leaf for name, inner in value.items() for leaf in leaves(inner, f"{prefix}{name}.")]
    if isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        return [leaf for place, inner in enumerate(value) for leaf in leaves(inner, f"{prefix}{place}.")]
    if isinstance(value, list):
        shown = ", ".join(map(str, value))
    elif isinstance(value, bool):
        shown = "yes" if value else "no"
    else:
        shown = MISSING if value is None else str(value)
    return [(prefix.rstrip("."), shown)]


def _section(title: Any, body: Any, controls: Any = None, hint: str = "") -> html.Section:
    return html.Section(
        [
            html.Div(
                [
                    html.Div(
                        [
                            html.H2(title, className="panel-title"),
                            html.P(hint, className="panel-help") if hint else None,
                        ]
                    ),
                    html.Div(controls, className="panel-buttons") if controls else None,
                ],
                className="panel-head",
            ),
            html.Div(body, className="panel-body", **{"data-state": "ready"}),
        ],
        className="panel",
    )
