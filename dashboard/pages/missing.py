"""404."""

from typing import Any

from dash import dcc

from dashboard.components.states import empty
from dashboard.pages.frame import page
from dashboard.urlstate import Links


def layout(links: Links, path: str) -> list[Any]:
    """There is no such page."""
    return page(
        [
            empty(
                "There is no such page",
                f"Nothing is at “/{path[:200]}”. It may have been deleted, or the address has a slip.",
                [dcc.Link("To the experiments", href=links.experiments(), className="button button-primary")],
            )
        ],
        title="Not found",
        watch=links.feed("health"),
    )


def run_missing(links: Links, run: str) -> list[Any]:
    """There is no such run."""
    return page(
        [
            empty(
                "There is no such run",
                f"No run is called “{run[:200]}”. It may have been deleted.",
                [dcc.Link("To the experiments", href=links.experiments(), className="button button-primary")],
            )
        ],
        title="Run not found",
        watch=links.feed("health"),
    )
