"""Node usage out of metrics-server (metrics.k8s.io), the fallback where Prometheus does not answer.

The request itself is handed in, since only backend/kube speaks to the API server.
"""

import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from backend.metrics.reading import NodeUsage, Reading, SourceError, shorten, some, within
from backend.model.quantities import parse_quantity

PATH = "/apis/metrics.k8s.io/v1beta1/nodes"


class MetricsServerSource:
    """Reads a NodeMetricsList; `fetch` gives it as parsed JSON and raises what it likes."""

    name = "metrics-server"
    query = f"GET {PATH}"

    def __init__(
        self,
        fetch: Callable[[], Any],
        address: str,
        *,
        capacities: Callable[[], Mapping[str, float]] | None = None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """`capacities`: node -> millicores, to hold values within what the node has."""
        self._fetch = fetch
        self._address = address
        self._capacities = capacities
        self._wall = wall

    @property
    def address(self) -> str:
        """The API server's address."""
        return self._address

    def close(self) -> None:
        """Nothing is held: the connection is the caller's."""

    def read(self) -> Reading:
        """Usage by the newest scrape of metrics-server. Raises SourceError."""
        try:
            body = self._fetch()
        except TimeoutError as error:
            raise SourceError("slow", self.query, f"no answer in time: {error}") from error
        except Exception as error:  # the client of whoever handed `fetch` in decides what it raises
            raise SourceError("down", self.query, _said(error)) from error
        items = body.get("items") if isinstance(body, Mapping) else None
        if not isinstance(items, list):
            raise SourceError("down", self.query, f"no NodeMetricsList: {body!r}"[:1000])
        known = self._capacities() if self._capacities else {}
        nodes: dict[str, NodeUsage] = {}
        newest: float | None = None
        unreadable = 0
        for item in items:
            try:
                name, usage, moment = _entry(item, known)
            except (LookupError, TypeError, ValueError):
                unreadable += 1
                continue
            nodes[name] = usage
            newest = moment if newest is None else max(newest, moment)
        if newest is None:
            words = f"{unreadable} nodes, none readable" if unreadable else "no nodes"
            raise SourceError("no data", self.query, words)
        notes = [f"{len(nodes)} {'node' if len(nodes) == 1 else 'nodes'}"]
        if unreadable:
            notes.append(f"{unreadable} not readable")
        clamped = [node for node, usage in nodes.items() if usage.clamped]
        if clamped:
            notes.append(f"out of bounds and clamped: {some(clamped)}")
        return Reading(nodes, self.query, shorten("; ".join(notes)), max(0.0, self._wall() - newest))


def _entry(item: Any, known: Mapping[str, float]) -> tuple[str, NodeUsage, float]:
    """Name, usage and time of one NodeMetrics."""
    name, usage = item["metadata"]["name"], item["usage"]
    if not isinstance(name, str) or not name:
        raise ValueError("a node without a name")
    cpu, clamped = within(float(parse_quantity(usage["cpu"]) * 1000), known.get(name))
    memory = float(parse_quantity(usage["memory"]))
    moment = datetime.fromisoformat(item["timestamp"])
    if moment.tzinfo is None:
        raise ValueError("a time without a zone")
    return name, NodeUsage(cpu, max(0.0, memory), clamped or memory < 0), moment.timestamp()


def _said(error: Exception) -> str:
    """An error of an unknown client in a few words: its status and reason, if it has them."""
    status, reason = getattr(error, "status", None), getattr(error, "reason", None)
    if isinstance(status, int) and status:
        return f"HTTP {status}: {reason}" if reason else f"HTTP {status}"
    return f"{type(error).__name__}: {error}"
