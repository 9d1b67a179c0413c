"""What is shown when there is nothing to show: the three reasons look and read differently."""

from collections.abc import Sequence
from typing import Any

import dash_mantine_components as dmc
from dash import html

from dashboard.components.icons import icon
from dashboard.formats import stamp
from dashboard.source import Problem


def problem(found: Problem, hint: str = "") -> html.Div:
    """What is missing, from where, why and since when (never an endless spinner)."""
    return html.Div(
        [
            html.Div([icon("alert", 18), html.Strong(f"No answer for {found.what}")], className="state-title"),
            html.P(sentence(found.why)),
            html.P(
                [html.Code(found.where), f" · status {found.status or 'none'} · failing since {stamp(found.since)}"],
                className="state-detail",
            ),
            html.P(hint or "This clears by itself when the answer comes.", className="state-detail"),
        ],
        className="state state-problem",
        role="status",
        **{"data-state": "problem"},
    )


def empty(title: str, text: str = "", actions: Sequence[Any] = (), symbol: str = "empty") -> html.Div:
    """Nothing is there, and that is no fault."""
    return html.Div(
        [
            html.Div(icon(symbol, 28), className="state-icon"),
            html.Strong(title),
            html.P(text) if text else None,
            html.Div(list(actions), className="state-actions") if actions else None,
        ],
        className="state state-empty",
        **{"data-state": "empty"},
    )


def loading(height: int = 240) -> html.Div:
    """A grey shape where something will be; never a zero."""
    return html.Div(
        dmc.Skeleton(height=height, radius="md", animate=False), className="state-loading", **{"data-state": "loading"}
    )


def notice(texts: Sequence[str]) -> html.Div | None:
    """Remarks on an address that could not be followed to the letter."""
    if not texts:
        return None
    return html.Div([html.P(text) for text in texts], className="notice", role="status")


def sentence(text: str) -> str:
    """A message with a capital letter and a full stop."""
    text = text.strip()
    if not text:
        return ""
    return text[0].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")
