"""Initial placements pinned into job templates and taken out again, with everything else left as it was."""

import stat
from pathlib import Path

import pytest
import yaml

from backend.traces import templates
from backend.traces.errors import TraceError

POD = """\
# the first job
apiVersion: v1
kind: Pod
metadata:
  name: job1
  labels: {commit: "12e4", on: "yes"}   # texts, not numbers
spec:
  restartPolicy: Never

  containers:
    - name: main
      image: "example/lenet:1"
      args: [a,   b]
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: job2}
spec:
  template:
    spec:
      containers: [{name: main, image: x}]
      nodeName: old-1   # from the last run
"""
DEPLOYMENT = JOB.replace("kind: Job", "kind: Deployment").replace("job2", "job3")
CRON = """\
apiVersion: batch/v1
kind: CronJob
metadata:
  name: job4
spec:
  schedule: "* * * * *"
  jobTemplate:
    spec:
      template:
        spec: {containers: [{name: main, image: x}]}
"""
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: job1}\nspec: {ports: [{port: 80}]}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def put(folder: Path, text: str, name: str = "a.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


def text_of(path: Path) -> str:
    return path.read_bytes().decode()


def test_a_pod_gets_its_node_and_keeps_every_other_character(folder: Path) -> None:
    path = put(folder, POD)
    assert templates.pin(folder, {"job1": "node-1", "job9": "node-2"}) == {"job1": "node-1"}
    assert text_of(path) == POD.replace("  restartPolicy", "  nodeName: node-1\n  restartPolicy")


def test_a_node_that_was_there_is_replaced(folder: Path) -> None:
    path = put(folder, JOB)
    templates.pin(folder, {"job2": "node-1"})
    assert text_of(path) == JOB.replace("old-1", "node-1")


@pytest.mark.parametrize(
    ("text", "job", "way"),
    [
        pytest.param(POD, "job1", ["spec"], id="pod"),
        pytest.param(JOB, "job2", ["spec", "template", "spec"], id="job"),
        pytest.param(DEPLOYMENT, "job3", ["spec", "template", "spec"], id="deployment"),
        pytest.param(CRON, "job4", ["spec", "jobTemplate", "spec", "template", "spec"], id="cron-job"),
    ],
)
def test_every_kind_is_pinned_where_its_pods_are_described(folder: Path, text: str, job: str, way: list[str]) -> None:
    path = put(folder, text)
    assert templates.pin(folder, {job: "node-1"}) == {job: "node-1"}
    spec = yaml.safe_load(text_of(path))
    for step in way:
        spec = spec[step]
    assert spec["nodeName"] == "node-1"


@pytest.mark.parametrize("text", [POD, CRON], ids=["block", "flow"])
def test_unpinning_gives_back_what_was_there_before_pinning(folder: Path, text: str) -> None:
    path = put(folder, text)
    pinned = templates.pin(folder, {"job1": "node-1", "job4": "node-1"})
    assert text_of(path) != text
    assert templates.unpin(folder) == list(pinned)
    assert text_of(path) == text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(JOB, JOB.replace("\n      nodeName: old-1   # from the last run", ""), id="last-in-a-block"),
        pytest.param(JOB.rstrip("\n"), JOB.partition("\n      nodeName")[0], id="last-without-newline"),
        pytest.param(POD.replace("  restart", "  nodeName: n1\n  restart"), POD, id="first-in-a-block"),
        pytest.param(
            "kind: Pod\nmetadata: {name: a}\nspec: {nodeName: n1, containers: []}\n",
            "kind: Pod\nmetadata: {name: a}\nspec: {containers: []}\n",
            id="first-in-a-flow",
        ),
        pytest.param(
            "kind: Pod\nmetadata: {name: a}\nspec: {containers: [], nodeName: n1}\n",
            "kind: Pod\nmetadata: {name: a}\nspec: {containers: []}\n",
            id="last-in-a-flow",
        ),
        pytest.param(
            '{"kind": "Pod", "metadata": {"name": "a"}, "spec": {"nodeName": "n1", "containers": []}}',
            '{"kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": []}}',
            id="json",
        ),
        pytest.param(
            JOB.replace("\n", "\r\n"),
            JOB.partition("\n      nodeName")[0].replace("\n", "\r\n") + "\r\n",
            id="windows-line-ends",
        ),
    ],
)
def test_unpinning_takes_the_field_out_and_nothing_else(folder: Path, before: str, after: str) -> None:
    path = put(folder, before)
    templates.unpin(folder)
    assert text_of(path) == after


def test_each_document_of_a_file_gets_its_own_node(folder: Path) -> None:
    path = put(folder, f"{POD}---\n{SERVICE}---\n{JOB}---\n")
    templates.pin(folder, {"job1": "node-1", "job2": "node-2"})
    first, service, second, nothing = yaml.safe_load_all(text_of(path))
    assert first["spec"]["nodeName"] == "node-1"
    assert second["spec"]["template"]["spec"]["nodeName"] == "node-2"
    assert (service, nothing) == (yaml.safe_load(SERVICE), None)


def test_objects_of_a_list_are_pinned(folder: Path) -> None:
    pods = [{"kind": "Pod", "metadata": {"name": name}, "spec": {"containers": []}} for name in ("a", "b")]
    path = put(folder, yaml.safe_dump({"kind": "List", "items": pods}))
    assert templates.pin(folder, {"b": "n2"}) == {"b": "n2"}
    assert [item["spec"].get("nodeName") for item in yaml.safe_load(text_of(path))["items"]] == [None, "n2"]


