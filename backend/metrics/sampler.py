"""UsageSampler: asks the best source that works, in its own threads, so that nobody who reads ever waits for one.

One thread steers; each question runs in a thread of its own. A source whose answer does not come in time is "slow", and
the next one is asked meanwhile. Sources better than the one in use are asked again and again, at most `LONGEST_WAIT_S`
apart, so that an outage shows and ends within five seconds.
"""

import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from backend.metrics.health import Health, SourceHealth
from backend.metrics.prometheus import sampled
from backend.metrics.reading import Reading, SourceError, State, UsageSource, shorten
from backend.model.events import UsageSampled

LONGEST_PACE_S = 2.0
"""A source in use is asked at least this often, so that its outage shows also where samples are wanted rarely."""
FIRST_WAIT_S = 0.25
LONGEST_WAIT_S = 4.0
"""From one question to a source that fails to the next; leaves a second for the answer."""
ABANDON_S = 10.0
"""A question that is open for longer is given up and another one asked: its source's own time-out has failed."""
MOST_ABANDONED = 3
"""Given-up questions of a source that hang at the same time; with more, it is asked no further."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The newest usage."""

    event: UsageSampled
    source: str
    clamped: frozenset[str]
    """Nodes whose value was out of bounds and was held within them."""
    memory_unknown: frozenset[str]
    """Nodes whose memory the source does not know; it stands as 0 in the event."""
    age_s: float
    """Age when it was asked for."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """A sample and when (by the monotonic clock) its newest value was measured."""

    event: UsageSampled
    source: str
    clamped: frozenset[str]
    memory_unknown: frozenset[str]
    measured: float


class _Track:
    """What is known of one source. Guarded by the sampler's lock."""

    def __init__(self, source: UsageSource) -> None:
        self.source = source
        self.state: State = "unused"
        self.query = source.query
        self.answer = "not asked yet"
        self.asking: float | None = None
        """When the question began that is still open."""
        self.number = 0
        """Of the newest question; answers to others come too late."""
        self.abandoned: list[threading.Thread] = []
        self.late = False
        """The open question has taken longer than it may."""
        self.asked: float | None = None
        self.next_at = -math.inf
        self.failures = 0
        self.failed_as: State = "unused"
        self.waits = 0
        """Failures of that kind in a row, after the first."""
        self.worked: float | None = None
        self.worked_at: float | None = None
        self.measured: float | None = None
        self.thread: threading.Thread | None = None

    def give_up(self) -> bool:
        """Let go of the open question, unless too many hang already."""
        self.abandoned = [thread for thread in self.abandoned if thread.is_alive()]
        if self.thread is None or len(self.abandoned) >= MOST_ABANDONED:
            return False
        self.abandoned.append(self.thread)
        self.asking = self.thread = None
        return True


