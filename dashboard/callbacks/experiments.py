"""The list of experiments: live, searched and paged by the address; launching and importing in the browser."""

from typing import Any

from dash import ALL, ClientsideFunction, Dash, Input, Output, State, ctx, no_update, set_props

from dashboard import ids, urlstate
from dashboard.pages import experiments
from dashboard.source import Problem, Source
from dashboard.urlstate import Links


def register(app: Dash, source: Source, links: Links) -> None:
    """Register the callbacks of the page."""

    @app.callback(
        Output(experiments.LIST, "children"),
        Input(ids.LIVE, "data"),
        Input(ids.URL, "search"),
        State({"part": "rows", "of": ALL}, "id"),
    )
    def fill(_: Any, search: str, grids: list[Any]) -> Any:
        state = urlstate.listing(search or "")
        answer = source.experiments(state.q, state.status, urlstate.PAGE_SIZE, state.offset)
        if grids and ctx.triggered_id == ids.LIVE:
            if isinstance(answer, Problem):
                return no_update  # the banner says it; what was last known stays on screen
            if answer["items"]:
                # Rows only: selection, scroll and focus stay where they are.
                set_props(experiments.ROWS, {"rowData": [experiments.row(links, item) for item in answer["items"]]})
                return no_update
        return experiments.listing(links, state, answer)

    # No callback may own the page's info: the top bar follows it, and would wait for an answer that says "no change".
    app.clientside_callback(
        ClientsideFunction("podshift", "watchList"),
        Input(ids.URL, "search"),
        State(ids.URL, "pathname"),
    )
    app.clientside_callback(
        ClientsideFunction("podshift", "filter"),
        Output(ids.URL, "search", allow_duplicate=True),
        Input(experiments.SEARCH, "value"),
        Input(experiments.STATUS, "value"),
        State(ids.URL, "search"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("podshift", "launchExample"),
        Output({"part": "launch", "example": ALL}, "loading"),
        Input({"part": "launch", "example": ALL}, "n_clicks"),
        State({"part": "launch", "example": ALL}, "id"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("podshift", "importFile"),
        Input({"part": experiments.IMPORT, "kind": ALL}, "n_clicks"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("podshift", "selected"),
        Output(experiments.COMPARE, "disabled"),
        Input(experiments.ROWS, "selectedRows"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("podshift", "compareSelected"),
        Input(experiments.COMPARE, "n_clicks"),
        State(experiments.ROWS, "selectedRows"),
        prevent_initial_call=True,
    )
