"""A fake API server for each test, and what is made around it."""

from collections.abc import Iterator

import pytest

from backend.kube.client import Api, connect
from tests.unit.kube.fake_server import FakeServer


@pytest.fixture
def server() -> Iterator[FakeServer]:
    server = FakeServer()
    yield server
    server.close()


@pytest.fixture
def api(server: FakeServer) -> Iterator[Api]:
    api = connect(url=server.url, read_s=5)
    yield api
    api.close()
