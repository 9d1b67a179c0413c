"""The house rules that a machine can check."""

import ast
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("backend", "dashboard", "podshift")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def test_arrows_between_packages_point_down() -> None:
    run = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_modules_are_small() -> None:
    lines = {path: len(path.read_text().splitlines()) for path in MODULES}
    longest = max(lines, key=lambda path: lines[path])
    assert lines[longest] <= 650, f"{longest} has {lines[longest]} lines"
    assert statistics.median(lines.values()) <= 150


@pytest.mark.parametrize("word", ["utils", "helpers", "common", "manager"])
def test_no_module_is_a_drawer_for_everything(word: str) -> None:
    assert [path for path in MODULES if path.stem == word] == []


def test_only_the_module_for_it_imports_a_client() -> None:
    """`kubernetes` belongs to backend/kube, `prometheus_api_client` to backend/metrics (DESIGN.md, "The house")."""
    rooms = {"kubernetes": "backend/kube", "prometheus_api_client": "backend/metrics"}
    strays = []
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
                names = [node.module]
            for name in names:
                room = rooms.get(name.partition(".")[0])
                if room and not path.relative_to(ROOT).as_posix().startswith(room):
                    strays.append(f"{path}: {name}")
    assert strays == []
