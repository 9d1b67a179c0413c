"""What the poller asks for: one small answer a tick for a whole page, 204 if nothing changed since `seen`.

A page may show several runs; the browser still has one request in flight. Snapshots are shared between viewers.
"""

from typing import Any

from flask import Blueprint, Response, jsonify, request

from dashboard import urlstate
from dashboard.source import Problem, Source, etag


def blueprint(source: Source, prefix: str) -> Blueprint:
    """Routes under `prefix` + feed/."""
    feed = Blueprint("feed", __name__)

    @feed.get(f"{prefix}feed/health")
    def health() -> Response:
        return _answer(source.health())

    @feed.get(f"{prefix}feed/experiments")
    def experiments() -> Response:
        asked = urlstate.listing(request.query_string.decode("latin-1"))
        return _answer(source.experiments(asked.q, asked.status, urlstate.PAGE_SIZE, asked.offset))

    @feed.get(f"{prefix}feed/runs")
    def runs() -> Response:
        names = [name for name in request.args.get("ids", "").split(",") if name][: urlstate.MOST_RUNS]
        rows = [source.run(name) for name in names]
        problem = next((row for row in rows if isinstance(row, Problem)), None)
        return _answer(problem or followed([row for row in rows if not isinstance(row, Problem)]))

    return feed


def followed(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """What a page that shows some runs is told of them."""
    return {"runs": [digest(row) for row in rows]}


def digest(run: dict[str, Any]) -> dict[str, Any]:
    """The part of a run that changes: status, progress, revision, and the same of its siblings."""
    return {
        "id": run.get("id"),
        "rev": run.get("rev"),
        "status": run.get("status"),
        "siblings": [
            {"id": sibling.get("id"), "status": sibling.get("status"), "progress": sibling.get("progress")}
            for sibling in run.get("siblings") or []
        ],
        "progress": run.get("progress"),
    }


def revision(runs: list[dict[str, Any]]) -> str:
    """One text for the revisions of several runs."""
    return etag([(run.get("id"), run.get("rev")) for run in runs])


def _answer(value: Any) -> Response:
    if isinstance(value, Problem):
        response = jsonify({"error": {"message": value.why, "where": value.where, "since": value.since}})
        # 404 is an answer of a backend that lives; anything without a status means it does not.
        response.status_code = value.status if value.status in (401, 403, 404) else 502
    else:
        mark = etag(value)
        response = Response(status=204) if request.args.get("seen") == mark else jsonify({"mark": mark, "data": value})
    response.headers["Cache-Control"] = "no-store"
    return response
