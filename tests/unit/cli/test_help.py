"""The command line as a whole: what there is, and that asking for it is cheap."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from backend.cli.main import main

COMMANDS = ("run", "compare", "runs", "export", "import", "pin", "unpin", "perf", "train", "cluster", "up", "serve")
HEAVY = ("pandas", "pyarrow", "fastapi", "starlette", "dash", "sqlalchemy", "pydantic", "numpy", "msgspec", "yaml")


def test_help_loads_no_heavy_library() -> None:
    code = (
        "import sys\n"
        "from backend.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        f"print('LOADED', [name for name in {HEAVY!r} if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "LOADED []"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str) -> None:
    overview = CliRunner().invoke(main, ["--help"])
    assert f"  {command} " in overview.output
    result = CliRunner().invoke(main, [command, "--help"])
    assert result.exit_code == 0
    assert result.output.startswith(f"Usage: main {command}")


def test_version() -> None:
    assert CliRunner().invoke(main, ["--version"]).output.startswith("podshift, version ")


@pytest.mark.parametrize(
    "arguments", [["fly"], ["run"], ["run", "x", "--jobs", "0"], ["export", "x", "--format", "pdf"]], ids=str
)
def test_a_wrong_command_line_is_exit_code_2(arguments: list[str]) -> None:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert "Error: " in result.output
