"""The comparison: one answer of the backend for all numbers, tables of one pair of runs for the pictures."""

from typing import Any

from dash import Dash, Input, Output, State
from dash.exceptions import PreventUpdate

from dashboard import feed, ids, urlstate
from dashboard.callbacks import views
from dashboard.callbacks.run import swim, usage
from dashboard.components.states import problem
from dashboard.figures import comparison, cpu, placement
from dashboard.figures.view import View
from dashboard.pages import compare as pages
from dashboard.pages.frame import heading
from dashboard.source import Problem, Source, first_problem
from dashboard.urlstate import Links

Sides = dict[str, list[str]]


def register(app: Dash, source: Source, links: Links) -> None:
    """Register the callbacks of the page."""
    _numbers(app, source, links)
    runs, search = State(pages.RUNS, "data"), Input(ids.URL, "search")

    def dumbbell(theme: str, sides: Sides) -> View | Problem:
        found = compared(source, sides)
        if isinstance(found, Problem):
            return found
        return comparison.dumbbell(found["jobs"], pages.labels(found), theme=theme, revision=_key(sides))

    views.register(app, "dumbbell", "Completion time of each job", dumbbell, states=[runs])

    def ecdf(theme: str, sides: Sides) -> View | Problem:
        found = compared(source, sides)
        if isinstance(found, Problem):
            return found
        return comparison.ecdf(found["jobs"], pages.labels(found), theme=theme, revision=_key(sides))

    views.register(app, "ecdf", "Jobs finished within a time", ecdf, states=[runs])

    def pair(theme: str, search: str, sides: Sides) -> View | Problem:
        state = urlstate.compare_state(search or "")
        a, b = chosen(sides, state.pair)
        found, first, second = compared(source, sides), swim(source, a), swim(source, b)
        failed = first_problem(found, first, second)
        if failed:
            return failed
        names = pages.labels(found) if isinstance(found, dict) else ("A", "B")
        return placement.pair(
            (f"A: {names[0]}", first),
            (f"B: {names[1]}", second),
            colour=state.colour,
            theme=theme,
            revision=_key(sides),
        )

    views.register(app, "pair", "Where each job ran", pair, search, states=[runs])

    def areas(theme: str, search: str, sides: Sides) -> View | Problem:
        a, b = chosen(sides, urlstate.compare_state(search or "").pair)
        found, first, second = compared(source, sides), usage(source, a), usage(source, b)
        failed = first_problem(found, first, second)
        if failed:
            return failed
        names = pages.labels(found) if isinstance(found, dict) else ("A", "B")
        arms = [
            (f"{letter}: {name}", part[0], part[2])
            for letter, name, part in zip("AB", names, (first, second), strict=True)
        ]
        return cpu.areas(arms, theme=theme, revision=_key(sides))

    views.register(app, "areas", "CPU of the cluster", areas, search, states=[runs])


def _numbers(app: Dash, source: Source, links: Links) -> None:
    @app.callback(
        Output(pages.HEAD, "children"),
        Output(pages.JOB_TABLE, "children"),
        Input(ids.REVISION, "data"),
        State(ids.URL, "search"),
        State(pages.RUNS, "data"),
    )
    def numbers(_: Any, search: str, sides: Sides) -> tuple[Any, Any]:
        found = compared(source, sides)
        if isinstance(found, Problem):
            return [heading("Comparison"), problem(found)], None
        state = urlstate.compare_state(search or "")
        return pages.head(links, state, search or "", found), pages.job_table(found)

    @app.callback(
        Output(pages.SETTINGS, "children"),
        Output(pages.PAIR, "children"),
        Output(pages.COLOUR, "children"),
        Input(ids.REVISION, "data"),
        Input(ids.URL, "search"),
        State(pages.RUNS, "data"),
    )
    def choices(_: Any, search: str, sides: Sides) -> tuple[Any, Any, Any]:
        if not sides:
            raise PreventUpdate
        search = search or ""
        state = urlstate.compare_state(search)
        found = compared(source, sides)
        settings = problem(found) if isinstance(found, Problem) else pages.settings(search, state, found)
        return settings, pages.pair_choice(search, state), pages.colour_choice(search, state)


def compared(source: Source, sides: Sides) -> dict[str, Any] | Problem:
    """The comparison as of the present revision of its runs."""
    rows = [source.run(name) for name in (*sides["a"], *sides["b"])]
    failed = first_problem(*rows)
    if failed:
        return failed
    return source.compare(sides["a"], sides["b"], feed.revision([row for row in rows if isinstance(row, dict)]))


def chosen(sides: Sides, pair: int) -> tuple[str, str]:
    """The runs of the pair that the pictures show."""
    place = min(pair, len(sides["a"]) - 1, len(sides["b"]) - 1)
    return sides["a"][place], sides["b"][place]


def _key(sides: Sides) -> str:
    return f"{','.join(sides['a'])}|{','.join(sides['b'])}"
