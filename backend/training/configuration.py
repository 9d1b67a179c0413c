"""What decides the result of a training: two trainings with equal configurations end with the same weights."""

import math
from dataclasses import dataclass
from itertools import pairwise

MODELS = ("mlp", "softmax", "linear")
MOST_NUMBERS = 50_000_000
"""In the data set, and in the weights: 400 MB each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """How often the progress is told and kept, and how fast the steps follow, is not part of it."""

    model: str = "mlp"
    """mlp: hidden layers with ReLU; softmax: none; linear: regression with squared error instead of classes."""
    seed: int = 1
    steps: int = 1000
    """Minibatches in all."""
    batch_size: int = 32
    """Samples a minibatch, at most; the last of a pass through the data may have fewer."""
    hidden: tuple[int, ...] = (64, 32)
    """Units of each hidden layer, first to last. Only for mlp."""
    learning_rate: float = 0.01
    samples: int = 4000
    """Of the data set; a fifth of them is held out."""
    features: int = 16
    """Numbers a sample has."""
    classes: int = 4
    """Not for linear."""

    def __post_init__(self) -> None:
        """Raises ValueError, with a sentence for the user, for what cannot be trained."""
        if self.model not in MODELS:
            raise ValueError(f"model {self.model!r} is none of {', '.join(MODELS)}")
        if not (math.isfinite(self.learning_rate) and self.learning_rate > 0):
            raise ValueError(f"the learning rate is {self.learning_rate}; it must be a number above 0")
        if self.samples * self.features > MOST_NUMBERS:
            raise ValueError(f"samples times features is more than {MOST_NUMBERS:,} numbers")
        sizes = self.layers
        if sum(a * b for a, b in pairwise(sizes)) > MOST_NUMBERS:
            raise ValueError(f"layers of {', '.join(map(str, sizes))} units have more than {MOST_NUMBERS:,} weights")

    @property
    def layers(self) -> tuple[int, ...]:
        """Units of each layer, from the features to the outputs."""
        return (
            self.features,
            *(self.hidden if self.model == "mlp" else ()),
            1 if self.model == "linear" else self.classes,
        )

    @property
    def held_out(self) -> int:
        """Samples that are not trained on."""
        return self.samples // 5

    @property
    def steps_a_pass(self) -> int:
        """Minibatches in which every training sample is seen once."""
        return -(-(self.samples - self.held_out) // self.batch_size)
