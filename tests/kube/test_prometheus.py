"""Node CPU out of a real Prometheus through prometheus-api-client."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

import pytest

from backend.metrics.embedded import EmbeddedSource
from backend.metrics.health import SourceHealth
from backend.metrics.prometheus import PrometheusSource, Record
from backend.metrics.promql import QuerySettings
from backend.metrics.reading import SourceError
from backend.metrics.sampler import UsageSampler
from tests.unit.metrics.conditions import wait_until
from tests.unit.metrics.real_prometheus import Exporter, Prometheus, near

HOSTILE = 'n"} or vector(1) #\\ä.|'
BUSY = {"node-1": 0.1, "node-2": 0.75, HOSTILE: 0.4}
SETTINGS = QuerySettings(scrape_interval_s=1, matchers={"job": "nodes"})
ALONE = "node-9"
ALONE_SETTINGS = QuerySettings(scrape_interval_s=1, mapping="uname", matchers={"job": "alone"})


@pytest.fixture(scope="module", autouse=True)
def no_proxy() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_PROXY", "127.0.0.1")
        yield


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    folder: Path = tmp_path_factory.mktemp("prometheus")
    with ExitStack() as stack:
        exporters = {
            "nodes": Exporter(BUSY),
            "alone": Exporter({ALONE: 0.6}),
            "idle": Exporter({"node-i": 0.3}, "idle"),
            "kubelet": Exporter({"node-k": 0.45}, "kubelet"),
        }
        for exporter in exporters.values():
            stack.callback(exporter.close)
        server = Prometheus(folder, {job: exporter.target for job, exporter in exporters.items()})
        stack.callback(server.kill)
        server.start()
        wait_until(server.ready, within=30, what="prometheus ready")
        yield server


def ratios(source: PrometheusSource) -> dict[str, float]:
    """Part of its two CPUs that each node uses; empty while there is nothing."""
    try:
        return {name: use.cpu_millis / 2000.0 for name, use in source.read().nodes.items()}
    except SourceError as error:
        assert error.state == "no data", error
        return {}


def of(sampler: UsageSampler, name: str) -> SourceHealth:
    return next(source for source in sampler.health().sources if source.name == name)


def test_node_cpu_is_within_two_points(prometheus: Prometheus) -> None:
    source = PrometheusSource(prometheus.url, SETTINGS)
    found = wait_until(lambda: ratios(source), within=30)
    for node, busy in BUSY.items():
        assert near(found[node], busy), found
    reading = source.read()
    assert {name: use.memory_bytes for name, use in reading.nodes.items()} == {
        name: pytest.approx(8e9 * busy) for name, busy in BUSY.items()
    }
    assert 0 <= reading.age_s < 3
    source.close()


def test_a_hostile_name_is_only_a_name(prometheus: Prometheus) -> None:
    source = PrometheusSource(prometheus.url, SETTINGS, nodes=[HOSTILE])
    found = wait_until(lambda: ratios(source), within=30)
    assert list(found) == [HOSTILE]
    assert near(found[HOSTILE], BUSY[HOSTILE])
    hostile = QuerySettings(scrape_interval_s=1, matchers={"job": 'nodes"} or vector(1) or x{a="'})
    with pytest.raises(SourceError) as caught:
        PrometheusSource(prometheus.url, hostile).read()
    assert (caught.value.state, caught.value.answer) == ("no data", "no series")
    source.close()


def test_the_name_comes_from_node_uname_info(prometheus: Prometheus) -> None:
    source = PrometheusSource(prometheus.url, ALONE_SETTINGS, nodes=[ALONE])
    found = wait_until(lambda: ratios(source), within=30)
    assert list(found) == [ALONE]
    assert near(found[ALONE], 0.6)
    assert source.read().nodes[ALONE].memory_bytes == pytest.approx(8e9 * 0.6)
    source.close()


def test_an_own_query_and_one_that_prometheus_refuses(prometheus: Prometheus) -> None:
    own = QuerySettings(
        variant="own",
        scrape_interval_s=1,
        unit="cores",
        cpu_query='sum by ({node_label}) (rate(node_cpu_seconds_total{job="nodes",mode!="idle"}[{window}]))',
    )
    source = PrometheusSource(prometheus.url, own)
    wait_until(lambda: near(ratios(source).get("node-2", 9.0), BUSY["node-2"]), within=30)
    with pytest.raises(SourceError) as caught:
        PrometheusSource(prometheus.url, own.model_copy(update={"cpu_query": "sum by ("})).read()
    assert caught.value.state == "down"
    assert caught.value.answer.startswith("HTTP 400: bad_data: ")


@pytest.mark.parametrize(
    ("variant", "job", "node", "busy"),
    [("node-exporter", "idle", "node-i", 0.3), ("cadvisor", "kubelet", "node-k", 0.45)],
)
def test_an_exporter_of_idle_alone_and_the_kubelet(
    prometheus: Prometheus, variant: Literal["node-exporter", "cadvisor"], job: str, node: str, busy: float
) -> None:
    source = PrometheusSource(
        prometheus.url,
        QuerySettings(variant=variant, scrape_interval_s=1, matchers={"job": job}),
        capacities=lambda: {node: 2000},
    )
    # Nothing to compare with: right once the window is full.
    wait_until(lambda: near(ratios(source).get(node, 9.0), busy), within=30)
    assert source.read().nodes[node].memory_bytes == pytest.approx(8e9 * busy)


def test_a_past_interval_is_read_as_a_record(prometheus: Prometheus) -> None:
    source = PrometheusSource(prometheus.url, SETTINGS)

    def newest_hours() -> Record | None:
        """More than 11,000 points, so that it takes several queries; Prometheus knows only the last seconds of it."""
        end = datetime.now(UTC)
        record = source.record(end - timedelta(seconds=25_000), end, step_s=1)
        return record if record.events else None

    record = wait_until(newest_hours, within=30)
    assert record is not None
    assert record.queries > 2
    newest = record.events[-1]
    assert newest.time <= 25_000
    by_node = dict(zip(newest.nodes, newest.cpu_millis, strict=True))
    assert all(near(by_node[node] / 2000.0, busy) for node, busy in BUSY.items()), by_node


def test_a_killed_prometheus_shows_within_five_seconds_and_comes_back_by_itself(prometheus: Prometheus) -> None:
    sources = PrometheusSource(prometheus.url, SETTINGS), EmbeddedSource(lambda: {"node-1": (0.2, 1.0)})
    began = time.monotonic()
    with UsageSampler(sources, 5.0, lambda: time.monotonic() - began) as sampler:
        wait_until(lambda: of(sampler, "prometheus").state == "ok", within=30)
        prometheus.kill()
        wait_until(lambda: of(sampler, "prometheus").state == "down", within=5)
        shown = of(sampler, "prometheus")
        assert shown.address == prometheus.url
        assert shown.query.startswith("1 - avg by (node) (rate(node_cpu_seconds_total{")
        assert shown.answer
        assert shown.worked_at is not None and shown.worked_ago_s is not None
        wait_until(lambda: sampler.health().source == "embedded", within=5)
        prometheus.start()
        wait_until(prometheus.ready, within=30)
        # It has lost what it had not written yet; a rate needs two scrapes first.
        reader = PrometheusSource(prometheus.url, SETTINGS)
        wait_until(lambda: ratios(reader), within=30)
        wait_until(lambda: sampler.health().source == "prometheus", within=5)
        assert of(sampler, "prometheus").failures == 0


def test_a_prometheus_that_hangs_blocks_nobody(prometheus: Prometheus) -> None:
    sources = PrometheusSource(prometheus.url, SETTINGS), EmbeddedSource(lambda: {"node-1": (0.2, 1.0)})
    with UsageSampler(sources, 1.0, lambda: 0.0) as sampler:
        wait_until(lambda: of(sampler, "prometheus").state == "ok", within=30)
        prometheus.stop_answering()
        try:
            wait_until(lambda: of(sampler, "prometheus").state == "slow", within=5)
            began = time.monotonic()
            assert sampler.latest() is not None
            assert time.monotonic() - began < 0.2
            wait_until(lambda: sampler.health().source == "embedded", within=5)
        finally:
            prometheus.answer_again()
        reader = PrometheusSource(prometheus.url, SETTINGS)
        wait_until(lambda: ratios(reader), within=30)
        wait_until(lambda: sampler.health().source == "prometheus", within=5)
