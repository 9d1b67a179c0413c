from typing import Any

import pytest

from backend.migration.names import PodNames
from backend.model.objects import Pod


def test_the_first_has_no_number(scene: Any) -> None:
    names, state = PodNames(), scene(nodes=0).state
    assert [names.migrated("train-3", state) for _ in range(3)] == [
        "train-3-migrated",
        "train-3-migrated-2",
        "train-3-migrated-3",
    ]
    assert [names.restarted("train-3", state) for _ in range(2)] == ["train-3-restarted", "train-3-restarted-2"]


def test_jobs_are_counted_apart(scene: Any) -> None:
    names, state = PodNames(), scene(nodes=0).state
    assert [names.migrated(job, state) for job in ("a", "b")] == ["a-migrated", "b-migrated"]


def test_the_name_of_another_job_is_not_taken(scene: Any) -> None:
    made = scene()
    made.run("train-migrated", "node-1")
    made.end("train-migrated")
    assert PodNames().migrated("train", made.state) == "train-migrated-2"


@pytest.mark.parametrize(
    ("existing", "expected"),
    [
        pytest.param(["train"], "train-migrated", id="the first pod"),
        pytest.param(["train-migrated"], "train-migrated-2", id="one"),
        pytest.param(["train-migrated", "train-migrated-7"], "train-migrated-8", id="several"),
        pytest.param(["train-migrated-7", "train-migrated"], "train-migrated-8", id="in any order"),
        pytest.param(["train-restarted"], "train-migrated", id="another suffix"),
        pytest.param(["train-migrated-x"], "train-migrated", id="no number"),
    ],
)
def test_names_of_a_log_are_not_given_again(scene: Any, existing: list[str], expected: str) -> None:
    names = PodNames()
    for name in existing:
        names.recall(Pod(name, "train"))
    assert names.migrated("train", scene(nodes=0).state) == expected
