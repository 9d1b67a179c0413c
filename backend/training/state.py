"""A training between two steps, and the step: stochastic gradient descent with momentum."""

from dataclasses import dataclass

import numpy as np

from backend.model.random_streams import stream_seed
from backend.training import network
from backend.training.configuration import Configuration
from backend.training.data import Floats, Integers, Samples

MOMENTUM = 0.9
SMOOTHING = 0.1
"""Weight of the newest minibatch in the loss that is told: the loss of one alone is mostly noise."""


LARGEST_LOSS = 1e9
"""A loss beyond that is no training any more, even where softmax keeps it finite for ever."""


class DivergedError(Exception):
    """The weights left the numbers that can be computed with."""


@dataclass(slots=True)
class State:
    """All that a training needs in order to go on, besides its configuration and data."""

    step: int
    """Steps done."""
    loss: float
    """Of the last minibatches, a smoothed mean; 0 before the first step."""
    weights: list[Floats]
    velocity: list[Floats]
    """In the shape of the weights."""
    order: Integers
    """(training samples,): the order in which this pass through the data takes them."""
    random: np.random.Generator
    """Draws the order of the next pass."""


def start(configuration: Configuration) -> State:
    """Before the first step."""
    weights = network.initial(configuration)
    order = np.arange(configuration.samples - configuration.held_out)
    random = np.random.default_rng(stream_seed(configuration.seed, "training order"))
    return State(0, 0.0, weights, [np.zeros_like(one) for one in weights], order, random)


def advance(state: State, configuration: Configuration, training: Samples) -> None:
    """Do one step. Raises DivergedError; the state is of no use then."""
    batch = state.step % configuration.steps_a_pass
    if batch == 0:
        state.order = state.random.permutation(len(state.order))
    chosen = state.order[batch * configuration.batch_size : (batch + 1) * configuration.batch_size]
    with np.errstate(all="ignore"):  # what overflows is found below
        loss, gradient = network.loss_and_gradient(
            state.weights, Samples(training.inputs[chosen], training.targets[chosen])
        )
        for index, slope in enumerate(gradient):
            state.velocity[index] = MOMENTUM * state.velocity[index] - configuration.learning_rate * slope
            state.weights[index] = state.weights[index] + state.velocity[index]
    state.step += 1
    # `not` and `<`, and not `>`: a loss that is no number is no small loss either
    if not loss < LARGEST_LOSS or not all(np.isfinite(weight).all() for weight in state.weights):
        raise DivergedError(
            f"the training diverged at step {state.step} (loss {loss:.3g}); "
            f"use a learning rate below {configuration.learning_rate:g}"
        )
    state.loss += (SMOOTHING if state.step > 1 else 1.0) * (loss - state.loss)
