"""The command line over a store of its own."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from backend.cli.main import main
from tests.data.broken_specifications import GOOD


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="session")
def podshift(home: Path) -> Callable[..., Result]:
    """podshift("runs", "--json") runs the command as a person would."""

    def call(*arguments: str) -> Result:
        return CliRunner().invoke(main, list(arguments), env={"PODSHIFT_HOME": str(home)})

    return call


@pytest.fixture(scope="session")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("spec") / "pair.yaml"
    path.write_text(GOOD.replace("name: broken", "name: pair"))
    return path


@pytest.fixture(scope="session")
def pair(podshift: Callable[..., Result], spec: Path) -> str:
    """Id of a finished experiment with the arms default and migrated."""
    result = podshift("run", str(spec), "--seeds", "1,4")
    assert result.exit_code == 0, result.output
    return next(line.split(".")[0] for line in result.stdout.splitlines() if line.startswith("pair-"))
