"""Calls, and what becomes of those that fail."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from backend.kube.client import Api, ApiError, ConnectError, connect, error_of
from tests.unit.kube.fake_server import FakeServer, node

ERRORS: dict[str, tuple[int, str, bytes, str | None, tuple[str, str, bool]]] = {
    "a Status": (
        409,
        "Conflict",
        b'{"kind":"Status","reason":"AlreadyExists","message":"pods \\"a\\" already exists"}',
        None,
        ("AlreadyExists", 'pods "a" already exists', False),
    ),
    "nothing": (502, "Bad Gateway", b"", None, ("Bad Gateway", "HTTP 502 without a message", True)),
    "nothing at all": (503, "", b"", None, ("HTTP 503", "HTTP 503 without a message", True)),
    "a page": (503, "Service Unavailable", b"<html>no</html>", None, ("Service Unavailable", "<html>no</html>", True)),
    "a list": (500, "x", b"[1]", None, ("x", "HTTP 500 without a message", True)),
    "no text": (400, "Bad Request", b"\xff\xfe", None, ("Bad Request", "\ufffd\ufffd", False)),
    "null fields": (
        404,
        "Not Found",
        b'{"reason":null,"message":null}',
        None,
        ("Not Found", "HTTP 404 without a message", False),
    ),
    "too many": (429, "Too Many", b"", "7", ("Too Many", "HTTP 429 without a message", True)),
}


@pytest.mark.parametrize("case", ERRORS, ids=str)
def test_errors(case: str) -> None:
    status, reason, body, retry_after, expected = ERRORS[case]
    error = error_of(status, reason, body, retry_after)
    assert error.status == status
    assert (error.reason, error.message, error.transient) == expected
    assert error.retry_after_s == (7.0 if retry_after else None)


def test_a_refusal_is_an_error_with_its_status(server: FakeServer, api: Api) -> None:
    with pytest.raises(ApiError, match=r"404 NotFound: .* not found") as caught:
        api.get("/api/v1/namespaces/default/pods/none")
    assert caught.value.status == 404
    assert not caught.value.transient


@pytest.mark.parametrize("answer", ["<html>", "[]", "7"])
def test_an_answer_that_is_no_json_object_is_an_error(server: FakeServer, api: Api, answer: str) -> None:
    server.fault("GET .*", 1, (200, answer))
    with pytest.raises(ApiError, match="gave no JSON") as caught:
        api.get("/api/v1/nodes")
    assert caught.value.transient


def test_a_server_that_is_not_there(server: FakeServer, api: Api) -> None:
    server.close()
    with pytest.raises(ApiError, match="/api/v1/nodes") as caught:
        api.get("/api/v1/nodes")
    assert (caught.value.status, caught.value.transient) == (0, True)


def test_a_call_that_changes_something_is_not_made_twice_by_itself(server: FakeServer, api: Api) -> None:
    server.fault("POST .*", 1, "lost")
    with pytest.raises(ApiError):
        api.post("/api/v1/namespaces/default/pods", {"metadata": {"name": "a", "namespace": "default"}})
    assert server.count("POST .*") == 1


@pytest.fixture
def silent() -> Iterator[str]:
    """A server that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize("call", ["get", "post", "stream"])
def test_a_server_that_says_nothing_is_not_waited_for(silent: str, call: str) -> None:
    api = connect(url=silent, connect_s=0.2, read_s=0.1)
    calls: dict[str, Any] = {
        "get": lambda: api.get("/x"),
        "post": lambda: api.post("/x", {"a": 1}),
        "stream": lambda: api.stream("/x", read_s=300),
    }
    with pytest.raises(ApiError) as caught:
        calls[call]()
    assert caught.value.transient


def test_a_stream_may_be_cut_while_its_reader_waits(server: FakeServer, api: Api) -> None:
    server.put("nodes", node("a"))
    stream = api.stream("/api/v1/nodes", {"watch": True, "resourceVersion": "0"}, read_s=300)
    lines: list[bytes] = []
    first = threading.Event()

    def read() -> None:
        for line in stream.lines():
            lines.append(line)
            first.set()

    reader = threading.Thread(target=read)
    reader.start()
    assert first.wait(10)
    stream.cut()
    reader.join(10)
    assert not reader.is_alive()
    assert len(lines) == 1


def test_a_stream_that_is_silent_for_too_long_is_an_error(server: FakeServer, api: Api) -> None:
    stream = api.stream("/api/v1/nodes", {"watch": True, "resourceVersion": "0"}, read_s=0.05)
    with stream, pytest.raises(ApiError, match="imed"):
        next(stream.lines())


def kubeconfig(folder: Path, server: str) -> Path:
    path = folder / "config"
    path.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "one",
                "clusters": [
                    {"name": "one", "cluster": {"server": server}},
                    {"name": "two", "cluster": {"server": "http://two"}},
                ],
                "users": [{"name": "me", "user": {"token": "secret"}}],
                "contexts": [
                    {"name": "one", "context": {"cluster": "one", "user": "me"}},
                    {"name": "two", "context": {"cluster": "two", "user": "me"}},
                ],
            }
        )
    )
    return path


def test_a_kubeconfig_gives_server_and_token(server: FakeServer, tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, server.url)
    seen: list[str | None] = []
    server.answer = lambda request: (seen.append(request.headers["authorization"]), server._send(request, 200, {}))[1]  # type: ignore[method-assign]
    connect(kubeconfig=path).get("/version")
    assert seen == ["Bearer secret"]
    assert connect(kubeconfig=path, context="two").server == "http://two"


NOWHERE: dict[str, dict[str, Any]] = {
    "no such file": {"kubeconfig": "/no/such/file"},
    "no such context": {"context": "three"},
    "no service account": {"in_cluster": True},
}


@pytest.mark.parametrize("case", NOWHERE, ids=str)
def test_no_way_to_a_cluster(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    path = kubeconfig(tmp_path, "http://one")
    with pytest.raises(ConnectError, match="no cluster by"):
        connect(**{"kubeconfig": path} | NOWHERE[case])


def test_a_kubeconfig_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "config"
    for text in ("", "[]", "a: [", "7"):
        path.write_text(text)
        with pytest.raises(ConnectError):
            connect(kubeconfig=path)
