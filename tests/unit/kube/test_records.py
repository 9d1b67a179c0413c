"""Kubernetes Events of what we do: written when they can be, never waited for."""

import threading

import pytest

from backend.kube.client import Api
from backend.kube.records import LONGEST_QUEUE, Record, RecordedLog, Recorder, records_of
from backend.model import events as ev
from tests.unit.kube.fake_server import FakeServer

MIGRATION = ev.MigrationStarted(1, 1, "job", "a", "n1", "n2", "converged", "it learns no more")

RECORDS: dict[str, tuple[ev.Event, list[tuple[str, str, bool]]]] = {
    "placed": (ev.DecisionMade(1, "a", "n1", "default", "best"), []),
    "not placed": (
        ev.DecisionMade(1, "a", None, "default", "no node fits"),
        [("FailedScheduling", "no node fits", True)],
    ),
    "bound": (ev.PodBound(1, "a", "n1"), [("Scheduled", "Successfully assigned a to n1", False)]),
    "not bound": (ev.BindFailed(1, "a", "n1", "409"), [("FailedBinding", "n1: 409", True)]),
    "migrating": (MIGRATION, [("Migrating", "From n1 to n2: it learns no more", False)]),
    "migrated": (
        ev.MigrationFinished(9, 1, "job", "a-migrated", "n2", 4.25),
        [("Migrated", "Runs on n2 after 4.2 s", False)],
    ),
    "anything else": (ev.PodStarted(1, "a", "n1"), []),
}


@pytest.mark.parametrize("case", RECORDS, ids=str)
def test_what_is_worth_an_event(case: str) -> None:
    event, expected = RECORDS[case]
    assert [(record.reason, record.message, record.warning) for record in records_of(event)] == expected


def test_events_are_written_as_the_log_is(server: FakeServer, api: Api) -> None:
    recorder = Recorder(api, {"ml.a": "u1"}.get, wall=lambda: 1_767_225_600.25)  # type: ignore[arg-type]
    recorder.start()
    inner: list[ev.Event] = []
    log = RecordedLog(inner, recorder)
    log.append(ev.PodBound(1, "ml.a", "n1"))
    log.append(ev.PodBound(2, "b", "n1"))
    server.wait(lambda: len(server.events) == 2)
    recorder.stop()
    assert len(inner) == 2
    written = server.events[0]
    assert written["involvedObject"] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": "a",
        "namespace": "ml",
        "uid": "u1",
    }
    assert written["metadata"]["namespace"] == "ml"
    assert (written["reason"], written["type"], written["firstTimestamp"]) == (
        "Scheduled",
        "Normal",
        "2026-01-01T00:00:00Z",
    )
    assert written["eventTime"] == "2026-01-01T00:00:00.250000Z"
    names = {event["metadata"]["name"] for event in server.events}
    assert len(names) == 2


def test_a_server_that_is_away_keeps_nobody_waiting(server: FakeServer, api: Api) -> None:
    server.away = True
    recorder = Recorder(api)
    for n in range(LONGEST_QUEUE + 5):
        recorder.record(Record("a", "Scheduled", f"{n}"))
    assert recorder.dropped == 5
    recorder.start()
    server.wait(lambda: server.count("POST .*"))
    stopping = threading.Thread(target=recorder.stop)
    stopping.start()
    server.away = False
    stopping.join(10)
    assert not stopping.is_alive()
    assert server.count("POST .*") < LONGEST_QUEUE
