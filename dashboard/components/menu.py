"""A menu that opens under its button: a disclosure of plain links and buttons, usable by keyboard as it is.

assets/shortcuts.js closes it on Escape and on a click elsewhere. (Mantine's menu puts ARIA attributes on an element
without a role, which axe counts as critical.)
"""

from collections.abc import Sequence
from typing import Any

from dash import html

from dashboard.components.icons import icon


def menu(identity: str, text: str, symbol: str, groups: Sequence[tuple[str, Sequence[Any]]]) -> html.Details:
    """A button with groups of entries, each group under its heading."""
    return html.Details(
        [
            html.Summary([icon(symbol), text], className="button", id=identity),
            html.Div([_group(heading, entries) for heading, entries in groups], className="menu-entries"),
        ],
        className="menu",
    )


def _group(heading: str, entries: Sequence[Any]) -> html.Div:
    return html.Div([html.Div(heading, className="menu-heading"), *entries], role="group", **{"aria-label": heading})


def download(text: str, href: str) -> html.A:
    """An entry that saves a file; its name comes with the answer."""
    return html.A(text, href=href, download="", className="menu-entry")


def action(text: str, identity: Any) -> html.Button:
    """An entry that does something."""
    return html.Button(text, id=identity, n_clicks=0, className="menu-entry", type="button")
