"""Manifests of new pods."""

from typing import Any

import pytest

from backend.kube.convert import pod_of
from backend.kube.manifests import binding, clean, deletion, eviction, for_pod, is_incarnation
from backend.kube.names import located, qualified
from backend.model.objects import Pod

LIVE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "train-1",
        "namespace": "ml",
        "uid": "u1",
        "resourceVersion": "77",
        "generation": 1,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "deletionTimestamp": "2026-01-01T00:00:00Z",
        "ownerReferences": [],
        "finalizers": ["x"],
        "managedFields": [{}],
        "labels": {
            "app": "train",
            "podshift.io/incarnation": "3",
            "podshift.io/run": "old",
            "podshift.io/migration": "2",
        },
        "annotations": {
            "podshift.io/iterations": "150",
            "podshift.io/progress": "step=7",
            "kubectl.kubernetes.io/last-applied-configuration": "{}",
        },
    },
    "spec": {
        "nodeName": "node-1",
        "schedulerName": "default-scheduler",
        "serviceAccountName": "trainer",
        "serviceAccount": "trainer",
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
        "restartPolicy": "Never",
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [
            {"key": "gpu", "operator": "Exists"},
            {
                "key": "node.kubernetes.io/not-ready",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 300,
            },
            {
                "key": "node.kubernetes.io/unreachable",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 9,
            },
        ],
        "volumes": [
            {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
            {"name": "kube-api-access-x7", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}},
            {"name": "default-token-abc", "secret": {"secretName": "default-token-abc"}},
        ],
        "initContainers": [{"name": "i", "volumeMounts": [{"name": "kube-api-access-x7", "mountPath": "/var/run/x"}]}],
        "containers": [
            {
                "name": "main",
                "image": "toy:1",
                "volumeMounts": [
                    {"name": "data", "mountPath": "/data"},
                    {"name": "kube-api-access-x7", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"},
                ],
            }
        ],
    },
    "status": {"phase": "Running"},
}


def test_a_clean_copy_is_what_somebody_might_have_written() -> None:
    before = repr(LIVE)
    assert clean(LIVE) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "train-1",
            "namespace": "ml",
            "labels": LIVE["metadata"]["labels"],
            "annotations": {"podshift.io/iterations": "150"},
        },
        "spec": {
            "schedulerName": "default-scheduler",
            "serviceAccountName": "trainer",
            "restartPolicy": "Never",
            "nodeSelector": {"disk": "ssd"},
            "tolerations": [LIVE["spec"]["tolerations"][0], LIVE["spec"]["tolerations"][2]],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
            "initContainers": [{"name": "i"}],
            "containers": [
                {"name": "main", "image": "toy:1", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}
            ],
        },
    }
    assert repr(LIVE) == before


def test_cleaning_twice_is_cleaning_once() -> None:
    assert clean(clean(LIVE)) == clean(LIVE)


def test_the_next_pod_of_a_job() -> None:
    made = for_pod(LIVE, Pod("ml.train-1-migrated", "ml.train-1", 4, "node-2", 9), run="r1", scheduler="podshift")
    assert made["metadata"] == {
        "name": "train-1-migrated",
        "namespace": "ml",
        "labels": {
            "app": "train",
            "podshift.io/job": "train-1",
            "podshift.io/incarnation": "4",
            "podshift.io/run": "r1",
            "podshift.io/migration": "9",
        },
        "annotations": {"podshift.io/iterations": "150"},
    }
    assert (made["spec"]["nodeName"], made["spec"]["schedulerName"]) == ("node-2", "podshift")


def test_without_a_node_a_scheduler_has_to_find_one() -> None:
    made = for_pod(LIVE, Pod("ml.train-1-restarted", "ml.train-1", 1))
    assert "nodeName" not in made["spec"]
    assert made["spec"]["schedulerName"] == "default-scheduler"


def test_a_name_too_long_for_a_label_is_an_annotation_and_read_again() -> None:
    job = "t" * 80
    made = for_pod(clean(LIVE), Pod(f"{job}-migrated", job, 1))
    assert "podshift.io/job" not in made["metadata"]["labels"]
    assert pod_of(made).job.name == job
    assert is_incarnation(made, Pod(f"{job}-migrated", job, 1))


def test_what_was_made_is_read_as_what_was_meant() -> None:
    pod = Pod("ml.train-1-migrated", "ml.train-1", 4, "node-2", 9)
    seen = pod_of(for_pod(LIVE, pod, run="r1"))
    assert Pod(seen.name, seen.job.name, seen.incarnation, seen.node, seen.migration) == pod


@pytest.mark.parametrize("name", ["Train", "a_b", "-a", "a..b", "a" * 254, "a/b", ""], ids=lambda name: name[:8])
def test_names_that_no_pod_can_have(name: str) -> None:
    with pytest.raises(ValueError, match="no pod can be called"):
        for_pod(LIVE, Pod(f"ml.{name}", "ml.train-1"))


INCARNATIONS = {
    "the same": (Pod("a", "job", 1), "r1", True),
    "of another job": (Pod("a", "other", 1), "r1", False),
    "another one": (Pod("a", "job", 2), "r1", False),
    "of another run": (Pod("a", "job", 1), "r2", False),
    "of no run": (Pod("a", "job", 1), "", False),
}


@pytest.mark.parametrize("case", INCARNATIONS, ids=str)
def test_whether_a_pod_is_the_one_that_was_meant(case: str) -> None:
    pod, run, same = INCARNATIONS[case]
    assert is_incarnation(for_pod(LIVE, Pod("a", "job", 1), run="r1"), pod, run) is same


def test_bodies_of_calls() -> None:
    assert binding("ml.a", "u1", "node-1") == {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "a", "namespace": "ml", "uid": "u1"},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "node-1"},
    }
    assert deletion("u1", 29.6)["gracePeriodSeconds"] == 30
    assert "preconditions" not in deletion(None, 0)
    assert set(eviction("a", "u1", 30)) == {"metadata", "deleteOptions"}


PLACES = [("default", "a"), ("ml", "a"), ("ml", "a.b"), ("default", "a.b"), ("default", "ml.a"), ("ml", "a.b.c")]


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_names_are_read_as_they_were_written(place: tuple[str, str]) -> None:
    assert located(qualified(*place)) == place
    assert len({qualified(*one) for one in PLACES}) == len(PLACES)
