"""Filters and scores of a user, in a file of their own that a package names in its entry points."""

import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from pydantic import ValidationError

from backend.model import plugins as model_plugins
from backend.scheduling import plugins
from backend.scheduling.skippy.policy import SkippyParameters
from tests.unit.scheduling.skippy.skippy_world import decide, scheduler, values, world
from tests.unit.scheduling.small_world import job, node

OWN = '''
"""Keeps pods off a rack, and likes short names."""

import numpy as np
from pydantic import BaseModel, Field

from backend.scheduling.skippy.plugin import SkippyScore


class RackOptions(BaseModel):
    rack: str = Field("a", min_length=1)


class NotInRack:
    """Nodes outside a rack."""

    name = "NotInRack"
    static = True
    Options = RackOptions

    def __init__(self, options=None):
        self._rack = (options or RackOptions()).rack

    def mask(self, job, table):
        return ~table.labelled("rack", self._rack)

    def explain(self, job, table, refused):
        return f"in rack {self._rack}"


class ShortName(SkippyScore):
    """Nodes with short names."""

    name = "ShortName"

    def raw(self, job, table):
        return np.array([self.max_priority - len(name) for name in table.names], float)


class Plain:
    """No options, and nothing of ours as a parent."""

    name = "Plain"
    normalises = False

    def __init__(self, options, max_priority):
        self._most = max_priority

    def raw(self, job, table):
        return None

    def normalise(self, raw, feasible):
        return raw

    def revision(self, job, table):
        return None


class NotByRow:
    """Changes with what runs on a node, but does not say how a row alone is asked."""

    name = "NotByRow"
    static = False

    def __init__(self, options=None):
        pass

    def mask(self, job, table):
        return table.pods == 0

    def explain(self, job, table, refused):
        return "busy"


class NoFilter:
    name = "NoFilter"

    def __init__(self, options=None):
        pass


class Broken:
    name = "Broken"

    def __init__(self):
        pass
'''


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file, installed."""
    (tmp_path / "own_skippy_plugins.py").write_text(OWN, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own_skippy_plugins", raising=False)
    there = model_plugins.entry_points
    names = {
        "podshift.filters": ("NotInRack", "NotByRow", "NoFilter", "Broken", "Missing"),
        "podshift.scores": ("ShortName", "Plain", "Broken"),
    }

    def entry_points(*, group: str) -> list[EntryPoint]:
        added = [EntryPoint(name, f"own_skippy_plugins:{name}", group) for name in names.get(group, ())]
        added.append(EntryPoint("Gone", "no_such_module_at_all:Gone", group))
        return [*there(group=group), *added]

    monkeypatch.setattr(model_plugins, "entry_points", entry_points)
    monkeypatch.setattr(plugins, "FILTERS", model_plugins.Plugins("podshift.filters", "filter"))
    monkeypatch.setattr(plugins, "SCORES", model_plugins.Plugins("podshift.scores", "score"))


def test_an_own_filter_and_an_own_score_take_part() -> None:
    state = world(node("a", labels={"rack": "x"}), node("long-name"), node("bb"), node("cc"))
    skippy = scheduler(
        filters=[{"name": "NotInRack", "rack": "x"}], scores=["BalancedResource", "ShortName=2", "Plain=3"]
    )
    decision = decide(state, job(), skippy)
    assert decision.node == "bb"
    assert values(decision, "ShortName") == {"bb": 8, "cc": 8, "long-name": 1}
    assert decision.refused == {"NotInRack": ("a",)}
    assert [(one.plugin, one.weight) for one in decision.scores] == [("BalancedResource", 1), ("ShortName", 2)]
    assert "Plain" not in decision.reason


def test_the_reason_of_an_own_filter_is_told() -> None:
    decision = decide(world(node("a", labels={"rack": "a"})), job(), filters=["NotInRack"])
    assert (decision.node, decision.reason) == (None, "none of 1 node can take it: 1 node in rack a")


def test_they_are_described() -> None:
    described = plugins.describe()
    assert described["NotInRack"] == "Nodes outside a rack."
    assert described["ShortName"] == "Nodes with short names."


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"filters": [{"name": "NotInRack", "rack": ""}]}, "rack: String should have at least 1 character"),
        ({"filters": "Broken"}, "is installed, but cannot be made: "),
        ({"filters": "Missing"}, "is installed, but cannot be made: module 'own_skippy_plugins' has no attribute"),
        ({"filters": "Gone"}, "is installed, but cannot be made: No module named 'no_such_module_at_all'"),
        ({"filters": "NoFilter"}, "is installed, but cannot be made: 'NoFilter' object has no attribute 'static'"),
        ({"filters": "NotByRow"}, "cannot be made: filter NotByRow is not static, so it must be a RowFilter"),
        ({"scores": [{"name": "Plain", "x": 1}]}, "Plain has nothing to set, and x is given"),
        ({"scores": "Broken"}, "is installed, but cannot be made: "),
        ({"scores": "ShortNam"}, "there is no score 'ShortNam'; did you mean 'ShortName'?"),
    ],
)
def test_what_is_wrong_with_an_own_plugin_is_told_before_a_run(parameters: dict[str, object], told: str) -> None:
    with pytest.raises(ValidationError) as raised:
        SkippyParameters.model_validate(parameters)
    assert told in str(raised.value)
