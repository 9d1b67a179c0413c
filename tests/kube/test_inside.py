"""The door for a kubelet in the same process."""

import queue
import threading
from collections.abc import Iterator

import pytest

from backend.embedded.apiserver import ApiServer
from backend.embedded.apiserver.errors import ApiError
from tests.kube.contract.waiting import until
from tests.kube.contract.world import Json, World, load, node, pod


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with ApiServer() as server:
        server.start()
        yield server


@pytest.fixture
def world(server: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    path = server.kubeconfig(tmp_path_factory.mktemp("inside") / "kubeconfig")
    api = load(path)
    yield World(path, server, api)
    api.close()


def test_what_is_made_inside_is_seen_outside(server: ApiServer, world: World) -> None:
    server.inside.create("nodes", "", node("n"))
    server.inside.create("pods", "default", pod("p"))
    server.inside.bind("default", "p", "n")
    server.inside.update_status("pods", "default", "p", {"phase": "Running", "podIP": "10.0.0.1"})
    found = world.core.read_namespaced_pod("p", "default")
    assert (found.spec.node_name, found.status.phase, found.status.pod_ip) == ("n", "Running", "10.0.0.1")


def test_a_callback_is_told_what_there_is_and_what_changes(server: ApiServer, world: World) -> None:
    told: queue.Queue[tuple[str, str]] = queue.Queue()
    world.core.create_namespaced_pod("default", pod("a"))
    end = server.inside.watch("pods", lambda verb, obj: told.put((verb, obj["metadata"]["name"])))
    world.core.create_namespaced_pod("default", pod("b"))
    world.core.delete_namespaced_pod("a", "default")
    assert [told.get(timeout=10) for _ in range(3)] == [("ADDED", "a"), ("ADDED", "b"), ("DELETED", "a")]
    end()
    world.core.delete_namespaced_pod("b", "default")
    assert told.empty()


def test_the_status_of_another_pod_of_that_name_is_refused(server: ApiServer) -> None:
    server.inside.create("pods", "default", pod("p"))
    with pytest.raises(ApiError) as refused:
        server.inside.update_status("pods", "default", "p", {"phase": "Running"}, uid="another")
    assert refused.value.code == 409


def test_a_kubelet_finishes_pods_in_its_own_time(server: ApiServer, world: World) -> None:
    server.inside.kubelet_takes_over()
    world.core.create_namespaced_pod("default", pod("p"))
    world.run("default", "p", "n")
    world.core.delete_namespaced_pod("p", "default")
    found = server.inside.get("pods", "default", "p")
    assert found is not None
    assert found["metadata"]["deletionTimestamp"]
    assert server.inside.delete("pods", "default", "p", grace_s=0, uid=found["metadata"]["uid"])
    assert server.inside.get("pods", "default", "p") is None


def test_without_a_kubelet_pods_that_are_deleted_go(server: ApiServer, world: World) -> None:
    world.core.create_namespaced_pod("default", pod("p"))
    world.run("default", "p", "n")
    world.core.delete_namespaced_pod("p", "default")
    until(lambda: server.inside.get("pods", "default", "p") is None, "the pod's end")


def test_logs_are_followed_while_they_are_written(server: ApiServer, world: World) -> None:
    lines: queue.Queue[str | None] = queue.Queue()

    def provider(namespace: str, name: str, container: str, tail: int | None, follow: bool) -> Iterator[str]:
        while follow and (line := lines.get(timeout=20)) is not None:
            yield line

    server.inside.serve_logs(provider)
    world.core.create_namespaced_pod("default", pod("p"))
    world.run("default", "p", "n")
    answer = world.core.read_namespaced_pod_log("p", "default", follow=True, _preload_content=False)
    stream = answer.stream(None)
    lines.put("first")
    assert next(stream) == b"first\n"
    lines.put("second")
    assert next(stream) == b"second\n"
    lines.put(None)
    assert list(stream) == []


def test_a_pod_whose_log_is_not_there_yet_is_a_400(server: ApiServer, world: World) -> None:
    def provider(namespace: str, name: str, container: str, tail: int | None, follow: bool) -> list[str]:
        raise KeyError(name)

    server.inside.serve_logs(provider)
    world.core.create_namespaced_pod("default", pod("p"))
    world.run("default", "p", "n")
    code, body = world.call("GET", "/api/v1/namespaces/default/pods/p/log")
    assert (code, "waiting to start" in body["message"]) == (400, True)


def test_many_threads_write_and_nothing_is_lost(server: ApiServer) -> None:
    seen: list[int] = []
    server.inside.watch("configmaps", lambda verb, obj: seen.append(int(obj["metadata"]["resourceVersion"])))

    def count(old: Json) -> Json:
        return {**old, "data": {"n": str(int(old["data"]["n"]) + 1)}}

    server.inside.create("configmaps", "default", {"metadata": {"name": "c"}, "data": {"n": "0"}})
    threads = [
        threading.Thread(target=lambda: [server.inside.mutate("configmaps", "default", "c", count) for _ in range(50)])
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = server.inside.get("configmaps", "default", "c")
    assert found is not None
    assert found["data"] == {"n": "400"}
    assert seen == sorted(seen)
    assert len(seen) == 401


def test_two_servers_know_nothing_of_each_other(server: ApiServer) -> None:
    with ApiServer() as other:
        other.start()
        other.inside.create("pods", "default", pod("p"))
        assert server.inside.get("pods", "default", "p") is None
        assert other.port != server.port


def test_it_listens_on_loopback_and_stops(tmp_path_factory: pytest.TempPathFactory) -> None:
    server = ApiServer()
    server.start(tls=False)
    assert server.url.startswith("http://127.0.0.1:")
    path = server.kubeconfig(tmp_path_factory.mktemp("plain") / "kubeconfig")
    api = load(path)
    # Without TLS there are no tokens, and everybody is the administrator.
    assert World(path, server, api).call("GET", "/api/v1/nodes")[0] == 200
    api.close()
    server.stop()
    with pytest.raises(OSError, match="refused"):
        __import__("socket").create_connection(("127.0.0.1", server.port), timeout=5)


def test_a_restart_keeps_the_objects_and_the_kubeconfig(server: ApiServer, world: World) -> None:
    made = world.core.create_namespaced_pod("default", pod("p"))
    port = server.port
    server.stop()
    server.start(port)
    assert world.core.read_namespaced_pod("p", "default").metadata.uid == made.metadata.uid
    world.run("default", "p", "n")
    world.core.delete_namespaced_pod("p", "default")
    # The controllers work again, too: without a kubelet the pod is finished by one of them.
    until(lambda: server.inside.get("pods", "default", "p") is None, "the pod's end")


def test_started_twice_is_an_error(server: ApiServer) -> None:
    with pytest.raises(RuntimeError, match="running already"):
        server.start()


def test_a_port_that_is_taken_is_an_error(server: ApiServer) -> None:
    other = ApiServer()
    with pytest.raises(OSError, match="address already in use"):
        other.start(server.port, tls=False)
    other.start(tls=False)
    other.stop()


def test_the_kubeconfig_is_for_its_owner_only(world: World) -> None:
    assert world.kubeconfig.stat().st_mode & 0o077 == 0
