"""Experiments: three to try at once, then all there are."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard import ids
from dashboard.components import badges, grid
from dashboard.components.icons import icon
from dashboard.components.menu import action, menu
from dashboard.components.states import empty, loading, problem
from dashboard.formats import MISSING, moment, plural, seconds, signed
from dashboard.pages.frame import heading, page
from dashboard.source import Problem
from dashboard.urlstate import PAGE_SIZE, STATUSES, Links, Listing

LIST = "experiment-list"
ROWS = {"part": "rows", "of": "experiments"}
SEARCH = "experiment-search"
STATUS = "experiment-status"
COMPARE = "compare-selected"
IMPORT = "import-kind"
KINDS = (
    ("bundle", "Podshift bundle (.zip)"),
    ("migration-log", "Migration log (CSV: time, job, orginal_node, to_node)"),
    ("completion-table", "Completion times of two arms (CSV)"),
    ("job-node-info", "job_node_info.csv"),
    ("node-listing", "kubectl listing NODE NAME"),
)


def layout(links: Links, state: Listing, examples: Any) -> list[Any]:
    """The page; the list itself is filled by a callback, so that it can be live."""
    return page(
        [
            heading(
                "Experiments",
                below="Run the same workload with and without migration, and see both side by side.",
                actions=[
                    _import_menu(),
                    dcc.Link([icon("plus"), "New experiment"], href=links.new(), className="button button-primary"),
                ],
            ),
            html.Section(
                [html.H2("Ready to run", className="section-title"), _examples(links, examples)],
                **{"aria-label": "Ready examples"},
            ),
            html.Section(
                [
                    html.Div(
                        [
                            html.H2("All experiments", className="section-title"),
                            html.Div(
                                [
                                    dmc.TextInput(
                                        id=SEARCH,
                                        value=state.q,
                                        placeholder="Search name or note",
                                        debounce=350,
                                        size="sm",
                                        leftSection=icon("search"),
                                        attributes={"input": {"aria-label": "Search experiments", "data-search": "1"}},
                                        w=220,
                                    ),
                                    dmc.Select(
                                        id=STATUS,
                                        value=state.status or None,
                                        data=[{"value": word, "label": word} for word in STATUSES],
                                        placeholder="Any status",
                                        clearable=True,
                                        size="sm",
                                        attributes={"input": {"aria-label": "Status of experiments"}},
                                        w=150,
                                        comboboxProps={"transitionProps": {"duration": 0}},
                                    ),
                                    dmc.Button(
                                        "Compare two selected",
                                        id=COMPARE,
                                        variant="default",
                                        size="sm",
                                        disabled=True,
                                        leftSection=icon("compare"),
                                    ),
                                ],
                                className="toolbar",
                            ),
                        ],
                        className="section-head",
                    ),
                    html.Div(loading(220), id=LIST),
                ],
                **{"aria-label": "All experiments"},
            ),
        ],
        title="Experiments",
        watch=links.feed("experiments", q=state.q, status=state.status, page=str(state.page)),
        every=2.0,
        notices=state.notices,
    )


def _import_menu() -> html.Details:
    entries = [action(words, {"part": IMPORT, "kind": kind}) for kind, words in KINDS]
    return menu("import-button", "Import", "import", [("What is in the file?", entries)])


def _examples(links: Links, examples: Any) -> Any:
    if isinstance(examples, Problem):
        return problem(examples)
    if not examples:
        return empty("No ready examples", "This backend has none. Write your own specification instead.")
    return html.Div([_card(links, example) for example in examples], className="cards")


def _card(links: Links, example: Mapping[str, Any]) -> html.Article:
    name = str(example["name"])
    title = example.get("title") or name
    return html.Article(
        [
            html.Div([html.H3(title), badges.source("simulator")], className="card-head"),
            html.P(what_it_is(str(example.get("description") or "")), className="card-text"),
            html.Ul([html.Li([icon(symbol, 14), words]) for symbol, words in _facts(example)], className="facts"),
            html.Div(
                [
                    dmc.Button(
                        "Run",
                        className="primary-button",
                        id=ids.launch(name),
                        leftSection=icon("play"),
                        n_clicks=0,
                        attributes={"root": {"aria-label": f"Run {title}"}},
                    ),
                    dcc.Link("Change first", href=links.new(name), className="button button-quiet"),
                ],
                className="card-actions",
            ),
        ],
        className="card",
    )


LOOK = "Look at: "
"""Where a description begins to say what to look at; the run's page shows that part."""


