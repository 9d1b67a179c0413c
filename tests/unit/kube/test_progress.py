"""Progress, from whoever tells of it."""

from pathlib import Path
from typing import Any

import pytest

from backend.kube.client import Api
from backend.kube.csv_folder import CsvFolder
from backend.kube.feed import Feed
from backend.kube.pod_logs import PodLogs
from backend.kube.progress import Annotations, LineParser, Mark, Progress, RunningPod, Sample, reported
from tests.unit.kube.fake_server import FakeServer, pod

LINES: dict[str, Mark | None] = {
    "podshift progress step=12 total=150 loss=0.41": Mark(12, 150, {"loss": 0.41}),
    "2026-01-01 INFO podshift progress step=12 loss=4.1e-1": Mark(12, None, {"loss": 0.41}),
    "podshift progress step=3 accuracy=81.5% cpu=180 epoch_time=2.5": Mark(3, None, {"accuracy": 81.5}, 2.5, 1800.0),
    "podshift progress step=3 cpu_millis=1800 checkpoint=2": Mark(3, cpu_millis=1800.0, kept=2),
    "podshift progress iteration=7": Mark(7),
    "podshift progress step=3 loss=nan": Mark(3),
    "podshift progress step=3 loss=inf total=many": Mark(3),
    "podshift progress loss=0.4": None,
    "podshift progress step=-1": None,
    "podshift progress step=": None,
    "podshift progress ": None,
    "podshift progressed step=1": None,
    "step=12 loss=0.4": None,
    "": None,
    "podshift progress step=1 " + "x" * 5000: None,
    "podshift progress step=1 loss=3 podshift progress step=2": Mark(2),
}


@pytest.mark.parametrize("line", LINES, ids=lambda line: line[:60])
def test_lines(line: str) -> None:
    assert LineParser().parse(line) == LINES[line]


def test_lines_of_programs_that_know_nothing_of_us() -> None:
    parser = LineParser(r"Epoch (?P<epoch>\d+)/(?P<total>\d+).*loss: (?P<loss>[\d.]+)(?: .*acc: (?P<accuracy>[\d.]+))?")
    assert parser.parse("Epoch 3/10 [====] loss: 0.25") == Mark(3, 10, {"loss": 0.25})
    assert parser.parse("Epoch 3/10 [====] loss: 0.25 - acc: 0.9") == Mark(3, 10, {"loss": 0.25, "accuracy": 0.9})
    assert parser.parse("podshift progress step=4") == Mark(4)
    assert parser.parse("loading data") is None


@pytest.mark.parametrize("pattern", ["(", r"loss: (?P<loss>\d+)", r"(\d+)"])
def test_a_pattern_that_can_tell_nothing(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"no regular expression|needs a group called 'step'"):
        LineParser(pattern)


def test_marks_become_means_over_what_is_new() -> None:
    progress = Progress("a", "loss")
    marks = [(Mark(n, 10, {"loss": float(n)}, None, 100.0 * n), 2.0 * n) for n in range(1, 5)]
    assert progress.take(marks[:2]) == Sample("a", 2, 1.5, 150.0, 2.0)
    assert progress.take(marks) == Sample("a", 4, 3.5, 350.0, 2.0)
    assert progress.take(marks) is None


def test_the_metric_that_the_job_names_counts() -> None:
    mark = Mark(1, None, {"loss": 0.5, "accuracy": 0.9})
    assert Progress("a", "accuracy").take([(mark, None)]).value == 0.9  # type: ignore[union-attr]
    assert Progress("a", "other").take([(mark, None)]).value == 0.5  # type: ignore[union-attr]


def test_one_event_in_columns() -> None:
    event = reported(7.0, [Sample("a", 1, 0.5, 900, 2), Sample("b", 3)])
    assert event.time == 7.0
    assert event.pods == ("a", "b")
    assert event.values == (0.5, None)
    assert event.cpu_millis == (900, 0.0)
    assert event.iteration_s == (2, 0.0)


HEADER = "cpu,total_iteration,num_iteration,epoch_time,loss\n"


def test_a_folder_of_csv_files(tmp_path: Path) -> None:
    source = CsvFolder(tmp_path)
    running = {"train-1-migrated": RunningPod("train-1", "loss"), "ml.b": RunningPod("ml.b"), "c": RunningPod("c")}
    assert source.poll(running, 0.0) == []
    (tmp_path / "train-1.csv").write_text(HEADER + "80,150,1,2.5,0.9\n")
    (tmp_path / "b.csv").write_text("num_iteration , accuracy\n4,0.5\n")
    assert source.poll(running, 1.0) == [Sample("train-1-migrated", 1, 0.9, 800.0, 2.5), Sample("ml.b", 4, 0.5)]
    assert source.poll(running, 2.0) == []


