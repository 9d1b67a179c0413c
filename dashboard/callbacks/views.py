"""One way to fill a panel, for all pages: build the view, or say why not."""

from collections.abc import Callable, Sequence
from typing import Any

from dash import Dash, Input, Output, State
from dash.exceptions import PreventUpdate

from dashboard import ids
from dashboard.components.panel import content
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
        *extra,
        *states,
    )
    def fill(_: Any, theme: str | None, as_table: bool | None, *values: Any) -> tuple[Any, Any]:
        if theme is None:  # the browser has not said yet; it does so at once, and one drawing is enough
            raise PreventUpdate
        return content(view, title, build(theme, *values), as_table)
