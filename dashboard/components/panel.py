"""A panel: title, one-sentence summary, graph or table, and its own labelled buttons."""

from typing import Any

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard import ids
from dashboard.components.icons import icon
from dashboard.components.states import empty, loading, problem
from dashboard.figures.layout import CONFIG
from dashboard.figures.view import View
from dashboard.source import Problem

TABLE_LIMIT = 300
"""Rows of "view as table"; the CSV export has them all."""


def panel(view: str, title: str, *, height: int = 300, controls: Any = None, help_text: str = "") -> html.Section:
    """An empty panel that `content` fills. `view` is the key of its ids."""
    return html.Section(
        [
            html.Div(
                [
                    html.Div(
                        [
                            html.H2(title, className="panel-title", id=f"title-{view}"),
                            html.P(help_text, className="panel-help") if help_text else None,
                        ],
                        className="panel-heading",
                    ),
                    html.Div(
                        [
                            controls,
                            _button(ids.reset_zoom(view), "zoom", "Reset zoom", f"Reset the zoom of {title}"),
                            _button(ids.picture(view), "picture", "PNG", f"Save {title} as a PNG picture"),
                            html.Div(
                                dmc.Switch(id=ids.as_table(view), label="View as table", size="xs", checked=False),
                                className="as-table",
                            ),
                        ],
                        className="panel-buttons",
                    ),
                ],
                className="panel-head",
            ),
            html.Div("", id=ids.summary(view), className="panel-summary"),
            html.Div(loading(height), id=ids.body(view), className="panel-body"),
        ],
        className="panel",
        **{"aria-labelledby": f"title-{view}"},
    )


def content(view: str, title: str, built: View | Problem, as_table: bool | None) -> tuple[Any, Any]:
    """(summary, body) of a panel for what was built."""
    if isinstance(built, Problem):
        return "", problem(built)
    if built.figure is None:
        return "", empty("Nothing to draw", built.summary, symbol="chart")
    if as_table:
        return said(built), data_table(built, title)
    height = built.figure["layout"]["height"]
    wrapper = html.Div(
        [
            dcc.Graph(
                id=ids.graph(view), figure=built.figure, config=CONFIG, responsive="auto", style={"height": height}
            ),
            dcc.Store(id=ids.incoming(view)),
        ],
        id=ids.figure(view),
        role="img",
        className="figure",
        **{"data-state": "ready"},
        **figure_props(title, built),
    )
    return said(built), wrapper


def said(built: View) -> list[Any]:
    """The sentence under the title."""
    return [built.summary, html.Span(built.note, className="panel-note") if built.note else None]


def figure_props(title: str, built: View) -> dict[str, Any]:
    """What a screen reader hears of a graph."""
    return {"aria-label": f"{title}. {built.summary} Use “View as table” for the values."}


def data_table(built: View, title: str) -> html.Div:
    """The same data in rows."""
    rows = built.rows[:TABLE_LIMIT]
    cut = f" (first {TABLE_LIMIT} of {len(built.rows):,})" if len(built.rows) > TABLE_LIMIT else ""
    return html.Div(
        html.Table(
            [
                html.Caption(f"{title}{cut}"),
                html.Thead(html.Tr([html.Th(heading, scope="col") for heading in built.headings])),
                html.Tbody([html.Tr([html.Td(_cell(value)) for value in row]) for row in rows]),
            ],
            className="plain",
        ),
        className="table-scroll",
        tabIndex="0",
        role="region",
        **{"aria-label": f"{title} as a table", "data-state": "ready"},
    )


def _cell(value: Any) -> str:
    return "–" if value is None else str(value)


def _button(identity: dict[str, str], symbol: str, text: str, label: str) -> dmc.Button:
    return dmc.Button(
        text,
        id=identity,
        leftSection=icon(symbol, 14),
        variant="subtle",
        size="compact-xs",
        color="gray",
        attributes={"root": {"aria-label": label}},
    )
