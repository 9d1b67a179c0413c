"""UsageSampler: the best source that works, and no reader ever waits."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from backend.metrics.embedded import EmbeddedSource
from backend.metrics.health import SourceHealth
from backend.metrics.metrics_server import MetricsServerSource
from backend.metrics.prometheus import PrometheusSource
from backend.metrics.reading import NodeUsage, Reading, SourceError, UsageSource
from backend.metrics.sampler import UsageSampler
from backend.model.events import UsageSampled
from tests.unit.metrics.conditions import wait_until
from tests.unit.metrics.fake_prometheus import FakePrometheus


class Scripted:
    """A source that does what the test says."""

    address, query = "here", "what?"

    def __init__(self, name: str, cpu: float = 1.0) -> None:
        self.name = name
        self.cpu = cpu
        self.error: Exception | None = None
        self.age_s = 0.0
        self.asked = 0
        self.open = threading.Event()
        self.open.set()
        self.closed = False

    def read(self) -> Reading:
        self.asked += 1
        self.open.wait(60)
        if self.error is not None:
            raise self.error
        return Reading({"a": NodeUsage(self.cpu, 1.0)}, self.query, "1 node", self.age_s)

    def close(self) -> None:
        self.closed = True


class Kit:
    """Starts samplers and stops them at the end of the test."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self.events: list[UsageSampled] = []

    def __call__(self, *sources: UsageSource, interval_s: float = 0.05, **options: Any) -> UsageSampler:
        options.setdefault("on_sample", self.events.append)
        options.setdefault("clock", lambda: 12.0)
        return self._stack.enter_context(UsageSampler(sources, interval_s, **options))


@pytest.fixture
def sampler() -> Iterator[Kit]:
    with ExitStack() as stack:
        yield Kit(stack)


def of(sampler: UsageSampler, name: str) -> SourceHealth:
    return next(source for source in sampler.health().sources if source.name == name)


def source_is(sampler: UsageSampler, name: str) -> Callable[[], bool]:
    def check() -> bool:
        latest = sampler.latest()
        return latest is not None and latest.source == name

    return check


def state_is(sampler: UsageSampler, name: str, *states: str) -> Callable[[], bool]:
    return lambda: of(sampler, name).state in states


def embedded() -> EmbeddedSource:
    return EmbeddedSource(lambda: {"a": (0.5, 7.0)})


def test_samples_come_from_prometheus_while_it_works(fake: FakePrometheus, sampler: Kit) -> None:
    fake.nodes({"a": 0.25, "b": 1.5}, {"a": 9}, cores=2, age=3)
    running = sampler(PrometheusSource(fake.url), embedded())
    wait_until(lambda: len(sampler.events) >= 2)
    assert sampler.events[0] == UsageSampled(12.0, ("a", "b"), (500.0, 2000.0), (9.0, 0.0))
    latest = running.latest()
    assert latest is not None
    assert (latest.source, set(latest.clamped), set(latest.memory_unknown)) == ("prometheus", {"b"}, {"b"})
    assert latest.age_s >= 3
    health = running.health()
    assert health.source == "prometheus"
    assert health.age_s is not None and health.age_s >= 3
    shown = of(running, "prometheus")
    assert (shown.state, shown.address, shown.failures) == ("ok", fake.url, 0)
    assert shown.query.startswith("1 - avg by (node)")
    assert shown.answer.startswith("2 nodes")
    assert shown.worked_at is not None and abs(shown.worked_at - time.time()) < 60
    assert of(running, "embedded").state == "unused"
    assert of(running, "embedded").asked_ago_s is None


