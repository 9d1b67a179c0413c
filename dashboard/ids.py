"""Ids of components that callbacks or scripts in assets/ speak to."""

URL = "url"
PAGE = "page"
THEME = "theme"
LIVE = "live"
"""Store with what the poller last got: {watch, mark, data, at}."""
INFO = "page-info"
"""Store in every page: {title, source, watch, every} for the top bar, the document's title and the poller."""
IDENTITY = "identity"
"""Store: the part of the address that says which page it is, without the views within it."""
REVISION = "revision"
"""Store: changes when the data of the page's runs change (LIVE changes also with the progress of others)."""
WINDOW = "window"
"""Store: seconds [from, to] a person zoomed to in a view that draws only what is in sight; None for all."""
BANNER = "banner"
CONNECTION = "connection"
SOURCE_CHIP = "source-chip"
KEYS = "keys"
TOAST = "toast"


def graph(view: str) -> dict[str, str]:
    """The graph of a panel."""
    return {"part": "graph", "view": view}


def figure(view: str) -> dict[str, str]:
    """What stands around the graph and names it."""
    return {"part": "figure", "view": view}


def incoming(view: str) -> dict[str, str]:
    """Store with the newest figure of a graph on screen; assets/charts.js puts it there without losing the zoom."""
    return {"part": "incoming", "view": view}


def summary(view: str) -> dict[str, str]:
    """Its sentence."""
    return {"part": "summary", "view": view}


def table(view: str) -> dict[str, str]:
    """Its data as a table."""
    return {"part": "table", "view": view}


def as_table(view: str) -> dict[str, str]:
    """The switch between graph and table."""
    return {"part": "as-table", "view": view}


def reset_zoom(view: str) -> dict[str, str]:
    """The button that shows everything again."""
    return {"part": "reset", "view": view}


def picture(view: str) -> dict[str, str]:
    """The button that saves a PNG."""
    return {"part": "picture", "view": view}


def body(view: str) -> dict[str, str]:
    """What a panel holds: graph or the reason why there is none."""
    return {"part": "body", "view": view}


def parameter(slot: str, name: str) -> dict[str, str]:
    """An input of a policy's parameter; slot is "scheduler" or "migration"."""
    return {"part": "parameter", "slot": slot, "name": name}


def field(name: str) -> dict[str, str]:
    """An input of the form."""
    return {"part": "field", "name": name}


def launch(example: str) -> dict[str, str]:
    """The Run button of a ready example."""
    return {"part": "launch", "example": example}
