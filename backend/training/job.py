"""A training from its start, or its last checkpoint, to its end or a signal."""

import time
from dataclasses import dataclass

from backend.training import data, network, state
from backend.training.checkpoints import Checkpoints
from backend.training.configuration import Configuration
from backend.training.reports import Reports
from backend.training.state import State
from backend.training.stopping import Stop


@dataclass(frozen=True, slots=True, kw_only=True)
class Rhythm:
    """How often something happens beside the steps. It does not change what they come to."""

    report_every: int = 10
    """Steps."""
    checkpoint_every: int = 10
    """Steps."""
    pace_s: float = 0.0
    """A step takes at least so long."""
    work_s: float = 0.0
    """Seconds of processor time that a step takes at least."""


class Job:
    """One training on one node."""

    def __init__(self, configuration: Configuration, checkpoints: Checkpoints | None) -> None:
        """Goes on where the checkpoints end. Raises CheckpointError and OSError."""
        self._configuration = configuration
        self._checkpoints = checkpoints
        kept = checkpoints.load(configuration) if checkpoints else None
        self.kept = kept.step if kept else 0
        """Steps that the last checkpoint holds."""
        self.state: State = kept or state.start(configuration)
        self._data = data.make(configuration)

    @property
    def done(self) -> bool:
        """Whether no step is left."""
        return self.state.step == self._configuration.steps

    def quality(self) -> tuple[str, float]:
        """Name and value of how good the weights are on what was held out."""
        return network.quality(self.state.weights, self._data.held_out)

    def run(self, rhythm: Rhythm, reports: Reports, stop: Stop) -> None:
        """Do steps until none is left or a signal came; then, too, the last is kept and told.

        Raises DivergedError, and OSError from checkpoints and reports; what was kept before stays.
        """
        reports.begin(self.state.step)
        while not self.done:
            ready_s = time.monotonic() + rhythm.pace_s
            enough_s = time.process_time() + rhythm.work_s
            state.advance(self.state, self._configuration, self._data.training)
            while time.process_time() < enough_s and not stop.code:
                self.quality()  # work as any other, and it changes nothing
            stop.wait_until(ready_s)
            # Looked at once a step: what is told as the last step is then always what was kept.
            stopped, step = bool(stop.code), self.state.step
            last = stopped or self.done
            if self._checkpoints and (last or step % rhythm.checkpoint_every == 0):
                self._checkpoints.save(self._configuration, self.state)
                self.kept = step
            if last or step % rhythm.report_every == 0:
                reports.tell(step, self.state.loss, self.quality(), self.kept)
            if stopped:
                return
