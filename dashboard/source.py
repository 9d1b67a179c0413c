"""The only module that knows where data come from: the backend's HTTP API.

Every call answers with the value or with a Problem; nothing raises for a backend that is slow, away or says no, so that
a panel can show what is missing, where it was asked, why it failed and since when.
Answers are shared: many viewers of one run cause one request (ux.md A78).
"""

import hashlib
import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode

import requests
from flask_caching import Cache

SNAPSHOT_S = 1
"""How old a shared snapshot may be; the pollers of all viewers ask for it about once a second."""
FIXED_S = 60
"""Examples, policies and models change only with a new backend."""
TABLE_S = 300
"""A table is asked for with its revision, so an old answer can never be a wrong one; this only frees memory."""
PROBLEM_S = 1
"""A failure is shared too, so that many viewers do not hammer a backend that is down."""
PART_ROWS = 200_000
"""Rows of one answer, the most the backend gives; a longer table is asked for in parts."""
PART_DECISIONS = 10_000
"""Decisions of one answer, the most the backend gives."""
MOST_ROWS = 1_000_000
"""5,000 nodes with 200 samples each; beyond that the answers alone would be hundreds of megabytes."""
CONNECT_S, ANSWER_S, TABLE_ANSWER_S = 2.0, 4.0, 30.0
"""The first two stay below the poller's patience (assets/poll.js), so that a viewer hears the reason."""


@dataclass(frozen=True)
class Problem:
    """Why there is no answer."""

    what: str
    """What was asked for, in words: "the runs of the experiment"."""
    where: str
    """Method and address."""
    why: str
    since: str
    """First failure in a row, ISO time in UTC."""
    status: int | None = None
    """HTTP status; None if there was no answer at all."""
    errors: tuple[Mapping[str, Any], ...] = field(default=())
    """Faults by field, if the backend named any: field, value, message, allowed."""