class UsageSampler:
    """Samples node usage from the first of its sources that works."""

    def __init__(
        self,
        sources: Sequence[UsageSource],
        interval_s: float,
        clock: Callable[[], float],
        on_sample: Callable[[UsageSampled], None] | None = None,
        *,
        patience_s: float = 2.0,
        stale_s: float = 180.0,
        monotonic: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """`clock` gives the time of events (seconds since the run began); `on_sample` gets one each `interval_s`.

        A source that has not answered in full after `patience_s` is slow; one whose newest sample is older than
        `stale_s` has no data.
        """
        if not sources or interval_s <= 0 or patience_s <= 0:
            raise ValueError("a sampler needs a source, an interval and a patience of more than 0 s")
        self._tracks = [_Track(source) for source in sources]
        self._interval_s = interval_s
        self._pace_s = interval_s / math.ceil(interval_s / LONGEST_PACE_S)
        self._clock = clock
        self._on_sample = on_sample
        self._patience_s = patience_s
        self._stale_s = stale_s
        self._monotonic = monotonic
        self._wall = wall
        self._changed = threading.Condition(threading.Lock())
        self._ended = False
        self._answers: list[tuple[_Track, int, Reading | SourceError, float]] = []
        self._kept: _Kept | None = None
        self._handler_error = ""
        self._emit_at = -math.inf
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to sample."""
        if self._thread is not None:
            raise RuntimeError("the sampler was started already")
        self._thread = threading.Thread(target=self._run, name="usage-sampler", daemon=True)
        self._thread.start()

    def stop(self, wait_s: float = 1.0) -> None:
        """End, and wait a little for open questions; one that hangs is left behind and its answer ignored."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
            open_questions = [track.thread for track in self._tracks if track.thread is not None]
        until = time.monotonic() + wait_s
        for thread in [self._thread, *open_questions]:
            if thread is not None and thread is not threading.current_thread():
                thread.join(max(0.0, until - time.monotonic()))
        for track in self._tracks:
            track.source.close()

    def __enter__(self) -> "UsageSampler":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def latest(self) -> Sample | None:
        """The newest sample there is, however old. Returns at once."""
        kept = self._kept
        if kept is None:
            return None
        age = max(0.0, self._monotonic() - kept.measured)
        return Sample(kept.event, kept.source, kept.clamped, kept.memory_unknown, age)

    def health(self) -> Health:
        """How all sources are. Returns at once."""
        now = self._monotonic()
        with self._changed:
            kept = self._kept
            return Health(
                source=next((track.source.name for track in self._tracks if track.state == "ok"), None),
                age_s=None if kept is None else max(0.0, now - kept.measured),
                sources=tuple(_health(track, now) for track in self._tracks),
                handler_error=self._handler_error,
            )

    def _run(self) -> None:
        while True:
            try:
                if self._turn():
                    return
            except Exception as error:  # noqa: BLE001 - such as no thread to be had: sampling goes on
                self._handler_error = shorten(f"{type(error).__name__}: {error}")
                with self._changed:
                    self._changed.wait(FIRST_WAIT_S)

    def _turn(self) -> bool:
        """Take what came, ask what is due, wait. True at the end."""
        events: list[UsageSampled] = []
        with self._changed:
            if self._ended:
                return True
            while self._answers:
                track, number, answer, ended = self._answers.pop(0)
                if number == track.number:
                    events += self._take(track, answer, ended)
            wait = self._ask_due()
            if not events:
                self._changed.wait(wait)
        for event in events:
            self._give(event)
        return False

    def _ask_due(self) -> float:
        """Start each question that is due, best source first, down to one that works; how long until the next is."""
        now = self._monotonic()
        soonest = now + 60.0
        for place, track in enumerate(self._tracks):
            soonest = min(soonest, self._ask_if_due(track, now))
            if track.state in {"ok", "unused"}:
                # Whoever works, or is asked for the first time and may yet, has no need of those behind.
                self._release(self._tracks[place + 1 :])
                break
        return max(0.0, soonest - now)

    def _ask_if_due(self, track: _Track, now: float) -> float:
        """Ask a source if it is time; when to look at it again."""
        if track.asking is not None and track.late and now >= track.asking + ABANDON_S and not track.give_up():
            return now + ABANDON_S
        if track.asking is None:
            if now < track.next_at:
                return track.next_at
            self._ask(track, now)
            return now + self._patience_s
        if track.late:
            return track.asking + ABANDON_S
        if now < track.asking + self._patience_s:
            return track.asking + self._patience_s
        track.late = True
        track.failures += 1
        track.state, track.query = "slow", track.source.query
        track.answer = f"no answer within {self._patience_s:g} s"
        return track.asking + ABANDON_S

    def _release(self, behind: Sequence[_Track]) -> None:
        for track in behind:
            if track.asking is None and track.state != "unused":
                track.state = "unused"
                track.answer = f"not needed; the last answer was: {track.answer}"
                track.next_at = -math.inf
                track.failures = 0

    def _ask(self, track: _Track, now: float) -> None:
        track.asking = track.asked = now
        track.late = False
        track.number += 1
        track.thread = threading.Thread(
            target=self._question, args=(track, track.number), name=f"usage-{track.source.name}", daemon=True
        )
        track.thread.start()

    def _question(self, track: _Track, number: int) -> None:
        answer: Reading | SourceError
        try:
            answer = track.source.read()
        except SourceError as error:
            answer = error
        except Exception as error:  # noqa: BLE001 - a source that breaks is a source that is down
            answer = SourceError("down", track.source.query, f"{type(error).__name__}: {error}")
        with self._changed:
            self._answers.append((track, number, answer, self._monotonic()))
            self._changed.notify_all()

    def _take(self, track: _Track, answer: Reading | SourceError, ended: float) -> list[UsageSampled]:
        """Note an answer; the event it makes, if it is wanted and due."""
        assert track.asking is not None
        began, was_late = track.asking, track.late
        track.asking, track.late, track.thread = None, False, None
        if isinstance(answer, Reading):
            if not answer.nodes:
                answer = SourceError("no data", answer.query, "no nodes")
            elif answer.age_s > self._stale_s:
                words = f"the newest sample is {answer.age_s:.0f} s old; {answer.answer}"
                answer = SourceError("no data", answer.query, words)
        if isinstance(answer, SourceError):
            self._failed(track, answer.state, answer.query, answer.answer, began, was_late)
            return []
        track.worked, track.worked_at = ended, self._wall()
        track.measured = ended - answer.age_s
        took = ended - began
        if took > self._patience_s:
            words = f"took {took:.1f} s, more than {self._patience_s:g} s: {answer.answer}"
            self._failed(track, "slow", answer.query, words, began, was_late)
            if any(other.state == "ok" for other in self._tracks):
                return []
        else:
            track.state, track.failures, track.failed_as = "ok", 0, "ok"
            track.query, track.answer = shorten(answer.query, 400), shorten(answer.answer)
            track.next_at = began + self._pace_s
            better = self._tracks[: self._tracks.index(track)]
            if any(other.state == "ok" for other in better):
                return []
        return self._publish(track, answer, ended)

    def _failed(self, track: _Track, state: State, query: str, answer: str, began: float, counted: bool) -> None:
        track.state, track.query, track.answer = state, shorten(query, 400), shorten(answer)
        track.failures += not counted
        # Another failure than before may be a recovery on its way, such as a server that starts: asked soon again.
        track.waits = 0 if state != track.failed_as else min(track.waits + 1, 10)
        track.failed_as = state
        longest = LONGEST_PACE_S if state == "no data" else LONGEST_WAIT_S  # it answers, and may have some any moment
        wait = min(longest, FIRST_WAIT_S * 2.0**track.waits)
        track.next_at = began + wait

    def _publish(self, track: _Track, reading: Reading, now: float) -> list[UsageSampled]:
        event = sampled(self._clock(), reading.nodes)
        self._kept = _Kept(
            event,
            track.source.name,
            frozenset(node for node, usage in reading.nodes.items() if usage.clamped),
            frozenset(node for node, usage in reading.nodes.items() if usage.memory_bytes is None),
            now - reading.age_s,
        )
        if now < self._emit_at - self._pace_s / 2:
            return []
        on_time = self._emit_at + self._interval_s
        self._emit_at = on_time if on_time > now else now + self._interval_s
        return [event]

    def _give(self, event: UsageSampled) -> None:
        """Hand a sample on, outside the lock: whoever receives it may take long."""
        if self._on_sample is None:
            return
        try:
            self._on_sample(event)
        except Exception as error:  # noqa: BLE001 - sampling goes on, and the error shows in health()
            self._handler_error = shorten(f"{type(error).__name__}: {error}")


def _health(track: _Track, now: float) -> SourceHealth:
    def ago(then: float | None) -> float | None:
        return None if then is None else max(0.0, now - then)

    return SourceHealth(
        name=track.source.name,
        state=track.state,
        address=track.source.address,
        query=shorten(track.query, 400),
        answer=track.answer,
        asked_ago_s=ago(track.asked),
        worked_at=track.worked_at,
        worked_ago_s=ago(track.worked),
        age_s=ago(track.measured),
        failures=track.failures,
    )
