"""The node and pod lists of the openb trace format."""

from collections.abc import Callable

import pytest

from backend.model.labels import ACCELERATOR
from backend.traces import openb
from backend.traces.errors import TraceError

NODES = b"sn,cpu_milli,memory_mib,gpu,model\nn0,32000,262144,0,\nn1,96000,786432,8,G2\n"
PODS = (
    b"name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
    b"p0,12000,16384,1,1000,,LS,Running,0,12537496,0\n"
    b"p1,6000,12288,1,460,V100M16|V100M32,BE,Pending,427061,12902960,\n"
    b"p2,100,0,0,0,,LS,Running,5,6,5\n"
)


@pytest.mark.parametrize(
    "change",
    [lambda c: c, lambda c: c.replace(b"\n", b"\r\n"), lambda c: b"\xef\xbb\xbf" + c, lambda c: c.rstrip(b"\n")],
    ids=["as-published", "windows-line-ends", "byte-order-mark", "last-line-without-newline"],
)
def test_lists_are_read(change: Callable[[bytes], bytes]) -> None:
    assert openb.read_nodes(change(NODES)) == [
        openb.TraceNode("n0", 32000, 262144 * 2**20, 0, ""),
        openb.TraceNode("n1", 96000, 786432 * 2**20, 8, "G2"),
    ]
    first, second, third = openb.read_pods(change(PODS))
    assert first == openb.TracePod("p0", 12000, 16384 * 2**20, 1, 1000, (), "LS", "Running", 0.0, 12537496.0, 0.0)
    assert (second.models, second.gpu_millis, second.scheduled_s) == (("V100M16", "V100M32"), 460, None)
    assert (third.gpus, third.memory_bytes) == (0, 0)


def test_columns_may_stand_in_any_order_and_others_beside_them() -> None:
    (node,) = openb.read_nodes(b"note,model,gpu,memory_mib,cpu_milli,sn\nx,T4,2,1024,4000,n\n")
    assert node == openb.TraceNode("n", 4000, 2**30, 2, "T4")


def test_the_header_tells_which_list_it_is() -> None:
    assert (openb.kind_of(NODES, "a"), openb.kind_of(PODS, "b")) == ("nodes", "pods")
    with pytest.raises(TraceError, match=r"c\.csv, line 1: must be the header of a node list .* or a pod list"):
        openb.kind_of(b"job,node\na,b\n", "c.csv")


def test_gpus_become_labels() -> None:
    plain, gpus = (openb.to_node(node) for node in openb.read_nodes(NODES))
    assert ACCELERATOR not in plain.labels
    assert gpus.labels[ACCELERATOR] == "GPU"
    any_model, some_models, none = (openb.to_job(pod) for pod in openb.read_pods(PODS))
    assert any_model.labels == {ACCELERATOR: "GPU", openb.GPU: ""}
    assert set(some_models.labels) == {ACCELERATOR, openb.GPU, f"{openb.MODEL}V100M16", f"{openb.MODEL}V100M32"}
    assert none.labels == {}
    assert (any_model.cpu_request_millis, any_model.memory_bytes) == (12000, 2**34)


NODE_HEADER = b"sn,cpu_milli,memory_mib,gpu,model\n"
POD_HEADER = b"name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time\n"
BAD_NODES: dict[str, tuple[bytes, int | None, str]] = {
    "empty": (b"", 1, "lacks the column sn and cpu_milli"),
    "only-a-header": (NODE_HEADER, None, "has no row below the header"),
    "a-column-less": (b"sn,cpu_milli,gpu,model\nn,1,0,\n", 1, "lacks the column memory_mib"),
    "a-column-twice": (b"sn,sn\n", 1, "names the column 'sn' twice"),
    "no-name": (NODE_HEADER + b",1,1,0,\n", 2, "must say the sn"),
    "twice": (NODE_HEADER + b"n,1,1,0,\nn,1,1,0,\n", 3, "'n' is there already"),
    "cpu-with-unit": (NODE_HEADER + b"n,32k,1,0,\n", 2, "cpu_milli is '32k', and must be a whole number from 1"),
    "no-cpu": (NODE_HEADER + b"n,0,1,0,\n", 2, "cpu_milli is '0'"),
    "negative": (NODE_HEADER + b"n,1,-5,0,\n", 2, "memory_mib is '-5'"),
    "decimal": (NODE_HEADER + b"n,1,1.5,0,\n", 2, "memory_mib is '1.5'"),
    "absurd": (NODE_HEADER + b"n,1,99999999999,0,\n", 2, "memory_mib is '99999999999'"),
    "other-digits": (NODE_HEADER + "n,٣,1,0,\n".encode(), 2, "cpu_milli is '٣'"),
    "gpus-of-no-model": (NODE_HEADER + b"n,1,1,2,\n", 2, "'n' has 2 GPUs of no model"),
    "too-many-cells": (NODE_HEADER + b"n,1,1,0,T4,x\n", 2, "has 6 cells, the first line has 5"),
    "not-utf-8": (NODE_HEADER + b"\xff,1,1,0,\n", None, "is not text in UTF-8"),
}
BAD_PODS: dict[str, tuple[bytes, int | None, str]] = {
    "a-node-list": (NODES, 1, "lacks the column name and num_gpu and gpu_milli and gpu_spec and creation_time"),
    "no-creation": (POD_HEADER + b"p,1,1,0,0,,\n", 2, "must say the creation_time"),
    "a-date": (POD_HEADER + b"p,1,1,0,0,,2023-01-01\n", 2, "creation_time is '2023-01-01', and must be a number"),
    "short": (POD_HEADER + b"p,1\n", 2, "must say the creation_time"),
    "gpus-no-number": (POD_HEADER + b"p,1,1,many,0,,0\n", 2, "num_gpu is 'many'"),
    "twice": (POD_HEADER + b"p,1,1,0,0,,0\n\np,1,1,0,0,,0\n", 4, "'p' is there already"),
}


def refused(read: Callable[[bytes, str], object], content: bytes, line: int | None, problem: str) -> None:
    with pytest.raises(TraceError) as caught:
        read(content, "list.csv")
    assert str(caught.value).startswith("list.csv: " if line is None else f"list.csv, line {line}: ")
    assert problem in str(caught.value)


@pytest.mark.parametrize(("content", "line", "problem"), BAD_NODES.values(), ids=BAD_NODES.keys())
def test_a_bad_node_list_is_refused_by_file_line_and_problem(content: bytes, line: int | None, problem: str) -> None:
    refused(openb.read_nodes, content, line, problem)


@pytest.mark.parametrize(("content", "line", "problem"), BAD_PODS.values(), ids=BAD_PODS.keys())
def test_a_bad_pod_list_is_refused_by_file_line_and_problem(content: bytes, line: int | None, problem: str) -> None:
    refused(openb.read_pods, content, line, problem)
