"""Runs what is bound on a FakeServer: Pending, Running, Succeeded; what is to stop goes."""

import copy
import threading
from collections.abc import Callable

from tests.unit.kube.fake_server import FakeServer, Json


class Kubelet:
    """`finishes` says of a running pod whether it is done."""

    def __init__(self, server: FakeServer, finishes: Callable[[Json], bool]) -> None:
        self._server = server
        self._finishes = finishes
        self._stopping = False
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Kubelet":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._server.change:
            self._stopping = True
            self._server.change.notify_all()
        self._thread.join(10)

    def _run(self) -> None:
        with self._server.change:
            while not self._stopping:
                looked = [self._look(item) for item in list(self._server.objects["pods"].values())]
                if not any(looked):
                    self._server.change.wait(1.0)

    def _look(self, item: Json) -> bool:
        about, phase = item["metadata"], item["status"]["phase"]
        if not item["spec"].get("nodeName") or phase == "Succeeded":
            return False
        if "deletionTimestamp" in about:
            self._server.remove("pods", about["name"], about["namespace"])
            return True
        done = phase == "Running" and self._finishes(copy.deepcopy(item))
        if phase == "Pending" or done:
            self._server.status(about["name"], "Succeeded" if done else "Running", about["namespace"])
            return True
        return False


def overlaps(server: FakeServer) -> list[tuple[str, str]]:
    """Pods of one job that ran at the same time, in all that ever happened."""
    running: dict[str, str] = {}
    found = []
    for _, kind, happened, item in server.history:
        if kind != "pods":
            continue
        about = item["metadata"]
        job = (about.get("labels") or {}).get("podshift.io/job") or about["name"]
        if happened != "DELETED" and item["status"]["phase"] == "Running":
            if running.get(job, about["uid"]) != about["uid"]:
                found.append((job, about["name"]))
            running[job] = about["uid"]
        elif running.get(job) == about["uid"]:
            del running[job]
    return found
