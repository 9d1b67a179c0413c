"""Comparing runs through the API."""

from typing import Any

import pytest

from tests.api.conftest import Api


def sides(pair: dict[str, Any]) -> dict[str, str]:
    runs = {arm: ",".join(run["id"] for run in pair["runs"] if run["arm"] == arm) for arm in pair["arms"]}
    return {"a": runs["default"], "b": runs["migrated"]}


def test_two_arms_side_by_side(api: Api, pair: dict[str, Any]) -> None:
    found = api.get("compare", **sides(pair))
    assert (found["a"]["arm"], found["b"]["arm"]) == ("default", "migrated")
    assert all(check["ok"] for check in found["validity"])
    makespan = next(metric for metric in found["metrics"] if metric["name"] == "makespan_s")
    assert makespan["n"] == 2
    assert makespan["difference"] == pytest.approx(makespan["b"] - makespan["a"])
    assert makespan["a"] == pytest.approx(pair["summary"]["default"]["makespan_s"])
    assert len(found["jobs"]) == 7


def test_the_differences_of_jobs_are_those_of_the_exported_tables(api: Api, pair: dict[str, Any]) -> None:
    a, b = (f"{pair['id']}.{arm}.s1" for arm in ("default", "migrated"))
    times = []
    for run in (a, b):
        columns = api.get(f"runs/{run}/tables/jobs")["columns"]
        times.append(dict(zip(columns["job"], columns["completion_s"], strict=True)))
    for row in api.get("compare", a=a, b=b)["jobs"]:
        assert row["difference_s"] == times[1][row["job"]] - times[0][row["job"]]


def test_what_cannot_be_compared(api: Api, pair: dict[str, Any]) -> None:
    run = pair["runs"][0]["id"]
    assert "both sides" in api.get("compare", 422, a=run, b=run)["error"]["message"]
    assert api.get("compare", 404, a=run, b="none")["error"]["message"] == "There is no run 'none'."
    assert api.get("compare", 422, a=run)["error"]["errors"][0]["field"] == "b"
    assert "1 to" in api.get("compare", 422, a=",", b=run)["error"]["message"]
