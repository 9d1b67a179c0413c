"""Experiments through the API: checked, launched once, listed, changed, deleted."""

import threading
from typing import Any

import pytest

from backend.store.store import Store
from tests.api.conditions import specification
from tests.api.conftest import Api
from tests.data.broken_specifications import BROKEN, contains_field


def stored(api: Api) -> int:
    return int(api.get("experiments")["total"])


@pytest.mark.parametrize(("text", "field"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN])
def test_a_broken_specification_is_refused_by_field(api: Api, text: str, field: str) -> None:
    before = stored(api)
    for path in ("experiments/validate", "experiments"):
        error = api.post(path, {"yaml": text}, 422)["error"]
        assert error["message"]
        assert contains_field(error["errors"], "specification" if len(text) > 1024 * 1024 else field)
        assert all(entry["message"] for entry in error["errors"])
    assert stored(api) == before


@pytest.mark.parametrize("path", ["experiments/validate", "experiments"])
def test_fifty_megabytes_are_refused(api: Api, path: str) -> None:
    before = stored(api)
    error = api.post(path, {"yaml": "x" * 50 * 1024 * 1024}, 422)["error"]
    assert error["errors"][0]["field"] == "specification"
    assert stored(api) == before


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"7",
        b'{"yaml": 7}',
        b'{"yml": ""}',
        b"{}",
        b'{"yaml": "a: 1", "specification": {}}',
        b"[" * 100_000,
    ],
    ids=lambda body: body[:30].decode(),
)
def test_a_body_that_is_none_is_refused(api: Api, body: bytes) -> None:
    answer = api.client.post("/api/v1/experiments", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    assert answer.json()["error"]["errors"]


def test_a_valid_specification_is_spelled_out(api: Api) -> None:
    checked = api.post("experiments/validate", {"yaml": specification("checked", seeds="'1..3'")})
    assert (checked["jobs"], checked["nodes"], checked["runs"]) == (7, 3, 6)
    assert checked["cli"] == "podshift run checked.yaml"
    assert checked["estimate_s"] > 0
    again = api.post("experiments/validate", {"yaml": checked["yaml"]})
    assert again["specification"] == checked["specification"]


def test_checking_stores_nothing(api: Api) -> None:
    before = stored(api)
    api.post("experiments/validate", {"yaml": specification("only-checked")})
    assert stored(api) == before


def test_pacing_makes_the_estimate_longer(api: Api) -> None:
    quick, slow = (
        api.post("experiments/validate", {"yaml": specification("x", speed=speed)})["estimate_s"] for speed in (None, 1)
    )
    assert slow > quick + 300


def test_a_launched_experiment_runs_to_its_end(pair: dict[str, Any]) -> None:
    assert pair["status"] == "finished"
    assert pair["arms"] == ["default", "migrated"]
    assert pair["seeds"] == [1, 2]
    assert pair["jobs"] == 7
    assert [run["id"].split(".", 1)[1] for run in pair["runs"]] == [
        "default.s1",
        "migrated.s1",
        "default.s2",
        "migrated.s2",
    ]
    assert all(pair["summary"][arm]["makespan_s"] > 0 for arm in pair["arms"])


def test_the_migrated_arm_starts_where_the_default_arm_did(api: Api, pair: dict[str, Any]) -> None:
    first = [
        api.get(f"runs/{pair['id']}.{arm}.s1/tables/jobs")["columns"]["first_node"] for arm in ("default", "migrated")
    ]
    assert first[0] == first[1]


def test_a_double_click_launches_one_experiment(api: Api) -> None:
    body = {"yaml": specification("double-click"), "idempotency_key": "click-1"}
    answers: list[Any] = []
    clicks = [threading.Thread(target=lambda: answers.append(api.post("experiments", body, 202))) for _ in range(4)]
    for click in clicks:
        click.start()
    for click in clicks:
        click.join()
    assert len({answer["id"] for answer in answers}) == 1
    assert api.get("experiments", q="double-click")["total"] == 1
    api.ended(answers[0]["id"])


def test_a_key_does_not_stand_for_another_specification(api: Api) -> None:
    made = api.post("experiments", {"yaml": specification("first"), "idempotency_key": "shared"}, 202)
    error = api.post("experiments", {"yaml": specification("second"), "idempotency_key": "shared"}, 409)["error"]
    assert "idempotency key" in error["message"]
    assert api.get("experiments", q="second")["total"] == 0
    api.ended(made["id"])


def test_the_list_is_newest_first_and_paged(api: Api, pair: dict[str, Any]) -> None:
    made = [api.launch("paged") for _ in range(3)]
    first = api.get("experiments", q="paged", limit=2)
    second = api.get("experiments", q="paged", limit=2, offset=2)
    assert first["total"] == 3
    assert [item["id"] for item in first["items"] + second["items"]] == made[::-1]
    for experiment in made:
        api.ended(experiment)


@pytest.mark.parametrize("query", [{"limit": 0}, {"limit": 100_000}, {"offset": -1}, {"status": "lost"}], ids=str)
def test_a_list_has_limits(api: Api, query: dict[str, Any]) -> None:
    assert api.get("experiments", 422, **query)["error"]["errors"][0]["field"] == next(iter(query))


def test_search_takes_signs_of_sql_as_text(api: Api, pair: dict[str, Any]) -> None:
    assert api.get("experiments", q="%")["total"] == 0
    assert api.get("experiments", q="pair", status="finished")["total"] == 1
    assert api.get("experiments", q="pair", status="failed")["total"] == 0


def test_note_and_tags_are_kept(api: Api, pair: dict[str, Any]) -> None:
    answer = api.client.patch(f"/api/v1/experiments/{pair['id']}", json={"note": "<b>x</b>", "tags": ["a", "a", "b"]})
    assert answer.status_code == 200
    found = api.get(f"experiments/{pair['id']}")
    assert (found["note"], found["tags"]) == ("<b>x</b>", ["a", "b"])


@pytest.mark.parametrize(
    "body",
    [{"note": "x" * 10_000}, {"tags": [""]}, {"tags": "a"}, {"status": "finished"}, {"note": 7}],
    ids=lambda b: str(b)[:30],
)
def test_a_change_that_is_none_is_refused(api: Api, pair: dict[str, Any], body: dict[str, Any]) -> None:
    assert api.client.patch(f"/api/v1/experiments/{pair['id']}", json=body).status_code == 422


def test_a_deleted_experiment_can_be_brought_back(api: Api) -> None:
    experiment = api.launch("deleted")
    api.ended(experiment)
    assert api.client.delete(f"/api/v1/experiments/{experiment}").status_code == 204
    api.get(f"experiments/{experiment}", 404)
    assert api.get("experiments", q="deleted")["total"] == 0
    api.post(f"experiments/{experiment}/undelete", {})
    assert api.get(f"experiments/{experiment}")["status"] == "finished"


def test_a_running_experiment_is_not_deleted(api: Api) -> None:
    experiment = api.launch("kept", speed=5)
    answer = api.client.delete(f"/api/v1/experiments/{experiment}")
    assert answer.status_code == 409
    assert "stop" in answer.json()["error"]["message"]
    api.post(f"experiments/{experiment}/stop", {}, 202)
    api.ended(experiment)


def test_stopping_an_experiment_stops_what_waits_too(api: Api) -> None:
    experiment = api.launch("stopped", speed=5, seeds="'1..4'")
    first = f"{experiment}.default.s1"
    api.under_way(first)
    api.post(f"experiments/{experiment}/stop", {}, 202)
    ended = api.ended(experiment)
    assert {run["status"] for run in ended["runs"]} == {"stopped"}
    again = api.post(f"experiments/{experiment}/stop", {}, 202)
    assert again["status"] == "stopped"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "experiments/x/stop"),
        ("GET", "runs/x/stop"),
        ("GET", "import"),
        ("PUT", "experiments"),
        ("DELETE", "runs/x"),
    ],
)
def test_nothing_changes_by_the_wrong_method(api: Api, method: str, path: str) -> None:
    assert api.client.request(method, f"/api/v1/{path}").status_code == 405


@pytest.mark.parametrize(
    "path", ["experiments/none", "runs/none", "runs/none/tables/jobs", "runs/..%2f..%2fetc", "none"]
)
def test_what_is_not_there_is_a_404_with_a_sentence(api: Api, path: str) -> None:
    assert api.get(path, 404)["error"]["message"].startswith("There is no")


def test_another_page_may_not_launch(api: Api) -> None:
    answer = api.client.post(
        "/api/v1/experiments", json={"yaml": specification("foreign")}, headers={"Origin": "http://127.0.0.1:9090"}
    )
    assert answer.status_code == 403
    assert api.get("experiments", q="foreign")["total"] == 0


def test_actions_leave_lines_in_the_audit(api: Api) -> None:
    experiment = api.launch("audited", speed=5)
    api.post(f"experiments/{experiment}/stop", {}, 202)
    api.ended(experiment)
    api.client.delete(f"/api/v1/experiments/{experiment}")
    lines, _ = Store(api.home).audit(limit=500)
    assert [line.action for line in lines if line.target == experiment] == ["delete", "stop", "launch"]
    assert all(line.request for line in lines if line.target == experiment)
