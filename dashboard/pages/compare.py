"""Two sides beside each other: is it fair, what is the difference, for which jobs, and why."""

from collections.abc import Mapping, Sequence
from typing import Any

from dash import dcc, html

from dashboard.components import badges, grid
from dashboard.components.icons import icon
from dashboard.components.panel import panel
from dashboard.components.states import empty, loading, sentence
from dashboard.formats import MISSING, number, plural, quantity, signed
from dashboard.pages.frame import heading, page
from dashboard.pages.run import toggle
from dashboard.urlstate import CompareState, Links, changed

NUMBERS = "compare-numbers"
ABOUT = "compare-about"
MEASURES = "compare-measures"
SWAP = "swap"
SETTINGS = "compare-settings"
RUNS = "compare-runs"
JOB_TABLE = "compare-jobs"
JOBS = {"part": "rows", "of": "compared"}
PAIR = "compare-pair"
SHORT = 60
"""Characters of a remark that still fit a badge."""
COLOUR = "compare-colour"

HEADLINES = {
    "makespan_s": "Makespan",
    "mean_completion_s": "Mean completion time",
    "p95_completion_s": "95 % done within",
    "migrations": "Migrations",
    "lost_core_s": "Wasted work",
}
"""Measures at the top, in this order; all of them are in the table below."""
JOB_COLUMNS = ("job", "workload", "a_s", "b_s", "difference_s", "percent", "downtime_b_s", "migrations_b", "note")
CHECKS = {
    "workload": "workload",
    "schedule": "schedule",
    "initial_placement": "initial placement",
    "seed": "seed",
}


def layout(
    links: Links,
    state: CompareState,
    search: str,
    *,
    names: tuple[str, str] = ("A", "B"),
    source: str = "simulator",
    title: str = "Compare",
    seen: str = "",
) -> list[Any]:
    """The page. `names` are the labels of the sides; numbers and pictures are filled by callbacks."""
    if not state.a or not state.b:
        return page([_choose(links)], title="Compare", watch=links.feed("health"), notices=state.notices)
    a, b = names
    return page(
        [
            dcc.Store(id=RUNS, data={"a": list(state.a), "b": list(state.b)}),
            heading(
                [badges.arm("A", a), html.Span("vs", className="versus"), badges.arm("B", b)],
                above=[dcc.Link("Experiments", href=links.experiments()), html.Span(" / Compare")],
                below=html.Div("", id=ABOUT, className="lead"),
                actions=[
                    dcc.Link([icon("swap"), "Swap A and B"], href=swapped(search, state), className="button", id=SWAP),
                    dcc.Link("Run A", href=links.run(state.a[0]), className="button"),
                    dcc.Link("Run B", href=links.run(state.b[0]), className="button"),
                ],
            ),
            html.Div(loading(200), id=NUMBERS),
            html.Details(
                [
                    html.Summary("All measures"),
                    html.Div(
                        "",
                        id=MEASURES,
                        className="table-scroll",
                        tabIndex="0",
                        role="region",
                        **{"aria-label": "All measures"},
                    ),
                ],
                className="panel padded more",
            ),
            html.Div(
                [
                    panel("dumbbell", "Completion time of each job", height=300),
                    panel("ecdf", "Jobs finished within a time", height=300),
                ],
                className="two-columns",
            ),
            html.Div(pair_choice(search, state), id=PAIR),
            panel("pair", "Where each job ran", height=420, controls=html.Div(colour_choice(search, state), id=COLOUR)),
            panel("areas", "CPU of the cluster", height=320),
            html.Div(loading(200), id=JOB_TABLE),
            html.Div(loading(160), id=SETTINGS),
        ],
        title=title,
        source=source,
        watch=links.feed("runs", ids=",".join((*state.a, *state.b))),
        every=4.0,
        seen=seen,
        notices=state.notices,
    )


def _choose(links: Links) -> html.Div:
    return html.Div(
        [
            heading("Compare", below="Two runs, or two arms over the same seeds, beside each other."),
            empty(
                "Nothing chosen yet",
                "Every experiment with two arms has a Compare link in the list. To compare across experiments, "
                "tick two of them there.",
                [dcc.Link("To the experiments", href=links.experiments(), className="button button-primary")],
                "compare",
            ),
        ]
    )


