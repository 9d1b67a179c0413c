from datetime import UTC, datetime

import pytest

from dashboard import formats

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"),
        (float("nan"), "–"),
        (0, "0.0 s"),
        (9.94, "9.9 s"),
        (48, "48 s"),
        (150, "2:30"),
        (3750, "1:02:30"),
        (-5, "−5.0 s"),
    ],
    ids=str,
)
def test_durations(value: float | None, shown: str) -> None:
    assert formats.seconds(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(12.04, "+12.0 s"), (-3.46, "−3.5 s"), (0.01, "0.0 s"), (-0.01, "0.0 s"), (None, "–")], ids=str
)
def test_differences_always_show_their_sign(value: float | None, shown: str) -> None:
    assert formats.signed(value, 1, "s") == shown


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (1048.25, "s", "1,048.2 s"),
        (0.731, "share", "73.1 %"),
        (3.0, "", "3"),
        (0.9234, "", "0.923"),
        (12.0, "core-s", "12 core-s"),
    ],
    ids=["seconds", "share", "count", "index", "work"],
)
def test_metrics_in_their_unit(value: float, unit: str, shown: str) -> None:
    assert formats.quantity(value, unit) == shown


@pytest.mark.parametrize(
    ("iso", "shown"),
    [
        ("2026-12-01T11:59:40Z", "just now"),
        ("2026-12-01T11:56:00+00:00", "4 min ago"),
        ("2026-12-01T09:00:00", "3 h ago"),
        ("2026-11-01T09:00:00Z", "2026-11-01 09:00 UTC"),
        ("yesterday", "–"),
        (None, "–"),
    ],
    ids=["now", "minutes", "hours", "date", "not a time", "none"],
)
def test_times_are_ages_first_and_dates_later(iso: str | None, shown: str) -> None:
    assert formats.moment(iso, NOW) == shown
