"""PrometheusSource against a fake server: answers good and bad."""

import math
from datetime import UTC, datetime
from typing import Any

import pytest

from backend.metrics.prometheus import PrometheusSource
from backend.metrics.promql import QuerySettings
from backend.metrics.reading import SourceError
from tests.unit.metrics.fake_prometheus import FakePrometheus, vector

START = datetime.fromtimestamp(1_700_000_000, UTC)


def failure(source: PrometheusSource) -> SourceError:
    with pytest.raises(SourceError) as caught:
        source.read()
    return caught.value


def test_a_good_answer(fake: FakePrometheus) -> None:
    fake.nodes({"a": 0.25, "b": 1}, {"a": 100, "b": 200}, cores=2, age=3)
    reading = PrometheusSource(f"{fake.url}/").read()
    assert {name: (use.cpu_millis, use.memory_bytes, use.clamped) for name, use in reading.nodes.items()} == {
        "a": (500.0, 100.0, False),
        "b": (2000.0, 200.0, False),
    }
    assert (reading.age_s, reading.answer) == (3.0, "2 nodes")
    assert {path for path, _, _ in fake.asked} == {"/api/v1/query"}


def test_capacities_of_the_cluster_go_before_what_prometheus_counts(fake: FakePrometheus) -> None:
    fake.nodes({"a": 0.5}, cores=2)
    reading = PrometheusSource(fake.url, capacities=lambda: {"a": 2500}).read()
    assert reading.nodes["a"].cpu_millis == 1250.0
    assert not any("count by" in params["query"] for _, params, _ in fake.asked)


def test_values_out_of_bounds_are_held_and_marked(fake: FakePrometheus) -> None:
    fake.nodes({"a": -0.01, "b": 1.2, "c": 1.0}, {"a": -5, "b": 1, "c": 1}, cores=1)
    reading = PrometheusSource(fake.url).read()
    assert [(use.cpu_millis, use.clamped) for use in reading.nodes.values()] == [
        (0.0, True),
        (1000.0, True),
        (1000.0, False),
    ]
    assert reading.nodes["a"].memory_bytes == 0.0
    assert "out of bounds and clamped: a, b" in reading.answer


def test_cores_are_held_within_what_the_node_has(fake: FakePrometheus) -> None:
    fake.results = {"my": vector({"a": 3, "b": 9}, "host")}
    settings = QuerySettings(variant="own", unit="cores", node_label="host", cpu_query="my")
    reading = PrometheusSource(fake.url, settings, capacities=lambda: {"a": 2000}).read()
    assert [(use.cpu_millis, use.clamped, use.memory_bytes) for use in reading.nodes.values()] == [
        (2000.0, True, None),
        (9000.0, False, None),
    ]


def test_nan_and_series_without_a_node_are_left_out_and_said(fake: FakePrometheus) -> None:
    fake.nodes({"a": 0.5, "b": "NaN", "c": "+Inf"}, {"a": 1, "b": 1, "c": 1})
    fake.results["rate("] += [{"metric": {"instance": "x"}, "value": [0, "1"]}, "odd", {"metric": {"node": "d"}}]
    reading = PrometheusSource(fake.url).read()
    assert list(reading.nodes) == ["a"]
    assert "3 series without a number" in reading.answer
    assert "2 series without a node" in reading.answer


def test_duplicate_series_of_a_node_give_their_mean(fake: FakePrometheus) -> None:
    fake.nodes({"10.0.0.1:9100": 0.2, "10.0.0.1:9101": 0.4, "b": 0.1}, cores=1)
    for name, result in fake.results.items():
        fake.results[name] = [
            {**one, "metric": {"instance": one["metric"]["node"]} if one["metric"] else {}} for one in result
        ]
    settings = QuerySettings(node_label="instance", names={"10.0.0.1": "a"})
    reading = PrometheusSource(fake.url, settings).read()
    assert reading.nodes["a"].cpu_millis == pytest.approx(300.0)
    assert "several series of a: their mean" in reading.answer


