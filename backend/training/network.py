"""Layers with ReLU between them, their loss and its gradient. Without hidden layers it is softmax or linear regression.

Weights are a flat list: the matrix (inputs, outputs) and the bias (outputs,) of each layer, first to last.
"""

from itertools import pairwise

import numpy as np

from backend.model.random_streams import stream_seed
from backend.training.configuration import Configuration
from backend.training.data import Floats, Samples


def initial(configuration: Configuration) -> list[Floats]:
    """Weights to begin with: normal with variance 2 / inputs (He), which keeps the size of ReLU's outputs; biases 0."""
    random = np.random.default_rng(stream_seed(configuration.seed, "training weights"))
    sizes = configuration.layers
    weights: list[Floats] = []
    for inputs, outputs in pairwise(sizes):
        weights += [random.standard_normal((inputs, outputs)) * np.sqrt(2.0 / inputs), np.zeros(outputs)]
    return weights


def loss_and_gradient(weights: list[Floats], batch: Samples) -> tuple[float, list[Floats]]:
    """Mean loss of a batch, and its gradient in the shape of the weights.

    The loss is cross-entropy in nats for class numbers, half the squared error for real targets. It is not finite
    where the weights have grown beyond what can be computed with.
    """
    layers = _outputs(weights, batch.inputs)
    loss, slope = _loss(layers[-1], batch)
    gradient: list[Floats] = []
    for layer in range(len(weights) // 2 - 1, -1, -1):
        gradient[:0] = [layers[layer].T @ slope, slope.sum(axis=0)]
        if layer:
            slope = (slope @ weights[2 * layer].T) * (layers[layer] > 0)
    return loss, gradient


def quality(weights: list[Floats], samples: Samples) -> tuple[str, float]:
    """How good the weights are on samples: accuracy (part of them with the right class), or r2 for real targets."""
    outputs, targets = _outputs(weights, samples.inputs)[-1], samples.targets
    if np.issubdtype(targets.dtype, np.integer):
        return "accuracy", float(np.mean(outputs.argmax(axis=1) == targets))
    return "r2", float(1.0 - np.mean((outputs[:, 0] - targets) ** 2) / np.var(targets))


def _outputs(weights: list[Floats], inputs: Floats) -> list[Floats]:
    """Of each layer, the inputs first: (samples, units)."""
    layers = [inputs]
    for layer in range(0, len(weights), 2):
        sums = layers[-1] @ weights[layer] + weights[layer + 1]
        layers.append(sums if layer + 2 == len(weights) else np.maximum(sums, 0.0))
    return layers


def _loss(outputs: Floats, batch: Samples) -> tuple[float, Floats]:
    """Mean loss, and its gradient by the outputs."""
    count, targets = len(outputs), batch.targets
    if not np.issubdtype(targets.dtype, np.integer):
        error = outputs[:, 0] - targets
        return float(np.mean(error**2)) / 2, error[:, np.newaxis] / count
    shifted = outputs - outputs.max(axis=1, keepdims=True)  # exp() of large outputs would be infinite
    logs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    rows = np.arange(count)
    slope = np.exp(logs)
    slope[rows, targets] -= 1.0
    return float(-np.mean(logs[rows, targets])), slope / count
