"""How numpy is told to round in the same way on every node.

Sums depend in their last bits on the number of threads and on the instructions that a library picks for the processor.
"""

import platform
from pathlib import Path

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
OLDER = {"OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR"}
"""The instructions that every x86-64 processor with AVX2 and FMA has (nearly all since 2013), and no newer ones."""


def settings() -> dict[str, str]:
    """Variables of the environment for this machine."""
    try:
        flags = Path("/proc/cpuinfo").read_text(errors="replace")
    except OSError:
        flags = ""
    return settings_of(platform.machine(), set(flags.split()))


def settings_of(machine: str, flags: set[str]) -> dict[str, str]:
    """Those for a kind of machine (as `uname -m` has it) and what its processor can do (as /proc/cpuinfo has it)."""
    found = dict.fromkeys(THREADS, "1")
    return found | OLDER if machine == "x86_64" and {"avx2", "fma"} <= flags else found
