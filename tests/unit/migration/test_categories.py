import pytest

from backend.migration.categories import Classifier

LETTERS = {"progressing": "P", "watching": "W", "converged": "C"}


def trace(scores: list[float], patience: int, alpha: float = 0.1) -> str:
    classifier = Classifier()
    letters = []
    for score in scores:
        classifier.observe(score, alpha, patience)
        letters.append(LETTERS[classifier.category])
    return "".join(letters)


@pytest.mark.parametrize("patience", [0, 3, 4], ids=["off", "default", "longer"])
def test_the_worked_trace_of_section_1_4(patience: int) -> None:
    assert trace([0.5, 0.3, 0.09, 0.05, 0.04, 0.2, 0.09, 0.095, 0.08], patience) == "PPWCCPWWC"


@pytest.mark.parametrize(
    ("scores", "patience", "expected"),
    [
        pytest.param([0.1], 3, "W", id="equal to alpha is slow"),
        pytest.param([0.1000001], 3, "P", id="just above alpha is not"),
        pytest.param([0.05, 0.05], 3, "WW", id="equal to the score before is not converging further"),
        pytest.param([0.05, 0.05, 0.05], 3, "WWC", id="the third slow score converges by patience"),
        pytest.param([0.05, 0.05, 0.05, 0.05], 0, "WWWW", id="without patience a constant score never converges"),
        pytest.param([0.05, 0.06, 0.07], 3, "WWC", id="patience counts rising scores"),
        pytest.param([0.05, 0.06], 2, "WC", id="patience 2"),
        pytest.param([0.05, 0.06, 0.2, 0.05, 0.06, 0.07], 3, "WWPWWC", id="a fast score starts the count anew"),
        pytest.param([0.05, 0.04, 0.5], 3, "WCP", id="a converged job that speeds up is progressing at once"),
        pytest.param([0.05, 0.04, 0.09, 0.02], 3, "WCCC", id="converged stays converged while slow"),
        pytest.param([0.0, 0.0, 0.0], 3, "WWC", id="a constant metric"),
        pytest.param([0.2, 0.05], 3, "PW", id="a drop from fast is a grace of one interval, however deep"),
    ],
)
def test_boundaries(scores: list[float], patience: int, expected: str) -> None:
    assert trace(scores, patience) == expected


def test_a_new_job_is_progressing() -> None:
    assert Classifier().category == "progressing"


def test_observe_tells_whether_the_category_changed() -> None:
    classifier = Classifier()
    assert [classifier.observe(score, 0.1, 3) for score in (0.5, 0.05, 0.05, 0.04, 0.03)] == [
        False,
        True,
        False,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        pytest.param([], "no score", id="no score yet"),
        pytest.param([0.5], "above 0.1", id="progressing"),
        pytest.param([0.05], "grace", id="watching"),
        pytest.param([0.05, 0.04], "below the 0.05 before", id="converged as it gets slower"),
        pytest.param([0.05, 0.06, 0.07], "number 3 in a row", id="converged by patience"),
    ],
)
def test_the_reason_names_what_decided(scores: list[float], words: str) -> None:
    classifier = Classifier()
    for score in scores:
        classifier.observe(score, 0.1, 3)
    assert words in classifier.reason(0.1)
