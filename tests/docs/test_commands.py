"""Docs match the code: what the pages show is run, in order, as a reader would."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
MAKE_STARTS_ANOTHER = {"make demo", "make test"}
"""Run by .ci/run and by tests/browser; here it is only checked that the Makefile has them."""


def blocks(page: str) -> Iterator[tuple[str, str]]:
    yield from BLOCK.findall((ROOT / page).read_text())


def execute(language: str, code: str, home: Path) -> str:
    command = ["bash", "-euo", "pipefail", "-c", code] if language == "sh" else [sys.executable, "-c", code]
    environment = os.environ | {"PODSHIFT_HOME": str(home), "PATH": f"{BIN}:{os.environ['PATH']}"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_first_steps(tmp_path: Path) -> None:
    shown = [(language, execute(language, code, tmp_path)) for language, code in blocks("docs/first-steps.md")]
    assert [language for language, _ in shown] == ["sh", "sh", "python"]
    run, runs, frame = (output for _, output in shown)
    assert len(re.findall(r"\b[0-9a-f]{64}\b", run)) == 2
    assert runs.count("seven-jobs-") == 2
    assert re.search(r"job\s+source\s+target\s+started_s\s+downtime_s\s+cause", frame)
    assert re.search(r"node-\d\s+node-\d\s+\d+\.\d+\s+\d+\.\d+\s+converged", frame)


def test_the_readme_commands_run(tmp_path: Path) -> None:
    makefile = (ROOT / "Makefile").read_text()
    seen = []
    for _, code in blocks("README.md"):
        for line in code.strip().splitlines():
            seen.append(line)
            if line in MAKE_STARTS_ANOTHER:
                assert re.search(rf"^{line.split()[1]}:", makefile, re.MULTILINE)
            else:
                execute("sh", line.replace(".venv/bin/", ""), tmp_path)
    assert seen[:2] == ["make demo", "make test"]


OWN_TESTS = {"docs/first-steps.md", "docs/reproduction.md", "docs/architecture.md"}
"""The first is run above; the commands of the second take minutes and are run by `make reproduce`; the third shows
protocols, which the type checker holds against the code."""
PAGES = sorted(p.relative_to(ROOT).as_posix() for p in ROOT.glob("docs/*.md"))


@pytest.mark.parametrize("page", [page for page in PAGES if page not in OWN_TESTS and list(blocks(page))])
def test_the_commands_of_a_page_run(page: str, tmp_path: Path) -> None:
    for language, code in blocks(page):
        execute(language, code.replace(".venv/bin/", ""), tmp_path)


@pytest.mark.parametrize("page", ["README.md", *(p.relative_to(ROOT).as_posix() for p in ROOT.glob("docs/**/*.md"))])
def test_links_lead_somewhere(page: str) -> None:
    folder = (ROOT / page).parent
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", (ROOT / page).read_text()):
        assert (folder / target).exists(), f"{page} links to {target}"
