"""The embedded cluster: simulated machines in real time behind a Kubernetes API server and node-exporter pages.

Besides the Kubernetes API its server answers, for those who may do everything,

    GET  /podshift/clock   {"time": simulated seconds, "speed": simulated seconds a wall-clock second}
    PUT  /podshift/clock   {"speed": 50}
    GET  /podshift/pages   {"url": where /metrics, /targets and /nodes/<name>/metrics are}
    POST /podshift/faults  {"fault": "node-lost", "node": "node-3"} and others, see faults.py
"""

import socket
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any

from pydantic import ValidationError

from backend.embedded import faults
from backend.embedded.apiserver import ApiServer
from backend.embedded.apiserver.clock import wall_clock
from backend.embedded.apiserver.errors import ApiError, Object, bad_request, no_such_path
from backend.embedded.apiserver.faults import Faults
from backend.embedded.kubelet import Kubelet
from backend.embedded.pages import Pages
from backend.embedded.world import World
from backend.model.events import CatalogueDeclared
from backend.model.objects import Node
from backend.simulation.costs import Costs, Telemetry

LOOPBACK = "127.0.0.1"
PROGRESS_S = 10.0
"""Simulated seconds between two progress lines of a training job."""


class EmbeddedCluster:
    """A whole cluster in this process. May be started once."""

    def __init__(
        self,
        nodes: Sequence[Node],
        *,
        seed: int = 1,
        speed: float = 1.0,
        costs: Costs | None = None,
        progress_s: float = PROGRESS_S,
        catalogue: CatalogueDeclared | None = None,
        host: str = LOOPBACK,
    ) -> None:
        """`speed` is simulated seconds a wall-clock second. Raises ValueError for nodes or a speed that cannot be."""
        self._offset = timedelta(0)
        self._specs = {node.name: node for node in nodes}
        self.world = World(
            nodes,
            seed=seed,
            speed=speed,
            clock=time.monotonic,
            costs=costs,
            telemetry=Telemetry(progress=progress_s, usage=0),
            catalogue=catalogue,
        )
        self.server = ApiServer(host=host, clock=self._clock)
        self.kubelet = Kubelet(self.server.inside, self.world, self._clock)
        self.pages = Pages(self.world, host)
        self.server.open_door("podshift", self._door)

    @property
    def faults(self) -> Faults:
        """Those of the API server."""
        return self.server.faults

    def start(
        self,
        port: int = 0,
        *,
        pages_port: int = 0,
        pages_listener: socket.socket | None = None,
        tls: bool = True,
    ) -> None:
        """Bring the nodes up and listen. Raises OSError for a port that is taken, TlsUnavailableError."""
        self.kubelet.start()
        try:
            self.pages.start(pages_port, pages_listener)
            self.server.start(port, tls=tls)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Everything ends."""
        self.kubelet.stop()
        self.server.stop()
        self.pages.stop()

    def __enter__(self) -> "EmbeddedCluster":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def kubeconfig(self, path: Path | str) -> Path:
        """Write a kubeconfig for the administrator. Returns its path."""
        return self.server.kubeconfig(path)

    def set_speed(self, speed: float) -> None:
        """Go on at another speed. Raises ValueError for one out of bounds."""
        self.world.set_speed(speed)
        self.kubelet.nudge()

    def bring_back(self, node: str) -> None:
        """A machine that was lost joins again. Raises KeyError for one that never was."""
        self.kubelet.bring_back(self._specs[node])

    def step_clock(self, seconds: float) -> None:
        """The cluster's clock goes on from another time; simulated time does not notice."""
        self._offset += timedelta(seconds=seconds)

    def _clock(self) -> datetime:
        return wall_clock() + self._offset

    def _door(self, method: str, path: list[str], body: Any) -> Object:
        if path == ["clock"] and method == "GET":
            return {"time": self.world.now(), "speed": self.world.speed}
        if path == ["clock"] and method == "PUT":
            speed = body.get("speed") if isinstance(body, dict) else None
            if isinstance(speed, bool) or not isinstance(speed, int | float):
                raise bad_request('a body such as {"speed": 20} is wanted')
            try:
                self.set_speed(float(speed))
            except ValueError as error:
                raise ApiError(422, "Invalid", str(error)) from None
            return {"time": self.world.now(), "speed": self.world.speed}
        if path == ["pages"] and method == "GET":
            return {"url": self.pages.url}
        if path == ["faults"] and method == "POST":
            return {"done": self.fault(body)}
        raise no_such_path()

    def fault(self, body: Any) -> str:
        """Have something go wrong, see faults.py; what, as a sentence. Raises ApiError."""
        try:
            return faults.parse(body).apply(self)
        except ValidationError as error:
            said = "; ".join(f"{'.'.join(map(str, one['loc'])) or 'fault'}: {one['msg']}" for one in error.errors()[:3])
            raise ApiError(422, "Invalid", said) from None
        except KeyError as error:
            raise ApiError(404, "NotFound", f"there is no {error.args[0]} for that") from None
