from typing import Any

import pytest

from backend.migration import registry
from backend.migration.least_loaded import LeastLoaded
from backend.migration.policies import NoMigration
from backend.migration.specon import SpeCon
from backend.model import events as ev


@pytest.mark.parametrize(
    ("name", "policy"), [("none", NoMigration), ("specon", SpeCon), ("least-loaded", LeastLoaded)], ids=str
)
def test_policies_are_found_by_name(name: str, policy: type) -> None:
    assert registry.load(name) is policy
    assert name in registry.names()


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        pytest.param("spec0n", "did you mean 'specon'.*known: least-loaded, none, specon", id="close"),
        pytest.param("zzz", r"'zzz' \(known: least-loaded, none, specon", id="far"),
        pytest.param("", "known", id="empty"),
    ],
)
def test_an_unknown_name_is_refused_with_what_there_is(name: str, hint: str) -> None:
    with pytest.raises(ValueError, match=hint):
        registry.load(name)


@pytest.mark.parametrize("name", registry.names())
def test_every_parameter_has_a_default_and_a_description(name: str) -> None:
    fields = registry.load(name).Parameters.model_fields
    assert [field for field, info in fields.items() if info.is_required() or not info.description] == []


@pytest.mark.parametrize("name", registry.names())
def test_parameters_survive_their_own_dump(name: str) -> None:
    made = registry.load(name).Parameters()
    assert type(made).model_validate(made.model_dump(mode="json")) == made


def test_no_migration_moves_nothing(scene: Any) -> None:
    made = scene(NoMigration(NoMigration.Parameters()))
    for number in range(5):
        made.run(f"job-{number}", "node-1")
    made.apply(ev.TimerFired(30.0, "specon"))
    assert (made.events, made.actions) == ([], [])
