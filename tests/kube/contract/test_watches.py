"""Watches: where they begin, what they show through a selector, and how they end."""

import queue
import threading
from collections.abc import Iterator

import pytest
import urllib3
from kubernetes import client, watch
from kubernetes.client.exceptions import ApiException
from kubernetes.informer import SharedInformer

from backend.embedded.apiserver import ApiServer
from tests.kube.contract.waiting import until
from tests.kube.contract.watching import Watching
from tests.kube.contract.world import World, config_map, pod


@pytest.fixture
def path(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods"


@pytest.fixture
def version(world: World, path: str) -> str:
    return world.must("GET", path)["metadata"]["resourceVersion"]


def label(world: World, path: str, name: str, value: str | None) -> None:
    patch = {"metadata": {"labels": {"app": value}}}
    world.must("PATCH", f"{path}/{name}", patch, media_type="application/merge-patch+json")


def test_a_watch_from_a_version_shows_what_came_after_it(world: World, path: str) -> None:
    world.must("POST", path, pod("before"))
    version = world.must("GET", path)["metadata"]["resourceVersion"]
    world.must("POST", path, pod("a"))
    label(world, path, "a", "x")
    world.must("DELETE", f"{path}/a")
    with Watching(world, path, resourceVersion=version) as events:
        assert events.named(3) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]


def test_versions_in_a_watch_rise_and_a_deletion_has_its_own(world: World, path: str, version: str) -> None:
    world.must("POST", path, pod("a"))
    world.must("DELETE", f"{path}/a")
    with Watching(world, path, resourceVersion=version) as events:
        seen = [int(obj["metadata"]["resourceVersion"]) for _, obj in (events.next(), events.next())]
    assert int(version) < seen[0] < seen[1]


@pytest.mark.parametrize("query", [{}, {"resourceVersion": "0"}], ids=["no version", "version 0"])
def test_a_watch_from_nowhere_begins_with_what_there_is(world: World, path: str, query: dict[str, str]) -> None:
    for name in "ab":
        world.must("POST", path, pod(name))
    with Watching(world, path, **query) as events:
        assert events.named(2) == [("ADDED", "a"), ("ADDED", "b")]
        world.must("POST", path, pod("c"))
        assert events.named(1) == [("ADDED", "c")]