def what_it_is(description: str) -> str:
    """The part of a description that says what an experiment is."""
    return description.partition(LOOK)[0].strip()


def what_to_look_at(description: str) -> str:
    """The part that says what to look at in its results; empty if there is none."""
    return description.partition(LOOK)[2].strip()


def _facts(example: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What an example holds, in a few words: jobs, nodes, arms and seeds."""
    given = example.get("specification") or {}
    nodes = (given.get("cluster") or {}).get("nodes")
    groups = [nodes] if isinstance(nodes, dict) else nodes or []
    count = sum(int(group.get("count", 1)) for group in groups if isinstance(group, dict))
    arms = [arm.get("name", "") for arm in given.get("arms") or []] or (
        ["default", "migrated"] if given.get("both") else []
    )
    facts = []
    jobs = job_count(given)
    if jobs:
        facts.append(("jobs", plural(jobs, "job")))
    if count:
        facts.append(("nodes", plural(count, "node")))
    if arms:
        facts.append(("compare", " and ".join(arms) if len(arms) <= 2 else plural(len(arms), "arm")))
    seeds = given.get("seeds", 1)
    facts.append(("seeds", plural(seed_count(seeds), "seed")))
    return facts


def job_count(specification: Mapping[str, Any]) -> int | None:
    """How many jobs a specification has; None if it does not say."""
    workload = specification.get("workload") or {}
    jobs = workload.get("jobs")
    if jobs is None:
        return len((workload.get("submissions") or {}).get("at") or ()) or None
    return len(jobs) if isinstance(jobs, list) else int(jobs)


def seed_count(seeds: Any) -> int:
    """How many seeds a specification asks for: a list, a number of them, or "1..20"."""
    if isinstance(seeds, list):
        return len(seeds)
    if isinstance(seeds, str) and ".." in seeds:
        first, _, last = seeds.partition("..")
        return max(int(last) - int(first) + 1, 1) if first.strip().isdecimal() and last.strip().isdecimal() else 1
    return int(seeds) if isinstance(seeds, int) or (isinstance(seeds, str) and seeds.isdecimal()) else 1


def listing(links: Links, state: Listing, answer: Any) -> Any:
    """The list, or why there is none."""
    if isinstance(answer, Problem):
        return problem(answer)
    items, total = answer["items"], int(answer.get("total") or 0)
    if not items:
        return _nothing(links, state, total)
    rows = [row(links, item) for item in items]
    return html.Div([_grid(rows), _pages(links, state, total)], **{"data-state": "ready"})


def _nothing(links: Links, state: Listing, total: int) -> html.Div:
    clear = dcc.Link("Clear", href=links.experiments(), className="button")
    if state.page > 1 and total:
        return empty("This page is empty", f"There are {plural(total, 'experiment')}.", [clear])
    filters = [f"“{state.q}”"] if state.q else []
    filters += [f"status {state.status}"] if state.status else []
    if filters:
        return empty("Nothing matches", f"No experiment matches {' and '.join(filters)}.", [clear], "search")
    return empty("No experiments yet", "Run one of the three above: one click, and it takes a few seconds.")


def row(links: Links, item: Mapping[str, Any]) -> dict[str, Any]:
    """One experiment as a row of the grid."""
    runs = item.get("runs") or []
    arms = [str(arm) for arm in item.get("arms") or dict.fromkeys(run.get("arm") for run in runs)]
    summary = item.get("summary") or {}
    status = str(item.get("status") or "")
    shares = [badges.fraction(run.get("progress")) if run.get("status") in badges.ACTIVE else 1.0 for run in runs]
    of_arm = {arm: [str(run["id"]) for run in runs if run.get("arm") == arm] for arm in arms}
    a, b = (of_arm[arms[0]], of_arm[arms[1]]) if len(arms) > 1 else ([], [])
    seeds = item.get("seeds") or []
    return {
        "id": item["id"],
        "name": item.get("name") or item["id"],
        "href": links.run(runs[0]["id"]) if runs else "",
        "note": item.get("note") or "",
        "status": status,
        "source": badges.SOURCES.get(str(item.get("source")), badges.SOURCES["simulator"])[0],
        "share": round(100 * sum(shares) / len(shares)) if shares and status in badges.ACTIVE else None,
        "what": {
            "text": " / ".join(arms) if len(arms) <= 2 else plural(len(arms), "arm"),
            "change": " · ".join(
                part
                for part in (
                    plural(int(item["jobs"]), "job") if item.get("jobs") else "",
                    plural(len(seeds), "seed") if len(seeds) > 1 else "",
                )
                if part
            ),
            "tone": "none",
        },
        "makespan": _pair(summary, arms, "makespan_s"),
        "completion": _pair(summary, arms, "mean_completion_s"),
        "created": moment(item.get("created_at")),
        "compare": links.compare(a, b) if a and b else "",
        "side": of_arm[arms[-1]] if arms else [],
    }


def _pair(summary: Mapping[str, Any], arms: Sequence[str], name: str) -> dict[str, Any]:
    """Values of the first two arms and the difference in percent, for the renderer `PodshiftPair`."""
    values = [(summary.get(arm) or {}).get(name) for arm in arms[:2]]
    known = [value for value in values if isinstance(value, int | float)]
    percent = None
    if len(values) == 2 and len(known) == 2 and known[0]:
        percent = 100 * (known[1] - known[0]) / known[0]
    return {
        "text": " → ".join(seconds(value) for value in values) if known else MISSING,
        "change": signed(percent, 1, "%") if percent is not None else "",
        "tone": "none" if percent is None or abs(percent) < 0.05 else "better" if percent < 0 else "worse",
    }


def _grid(rows: list[dict[str, Any]]) -> Any:
    def pair(field: str, heading: str) -> dict[str, Any]:
        return {
            "field": field,
            "headerName": heading,
            "cellRenderer": "PodshiftPair",
            "cellDataType": False,
            "minWidth": 135,
            "sortable": False,
        }

    columns = [
        {
            "field": "name",
            "headerName": "Experiment",
            "cellRenderer": "PodshiftLink",
            "flex": 2,
            "minWidth": 180,
            "tooltipField": "name",
        },
        {"field": "status", "headerName": "Status", "cellRenderer": "PodshiftStatus", "minWidth": 120},
        {**pair("what", "Arms and jobs"), "flex": 1.4, "minWidth": 150},
        pair("makespan", "Makespan"),
        pair("completion", "Mean completion"),
        {"field": "created", "headerName": "Created", "minWidth": 100, "maxWidth": 170, "sortable": False},
        {
            "field": "compare",
            "headerName": "",
            "cellRenderer": "PodshiftCompare",
            "minWidth": 112,
            "maxWidth": 112,
            "sortable": False,
        },
    ]
    return grid.grid(
        ROWS,
        columns,
        rows,
        page_size=PAGE_SIZE,
        options={
            "rowSelection": {
                "mode": "multiRow",
                "headerCheckbox": False,
                "checkboxes": True,
                "enableClickSelection": False,
            },
            "rowHeight": 56,
        },
    )


def _pages(links: Links, state: Listing, total: int) -> html.Nav:
    last = max(1, -(-total // PAGE_SIZE))
    first_row = state.offset + 1

    def link(number: int, words: str) -> Any:
        if not 1 <= number <= last:
            return html.Span(words, className="button disabled", **{"aria-disabled": "true"})
        query = {"q": state.q, "status": state.status, "page": str(number) if number > 1 else ""}
        shown = urlencode({name: value for name, value in query.items() if value})
        return dcc.Link(words, href=links.experiments() + (f"?{shown}" if shown else ""), className="button")

    return html.Nav(
        [
            html.Span(
                f"{first_row:,}–{min(first_row + PAGE_SIZE - 1, total):,} of {plural(total, 'experiment')}",
                className="quiet",
            ),
            html.Div(
                [link(state.page - 1, "Newer"), link(state.page + 1, "Older")] if last > 1 else [], className="toolbar"
            ),
        ],
        className="pages",
        **{"aria-label": "Pages of the list"},
    )
