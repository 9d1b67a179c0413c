"""A run's page: header and progress follow the run, each tab its own data."""

from typing import Any

from dash import ALL, ClientsideFunction, Dash, Input, Output, State, no_update, set_props
from dash.exceptions import PreventUpdate

from dashboard import ids, urlstate
from dashboard.callbacks import views
from dashboard.components.states import problem
from dashboard.figures import cpu, placement, progress
from dashboard.figures.lanes import swimlane
from dashboard.figures.view import View
from dashboard.formats import plural
from dashboard.pages import decision
from dashboard.pages import run as pages
from dashboard.pages import run_tables as tables
from dashboard.source import Problem, Source, etag, first_problem
from dashboard.urlstate import Links


def register(app: Dash, source: Source, links: Links) -> None:
    """Register the callbacks of the page."""
    _header(app, source, links)
    _content(app, source, links)
    _stop(app)
    name, search = State(pages.NAME, "data"), Input(ids.URL, "search")

    def placed(theme: str, search: str, window: Any, run: str) -> View | Problem:
        state = urlstate.run_state(search or "")
        found = swim(source, run)
        if isinstance(found, Problem):
            return found
        return placement.view(
            found, colour=state.colour, theme=theme, revision=run, window=tuple(window) if window else None
        )

    views.register(app, "placement", "Where each job ran", placed, search, Input(ids.WINDOW, "data"), states=[name])

    def heat(theme: str, run: str) -> View | Problem:
        found = usage(source, run)
        return found if isinstance(found, Problem) else cpu.heatmap(*found, theme=theme, revision=run)

    views.register(app, "cpu", "CPU of all nodes", heat, states=[name])

    def lines(theme: str, chosen: list[str] | None, run: str, offered: list[Any]) -> View | Problem:
        found = usage(source, run)
        if isinstance(found, Problem):
            return found
        samples, nodes, end = found
        _offer(pages.NODES, nodes, offered)
        return cpu.lines(samples, chosen or nodes[:4], end, theme=theme, revision=run)

    nodes = [name, State(pages.NODES, "data")]
    views.register(app, "lines", "CPU of chosen nodes", lines, Input(pages.NODES, "value"), states=nodes)

    def curves(theme: str, chosen: list[str] | None, run: str, offered: list[Any]) -> View | Problem:
        found = _tables(source, run, "progress", "categories", "migrations")
        if isinstance(found, Problem):
            return found
        reported, categories, moves = found
        reporting = progress.reporting_jobs(reported)
        _offer(pages.JOBS, reporting, offered)
        picked = chosen or reporting[:9]
        last = max((time for time in reported.get("time_s", ()) if time is not None), default=0.0)
        return progress.view(reported, categories, moves, picked, last or 1.0, theme=theme, revision=run)

    jobs = [name, State(pages.JOBS, "data")]
    views.register(app, "progress", "Learning curves", curves, Input(pages.JOBS, "value"), states=jobs)


def _offer(picker: str, names: list[str], offered: list[Any] | None) -> None:
    """Let a picker offer what has come since it was made."""
    if len(names) > len(offered or ()) and len(offered or ()) < pages.MOST_OFFERED:
        set_props(picker, {"data": pages.options(names)})


def _header(app: Dash, source: Source, links: Links) -> None:
    every = {name: {"part": f"sibling-{name}", "run": ALL} for name in ("words", "bar")}

    @app.callback(
        output={
            "status": Output(pages.STATUS, "children"),
            "progress": Output(pages.PROGRESS, "children"),
            "tiles": Output(pages.TILES, "children"),
            "stop": {name: Output(pages.STOP, name) for name in ("children", "disabled", "style")},
            "words": Output(every["words"], "children"),
            "kinds": Output(every["bar"], "className"),
            "styles": Output(every["bar"], "style"),
        },
        inputs={"live": Input(ids.LIVE, "data")},
        state={"name": State(pages.NAME, "data"), "named": State(every["bar"], "id")},
        prevent_initial_call=True,
    )
    def follow(*, live: Any, name: str, named: list[dict[str, str]]) -> dict[str, Any]:
        del live
        found = source.run(name)
        if isinstance(found, Problem):
            raise PreventUpdate  # the banner says it; the last known state stays
        others = {str(other["id"]): other for other in pages.siblings(found)}
        states = [pages.sibling_state(others.get(identity["run"], {})) for identity in named]
        return {
            "status": pages.status_line(found),
            "progress": pages.progress(found),
            "tiles": pages.tiles(found),
            "stop": pages.stop_props(found),
            "words": [words for words, _, _ in states],
            "kinds": [kind for _, kind, _ in states],
            "styles": [style for _, _, style in states],
        }

    @app.callback(Output(pages.TABS, "children"), Input(ids.URL, "search"), State(pages.NAME, "data"))
    def mark(search: str, name: str) -> Any:
        return pages.tabs(links, name, urlstate.run_state(search or "").tab)


