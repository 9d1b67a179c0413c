"""The cluster that the contract is held against: the embedded one, or with PODSHIFT_TEST_KUBECONFIG a real one."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from backend.embedded.apiserver import ApiServer
from tests.kube.contract.world import Kubectl, World, load, node


def _programs() -> list[str]:
    """Every kubectl to test with: PODSHIFT_TEST_KUBECTL (a path list), else the environment's own, the newest, and that
    of the system, which on Debian is an old one."""
    if named := os.environ.get("PODSHIFT_TEST_KUBECTL"):
        return named.split(os.pathsep)
    own = Path(sys.executable).parent
    elsewhere = [folder for folder in os.get_exec_path() if Path(folder) != own]
    systems = shutil.which("kubectl", path=os.pathsep.join(elsewhere)) or "kubectl"
    return [str(own / "kubectl"), systems]


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    if real := os.environ.get("PODSHIFT_TEST_KUBECONFIG"):
        api = load(Path(real))
        yield World(Path(real), None, api)
        api.close()
        return
    with ApiServer() as server:
        server.start()
        # The nodes of these tests have no kubelet, here as on a real cluster.
        server.inside.kubelet_takes_over()
        path = server.kubeconfig(tmp_path_factory.mktemp("contract") / "kubeconfig")
        api = load(path)
        yield World(path, server, api)
        api.close()


@pytest.fixture
def server(world: World) -> Iterator[ApiServer]:
    """The embedded server, for what no real one does on demand."""
    if world.server is None:
        pytest.skip("a real cluster has no fault hooks")
    yield world.server
    world.server.faults.clear()


@pytest.fixture
def namespace(world: World) -> Iterator[str]:
    name = world.must("POST", "/api/v1/namespaces", {"metadata": {"generateName": "contract-"}})["metadata"]["name"]
    yield name
    if world.server is not None:
        world.server.faults.clear()
    world.call("DELETE", f"/api/v1/namespaces/{name}/pods", {"gracePeriodSeconds": 0})
    world.call("DELETE", f"/api/v1/namespaces/{name}")


@pytest.fixture
def node_name(world: World) -> Iterator[str]:
    body = node("x")
    body["metadata"] = {"generateName": "contract-node-", "labels": {"kubernetes.io/os": "linux"}}
    name = world.must("POST", "/api/v1/nodes", body)["metadata"]["name"]
    yield name
    world.call("DELETE", f"/api/v1/nodes/{name}")


@pytest.fixture(params=_programs(), ids=lambda path: path.replace("/", "_").strip("_"))
def kubectl(request: pytest.FixtureRequest, world: World, namespace: str, tmp_path: Path) -> Kubectl:
    program = shutil.which(request.param)
    assert program is not None, f"{request.param} is not installed; the contract covers kubectl as well"
    return Kubectl(program, world.kubeconfig, namespace, tmp_path / "cache")
