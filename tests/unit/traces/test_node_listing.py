"""Which node each pod is on: kubectl's listing and job_node_info.csv, read and written."""

from typing import Any

import pytest

from backend.folds.tables import fold
from backend.model import events as ev
from backend.model.state import ClusterState
from backend.traces import node_listing
from backend.traces.errors import TraceError

LISTING = b"""NODE     NAME
node-1   job1
node-2   job2-migrated
<none>   job3
node-1   job4
"""
PLACED = {"job1": "node-1", "job2-migrated": "node-2", "job4": "node-1"}


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(LISTING, id="as-kubectl-writes-it"),
        pytest.param(LISTING.rstrip(b"\n"), id="last-line-without-newline"),
        pytest.param(LISTING.replace(b"\n", b"\r\n"), id="windows-line-ends"),
        pytest.param(b"\xef\xbb\xbf" + LISTING, id="byte-order-mark"),
        pytest.param(LISTING.replace(b"NODE     NAME", b"node name"), id="small-letters"),
        pytest.param(b"NAME NODE\njob1 node-1\njob2-migrated node-2\njob3 <none>\njob4 node-1", id="name-before-node"),
    ],
)
def test_a_listing_gives_the_node_of_each_pod_that_has_one(content: bytes) -> None:
    assert node_listing.read_listing(content) == PLACED


def tables_of(pods: dict[str, str]) -> dict[str, Any]:
    return {name: table.to_pylist() for name, table in fold(node_listing.to_events(pods)).items()}


def test_a_migrated_pod_is_joined_to_its_job() -> None:
    segments = tables_of(PLACED)["segments"]
    assert [(row["job"], row["pod"], row["node"]) for row in segments] == [
        ("job1", "job1", "node-1"),
        ("job4", "job4", "node-1"),
        ("job2", "job2-migrated", "node-2"),
    ]


@pytest.mark.parametrize(
    "pods",
    [
        pytest.param({"a-migrated-2": "n3", "a-migrated": "n2", "a": "n1"}, id="youngest-first"),
        pytest.param({"a": "n1", "a-migrated": "n2", "a-migrated-2": "n3"}, id="oldest-first"),
    ],
)
def test_pods_of_one_job_are_put_in_the_order_of_their_age(pods: dict[str, str]) -> None:
    (job,) = tables_of(pods)["jobs"]
    assert (job["job"], job["first_node"], job["last_node"], job["pods"]) == ("a", "n1", "n3", 3)


def test_a_listing_gives_a_log_that_can_be_applied_and_read_again() -> None:
    log = node_listing.to_events(PLACED)
    state = ClusterState()
    for event in ev.decode_lines(ev.encode_lines(log)):
        state.apply(event)
    assert {name: pod.node for name, pod in state.pods.items()} == PLACED


BAD_LISTINGS: dict[str, tuple[bytes, int | None, str]] = {
    "empty": (b"", None, "is empty"),
    "another-header": (b"POD NODE\na n1\n", 1, "must be NODE NAME"),
    "no-header": (b"node-1 job1\n", 1, "must be NODE NAME"),
    "nobody": (b"No resources found in default namespace.\n", 1, "must be NODE NAME"),
    "three-words": (b"NODE NAME\nn1 a Running\n", 2, "not 3 words"),
    "one-word": (b"NODE NAME\nn1 a\nn1\n", 3, "not 1 words"),
    "twice": (b"NODE NAME\nn1 a\nn2 a\n", 3, "pod 'a' is there already"),
    "only-a-header": (b"NODE NAME\n", None, "holds no pod that is on a node"),
    "nothing-bound": (b"NODE NAME\n<none> a\n", None, "holds no pod that is on a node"),
    "not-utf-8": (b"NODE NAME\n\xff a\n", None, "not text in UTF-8"),
}


@pytest.mark.parametrize(("content", "line", "problem"), BAD_LISTINGS.values(), ids=BAD_LISTINGS.keys())
def test_a_bad_listing_is_refused_by_file_line_and_problem(content: bytes, line: int | None, problem: str) -> None:
    with pytest.raises(TraceError) as caught:
        node_listing.read_listing(content, "nodes.txt")
    assert str(caught.value).startswith("nodes.txt: " if line is None else f"nodes.txt, line {line}: ")
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"job,node\njob1,n1\njob2,n2\n", id="with-a-header"),
        pytest.param(b"job1,n1\njob2,n2\n", id="without-a-header"),
        pytest.param(b"name,node\r\njob1,n1\r\njob2,n2", id="windows-and-no-newline-at-the-end"),
        pytest.param(b"job1-migrated,n9\njob2,n2\njob1,n1\n", id="the-first-pod-counts"),
    ],
)
def test_job_node_info_gives_the_node_of_each_job(content: bytes) -> None:
    assert node_listing.read_job_node_info(content) == {"job1": "n1", "job2": "n2"}


def test_a_job_of_which_only_the_migrated_pod_is_listed_is_there() -> None:
    assert node_listing.read_job_node_info(b"job1-migrated,n9\n") == {"job1": "n9"}


def test_what_is_written_as_job_node_info_is_read_again() -> None:
    placements = {"job10": "node-2.example.org", "job2": "node-1"}
    read = node_listing.read_job_node_info(node_listing.write_job_node_info(placements).encode())
    assert list(read.items()) == list(placements.items())


@pytest.mark.parametrize("name", ["a,b", 'a"b', "a\nb", "", " a", "=1+1", "-a", "@a", "+a", "a\t"], ids=ascii)
@pytest.mark.parametrize("place", ["job", "node"])
def test_a_name_that_would_break_job_node_info_is_not_written(name: str, place: str) -> None:
    with pytest.raises(TraceError, match="no Kubernetes name"):
        node_listing.write_job_node_info({name: "n1"} if place == "job" else {"job1": name})


BAD_INFOS: dict[str, tuple[bytes, int | None, str]] = {
    "empty": (b"", None, "holds no job"),
    "only-a-header": (b"job,node\n", None, "holds no job"),
    "three-cells": (b"a,n1,x\n", 1, "must be job,node"),
    "one-cell": (b"job,node\na\n", 2, "must be job,node"),
    "no-node": (b"a,\n", 1, "must be job,node"),
    "twice": (b"a,n1\nb,n1\na,n2\n", 3, "'a' is there already"),
}


@pytest.mark.parametrize(("content", "line", "problem"), BAD_INFOS.values(), ids=BAD_INFOS.keys())
def test_a_bad_job_node_info_is_refused_by_file_line_and_problem(
    content: bytes, line: int | None, problem: str
) -> None:
    with pytest.raises(TraceError) as caught:
        node_listing.read_job_node_info(content, "info.csv")
    assert str(caught.value).startswith("info.csv: " if line is None else f"info.csv, line {line}: ")
    assert problem in str(caught.value)