def test_a_template_of_a_migrated_pod_belongs_to_its_job(folder: Path) -> None:
    put(folder, POD.replace("job1", "job1-migrated"))
    assert templates.pin(folder, {"job1": "node-1"}) == {"job1": "node-1"}


@pytest.mark.parametrize(
    "node", ["node-1.example.org", "1", "true", "12e4", "null", "a: b", "#x", "näme", "🙂", "a\nb"]
)
def test_a_node_of_any_name_is_read_back_as_that_text(folder: Path, node: str) -> None:
    path = put(folder, POD)
    templates.pin(folder, {"job1": node})
    assert yaml.safe_load(text_of(path))["spec"]["nodeName"] == node


@pytest.mark.parametrize("node", ["true", "1", "12e4", "no", "y"])
def test_a_node_name_that_some_readers_take_for_another_type_is_quoted(folder: Path, node: str) -> None:
    path = put(folder, POD)
    templates.pin(folder, {"job1": node})
    assert f'nodeName: "{node}"\n' in text_of(path)


def test_a_file_without_change_is_not_written(folder: Path) -> None:
    path = put(folder, POD)
    path.chmod(0o444)
    before = path.stat()
    templates.pin(folder, {"job9": "node-1"})
    templates.unpin(folder)
    after = path.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_pinning_twice_is_pinning_once(folder: Path) -> None:
    path = put(folder, POD)
    templates.pin(folder, {"job1": "node-1"})
    once = text_of(path)
    assert templates.pin(folder, {"job1": "node-1"}) == {"job1": "node-1"}
    assert text_of(path) == once


def test_permissions_stay(folder: Path) -> None:
    path = put(folder, POD)
    path.chmod(0o640)
    templates.pin(folder, {"job1": "node-1"})
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_stays_a_link_and_its_file_is_changed_once(folder: Path) -> None:
    (folder / "real").mkdir()
    real = put(folder / "real", POD, "pod.txt")
    links = [folder / "a.yaml", folder / "b.yml"]
    for link in links:
        link.symlink_to(real)
    templates.pin(folder, {"job1": "node-1"})
    assert all(link.is_symlink() for link in links)
    assert text_of(real).count("nodeName: node-1\n") == 1


def test_a_byte_order_mark_stays(folder: Path) -> None:
    path = put(folder, "\ufeff" + POD)
    templates.pin(folder, {"job1": "node-1"})
    assert text_of(path).startswith("\ufeff# the first job")


def test_folders_and_dead_links_are_no_templates(folder: Path) -> None:
    (folder / "folder.yaml").mkdir()
    (folder / "dead.yaml").symlink_to(folder / "nowhere")
    assert templates.pin(folder, {"job1": "node-1"}) == {}


BROKEN = {
    "no-yaml": ("kind: [Pod", "is no YAML"),
    "tag-of-python": ("!!python/object/apply:os.system ['true']", "is no YAML"),
    "too-deep": ("[" * 3000, "nested too deeply"),
    "no-such-date": ("when: 2020-02-31", "is no YAML"),
    "pod-without-name": ("kind: Pod\nspec: {containers: []}", "holds a Pod without metadata.name"),
    "metadata-a-list": ("kind: Pod\nmetadata: []\nspec: {containers: []}", "holds a Pod without metadata.name"),
    "merged-in": (
        "x: &x {containers: [], nodeName: n1}\nkind: Pod\nmetadata: {name: job1}\nspec: {<<: *x}\n",
        "do it by hand",
    ),
}


@pytest.mark.parametrize(("text", "problem"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_file_leaves_all_files_as_they_were(folder: Path, text: str, problem: str) -> None:
    good = put(folder, JOB, "a.yaml")
    broken = put(folder, text, "b.yaml")
    with pytest.raises(TraceError, match=problem) as caught:
        templates.unpin(folder)
    assert str(broken) in str(caught.value)
    assert {path.name: text_of(path) for path in folder.iterdir()} == {good.name: JOB, broken.name: text}


def test_a_file_that_is_no_utf_8_is_refused(folder: Path) -> None:
    (folder / "a.yaml").write_bytes(b"kind: \xff")
    with pytest.raises(TraceError, match="not text in UTF-8"):
        templates.unpin(folder)


def test_a_folder_that_is_none_is_refused(folder: Path) -> None:
    with pytest.raises(TraceError, match="is no folder"):
        templates.unpin(folder / "nowhere")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("just a text", id="text"),
        pytest.param("[1, 2]", id="list"),
        pytest.param("kind: ConfigMap\ndata: {a: b}", id="no-spec"),
        pytest.param("kind: Job\nspec: [1]", id="spec-a-list"),
        pytest.param("kind: CronJob\nspec: {jobTemplate: text}", id="template-a-text"),
        pytest.param("kind: List\nitems: text", id="items-a-text"),
        pytest.param("kind: [Pod]\nspec: {template: {}}", id="kind-a-list"),
    ],
)
def test_what_holds_no_pod_is_left_alone(folder: Path, text: str) -> None:
    path = put(folder, text)
    assert templates.pin(folder, {"job1": "node-1"}) == {}
    assert text_of(path) == text