def _content(app: Dash, source: Source, links: Links) -> None:
    @app.callback(
        Output(pages.CONTENT, "children"),
        Input(ids.URL, "search"),
        State(pages.NAME, "data"),
    )
    def open_tab(search: str, name: str) -> Any:
        return tab(source, links, name, search or "")

    @app.callback(
        Output(pages.CONTENT, "children", allow_duplicate=True),
        Input(ids.REVISION, "data"),
        State(ids.URL, "search"),
        State(pages.NAME, "data"),
        State({"part": "rows", "of": ALL}, "id"),
        State({"part": "rows-mark", "of": ALL}, "data"),
        prevent_initial_call=True,
    )
    def refresh(_: Any, search: str, name: str, grids: list[Any], marks: list[Any]) -> Any:
        # Pictures follow by themselves (views.register); of tables the rows are replaced, so that sorting, filters,
        # selection and scroll stay.
        state = urlstate.run_state(search or "")
        if state.tab not in ("jobs", "decisions"):
            return no_update
        kind = "jobs" if state.tab == "jobs" else state.kind
        rows = _rows(source, links, name, kind)
        if isinstance(rows, Problem):
            return no_update  # the banner says it
        if not rows or pages.grid_id(kind) not in grids:
            return tab(source, links, name, search or "")
        mark = etag(rows)
        if mark in marks:
            return no_update  # a row chosen at the moment in which rows are replaced is lost: only if they are others
        set_props(pages.mark_id(kind), {"data": mark})
        set_props(pages.grid_id(kind), {"rowData": rows})
        set_props(pages.COUNT, {"children": plural(len(rows), "job" if kind == "jobs" else "decision")})
        return no_update

    @app.callback(
        Output(pages.DETAIL, "children"),
        Input({"part": "rows", "of": ALL}, "selectedRows"),
        State(ids.URL, "search"),
        State(pages.NAME, "data"),
        prevent_initial_call=True,
    )
    def explain(selected: list[Any], search: str, name: str) -> Any:
        # A grid that was made with a selection says so first as {"ids": [...]}, and then with its rows.
        rows = [row for of_grid in selected if isinstance(of_grid, list) for row in of_grid]
        if not rows:
            return no_update if any(selected) else None
        return in_full(source, name, urlstate.run_state(search or "").kind, str(rows[0].get("id")))

    # The address says which decision is shown, so that it can be sent to somebody; the page is not drawn again for it.
    app.clientside_callback(
        ClientsideFunction("podshift", "nameDecision"),
        Output(pages.DETAIL, "data-decision"),
        Input({"part": "rows", "of": ALL}, "selectedRows"),
        prevent_initial_call=True,
    )


def in_full(source: Source, name: str, kind: str, identity: str) -> Any:
    """The decision with the id of a row; None if there is none."""
    if kind == "migrations":
        found = _tables(source, name, "considerations")
        return problem(found) if isinstance(found, Problem) else tables.considered_detail(found[0], identity)
    seq, run = tables.placement_seq(identity), source.run(name)
    if seq is None:
        return None
    made = run if isinstance(run, Problem) else source.decision(name, seq, run.get("rev"))
    return problem(made) if isinstance(made, Problem) else decision.placement(made)


def _rows(source: Source, links: Links, name: str, kind: str) -> list[dict[str, Any]] | Problem:
    """Rows of the table on screen: "jobs", "placements" or "migrations"."""
    if kind == "migrations":
        considered = _tables(source, name, "considerations")
        return considered if isinstance(considered, Problem) else tables.listed(considered[0])
    run = source.run(name)
    if isinstance(run, Problem):
        return run
    made = source.decisions(name, run.get("rev"))
    if isinstance(made, Problem):
        return made
    if kind == "placements":
        return tables.placements(made)
    jobs = source.table(name, "jobs", run.get("rev"))
    return jobs if isinstance(jobs, Problem) else tables.job_rows(jobs, made, lambda seq: links.decision(name, seq))