def colour_choice(search: str, state: CompareState) -> html.Div:
    """How the bars of the swimlanes are coloured."""
    return toggle(
        search, "colour", state.colour, (("category", "By category"), ("job", "By job")), "Colour of the bars"
    )


def pair_choice(search: str, state: CompareState) -> Any:
    """Which pair of runs the pictures below show, where there are several seeds."""
    count = min(len(state.a), len(state.b))
    if count < 2:
        return None
    options = [(str(place), f"pair {place + 1}") for place in range(min(count, 20))]
    return html.Div(
        [
            html.Span("Pictures below show one pair of runs:", className="quiet"),
            toggle(search, "pair", str(min(state.pair, count - 1)), options, "Pair of runs shown below"),
        ],
        className="pair-line",
    )


def swapped(search: str, state: CompareState) -> str:
    """The address with the sides exchanged and everything else as it is."""
    return changed(search, a=",".join(state.b), b=",".join(state.a))


def numbers(compared: Mapping[str, Any]) -> html.Div:
    """Fairness marks, headline differences, and how to read them."""
    _, b = labels(compared)
    exact = [metric for metric in compared.get("metrics") or [] if metric.get("name") in HEADLINES]
    exact.sort(key=lambda metric: list(HEADLINES).index(metric["name"]))
    return html.Div(
        [
            _validity(compared),
            html.Div([_headline(metric) for metric in exact], className="headlines"),
            html.P(
                [
                    html.Strong("How to read it: "),
                    f"{compared.get('sign') or 'difference = B − A; negative = B is faster'}. ".replace(" - ", " − "),
                    _counts(compared, b),
                ],
                className="reading",
            ),
            *[html.P(sentence(note), className="reading") for note in _notes(compared) if len(note) > SHORT],
        ],
        **{"data-state": "ready"},
    )


def labels(compared: Mapping[str, Any]) -> tuple[str, str]:
    """Names of the two sides; told apart if both arms have one name."""
    a, b = (str((compared.get(side) or {}).get("label") or side.upper()) for side in ("a", "b"))
    return (a, b) if a != b else (f"{a} (A)", f"{b} (B)")


def about(compared: Mapping[str, Any]) -> list[Any]:
    """Experiments compared and short remarks, under the title."""
    a = compared.get("a") or {}
    said = [html.Span(", ".join(a.get("experiments") or []), className="quiet")]
    if compared.get("so_far"):
        said.append(html.Span("so far: runs are still under way", className="badge badge-live"))
    said += [html.Span(note, className="badge badge-quiet") for note in _notes(compared) if len(note) <= SHORT]
    return said


def _notes(compared: Mapping[str, Any]) -> list[str]:
    """What the backend remarks; while runs are under way, what is missing so far is no remark."""
    notes = compared.get("notes") or ([compared["note"]] if compared.get("note") else [])
    return [
        note for note in notes if not note.startswith("so far") and not (compared.get("so_far") and "left out" in note)
    ]


def _validity(compared: Mapping[str, Any]) -> html.Ul:
    """One mark a check; amber if it fails, with what differs."""
    marks = []
    for entry in compared.get("validity") or []:
        ok, name = entry.get("ok"), CHECKS.get(entry["check"], entry["check"])
        unknown = "not known" in str(entry.get("detail") or "")
        word = f"same {name}" if ok else f"{name} not known" if unknown else f"not the same {name}"
        tone, symbol = ("good", "check") if ok else ("warn", "alert")
        marks.append(
            html.Li(
                [
                    html.Span([icon(symbol, 12), word], className=f"badge badge-{tone}"),
                    html.Span(entry.get("detail") or "", className="quiet"),
                ],
                title=entry.get("detail") or "",
                className="" if ok else "failed-check",
            )
        )
    return html.Ul(marks, className="validity", **{"aria-label": "Is the comparison fair?"})