def test_initial_events_end_with_a_bookmark(world: World, path: str) -> None:
    world.must("POST", path, pod("a"))
    query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    with Watching(world, path, **query) as events:
        assert events.named(1) == [("ADDED", "a")]
        verb, obj = events.next()
    assert verb == "BOOKMARK"
    assert obj["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_bookmarks_carry_a_version_to_go_on_from(world: World, path: str, version: str) -> None:
    with Watching(world, path, resourceVersion=version, allowWatchBookmarks="true", timeoutSeconds=4) as events:
        seen = list(events)
    assert {verb for verb, _ in seen} == {"BOOKMARK"}
    at = seen[-1][1]["metadata"]["resourceVersion"]
    assert int(at) >= int(version)
    world.must("POST", path, pod("a"))
    with Watching(world, path, resourceVersion=at) as events:
        assert events.named(1) == [("ADDED", "a")]


def test_a_watch_ends_at_its_timeout(world: World, path: str, version: str) -> None:
    with Watching(world, path, resourceVersion=version, timeoutSeconds=1) as events:
        assert list(events) == []


def test_an_object_that_leaves_a_selector_is_deleted_for_that_watcher(world: World, path: str, version: str) -> None:
    with Watching(world, path, resourceVersion=version, labelSelector="app%3Dx") as events:
        world.must("POST", path, pod("other", labels={"app": "y"}))
        world.must("POST", path, pod("a", labels={"app": "x"}))
        assert events.named(1) == [("ADDED", "a")]
        label(world, path, "a", "y")
        verb, obj = events.next()
        assert (verb, obj["metadata"]["labels"]) == ("DELETED", {"app": "x"})
        label(world, path, "a", "x")
        assert events.named(1) == [("ADDED", "a")]
        world.must("DELETE", f"{path}/a")
        assert events.named(1) == [("DELETED", "a")]


def test_a_pod_leaves_the_queue_of_a_scheduler_when_it_is_bound(
    world: World, path: str, version: str, namespace: str, node_name: str
) -> None:
    with Watching(world, path, resourceVersion=version, fieldSelector="spec.nodeName%3D") as events:
        world.must("POST", path, pod("a"))
        assert events.named(1) == [("ADDED", "a")]
        world.bind(namespace, "a", node_name)
        assert events.named(1) == [("DELETED", "a")]


def test_one_object_is_watched_by_its_name(world: World, path: str, version: str) -> None:
    with Watching(world, path, resourceVersion=version, fieldSelector="metadata.name%3Db") as events:
        for name in "ab":
            world.must("POST", path, pod(name))
        assert events.named(1) == [("ADDED", "b")]


def test_a_watch_of_a_namespace_does_not_see_others(world: World, namespace: str, path: str) -> None:
    with Watching(world, path) as events:
        world.must("POST", f"/api/v1/namespaces/{namespace}/configmaps", config_map("not-a-pod"))
        world.must("POST", "/api/v1/namespaces/default/pods", pod(f"other-{namespace}"))
        world.must("DELETE", f"/api/v1/namespaces/default/pods/other-{namespace}")
        world.must("POST", path, pod("mine"))
        assert events.named(1) == [("ADDED", "mine")]


def test_a_watch_in_the_shape_of_a_table(world: World, path: str) -> None:
    world.must("POST", path, pod("a"))
    with Watching(world, path, accept="application/json;as=Table;v=v1;g=meta.k8s.io") as events:
        verb, table = events.next()
    assert (verb, table["kind"], table["rows"][0]["cells"][0]) == ("ADDED", "Table", "a")


def test_the_clients_watch_reads_typed_events(world: World, namespace: str, path: str) -> None:
    world.must("POST", path, pod("a"))
    stream = watch.Watch()
    seen = []
    for event in stream.stream(world.core.list_namespaced_pod, namespace, timeout_seconds=20, _request_timeout=20):
        seen.append((event["type"], event["object"].metadata.name))
        if len(seen) == 1:
            world.must("DELETE", f"{path}/a")
        else:
            stream.stop()
    assert seen == [("ADDED", "a"), ("DELETED", "a")]


def test_a_version_that_is_too_old_is_a_410(world: World, path: str, version: str, server: ApiServer) -> None:
    server.faults.expire()
    with Watching(world, path, resourceVersion=version) as events:
        if events.status == 200:
            verb, status = events.next()
            assert (verb, status["code"], status["reason"]) == ("ERROR", 410, "Expired")
        else:
            assert events.status == 410
    with pytest.raises(ApiException) as refused:
        list(
            watch.Watch().stream(
                world.core.list_pod_for_all_namespaces, resource_version=version, timeout_seconds=5, _request_timeout=9
            )
        )
    assert refused.value.status == 410


def test_an_open_watch_is_told_that_the_history_is_gone(
    world: World, path: str, version: str, server: ApiServer
) -> None:
    with Watching(world, path, resourceVersion=version) as events:
        server.faults.expire()
        verb, status = events.next()
        assert (verb, status["code"]) == ("ERROR", 410)
        assert list(events) == []


def test_a_watch_that_is_cut_breaks_and_goes_on_from_its_version(
    world: World, path: str, version: str, server: ApiServer
) -> None:
    with Watching(world, path, resourceVersion=version) as events:
        world.must("POST", path, pod("a"))
        _, seen = events.next()
        server.faults.cut_watches()
        with pytest.raises(urllib3.exceptions.HTTPError):
            list(events)
    world.must("POST", path, pod("b"))
    with Watching(world, path, resourceVersion=seen["metadata"]["resourceVersion"]) as events:
        assert events.named(1) == [("ADDED", "b")]


@pytest.fixture
def informed(world: World, namespace: str) -> Iterator[tuple[SharedInformer, "queue.Queue[tuple[str, str]]"]]:
    told: queue.Queue[tuple[str, str]] = queue.Queue()
    informer = SharedInformer(list_func=world.core.list_namespaced_pod, namespace=namespace)

    def name(obj: object) -> str:
        return obj["metadata"]["name"] if isinstance(obj, dict) else obj.metadata.name  # type: ignore[attr-defined,no-any-return]

    for kind in ("ADDED", "MODIFIED", "DELETED"):
        informer.add_event_handler(kind, lambda obj, kind=kind: told.put((kind, name(obj))))
    informer.start()
    yield informer, told
    informer.stop()


def test_the_clients_informer_follows(
    world: World, path: str, informed: tuple[SharedInformer, "queue.Queue[tuple[str, str]]"]
) -> None:
    informer, told = informed
    world.must("POST", path, pod("a"))
    assert told.get(timeout=20) == ("ADDED", "a")
    label(world, path, "a", "x")
    assert told.get(timeout=20) == ("MODIFIED", "a")
    until(lambda: informer.cache.list()[0].metadata.labels == {"app": "x"}, "the label in the informer's cache")
    world.must("DELETE", f"{path}/a")
    assert told.get(timeout=20) == ("DELETED", "a")


def test_twenty_watchers_see_the_same(world: World, path: str, version: str) -> None:
    seen: list[list[tuple[str, str]]] = []

    def follow() -> None:
        with Watching(world, path, resourceVersion=version) as events:
            seen.append(events.named(30))

    # A pool of its own, as the client's would let only a few connect at a time.
    threads = [threading.Thread(target=follow) for _ in range(20)]
    for thread in threads:
        thread.start()
    for n in range(30):
        world.must("POST", path, pod(f"p{n:02}"))
    for thread in threads:
        thread.join(30)
    assert seen == [[("ADDED", f"p{n:02}") for n in range(30)]] * 20


def test_events_of_jobs_are_those_of_their_own_kind(world: World, namespace: str) -> None:
    path = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    with Watching(world, path) as events:
        client.BatchV1Api(world.api).create_namespaced_job(
            namespace, {"metadata": {"name": "j"}, "spec": {"suspend": True, "template": template}}
        )
        verb, obj = events.next()
    assert (verb, obj["kind"], obj["apiVersion"]) == ("ADDED", "Job", "batch/v1")
