"""One decision in full: the sentence, the nodes by scores as a table that sorts, who refused which node and why.

What it shows is the API's answer: /runs/{run}/decisions/{seq}.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dash import html

from dashboard.components import grid
from dashboard.figures.timeaxis import clock
from dashboard.formats import MISSING, number, plural

SCORES, REFUSED = "score", "refused"
LETTER_PX = 8
"""Width of a letter of a heading, roughly: a group is as wide as its name."""
UNDESCRIBED = "not described: its package is not installed here, or says nothing of it"


def table_id(of: str) -> dict[str, str]:
    """The table of SCORES or REFUSED nodes."""
    return {"part": "decision-table", "of": of}


def placement(made: Mapping[str, Any]) -> html.Section:
    """A scheduler's decision."""
    return html.Section(
        [
            html.H2(f"{made['pod']} at {clock(made['time_s'])}"),
            html.P(made["reason"], className="sentence"),
            html.Dl(
                [html.Div([html.Dt(name), html.Dd(value or MISSING)]) for name, value in _facts(made)],
                className="inline-facts",
            ),
            *_scores(made),
            *_refusals(made["refusals"]),
        ],
        className="panel padded",
    )


def _facts(made: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    yield "Scheduler", made["policy"]
    yield "Job", made["job"]
    yield "Node", made["node"] or ("none, and none could ever take it" if made["permanent"] else "none")
    yield "Nodes that fit", number(made["feasible"], 0)
    yield "Refused", number(made["refused"], 0)
    if made["needed_images"]:
        yield "To pull", ", ".join(made["needed_images"])


def score_rows(made: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row for each node that the decision lists: rank, total, and of each score raw value, score and contribution."""
    rows = []
    for place, node in enumerate(made["nodes"]):
        row: dict[str, Any] = {
            "id": node,
            "node": node,
            "chosen": node == made["node"],
            "rank": at(made["ranks"], place),
            "total": at(made["totals"], place),
        }
        for column, score in enumerate(made["scores"]):
            row[f"raw{column}"] = at(score["raw"], place)
            row[f"value{column}"] = at(score["normalised"], place)
            row[f"part{column}"] = at(score["weighted"], place)
        rows.append(row)
    return rows


def score_columns(scores: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The columns of `score_rows`: one group a score, with its weight, and what comes of it where it is not 1."""
    columns = [
        {**grid.text_column("node", "Node", minWidth=175, pinned="left"), "cellRenderer": "PodshiftChosen"},
        _number("rank", "Rank", 80),
        _number("total", "Total", 95),
    ]
    for place, score in enumerate(scores):
        heading = f"{score['plugin']} × {number(score['weight'], 5)}"
        parts = [("raw", "Raw")] if score["raw"] != score["normalised"] else []
        parts.append(("value", "Score"))
        if score["weight"] != 1:
            parts.append(("part", "× weight"))
        width = max(90, (len(heading) * LETTER_PX + 44) // len(parts))
        children = [_number(f"{part}{place}", words, width) for part, words in parts]
        tip = score["description"] or UNDESCRIBED
        columns.append({"headerName": heading, "headerTooltip": tip, "children": children})
    return columns


def _number(name: str, heading: str, width: int) -> dict[str, Any]:
    return {
        **grid.number_column(name, heading, minWidth=width),
        "cellRenderer": "PodshiftPrecise",
    }


def refused_rows(refusals: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A row for each refused node that is listed."""
    return [
        {"id": f"{one['filter']}/{node}", "node": node, "filter": one["filter"]}
        for one in refusals
        for node in one["nodes"]
    ]


def _scores(made: Mapping[str, Any]) -> list[Any]:
    scores = made["scores"]
    rows = score_rows(made)
    if not rows:
        return [html.P("No node was scored.", className="quiet")]
    words = f"{plural(len(rows), 'node')} by total"
    more = made["feasible"] - len(rows)
    if more > 0:
        words += f"; {more:,} that fit as well are not listed"
    equals = sum(rank == 1 for rank in made["ranks"])
    if not scores:
        words += "; this scheduler chooses without scores"
    elif equals > 1:
        words += f"; {equals:,} of them share the highest total, and the sentence above says how one was taken"
    return [
        html.H3("Nodes and their scores"),
        html.P(words, className="quiet"),
        html.Div(
            grid.grid(table_id(SCORES), score_columns(scores), rows, page_size=20),
            role="region",
            **{"aria-label": "Scores of the nodes"},
        ),
        _glossary(scores),
    ]


def _glossary(scores: Sequence[Mapping[str, Any]]) -> html.Details | None:
    if not scores:
        return None
    entries = [html.Div([html.Dt(score["plugin"]), html.Dd(score["description"] or UNDESCRIBED)]) for score in scores]
    return html.Details([html.Summary("What these scores look at"), html.Dl(entries, className="plugin-words")])


def _refusals(refusals: Sequence[Mapping[str, Any]]) -> list[Any]:
    if not refusals:
        return [html.P("No filter refused a node.", className="quiet")]
    headings = ("Filter", "Refused", "Listed below")
    filters = [
        html.Tr(
            [
                html.Th([one["filter"], html.P(one["description"] or UNDESCRIBED, className="quiet")], scope="row"),
                html.Td(number(one["count"], 0)),
                html.Td(number(len(one["nodes"]), 0)),
            ]
        )
        for one in refusals
    ]
    columns = [
        grid.text_column("node", "Refused node", minWidth=150),
        grid.text_column("filter", "By", minWidth=160),
    ]
    rows = refused_rows(refusals)
    return [
        html.H3("Refused nodes"),
        html.Div(
            html.Table(
                [
                    html.Thead(html.Tr([html.Th(heading, scope="col") for heading in headings])),
                    html.Tbody(filters),
                ],
                className="plain filters",
            ),
            className="table-scroll",
            tabIndex="0",
            role="region",
            **{"aria-label": "Filters that refused nodes"},
        ),
        html.Div(
            grid.grid(table_id(REFUSED), columns, rows, page_size=10),
            role="region",
            className="refused-nodes",
            **{"aria-label": "Refused nodes"},
        )
        if rows
        else None,
    ]


def at(values: Sequence[Any], place: int) -> float | None:
    """The number at a place of a list, if there is one."""
    return values[place] if place < len(values) else None