def test_a_half_written_line_is_left_for_later(tmp_path: Path) -> None:
    source, running, path = CsvFolder(tmp_path), {"a": RunningPod("a")}, tmp_path / "a.csv"
    path.write_text("cpu,total_ite")
    assert source.poll(running, 0.0) == []
    path.write_text(HEADER + "80,150,1,2.5,0.9\n80,150,2,2.5,0.")
    assert source.poll(running, 1.0)[0].iteration == 1
    path.write_text(HEADER + "80,150,1,2.5,0.9\n80,150,2,2.5,0.7\n")
    assert source.poll(running, 2.0) == [Sample("a", 2, 0.7, 800.0, 2.5)]


def test_a_file_that_was_begun_anew_is_read_from_its_beginning(tmp_path: Path) -> None:
    source, running, path = CsvFolder(tmp_path), {"a": RunningPod("a")}, tmp_path / "a.csv"
    path.write_text(HEADER + "80,150,1,2.5,0.9\n80,150,2,2.5,0.9\n")
    source.poll(running, 0.0)
    path.unlink()
    path.write_text("num_iteration,loss\n3,0.1\n")
    assert source.poll(running, 1.0) == [Sample("a", 3, 0.1)]


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "\n\n", "\x00\xff\n", HEADER + "x,y,z\n,,,\n"], ids=repr)
def test_a_file_that_makes_no_sense_tells_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.csv").write_text(text)
    assert CsvFolder(tmp_path).poll({"a": RunningPod("a"), "../a": RunningPod("x/y")}, 0.0) == []


def test_annotations() -> None:
    source = Annotations()
    assert source.poll({"a": RunningPod("a", annotation="step=3 loss=0.5"), "b": RunningPod("b")}, 0.0) == [
        Sample("a", 3, 0.5)
    ]
    assert source.poll({"a": RunningPod("a", annotation="step=5 loss=0.4")}, 4.0) == [Sample("a", 5, 0.4, 0.0, 2.0)]


@pytest.fixture
def logs(server: FakeServer, api: Api) -> Any:
    for name in "ab":
        server.put("pods", pod(name))
    source = PodLogs(api)
    yield source
    source.close()


def log_line(second: int, text: str) -> str:
    return f"2026-01-01T00:00:{second:02}.500000000Z {text}\n"


def test_logs(server: FakeServer, logs: PodLogs) -> None:
    running = {"a": RunningPod("a", container="main"), "b": RunningPod("b"), "gone": RunningPod("gone")}
    server.logs["a"] = log_line(1, "podshift progress step=1 loss=0.9") + log_line(
        3, "podshift progress step=2 loss=0.7"
    )
    server.logs["b"] = log_line(1, "loading")
    assert logs.poll(running, 0.0) == [Sample("a", 2, 0.8, 0.0, 2.0)]
    assert logs.errors.keys() == {"gone"}
    server.logs["a"] += log_line(6, "podshift progress step=3 loss=0.6")
    assert logs.poll(running, 1.0) == [Sample("a", 3, 0.6, 0.0, 3.0)]
    queries = [query for path, query in server.queries if path.endswith("/a/log")]
    assert queries[0] == {"container": "main", "timestamps": "true", "tailLines": "200", "limitBytes": "65536"}
    assert queries[1]["sinceTime"] == "2026-01-01T00:00:03Z"


def test_a_feed_reports_each_pod_once() -> None:
    class Told:
        def __init__(self, *samples: Sample) -> None:
            self.samples = list(samples)

        def poll(self, running: Any, now: float) -> list[Sample]:
            return self.samples

    reports: list[Any] = []
    sources = [Told(Sample("a", 1)), Told(Sample("a", 2), Sample("b", 3))]
    feed = Feed(sources, dict, reports.append, 0.001)
    feed.round()
    assert reports == [[Sample("a", 1), Sample("b", 3)]]
    feed.start()
    feed.stop()


def test_a_source_that_breaks_does_not_stop_the_others() -> None:
    class Broken:
        def poll(self, running: Any, now: float) -> list[Sample]:
            raise RuntimeError("no")

    reports: list[Any] = []
    feed = Feed([Broken(), Annotations()], lambda: {"a": RunningPod("a", annotation="step=1")}, reports.append, 1.0)
    feed.round()
    assert [[sample.pod for sample in report] for report in reports] == [["a"]]
    assert "Broken" in feed.error
