"""Informers against lists and watches that go wrong in every way."""

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from backend.kube.client import Api
from backend.kube.watch import Backoff, Change, Informer
from tests.unit.kube.fake_server import FakeServer, node

NODES = "/api/v1/nodes"


class Watcher:
    """An informer of nodes' names and cores, and what it emitted. Pauses end at once and are noted."""

    def __init__(self, api: Api, **options: Any) -> None:
        self.change = threading.Condition()
        self.batches: list[list[tuple[str, str]]] = []
        self.pauses: list[float] = []
        self.time = 0.0
        self.informer: Informer[str] = Informer(
            api,
            NODES,
            lambda item: f"{item['metadata']['name']}={item['status']['allocatable']['cpu']}",
            self._emit,
            backoff=Backoff(1.0, 8.0, dice=lambda: 0.0),
            clock=lambda: self.time,
            pause=self._pause,
            **options,
        )
        self.informer.start()

    def _emit(self, changes: Sequence[Change[str]]) -> None:
        with self.change:
            self.batches.append([(change.kind, change.value) for change in changes])
            self.change.notify_all()

    def _pause(self, seconds: float) -> bool:
        with self.change:
            self.pauses.append(seconds)
            self.time += seconds
            self.change.notify_all()
        return False

    def wait(self, condition: Callable[[], object]) -> None:
        with self.change:
            assert self.change.wait_for(condition, 10), (self.batches, self.informer.health())

    def until(self, *batches: list[tuple[str, str]]) -> None:
        """Wait for these batches, and no others, behind each other."""
        self.wait(lambda: len(self.batches) >= len(batches))
        assert self.batches == list(batches)


@pytest.fixture
def watcher(server: FakeServer, api: Api) -> Iterator[Watcher]:
    for name in "abc":
        server.put("nodes", node(name))
    watcher = Watcher(api)
    yield watcher
    watcher.informer.stop()


FIRST = [("added", "a=4"), ("added", "b=4"), ("added", "c=4")]


def watching(server: FakeServer, times: int = 1) -> None:
    """Wait for the so-and-so-manieth watch."""
    server.wait(lambda: sum("watch" in query for _, query in server.queries) >= times)


def test_a_list_and_a_watch(server: FakeServer, watcher: Watcher) -> None:
    watching(server)
    server.put("nodes", node("d"))
    server.put("nodes", {**node("a", "8"), "metadata": server.objects["nodes"]["/a"]["metadata"]})
    server.remove("nodes", "b")
    watcher.until(FIRST, [("added", "d=4")], [("changed", "a=8")], [("deleted", "b=4")])
    assert watcher.pauses == []
    assert watcher.informer.health().objects == 3


def test_lists_are_read_in_pages(server: FakeServer, api: Api) -> None:
    for name in "abcde":
        server.put("nodes", node(name))
    watcher = Watcher(api, page=2)
    watcher.until([("added", f"{name}=4") for name in "abcde"])
    watcher.informer.stop()
    pages = [query.get("continue") for _, query in server.queries if "watch" not in query]
    assert pages == [None, "2", "4"]


def test_every_watch_has_an_end_and_asks_for_bookmarks(server: FakeServer, watcher: Watcher) -> None:
    watching(server)
    (query,) = [query for _, query in server.queries if "watch" in query]
    assert query == {
        "watch": "true",
        "resourceVersion": "3",
        "timeoutSeconds": "290",
        "allowWatchBookmarks": "true",
    }


def test_an_empty_list_is_told_too(api: Api) -> None:
    watcher = Watcher(api)
    watcher.until([])
    watcher.informer.stop()
    assert watcher.informer.health().synced


def test_what_says_nothing_new_is_not_told(server: FakeServer, watcher: Watcher) -> None:
    watching(server)
    server.put("nodes", server.objects["nodes"]["/a"])  # a heartbeat
    server.put("nodes", node("d"))
    watcher.until(FIRST, [("added", "d=4")])


BREAKS: dict[str, Callable[[FakeServer], None]] = {
    "410 as the watch begins": lambda server: server.expire(),
    "the stream breaks off": lambda server: server.cut(),
    "an event that is no JSON": lambda server: server.break_watch("nodes", "{half"),
    "an event that is no event": lambda server: server.break_watch("nodes", '{"type": "ADDED", "object": 7}'),
    "an error of another kind": lambda server: server.break_watch(
        "nodes", '{"type": "ERROR", "object": {"code": 500, "message": "etcd"}}'
    ),
}


