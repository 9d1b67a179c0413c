"""podshift template."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from tests.data.job_template import POD


def test_a_template_is_kept_listed_shown_and_removed(podshift: Callable[..., Result], tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text(POD)
    assert podshift("template", "check", str(file)).exit_code == 0
    assert podshift("template", "add", "vgg", str(file)).exit_code == 0
    assert podshift("template", "list").stdout == "vgg\tvgg:1\tnode-2\n"
    assert podshift("template", "show", "vgg").stdout == POD
    assert podshift("template", "remove", "vgg").exit_code == 0
    assert podshift("template", "list").stdout == ""


def test_bad_templates_and_names_end_with_a_sentence(podshift: Callable[..., Result], tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text("kind: ConfigMap")
    for arguments in (("check", str(file)), ("add", "vgg", str(file)), ("show", "none"), ("remove", "../x")):
        result = podshift("template", *arguments)
        assert result.exit_code == 2, arguments
        assert result.stderr.startswith("Error: "), arguments
        assert result.stderr.strip().endswith("."), arguments
    assert podshift("template", "list").stdout == ""


def test_the_cluster_is_asked_and_makes_nothing(
    podshift: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PODSHIFT_KUBECONFIG", "")  # the command sets it; it is taken out again after the test
    from backend.embedded.cluster import EmbeddedCluster
    from backend.kube.client import connect
    from backend.model.objects import Node

    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text(POD)
    bad.write_text(POD.replace("name: main", "name: 'Not A Name'"))
    with EmbeddedCluster([Node("node-1", 4000, 2**33)], speed=1.0) as cluster:
        cluster.start()
        kubeconfig = str(cluster.kubeconfig(tmp_path / "kubeconfig"))
        taken = podshift("template", "check", str(good), "--server", "--kubeconfig", kubeconfig)
        refused = podshift("template", "check", str(bad), "--server", "--kubeconfig", kubeconfig)
        api = connect(kubeconfig=kubeconfig)
        pods = api.get("/api/v1/pods")["items"]
        api.close()
    assert taken.exit_code == 0, taken.output
    assert refused.exit_code == 2, refused.output
    assert "would not take the pod" in refused.stderr
    assert pods == []
