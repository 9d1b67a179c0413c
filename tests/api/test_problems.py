"""Errors of the API: what they name, and that its description lists them."""

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from backend.service.app import create_app
from backend.store.errors import UnusableError
from tests.api.conditions import wait_until
from tests.api.conftest import Api
from tests.data.broken_specifications import GOOD

LONG = "7" * 5000


@pytest.mark.parametrize(
    ("content", "place"), [(b"hello", 1), (b'{"yaml": }', 10), (b'{"yaml": "x"', 13)], ids=["word", "gap", "open"]
)
@pytest.mark.parametrize("path", ["experiments", "experiments/validate"])
def test_a_body_that_is_no_json_is_a_fault_of_the_body(api: Api, path: str, content: bytes, place: int) -> None:
    answer = api.client.post(f"/api/v1/{path}", content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    (error,) = answer.json()["error"]["errors"]
    assert (error["field"], error["allowed"]) == ("body", "a JSON object")
    assert error["message"].startswith("is no JSON: ")
    assert error["message"].endswith(f" at character {place}")


@pytest.mark.parametrize(
    "body",
    [
        {"yaml": GOOD.replace("count: 3", f"count: {LONG}")},
        {"yaml": GOOD.replace("seeds: [1]", f"seeds: {LONG}")},
        {"yaml": GOOD.replace("seeds: [1]", f"seeds: 0x{LONG}")},
        {"yaml": GOOD.replace("seeds: [1]", f"seeds: '{LONG}'")},
        {"yaml": GOOD.replace('cpu: "16"', f'cpu: "{LONG}"')},
        {"yaml": f'{{"name": "x", "seeds": {LONG}}}'},
    ],
    ids=["count", "seeds", "hexadecimal", "text", "quantity", "json in text"],
)
def test_a_number_of_thousands_of_digits_is_refused_in_our_words(api: Api, body: Any) -> None:
    text = api.client.post("/api/v1/experiments/validate", json=body)
    assert text.status_code == 422
    assert "set_int_max_str_digits" not in text.text


def test_such_a_number_in_the_body_itself(api: Api) -> None:
    content = f'{{"specification": {{"seeds": {LONG}}}}}'.encode()
    answer = api.client.post("/api/v1/experiments", content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    (error,) = answer.json()["error"]["errors"]
    assert error["field"] == "body"
    assert "digits" in error["allowed"]
    assert "set_int_max_str_digits" not in answer.text


@pytest.mark.parametrize(
    ("method", "path", "statuses"),
    [
        ("get", "/api/v1/experiments/{experiment}", {401, 403, 404, 422}),
        ("delete", "/api/v1/experiments/{experiment}", {401, 403, 404, 409, 422}),
        ("post", "/api/v1/experiments", {401, 403, 409, 422}),
        ("get", "/api/v1/runs/{run}/bundle", {401, 403, 404, 409, 422}),
        ("get", "/api/v1/runs/{run}/tables/{table}", {401, 403, 404, 409, 422}),
        ("get", "/api/v1/compare", {401, 403, 404, 409, 422}),
        ("post", "/api/v1/import", {401, 403, 413, 415, 422}),
        ("get", "/readyz", {503}),
    ],
)
def test_the_description_lists_the_errors(api: Api, method: str, path: str, statuses: set[int]) -> None:
    document = api.get("openapi.json")
    answers = document["paths"][path][method]["responses"]
    assert statuses <= {int(status) for status in answers}
    for status in statuses:
        schema = answers[str(status)]["content"]["application/json"]["schema"]
        assert schema == {"$ref": "#/components/schemas/ErrorAnswer"}
    assert "HTTPValidationError" not in document["components"]["schemas"]


@pytest.mark.parametrize(
    "fault", [UnusableError("the disk of the store in /x is full"), OSError(28, "No space left on device")], ids=str
)
def test_a_store_that_cannot_be_used_is_a_503(api: Api, monkeypatch: pytest.MonkeyPatch, fault: Exception) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise fault

    monkeypatch.setattr("backend.store.catalogue.Catalogue.create_experiment", refuse)
    error = api.post("experiments", {"yaml": GOOD}, 503)["error"]
    assert error["message"].startswith("The disk of the store in /")
    assert "is full" in error["message"]
    assert error["request_id"]


def test_a_fault_of_ours_that_the_operating_system_tells_stays_a_500(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr("backend.store.catalogue.Catalogue.experiments", refuse)
    with TestClient(create_app(tmp_path), base_url="http://127.0.0.1:8051", raise_server_exceptions=False) as client:
        assert client.get("/api/v1/experiments").status_code == 500


def test_the_service_outlives_a_store_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of dead processes are looked for all the time; one time without the disk must not be the last."""
    looked: list[int] = []

    def refuse(*_: Any) -> None:
        looked.append(1)
        if len(looked) == 2:
            raise UnusableError("the disk is full")

    monkeypatch.setattr("backend.service.app.SWEEP_S", 0.01)
    monkeypatch.setattr("backend.service.app.recover", refuse)
    with TestClient(create_app(tmp_path), base_url="http://127.0.0.1:8051"):
        wait_until(lambda: len(looked) > 3)
