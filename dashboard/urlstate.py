"""The address is the state of a page: read and written here only.

Unknown parameters are ignored, unusable values fall back to the default and are named in a notice.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qs, quote, unquote, urlencode

PAGE_SIZE = 50
MOST_RUNS = 200
"""Runs that one page may name in its address."""
RUN_TABS = ("placement", "nodes", "progress", "jobs", "decisions", "config")
STATUSES = ("queued", "running", "finished", "stopped", "failed", "interrupted", "imported")


@dataclass(frozen=True)
class Listing:
    """State of the list of experiments."""

    q: str = ""
    status: str = ""
    page: int = 1
    notices: tuple[str, ...] = ()

    @property
    def offset(self) -> int:
        """Rows before this page."""
        return (self.page - 1) * PAGE_SIZE


@dataclass(frozen=True)
class RunState:
    """State of a run's page."""

    tab: str = "placement"
    colour: str = "category"
    nodes: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()
    kind: str = "placements"
    decision: str = ""
    """Id of the decision that is shown in full."""
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class CompareState:
    """State of a comparison: the runs of both sides, the pair shown in detail, and which settings to list."""

    a: tuple[str, ...] = ()
    b: tuple[str, ...] = ()
    only_differences: bool = True
    colour: str = "category"
    pair: int = 0
    notices: tuple[str, ...] = field(default=())


def listing(search: str) -> Listing:
    """Read `?q=&status=&page=`."""
    given, notices = _first(search), []
    status = given.get("status", "")
    if status not in ("", *STATUSES):
        notices.append(f"There is no status “{status}”; showing all.")
        status = ""
    page = given.get("page", "1")
    number = int(page) if page.isdecimal() and 1 <= int(page[:9]) <= 1_000_000 else 0
    if not number:
        notices.append(f"There is no page “{page}”; showing the first.")
    return Listing(given.get("q", "")[:200], status, number or 1, tuple(notices))


def run_state(search: str) -> RunState:
    """Read `?tab=&colour=&nodes=&jobs=&kind=&decision=`."""
    given, notices = _first(search), []
    tab = _choice(given, "tab", RUN_TABS, notices)
    colour = _choice(given, "colour", ("category", "job"), notices)
    kind = _choice(given, "kind", ("placements", "migrations"), notices)
    return RunState(
        tab,
        colour,
        _names(given.get("nodes")),
        _names(given.get("jobs")),
        kind,
        given.get("decision", "")[:40],
        tuple(notices),
    )


def compare_state(search: str) -> CompareState:
    """Read `?a=&b=&only=&colour=&pair=`; `only=all` lists equal settings as well."""
    given, notices = _first(search), []
    only = _choice(given, "only", ("diff", "all"), notices)
    colour = _choice(given, "colour", ("category", "job"), notices)
    pair = given.get("pair", "0")
    return CompareState(
        _names(given.get("a")),
        _names(given.get("b")),
        only == "diff",
        colour,
        int(pair[:4]) if pair.isdecimal() else 0,
        tuple(notices),
    )


def changed(search: str, **values: str | None) -> str:
    """The query with some parameters set, or left out where the value is None or empty."""
    given = {**_first(search), **values}
    kept = {name: value for name, value in given.items() if value}
    return f"?{urlencode(kept, safe=',')}" if kept else ""


class Links:
    """Addresses of the pages under the prefix the dashboard is served from."""

    def __init__(self, prefix: str = "/") -> None:
        self.prefix = prefix

    def experiments(self) -> str:
        """The list."""
        return self.prefix

    def new(self, source: str | None = None) -> str:
        """The form, filled from an example or a run."""
        return f"{self.prefix}experiments/new" + (f"?{urlencode({'from': source})}" if source else "")

    def run(self, name: str, tab: str | None = None) -> str:
        """A run's page."""
        return f"{self.prefix}runs/{quote(name, safe='')}" + (f"?tab={tab}" if tab else "")

    def decision(self, run: str, seq: int) -> str:
        """A run's page with one placement decision in full."""
        return f"{self.run(run, 'decisions')}&decision=d{seq}"

    def compare(self, a: Sequence[str], b: Sequence[str]) -> str:
        """Two sides beside each other."""
        return f"{self.prefix}compare?{urlencode({'a': ','.join(a), 'b': ','.join(b)}, safe=',')}"

    def help(self) -> str:
        """Words and keys."""
        return f"{self.prefix}help"

    def api(self, path: str) -> str:
        """An address of the API, through the gateway."""
        return f"{self.prefix}api/v1/{path}"

    def feed(self, name: str, **query: str) -> str:
        """What the poller of a page asks for."""
        given = {key: value for key, value in query.items() if value}
        return f"{self.prefix}feed/{name}" + (f"?{urlencode(given, safe=',')}" if given else "")

    def page(self, pathname: str | None) -> tuple[str, str]:
        """(page, argument) of a path: experiments, new, run, compare, help, or missing."""
        path = (pathname or "/").removeprefix(self.prefix.rstrip("/")).strip("/")
        known = {
            "": "experiments",
            "experiments": "experiments",
            "experiments/new": "new",
            "compare": "compare",
            "help": "help",
        }
        if path in known:
            return known[path], ""
        head, _, rest = path.partition("/")
        return ("run", unquote(rest)) if head == "runs" and rest else ("missing", unquote(path))


def origin_of_form(search: str) -> str:
    """Read `?from=`: an example's name or a run's id."""
    return _first(search).get("from", "")[:200]


def _first(search: str | None) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs((search or "").lstrip("?")).items()}


def _choice(given: dict[str, str], name: str, allowed: Sequence[str], notices: list[str]) -> str:
    value = given.get(name, allowed[0])
    if value in allowed:
        return value
    notices.append(f"“{value[:60]}” is not one of {', '.join(allowed)}; showing {allowed[0]}.")
    return allowed[0]


def _names(value: str | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in (value or "").split(",") if name))[:MOST_RUNS]
