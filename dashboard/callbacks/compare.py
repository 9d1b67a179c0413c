"""The comparison: one answer of the backend for all numbers, tables of one pair of runs for the pictures."""

from typing import Any

from dash import ALL, Dash, Input, Output, State, no_update, set_props
from dash.exceptions import PreventUpdate

from dashboard import feed, ids, urlstate
from dashboard.callbacks import views
from dashboard.callbacks.run import swim, usage
from dashboard.components.states import problem
from dashboard.figures import comparison, cpu, placement
from dashboard.figures.view import View
from dashboard.pages import compare as pages
from dashboard.source import Problem, Source, first_problem
from dashboard.urlstate import Links

Sides = dict[str, list[str]]


def register(app: Dash, source: Source, links: Links) -> None:
    """Register the callbacks of the page."""
    del links
    _numbers(app, source)
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


def _numbers(app: Dash, source: Source) -> None:
    @app.callback(
        Output(pages.ABOUT, "children"),
        Output(pages.NUMBERS, "children"),
        Output(pages.MEASURES, "children"),
        Input(ids.REVISION, "data"),
        State(pages.RUNS, "data"),
    )
    def numbers(_: Any, sides: Sides) -> tuple[Any, Any, Any]:
        found = compared(source, sides)
        if isinstance(found, Problem):
            return None, problem(found), None
        return pages.about(found), pages.numbers(found), pages.measures(found)

    @app.callback(
        Output(pages.JOB_TABLE, "children"),
        Input(ids.REVISION, "data"),
        State(pages.RUNS, "data"),
        State({"part": "rows", "of": ALL}, "id"),
    )
    def rows(_: Any, sides: Sides, grids: list[Any]) -> Any:
        found = compared(source, sides)
        if isinstance(found, Problem):
            return no_update if grids else problem(found)
        if grids and found["jobs"]:
            # Rows only, so that sorting and scroll stay.
            set_props(pages.JOBS, {"rowData": pages.job_rows(found)})
            return no_update
        return pages.job_table(found)

    @app.callback(
        Output(pages.SETTINGS, "children"),
        Output(pages.PAIR, "children"),
        Output(pages.COLOUR, "children"),
        Output(pages.SWAP, "href"),
        Input(ids.REVISION, "data"),
        Input(ids.URL, "search"),
        State(pages.RUNS, "data"),
    )
    def choices(_: Any, search: str, sides: Sides) -> tuple[Any, ...]:
        if not sides:
            raise PreventUpdate
        search = search or ""
        state = urlstate.compare_state(search)
        found = compared(source, sides)
        settings = problem(found) if isinstance(found, Problem) else pages.settings(search, state, found)
        pair, colour = pages.pair_choice(search, state), pages.colour_choice(search, state)
        return settings, pair, colour, pages.swapped(search, state)


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
