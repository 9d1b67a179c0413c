"""Images and data take the time that sizes and bandwidth say."""

from collections.abc import Iterator

import pytest

from backend.model import events as ev
from backend.model.actions import Action, DeletePod, Wake
from backend.model.bandwidth import LocalityBandwidth
from backend.model.objects import Job, Node
from backend.model.state import ClusterState
from backend.model.storage import StoredObject
from backend.scheduling.skippy.scores import DataLocality
from backend.simulation.cluster import Fault
from backend.simulation.costs import Costs
from backend.simulation.transfers import Transfers
from tests.unit.simulation import toy_cluster
from tests.unit.simulation.toy_cluster import Script, model, submission

ARM, AMD = {"kubernetes.io/arch": "arm"}, {"kubernetes.io/arch": "amd64"}
EDGE = {"locality.skippy.io/type": "edge"}
NODES = [Node("cloud", 4000, 2**33, labels=AMD), Node("pi", 4000, 2**33, labels={**ARM, **EDGE}), Node("store", 1, 1)]
CATALOGUE = ev.CatalogueDeclared(
    0.0,
    {"i": {"amd64": 1000, "arm": 500}},
    {"data": ("store", "cloud")},
    (StoredObject("data", "raw", 600),),
    LocalityBandwidth(registry_cloud=100, registry_edge=10, cloud_edge=20, edge_cloud=30),
)
RECEIVES, SENDS = "data.skippy.io/receives-from-storage", "data.skippy.io/sends-to-storage"


def transfers(catalogue: ev.CatalogueDeclared | None = CATALOGUE) -> Transfers:
    return Transfers(NODES, Costs(image_bandwidth=7.0), catalogue)


@pytest.mark.parametrize(
    ("image", "node", "size"),
    [
        pytest.param("i", 0, 1000, id="its architecture"),
        pytest.param("i:latest", 1, 500, id="by its other name"),
        pytest.param("i", 2, 1000, id="a node without architecture gets the first"),
        pytest.param("unknown", 0, 42, id="an undeclared one is as large as the job says"),
    ],
)
def test_sizes_of_images(image: str, node: int, size: int) -> None:
    assert transfers().image_bytes(image, Job("j", "w", image_bytes=42), NODES[node]) == size


def test_pulls_go_by_place_where_a_network_is_declared() -> None:
    assert [transfers().pull_s(1000, node) for node in NODES] == [10.0, 100.0, 10.0]
    assert [transfers(None).pull_s(1400, node) for node in NODES] == [200.0] * 3


@pytest.mark.parametrize(
    ("labels", "download", "upload"),
    [
        pytest.param({}, [0, 0], [0, 0], id="no labels"),
        pytest.param({RECEIVES + "/path": "data/raw"}, [0, 30], [0, 0], id="the object's size"),
        pytest.param({RECEIVES + "/path": "data/raw", RECEIVES: "1k"}, [0, 30], [0, 0], id="the object goes before"),
        pytest.param({RECEIVES + "/path": "data/none"}, [0, 0], [0, 0], id="unknown object"),
        pytest.param({RECEIVES + "/path": "none/raw"}, [0, 0], [0, 0], id="unknown bucket"),
        pytest.param({RECEIVES: "1k"}, [0, 0], [0, 0], id="a size without a path"),
        pytest.param({SENDS + "/path": "data/new", SENDS: "3k"}, [0, 0], [0, 100], id="a new object"),
        pytest.param({SENDS + "/path": "data/new", SENDS: "3K"}, [0, 0], [0, 100], id="as Skippy writes it"),
        pytest.param({SENDS + "/path": "data/new", SENDS: "-3k"}, [0, 0], [0, 0], id="a size below 0"),
        pytest.param({SENDS + "/path": "data/raw", SENDS: "3k"}, [0, 0], [0, 20], id="the object goes before here too"),
        pytest.param({SENDS + "/path": "data/new", SENDS: "3 thousand"}, [0, 0], [0, 0], id="a size that is none"),
        pytest.param({SENDS + "/path": "data/raw"}, [0, 0], [0, 20], id="the size of the one that is there"),
    ],
)
def test_data(labels: dict[str, str], download: list[float], upload: list[float]) -> None:
    job = Job("j", "w", labels=labels)
    made = transfers()
    assert [made.download_s(job, node) for node in NODES[:2]] == download
    assert [made.upload_s(job, node) for node in NODES[:2]] == upload
    state = ClusterState()
    for node in NODES:
        state.apply(ev.NodeAdded(0.0, node))
    state.apply(CATALOGUE)
    raw = DataLocality().raw(job, state.nodes)
    assert raw[:2].tolist() == [sum(both) for both in zip(download, upload, strict=True)], (
        "scheduler and simulator agree"
    )


def run(labels: dict[str, str], script: Script | None = None, faults: tuple[Fault, ...] = ()) -> list[ev.Event]:
    """One job of 40 core-seconds on the pi; the bucket lies in the cloud."""
    catalogue = ev.CatalogueDeclared(
        0.0, CATALOGUE.images, {"data": ("cloud",)}, CATALOGUE.objects, CATALOGUE.bandwidth
    )
    job = submission(0.0, "j", model(image="i", memory="1k", labels=labels))
    return toy_cluster.run(
        [job],
        nodes=NODES[:2],
        on="pi",
        script=script,
        costs=Costs(container_start_s=0, stop_s=0),
        faults=faults,
        catalogue=catalogue,
    )


def times(log: list[ev.Event]) -> list[tuple[str, float]]:
    wanted = (ev.ImagePulled, ev.PodStarted, ev.PodFinished, ev.PodEvicted)
    return [(ev.kind(event), event.time) for event in log if isinstance(event, wanted)]


def test_a_pod_waits_for_its_image_then_for_its_data_and_sends_what_it_made() -> None:
    """500 B at 10 B/s, 600 B at 20 B/s, 40 core-seconds on 4 cores, 3,000 B at 30 B/s."""
    log = run(DATA)
    assert times(log) == [("image_pulled", 50.0), ("pod_started", 80.0), ("pod_finished", 190.0)]
    finished = next(event for event in log if isinstance(event, ev.PodFinished))
    assert finished.core_s == 40.0


DATA = {RECEIVES + "/path": "data/raw", SENDS + "/path": "data/new", SENDS: "3k"}


def test_a_pod_that_is_stopped_while_it_sends_has_trained_to_the_end() -> None:
    """Nothing of its work is lost; the next pod has only the sending left (here nobody starts one)."""

    def stop(event: ev.Event) -> Iterator[Action]:
        if isinstance(event, ev.PodStarted):
            yield Wake(100.0, "stop")
        if isinstance(event, ev.TimerFired):
            yield DeletePod("j", "a person said so")

    log = run(DATA, stop)
    evicted = next(event for event in log if isinstance(event, ev.PodEvicted))
    assert (evicted.time, evicted.iteration, evicted.kept_iteration) == (100.0, 10.0, 10.0)
    assert (evicted.core_s, evicted.lost_core_s) == (40.0, 0.0)
    assert not any(isinstance(event, ev.PodFinished) for event in log)


def test_a_node_may_fail_while_a_pod_sends() -> None:
    log = run(DATA, faults=(Fault("pi", 120.0),))
    assert times(log)[-1] == ("pod_evicted", 120.0)


def test_the_catalogue_is_in_the_log_behind_the_nodes() -> None:
    kinds = [ev.kind(event) for event in run({})]
    assert kinds[:3] == ["node_added", "node_added", "catalogue_declared"]
