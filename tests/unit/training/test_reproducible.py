"""The same sums on every node."""

import pytest

from backend.training.reproducible import OLDER, settings, settings_of
from tests.unit.training.conftest import Train


@pytest.mark.parametrize(
    ("machine", "flags", "older"),
    [("x86_64", {"sse2", "avx2", "fma"}, True), ("x86_64", {"sse2"}, False), ("aarch64", {"asimd"}, False)],
)
def test_newest_instructions_are_left_out_where_the_older_are_there(machine: str, flags: set[str], older: bool) -> None:
    found = settings_of(machine, flags)
    assert found["OPENBLAS_NUM_THREADS"] == "1"
    assert (found.items() >= OLDER.items()) is older


@pytest.mark.parametrize("variable", sorted(settings()))
def test_what_the_pod_sets_otherwise_changes_nothing(train: Train, variable: str) -> None:
    job = ("--steps", "20", "--hidden", "400,300", "--batch-size", "128")
    other = {"OPENBLAS_CORETYPE": "Sandybridge", "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4"}.get(variable, "4")
    assert train(*job).stdout.splitlines()[-1] == train(*job, env={variable: other}).stdout.splitlines()[-1]