def tab(source: Source, links: Links, name: str, search: str) -> Any:
    """What is under the tabs."""
    state = urlstate.run_state(search)
    found = source.run(name)
    if isinstance(found, Problem):
        return problem(found)
    if state.tab == "placement":
        return pages.placement_tab(search, state)
    if state.tab == "config":
        return tables.config_tab(found)
    if state.tab == "nodes":
        nodes = usage(source, name)
        return problem(nodes) if isinstance(nodes, Problem) else pages.nodes_tab(nodes[1], state)
    if state.tab == "progress":
        reported = source.table(name, "progress", found.get("rev"))
        if isinstance(reported, Problem):
            return problem(reported)
        return pages.progress_tab(progress.reporting_jobs(reported), state)
    rows = _rows(source, links, name, "jobs" if state.tab == "jobs" else state.kind)
    if isinstance(rows, Problem):
        return problem(rows)
    if state.tab == "jobs":
        return tables.jobs_tab(rows)
    shown = None
    if any(row["id"] == state.decision for row in rows):
        shown = in_full(source, name, state.kind, state.decision)
    elif state.decision:
        shown = tables.no_such_decision(state.decision)
    return tables.decisions_tab(search, state, rows, migration_name(found), shown)


def migration_name(run: dict[str, Any]) -> str:
    """Name of the run's migration policy; empty if the record does not say."""
    arms = (run.get("specification") or {}).get("arms") or []
    arm = next((arm for arm in arms if arm.get("name") == run.get("arm")), None)
    if arm is None:
        return ""
    chosen = arm.get("migration") or {"name": "none"}
    return str(chosen if isinstance(chosen, str) else chosen.get("name"))


def _tables(source: Source, run: str, *names: str) -> list[dict[str, list[Any]]] | Problem:
    """Some tables of a run as of now."""
    found = source.run(run)
    if isinstance(found, Problem):
        return found
    got = [source.table(run, name, found.get("rev")) for name in names]
    failed = first_problem(*got)
    return failed or [table for table in got if not isinstance(table, Problem)]


def swim(source: Source, run: str) -> Any:
    """The swimlane of a run, or a Problem."""
    found = _tables(source, run, "segments", "jobs", "migrations", "categories", "nodes")
    if isinstance(found, Problem):
        return found
    segments, jobs, migrations, categories, nodes = found
    return swimlane(
        segments=segments,
        jobs=jobs,
        migrations=migrations,
        categories=categories,
        nodes=list(nodes.get("node", ())),
        end=reach(source, run, segments, jobs, migrations),
    )


def usage(source: Source, run: str) -> tuple[dict[str, list[Any]], list[str], float] | Problem:
    """(usage samples, names of the nodes, end in seconds) of a run, or a Problem."""
    found = _tables(source, run, "usage", "nodes", "segments", "jobs")
    if isinstance(found, Problem):
        return found
    samples, nodes, segments, jobs = found
    return samples, list(nodes.get("node", ())), reach(source, run, segments, jobs)


def reach(source: Source, run: str, *tables: dict[str, list[Any]]) -> float:
    """How far the data of a run reach, in seconds: its clock while it runs or where something has no end, else the
    last time in its tables."""
    found = source.run(run)
    status = "" if isinstance(found, Problem) else found.get("status")
    clock = 0.0
    unended = any(end is None for table in tables for end in table.get("end_s", ()))
    if not isinstance(found, Problem) and (
        unended or status in ("running", "stopping", "stopped", "interrupted", "failed")
    ):
        clock = float((found.get("progress") or {}).get("time_s") or 0.0)
    names = ("ended_s", "end_s", "started_s", "bound_s", "submitted_s")
    times = [time for table in tables for name in names for time in table.get(name, ()) if time is not None]
    return max([clock, *times], default=0.0)


def _stop(app: Dash) -> None:
    app.clientside_callback(
        ClientsideFunction("podshift", "openStop"),
        Output(pages.STOP_DIALOG, "opened"),
        Input(pages.STOP, "n_clicks"),
        Input(pages.STOP_CANCEL, "n_clicks"),
        Input(pages.STOP_CONFIRM, "n_clicks"),
        State(pages.NAME, "data"),
        prevent_initial_call=True,
    )
