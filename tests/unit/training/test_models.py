"""The models really learn."""

import numpy as np
import pytest

from backend.training import data, network, state
from backend.training.configuration import Configuration
from backend.training.data import Samples

CONFIGURATIONS = {
    "mlp": Configuration(features=3, classes=3, hidden=(5, 4), samples=50),
    "softmax": Configuration(model="softmax", features=3, classes=3, samples=50),
    "linear": Configuration(model="linear", features=3, samples=50),
}


def trained(configuration: Configuration) -> tuple[state.State, float]:
    """After all steps, and how good it is on what was held out."""
    made = data.make(configuration)
    found = state.start(configuration)
    for _ in range(configuration.steps):
        state.advance(found, configuration, made.training)
    return found, network.quality(found.weights, made.held_out)[1]


@pytest.mark.parametrize("model", CONFIGURATIONS)
def test_the_gradient_is_the_slope_of_the_loss(model: str) -> None:
    batch = data.make(CONFIGURATIONS[model]).training
    weights = network.initial(CONFIGURATIONS[model])
    _, gradient = network.loss_and_gradient(weights, batch)
    for array, slopes in zip(weights, gradient, strict=True):
        assert slopes.shape == array.shape
        for place in np.ndindex(array.shape):
            losses = []
            kept = array[place]
            for shift in (1e-6, -1e-6):
                array[place] = kept + shift
                losses.append(network.loss_and_gradient(weights, batch)[0])
            array[place] = kept
            assert (losses[0] - losses[1]) / 2e-6 == pytest.approx(slopes[place], abs=1e-6)


@pytest.mark.parametrize(("model", "least"), [("mlp", 0.88), ("softmax", 0.7), ("linear", 0.88)])
def test_what_was_held_out_is_told_well(model: str, least: float) -> None:
    assert trained(Configuration(model=model))[1] > least


def test_hidden_layers_are_worth_it() -> None:
    assert trained(Configuration())[1] > trained(Configuration(model="softmax"))[1] + 0.1


def test_the_loss_falls() -> None:
    losses = [trained(Configuration(steps=steps))[0].loss for steps in (1, 30, 300)]
    assert losses == sorted(losses, reverse=True)


def test_a_pass_takes_every_training_sample_once() -> None:
    configuration = Configuration(samples=50, batch_size=16, features=1)
    found = state.start(configuration)
    seen = []

    class Spy(np.ndarray):  # type: ignore[type-arg]
        def __getitem__(self, key: object) -> object:
            seen.extend(np.asarray(key).tolist())
            return np.asarray(self)[key]

    training = data.make(configuration).training
    spied = Samples(training.inputs.view(Spy), training.targets)
    for _ in range(configuration.steps_a_pass):
        state.advance(found, configuration, spied)
    assert sorted(seen) == list(range(40))


def test_seeds_make_other_data() -> None:
    one, same, other = (data.make(Configuration(seed=seed)).training.inputs for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize(("model", "rate"), [("mlp", 10.0), ("softmax", 1e200), ("linear", 10.0), ("mlp", 1e300)])
def test_too_large_a_learning_rate_diverges(model: str, rate: float) -> None:
    with pytest.raises(state.DivergedError, match=r"diverged at step \d+ \(loss .*\); use a learning rate below "):
        trained(Configuration(model=model, learning_rate=rate))


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"model": "forest"}, "none of mlp, softmax, linear"),
        ({"learning_rate": float("nan")}, "must be a number above 0"),
        ({"samples": 10**7, "features": 10**3}, "samples times features"),
        ({"hidden": (99999, 99999)}, "more than 50,000,000 weights"),
    ],
)
def test_what_cannot_be_trained(options: dict[str, object], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Configuration(**options)  # type: ignore[arg-type]
