"""When jobs arrive: each kind of submissions, their seeds, files of times."""

from pathlib import Path
from typing import Any

import pytest

from backend.experiments.errors import SpecificationError
from backend.experiments.specification import Specification, load, parse

NODES = {"nodes": {"count": 2, "cpu": 4, "memory": "8Gi"}}


def specify(submissions: dict[str, Any], **workload: Any) -> Specification:
    return parse(
        {
            "name": "x",
            "cluster": NODES,
            "workload": {"models": ["lenet", "vae"], "submissions": submissions} | workload,
            "arms": [{"name": "a"}],
        }
    )


def times(specification: Specification, seed: int = 1) -> list[float]:
    return [submission.time for submission in specification.workload.build_submissions(seed)]


def test_a_list_keeps_its_order_and_says_how_many_jobs_there_are() -> None:
    specification = specify({"at": [30, 10, 20]})
    assert times(specification) == [30, 10, 20]
    assert specification.job_count == 3


def test_every_n_seconds() -> None:
    assert times(specify({"every": 30}, jobs=4)) == [0, 30, 60, 90]
    assert times(specify({"every": 30, "start": 5}, jobs=3)) == [5, 35, 65]


def test_all_at_once() -> None:
    assert times(specify({"every": 0}, jobs=3)) == [0, 0, 0]


def test_uniform_in_a_window() -> None:
    drawn = times(specify({"uniform": [100, 200]}, jobs=500))
    assert drawn == sorted(drawn)
    assert 100 <= drawn[0] < 101
    assert 199 < drawn[-1] <= 200
    assert sum(drawn) / 500 == pytest.approx(150, abs=4)


def test_poisson_by_rate_or_by_gap() -> None:
    by_rate = times(specify({"poisson": {"rate": 0.1}}, jobs=2000))
    gaps = [later - earlier for earlier, later in zip([0.0, *by_rate], by_rate, strict=False)]
    assert all(gap > 0 for gap in gaps)
    assert sum(gaps) / 2000 == pytest.approx(10, rel=0.07)
    assert sum(gap > 10 for gap in gaps) / 2000 == pytest.approx(0.3679, abs=0.03)  # exp(-1): no memory
    assert times(specify({"poisson": {"mean_gap": 10}}, jobs=2000)) == by_rate


def test_poisson_begins_at_its_start() -> None:
    early, late = (times(specify({"poisson": {"mean_gap": 10}, "start": start}, jobs=5)) for start in (0, 1000))
    assert late == pytest.approx([time + 1000 for time in early])


@pytest.mark.parametrize("submissions", [{"uniform": [0, 100]}, {"poisson": {"rate": 1}}], ids=["uniform", "poisson"])
def test_random_times_depend_on_the_seed_only(submissions: dict[str, Any]) -> None:
    specification = specify(submissions, jobs=20)
    assert times(specification, 1) == times(specification, 1)
    assert times(specification, 1) != times(specification, 2)
    assert times(specification, 1)[:5] == times(specify(submissions | {}, jobs=20, assign="random"), 1)[:5]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("1\n2.5\n30", [1, 2.5, 30]),
        ("# seconds\n\n10\n 20 \r\n", [10, 20]),
        ("job,seconds\na,3\nb,4", [3, 4]),
        ("seconds,images\n5,lenet\n6,vae\n", [5, 6]),
        ("\ufeffat\n7", [7]),
        ('"name, long",time\n"x, y",8', [8]),
        ("1e2", [100]),
    ],
    ids=["lines", "comments", "named column", "FlowCon's job table", "byte order mark", "quotes", "exponent"],
)
def test_a_file_becomes_a_list(tmp_path: Path, content: str, expected: list[float]) -> None:
    (tmp_path / "times.csv").write_text(content, newline="")
    (tmp_path / "spec.yaml").write_text(
        "{name: x, cluster: {nodes: {cpu: 1, memory: 1Gi}}, arms: [{name: a}], "
        "workload: {models: [vae], submissions: {file: times.csv}}}"
    )
    specification = load(tmp_path / "spec.yaml")
    assert times(specification) == expected
    assert parse(specification.to_yaml()) == specification


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "there is no file"),
        (b"", "holds no times"),
        (b"seconds\n", "holds no times"),
        (b"1\nx\n3", "line 2 of times.csv holds 'x'"),
        (b"1\n-5", "line 2 of times.csv holds '-5'"),
        (b"1\nnan", "line 2"),
        (b"1\ninf", "line 2"),
        (b"job,at\na,1\nb", "line 3 of times.csv holds ''"),
        (b"\xff\xfe", "not UTF-8"),
        (b"1\n" * 200_001, "more than 200,000 times"),
        (b" " * (16 * 2**20 + 1), "larger than 16 MiB"),
    ],
    ids=[
        "missing",
        "empty",
        "heading only",
        "word",
        "negative",
        "nan",
        "inf",
        "short row",
        "binary",
        "too many",
        "huge",
    ],
)
def test_broken_files(tmp_path: Path, content: bytes | None, words: str) -> None:
    if content is not None:
        (tmp_path / "times.csv").write_bytes(content)
    document = {
        "name": "x",
        "cluster": NODES,
        "workload": {"models": ["vae"], "submissions": {"file": "times.csv"}},
        "arms": [{"name": "a"}],
    }
    with pytest.raises(SpecificationError) as caught:
        parse(document, folder=tmp_path)
    (error,) = caught.value.errors
    assert error.field == "workload.submissions.file"
    assert words in error.message
