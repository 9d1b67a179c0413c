"""One run: what it is, how far it is, and its views in tabs."""

from collections.abc import Mapping, Sequence
from typing import Any

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard.components import badges
from dashboard.components.icons import icon
from dashboard.components.menu import download, menu
from dashboard.components.panel import panel
from dashboard.components.states import loading
from dashboard.feed import followed
from dashboard.formats import MISSING, moment, number, plural, seconds, stamp
from dashboard.pages.experiments import job_count, what_to_look_at
from dashboard.pages.frame import heading, page
from dashboard.source import etag
from dashboard.urlstate import Links, RunState, changed

STATUS = "run-status"
PROGRESS = "run-progress"
TILES = "run-tiles"
TABS = "run-tabs"
CONTENT = "run-content"
NAME = "run-name"
STOP = "stop-button"
STOP_DIALOG = "stop-dialog"
STOP_CONFIRM = "stop-confirm"
STOP_CANCEL = "stop-cancel"
NODES = "chosen-nodes"
JOBS = "chosen-jobs"
DETAIL = "decision-detail"
COUNT = "row-count"


def grid_id(of: str) -> dict[str, str]:
    """A table of rows: "jobs", "placements" or "migrations"."""
    return {"part": "rows", "of": of}


def mark_id(of: str) -> dict[str, str]:
    """A mark of the rows that such a table shows."""
    return {"part": "rows-mark", "of": of}


TAB_NAMES = {
    "placement": "Placement",
    "nodes": "Node CPU",
    "progress": "Job progress",
    "jobs": "Jobs",
    "decisions": "Decisions",
    "config": "Configuration",
}
TABLES = ("jobs", "segments", "migrations", "considerations", "decisions", "categories", "progress", "usage", "nodes")


def layout(links: Links, run: Mapping[str, Any], state: RunState) -> list[Any]:
    """The page of a run that exists."""
    name = str(run["id"])
    source = str(run.get("source") or "simulator")
    active = run.get("status") in badges.ACTIVE
    return page(
        [
            dcc.Store(id=NAME, data=name),
            header(links, run),
            html.Div(progress(run), id=PROGRESS),
            siblings_line(links, run),
            _look(run),
            html.Div(tiles(run), id=TILES),
            html.Div(tabs(links, name, state.tab), id=TABS),
            html.Div(loading(360), id=CONTENT),
            _stop_dialog(run),
        ],
        title=f"{_experiment_name(run)} {run.get('arm') or ''}",
        source=source,
        watch=links.feed("runs", ids=name),
        every=1.0 if active else 4.0,
        seen=etag(followed([dict(run)])),
        notices=state.notices,
    )


def header(links: Links, run: Mapping[str, Any]) -> html.Div:
    """Title, status, actions. Only the status follows the run, so that focus and open menus stay."""
    arm = run.get("arm")
    return heading(
        [_experiment_name(run), html.Span(f" · {arm}", className="title-arm") if arm else None],
        above=[dcc.Link("Experiments", href=links.experiments()), html.Span(" / "), html.Span(str(run["id"]))],
        below=html.Div(status_line(run), id=STATUS, className="lead"),
        actions=[*_compare_link(links, run), _export(links, run), _again(links, run), _stop_button(run)],
    )


def status_line(run: Mapping[str, Any]) -> list[Any]:
    """Status, source, seed and age; the error, if there is one."""
    said: list[Any] = [badges.status(run.get("status")), badges.source(run.get("source"))]
    if run.get("seed") is not None and run.get("source") != "import":
        said.append(html.Span(f"seed {run['seed']}", className="quiet"))
    said.append(html.Span(moment(run.get("created_at")), className="quiet", title=stamp(run.get("created_at"))))
    if run.get("error"):
        said.append(html.Span(str(run["error"]), className="error-text"))
    return said


