"""Stored runs from Python: `import podshift`."""

import subprocess
import sys
from pathlib import Path

import pytest

import podshift
from backend.experiments.runner import create
from backend.experiments.specification import parse
from backend.experiments.worker import Task, execute
from backend.model import events as ev
from backend.store.store import Store
from tests.api.conditions import specification


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    store = Store(folder)
    experiment = create(store, parse(specification("seen")))
    pinned = execute(store, Task(f"{experiment}.default.s1")).placements
    execute(store, Task(f"{experiment}.migrated.s1", pinned))
    return folder


def test_a_table_is_a_data_frame(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PODSHIFT_HOME", str(home))
    run = next(run for run in podshift.runs() if run.arm == "migrated")
    migrations = podshift.load_run(run.id).table("migrations")
    assert list(migrations["outcome"]) == ["finished"] * run.summary["migrations"]
    assert (migrations["ended_s"] > migrations["started_s"]).all()


def test_a_run_says_what_it_is(home: Path) -> None:
    newest, oldest = podshift.runs(home=home)
    assert (newest.arm, oldest.arm) == ("migrated", "default")
    assert [run.id for run in podshift.runs(newest.experiment, home=home)] == [oldest.id, newest.id]
    assert (newest.seed, newest.status) == (1, "finished")
    assert newest.specification is not None
    assert newest.specification.name == "seen"
    assert newest.id in repr(newest)


def test_the_events_are_those_of_the_log(home: Path) -> None:
    run = podshift.runs(home=home)[0]
    events = list(run.events())
    assert isinstance(events[0], ev.RunStarted)
    finished = sum(isinstance(event, ev.JobFinished) for event in events)
    assert finished == run.summary["finished"] == 7


def test_what_is_not_there(home: Path) -> None:
    with pytest.raises(KeyError, match="no run 'none'"):
        podshift.load_run("none", home=home)
    with pytest.raises(KeyError, match="no table 'none'"):
        podshift.runs(home=home)[0].table("none")


@pytest.mark.parametrize("name", podshift.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(podshift, name).__module__.startswith("backend.")


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match="it has Filter"):
        podshift.nothing  # noqa: B018


def test_importing_it_loads_nothing_heavy() -> None:
    code = (
        "import sys, podshift; print([n for n in ('pandas', 'pyarrow', 'sqlalchemy', 'pydantic') if n in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
