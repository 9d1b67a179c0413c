"""A service over a store of its own, and what waiting for it needs."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from backend.service.app import create_app
from tests.data.broken_specifications import GOOD

PATIENCE_S = 60.0
"""How long a condition may take on a slow machine."""


def wait_until(condition: Callable[[], Any]) -> Any:
    """The first true value that the condition gives."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"this did not come true within {PATIENCE_S:.0f} s")


def specification(name: str, *, speed: float | None = None, seeds: str = "[1]") -> str:
    """Seven jobs, two arms; `speed` makes it last."""
    text = GOOD.replace("name: broken", f"name: {name}").replace("seeds: [1]", f"seeds: {seeds}")
    return text + (f"speed: {speed}\n" if speed else "")


class Api:
    """The API as a client sees it."""

    def __init__(self, client: TestClient, home: Path) -> None:
        self.client = client
        self.home = home

    def get(self, path: str, expected: int = 200, /, **query: Any) -> Any:
        answer = self.client.get(f"/api/v1/{path}", params=query)
        assert answer.status_code == expected, answer.text
        return answer.json()

    def post(self, path: str, body: Any = None, status: int = 200) -> Any:
        answer = self.client.post(f"/api/v1/{path}", json=body)
        assert answer.status_code == status, answer.text
        return answer.json()

    def launch(self, name: str, **options: Any) -> str:
        return str(self.post("experiments", {"yaml": specification(name, **options)}, 202)["id"])

    def ended(self, experiment: str) -> dict[str, Any]:
        """The experiment, once all of its runs have ended."""
        return wait_until(
            lambda: (
                (found := self.get(f"experiments/{experiment}"))
                and all(run["status"] not in ("queued", "running", "stopping") for run in found["runs"])
                and found
            )
        )

    def under_way(self, run: str) -> dict[str, Any]:
        """The run, once it has recorded something."""
        return wait_until(lambda: (found := self.get(f"runs/{run}"))["progress"] and found)


@pytest.fixture(scope="session")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    home = tmp_path_factory.mktemp("service")
    with TestClient(create_app(home, jobs=2), base_url="http://127.0.0.1:8051") as client:
        yield Api(client, home)


@pytest.fixture(scope="session")
def pair(api: Api) -> dict[str, Any]:
    """A finished experiment with two arms and two seeds."""
    return api.ended(api.launch("pair", seeds="[1, 2]"))