def _look(run: Mapping[str, Any]) -> html.P | None:
    """What its author says to look at."""
    hint = what_to_look_at(str((run.get("specification") or {}).get("description") or ""))
    return html.P([html.Strong("Look at: "), hint], className="look") if hint else None


def _experiment_name(run: Mapping[str, Any]) -> str:
    specification = run.get("specification") or {}
    return str(run.get("experiment_name") or specification.get("name") or run.get("experiment") or run.get("id"))


def _compare_link(links: Links, run: Mapping[str, Any]) -> list[Any]:
    arms = arms_of(run)
    if len(arms) < 2:
        return []
    mine = str(run.get("arm"))
    first, second = list(arms)[:2]
    if mine not in (first, second):
        second = mine
    href = links.compare(arms[first], arms[second])
    return [
        dcc.Link(
            [icon("compare"), f"Compare {first} and {second}"],
            href=href,
            className="button button-primary",
            id="compare-arms",
        )
    ]


def arms_of(run: Mapping[str, Any]) -> dict[str, list[str]]:
    """Arm -> ids of its runs, this run's siblings and itself, in the order of the experiment."""
    arms: dict[str, list[str]] = {}
    for sibling in siblings(run):
        arms.setdefault(str(sibling.get("arm")), []).append(str(sibling["id"]))
    return arms


