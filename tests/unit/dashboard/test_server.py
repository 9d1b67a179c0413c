"""The application against a stand-in of the backend: gateway, feeds, headers, shared answers."""

import threading
from collections.abc import Iterator

import pytest
from flask import Flask
from flask.testing import FlaskClient
from flask_caching import Cache

from dashboard.server import create_app
from dashboard.source import Problem, Source
from tests.unit.dashboard.fake_backend import FakeBackend

RUN = "seven-jobs-7k3f.default.s1"


@pytest.fixture
def backend() -> Iterator[FakeBackend]:
    backend = FakeBackend()
    yield backend
    backend.close()


@pytest.fixture
def client(backend: FakeBackend) -> FlaskClient:
    return create_app(backend.url, token="s3cret").test_client()


@pytest.fixture
def source(backend: FakeBackend) -> Source:
    return Source(backend.url, Cache(Flask("test"), config={"CACHE_TYPE": "SimpleCache"}), "s3cret")


# -- the page and its headers


@pytest.mark.parametrize("path", ["/", f"/runs/{RUN}", "/compare?a=x&b=y", "/experiments/new", "/nowhere"])
def test_every_address_can_be_reloaded(client: FlaskClient, path: str) -> None:
    assert client.get(path).status_code == 200


def test_headers_protect_every_answer(client: FlaskClient) -> None:
    for path in ("/", "/feed/health", "/api/v1/examples", "/healthz"):
        headers = client.get(path).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["Referrer-Policy"] == "same-origin"
        policy = headers["Content-Security-Policy"]
        assert "default-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "'unsafe-inline'" not in policy.split("script-src")[1].split(";")[0]
        assert "http" not in policy


def test_no_page_asks_another_host_for_anything(client: FlaskClient) -> None:
    page = client.get("/").get_data(as_text=True)
    assert "//cdn" not in page
    assert 'src="http' not in page
    assert 'href="http' not in page


def test_it_works_under_a_prefix(backend: FakeBackend) -> None:
    client = create_app(backend.url, prefix="/dash/").test_client()
    assert client.get("/dash/").status_code == 200
    assert client.get(f"/dash/runs/{RUN}").status_code == 200
    assert client.get("/dash/api/v1/examples").status_code == 200
    assert client.get("/dash/feed/health").status_code == 200
    assert 'src="/dash/assets/00-theme.js"' in client.get("/dash/").get_data(as_text=True)


def test_two_applications_share_nothing(backend: FakeBackend) -> None:
    other = FakeBackend()
    other.rev = 77
    try:
        revs = [
            create_app(one.url).test_client().get(f"/feed/runs?ids={RUN}").json["data"]["runs"][0]["rev"]
            for one in (backend, other)
        ]
    finally:
        other.close()
    assert revs == [1, 77]


def test_it_answers_only_to_its_own_names(backend: FakeBackend) -> None:
    for hosts, host, status in (
        (None, "localhost:8050", 200),
        (None, "127.0.0.1:8050", 200),
        (None, "evil.example", 400),
        ("podshift.example", "podshift.example:30080", 200),
        ("podshift.example", "localhost", 400),
        ("*", "evil.example", 200),
    ):
        client = create_app(backend.url, hosts=hosts).test_client()
        assert client.get("/healthz", headers={"Host": host}).status_code == status


# -- the gateway


def test_the_gateway_adds_the_token_and_keeps_body_and_status(client: FlaskClient, backend: FakeBackend) -> None:
    answer = client.post("/api/v1/experiments", json={"yaml": "name: x"}, headers={"Origin": "http://localhost"})
    assert (answer.status_code, answer.json["runs"]) == (202, [RUN])
    ((path, body, headers),) = backend.posted
    assert (path, body) == ("/api/v1/experiments", b'{"yaml": "name: x"}')
    assert headers["Authorization"] == "Bearer s3cret"
    assert "Origin" not in headers


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        (None, 202),
        ("http://localhost", 202),
        ("http://localhost:3000", 403),
        ("https://localhost", 403),
        ("http://evil.example", 403),
        ("null", 403),
    ],
    ids=str,
)
def test_only_our_own_pages_may_change_anything(
    client: FlaskClient, backend: FakeBackend, origin: str | None, status: int
) -> None:
    headers = {"Origin": origin} if origin else {}
    assert client.post("/api/v1/experiments", json={}, headers=headers).status_code == status
    assert len(backend.posted) == (status == 202)


def test_a_bundle_passes_through_with_its_name(client: FlaskClient) -> None:
    answer = client.get(f"/api/v1/runs/{RUN}/bundle")
    assert len(answer.data) == 200_000
    assert answer.headers["Content-Disposition"] == 'attachment; filename="run.zip"'