@pytest.mark.parametrize("how", BREAKS, ids=str)
def test_after_a_break_only_real_differences_are_told(server: FakeServer, watcher: Watcher, how: str) -> None:
    watching(server)
    server.fault(f"GET {NODES}", 2, 500)  # the two next requests, so that the rest happens unseen
    BREAKS[how](server)
    watcher.wait(lambda: len(watcher.pauses) >= 2)
    server.remove("nodes", "b")
    server.put("nodes", node("d"))
    server.wait(lambda: sum("watch" in query for _, query in server.queries) >= 2)
    watcher.wait(lambda: watcher.batches[-1] != FIRST)
    told = [change for batch in watcher.batches[1:] for change in batch]
    assert told == [("deleted", "b=4"), ("added", "d=4")]
    health = watcher.informer.health()
    assert health.last_error
    assert health.lists >= 2


def test_a_node_that_was_replaced_went_and_came(server: FakeServer, watcher: Watcher) -> None:
    watching(server)
    server.put("nodes", node("a"))  # the same name, another uid
    watcher.until(FIRST, [("deleted", "a=4"), ("added", "a=4")])


def test_a_watch_that_ends_in_time_goes_on_where_it_was(server: FakeServer, watcher: Watcher) -> None:
    """A bookmark told how far the version has come; no list is needed."""
    watching(server)
    version = server.bookmark("nodes")
    server.end()
    watching(server, 2)
    server.put("nodes", node("d"))
    watcher.until(FIRST, [("added", "d=4")])
    versions = [query["resourceVersion"] for _, query in server.queries if "watch" in query]
    assert versions == ["3", str(version)]
    assert watcher.informer.health().lists == 1
    assert watcher.pauses == []


def test_watches_that_end_at_once_are_not_begun_without_a_pause(server: FakeServer, watcher: Watcher) -> None:
    watching(server)
    server.end()
    watcher.wait(lambda: watcher.pauses)
    assert watcher.informer.health().lists == 1


@pytest.mark.parametrize("answer", [{}, {"items": []}, {"kind": "Status", "metadata": {}}], ids=str)
def test_an_answer_that_is_no_list_is_not_an_empty_one(server: FakeServer, watcher: Watcher, answer: object) -> None:
    watching(server)
    server.fault(f"GET {NODES}", 1, (200, answer))
    server.expire()
    watcher.wait(lambda: len(watcher.pauses) >= 2)
    watching(server, 2)
    assert watcher.batches == [FIRST]


def test_pauses_double_up_to_a_limit_and_begin_anew(server: FakeServer, watcher: Watcher) -> None:
    watching(server)
    with server.outage():
        watcher.wait(lambda: len(watcher.pauses) >= 6)
    assert watcher.pauses[:6] == [1.0, 2.0, 4.0, 8.0, 8.0, 8.0]
    assert watcher.informer.health().failing or watcher.informer.health().last_error
    watching(server, 2)
    server.put("nodes", node("d"))
    watcher.wait(lambda: watcher.batches[-1] == [("added", "d=4")])
    before = len(watcher.pauses)
    server.cut()
    watcher.wait(lambda: len(watcher.pauses) > before)
    assert watcher.pauses[before] == 1.0


def test_health_tells_how_old_the_picture_is(server: FakeServer, watcher: Watcher) -> None:
    watching(server)
    health = watcher.informer.health()
    assert (health.resource, health.synced, health.objects, health.failing) == (NODES, True, 3, False)
    watcher.time += 12.0
    assert watcher.informer.health().age_s == 12.0


def test_an_object_that_makes_no_sense_is_left_out(server: FakeServer, watcher: Watcher) -> None:
    watching(server)
    broken = node("d")
    del broken["status"]["allocatable"]
    server.put("nodes", broken)
    server.put("nodes", node("e"))
    watcher.until(FIRST, [("added", "e=4")])
    assert watcher.informer.health().unreadable == 1


@pytest.mark.parametrize("dice", [0.0, 0.5, 1.0])
def test_jitter_takes_up_to_a_half_off(dice: float) -> None:
    backoff = Backoff(1.0, 30.0, dice=lambda: dice)
    assert [backoff.next() for _ in range(7)] == [d * (1 - dice / 2) for d in (1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0)]


@pytest.mark.parametrize("state", ["in a watch", "in a pause", "before it began"])
def test_stop_ends_the_thread_whatever_it_does(server: FakeServer, api: Api, state: str) -> None:
    server.away = state == "in a pause"
    informer: Informer[str] = Informer(api, NODES, str, lambda changes: None, backoff=Backoff(1000.0, 1000.0))
    if state != "before it began":
        informer.start()
        server.wait(lambda: server.queries and (server.away or "watch" in server.queries[-1][1]))
    informer.stop()
    assert not informer._thread.is_alive()
