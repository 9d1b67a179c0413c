"""The parts every page has: what the top bar and the poller are to know, heading, actions."""

from collections.abc import Sequence
from typing import Any

from dash import dcc, html

from dashboard import ids
from dashboard.components.states import notice


def page(
    content: Sequence[Any],
    *,
    title: str,
    source: str = "simulator",
    watch: str,
    every: float = 5.0,
    seen: str = "",
    notices: Sequence[str] = (),
) -> list[Any]:
    """A page. `watch` is the address its poller asks, every so many seconds; `source` marks simulated data.

    `seen` is the mark of the data the page was made from (feed.mark), so that the poller need not send them again.
    """
    mark = {"simulator": "SIM · ", "import": "REC · ", "embedded": "EMB · ", "live": "LIVE · "}.get(source, "")
    return [
        dcc.Store(
            id=ids.INFO, data={"title": f"{mark}{title} · Podshift", "source": source, "watch": watch, "every": every}
        ),
        dcc.Store(id=ids.WINDOW),
        notice(notices),
        *content,
    ]


def heading(title: Any, *, above: Any = None, below: Any = None, actions: Sequence[Any] = ()) -> html.Div:
    """Title of the page with what stands above and below it, and its actions on the right."""
    return html.Div(
        [
            html.Div(
                [
                    html.Div(above, className="crumbs") if above else None,
                    html.H1(title),
                    (below if isinstance(below, html.Div) else html.Div(below, className="lead")) if below else None,
                ],
                className="heading-words",
            ),
            html.Div(list(actions), className="heading-actions") if actions else None,
        ],
        className="heading",
    )
