"""Job templates: what can be one, and what pods are made from it."""

from pathlib import Path

import pytest

from backend.kube.templates import LARGEST, TemplateError, TemplateFolder, parse, pod_of
from tests.data.job_template import POD


def holder(kind: str, path: str) -> str:
    """An object of a kind whose pod template is at `path`."""
    inner = {"spec": {"containers": [{"name": "main", "image": "vgg:1"}]}}
    for step in reversed(path.split(".")):
        inner = {step: inner}
    return f"kind: {kind}\nmetadata: {{name: vgg}}\n{next(iter(inner))}: {next(iter(inner.values()))}"


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("Job", "spec.template"),
        ("Deployment", "spec.template"),
        ("StatefulSet", "spec.template"),
        ("CronJob", "spec.jobTemplate.spec.template"),
        ("PodTemplate", "template"),
    ],
)
def test_a_pod_template_is_found_in_what_holds_one(kind: str, path: str) -> None:
    pod = parse(holder(kind, path))
    assert pod["kind"] == "Pod"
    assert pod["metadata"]["name"] == "vgg"
    assert pod["spec"]["containers"] == [{"name": "main", "image": "vgg:1"}]


def test_pods_have_what_the_template_says_and_the_name_of_their_job() -> None:
    made = pod_of(parse(POD), "vgg-3", "vgg", {"podshift.io/training": "{}", "podshift.io/run-seconds": "9"})
    assert made["metadata"]["name"] == "vgg-3"
    assert made["metadata"]["labels"]["team"] == "vision"
    assert made["metadata"]["annotations"] == {"podshift.io/training": "{}", "podshift.io/run-seconds": "30"}
    assert made["spec"]["restartPolicy"] == "Never"
    assert "nodeName" not in made["spec"], "where a pod goes is said once, for its first pod"
    assert made["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "2", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "it holds 0 objects"),
        ("a: 1\n---\nb: 2", "it holds 2 objects"),
        ("[1, 2]", "it holds 1 objects"),
        ("kind: {", "it is no YAML"),
        ("!!python/object/apply:os.system ['true']", "it is no YAML"),
        ("a: &a [1]\nb: *a", "alias"),
        ("spec: {}", "kind is missing"),
        ("kind: ConfigMap\ndata: {a: b}", "a ConfigMap without a pod template"),
        ("kind: Pod\nspec: 3", "needs a spec"),
        ("kind: Pod\nspec: {}", "spec.containers needs"),
        ("kind: Pod\nspec: {containers: [7]}", r"spec.containers\[0\] is no mapping"),
        ("kind: Pod\nspec: {containers: [{name: a}]}", r"spec.containers\[0\].image is missing"),
        (POD.replace('cpu: "2"', 'cpu: "two"'), "resources cannot be read"),
        (POD.replace("nodeName: node-2", "restartPolicy: Always"), "Never or OnFailure"),
        (POD.replace("nodeName: node-2", "nodeName: 7"), "nodeName is 7"),
        (POD.replace("team: vision", "team: true"), "metadata.labels"),
        ("#" * (LARGEST + 1), "characters"),
        ("[" * 5000, "it is no YAML"),
    ],
)
def test_what_cannot_be_a_template_is_refused_with_the_reason(text: str, sentence: str) -> None:
    with pytest.raises(TemplateError, match=sentence):
        parse(text)


def test_a_folder_keeps_templates_as_they_were_written(tmp_path: Path) -> None:
    folder = TemplateFolder(tmp_path / "templates")
    assert folder.names() == []
    folder.put("vgg", POD)
    assert folder.names() == ["vgg"]
    assert folder.text("vgg") == POD
    assert folder.pod("vgg")["metadata"]["name"] == "vgg"
    with pytest.raises(TemplateError, match="kind is missing"):
        folder.put("vgg", "a: 1")
    assert folder.text("vgg") == POD, "a refused text replaces nothing"
    folder.remove("vgg")
    with pytest.raises(TemplateError, match="there is no template 'vgg'"):
        folder.text("vgg")
    assert list(folder.folder.iterdir()) == []


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "A", "a" * 64, "x\n"])
def test_names_stay_within_the_folder(tmp_path: Path, name: str) -> None:
    folder = TemplateFolder(tmp_path / "templates")
    with pytest.raises(TemplateError, match="no name of a template"):
        folder.put(name, POD)
    assert not folder.folder.exists() or list(folder.folder.iterdir()) == []


def test_a_file_that_somebody_broke_is_named(tmp_path: Path) -> None:
    (tmp_path / "vgg.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(TemplateError, match="'vgg' is no text"):
        TemplateFolder(tmp_path).pod("vgg")
    (tmp_path / "vgg.yaml").write_text("kind: Pod")
    with pytest.raises(TemplateError, match=r"template 'vgg': .* needs a spec"):
        TemplateFolder(tmp_path).pod("vgg")
