"""One run through the API: its state, tables, log and bundle, and stopping it."""

import csv
import hashlib
import io
import re
from typing import Any

import pytest

from tests.api.conditions import wait_until
from tests.api.conftest import Api

TABLES = (
    "jobs",
    "segments",
    "migrations",
    "considerations",
    "decisions",
    "categories",
    "progress",
    "usage",
    "nodes",
    "images",
)


@pytest.fixture(scope="module")
def run(pair: dict[str, Any]) -> str:
    return f"{pair['id']}.migrated.s1"


def test_a_run_comes_with_what_belongs_to_it(api: Api, run: str, pair: dict[str, Any]) -> None:
    found = api.get(f"runs/{run}")
    assert (found["experiment"], found["arm"], found["seed"], found["status"]) == (
        pair["id"],
        "migrated",
        1,
        "finished",
    )
    assert found["specification"]["name"] == "pair"
    assert found["configuration"]["migration.alpha"] == 0.1
    assert [sibling["id"] for sibling in found["siblings"]] == [one["id"] for one in pair["runs"]]
    assert found["progress"]["fraction"] == 1.0
    assert found["summary"]["finished"] == 7


def test_an_unchanged_run_answers_with_nothing(api: Api, run: str) -> None:
    rev = api.get(f"runs/{run}")["rev"]
    assert api.client.get(f"/api/v1/runs/{run}", params={"rev": rev}).status_code == 204
    assert api.client.get(f"/api/v1/runs/{run}", params={"rev": rev - 1}).status_code == 200


@pytest.mark.parametrize("table", TABLES)
def test_every_table_has_columns_of_one_length(api: Api, run: str, table: str) -> None:
    answer = api.get(f"runs/{run}/tables/{table}")
    assert {len(column) for column in answer["columns"].values()} == {answer["rows"]}
    assert answer["total"] == answer["rows"]
    assert answer["rev"] == api.get(f"runs/{run}")["rev"]


def test_a_part_of_a_table(api: Api, run: str) -> None:
    whole = api.get(f"runs/{run}/tables/progress")
    part = api.get(f"runs/{run}/tables/progress", limit=5, offset=3)
    assert part["columns"]["iteration"] == whole["columns"]["iteration"][3:8]
    assert (part["rows"], part["total"]) == (5, whole["total"])


def test_the_rows_of_one_job(api: Api, run: str) -> None:
    answer = api.get(f"runs/{run}/tables/segments", job="vae-2")
    assert set(answer["columns"]["job"]) == {"vae-2"}
    assert api.get(f"runs/{run}/tables/segments", job="' OR 1=1")["rows"] == 0
    assert "no column job" in api.get(f"runs/{run}/tables/nodes", 422, job="vae-2")["error"]["message"]


def test_csv_holds_the_numbers_of_json(api: Api, run: str) -> None:
    answer = api.client.get(f"/api/v1/runs/{run}/tables/jobs", params={"format": "csv"})
    assert re.search(rf'filename="{re.escape(run)}_jobs_\d{{8}}T\d{{6}}Z\.csv"', answer.headers["Content-Disposition"])
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    columns = api.get(f"runs/{run}/tables/jobs")["columns"]
    assert [float(row["completion_s"]) for row in rows] == columns["completion_s"]
    assert [row["job"] for row in rows] == columns["job"]


def test_a_table_as_rows(api: Api, run: str) -> None:
    rows = api.get(f"runs/{run}/tables/jobs", format="rows")
    assert [row["job"] for row in rows] == api.get(f"runs/{run}/tables/jobs")["columns"]["job"]


def test_the_log_has_the_hash_that_the_run_states(api: Api, run: str) -> None:
    answer = api.client.get(f"/api/v1/runs/{run}/log")
    assert answer.text.startswith('{"kind":"run_started"')
    assert hashlib.sha256(answer.content).hexdigest() == api.get(f"runs/{run}")["log_sha256"]


def test_a_bundle_comes_back_with_the_same_tables(api: Api, run: str) -> None:
    bundle = api.client.get(f"/api/v1/runs/{run}/bundle")
    assert bundle.headers["Content-Type"] == "application/zip"
    answer = api.client.post("/api/v1/import", content=bundle.content)
    assert answer.status_code == 201
    (copy,) = answer.json()["runs"]
    assert copy != run
    for table in TABLES:
        assert api.get(f"runs/{copy}/tables/{table}")["columns"] == api.get(f"runs/{run}/tables/{table}")["columns"]
    for name in ("summary", "log_sha256", "specification", "configuration"):
        assert api.get(f"runs/{copy}")[name] == api.get(f"runs/{run}")[name]


def test_a_bundle_of_the_whole_experiment(api: Api, run: str, pair: dict[str, Any]) -> None:
    bundle = api.client.get(f"/api/v1/runs/{run}/bundle", params={"whole": True})
    copies = api.client.post("/api/v1/import", content=bundle.content, params={"kind": "bundle"}).json()["runs"]
    assert len(copies) == len(pair["runs"])


def test_a_running_run_grows(api: Api) -> None:
    experiment = api.launch("growing", speed=40)
    name = f"{experiment}.default.s1"
    first = api.under_way(name)
    assert first["status"] == "running"
    seen = [(first["rev"], api.get(f"runs/{name}/tables/jobs")["total"])]
    later = wait_until(lambda: (now := api.get(f"runs/{name}"))["progress"]["time_s"] > 45 and now)
    assert later["rev"] > first["rev"]
    wait_until(lambda: api.get(f"runs/{name}/tables/jobs")["total"] > seen[0][1])
    assert api.get(f"runs/{name}/bundle", 409)["error"]["message"].startswith(f"The run {name} has not ended")
    api.post(f"experiments/{experiment}/stop", {}, 202)
    api.ended(experiment)


def test_stop_keeps_what_was_recorded(api: Api) -> None:
    experiment = api.launch("halted", speed=50)
    name = f"{experiment}.default.s1"
    wait_until(lambda: api.get(f"runs/{name}/tables/segments")["total"] >= 2)
    assert api.post(f"runs/{name}/stop", {}, 202)["status"] in ("stopping", "stopped")
    assert api.post(f"runs/{name}/stop", {}, 202)["status"] in ("stopping", "stopped")
    api.ended(experiment)
    stopped = api.get(f"runs/{name}")
    assert stopped["status"] == "stopped"
    assert stopped["summary"]["unfinished"] > 0
    columns = api.get(f"runs/{name}/tables/segments")["columns"]
    assert len(columns["job"]) >= 2
    assert api.post(f"runs/{name}/stop", {}, 202)["status"] == "stopped"
    assert api.get(f"runs/{name}")["summary"] == stopped["summary"]
    waiting = api.get(f"runs/{experiment}.migrated.s1")
    assert waiting["status"] == "stopped"
    assert "placement" in waiting["error"]
