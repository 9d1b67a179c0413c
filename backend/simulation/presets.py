"""Presets for the models of the authors' experiments (specon-procon.md section 2.1).

Sizes are those of CPU trainings on nodes of 16 threads that take one to six minutes alone: the papers name the models
and images but give no sizes, so these are orders of magnitude, chosen so that fast learners (LeNet, CNN) bend early and
recurrent ones (LSTM) late. TensorFlow uses every thread it finds, so all but the two smallest can use 16 cores, and
as in the authors' experiments none requests any.
"""

import difflib

from backend.simulation.curves import Exponential, Plateau, PowerLaw, Sigmoid
from backend.simulation.training import TrainingModel

_MIB = 2**20
_GIB = 2**30


def _all() -> list[TrainingModel]:
    return [
        TrainingModel(
            name="lenet",
            iterations=60,
            core_s_per_iteration=20,
            parallelism="8",
            memory=2 * _GIB,
            image="fuyuqi1995/mig-lenet",
            image_size=1200 * _MIB,
            checkpoint_size=2 * _MIB,
            curve=Exponential(start=2.3, end=0.05, rate=8.0),
            work_spread=0.2,
        ),
        TrainingModel(
            name="cnn",
            iterations=80,
            core_s_per_iteration=30,
            parallelism="16",
            memory=3 * _GIB,
            image="fuyuqi1995/cnn",
            image_size=1200 * _MIB,
            checkpoint_size=10 * _MIB,
            curve=Exponential(start=2.3, end=0.1, rate=6.0),
            work_spread=0.2,
        ),
        TrainingModel(
            name="vae",
            iterations=100,
            core_s_per_iteration=24,
            parallelism="16",
            memory=3 * _GIB,
            image="fuyuqi1995/vae-mlp",
            image_size=1300 * _MIB,
            checkpoint_size=15 * _MIB,
            curve=PowerLaw(start=540.0, end=105.0, scale=40.0, exponent=1.0),
            work_spread=0.2,
        ),
        TrainingModel(
            name="mnist",
            iterations=40,
            core_s_per_iteration=15,
            parallelism="8",
            memory=2 * _GIB,
            image="mtynes/mnist",
            image_size=900 * _MIB,
            checkpoint_size=5 * _MIB,
            metric="accuracy",
            curve=Exponential(start=0.1, end=0.98, rate=9.0),
            work_spread=0.2,
        ),
        TrainingModel(
            name="gru",
            iterations=90,
            core_s_per_iteration=45,
            parallelism="16",
            memory=4 * _GIB,
            image="wzheng33/gru",
            image_size=1500 * _MIB,
            checkpoint_size=40 * _MIB,
            curve=PowerLaw(start=6.0, end=4.0, scale=20.0, exponent=0.7),
            work_spread=0.2,
        ),
        TrainingModel(
            name="lstm-cfc",
            iterations=120,
            core_s_per_iteration=40,
            parallelism="16",
            memory=4 * _GIB,
            image="wzheng33/lstm-cfc",
            image_size=1500 * _MIB,
            checkpoint_size=40 * _MIB,
            curve=Plateau(start=3.2, end=0.4),
            work_spread=0.2,
        ),
        TrainingModel(
            name="lstm-crf",
            iterations=110,
            core_s_per_iteration=50,
            parallelism="16",
            memory=5 * _GIB,
            image="wzheng33/lstm-crf",
            image_size=1500 * _MIB,
            checkpoint_size=50 * _MIB,
            curve=Exponential(start=40.0, end=2.0, rate=4.0),
            work_spread=0.2,
        ),
        TrainingModel(
            name="birnn",
            iterations=100,
            core_s_per_iteration=35,
            parallelism="16",
            memory=4 * _GIB,
            image="wzheng33/birnn",
            image_size=1500 * _MIB,
            checkpoint_size=30 * _MIB,
            metric="accuracy",
            curve=Sigmoid(start=0.1, end=0.95, midpoint=0.25, steepness=14.0),
            work_spread=0.2,
        ),
        TrainingModel(
            name="tc10",
            iterations=70,
            core_s_per_iteration=40,
            parallelism="16",
            memory=4 * _GIB,
            image="wzheng33/tc10",
            image_size=1500 * _MIB,
            checkpoint_size=60 * _MIB,
            metric="accuracy",
            curve=PowerLaw(start=0.1, end=0.9, scale=25.0, exponent=0.9),
            work_spread=0.2,
        ),
        TrainingModel(
            name="rnn",
            iterations=80,
            core_s_per_iteration=30,
            parallelism="16",
            memory=3 * _GIB,
            image="wzheng33/rnn",
            image_size=1500 * _MIB,
            checkpoint_size=20 * _MIB,
            curve=Exponential(start=2.3, end=0.6, rate=5.0),
            work_spread=0.2,
        ),
    ]


PRESETS: dict[str, TrainingModel] = {model.name: model for model in _all()}


def get_model(name: str) -> TrainingModel:
    """The preset of that name. Raises ValueError with the names there are."""
    model = PRESETS.get(name)
    if model is None:
        near = difflib.get_close_matches(name, PRESETS, 1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise ValueError(f"no model is called '{name[:60]}'{hint} (there are {', '.join(PRESETS)})")
    return model
