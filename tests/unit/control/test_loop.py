from collections.abc import Iterable, Iterator

import pytest

from backend.control.loop import drive
from backend.model import events as ev
from backend.model.actions import Action, Bind, CreatePod, Wake
from backend.model.objects import Pod

A, B, C = (ev.TimerFired(float(time), name) for time, name in enumerate("abc"))
DONE = ev.JobFinished(0.0, "j")
FAILED = ev.JobFailed(0.0, "k", "?")


class Scripted:
    """Says its events, and writes down in `book` what it is told to do."""

    def __init__(self, book: list[object], *events: ev.Event) -> None:
        self.book = book
        self.pending = list(events)
        self.answers: dict[Action, ev.Event] = {}

    def now(self) -> float:
        return 0.0

    def events(self) -> Iterator[ev.Event]:
        while self.pending:
            yield self.pending.pop(0)

    def execute(self, action: Action) -> None:
        self.book.append(action)
        if action in self.answers:
            self.pending.append(self.answers[action])


class Answering:
    """A controller of ready answers."""

    def __init__(self, book: list[object], answers: dict[ev.Event, list[ev.Event | Action]] | None = None) -> None:
        self.book = book
        self.answers = answers or {}

    def handle(self, event: ev.Event) -> Iterable[ev.Event | Action]:
        self.book.append(("handled", event))
        return self.answers.get(event, ())


def test_events_are_logged_before_they_are_handled() -> None:
    book: list[object] = []
    drive(Scripted(book, A, B), Answering(book), book)  # type: ignore[arg-type]
    assert book == [A, ("handled", A), B, ("handled", B)]


def test_outcomes_are_logged_or_carried_out_in_their_order() -> None:
    """The intent (an event) is in the log before the action behind it is begun."""
    book: list[object] = []
    wake, bind = Wake(9.0, "w"), Bind("j", "n")
    drive(Scripted(book, A), Answering(book, {A: [DONE, wake, FAILED, bind]}), book)  # type: ignore[arg-type]
    assert book[2:] == [DONE, wake, FAILED, bind]


def test_what_an_action_causes_comes_back_as_an_event() -> None:
    book: list[object] = []
    create = CreatePod(Pod("p", "j"))
    cluster = Scripted(book, A)
    cluster.answers[create] = B
    drive(cluster, Answering(book, {A: [create]}), book)  # type: ignore[arg-type]
    assert book[-2:] == [B, ("handled", B)]


def test_it_ends_with_the_events() -> None:
    book: list[object] = []
    assert drive(Scripted(book, A), Answering(book), book) is True  # type: ignore[arg-type]


@pytest.mark.parametrize(("stop_at", "whole"), [(A, False), (B, False), (None, True)])
def test_it_can_be_stopped_behind_an_event(stop_at: ev.Event | None, whole: bool) -> None:
    """The outcomes of that event are still logged and carried out."""
    book: list[object] = []
    answers: dict[ev.Event, list[ev.Event | Action]] = {A: [Wake(1.0, "a")], B: [Wake(2.0, "b")], C: [Wake(3.0, "c")]}
    ended = drive(
        Scripted(book, A, B, C),
        Answering(book, answers),
        book,  # type: ignore[arg-type]
        should_stop=lambda event: event is stop_at,
    )
    carried_out = [entry.timer for entry in book if isinstance(entry, Wake)]
    assert (ended, carried_out) == (whole, {A: ["a"], B: ["a", "b"], None: ["a", "b", "c"]}[stop_at])
