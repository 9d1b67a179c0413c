"""A fake Prometheus for each test."""

from collections.abc import Iterator

import pytest

from tests.unit.metrics.fake_prometheus import FakePrometheus


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def fake() -> Iterator[FakePrometheus]:
    server = FakePrometheus()
    yield server
    server.close()