def test_missing_memory_leaves_the_cpu(fake: FakePrometheus) -> None:
    fake.nodes({"a": 0.5, "b": 0.5}, {"a": 1})
    reading = PrometheusSource(fake.url).read()
    assert reading.nodes["b"].memory_bytes is None
    assert "no memory of b" in reading.answer


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ([], "no series"),
        (vector({"a": "NaN", "b": "NaN"}), "2 series without a number (NaN)"),
        (vector({"a": 1}, "instance"), "1 series, none with a label node"),
        ([1700000000.0, "1"], "2 series, none with a label node"),
    ],
)
def test_an_answer_with_nothing_in_it_is_no_data(fake: FakePrometheus, result: list[Any], words: str) -> None:
    fake.results = {"rate(": result}
    error = failure(PrometheusSource(fake.url))
    assert (error.state, error.answer) == ("no data", words)
    assert error.query.startswith("1 - avg by (node)")


def test_nodes_without_known_cores_are_no_data(fake: FakePrometheus) -> None:
    fake.results = {"rate(": vector({"a": 0.5})}
    error = failure(PrometheusSource(fake.url))
    assert (error.state, error.answer) == ("no data", "no cores known of a")


@pytest.mark.parametrize(
    ("status", "body", "state", "words"),
    [
        (
            400,
            b'{"status":"error","errorType":"bad_data","error":"parse error: x"}',
            "down",
            "HTTP 400: bad_data: parse",
        ),
        (500, b"boom\n  at line 3", "down", "HTTP 500: boom at line 3"),
        (502, b"", "down", "HTTP 502"),
        (
            503,
            b'{"status":"error","errorType":"timeout","error":"query timed out"}',
            "slow",
            "HTTP 503: timeout: query",
        ),
        (504, b"<html>gateway</html>", "slow", "HTTP 504: <html>"),
        (500, b'["odd"]', "down", 'HTTP 500: ["odd"]'),
        (500, b"\xff\xfe", "down", "HTTP 500"),
        (200, b"<!doctype html><title>Sign in</title>", "down", "no JSON: <!doctype html><title>Sign in"),
        (200, b"", "down", "an empty page instead of JSON"),
        (200, b"[]", "down", "JSON that is not an answer of Prometheus"),
        (200, b"null", "down", "JSON that is not an answer of Prometheus"),
        (200, b'{"data":{"result":{"a":1}}}', "down", "JSON that is not an answer of Prometheus"),
        (200, b'{"data":{}}', "down", "JSON that is not an answer of Prometheus"),
    ],
)
def test_bad_answers_are_told_apart(fake: FakePrometheus, status: int, body: bytes, state: str, words: str) -> None:
    fake.status, fake.body = status, body
    error = failure(PrometheusSource(fake.url))
    assert error.state == state
    assert error.answer.startswith(words)
    assert len(fake.asked) == 1, "asked once: retries are the sampler's"


def test_a_long_error_is_cut(fake: FakePrometheus) -> None:
    fake.status, fake.body = 500, b"x" * 1_000_000
    assert len(failure(PrometheusSource(fake.url)).answer) == 240


def test_a_server_that_never_answers_is_slow(fake: FakePrometheus) -> None:
    fake.hang = True
    error = failure(PrometheusSource(fake.url, timeout_s=0.1))
    assert (error.state, error.answer) == ("slow", "no answer within 0.1 s")


def test_a_refused_connection_is_down(fake: FakePrometheus) -> None:
    fake.close()
    error = failure(PrometheusSource(fake.url))
    assert (error.state, error.answer) == ("down", "connection refused")


def test_a_name_that_nobody_knows_is_down() -> None:
    error = failure(PrometheusSource("http://nowhere.invalid:9090"))
    assert error.state in {"down", "slow"}
    assert error.answer


