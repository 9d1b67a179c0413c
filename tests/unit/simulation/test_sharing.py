import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.simulation.sharing import Processor, Task

TASKS = st.lists(st.tuples(st.floats(0.1, 16), st.floats(0.1, 16)), min_size=1, max_size=8)


def shared(cores: float, tasks: list[tuple[float, float]], work: float = 100.0) -> tuple[Processor, list[Task]]:
    processor = Processor(cores)
    made = [Task(work, weight, ceiling, order) for order, (weight, ceiling) in enumerate(tasks)]
    for task in made:
        processor.add(task)
    processor.share()
    return processor, made


@pytest.mark.parametrize(
    ("cores", "tasks", "rates"),
    [
        pytest.param(16, [(1, 16)], [16], id="alone"),
        pytest.param(16, [(1, 4)], [4], id="alone-with-ceiling"),
        pytest.param(16, [(1, 16), (1, 16)], [8, 8], id="equal"),
        pytest.param(16, [(1, 16), (3, 16)], [4, 12], id="weighted"),
        pytest.param(16, [(1, 2), (1, 16), (1, 16)], [2, 7, 7], id="one-meets-its-ceiling"),
        pytest.param(10, [(1, 1), (1, 4), (2, 20)], [1, 3, 6], id="levels"),
    ],
)
def test_rates(cores: float, tasks: list[tuple[float, float]], rates: list[float]) -> None:
    assert [task.rate for task in shared(cores, tasks)[1]] == pytest.approx(rates)


@given(st.floats(0.5, 64), TASKS)
def test_rates_stay_within_ceilings_and_cores(cores: float, tasks: list[tuple[float, float]]) -> None:
    processor, made = shared(cores, tasks)
    assert all(task.rate <= task.ceiling * (1 + 1e-9) for task in made)
    assert sum(task.rate for task in made) <= cores * (1 + 1e-9)
    assert processor.used == pytest.approx(sum(task.rate for task in made))


@given(st.floats(0.5, 64), TASKS)
def test_no_core_idles_while_a_task_could_use_it(cores: float, tasks: list[tuple[float, float]]) -> None:
    _, made = shared(cores, tasks)
    wanted = sum(task.ceiling for task in made)
    assert sum(task.rate for task in made) == pytest.approx(min(cores, wanted))


@given(st.floats(0.5, 64), TASKS)
def test_max_min_fairness(cores: float, tasks: list[tuple[float, float]]) -> None:
    """Who is below the ceiling has the highest rate per weight: nobody could give to it without being poorer."""
    _, made = shared(cores, tasks)
    for task in made:
        if task.rate < task.ceiling * (1 - 1e-9):
            assert all(other.rate / other.weight <= task.rate / task.weight * (1 + 1e-9) for other in made)


def test_work_is_accounted_for_when_rates_change() -> None:
    processor, (first,) = shared(4, [(1, 4)])
    processor.advance(10)
    second = Task(100, 1, 4)
    processor.add(second)
    processor.share()
    processor.advance(20)
    assert (first.consumed, second.consumed) == pytest.approx((60, 20))
    assert (first.left, second.left) == pytest.approx((40, 80))
    assert processor.delivered == pytest.approx(80)


def test_the_first_end_is_foreseen() -> None:
    processor = Processor(4)
    for work in (30.0, 10.0):
        processor.add(Task(work, 1, 4))
    assert processor.share() == pytest.approx(5.0)


def test_nothing_is_foreseen_on_an_idle_processor() -> None:
    assert Processor(4).share() == math.inf


def test_looking_ahead_accounts_for_nothing() -> None:
    processor, (task,) = shared(4, [(1, 4)])
    assert processor.delivered_by(5) == pytest.approx(20)
    assert (processor.delivered, processor.updated, task.left) == (0.0, 0.0, 100.0)


def test_a_task_that_is_done_has_consumed_its_work_exactly() -> None:
    processor = Processor(3)
    task = Task(0.7731, 1, 16)
    processor.add(task)
    processor.advance(1e8)  # begins late, where the clock is coarse
    processor.advance(processor.updated + processor.share())
    assert processor.done() == [task]
    assert (task.consumed, task.left) == (0.7731, 0.0)
    assert processor.delivered == pytest.approx(0.7731, rel=1e-12)


def test_tasks_that_end_together_are_given_in_their_order() -> None:
    processor = Processor(4)
    tasks = [Task(10, 1, ceiling, order) for order, ceiling in enumerate((4, 3, 2))]
    for task in tasks:
        processor.add(task)
        task.left = 0.0
    assert processor.done() == tasks
