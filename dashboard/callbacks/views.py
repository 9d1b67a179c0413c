"""One way to fill a panel, for all pages: build the view, or say why not."""

from collections.abc import Callable, Sequence
from typing import Any

from dash import ALL, Dash, Input, Output, State, no_update, set_props
from dash.exceptions import PreventUpdate

from dashboard import ids
from dashboard.components.panel import content, figure_props, said
from dashboard.figures.view import View
from dashboard.source import Problem

Build = Callable[..., View | Problem]


def register(app: Dash, view: str, title: str, build: Build, *extra: Input, states: Sequence[State] = ()) -> None:
    """Fill the panel `view` with `build(theme, *values of extra, *values of states)`.

    It is made anew when the data, the theme, the form (graph or table) or one of `extra` changes.
    """

    @app.callback(
        Output(ids.summary(view), "children"),
        Output(ids.body(view), "children"),
        Input(ids.REVISION, "data"),
        Input(ids.THEME, "data"),
        Input(ids.as_table(view), "checked"),
        State({"part": "graph", "view": ALL}, "id"),
        *extra,
        *states,
    )
    def fill(_: Any, theme: str | None, as_table: bool | None, graphs: list[Any], *values: Any) -> tuple[Any, Any]:
        if theme is None:  # the browser has not said yet; it does so at once, and one drawing is enough
            raise PreventUpdate
        built = build(theme, *values)
        if ids.graph(view) in graphs and isinstance(built, View) and built.figure and not as_table:
            # The graph itself stays: a new one in its place would forget zoom, hidden legend items and hover.
            set_props(ids.incoming(view), {"data": built.figure})
            set_props(ids.figure(view), figure_props(title, built))
            return said(built), no_update
        return content(view, title, built, as_table)
