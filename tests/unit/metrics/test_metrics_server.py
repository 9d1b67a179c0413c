"""The fallback: metrics.k8s.io as JSON."""

from typing import Any

import pytest

from backend.metrics.embedded import EmbeddedSource
from backend.metrics.metrics_server import MetricsServerSource
from backend.metrics.reading import SourceError

WALL = 1_700_000_060.0


def entry(name: str, cpu: Any = "250m", memory: Any = "64Mi", at: str = "2023-11-14T22:13:40Z") -> dict[str, Any]:
    return {"metadata": {"name": name}, "timestamp": at, "window": "10s", "usage": {"cpu": cpu, "memory": memory}}


def source(body: Any, **options: Any) -> MetricsServerSource:
    return MetricsServerSource(lambda: body, "https://api:6443", wall=lambda: WALL, **options)


def test_usage_in_all_units() -> None:
    reading = source({"items": [entry("a", "123456789n", "1000Ki"), entry("b", "1.5", 5)]}).read()
    assert {name: (use.cpu_millis, use.memory_bytes) for name, use in reading.nodes.items()} == {
        "a": (pytest.approx(123.456789), 1024_000.0),
        "b": (1500.0, 5.0),
    }
    assert reading.age_s == pytest.approx(40.0)
    assert reading.query == "GET /apis/metrics.k8s.io/v1beta1/nodes"


def test_more_than_the_node_has_is_held_and_marked() -> None:
    reading = source({"items": [entry("a", "3"), entry("b", "-1")]}, capacities=lambda: {"a": 2000}).read()
    assert [(use.cpu_millis, use.clamped) for use in reading.nodes.values()] == [(2000.0, True), (0.0, True)]
    assert "clamped: a, b" in reading.answer


@pytest.mark.parametrize(
    "bad",
    [
        entry("a", "lots"),
        entry(""),
        entry("a", at="yesterday"),
        entry("a", at="2023-11-14T22:13:40"),
        {},
        None,
        entry("a", None),
    ],
)
def test_what_cannot_be_read_is_left_out_and_said(bad: Any) -> None:
    reading = source({"items": [bad, entry("b")]}).read()
    assert list(reading.nodes) == ["b"]
    assert reading.answer == "1 node; 1 not readable"
    with pytest.raises(SourceError, match="none readable") as caught:
        source({"items": [bad]}).read()
    assert caught.value.state == "no data"


def test_no_nodes_is_no_data() -> None:
    with pytest.raises(SourceError) as caught:
        source({"items": []}).read()
    assert (caught.value.state, caught.value.answer) == ("no data", "no nodes")


@pytest.mark.parametrize("body", [None, [], "x", {"kind": "Status"}, {"items": {}}])
def test_another_answer_is_down(body: Any) -> None:
    with pytest.raises(SourceError) as caught:
        source(body).read()
    assert caught.value.state == "down"
    assert caught.value.answer.startswith("no NodeMetricsList")


class ApiError(Exception):
    status, reason = 503, "Service Unavailable"


@pytest.mark.parametrize(
    ("error", "state", "words"),
    [
        (ApiError(), "down", "HTTP 503: Service Unavailable"),
        (ConnectionRefusedError("refused"), "down", "ConnectionRefusedError: refused"),
        (TimeoutError("2 s"), "slow", "no answer in time: 2 s"),
    ],
)
def test_whatever_the_client_raises_is_a_source_error(error: Exception, state: str, words: str) -> None:
    def fetch() -> Any:
        raise error

    with pytest.raises(SourceError) as caught:
        MetricsServerSource(fetch, "x").read()
    assert (caught.value.state, caught.value.answer) == (state, words)


def test_the_embedded_cluster_is_a_source() -> None:
    reading = EmbeddedSource(lambda: {"a": (1.5, 7.0), "b": (-0.1, 0.0)}).read()
    assert [(use.cpu_millis, use.memory_bytes, use.clamped) for use in reading.nodes.values()] == [
        (1500.0, 7.0, False),
        (0.0, 0.0, True),
    ]
    with pytest.raises(SourceError, match="no nodes"):
        EmbeddedSource(dict).read()