@pytest.mark.parametrize(
    ("status", "body", "state", "words"),
    [
        (200, b'{"status":"success","data":{"resultType":"vector","result":[]}}', "no data", "no series"),
        (
            400,
            b'{"status":"error","errorType":"bad_data","error":"parse error"}',
            "down",
            "HTTP 400: bad_data: parse error",
        ),
        (500, b"broken", "down", "HTTP 500: broken"),
        (200, b"<html>", "down", "no JSON: <html>"),
    ],
)
def test_a_bad_answer_falls_back_and_recovers(
    fake: FakePrometheus, sampler: Kit, status: int, body: bytes, state: str, words: str
) -> None:
    fake.nodes({"a": 0.25})
    fake.status, fake.body = status, body
    running = sampler(PrometheusSource(fake.url), embedded())
    wait_until(source_is(running, "embedded"))
    shown = of(running, "prometheus")
    assert (shown.state, shown.answer, shown.worked_at) == (state, words, None)
    assert running.health().source == "embedded"
    fake.status, fake.body = 200, None
    wait_until(source_is(running, "prometheus"), within=5)
    assert of(running, "prometheus").state == "ok"
    wait_until(state_is(running, "embedded", "unused"))


def test_nan_alone_falls_back(fake: FakePrometheus, sampler: Kit) -> None:
    fake.nodes({"a": "NaN"})
    running = sampler(PrometheusSource(fake.url), embedded())
    wait_until(source_is(running, "embedded"))
    assert of(running, "prometheus").state == "no data"


def test_a_refused_connection_falls_back_and_recovers(fake: FakePrometheus, sampler: Kit) -> None:
    fake.close()
    running = sampler(PrometheusSource(fake.url), embedded())
    wait_until(source_is(running, "embedded"))
    assert of(running, "prometheus").answer == "connection refused"
    again = FakePrometheus(fake.port)
    try:
        again.nodes({"a": 0.75})
        wait_until(source_is(running, "prometheus"), within=5)
    finally:
        again.close()


def test_a_server_that_never_answers_blocks_nobody(fake: FakePrometheus, sampler: Kit) -> None:
    fake.nodes({"a": 0.25})
    running = sampler(PrometheusSource(fake.url, timeout_s=60), embedded(), patience_s=0.2)
    wait_until(source_is(running, "prometheus"))
    fake.hang = True
    asked = len(fake.asked)
    wait_until(lambda: len(fake.asked) > asked, what="a question that hangs")
    began = time.monotonic()
    for _ in range(1000):
        assert running.latest() is not None
    running.health()
    assert time.monotonic() - began < 0.5
    wait_until(state_is(running, "prometheus", "slow"), within=5)
    wait_until(source_is(running, "embedded"), within=5)
    assert of(running, "prometheus").answer == "no answer within 0.2 s"
    assert of(running, "prometheus").worked_ago_s is not None
    fake.hang = False
    fake.let_go.set()
    wait_until(source_is(running, "prometheus"), within=5)


def test_stop_does_not_wait_for_a_source_that_hangs(sampler: Kit) -> None:
    first = Scripted("first")
    first.open.clear()
    running = sampler(first)
    wait_until(lambda: first.asked == 1)
    began = time.monotonic()
    running.stop(wait_s=0.05)
    assert time.monotonic() - began < 2
    assert first.closed
    assert running.latest() is None
    first.open.set()


def test_the_order_is_kept_and_those_behind_are_left_alone(sampler: Kit) -> None:
    first, second, third = Scripted("first", 1), Scripted("second", 2), Scripted("third", 3)
    running = sampler(first, second, third)
    wait_until(lambda: len(sampler.events) >= 3)
    assert (second.asked, third.asked) == (0, 0)
    first.error = RuntimeError("broke")
    wait_until(source_is(running, "second"))
    assert (of(running, "first").state, of(running, "first").answer) == ("down", "RuntimeError: broke")
    assert third.asked == 0
    second.error = SourceError("no data", "q2", "nothing")
    wait_until(source_is(running, "third"))
    assert (of(running, "second").state, of(running, "second").query) == ("no data", "q2")
    second.error = None
    wait_until(source_is(running, "second"), within=5)
    first.error = None
    wait_until(source_is(running, "first"), within=5)
    assert {use.cpu_millis for use in sampler.events} == {(1.0,), (2.0,), (3.0,)}


