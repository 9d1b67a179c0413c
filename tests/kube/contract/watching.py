"""A watch that a test reads event by event."""

import json
from collections.abc import Iterator
from types import TracebackType
from typing import Any

import urllib3
from kubernetes import client

from tests.kube.contract.world import Json, World

# Seconds without any byte after which a test gives up: a watch that says nothing is a failure, not a wait.
_SILENCE_S = 15


class Watching:
    """An open watch. Iterating gives (type, object)."""

    def __init__(self, world: World, path: str, *, accept: str = "application/json", **query: Any) -> None:
        headers = {"Accept": accept}
        api: client.ApiClient = world.api
        api.update_params_for_auth(headers, [], ["BearerToken"], path, "GET", None)
        fields = {"watch": "true", "timeoutSeconds": 30} | query
        text = "&".join(f"{k}={v}" for k, v in fields.items())
        self._answer: urllib3.BaseHTTPResponse = api.rest_client.pool_manager.request(
            "GET", f"{api.configuration.host}{path}?{text}", headers=headers, preload_content=False, retries=False,
            timeout=urllib3.Timeout(connect=5, read=_SILENCE_S),
        )  # fmt: skip
        self.status = self._answer.status
        self._lines = self._read()

    def _read(self) -> Iterator[bytes]:
        rest = b""
        for chunk in self._answer.stream(None):
            *lines, rest = (rest + chunk).split(b"\n")
            yield from (line for line in lines if line)
        if rest:
            yield rest

    def __enter__(self) -> "Watching":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._answer.close()

    def __iter__(self) -> Iterator[tuple[str, Json]]:
        for line in self._lines:
            event = json.loads(line)
            yield event["type"], event["object"]

    def next(self) -> tuple[str, Json]:
        return next(iter(self))

    def named(self, count: int) -> list[tuple[str, str]]:
        """The next events as (type, name)."""
        return [(verb, obj["metadata"]["name"]) for verb, obj in (self.next() for _ in range(count))]
