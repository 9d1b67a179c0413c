"""A service over a store of its own, and what waiting for it needs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from backend.service.app import create_app
from tests.api.conditions import specification, wait_until


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
