from pathlib import Path

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from backend.simulation.curves import Curve, Exponential, Plateau, PowerLaw, Recorded, Sigmoid
from backend.simulation.noise import normal
from backend.simulation.presets import PRESETS, get_model

X = np.linspace(0, 1, 101)
CURVES = [Exponential(), PowerLaw(), Sigmoid(), Plateau()]


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.kind)
def test_a_curve_begins_at_its_start_and_only_falls(curve: Exponential) -> None:
    values = curve.values(X)
    assert values[0] == pytest.approx(curve.start)
    assert (np.diff(values) <= 1e-12).all()
    assert values[-1] >= curve.end - 1e-12


@pytest.mark.parametrize(
    "curve", [Exponential(start=0.1, end=0.98), Sigmoid(start=0.1, end=0.98)], ids=lambda c: c.kind
)
def test_accuracy_rises(curve: Exponential) -> None:
    assert (np.diff(curve.values(X)) >= -1e-12).all()


def test_exponential_by_hand() -> None:
    assert Exponential(start=2, end=1, rate=2).values(np.array([0.5]))[0] == pytest.approx(1 + np.exp(-1))


def test_power_law_by_hand() -> None:
    assert PowerLaw(start=2, end=1, scale=3, exponent=2).values(np.array([1.0]))[0] == pytest.approx(1 + 1 / 16)


def test_each_learning_rate_drop_opens_a_lower_plateau() -> None:
    curve = Plateau(start=1, end=0, drops=(0.5,), levels=(0.4, 0.1), rate=50)
    before, after = curve.values(np.array([0.4999, 0.9999]))
    assert before == pytest.approx(0.4, abs=1e-3)
    assert after == pytest.approx(0.1, abs=1e-3)


def test_a_plateau_is_continuous_at_a_drop() -> None:
    curve = Plateau(start=1, end=0, drops=(0.5,), levels=(0.4, 0.1), rate=5)
    before, after = curve.values(np.array([0.5 - 1e-9, 0.5]))
    assert before == pytest.approx(after, abs=1e-6)


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "plateau", "drops": [0.5], "levels": [0.5]},
        {"kind": "plateau", "drops": [0.5, 0.4], "levels": [0.5, 0.4, 0.3]},
        {"kind": "exponential", "rate": 0},
        {"kind": "exponential", "start": float("nan")},
        {"kind": "parabola"},
    ],
    ids=["levels-missing", "drops-not-rising", "no-rate", "nan", "unknown-kind"],
)
def test_a_broken_curve_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Curve).validate_python(fields)


def test_a_recorded_curve_runs_through_its_points(tmp_path: Path) -> None:
    file = tmp_path / "curve.csv"
    file.write_text("progress,iteration,metric\n10,1,90\n20,2,50\n40,3,40\n")
    curve = Recorded(file=str(file))
    assert curve.values(np.array([0.25, 0.5, 0.75, 1.0])).tolist() == pytest.approx([90, 50, 45, 40])
    assert curve.span == 50


def test_a_real_recorded_curve_can_be_read() -> None:
    file = Path(__file__).parents[2] / "data" / "learning_curves" / "cifar10.csv"
    values = Recorded(file=str(file)).values(X)
    assert values[0] < 0.5 < values[-1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("progress,loss\n1,2\n", "columns progress and metric"),
        ("progress,metric\n1,2\n", "at least two points"),
        ("progress,metric\n1,2\n1,3\n", "point 2"),
        ("progress,metric\n1,2\n2,nan\n", "point 2"),
        ("progress,metric\n1,2\n2,\n", "line 3"),
    ],
    ids=["columns", "one-point", "not-rising", "nan", "empty-cell"],
)
def test_a_broken_recording_names_what_is_wrong(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "curve.csv"
    file.write_text(text)
    with pytest.raises(ValidationError, match=words):
        Recorded(file=str(file))


def test_noise_is_standard_normal() -> None:
    drawn = normal(np.full(100_000, 7, np.uint64), np.arange(100_000))
    assert abs(drawn.mean()) < 0.02
    assert drawn.std() == pytest.approx(1.0, abs=0.02)


def test_noise_depends_on_job_and_iteration_alone() -> None:
    keys = np.array([3, 5, 3], np.uint64)
    counts = np.array([10, 10, 11])
    together = normal(keys, counts)
    assert together[1] == normal(keys[1:2], counts[1:2])[0]
    assert len(set(together.tolist())) == 3


def test_the_models_of_the_experiments_are_there() -> None:
    assert {"lenet", "cnn", "vae", "mnist", "gru", "lstm-cfc", "lstm-crf", "birnn"} <= set(PRESETS)


def test_an_unknown_model_names_the_nearest() -> None:
    with pytest.raises(ValueError, match="did you mean 'lenet'"):
        get_model("lenett")
