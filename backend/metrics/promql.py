"""PromQL for node usage: settings in, query texts out."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_REGEX_SIGNS = re.compile(r"[\\.+*?()|\[\]{}^$]")
_PLACEHOLDER = re.compile(r"\{(window|node_label)\}")
MOST_NAMES = 100
"""Nodes named in one query; more would make its address too long, and the answer is filtered anyway."""


class QuerySettings(BaseModel):
    """What Prometheus is asked, and how its series become nodes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    variant: Literal["node-exporter", "cadvisor", "own"] = Field(
        default="node-exporter",
        description="Whose metrics: node-exporter's, the kubelet's (cAdvisor), or the queries given here",
    )
    scrape_interval_s: float = Field(default=15.0, gt=0, le=3600, description="How often Prometheus scrapes the nodes")
    window_s: float | None = Field(
        default=None, gt=0, le=86400, description="Time a rate is taken over; empty: four scrape intervals"
    )
    mapping: Literal["label", "uname"] = Field(
        default="label",
        description="How a series says its node: by a label of its own, or through node_uname_info of its instance",
    )
    node_label: str = Field(default="node", description="The label that holds the node's name (for mapping by label)")
    names: dict[str, str] = Field(
        default_factory=dict, description="Value of that label -> node, where it is not the node's name"
    )
    matchers: dict[str, str] = Field(
        default_factory=dict, description="Further labels that the series must have, such as job or cluster"
    )
    unit: Literal["ratio", "cores"] = Field(
        default="ratio", description="What the CPU query gives: the part of the node in use (0 to 1), or cores"
    )
    cpu_query: str | None = Field(
        default=None, max_length=8000, description="Own CPU query; may hold {window} and {node_label}"
    )
    memory_query: str | None = Field(default=None, max_length=8000, description="Own query for bytes in use")
    cores_query: str | None = Field(default=None, max_length=8000, description="Own query for the cores of each node")
    newest_query: str | None = Field(
        default=None, max_length=8000, description="Own query for the time of the newest sample"
    )

    @field_validator("node_label")
    @classmethod
    def _label(cls, value: str) -> str:
        if not _LABEL.fullmatch(value):
            raise ValueError(f"{value!r} is not the name of a label")
        return value

    @field_validator("matchers")
    @classmethod
    def _labels(cls, value: dict[str, str]) -> dict[str, str]:
        for label in value:
            cls._label(label)
        return value

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.window_s is not None and self.window_s < 4 * self.scrape_interval_s:
            raise ValueError(
                f"the window of {self.window_s:g} s is less than four scrape intervals "
                f"({4 * self.scrape_interval_s:g} s): a rate would have holes"
            )
        if self.variant == "own" and not self.cpu_query:
            raise ValueError("variant own needs cpu_query")
        if self.unit == "cores" and not self.cpu_query:
            raise ValueError("unit cores needs cpu_query: the other variants give a ratio")
        return self

    @property
    def result_label(self) -> str:
        """The label of an answer's series that says the node."""
        return "nodename" if self._by_uname else self.node_label

    @property
    def _by_uname(self) -> bool:
        return self.mapping == "uname" and self.variant == "node-exporter"

    def node(self, value: str) -> str:
        """The node that a label's value means; an instance loses its port."""
        if value in self.names:
            return self.names[value]
        if self.result_label == "instance":
            bare = re.sub(r":\d+$", "", value)
            return self.names.get(bare, bare)
        return value


@dataclass(frozen=True, slots=True)
class Queries:
    """The texts to ask. Without `memory`, `cores` or `newest` that part stays unknown."""

    cpu: str
    memory: str | None
    cores: str | None
    newest: str | None


def queries(settings: QuerySettings, nodes: Sequence[str] = ()) -> Queries:
    """The queries that settings ask for. `nodes` restricts them where a label's value is the node's name."""
    if settings.variant == "cadvisor":
        built = _cadvisor(settings, nodes)
    elif settings.variant == "node-exporter":
        built = _node_exporter(settings, nodes)
    else:
        built = Queries("", None, None, None)

    def own(text: str | None, otherwise: str | None) -> str | None:
        return _filled(text, settings) if text else otherwise

    return Queries(
        cpu=own(settings.cpu_query, built.cpu) or "",
        memory=own(settings.memory_query, built.memory),
        cores=own(settings.cores_query, built.cores),
        newest=own(settings.newest_query, built.newest),
    )


