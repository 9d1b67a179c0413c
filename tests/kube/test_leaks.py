"""Ten thousand pods come and go before twenty watchers, and the server's memory is what it was."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.kube.contract.waiting import until
from tests.kube.contract.watching import Watching
from tests.kube.contract.world import World, load, pod

PODS = 10_000
WARM_UP = 2_500
WATCHERS = 20
PATH = "/api/v1/namespaces/default/pods"


@dataclass
class Process:
    world: World
    process: "subprocess.Popen[str]"

    def memory_kb(self) -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0])

    def connections(self) -> int:
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Process]:
    command = [sys.executable, str(Path(__file__).with_name("serve.py")), str(tmp_path / "kubeconfig")]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    path = Path(process.stdout.readline().strip())
    api = load(path)
    yield Process(World(path, None, api), process)
    api.close()
    process.communicate(timeout=30)


@dataclass
class Counting(threading.Thread):
    """A watcher that counts what it sees until a pod called `last` is deleted."""

    world: World
    version: str
    seen: dict[str, int] = field(default_factory=dict)
    opened: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        super().__init__(daemon=True)

    __hash__ = threading.Thread.__hash__

    def run(self) -> None:
        with Watching(self.world, PATH, resourceVersion=self.version, timeoutSeconds=280) as events:
            self.opened.set()
            for verb, obj in events:
                self.seen[verb] = self.seen.get(verb, 0) + 1
                if verb == "DELETED" and obj["metadata"]["name"] == "last":
                    return


def life(world: World, name: str) -> None:
    """A pod is created, bound, finished and deleted."""
    world.must("POST", PATH, pod(name))
    world.must("POST", f"{PATH}/{name}/binding", {"target": {"kind": "Node", "name": "n"}})
    done = {"status": {"phase": "Succeeded"}}
    world.must("PATCH", f"{PATH}/{name}/status", done, media_type="application/merge-patch+json")
    world.must("DELETE", f"{PATH}/{name}")


def round_of(world: World, first: int, count: int) -> None:
    threads = [
        threading.Thread(target=lambda k=k: [life(world, f"p{n}") for n in range(first + k, first + count, 4)])
        for k in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.timeout(600)
def test_memory_returns(served: Process) -> None:
    world = served.world
    # The history is bounded, and full after some thousand pods: that memory is meant. What counts is what comes after.
    fresh = served.memory_kb()
    round_of(world, 0, WARM_UP)
    start, files = served.memory_kb(), served.connections()
    version = world.must("GET", PATH)["metadata"]["resourceVersion"]
    watchers = [Counting(world, version) for _ in range(WATCHERS)]
    for watcher in watchers:
        watcher.start()
    assert all(watcher.opened.wait(20) for watcher in watchers)
    round_of(world, WARM_UP, PODS - 1)
    life(world, "last")
    for watcher in watchers:
        watcher.join(120)
    wanted = {"ADDED": PODS, "MODIFIED": 2 * PODS, "DELETED": PODS}
    assert [watcher.seen for watcher in watchers] == [wanted] * WATCHERS
    until(lambda: served.connections() <= files + 8, "the end of the watches' connections")
    end = served.memory_kb()
    print(f"memory: {fresh} KB when new, {start} KB with a full history, {end} KB after {PODS} pods more")
    assert end <= 1.2 * start


@pytest.mark.timeout(120)
def test_a_watch_whose_client_has_left_is_forgotten(served: Process) -> None:
    world = served.world
    world.must("GET", PATH)
    files = served.connections()
    for _ in range(50):
        with Watching(world, PATH, timeoutSeconds=3000) as events:
            assert events.status == 200
    until(lambda: served.connections() <= files + 2, "the end of fifty abandoned watches")
