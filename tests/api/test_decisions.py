"""The placement decisions of a run through the API: the list, one in full, and a run that grows."""

import json
from typing import Any

import pytest

from tests.api.conditions import wait_until
from tests.api.conftest import Api


@pytest.fixture(scope="module")
def run(pair: dict[str, Any]) -> str:
    return f"{pair['id']}.default.s1"


def logged(api: Api, run: str) -> dict[int, dict[str, Any]]:
    """Sequence number -> decision, as the event log has them."""
    lines = api.client.get(f"/api/v1/runs/{run}/log").text.splitlines()
    events = enumerate(json.loads(line) for line in lines)
    return {seq: event for seq, event in events if event["kind"] == "decision_made"}


def test_the_list_is_that_of_the_log(api: Api, run: str) -> None:
    answer = api.get(f"runs/{run}/decisions")
    events = logged(api, run)
    assert answer["total"] == len(events) > 0
    assert answer["rev"] == api.get(f"runs/{run}")["rev"]
    for item in answer["items"]:
        event = events[item["seq"]]
        assert (item["pod"], item["node"], item["reason"]) == (event["pod"], event["node"], event["reason"])
        assert item["refused"] == sum(event.get("refused_counts", {}).values())
        assert "scores" not in item


def test_the_list_comes_in_pages(api: Api, run: str) -> None:
    whole = api.get(f"runs/{run}/decisions")
    pages = [api.get(f"runs/{run}/decisions", limit=3, offset=offset) for offset in range(0, whole["total"], 3)]
    assert [item for page in pages for item in page["items"]] == whole["items"]
    assert {page["total"] for page in pages} == {whole["total"]}
    assert api.get(f"runs/{run}/decisions", offset=10_000)["items"] == []


def test_some_of_the_list(api: Api, run: str) -> None:
    of_job = api.get(f"runs/{run}/decisions", job="vae-2")
    assert {item["job"] for item in of_job["items"]} == {"vae-2"}
    placed, unplaced = (api.get(f"runs/{run}/decisions", placed=placed)["total"] for placed in ("true", "false"))
    assert placed + unplaced == api.get(f"runs/{run}/decisions")["total"]


@pytest.mark.parametrize("asked", [{"limit": 0}, {"limit": 10_001}, {"offset": -1}, {"placed": "perhaps"}])
def test_a_page_that_cannot_be_is_refused(api: Api, run: str, asked: dict[str, Any]) -> None:
    api.get(f"runs/{run}/decisions", 422, **asked)


def test_a_decision_in_full(api: Api, run: str) -> None:
    events = logged(api, run)
    for seq, event in events.items():
        found = api.get(f"runs/{run}/decisions/{seq}")
        assert found["nodes"] == event["nodes"]
        assert found["node"] in found["nodes"]
        assert all(len(score[part]) == len(found["nodes"]) for score in found["scores"] for part in PARTS)
        sums = [sum(parts) for parts in zip(*(score["weighted"] for score in found["scores"]), strict=True)]
        assert sums == pytest.approx(found["totals"], abs=1e-9)
        assert all(score["description"] for score in found["scores"])


PARTS = ("raw", "normalised", "weighted")


@pytest.mark.parametrize("seq", ["0", "99999999", str(2**63 - 1)])
def test_what_is_no_decision_is_not_found(api: Api, run: str, seq: str) -> None:
    assert "no placement decision" in api.get(f"runs/{run}/decisions/{seq}", 404)["error"]["message"]


@pytest.mark.parametrize("seq", ["-1", "x", "1.5", str(2**63)])
def test_what_is_no_sequence_number_is_refused(api: Api, run: str, seq: str) -> None:
    api.get(f"runs/{run}/decisions/{seq}", 422)


def test_a_run_that_there_is_not_has_no_decisions(api: Api) -> None:
    api.get("runs/nothing/decisions", 404)
    api.get("runs/nothing/decisions/1", 404)


def test_a_running_run_has_the_decisions_so_far(api: Api) -> None:
    experiment = api.launch("deciding", speed=20)
    run = f"{experiment}.default.s1"
    try:
        some = wait_until(lambda: (found := api.get(f"runs/{run}/decisions"))["items"] and found)
        first = some["items"][0]
        assert api.get(f"runs/{run}/decisions/{first['seq']}")["pod"] == first["pod"]
        assert api.get(f"runs/{run}")["status"] == "running"
    finally:
        api.post(f"experiments/{experiment}/stop", {}, 202)
        api.ended(experiment)
    assert api.get(f"runs/{run}/decisions")["items"][0] == first
