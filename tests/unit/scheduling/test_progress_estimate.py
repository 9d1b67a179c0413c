import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.scheduling.progress_estimate import (
    ReportedJob,
    SilentJob,
    area,
    paper,
    paper_fallback,
    processor_sharing,
)

GOLDEN = (ReportedJob(800, 100, 40, 2), ReportedJob(400, 50, 45, 4))


def test_golden_example() -> None:
    """specon-procon.md section 3.1: T = 1600, alpha = 1; A and B use 1200 %, P = 180 and 60, C = 241."""
    estimate = paper(1600, 1.0, GOLDEN, ())
    assert estimate.used_percent == 1200
    assert estimate.remaining_s == pytest.approx((180.0, 60.0))
    assert estimate.cost == 241


@given(st.lists(st.floats(-50, 500, allow_nan=False), max_size=12))
def test_closed_form_equals_the_loop(remaining: list[float]) -> None:
    """EJR(i) = |{j : P_j > i}| summed for i = 0 .. floor(max P), plus 1."""
    top = math.floor(max(remaining, default=0.0))
    assert area(remaining) == 1 + sum(sum(p > i for p in remaining) for i in range(max(top, 0) + 1))


def test_silent_jobs_scale_the_use_up_and_count_by_their_age() -> None:
    """800 % of one of two jobs is taken as 1600 %; the silent one: 10 s x 2 x 3 = 60 s."""
    estimate = paper(1600, 1.0, (ReportedJob(800, 100, 90, 2),), (SilentJob(10, 3),))
    assert estimate.used_percent == 1600
    assert estimate.remaining_s == pytest.approx((2 / 0.5 * 10, 60.0))


def test_only_silent_jobs_use_nothing() -> None:
    assert paper(1600, 1.0, (), (SilentJob(5, 2),)).used_percent == 0.0


def test_use_is_capped_at_the_node() -> None:
    assert paper(1000, 1.0, GOLDEN, ()).used_percent == 1000


@pytest.mark.parametrize(("alpha", "limited"), [(1.0, False), (0.75, False), (0.74, True)])
def test_out_of_limit_is_more_than_alpha(alpha: float, limited: bool) -> None:
    assert (paper(1600, alpha, GOLDEN, ()).cost is None) is limited


def test_a_finished_job_counts_nothing() -> None:
    assert paper(1600, 1.0, (ReportedJob(800, 100, 100, 2),), ()).cost == 1


def test_an_empty_node_costs_one() -> None:
    assert paper(1600, 1.0, (), ()).cost == 1


def test_fallback_by_hand() -> None:
    """n = 2: A 2 x 2 x 60 = 240, B 4 x 2 x 5 = 40; (1 + 280) x 2."""
    assert paper_fallback(GOLDEN, ()) == 562


def test_processor_sharing_by_hand() -> None:
    """Works 8 and 24 on 4 cores: both at 2 cores until 4 s, then the second alone: 16 left at 4 cores, ends at 8 s."""
    assert processor_sharing([24, 8], 4) == pytest.approx([8.0, 4.0])


@given(st.lists(st.floats(0, 1e4), min_size=1, max_size=8), st.floats(0.5, 64))
def test_processor_sharing_conserves_work(works: list[float], cores: float) -> None:
    assert max(processor_sharing(works, cores)) == pytest.approx(sum(works) / cores, abs=1e-6)