def test_metrics_server_stands_between(fake: FakePrometheus, sampler: Kit) -> None:
    fake.status, fake.body = 503, b""
    body = {
        "items": [
            {"metadata": {"name": "a"}, "timestamp": "2023-11-14T22:13:20Z", "usage": {"cpu": "1", "memory": "1Ki"}}
        ]
    }
    server = MetricsServerSource(lambda: body, "api", wall=lambda: 1_700_000_010.0)
    running = sampler(PrometheusSource(fake.url), server, embedded())
    wait_until(source_is(running, "metrics-server"))
    assert of(running, "metrics-server").age_s is not None
    assert of(running, "embedded").asked_ago_s is None


def test_old_samples_are_no_data(sampler: Kit) -> None:
    first = Scripted("first")
    first.age_s = 500.0
    running = sampler(first, embedded(), stale_s=60)
    wait_until(source_is(running, "embedded"))
    assert of(running, "first").state == "no data"
    assert of(running, "first").answer == "the newest sample is 500 s old; 1 node"


def test_a_late_answer_is_used_where_there_is_no_other(sampler: Kit) -> None:
    first = Scripted("first")
    first.open.clear()
    running = sampler(first, patience_s=0.1)
    wait_until(state_is(running, "first", "slow"))
    first.open.set()
    wait_until(source_is(running, "first"))


def test_a_late_answer_does_not_take_the_place_of_a_prompt_one(sampler: Kit) -> None:
    first, second = Scripted("first", 1), Scripted("second", 2)
    first.open.clear()
    running = sampler(first, second, patience_s=0.2)
    wait_until(source_is(running, "second"))
    first.error = SourceError("down", "q", "gone")
    first.open.set()
    wait_until(state_is(running, "first", "down"))
    assert {use.cpu_millis for use in sampler.events} == {(2.0,)}
    first.error = None
    wait_until(source_is(running, "first"), within=5)


def test_a_question_that_hangs_for_ever_is_given_up(sampler: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backend.metrics.sampler.ABANDON_S", 0.2)
    first = Scripted("first")
    first.open.clear()
    running = sampler(first, embedded(), patience_s=0.05)
    wait_until(lambda: first.asked == 4, what="three given up and one more asked")
    wait_until(source_is(running, "embedded"))
    seen = len(sampler.events)
    wait_until(lambda: len(sampler.events) >= seen + 10)
    assert first.asked == 4, "no more threads than that"
    first.open.set()
    wait_until(source_is(running, "first"), within=5)


def test_a_receiver_that_raises_does_not_end_the_sampling(sampler: Kit) -> None:
    calls: list[UsageSampled] = []

    def receive(event: UsageSampled) -> None:
        calls.append(event)
        raise OSError("disk full")

    running = sampler(embedded(), on_sample=receive)
    wait_until(lambda: len(calls) >= 3)
    assert running.health().handler_error == "OSError: disk full"


def test_a_clock_that_fails_does_not_end_the_sampling(sampler: Kit) -> None:
    fails = [True]

    def clock() -> float:
        if fails[0]:
            raise ValueError("no time")
        return 1.0

    running = sampler(embedded(), clock=clock)
    wait_until(lambda: running.health().handler_error == "ValueError: no time")
    fails[0] = False
    wait_until(lambda: sampler.events)


def test_events_come_each_interval_however_often_sources_are_asked(
    sampler: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backend.metrics.sampler.LONGEST_PACE_S", 0.05)
    first = Scripted("first")
    moments: list[float] = []
    sampler(first, interval_s=0.5, on_sample=lambda _: moments.append(time.monotonic()))
    wait_until(lambda: len(moments) >= 4)
    assert first.asked >= 2 * len(moments)
    assert moments[3] - moments[0] >= 1.2


def test_an_empty_reading_is_no_data(sampler: Kit) -> None:
    class Empty(Scripted):
        def read(self) -> Reading:
            return Reading({}, "q", "?")

    running = sampler(Empty("empty"))
    wait_until(state_is(running, "empty", "no data"))
    health = running.health()
    assert (health.source, health.age_s) == (None, None)


def test_settings_that_make_no_sense_are_refused() -> None:
    for sources, interval in (((), 1.0), ((embedded(),), 0.0)):
        with pytest.raises(ValueError):
            UsageSampler(sources, interval, lambda: 0.0)
    running = UsageSampler([embedded()], 1.0, lambda: 0.0)
    with running, pytest.raises(RuntimeError):
        running.start()