def _headline(metric: Mapping[str, Any]) -> html.Div:
    name, unit = str(metric.get("name")), metric.get("unit") or ""
    difference, percent, interval = metric.get("difference"), metric.get("percent"), metric.get("ci95")
    tone, word = verdict(metric)
    digits = 0 if unit == "" and difference == round(difference or 0) else 1
    absolute = [signed(difference, digits), html.Small(f" {unit}") if unit and difference is not None else None]
    relative = percent is not None
    return html.Div(
        [
            html.Div(HEADLINES.get(name) or metric.get("label"), className="headline-name"),
            html.Div(
                [signed(percent), html.Small(" %")] if relative else absolute, className=f"headline-value tone-{tone}"
            ),
            html.Div(
                [html.Span(word, className=f"tone-{tone}"), f" {signed(difference, 1, unit)}" if relative else None],
                className="headline-word",
            ),
            html.Div(
                f"{number(metric.get('a'))} → {number(metric.get('b'))} {unit}" if difference is not None else None,
                className="headline-pair",
            ),
            html.Div(
                f"95 % interval {signed(interval[0])} to {signed(interval[1], 1, unit)}, n = {metric.get('n')}"
                if interval
                else (metric.get("note") or "single run, no interval")
                if difference is not None
                else None,
                className="headline-interval",
            ),
        ],
        className="headline",
    )


def verdict(metric: Mapping[str, Any]) -> tuple[str, str]:
    """(tone, word) of a difference: better, worse, or neither; the word says it without the colour."""
    difference = metric.get("difference")
    if difference is None:
        return "none", "not known on both sides"
    if abs(difference) < 5e-4:
        return "none", "no difference"
    lower = metric.get("better", "lower") == "lower"
    good = (difference < 0) == lower
    if metric.get("name") in ("migrations", "rolled_back", "downtime_s"):
        return "none", "more in B" if difference > 0 else "fewer in B"
    timed = (metric.get("unit") or "") == "s"
    if timed:
        return ("better", "▼ B faster") if good else ("worse", "▲ B slower")
    arrow = "▼" if difference < 0 else "▲"
    return ("better", f"{arrow} B better") if good else ("worse", f"{arrow} B worse")


def _counts(compared: Mapping[str, Any], b: str) -> str:
    if compared.get("faster") is None:
        return "Jobs cannot be paired here; only group numbers are shown."
    mean = compared.get("mean_of_changes_percent")
    faster, slower, equal = (compared[name] for name in ("faster", "slower", "equal"))
    words = f"{b} is faster for {plural(faster, 'job')}, slower for {slower}, equal for {equal}"
    return words + (f"; the mean of the jobs' changes is {signed(mean, 1, '%')}." if mean is not None else ".")


def measures(compared: Mapping[str, Any]) -> html.Table:
    """Every measure with difference, interval, sign and note."""
    a, b = labels(compared)
    rows = []
    for metric in compared.get("metrics") or []:
        unit = metric.get("unit") or ""
        interval = metric.get("ci95")
        rows.append(
            html.Tr(
                [
                    html.Th(metric.get("label"), scope="row"),
                    html.Td(quantity(metric.get("a"), unit)),
                    html.Td(quantity(metric.get("b"), unit)),
                    html.Td(_share(metric.get("difference"), unit)),
                    html.Td(signed(metric.get("percent"), 1, "%")),
                    html.Td(f"{_share(interval[0], unit)} to {_share(interval[1], unit)}" if interval else MISSING),
                    html.Td(number(metric.get("n"), 0)),
                    html.Td(metric.get("sign") or "", className="words-cell"),
                    html.Td(metric.get("note") or "", className="words-cell"),
                ]
            )
        )
    headings = ("Measure", f"A: {a}", f"B: {b}", "B − A", "%", "95 % interval", "n", "Sign", "Note")
    return html.Table(
        [html.Thead(html.Tr([html.Th(name, scope="col") for name in headings])), html.Tbody(rows)], className="plain"
    )


