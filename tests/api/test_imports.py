"""Files that come in through the API: all of a file or nothing."""

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import Api

DATA = Path(__file__).resolve().parents[1] / "data"


def send(api: Api, content: bytes, **query: str) -> Any:
    return api.client.post("/api/v1/import", content=content, params=query)


@pytest.mark.parametrize("query", [{"kind": "migration-log"}, {}], ids=["kind said", "kind told by the content"])
def test_the_authors_migration_log(api: Api, query: dict[str, str]) -> None:
    answer = send(api, (DATA / "specon_migration_log.csv").read_bytes(), name="migration.csv", **query)
    (run,) = answer.json()["runs"]
    found = api.get(f"runs/{run}")
    assert (found["status"], found["source"], found["experiment_name"]) == ("imported", "import", "migration")
    assert api.get(f"runs/{run}/tables/considerations")["total"] == 29
    assert api.get(f"runs/{run}/tables/migrations")["total"] > 0


@pytest.mark.parametrize("query", [{"kind": "completion-table"}, {}], ids=["kind said", "kind told by the content"])
def test_the_authors_completion_times(api: Api, query: dict[str, str]) -> None:
    answer = send(api, (DATA / "specon_completion_50jobs.csv").read_bytes(), name="times.csv", **query)
    default, migrated = answer.json()["runs"]
    found = api.get("compare", a=default, b=migrated)
    assert len(found["jobs"]) == 50
    longest = next(metric for metric in found["metrics"] if metric["name"] == "max_completion_s")
    assert longest["percent"] == pytest.approx(-20.2, abs=0.1)


def test_a_listing_of_kubectl(api: Api) -> None:
    (run,) = send(api, b"NODE NAME\nm1 a\nm2 a-migrated\nm2 b").json()["runs"]
    assert sorted(api.get(f"runs/{run}/tables/segments")["columns"]["job"]) == ["a", "a", "b"]


def test_job_node_info(api: Api) -> None:
    (run,) = send(api, b"job,node\na,m1\nb,m2\n", kind="job-node-info").json()["runs"]
    assert api.get(f"runs/{run}/tables/jobs")["columns"]["first_node"] == ["m1", "m2"]


def test_names_are_text_and_no_path(api: Api) -> None:
    hostile = b"job,node\n<img src=x onerror=alert(1)>,=cmd|' /C calc'!A0\n"
    (run,) = send(api, hostile, kind="job-node-info", name="../../etc/passwd.csv").json()["runs"]
    assert api.get(f"runs/{run}")["experiment_name"] == "passwd"
    text = api.client.get(f"/api/v1/runs/{run}/tables/segments", params={"format": "csv"}).text
    assert ",'=cmd|" in text


@pytest.mark.parametrize(
    ("content", "kind", "words"),
    [
        (b"", None, "empty"),
        (b"hello", None, "say which kind"),
        (b"\x00\xff\xfe", None, "say which kind"),
        (b"time,job,orginal_node,to_node\nsoon,a,m1,m2\n", "migration-log", "line 2"),
        (
            b"time,job,orginal_node,to_node\nsoon,a,m1,m2\n",
            None,
            "cannot be imported as a migration-log: imported, line 2",
        ),
        (b"time,job,orginal_node,to_node\n1,a,m1,\xff\n", None, "not text in UTF-8"),
        (b"job,default_s,migrated_s\na,1,-2\n", "completion-table", "line 2"),
        (b"NODE NAME\nm1 a b\n", "node-listing", "line 2"),
        (b"a,m1\na,m2\n", "job-node-info", "line 2"),
        (b"PK\x03\x04 and then nothing", None, "no bundle"),
        (b"job,node\na,m1\n", "photo", "not valid"),
    ],
    ids=[
        "empty",
        "words",
        "bytes",
        "time",
        "time in a file of no kind",
        "bytes below a header",
        "negative",
        "columns",
        "twice",
        "half a zip",
        "unknown kind",
    ],
)
def test_a_broken_file_leaves_nothing(api: Api, content: bytes, kind: str | None, words: str) -> None:
    before = api.get("experiments")["total"]
    answer = send(api, content, **({"kind": kind} if kind else {}))
    assert answer.status_code == 422
    assert words in answer.json()["error"]["message"]
    assert api.get("experiments")["total"] == before


def test_a_form_is_told_how_to_send_a_file(api: Api) -> None:
    answer = api.client.post("/api/v1/import", files={"file": b"x"})
    assert answer.status_code == 415
    assert "body" in answer.json()["error"]["message"]


def rezip(bundle: bytes, change: Callable[[dict[str, bytes]], None]) -> bytes:
    with zipfile.ZipFile(io.BytesIO(bundle)) as before:
        files = {name: before.read(name) for name in before.namelist()}
    change(files)
    after = io.BytesIO()
    with zipfile.ZipFile(after, "w") as made:
        for name, content in files.items():
            made.writestr(name, content)
    return after.getvalue()


def _tamper(files: dict[str, bytes]) -> None:
    name = next(name for name in files if "/log/" in name)
    files[name] = files[name][:-20] + bytes(20)


def _escape(files: dict[str, bytes]) -> None:
    files["../../evil"] = b"x"


def _drop(files: dict[str, bytes]) -> None:
    del files[next(name for name in files if "/log/" in name)]


def _manifest(**changes: Any) -> Callable[[dict[str, bytes]], None]:
    def change(files: dict[str, bytes]) -> None:
        manifest = json.loads(files["bundle.json"])
        manifest["runs"][0] |= changes
        files["bundle.json"] = json.dumps(manifest).encode()

    return change


@pytest.mark.parametrize(
    "change",
    [
        _tamper,
        _escape,
        _drop,
        _manifest(arm="no/arm"),
        _manifest(seed="one"),
        _manifest(status="running"),
        _manifest(status="excellent"),
        _manifest(log_sha256="0" * 64),
        _manifest(experiment="other"),
    ],
    ids=["changed byte", "path", "file missing", "arm", "seed", "running", "status", "hash", "experiment"],
)
def test_a_bundle_that_was_changed_leaves_nothing(
    api: Api, pair: dict[str, Any], change: Callable[[dict[str, bytes]], None]
) -> None:
    bundle = api.client.get(f"/api/v1/runs/{pair['runs'][0]['id']}/bundle").content
    before = api.get("experiments")["total"]
    answer = send(api, rezip(bundle, change), kind="bundle")
    assert answer.status_code == 422, answer.text
    assert api.get("experiments")["total"] == before
