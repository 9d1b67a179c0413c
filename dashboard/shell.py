"""What every page stands in: top bar, navigation, banner for a lost connection, and the stores scripts write to."""

import dash_mantine_components as dmc
from dash import dcc, html

from dashboard import ids
from dashboard.components.icons import icon
from dashboard.figures.palette import FONT
from dashboard.urlstate import Links

MANTINE = {
    "fontFamily": FONT,
    "fontFamilyMonospace": "'JetBrains Mono', ui-monospace, 'DejaVu Sans Mono', monospace",
    "primaryColor": "violet",
    "primaryShade": {"light": 7, "dark": 4},
    "autoContrast": True,
    "defaultRadius": "md",
    "cursorType": "pointer",
    "respectReducedMotion": True,
    "colors": {
        "violet": [
            "#f3f0ff",
            "#e4ddfc",
            "#c8bbf7",
            "#b3a0ff",
            "#a48bff",
            "#7d64ea",
            "#6a4ee0",
            "#5b3fd6",
            "#4c32b8",
            "#3c2793",
        ],
        # From light to dark: text, borders, inputs, surfaces of the dark theme, in the blue of assets/style.css.
        "dark": [
            "#dfe4ee",
            "#b4bdcf",
            "#9aa4b8",
            "#6b7690",
            "#3a4358",
            "#2b3242",
            "#1d2331",
            "#171c28",
            "#131824",
            "#10141d",
        ],
    },
    "headings": {"fontFamily": FONT, "fontWeight": "650"},
}

KEYS = (
    ("?", "This list of keys"),
    ("e", "Experiments"),
    ("n", "New experiment"),
    ("/", "Search, where the page has a search"),
    ("t", "Light or dark"),
    ("Esc", "Close a dialog"),
)

INDEX = """<!DOCTYPE html>
<html lang="en">
<head>
{%metas%}
<title>{%title%}</title>
{%favicon%}
{%css%}
<meta name="podshift-prefix" content="PREFIX">
<script src="PREFIXassets/00-theme.js"></script>
</head>
<body>
{%app_entry%}
<footer>{%config%}{%scripts%}{%renderer%}</footer>
</body>
</html>"""
"""The theme script stands in the head, so that the first paint has the right colours already (no white flash)."""


def layout(links: Links) -> dmc.MantineProvider:
    """The page frame; Dash calls this for each visitor."""
    return dmc.MantineProvider(
        [
            dcc.Location(id=ids.URL, refresh="callback-nav"),
            dcc.Store(id=ids.THEME),
            dcc.Store(id=ids.LIVE),
            dcc.Store(id=ids.IDENTITY),
            dcc.Store(id=ids.REVISION),
            html.A("Skip to content", href="#main", className="skip"),
            dmc.AppShell(
                [
                    dmc.AppShellHeader(_top_bar(links), className="topbar"),
                    dmc.AppShellNavbar(_navigation(links), className="sidebar"),
                    dmc.AppShellMain(
                        [
                            html.Div("", id=ids.BANNER, role="status", className="banner", hidden=True),
                            html.Div(html.Div(id=ids.PAGE, className="page"), id="main", tabIndex="-1"),
                            html.Div("", id=ids.TOAST, role="alert", className="toast", hidden=True),
                        ]
                    ),
                ],
                header={"height": 56},
                navbar={"width": 208, "breakpoint": "sm", "collapsed": {"mobile": True}},
                padding="0",
                transitionDuration=0,
            ),
            _keys_dialog(),
        ],
        theme=MANTINE,
        defaultColorScheme="auto",
    )


def _top_bar(links: Links) -> html.Div:
    return html.Div(
        [
            dcc.Link(
                [html.Span(className="logo", **{"aria-hidden": "true"}), html.Span("Podshift", className="wordmark")],
                href=links.experiments(),
                className="brand",
            ),
            html.Nav(
                [
                    dcc.Link("Experiments", href=links.experiments()),
                    dcc.Link("New", href=links.new()),
                ],
                className="topnav",
                **{"aria-label": "Pages"},
            ),
            html.Div(
                [
                    html.Span("SIM Simulator", id=ids.SOURCE_CHIP, className="chip chip-sim"),
                    html.Span("Connecting", id=ids.CONNECTION, className="chip chip-wait"),
                    dmc.ColorSchemeToggle(
                        lightIcon=icon("sun", 18),
                        darkIcon=icon("moon", 18),
                        variant="subtle",
                        color="gray",
                        size="lg",
                        id="theme-toggle",
                        attributes={"root": {"aria-label": "Light or dark theme"}},
                    ),
                ],
                className="topbar-right",
            ),
        ],
        className="topbar-inner",
    )


def _navigation(links: Links) -> html.Nav:
    def entry(label: str, href: str, symbol: str, page: str) -> dcc.Link:
        return dcc.Link([icon(symbol, 18), label], href=href, className="navlink", id=f"nav-{page}")

    return html.Nav(
        [
            entry("Experiments", links.experiments(), "list", "experiments"),
            entry("New experiment", links.new(), "plus", "new"),
            entry("Compare", links.prefix + "compare", "compare", "compare"),
            html.Div(className="navgap"),
            entry("Help", links.help(), "help", "help"),
        ],
        className="nav",
        **{"aria-label": "Main"},
    )


def _keys_dialog() -> dmc.Modal:
    return dmc.Modal(
        html.Table(
            html.Tbody([html.Tr([html.Th(dmc.Kbd(key), scope="row"), html.Td(words)]) for key, words in KEYS]),
            className="keys",
        ),
        id=ids.KEYS,
        title="Keys",
        opened=False,
        centered=True,
        closeButtonProps={"aria-label": "Close"},
        transitionProps={"duration": 0},
    )
