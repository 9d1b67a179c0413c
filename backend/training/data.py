"""The data set, made from the seed alone: no pod has to fetch it, and it is the same on every node."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from backend.model.random_streams import stream_seed
from backend.training.configuration import Configuration

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

CLUSTERS = 4
"""A class has so many, in any place: a straight border between classes is then not enough, and mlp beats softmax."""
SPREAD = 1.2
"""Standard deviation of the centres, where that of the samples around their centre is 1: clusters overlap a little."""
WRONG = 0.05
"""Part of the samples with the label of any class: no model gets all right."""
NOISE = 0.3
"""Standard deviation of what the features do not tell of the target of linear."""


@dataclass(frozen=True, slots=True)
class Samples:
    """Inputs and what a model shall make of them."""

    inputs: Floats
    """(samples, features)"""
    targets: Floats | Integers
    """(samples,): class numbers, or real numbers for linear."""


@dataclass(frozen=True, slots=True)
class DataSet:
    """What is trained on, and what is held out to see how good it is."""

    training: Samples
    held_out: Samples


def make(configuration: Configuration) -> DataSet:
    """The data set of a configuration."""
    random = np.random.default_rng(stream_seed(configuration.seed, "training data"))
    made = (_linear if configuration.model == "linear" else _clusters)(configuration, random)
    border = configuration.held_out
    return DataSet(
        Samples(made.inputs[border:], made.targets[border:]), Samples(made.inputs[:border], made.targets[:border])
    )


def _clusters(configuration: Configuration, random: np.random.Generator) -> Samples:
    count, features, classes = configuration.samples, configuration.features, configuration.classes
    centres = SPREAD * random.standard_normal((classes, CLUSTERS, features))
    labels = random.integers(classes, size=count)
    inputs = random.standard_normal((count, features))
    inputs += centres[labels, random.integers(CLUSTERS, size=count)]
    wrong = random.random(count) < WRONG
    labels[wrong] = random.integers(classes, size=count)[wrong]
    return Samples(inputs, labels)


def _linear(configuration: Configuration, random: np.random.Generator) -> Samples:
    count, features = configuration.samples, configuration.features
    inputs = random.standard_normal((count, features))
    slopes = random.standard_normal(features) / np.sqrt(features)
    return Samples(inputs, inputs @ slopes + random.standard_normal() + NOISE * random.standard_normal(count))
