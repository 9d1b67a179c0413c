"""Work beyond that of a step: it takes processor time and changes nothing."""

import re

from tests.unit.training.conftest import Train


def test_a_step_takes_the_processor_time_that_is_asked_for(train: Train) -> None:
    plain = train("--steps", 4, "--report-every", 1).stdout.splitlines()
    worked = train("--steps", 4, "--report-every", 1, "--work", 0.1).stdout.splitlines()
    assert worked[-1] == plain[-1], "the weights are the same"
    seconds = [float(found) for line in worked for found in re.findall(r"iteration_s=(\S+)", line)]
    assert len(seconds) == 4
    assert all(value >= 0.1 for value in seconds)