def siblings(run: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """All runs of the experiment with this one among them."""
    others = list(run.get("siblings") or [])
    if all(other.get("id") != run["id"] for other in others):
        others.insert(0, run)
    return others


def _export(links: Links, run: Mapping[str, Any]) -> Any:
    path = links.run(str(run["id"])).removeprefix(links.prefix)

    def tables(form: str, *names: str) -> list[Any]:
        return [download(name, links.api(f"{path}/tables/{name}?format={form}")) for name in names]

    return menu(
        "export-button",
        "Export",
        "download",
        [
            (
                "Everything",
                [
                    download("Bundle (.zip) for another Podshift", links.api(f"{path}/bundle")),
                    download("Event log (JSON lines)", links.api(f"{path}/log?format=jsonl")),
                ],
            ),
            ("Tables as CSV", tables("csv", "jobs", "segments", "migrations", "decisions", "usage")),
            ("Tables as JSON", tables("rows", "jobs", "migrations", "considerations")),
        ],
    )


def _again(links: Links, run: Mapping[str, Any]) -> Any:
    if not run.get("specification"):
        return None
    return dcc.Link([icon("copy"), "Clone"], href=links.new(str(run["id"])), className="button")


def _stop_button(run: Mapping[str, Any]) -> dmc.Button:
    return dmc.Button(id=STOP, n_clicks=0, variant="outline", color="red", leftSection=icon("stop"), **stop_props(run))


def stop_props(run: Mapping[str, Any]) -> dict[str, Any]:
    """What changes of the Stop button with the run's status."""
    status = run.get("status")
    return {
        "children": "Stopping" if status == "stopping" else "Stop",
        "disabled": status == "stopping",
        "style": {} if status in badges.ACTIVE else {"display": "none"},
    }


def _what_goes_on(run: Mapping[str, Any]) -> str:
    """What a stop of this run means for the others of its experiment."""
    specification = run.get("specification") or {}
    arms = [arm.get("name") for arm in specification.get("arms") or []]
    if specification.get("pin_initial_placement") and arms and run.get("arm") == arms[0]:
        return (
            "Runs of the same seed that start from this run's placement cannot start then and are stopped as well; "
            "the others go on."
        )
    return "The other runs of the experiment go on."


STOPPED_ON = {
    "simulator": "on the simulator",
    "embedded": "on its embedded cluster",
    "live": "on the Kubernetes cluster",
}


def _stop_dialog(run: Mapping[str, Any]) -> dmc.Modal:
    jobs = (run.get("progress") or {}).get("jobs") or job_count(run.get("specification") or {})
    source = str(run.get("source") or "simulator")
    where = STOPPED_ON.get(source, STOPPED_ON["simulator"])
    pods = " The pods that it created there are deleted, and no others." if source == "live" else ""
    return dmc.Modal(
        [
            html.P(
                [
                    "This stops the run ",
                    html.Strong(str(run["id"])),
                    f" {where} with its {plural(int(jobs), 'job')}." if jobs else f" {where}.",
                ]
            ),
            html.P(f"What was recorded so far is kept and marked as stopped.{pods} {_what_goes_on(run)}"),
            html.Div(
                [
                    dmc.Button("Keep it running", id=STOP_CANCEL, variant="default", n_clicks=0),
                    dmc.Button("Stop this run", id=STOP_CONFIRM, color="red", n_clicks=0),
                ],
                className="dialog-actions",
            ),
        ],
        id=STOP_DIALOG,
        title="Stop this run?",
        opened=False,
        centered=True,
        closeButtonProps={"aria-label": "Close"},
        transitionProps={"duration": 0},
    )


def progress(run: Mapping[str, Any]) -> html.Div | None:
    """How far this run is, while it is under way."""
    if run.get("status") not in badges.ACTIVE:
        return None
    return html.Div(
        [
            badges.bar(run.get("progress"), f"Progress of {run['id']}"),
            html.Span(badges.progress_words(run.get("progress")), className="progress-words"),
        ],
        className="own-progress",
    )


def siblings_line(links: Links, run: Mapping[str, Any]) -> html.Div | None:
    """Runs of the experiment by arm and seed, with their progress."""
    arms: dict[str, list[Mapping[str, Any]]] = {}
    for sibling in siblings(run):
        arms.setdefault(str(sibling.get("arm")), []).append(sibling)
    if len(siblings(run)) < 2:
        return None
    return html.Div(
        [
            html.Div(
                [
                    html.Span(arm, className="sibling-arm"),
                    html.Div([_sibling(links, one, str(run["id"])) for one in of_arm[:40]], className="sibling-runs"),
                ],
                className="sibling-line",
            )
            for arm, of_arm in arms.items()
        ],
        className="siblings",
        role="navigation",
        **{"aria-label": "Runs of this experiment"},
    )


def sibling_id(part: str, run: str) -> dict[str, str]:
    """Part "words" or "bar" of a sibling's link."""
    return {"part": f"sibling-{part}", "run": run}


def sibling_state(run: Mapping[str, Any]) -> tuple[str, str, dict[str, str]]:
    """(words, class of the bar, style of the bar) of a run in the line of siblings."""
    status = str(run.get("status") or "")
    share = round(100 * badges.fraction(run.get("progress"))) if status in badges.ACTIVE else 100
    words = f"{share} %" if status in ("running", "stopping") else status
    return words, f"sibling-bar sibling-{status}", {"width": f"{share}%"}


def _sibling(links: Links, run: Mapping[str, Any], current: str) -> dcc.Link:
    name = str(run["id"])
    words, kind, style = sibling_state(run)
    return dcc.Link(
        [
            html.Span(f"seed {run.get('seed')}" if run.get("seed") is not None else "run", className="sibling-seed"),
            html.Span(words, className="sibling-status", id=sibling_id("words", name)),
            html.Span(className=kind, style=style, id=sibling_id("bar", name)),
        ],
        href=links.run(name),
        className="sibling" + (" current" if name == current else ""),
        title=name,
    )


def tiles(run: Mapping[str, Any]) -> html.Dl | None:
    """The numbers of the run. Nothing before there are any: a tile never shows a zero it does not know."""
    summary = run.get("summary")
    if not summary:
        return None
    finished, jobs = summary.get("finished"), summary.get("jobs")
    share, lost = summary.get("cpu_share_mean"), summary.get("lost_core_s")
    known = summary.get("downtime_s") is not None
    downtime = f"{seconds(summary.get('downtime_s'))} of downtime in all" if known else "downtime unknown"
    entries = [
        ("Jobs finished", number(finished, 0), f"of {number(jobs, 0)} that arrived"),
        ("Makespan", seconds(summary.get("makespan_s")), "first submission to last finish"),
        ("Mean completion", seconds(summary.get("mean_completion_s")), "submission to finish, over finished jobs"),
        ("95 % done within", seconds(summary.get("p95_completion_s")), "95th percentile of completion times"),
        ("Migrations", number(summary.get("migrations"), 0), downtime),
        ("Wasted work", MISSING if lost is None else [number(lost), html.Small(" core-s")], "CPU time spent in vain"),
        ("CPU in use", MISSING if share is None else f"{100 * share:.0f} %", "of the cluster over the makespan"),
    ]  # fmt: skip
    return html.Dl(
        [
            html.Div(
                [html.Dt(name), html.Dd([html.Div(value, className="tile-value"), html.Small(hint)])], className="tile"
            )
            for name, value, hint in entries
        ],
        className="tiles",
    )


def tabs(links: Links, run: str, tab: str) -> html.Nav:
    """Tabs are links: the address says which view is open, and Back goes to the one before."""
    return html.Nav(
        [
            dcc.Link(
                words,
                href=links.run(run, key),
                className="viewtab" + (" current" if key == tab else ""),
                **({"id": "current-tab"} if key == tab else {}),
            )
            for key, words in TAB_NAMES.items()
        ],
        className="viewtabs",
        **{"aria-label": "Views of the run"},
    )


def toggle(search: str, name: str, current: str, options: Sequence[tuple[str, str]], label: str) -> html.Div:
    """A choice that lives in the address, as a row of links."""
    return html.Div(
        [
            dcc.Link(
                words, href=changed(search, **{name: key}), className="choice" + (" current" if key == current else "")
            )
            for key, words in options
        ],
        className="choices",
        role="group",
        **{"aria-label": label},
    )


MOST_OFFERED = 5000
"""Names a picker offers; it is searched, not scrolled."""


def options(names: Sequence[str]) -> list[dict[str, str]]:
    """Names as a picker takes them."""
    return [{"value": name, "label": name} for name in names[:MOST_OFFERED]]


def placement_tab(search: str, state: RunState) -> list[Any]:
    """Swimlane."""
    by = toggle(search, "colour", state.colour, (("category", "By category"), ("job", "By job")), "Colour of the bars")
    return [panel("placement", "Where each job ran", height=420, controls=by)]


def nodes_tab(nodes: Sequence[str], state: RunState) -> list[Any]:
    """Heatmap of all nodes, lines of some."""
    chosen = [node for node in state.nodes if node in nodes] or list(nodes[:4])
    picker = dmc.MultiSelect(
        id=NODES,
        data=options(nodes),
        value=chosen,
        searchable=True,
        maxValues=10,
        size="xs",
        w=360,
        limit=100,
        attributes={"input": {"aria-label": "Nodes shown as lines"}},
        comboboxProps={"transitionProps": {"duration": 0}},
        placeholder="Choose nodes",
    )
    return [
        panel("cpu", "CPU of all nodes", height=260),
        panel("lines", "CPU of chosen nodes", height=300, controls=picker),
    ]


def progress_tab(jobs: Sequence[str], state: RunState) -> list[Any]:
    """Learning curves."""
    chosen = [job for job in state.jobs if job in jobs] or list(jobs[:9])
    picker = dmc.MultiSelect(
        id=JOBS,
        data=options(jobs),
        value=chosen,
        searchable=True,
        maxValues=12,
        size="xs",
        w=420,
        limit=100,
        attributes={"input": {"aria-label": "Jobs whose curves are shown"}},
        comboboxProps={"transitionProps": {"duration": 0}},
        placeholder="Choose jobs",
        hidePickedOptions=True,
    )
    return [panel("progress", "Learning curves", height=420, controls=picker)]