def _node_exporter(settings: QuerySettings, nodes: Sequence[str]) -> Queries:
    label, window = settings.result_label, duration(settings.window_s or 4 * settings.scrape_interval_s)
    matchers = dict(settings.matchers)
    if settings.mapping == "uname":
        # One node_uname_info an instance and name, so that a second exporter's copy cannot break the join.
        info = selector("node_uname_info", matchers, "nodename", nodes)
        join = f" * on (job, instance) group_left (nodename) max by (job, instance, nodename) ({info})"
        limit: tuple[str, Sequence[str]] = ("", ())
    else:
        join, limit = "", (label, nodes if not settings.names and label != "instance" else ())
    idle = selector("node_cpu_seconds_total", {**matchers, "mode": "idle"}, *limit)
    every = selector("node_cpu_seconds_total", matchers, *limit)
    others = _with(every, 'mode!="idle"')
    total = selector("node_memory_MemTotal_bytes", matchers, *limit)
    free = selector("node_memory_MemAvailable_bytes", matchers, *limit)
    by_node = f"({total} - {free}){join}" if join else f"{total} - {free}"
    # A node that two exporters show has its CPUs twice: counted by CPU, not by series.
    each = f"max by ({label}, cpu) ({idle}{join})"
    free_time = f"avg by ({label}) (rate({idle}[{window}]){join})"
    # Where a node or Prometheus has just started, a rate is too small, and 1 - idle shows a busy node: so idle is taken
    # as a part of what all modes have. An exporter that shows idle alone has nothing to compare with.
    seen = f"avg by ({label}) (sum without (mode) (rate({every}[{window}]){join}))"
    return Queries(
        cpu=f"1 - {free_time} / ({seen} and on ({label}) ({others}{join})) or 1 - {free_time}",
        memory=f"avg by ({label}) ({by_node})",
        cores=f"count by ({label}) ({each})",
        newest=f"max(timestamp({idle}))",
    )


def _cadvisor(settings: QuerySettings, nodes: Sequence[str]) -> Queries:
    label, window = settings.node_label, duration(settings.window_s or 4 * settings.scrape_interval_s)
    limit = (label, nodes if not settings.names and label != "instance" else ())
    root = {**settings.matchers, "id": "/"}
    used = selector("container_cpu_usage_seconds_total", root, *limit)
    cores = f"max by ({label}) ({selector('machine_cpu_cores', settings.matchers, *limit)})"
    memory = selector("container_memory_working_set_bytes", root, *limit)
    return Queries(
        cpu=f"max by ({label}) (rate({used}[{window}])) / {cores}",
        memory=f"max by ({label}) ({memory})",
        cores=cores,
        newest=f"max(timestamp({used}))",
    )


def selector(metric: str, matchers: dict[str, str], label: str = "", values: Sequence[str] = ()) -> str:
    """A metric with its labels' values, and perhaps one label that has one of several values."""
    parts = [f"{name}={quoted(value)}" for name, value in matchers.items()]
    if label and 0 < len(values) <= MOST_NAMES:
        parts.append(f"{label}=~{quoted('|'.join(_REGEX_SIGNS.sub(_escaped, value) for value in values))}")
    return f"{metric}{{{','.join(parts)}}}" if parts else metric


def _with(chosen: str, matcher: str) -> str:
    """A selector with one matcher more."""
    return f"{chosen[:-1]},{matcher}}}" if chosen.endswith("}") else f"{chosen}{{{matcher}}}"


def quoted(value: str) -> str:
    """A text as PromQL's string literal: whatever it holds, it stays a value."""
    return f'"{"".join(_literal(sign) for sign in value)}"'


def _literal(sign: str) -> str:
    if sign in '"\\':
        return f"\\{sign}"
    if sign < " " or sign == "\x7f":
        return f"\\x{ord(sign):02x}"
    return "\ufffd" if "\ud800" <= sign <= "\udfff" else sign


def _escaped(match: re.Match[str]) -> str:
    return f"\\{match[0]}"


def duration(seconds: float) -> str:
    """A PromQL duration, exact to the millisecond."""
    millis = max(1, round(seconds * 1000))
    return f"{millis // 1000}s" if millis % 1000 == 0 else f"{millis}ms"


def _filled(template: str, settings: QuerySettings) -> str:
    window = duration(settings.window_s or 4 * settings.scrape_interval_s)
    values = {"window": window, "node_label": settings.node_label}
    return _PLACEHOLDER.sub(lambda match: values[match[1]], template)
