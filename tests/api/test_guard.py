"""Who may speak to the API (backend/service/guard.py)."""

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from backend.service.guard import Guard
from backend.service.problems import RequestId


def client(token: str | None = None, hosts: tuple[str, ...] = (), origins: tuple[str, ...] = ()) -> TestClient:
    app = FastAPI()

    @app.get("/healthz")
    def healthz() -> dict[str, str]:
        return {}

    @app.get("/api/v1/thing")
    @app.post("/api/v1/thing")
    def thing() -> dict[str, str]:
        return {"answer": "yes"}

    app.add_middleware(Guard, token=token, hosts=hosts, origins=origins)
    app.add_middleware(RequestId)
    return TestClient(app, base_url="http://127.0.0.1:8051")


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8051", 200),
        ("localhost:8051", 200),
        ("LocalHost", 200),
        ("[::1]:8051", 200),
        ("evil.example", 403),
        ("127.0.0.1.evil.example:8051", 403),
        ("localhost.evil.example", 403),
        ("", 403),
        ("[::1", 403),
    ],
)
def test_only_loopback_names_are_served(host: str, status: int) -> None:
    answer = client().get("/api/v1/thing", headers={"Host": host})
    assert answer.status_code == status


def test_a_configured_host_name_is_served() -> None:
    assert client(hosts=("podshift.lan",)).get("/api/v1/thing", headers={"Host": "podshift.lan:80"}).status_code == 200


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://127.0.0.1:8051", 200),
        ("http://127.0.0.1:9090", 403),
        ("https://127.0.0.1:8051", 403),
        ("http://evil.example", 403),
        ("null", 403),
        (None, 200),
    ],
    ids=["same", "other port", "other scheme", "other host", "sandboxed page", "no browser"],
)
def test_a_change_from_another_origin_is_refused(origin: str | None, status: int) -> None:
    headers = {} if origin is None else {"Origin": origin}
    assert client().post("/api/v1/thing", headers=headers).status_code == status


def test_reading_from_another_origin_is_the_browsers_business() -> None:
    assert client().get("/api/v1/thing", headers={"Origin": "http://evil.example"}).status_code == 200


def test_a_configured_origin_may_change_things() -> None:
    allowed = client(origins=("http://127.0.0.1:8050",))
    assert allowed.post("/api/v1/thing", headers={"Origin": "http://127.0.0.1:8050"}).status_code == 200


@pytest.mark.parametrize(
    ("authorization", "status"),
    [
        ("Bearer s3cret", 200),
        ("bearer s3cret", 200),
        ("Bearer s3cre", 401),
        ("Bearer", 401),
        ("Basic s3cret", 401),
        (None, 401),
    ],
)
def test_the_token_is_needed_where_one_is_set(authorization: str | None, status: int) -> None:
    headers = {} if authorization is None else {"Authorization": authorization}
    answer = client(token="s3cret").get("/api/v1/thing", headers=headers)
    assert answer.status_code == status
    assert ("WWW-Authenticate" in answer.headers) == (status == 401)


def test_health_is_open() -> None:
    assert client(token="s3cret").get("/healthz", headers={"Host": "10.0.0.7:8051"}).status_code == 200


def test_forwarded_headers_change_nothing() -> None:
    headers = {"X-Forwarded-User": "admin", "X-Forwarded-Host": "127.0.0.1", "Host": "evil.example"}
    assert client().get("/api/v1/thing", headers=headers).status_code == 403


def test_a_refusal_is_an_error_with_the_request_id() -> None:
    answer = client().get("/api/v1/thing", headers={"Host": "evil.example", "X-Request-Id": "abc-1"})
    assert answer.json()["error"]["request_id"] == "abc-1" == answer.headers["X-Request-Id"]


def test_a_request_id_that_is_none_is_replaced() -> None:
    answer = client().get("/api/v1/thing", headers={"X-Request-Id": "x y<script>"})
    assert answer.headers["X-Request-Id"].isalnum()
