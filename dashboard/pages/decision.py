"""One decision in full: the sentence, the nodes by scores as a table that sorts, who refused which node and why."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dash import html

from dashboard.components import grid
from dashboard.formats import MISSING, number, plural

SCORES, REFUSED = "score", "refused"
LETTER_PX = 8
"""Width of a letter of a heading, roughly: a group is as wide as its name."""
NOT_LISTED = "more nodes, not listed"


def table_id(of: str) -> dict[str, str]:
    """The table of SCORES or REFUSED nodes."""
    return {"part": "decision-table", "of": of}


def placement(row: Mapping[str, Any], plugins: Mapping[str, str]) -> html.Section:
    """A scheduler's decision; `plugins` is name of a filter or score -> what it does."""
    given = as_mapping(row.get("detail"))
    chosen = row.get("node") if row.get("node") not in (None, "none") else None
    scored = score_rows(given, chosen)
    refused = refused_rows(given, as_mapping(row.get("refused_counts")), plugins)
    names = [str(score.get("plugin")) for score in given.get("scores") or ()]
    return html.Section(
        [
            html.H2(f"{row.get('pod')} at {row.get('time')}"),
            html.P(row.get("reason") or "", className="sentence"),
            html.Dl(
                [html.Div([html.Dt(name), html.Dd(value or MISSING)]) for name, value in _facts(row, given)],
                className="inline-facts",
            ),
            *_scores(given, scored, int(row.get("feasible") or 0)),
            _glossary(names, plugins),
            *_refusals(refused),
        ],
        className="panel padded",
    )


def _facts(row: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    yield "Scheduler", row.get("policy")
    yield "Node", row.get("node")
    yield "Nodes that fit", number(row.get("feasible"), 0)
    yield "Refused", number(sum(as_mapping(row.get("refused_counts")).values()), 0)
    if given.get("needed_images"):
        yield "To pull", ", ".join(given["needed_images"])


def score_rows(given: Mapping[str, Any], chosen: Any) -> list[dict[str, Any]]:
    """A row for each node that the decision lists: rank, total, and of each score raw value, score and contribution."""
    nodes, totals, scores = given.get("nodes") or [], given.get("totals") or [], given.get("scores") or []
    rows = []
    for place, node in enumerate(nodes):
        total = at(totals, place)
        row: dict[str, Any] = {"id": str(node), "node": str(node), "chosen": node == chosen, "total": total}
        # Equals share a rank, so that a choice among equals is seen as one.
        row["rank"] = None if total is None else 1 + sum(other is not None and other > total for other in totals)
        for number_, score in enumerate(scores):
            value, weight = at(score.get("normalised"), place), score.get("weight")
            raw = at(score.get("raw"), place)
            row[f"raw{number_}"] = value if raw is None else raw
            row[f"value{number_}"] = value
            row[f"part{number_}"] = value * weight if value is not None and weight is not None else None
        rows.append(row)
    return rows


def score_columns(scores: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The columns of `score_rows`: one group a score, with its weight, and what comes of it where it is not 1."""
    columns = [
        {**grid.text_column("node", "Node", minWidth=150, pinned="left"), "cellRenderer": "PodshiftChosen"},
        _number("rank", "Rank", 80),
        _number("total", "Total", 95),
    ]
    for place, score in enumerate(scores):
        heading = f"{score.get('plugin')} × {number(score.get('weight'), 5).rstrip('0').rstrip('.')}"
        parts = [("raw", "Raw")] if score.get("raw") else []
        parts.append(("value", "Score"))
        if score.get("weight") != 1:
            parts.append(("part", "× weight"))
        width = max(90, (len(heading) * LETTER_PX + 44) // len(parts))
        children = [_number(f"{part}{place}", words, width) for part, words in parts]
        columns.append({"headerName": heading, "children": children})
    return columns


def _number(name: str, heading: str, width: int) -> dict[str, Any]:
    return {
        **grid.number_column(name, heading, minWidth=width),
        "cellRenderer": "PodshiftPrecise",
    }


def refused_rows(
    given: Mapping[str, Any], counts: Mapping[str, Any], plugins: Mapping[str, str]
) -> list[dict[str, Any]]:
    """A row for each refused node that is listed, and one for those of a filter that are not."""
    named = as_mapping(given.get("refused"))
    rows = []
    for name in dict.fromkeys([*counts, *named]):
        listed = [str(node) for node in named.get(name) or ()]
        what = plugins.get(name, "")
        rows += [{"id": f"{name}/{node}", "node": node, "filter": name, "what": what} for node in listed]
        left = int(counts.get(name) or 0) - len(listed)
        if left > 0:
            words = f"{left:,} {NOT_LISTED}"
            rows.append({"id": f"{name}/", "node": words, "filter": name, "what": what})
    return rows


def _scores(given: Mapping[str, Any], rows: list[dict[str, Any]], feasible: int) -> list[Any]:
    scores = given.get("scores") or []
    if not rows:
        return [html.P("No node was scored.", className="quiet")]
    more = feasible - len(rows)
    words = f"{plural(len(rows), 'node')} by total"
    if more > 0:
        words += f"; {more:,} that fit as well are not listed"
    if not scores:
        words += "; this scheduler chooses without scores"
    return [
        html.H3("Nodes and their scores"),
        html.P(words, className="quiet"),
        html.Div(
            grid.grid(table_id(SCORES), score_columns(scores), rows, page_size=20),
            role="region",
            **{"aria-label": "Scores of the nodes"},
        ),
    ]


def _glossary(names: Sequence[str], plugins: Mapping[str, str]) -> html.Details | None:
    known = [(name, plugins[name]) for name in names if plugins.get(name)]
    if not known:
        return None
    entries = [html.Div([html.Dt(name), html.Dd(words)]) for name, words in known]
    return html.Details([html.Summary("What these scores look at"), html.Dl(entries, className="plugin-words")])


def _refusals(rows: list[dict[str, Any]]) -> list[Any]:
    if not rows:
        return [html.P("No filter refused a node.", className="quiet")]
    columns = [
        grid.text_column("node", "Refused node", minWidth=150),
        grid.text_column("filter", "By", minWidth=160),
        grid.long_text_column("what", "The filter lets through", flex=3, minWidth=280),
    ]
    return [
        html.H3("Refused nodes"),
        html.Div(
            grid.grid(table_id(REFUSED), columns, rows, page_size=10),
            role="region",
            **{"aria-label": "Refused nodes"},
        ),
    ]


def as_mapping(value: Any) -> dict[str, Any]:
    """A mapping that a table holds as JSON; empty for anything else."""
    if isinstance(value, Mapping):
        return dict(value)
    try:
        read = json.loads(value) if value else {}
    except (ValueError, TypeError):
        return {}
    return read if isinstance(read, dict) else {}


def at(values: Any, place: int) -> float | None:
    """The number at a place of a list, if it is one."""
    if isinstance(values, list) and place < len(values) and isinstance(values[place], int | float):
        return values[place]
    return None