def _share(value: float | None, unit: str) -> str:
    if value is None:
        return MISSING
    if unit in ("share", "fraction"):
        return signed(100 * value, 1, "points")
    small = unit in ("", "1") and value != round(value)
    return signed(value, 3 if small else 1 if unit not in ("", "1") else 0, "" if unit == "1" else unit)


def job_rows(compared: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows of the jobs, largest gain of B first, unpaired ones last."""
    rows = [{**{name: job.get(name) for name in JOB_COLUMNS}, "id": job["job"]} for job in compared.get("jobs") or []]
    rows.sort(key=lambda row: (row["difference_s"] is None, row["difference_s"] or 0.0))
    return rows


def job_table(compared: Mapping[str, Any]) -> html.Section:
    """Every job of the comparison with its difference and percent."""
    jobs = compared.get("jobs") or []
    a, b = labels(compared)
    if not jobs:
        return html.Section(
            [
                html.H2("Jobs", className="panel-title"),
                empty("No pairs of jobs", compared.get("note") or "Jobs cannot be paired."),
            ],
            className="panel padded",
        )
    rows = job_rows(compared)
    columns = [
        grid.text_column("job", "Job", minWidth=120, flex=1.4, pinned="left"),
        grid.text_column("workload", "Workload", minWidth=105),
        grid.number_column("a_s", f"A: {a} (s)", minWidth=100),
        grid.number_column("b_s", f"B: {b} (s)", minWidth=100),
        grid.number_column("difference_s", "B − A (s)", minWidth=100, cellRenderer="PodshiftSigned"),
        grid.number_column("percent", "B − A (%)", minWidth=95, cellRenderer="PodshiftSigned"),
        grid.number_column("migrations_b", "Migrations in B", minWidth=100),
        grid.number_column("downtime_b_s", "Downtime in B (s)", minWidth=100),
        grid.text_column("note", "Note", minWidth=150),
    ]
    if not any(row["note"] for row in rows):
        columns.pop()
    return html.Section(
        [
            html.Div(
                html.Div(
                    [
                        html.H2("Jobs", className="panel-title"),
                        html.P("Means over the pairs of runs; negative = B is faster.", className="panel-help"),
                    ]
                ),
                className="panel-head",
            ),
            html.Div(grid.grid(JOBS, columns, rows), className="panel-body"),
        ],
        className="panel",
        **{"data-state": "ready"},
    )


def settings(search: str, state: CompareState, compared: Mapping[str, Any]) -> html.Section:
    """Configuration of both sides; only what differs unless the address says otherwise."""
    entries: Sequence[Mapping[str, Any]] = compared.get("configuration") or []
    different = [entry for entry in entries if entry.get("differs")]
    a, b = labels(compared)
    shown = different if state.only_differences else entries
    switch = toggle(
        search,
        "only",
        "diff" if state.only_differences else "all",
        (("diff", f"Only differences ({len(different)})"), ("all", f"All ({len(entries)})")),
        "Which settings",
    )
    if not entries:
        body: Any = empty("Not known", "At least one side was imported without a specification.")
    elif not shown:
        body = empty("No differences", f"All {len(entries)} settings are the same on both sides.")
    else:
        body = html.Div(
            html.Table(
                [
                    html.Thead(html.Tr([html.Th(name, scope="col") for name in ("Setting", f"A: {a}", f"B: {b}")])),
                    html.Tbody(
                        [
                            html.Tr(
                                [
                                    html.Th(entry["field"], scope="row"),
                                    html.Td(_setting(entry.get("a"))),
                                    html.Td(_setting(entry.get("b"))),
                                ],
                                className="differs" if entry.get("differs") else "",
                            )
                            for entry in shown
                        ]
                    ),
                ],
                className="plain settings",
            ),
            className="table-scroll",
            tabIndex="0",
            role="region",
            **{"aria-label": "Configuration of both sides"},
        )
    return html.Section(
        [
            html.Div(
                [html.H2("Configuration", className="panel-title"), html.Div(switch, className="panel-buttons")],
                className="panel-head",
            ),
            html.Div(body, className="panel-body"),
        ],
        className="panel",
        **{"data-state": "ready"},
    )


def _setting(value: Any) -> str:
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
