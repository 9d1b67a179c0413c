import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.migration.progress import Mode, ProgressMeter

NAN = float("nan")
INF = float("inf")


def scores(
    mode: Mode,
    windows: list[list[float | None]],
    *,
    interval: float = 10.0,
    cpu_millis: float = 4000.0,
    capacity_millis: int = 16_000,
    epoch_s: float = 1.0,
) -> list[float | None]:
    """The score after each interval; `windows` holds the samples of each."""
    meter = ProgressMeter(mode, interval)
    found = []
    for number, samples in enumerate(windows, 1):
        for value in samples:
            meter.add(value, cpu_millis, epoch_s)
        found.append(meter.tick(number * interval, capacity_millis))
    return found


SERIES: list[list[float | None]] = [[8.0], [6.0, 4.0], [4.0], [4.0]]
"""Interval means 8, 5, 4, 4; differences 3, 1, 0; largest value 8; 10 s each; a quarter of the machine."""


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        pytest.param("raw", [None, 0.3, 0.1, 0.0], id="raw: |dE| / 10 s"),
        pytest.param("per_interval", [None, 3.0, 1.0, 0.0], id="per_interval: |dE|"),
        pytest.param("relative", [None, 1.0, 1 / 3, 0.0], id="relative: to the peak of 0.3"),
        pytest.param("flowcon", [None, 0.3 / 8, 0.1 / 8, 0.0], id="flowcon: of E / 8"),
        pytest.param("growth", [None, 0.3 / 8 / 0.25, 0.1 / 8 / 0.25, 0.0], id="growth: flowcon / (1/4)"),
    ],
)
def test_modes_on_a_series_worked_by_hand(mode: Mode, expected: list[float | None]) -> None:
    assert scores(mode, SERIES) == pytest.approx(expected)


@pytest.mark.parametrize("mode", ["raw", "per_interval", "relative"])
def test_a_rising_metric_scores_as_the_same_one_falling(mode: Mode) -> None:
    rising: list[list[float | None]] = [[-value for value in window if value is not None] for window in SERIES]
    assert scores(mode, rising) == pytest.approx(scores(mode, SERIES))


def test_flowcon_takes_the_largest_value_of_the_whole_life_so_far() -> None:
    """Accuracy .2 .5 .8: the second score divides by .8, the first by .5."""
    assert scores("flowcon", [[0.2], [0.5], [0.8]]) == pytest.approx([None, 0.03 / 0.5, 0.03 / 0.8])


def test_the_relative_score_does_not_depend_on_the_scale_of_the_metric() -> None:
    large: list[list[float | None]] = [[1000.0 * value for value in window if value is not None] for window in SERIES]
    assert scores("relative", large) == pytest.approx(scores("relative", SERIES))


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        pytest.param("raw", [None, None, 0.1], id="raw spans the gap with its real length"),
        pytest.param("flowcon", [None, None, None], id="flowcon: unknown, not 0"),
        pytest.param("growth", [None, None, None], id="growth: unknown, not 0"),
    ],
)
def test_an_empty_window_gives_no_score(mode: Mode, expected: list[float | None]) -> None:
    assert scores(mode, [[4.0], [], [2.0]]) == pytest.approx(expected)


def test_growth_is_unknown_without_a_cpu_sample() -> None:
    assert scores("growth", [[4.0], [2.0]], cpu_millis=NAN) == [None, None]


def test_growth_is_unknown_for_a_job_that_used_no_cpu() -> None:
    assert scores("growth", [[4.0], [2.0]], cpu_millis=0.0) == [None, None]


def test_growth_takes_the_mean_share_of_the_window() -> None:
    meter = ProgressMeter("growth", 10.0)
    meter.add(8.0, 16_000.0, 1.0)
    meter.tick(10.0, 16_000)
    meter.add(4.0, 2000.0, 1.0)
    meter.add(4.0, 6000.0, 1.0)
    assert meter.tick(20.0, 16_000) == pytest.approx(0.4 / 8 / 0.25)


@pytest.mark.parametrize("bad", [None, NAN, INF, -INF], ids=["none", "nan", "inf", "-inf"])
def test_what_is_no_number_is_dropped(bad: float | None) -> None:
    assert scores("raw", [[8.0, bad], [bad, 6.0], [bad]]) == pytest.approx([None, 0.2, None])


def test_a_difference_beyond_all_floats_gives_no_score() -> None:
    assert scores("relative", [[1e308], [-1e308], [1e308], [1e308]]) == [None, None, None, 0.0]


def test_windows_without_a_sample_are_counted_until_the_next_sample() -> None:
    meter = ProgressMeter("relative", 10.0)
    seen = []
    for number, value in enumerate([None, None, 3.0, None], 1):
        meter.add(value, 4000.0, 1.0)
        meter.tick(10.0 * number, 16_000)
        seen.append(meter.silent)
    assert seen == [1, 2, 0, 1]


def test_a_constant_metric_scores_zero_in_every_mode() -> None:
    modes: list[Mode] = ["relative", "raw", "per_interval", "flowcon", "growth"]
    assert [scores(mode, [[2.0], [2.0], [2.0]]) for mode in modes] == [[None, 0.0, 0.0]] * 5


def test_a_metric_that_is_always_zero_scores_zero() -> None:
    assert scores("flowcon", [[0.0], [0.0]]) == [None, 0.0]


@pytest.mark.parametrize(
    ("epoch_s", "expected"),
    [
        pytest.param(5.0, [None, 0.1, 0.1, 0.1], id="two epochs just fit: no widening"),
        pytest.param(5.1, [None, None, None, 0.1], id="two intervals a window"),
        pytest.param(15.0, [None, None, None, None], id="three intervals a window"),
    ],
)
def test_the_window_widens_to_two_epochs(epoch_s: float, expected: list[float | None]) -> None:
    assert scores("raw", [[9.0], [8.0], [7.0], [6.0]], epoch_s=epoch_s) == pytest.approx(expected)


def test_a_widened_window_takes_the_mean_of_all_its_samples() -> None:
    """Windows of 30 s: means 8 and 5, 30 s apart."""
    windows: list[list[float | None]] = [[9.0], [], [7.0], [6.0], [], [4.0]]
    assert scores("raw", windows, epoch_s=15.0) == pytest.approx([None] * 5 + [0.1])


def test_a_restart_keeps_the_peak_and_spans_no_downtime() -> None:
    meter = ProgressMeter("relative", 10.0)
    found = []
    for number, value in enumerate([9.0, 5.0, 4.0, 3.0], 1):
        if number == 3:
            meter.restart()
        meter.add(value, 4000.0, 1.0)
        found.append(meter.tick(10.0 * number, 16_000))
    assert found == pytest.approx([None, 1.0, None, 0.25])


@given(
    mode=st.sampled_from(["relative", "raw", "per_interval", "flowcon", "growth"]),
    windows=st.lists(st.lists(st.none() | st.floats(), max_size=3), max_size=12),
    epoch_s=st.floats(0, 40),
)
def test_a_score_is_never_negative_and_never_nan(mode: Mode, windows: list[list[float | None]], epoch_s: float) -> None:
    assert all(score is None or score >= 0 for score in scores(mode, windows, epoch_s=epoch_s))


@given(values=st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=30))
def test_a_relative_score_lies_between_0_and_1_and_the_first_is_the_peak(values: list[float]) -> None:
    found = [score for score in scores("relative", [[value] for value in values]) if score is not None]
    assert all(0 <= score <= 1 for score in found)
    assert found[0] in (0.0, 1.0)
    assert math.isclose(max(found), 1.0) or max(found) == 0.0
