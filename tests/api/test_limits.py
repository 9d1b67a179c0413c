"""The size of request bodies (backend/service/limits.py)."""

from collections.abc import Iterator

import pytest
from fastapi import Body, FastAPI, Request
from fastapi.testclient import TestClient

from backend.service.limits import BodyLimit
from backend.service.problems import RequestId

LIMIT = 1000


@pytest.fixture
def client() -> TestClient:
    app = FastAPI()

    @app.post("/json")
    @app.post("/api/v1/experiments")
    def parsed(body: dict[str, str] = Body()) -> dict[str, int]:  # noqa: B008
        return {"size": len(body["text"])}

    @app.post("/stream")
    async def streamed(request: Request) -> dict[str, int]:
        return {"size": sum([len(chunk) async for chunk in request.stream()])}

    app.add_middleware(BodyLimit, limit=lambda path: LIMIT)
    app.add_middleware(RequestId)
    return TestClient(app, base_url="http://127.0.0.1")


def chunks(size: int) -> Iterator[bytes]:
    yield b'{"text": "'
    for _ in range(size // 100):
        yield b"x" * 100
    yield b'"}'


@pytest.mark.parametrize("path", ["/json", "/stream"])
@pytest.mark.parametrize("chunked", [True, False], ids=["chunked", "with length"])
def test_a_body_over_the_limit_is_refused(client: TestClient, path: str, chunked: bool) -> None:
    body = chunks(5000) if chunked else b"".join(chunks(5000))
    answer = client.post(path, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 413
    assert "at most 1000 bytes" in answer.json()["error"]["message"]


@pytest.mark.parametrize("chunked", [True, False], ids=["chunked", "with length"])
def test_a_body_within_the_limit_passes(client: TestClient, chunked: bool) -> None:
    body = chunks(900) if chunked else b"".join(chunks(900))
    answer = client.post("/json", content=body, headers={"Content-Type": "application/json"})
    assert answer.json() == {"size": 900}


@pytest.mark.parametrize("chunked", [True, False], ids=["chunked", "with length"])
def test_a_specification_over_the_limit_gets_a_field_error(client: TestClient, chunked: bool) -> None:
    body = chunks(5000) if chunked else b"".join(chunks(5000))
    answer = client.post("/api/v1/experiments", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    assert answer.json()["error"]["errors"][0]["field"] == "specification"