def test_credentials_reach_the_server_and_no_message(fake: FakePrometheus, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.nodes({"a": 0.5})
    PrometheusSource(fake.url, token="secret-1", headers={"X-Scope-OrgID": "tenant"}).read()
    headers = fake.asked[-1][2]
    assert (headers["Authorization"], headers["X-Scope-OrgID"]) == ("Bearer secret-1", "tenant")
    source = PrometheusSource(fake.url.replace("//", "//me:secret-2@"))
    source.read()
    assert fake.asked[-1][2]["Authorization"] == "Basic bWU6c2VjcmV0LTI="
    assert source.address == fake.url
    fake.status, fake.body = 401, b"wrong password secret-2"
    assert failure(source).answer == "HTTP 401: wrong password ***"
    assert "secret" not in repr(source._access)
    with pytest.raises(ValueError, match="not several"):
        PrometheusSource(fake.url, token="a", basic=("b", "c"))


@pytest.mark.parametrize("url", ["", "prometheus:9090", "ftp://x", "http://", "http://me:secret@:99"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="is not an address") as caught:
        PrometheusSource(url)
    assert "secret" not in str(caught.value)


def test_a_hostile_node_name_stays_a_value(fake: FakePrometheus) -> None:
    name = 'a"} or vector(1) or x{b="\\\n'
    fake.nodes({name: 0.5, "other": 0.1}, cores=1)
    reading = PrometheusSource(fake.url, nodes=[name]).read()
    assert list(reading.nodes) == [name]
    query = fake.asked[0][1]["query"]
    assert query.endswith(
        ' or 1 - avg by (node) (rate(node_cpu_seconds_total{mode="idle",node=~"'
        r"a\"\\} or vector\\(1\\) or x\\{b=\"\\\\\x0a"
        '"}[60s]))'
    )


def test_a_record_is_asked_in_parts_without_a_hole_or_a_double(fake: FakePrometheus) -> None:
    asked: list[tuple[float, float]] = []

    def cpu(start: float, end: float, step: float) -> list[dict[str, Any]]:
        asked.append((start, end))
        assert (end - start) / step + 1 <= 11_000
        times = [start + k * step for k in range(int((end - start) // step) + 1)]
        return [{"metric": {"node": "a"}, "values": [[time, "0.5"] for time in times]}]

    fake.ranges = {"rate(": cpu}
    fake.results = {"count by": vector({"a": 4})}
    end = datetime.fromtimestamp(START.timestamp() + 25_000.5, UTC)
    record = PrometheusSource(fake.url).record(START, end, step_s=1)
    assert len(asked) == 3
    assert [event.time for event in record.events] == [float(second) for second in range(25_001)]
    assert {event.cpu_millis for event in record.events} == {(2000.0,)}
    assert (record.without_memory, record.queries) == (25_001, 6)


def test_a_record_leaves_out_nan_and_marks_what_was_clamped(fake: FakePrometheus) -> None:
    t = START.timestamp()
    fake.ranges = {
        "rate(": lambda *_: [
            {"metric": {"node": "a"}, "values": [[t, "NaN"], [t + 5, "1.5"], [t + 10, "0.5"]]},
            {"metric": {"node": "b"}, "values": [[t + 10, "0.25"]]},
            {"metric": {}, "values": [[t, "1"]]},
        ],
        "MemTotal": lambda *_: [{"metric": {"node": "a"}, "values": [[t + 5, "7"], [t + 10, "8"]]}],
    }
    source = PrometheusSource(fake.url, capacities=lambda: {"a": 1000, "b": 1000})
    record = source.record(START, datetime.fromtimestamp(t + 10, UTC), step_s=5)
    assert [(event.time, event.nodes, event.cpu_millis, event.memory_bytes) for event in record.events] == [
        (5.0, ("a",), (1000.0,), (7.0,)),
        (10.0, ("a", "b"), (500.0, 250.0), (8.0, 0.0)),
    ]
    assert (record.clamped, record.without_memory) == (1, 1)


def test_a_record_needs_times_with_a_zone(fake: FakePrometheus) -> None:
    source = PrometheusSource(fake.url)
    with pytest.raises(ValueError, match="time zone"):
        source.record(datetime(2024, 1, 1), datetime(2024, 1, 2))
    with pytest.raises(ValueError, match="end after its start"):
        source.record(START, datetime.fromtimestamp(0, UTC))


def test_a_record_of_many_nodes_asks_for_less_at_once(fake: FakePrometheus) -> None:
    spans: list[float] = []

    def cpu(start: float, end: float, step: float) -> list[Any]:
        spans.append((end - start) / step + 1)
        return []

    fake.ranges = {"rate(": cpu}
    nodes = {f"n{k}": 1000.0 for k in range(5000)}
    end = datetime.fromtimestamp(START.timestamp() + 999, UTC)
    record = PrometheusSource(fake.url, capacities=lambda: nodes).record(START, end, step_s=1)
    assert spans == [200.0] * 5
    assert record.events == ()


def test_no_number_of_a_record_is_nan(fake: FakePrometheus) -> None:
    fake.ranges = {"rate(": lambda start, *_: [{"metric": {"node": "a"}, "values": [[start, "-Inf"], [start, "x"]]}]}
    record = PrometheusSource(fake.url, capacities=lambda: {"a": 1000}).record(START, START)
    assert all(math.isfinite(value) for event in record.events for value in event.cpu_millis)
    assert record.events == ()