class Source:
    """The API of one backend."""

    def __init__(self, backend_url: str, cache: Cache, token: str | None = None) -> None:
        self.backend_url = backend_url.rstrip("/")
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._cache = cache
        self._local = threading.local()
        self._flights = [threading.Lock() for _ in range(32)]
        self._failing: dict[str, str] = {}
        self._failing_lock = threading.Lock()

    # What pages ask for ---------------------------------------------------------------------------------------------

    def health(self) -> dict[str, Any] | Problem:
        """Whether the backend answers."""
        return self._shared("the backend's health", "/healthz", SNAPSHOT_S, timeout=3.0)

    def examples(self) -> list[dict[str, Any]] | Problem:
        """The ready experiments: name, title, description, yaml, specification."""
        return _items(self._shared("the ready examples", "/api/v1/examples", FIXED_S))

    def policies(self) -> dict[str, Any] | Problem:
        """Schedulers and migrations with the JSON schema of their parameters."""
        return self._shared("the policies", "/api/v1/policies", FIXED_S)

    def models(self) -> list[dict[str, Any]] | Problem:
        """The preset training models."""
        return _items(self._shared("the training models", "/api/v1/models", FIXED_S))

    def experiments(self, q: str = "", status: str = "", limit: int = 50, offset: int = 0) -> dict[str, Any] | Problem:
        """One page of the list, newest first: items and total."""
        query = {"limit": limit, "offset": offset} | ({"q": q} if q else {}) | ({"status": status} if status else {})
        return self._shared("the list of experiments", f"/api/v1/experiments?{urlencode(query)}", SNAPSHOT_S)

    def experiment(self, name: str) -> dict[str, Any] | Problem:
        """One experiment with its runs."""
        return self._shared(f"experiment {name}", f"/api/v1/experiments/{quote(name, safe='')}", SNAPSHOT_S)

    def run(self, name: str) -> dict[str, Any] | Problem:
        """One run: its row, specification, arm, siblings and revision."""
        return self._shared(f"run {name}", f"/api/v1/runs/{quote(name, safe='')}", SNAPSHOT_S)

    def table(self, run: str, table: str, revision: object) -> dict[str, list[Any]] | Problem:
        """Columns of one table of a run as of a revision, all rows."""
        columns: dict[str, list[Any]] = {}
        rows, total = 0, 1
        while rows < total:
            query = urlencode({"format": "json", "limit": PART_ROWS, "offset": rows})
            path = f"/api/v1/runs/{quote(run, safe='')}/tables/{quote(table, safe='')}?{query}"
            what = f"the table {table} of run {run}"
            answer = self._shared(what, path, TABLE_S, timeout=TABLE_ANSWER_S, key=f"{path}#{revision}")
            if isinstance(answer, Problem):
                return answer
            for name, values in answer["columns"].items():
                columns[name] = [*columns[name], *values] if rows else values
            total = int(answer.get("total") or 0)
            if total > MOST_ROWS:
                why = f"it has {total:,} rows, more than the {MOST_ROWS:,} that can be drawn; export it as CSV instead"
                return self._problem(what, f"GET {self.backend_url}{path}", why, 200)
            if not answer["rows"]:
                break
            rows += int(answer["rows"])
        return columns

    def decisions(self, run: str, revision: object) -> list[dict[str, Any]] | Problem:
        """All placement decisions of a run as of a revision, without what only one in full has."""
        items: list[dict[str, Any]] = []
        total = 1
        while len(items) < total:
            query = urlencode({"limit": PART_DECISIONS, "offset": len(items)})
            path = f"/api/v1/runs/{quote(run, safe='')}/decisions?{query}"
            what = f"the decisions of run {run}"
            answer = self._shared(what, path, TABLE_S, timeout=TABLE_ANSWER_S, key=f"{path}#{revision}")
            if isinstance(answer, Problem):
                return answer
            total = int(answer.get("total") or 0)
            if not answer["items"]:
                break
            items = [*items, *answer["items"]]
        return items

    def decision(self, run: str, seq: int, revision: object) -> dict[str, Any] | Problem:
        """One placement decision in full, by its sequence number in the log."""
        path = f"/api/v1/runs/{quote(run, safe='')}/decisions/{seq}"
        what = f"decision {seq} of run {run}"
        return self._shared(what, path, TABLE_S, timeout=TABLE_ANSWER_S, key=f"{path}#{revision}")

    def compare(self, a: Sequence[str], b: Sequence[str], revision: object) -> dict[str, Any] | Problem:
        """Runs a beside runs b, as of a revision of all of them."""
        path = f"/api/v1/compare?{urlencode({'a': ','.join(a), 'b': ','.join(b)})}"
        return self._shared("the comparison", path, TABLE_S, timeout=TABLE_ANSWER_S, key=f"{path}#{revision}")

    def validate(self, body: Mapping[str, Any]) -> dict[str, Any] | Problem:
        """Check a specification: normal form, YAML, command line and estimate, or a Problem with its faults."""
        return self._ask("POST", "the check of the specification", "/api/v1/experiments/validate", ANSWER_S, body)

    # How it is asked ------------------------------------------------------------------------------------------------

    def session(self) -> requests.Session:
        """This thread's connections. Proxies of the environment are left aside: the backend is a neighbour."""
        if not hasattr(self._local, "session"):
            self._local.session = requests.Session()
            self._local.session.trust_env = False
            self._local.session.headers.update(self.headers)
        return self._local.session

    def _shared(self, what: str, path: str, ttl: int, timeout: float = ANSWER_S, key: str | None = None) -> Any:
        key = f"{self.backend_url} {key or path}"
        found = self._cache.get(key)
        if found is not None:
            return found
        # One request at a time for one thing: the others wait for its answer.
        with self._flights[hash(key) % len(self._flights)]:
            found = self._cache.get(key)
            if found is None:
                found = self._ask("GET", what, path, timeout)
                self._cache.set(key, found, timeout=PROBLEM_S if isinstance(found, Problem) else ttl)
        return found

    def _ask(self, method: str, what: str, path: str, timeout: float, body: Mapping[str, Any] | None = None) -> Any:
        url = self.backend_url + path
        where = f"{method} {url}"
        try:
            response = self.session().request(method, url, json=body, timeout=(CONNECT_S, timeout))
        except requests.Timeout:
            return self._problem(what, where, f"the backend did not answer within {timeout:g} s")
        except requests.RequestException as error:
            return self._problem(what, where, f"the backend cannot be reached: {type(error).__name__}")
        try:
            answer = response.json()
        except ValueError:
            return self._problem(
                what, where, f"the answer is not JSON (status {response.status_code})", response.status_code
            )
        if not response.ok:
            return self._refused(what, where, response.status_code, answer)
        self._recovered(where)
        return answer

    def _refused(self, what: str, where: str, status: int, answer: Any) -> Problem:
        error = answer.get("error") if isinstance(answer, dict) else None
        error = error if isinstance(error, dict) else {}
        why = str(error.get("message") or f"the backend answered with status {status}")
        faults = tuple(fault for fault in error.get("errors") or () if isinstance(fault, dict))
        return self._problem(what, where, why, status, faults)

    def _problem(
        self, what: str, where: str, why: str, status: int | None = None, errors: tuple[Mapping[str, Any], ...] = ()
    ) -> Problem:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        with self._failing_lock:
            if len(self._failing) > 500:  # addresses of long-gone runs
                self._failing.clear()
            since = self._failing.setdefault(where, now)
        return Problem(what, where, why, since, status, errors)

    def _recovered(self, where: str) -> None:
        with self._failing_lock:
            self._failing.pop(where, None)


def etag(value: object) -> str:
    """A short text that changes when a JSON-able value does."""
    return hashlib.blake2s(json.dumps(value, sort_keys=True, default=str).encode(), digest_size=8).hexdigest()


def _items(answer: Any) -> Any:
    return answer if isinstance(answer, Problem) else answer["items"]


def first_problem(*answers: object) -> Problem | None:
    """The first of some answers that is a Problem."""
    return next((answer for answer in answers if isinstance(answer, Problem)), None)
