"""The performance experiment: its clusters, its pods and what it reports; nothing here depends on how quick it is."""

from collections import Counter
from itertools import count
from pathlib import Path

import pytest

from backend.experiments import perf_scheduler as perf
from backend.experiments.perf_figure import figure, html
from backend.model.labels import ACCELERATOR, STORAGE_NODE
from backend.scheduling.skippy.sets import SKIPPY
from backend.store.exports import to_csv
from backend.traces import openb

TRACES = Path(__file__).resolve().parents[4] / "shared" / "data" / "traces"


@pytest.mark.parametrize("nodes", [1, 9, 10, 15, 100, 1007])
def test_machines_are_spread_evenly_over_ten_regions(nodes: int) -> None:
    machines = perf.cloud_regions(nodes, 1, 1).nodes
    assert len({node.name for node in machines}) == nodes
    sizes = Counter(node.labels[perf.ZONE] for node in machines)
    assert len(sizes) == min(nodes, perf.REGIONS)
    assert max(sizes.values()) - min(sizes.values()) <= (nodes % perf.REGIONS != 0)


def test_storage_takes_a_tenth_of_the_first_region_and_a_twentieth_of_the_others() -> None:
    holding = Counter(n.labels[perf.ZONE] for n in perf.cloud_regions(1000, 1, 1).nodes if STORAGE_NODE in n.labels)
    assert holding == {f"region-{k}": 5 for k in range(1, 10)} | {"region-0": 10}


def test_buckets_lie_on_storage_nodes_and_depend_on_the_seed_only() -> None:
    scene = perf.cloud_regions(1000, 3, 1)
    storage = {node.name for node in scene.nodes if STORAGE_NODE in node.labels}
    assert {name for names in scene.catalogue.buckets.values() for name in names} <= storage
    assert scene.catalogue == perf.cloud_regions(1000, 3, 1).catalogue
    assert scene.catalogue != perf.cloud_regions(1000, 3, 2).catalogue


def test_pods_are_the_steps_of_the_workflow_in_turn() -> None:
    assert [job.name for job in perf.cloud_regions(10, 5, 1).jobs] == [
        "pre-0",
        "train-1",
        "serve-2",
        "pre-3",
        "train-4",
    ]


@pytest.mark.parametrize("scores", [1, 5, 7, 15])
def test_scores_are_the_five_in_turn(scores: int) -> None:
    names = perf.score_names(scores)
    assert len(names) == scores
    assert all(name == SKIPPY[place % 5] for place, name in enumerate(names))


def test_each_combination_is_measured_on_an_empty_cluster() -> None:
    seconds = count()  # a clock on which everything takes one second
    wanted = perf.combinations([20, 3], [1, 6], [0, 100])
    rows = list(perf.run(wanted, lambda nodes: perf.cloud_regions(nodes, 40, 1), lambda: float(next(seconds))))
    assert [(row.nodes, row.constraints, row.percentage) for row in rows] == [
        (nodes, scores, percentage) for nodes in (20, 3) for scores in (1, 6) for percentage in (0, 100)
    ]
    assert {(row.pods, row.placed, row.duration_ms, row.pods_per_s) for row in rows} == {(40, 40, 1000.0, 40.0)}


def test_pods_without_a_node_are_counted_apart() -> None:
    (row,) = perf.run(perf.combinations([1], [5], [100]), lambda nodes: perf.cloud_regions(nodes, 60, 1))
    assert row.pods == 60
    assert 0 < row.placed < 40  # 4 cores hold 40 pods of 100 millicores, memory fewer


def test_as_csv() -> None:
    rows = [perf.Measured(5, 100, 0, 30, 29, 1.5, 20_000.0)]
    assert to_csv(perf.as_table(rows)) == (
        "constraints,nodes,percentage,pods,placed,duration_ms,pods_per_s\n5,100,0,30,29,1.5,20000.0\n"
    )


def test_the_figure_has_a_line_for_each_pair_of_scores_and_percentage_and_needs_no_network() -> None:
    rows = [
        perf.Measured(scores, nodes, percentage, 30, 30, 1.0, 30_000.0)
        for nodes in (500, 100)
        for scores in (1, 5)
        for percentage in (0, 100)
    ]
    lines = figure(rows, "A title")["data"]
    assert [line["name"] for line in lines] == [
        "1 score, adaptive",
        "1 score, 100 %",
        "5 scores, adaptive",
        "5 scores, 100 %",
    ]
    assert all(line["x"] == [100, 500] for line in lines)
    page = html(rows, "A title")
    assert "<script src=" not in page.lower()
    assert '<link rel="stylesheet" href="http' not in page.lower()


def trace(nodes: int, gpus_every: int) -> list[openb.TraceNode]:
    return [
        openb.TraceNode(f"n{k}", 8000, 2**34, int(k % gpus_every == 0), "T4" if k % gpus_every == 0 else "")
        for k in range(nodes)
    ]


def pod(name: str, created: float, gpus: int = 0, models: tuple[str, ...] = ()) -> openb.TracePod:
    return openb.TracePod(name, 100, 2**20, gpus, 1000, models, "LS", "Running", created, None, None)


def test_fewer_nodes_than_a_trace_has_are_taken_at_even_distances() -> None:
    names = [node.name for node in perf.from_trace(trace(10, 2), [pod("a", 0)], 4, 1, 1).nodes]
    assert names == ["n0", "n2", "n5", "n7"]


def test_more_nodes_and_pods_than_a_trace_has_go_through_it_again() -> None:
    scene = perf.from_trace(trace(2, 2), [pod("late", 9.0), pod("early", 1.0)], 5, 3, 1)
    assert [node.name for node in scene.nodes] == ["n0", "n1", "n0-again-1", "n1-again-1", "n0-again-2"]
    assert [job.name for job in scene.jobs] == ["early", "late", "early-again-1"]


def test_pods_with_gpus_only_get_nodes_with_gpus() -> None:
    gpus = [pod(f"g{k}", k, 1, ("T4",)) for k in range(90)]
    (row,) = perf.run(
        perf.combinations([4], [5], [100]), lambda nodes: perf.from_trace(trace(4, 4), gpus, nodes, 90, 1)
    )
    assert row.placed == 80  # one node of four has GPUs, and 8 cores


@pytest.mark.skipif(not TRACES.is_dir(), reason="../shared is not there")
def test_the_openb_trace() -> None:
    nodes = openb.read_nodes((TRACES / "openb_node_list_all_node.csv").read_bytes())
    pods = openb.read_pods((TRACES / "openb_pod_list_default.csv").read_bytes())
    assert (len(nodes), len(pods)) == (1523, 8152)
    assert sum(node.gpus for node in nodes) == 6212
    scene = perf.from_trace(nodes, pods, 100, 200, 1)
    assert 0 < sum(ACCELERATOR in node.labels for node in scene.nodes) < 100
    (row,) = perf.run(perf.combinations([100], [5], [0]), lambda _: scene)
    assert (row.pods, row.placed) == (200, 200)
