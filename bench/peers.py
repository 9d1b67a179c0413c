"""Peers in virtual environments of their own, made when they are first needed: bench/.venv-NAME."""

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
SECONDS = 120


def interpreter(name: str, requirement: str) -> Path | str:
    """Python of the environment that holds a package; a sentence that says why there is none."""
    home = FOLDER / f".venv-{name}"
    python = home / "bin" / "python"
    if _holds(python, requirement):
        return python
    uv = Path(sys.executable).with_name("uv")
    try:
        _run(sys.executable, "-m", "venv", "--clear", "--without-pip", str(home))
        _run(str(uv), "pip", "install", "--quiet", "--python", str(python), requirement)
    except subprocess.TimeoutExpired:
        return f"{requirement} could not be installed within {SECONDS} s"
    except (OSError, subprocess.CalledProcessError) as error:
        said = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
        return f"{requirement} could not be installed: {said[-1] if said else error}"
    return python


def _holds(python: Path, requirement: str) -> bool:
    package, _, version = requirement.partition("==")
    code = f"import importlib.metadata as m; raise SystemExit(m.version({package!r}) != {version!r})"
    return python.exists() and not subprocess.run([python, "-c", code], check=False, capture_output=True).returncode


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=SECONDS)
