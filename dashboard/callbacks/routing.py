"""From the address to the page, and from the page to the top bar, the title and the poller."""

import uuid
from typing import Any

from dash import MATCH, ClientsideFunction, Dash, Input, Output, State

from dashboard import form, ids, urlstate
from dashboard.callbacks.compare import compared
from dashboard.components.states import problem
from dashboard.feed import followed
from dashboard.pages import compare, experiments, missing, new, run
from dashboard.pages import help as help_page
from dashboard.pages.frame import heading, page
from dashboard.source import Problem, Source, etag
from dashboard.urlstate import Links


def register(app: Dash, source: Source, links: Links) -> None:
    """Register the router and what belongs to every page."""

    # Of a query only some parameters say which page it is; the rest are views within it and must not make it anew.
    app.clientside_callback(
        ClientsideFunction("podshift", "identity"),
        Output(ids.IDENTITY, "data"),
        Input(ids.URL, "pathname"),
        Input(ids.URL, "search"),
        State(ids.IDENTITY, "data"),
    )

    @app.callback(
        Output(ids.PAGE, "children"),
        Input(ids.IDENTITY, "data"),
        State(ids.URL, "pathname"),
        State(ids.URL, "search"),
        prevent_initial_call=True,
    )
    def show(_: Any, pathname: str, search: str) -> list[Any]:
        return layout(source, links, pathname, search or "")

    app.clientside_callback(
        ClientsideFunction("podshift", "pageInfo"),
        Output(ids.SOURCE_CHIP, "children"),
        Output(ids.SOURCE_CHIP, "className"),
        Input(ids.INFO, "data"),
    )
    app.clientside_callback(
        ClientsideFunction("podshift", "theme"),
        Output(ids.THEME, "data"),
        Input(ids.IDENTITY, "data"),
        State(ids.THEME, "data"),
    )
    app.clientside_callback(
        ClientsideFunction("podshift", "revision"),
        Output(ids.REVISION, "data"),
        Input(ids.LIVE, "data"),
        State(ids.REVISION, "data"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("podshift", "redraw"),
        Output({"part": "graph", "view": MATCH}, "figure"),
        Output({"part": "graph", "view": MATCH}, "style"),
        Input({"part": "incoming", "view": MATCH}, "data"),
        prevent_initial_call=True,
    )


def layout(source: Source, links: Links, pathname: str, search: str) -> list[Any]:
    """The page of an address."""
    name, argument = links.page(pathname)
    if name == "experiments":
        return experiments.layout(links, urlstate.listing(search), source.examples())
    if name == "new":
        return _new(source, links, search)
    if name == "run":
        return _run(source, links, argument, search)
    if name == "compare":
        return _compare(source, links, search)
    return help_page.layout(links) if name == "help" else missing.layout(links, argument)


def _run(source: Source, links: Links, name: str, search: str) -> list[Any]:
    found = source.run(name)
    if isinstance(found, Problem):
        if found.status == 404:
            return missing.run_missing(links, name)
        return _failed("Run", found, links)
    return run.layout(links, found, urlstate.run_state(search))


def _compare(source: Source, links: Links, search: str) -> list[Any]:
    state = urlstate.compare_state(search)
    names = (*state.a, *state.b) if state.a and state.b else ()
    rows: list[dict[str, Any]] = []
    for name in names:
        found = source.run(name)
        if isinstance(found, Problem):
            return missing.run_missing(links, name) if found.status == 404 else _failed("Compare", found, links)
        rows.append(found)
    found = compared(source, {"a": list(state.a), "b": list(state.b)}) if rows else {}
    if isinstance(found, Problem):
        return _failed("Compare", found, links)
    experiments_named = dict.fromkeys(str(row.get("experiment")) for row in rows)
    sources = {str(row.get("source") or "simulator") for row in rows}
    return compare.layout(
        links,
        state,
        search,
        names=compare.labels(found),
        source=sources.pop() if len(sources) == 1 else "simulator",
        title=" ".join(["Compare", *experiments_named]),
        seen=etag(followed(rows)),
    )


def _new(source: Source, links: Links, search: str) -> list[Any]:
    wanted = urlstate.origin_of_form(search)
    base, origin, notices = form.BLANK, "", ()
    if wanted:
        found, origin = _origin(source, wanted)
        if found is None:
            notices = (f"Nothing to start from is called “{wanted}”; the form has the usual values instead.",)
        else:
            base = found
    return new.layout(
        links,
        base,
        policies=source.policies(),
        models=source.models(),
        origin=origin,
        key=str(uuid.uuid4()),
        notices=notices,
    )


def _origin(source: Source, wanted: str) -> tuple[dict[str, Any] | None, str]:
    """The specification of an example or a run, and its name in words."""
    examples = source.examples()
    for example in examples if isinstance(examples, list) else ():
        if example["name"] == wanted:
            return dict(example["specification"]), f"the example “{example.get('title') or wanted}”"
    found = source.run(wanted)
    if isinstance(found, Problem) or not found.get("specification"):
        return None, ""
    return dict(found["specification"]), f"run {wanted}"


def _failed(title: str, found: Problem, links: Links) -> list[Any]:
    return page([heading(title), problem(found)], title=title, watch=links.feed("health"))