def test_errors_of_the_backend_keep_their_status(client: FlaskClient) -> None:
    answer = client.post("/api/v1/experiments/validate", json={})
    assert answer.status_code == 422
    assert answer.json["error"]["errors"][0]["field"] == "arms.1.migration.alpha"
    assert client.get("/api/v1/nothing").status_code == 404


def test_a_backend_that_is_away_is_a_clear_502(client: FlaskClient, backend: FakeBackend) -> None:
    backend.close()
    answer = client.get("/api/v1/examples")
    assert answer.status_code == 502
    assert f"The backend at {backend.url} cannot be reached" in answer.json["error"]["message"]


# -- feeds


def test_a_feed_answers_204_until_something_changes(client: FlaskClient, backend: FakeBackend) -> None:
    first = client.get(f"/feed/runs?ids={RUN}")
    mark = first.json["mark"]
    assert client.get(f"/feed/runs?ids={RUN}&seen={mark}").status_code == 204
    other = create_app(backend.url).test_client()  # no shared snapshot of the moment before
    backend.rev = 2
    changed = other.get(f"/feed/runs?ids={RUN}&seen={mark}")
    assert changed.json["data"]["runs"][0]["rev"] == 2
    assert changed.json["mark"] != mark


@pytest.mark.parametrize(("failing", "status"), [(500, 502), (401, 401), (404, 404)])
def test_a_feed_tells_a_dead_backend_from_one_that_says_no(
    client: FlaskClient, backend: FakeBackend, failing: int, status: int
) -> None:
    backend.failing = failing
    assert client.get("/feed/health").status_code == status


def test_many_viewers_cause_one_request(client: FlaskClient, backend: FakeBackend) -> None:
    start = threading.Barrier(8)

    def view() -> None:
        start.wait()
        client.application.test_client().get(f"/feed/runs?ids={RUN}")

    viewers = [threading.Thread(target=view) for _ in range(8)]
    for viewer in viewers:
        viewer.start()
    for viewer in viewers:
        viewer.join()
    assert backend.asked[f"/api/v1/runs/{RUN}"] == 1


# -- the source


def test_a_table_is_asked_for_once_per_revision(source: Source, backend: FakeBackend) -> None:
    assert source.table(RUN, "jobs", 1)["job"] == ["a", "b", "c"]
    source.table(RUN, "jobs", 1)
    source.table(RUN, "jobs", 2)
    assert backend.asked[f"/api/v1/runs/{RUN}/tables/jobs"] == 2


def test_decisions_are_listed_in_parts_and_one_is_asked_for_by_its_number(source: Source, backend: FakeBackend) -> None:
    backend.most_rows = 1
    for _ in range(2):
        assert [made["seq"] for made in source.decisions(RUN, 1)] == [3, 9]
        assert source.decision(RUN, 9, 1)["refusals"][0]["filter"] == "fit"
    assert backend.asked[f"/api/v1/runs/{RUN}/decisions"] == 2
    assert backend.asked[f"/api/v1/runs/{RUN}/decisions/9"] == 1
    assert source.decision(RUN, 4, 1).status == 404


def test_a_long_table_is_asked_for_in_parts(source: Source, backend: FakeBackend) -> None:
    backend.most_rows = 2
    assert source.table(RUN, "jobs", 1)["job"] == ["a", "b", "c"]
    assert backend.asked[f"/api/v1/runs/{RUN}/tables/jobs"] == 2


def test_a_table_too_long_to_draw_says_so(source: Source, backend: FakeBackend) -> None:
    backend.total = 2_000_000
    found = source.table(RUN, "usage", 1)
    assert isinstance(found, Problem)
    assert "2,000,000 rows" in found.why


def test_a_failure_is_a_value_that_says_what_where_why_and_since_when(source: Source, backend: FakeBackend) -> None:
    backend.close()
    found = source.examples()
    assert isinstance(found, Problem)
    assert found.what == "the ready examples"
    assert found.where == f"GET {backend.url}/api/v1/examples"
    assert "cannot be reached" in found.why
    assert found.since.endswith("+00:00")


def test_faults_by_field_are_kept(source: Source) -> None:
    found = source.validate({"yaml": ""})
    assert isinstance(found, Problem)
    assert (found.status, found.errors[0]["field"]) == (422, "arms.1.migration.alpha")


def test_names_are_encoded_in_addresses(source: Source, backend: FakeBackend) -> None:
    assert isinstance(source.run("a/../b?c"), Problem)
    assert list(backend.asked) == ["/api/v1/runs/a%2F..%2Fb%3Fc"]
