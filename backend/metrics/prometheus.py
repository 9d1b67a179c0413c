"""Node usage out of Prometheus: now, and as a record of a past interval."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from backend.metrics import series
from backend.metrics.connection import Access, Connection
from backend.metrics.promql import QuerySettings, queries
from backend.metrics.reading import NodeUsage, Reading, SourceError, shorten, some, within
from backend.model.events import UsageSampled

MOST_POINTS = 11_000
"""Prometheus refuses a range query with more points a series."""
MOST_VALUES = 1_000_000
"""Points times nodes of one range query, so that an answer fits in memory."""

Capacities = Callable[[], Mapping[str, float]]
"""Node -> its CPU in millicores, from the cluster's API."""


@dataclass(frozen=True, slots=True)
class Record:
    """Usage over a past interval; times of the events are seconds since its start."""

    events: tuple[UsageSampled, ...]
    clamped: int
    """Values that were below 0 or above what the node has."""
    without_memory: int
    """Values whose memory is not known and stands as 0."""
    queries: int


class PrometheusSource:
    """A Prometheus server that knows what the nodes use."""

    name = "prometheus"

    def __init__(
        self,
        url: str,
        settings: QuerySettings | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        basic: tuple[str, str] | None = None,
        token: str | None = None,
        timeout_s: float = 2.0,
        verify: bool | str = True,
        capacities: Capacities | None = None,
        nodes: Sequence[str] = (),
        record_timeout_s: float = 30.0,
    ) -> None:
        """Without `capacities`, Prometheus is asked for each node's cores as well. `nodes`: only these."""
        self._access = Access(url, dict(headers or {}), basic, token, timeout_s, verify)
        self._settings = settings or QuerySettings()
        self._capacities = capacities
        self._only = tuple(dict.fromkeys(nodes))
        self._queries = queries(self._settings, self._only)
        self._record_timeout_s = record_timeout_s
        self._connection = Connection(self._access)

    @property
    def address(self) -> str:
        """The server's address without credentials."""
        return self._access.address

    @property
    def query(self) -> str:
        """The CPU query."""
        return self._queries.cpu

    def close(self) -> None:
        """Give the sockets back."""
        self._connection.close()

    def read(self) -> Reading:
        """CPU and memory now. Raises SourceError if there is no CPU of any node; memory may be missing."""
        only = frozenset(self._only)
        cpu = series.instant(self._connection.instant(self._queries.cpu), self._settings, only)
        if not cpu.by_node:
            raise SourceError("no data", self._queries.cpu, _nothing(cpu, self._settings))
        notes = _remarks(cpu)
        memory: dict[str, float] = {}
        if self._queries.memory:
            try:
                answer = self._connection.instant(self._queries.memory)
                memory = series.instant(answer, self._settings, only).by_node
            except SourceError as error:
                notes.append(f"no memory ({error.answer})")
        nodes, lacking = self._usage(self._connection, cpu.by_node, memory)
        if not nodes:
            raise SourceError("no data", self._queries.cores or self._queries.cpu, f"no cores known of {some(lacking)}")
        clamped = [node for node, usage in nodes.items() if usage.clamped]
        if clamped:
            notes.append(f"out of bounds and clamped: {some(clamped)}")
        if lacking:
            notes.append(f"no cores known of {some(lacking)}")
        unknown = [node for node, usage in nodes.items() if usage.memory_bytes is None]
        if unknown and memory:
            notes.append(f"no memory of {some(unknown)}")
        answer_text = f"{len(nodes)} {'node' if len(nodes) == 1 else 'nodes'}"
        return Reading(nodes, self._queries.cpu, shorten("; ".join([answer_text, *notes])), self._age())

    def record(self, start: datetime, end: datetime, step_s: int = 15) -> Record:
        """What was used from `start` to `end` (with a time zone), a sample each `step_s`. Raises SourceError.

        The client rounds times to whole seconds, so samples lie on whole seconds.
        """
        if start.tzinfo is None or end.tzinfo is None:
            raise ValueError("start and end need a time zone")
        if end < start or step_s < 1:
            raise ValueError("a record has an end after its start and steps of at least a second")
        began = start.timestamp()
        connection = Connection(replace(self._access, timeout_s=self._record_timeout_s))
        events: list[UsageSampled] = []
        clamped = without_memory = count = 0
        try:
            for first, last in _chunks(began, end.timestamp(), step_s, self._points()):
                cpu, memory, sent = self._moments(connection, first, last, step_s)
                count += sent
                known = self._cores(connection, frozenset().union(*(one.by_node for one in cpu.values())), last)
                for time, values in cpu.items():
                    at = memory.get(time)
                    nodes, _ = self._usage(None, values.by_node, at.by_node if at else {}, known)
                    if not nodes:
                        continue
                    clamped += sum(usage.clamped for usage in nodes.values())
                    without_memory += sum(usage.memory_bytes is None for usage in nodes.values())
                    events.append(sampled(time - began, nodes))
        finally:
            connection.close()
        return Record(tuple(events), clamped, without_memory, count)

    def _points(self) -> int:
        nodes = len(self._only) or (len(self._capacities()) if self._capacities else 0) or 1
        return max(1, min(MOST_POINTS, MOST_VALUES // nodes))

    def _moments(
        self, connection: Connection, first: int, last: int, step_s: int
    ) -> tuple[dict[float, series.Values], dict[float, series.Values], int]:
        only = frozenset(self._only)
        times = datetime.fromtimestamp(first, UTC), datetime.fromtimestamp(last, UTC)
        cpu = series.ranged(connection.between(self._queries.cpu, *times, step_s), self._settings, only)
        if not self._queries.memory or not cpu:
            return cpu, {}, 1
        return cpu, series.ranged(connection.between(self._queries.memory, *times, step_s), self._settings, only), 2

    def _usage(
        self,
        connection: Connection | None,
        cpu: Mapping[str, float],
        memory: Mapping[str, float],
        known: Mapping[str, float] | None = None,
    ) -> tuple[dict[str, NodeUsage], list[str]]:
        """Usage of the nodes in `cpu`, and those whose cores nobody knows."""
        if known is None:
            assert connection is not None
            known = self._cores(connection, frozenset(cpu), None)
        nodes, lacking = {}, []
        for node, value in cpu.items():
            millis = known.get(node)
            free = memory.get(node)
            if self._settings.unit == "cores":
                used, clamped = within(1000.0 * value, millis)
            elif millis is None:
                lacking.append(node)
                continue
            else:
                ratio, clamped = within(value, 1.0)
                used = ratio * millis
            nodes[node] = NodeUsage(used, None if free is None else max(0.0, free), clamped)
        return nodes, lacking

    def _cores(self, connection: Connection, nodes: frozenset[str], at: int | None) -> Mapping[str, float]:
        """Millicores of nodes: what the cluster's API says, and for others what Prometheus counts."""
        known = dict(self._capacities()) if self._capacities else {}
        if nodes <= known.keys() or not self._queries.cores:
            return known
        moment = None if at is None else datetime.fromtimestamp(at, UTC)
        counted = series.instant(connection.instant(self._queries.cores, moment), self._settings)
        return {**{node: 1000.0 * cores for node, cores in counted.by_node.items() if cores > 0}, **known}

    def _age(self) -> float:
        """Age of the newest sample by the server's own clock; 0 where it cannot be asked."""
        if not self._queries.newest:
            return 0.0
        try:
            point = series.single(self._connection.instant(self._queries.newest))
        except SourceError:
            return 0.0
        return 0.0 if point is None else max(0.0, point[0] - point[1])


def sampled(time: float, nodes: Mapping[str, NodeUsage]) -> UsageSampled:
    """The event of a reading; memory that nobody knows stands as 0."""
    names = tuple(sorted(nodes))
    return UsageSampled(
        time=time,
        nodes=names,
        cpu_millis=tuple(nodes[name].cpu_millis for name in names),
        memory_bytes=tuple(nodes[name].memory_bytes or 0.0 for name in names),
    )


def _chunks(start: float, end: float, step_s: int, points: int) -> Iterator[tuple[int, int]]:
    """First and last second of each query, none with more than `points` points, none asked twice."""
    first, final = int(-(-start // 1)), int(end // 1)
    while first <= final:
        last = min(first + (points - 1) * step_s, final)
        yield first, last
        first += points * step_s


def _nothing(values: series.Values, settings: QuerySettings) -> str:
    if values.series == 0:
        return "no series"
    if values.no_node == values.series:
        return f"{values.series} series, none with a label {settings.result_label}"
    if values.no_number:
        return f"{values.series} series without a number (NaN)"
    return f"{values.series} series, none of the nodes asked for"


def _remarks(values: series.Values) -> list[str]:
    notes = []
    if values.no_number:
        notes.append(f"{values.no_number} series without a number")
    if values.no_node:
        notes.append(f"{values.no_node} series without a node")
    if values.doubled:
        notes.append(f"several series of {some(values.doubled)}: their mean")
    return notes
