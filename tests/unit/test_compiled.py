"""Compiled and interpreted, the product does the same."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from backend import compiled
from backend.experiments.execute import run_arm
from backend.experiments.specification import load
from backend.store.logs import MemoryLog

ROOT = compiled.ROOT
PATCHING = ("tests/properties/test_skippy.py", "tests/unit/simulation/test_long_times.py")
"""Tests that replace parts of compiled modules."""
ALSO = ("tests/unit/control", "tests/unit/model", "tests/unit/scheduling", "tests/unit/simulation")
"""Tests of the compiled modules."""


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project without machine code."""
    copy = tmp_path_factory.mktemp("sources") / "podshift"
    for name in ("backend", "tests", "examples", "podshift", "bench"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("*.so", "__pycache__", ".venv-*"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    return copy


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONHASHSEED": "7"}
    environment.pop("PYTEST_XDIST_WORKER", None)
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=280, check=False
    )


@pytest.mark.parametrize("example", ["seven-jobs", "node-failure", "edge-images"])
def test_logs_are_equal_byte_for_byte(example: str, sources: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from backend import compiled; assert not compiled.libraries();"
        "from backend.experiments.execute import run_arm; from backend.experiments.specification import load;"
        "from backend.store.logs import MemoryLog;"
        f"specification = load(Path('examples/{example}.yaml'));"
        "logs = [MemoryLog() for _ in specification.arms];"
        "[run_arm(specification, arm.name, 1, log, paced=False) for arm, log in zip(specification.arms, logs)];"
        "print(*[log.sha256 for log in logs])"
    )
    done = run(sources, "-c", code)
    assert done.returncode == 0, done.stderr
    specification = load(ROOT / "examples" / f"{example}.yaml")
    ours = []
    for arm in specification.arms:
        log = MemoryLog()
        run_arm(specification, arm.name, 1, log, paced=False)
        ours.append(log.sha256)
    assert done.stdout.split() == ours


def test_the_tests_of_compiled_modules_pass_on_their_sources(sources: Path) -> None:
    done = run(sources, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *PATCHING, *ALSO)
    assert done.returncode == 0, done.stdout[-4000:]
    assert re.search(r"\b\d+ skipped", done.stdout) is None


def test_make_knows_the_compiled_modules() -> None:
    """`make install` compiles anew when one of them has changed."""
    line = re.search(r"^COMPILED := \$\(addprefix backend/, (.*?)\)$", (ROOT / "Makefile").read_text(), re.M | re.S)
    assert line is not None
    named = line.group(1).replace("\\\n", " ").split()
    assert [f"backend/{name}" for name in named] == list(compiled.MODULES)


def test_machine_code_older_than_its_source_is_noticed(tmp_path: Path) -> None:
    source = tmp_path / compiled.MODULES[0]
    source.parent.mkdir(parents=True)
    source.write_text("")
    library = source.with_name(f"{source.stem}.cpython-311-x86_64-linux-gnu.so")
    assert compiled.stale(tmp_path) == []
    library.write_bytes(b"")
    os.utime(source, (100, 100))
    assert compiled.stale(tmp_path) == []
    os.utime(library, (50, 50))
    assert compiled.stale(tmp_path) == [compiled.MODULES[0]]
    compiled.remove(tmp_path)
    assert compiled.libraries(tmp_path) == []


def test_without_a_compiler_the_sources_run_and_one_sentence_says_so(sources: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "backend.compiled"],
        cwd=sources,
        env=os.environ | {"PYTHONPATH": str(sources), "CC": "no-such-compiler"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("no C compiler: ")
    assert "Traceback" not in done.stderr
