"""What a kubelet knows and an API server only passes on: the logs of pods, and what pods and nodes use."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from aiohttp import web

from backend.embedded.apiserver.clock import parsed, stamp
from backend.embedded.apiserver.errors import ApiError, Object, bad_request, not_found
from backend.embedded.apiserver.listing import number_of, predicate
from backend.embedded.apiserver.resources import Resource
from backend.embedded.apiserver.rest import Rest
from backend.model.quantities import format_cpu, format_memory


class LogLine(NamedTuple):
    """A line that knows when it was written."""

    at: datetime
    text: str


Line = str | LogLine
"""A plain text counts as written when it is read."""
Lines = Iterable[Line] | AsyncIterator[Line]
LogProvider = Callable[[str, str, str, int | None, bool], Lines]
"""`logs(namespace, pod, container, tail_lines, follow)`: lines without their line ends.

With `follow` it goes on until the container ends. A plain iterator may block (it is read on a thread of its own); an
asynchronous one is read on the server's loop. KeyError: there is no log yet.
"""
# Seconds of the window that usage is measured over, as metrics-server says it.
_WINDOW = "15s"


class Usage(NamedTuple):
    """What something uses at this moment."""

    cpu_millis: int
    memory_bytes: int


class UsageProvider(Protocol):
    """Where metrics.k8s.io gets its numbers from."""

    def nodes(self) -> Mapping[str, Usage]:
        """Usage by the name of the node."""

    def pods(self) -> Mapping[tuple[str, str], Usage]:
        """Usage by namespace and name of the pod."""


def container_of(pod: Object, wanted: str) -> str:
    """The container whose log is meant.

    Raises:
        ApiError: 400 when it has to be named, or is none of the pod's.
    """
    names = [c["name"] for c in (*(pod["spec"].get("initContainers") or ()), *pod["spec"]["containers"])]
    pod_name = pod["metadata"]["name"]
    if wanted:
        if wanted not in names:
            raise bad_request(f"container {wanted} is not valid for pod {pod_name}")
        return wanted
    containers: list[str] = [c["name"] for c in pod["spec"]["containers"]]
    if len(containers) > 1:
        listed = " ".join(containers)
        raise bad_request(f"a container name must be specified for pod {pod_name}, choose one of: [{listed}]")
    return containers[0]


class Logs:
    """Serves /log from a provider."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest
        self.provider: LogProvider | None = None

    async def serve(
        self, request: web.BaseRequest, pods: Resource, namespace: str, name: str, query: Mapping[str, str]
    ) -> web.StreamResponse:
        """Stream a pod's log."""
        pod = self._rest.get(pods, namespace, name)
        container = container_of(pod, query.get("container", ""))
        if not pod["spec"].get("nodeName"):
            raise bad_request(f"pod {name} does not have a host assigned")
        follow = query.get("follow") in ("true", "1")
        tail = number_of(query, "tailLines")
        left = number_of(query, "limitBytes")
        loop = asyncio.get_running_loop()
        try:
            if self.provider is None or query.get("previous") in ("true", "1"):
                raise KeyError(name)
            lines = self.provider(namespace, name, container, tail, follow)
        except KeyError:
            message = f'container "{container}" in pod "{name}" is waiting to start: ContainerCreating'
            raise bad_request(message) from None
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        response.enable_chunked_encoding()
        await response.prepare(request)
        prefix = query.get("timestamps") in ("true", "1")
        since = _since(query, self._rest.clock())
        async for chunk in _chunks(lines, loop, follow=follow):
            now = self._rest.clock()
            dated = (line if isinstance(line, LogLine) else LogLine(now, line) for line in chunk)
            kept = (line for line in dated if since is None or line.at >= since)
            text = "".join(f"{_precise(line.at)} {line.text}\n" if prefix else f"{line.text}\n" for line in kept)
            raw = text.encode()[:left]
            await response.write(raw)
            if left is not None:
                left -= len(raw)
                if left <= 0:
                    break
        await response.write_eof()
        return response


def _since(query: Mapping[str, str], now: datetime) -> datetime | None:
    """The moment from which lines are wanted."""
    seconds = number_of(query, "sinceSeconds")
    if seconds is not None:
        return now - timedelta(seconds=seconds)
    text = query.get("sinceTime")
    if not text:
        return None
    try:
        return parsed(text)
    except ValueError:
        raise bad_request(f"sinceTime is '{text}', which is no time such as 2026-01-31T12:00:00Z") from None


def _precise(moment: datetime) -> str:
    """With its microseconds, as the kubelet dates lines."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


async def _chunks(lines: Lines, loop: asyncio.AbstractEventLoop, *, follow: bool) -> AsyncIterator[list[Line]]:
    """Lines as they come, many at a time where they are there already."""
    if isinstance(lines, AsyncIterator):
        async for line in lines:
            yield [line]
        return
    if not follow:
        yield await loop.run_in_executor(None, list, lines)
        return
    iterator = iter(lines)

    # StopIteration cannot cross a future, so the end is an empty list.
    def step() -> list[Line]:
        return list(itertools.islice(iterator, 1))

    while chunk := await loop.run_in_executor(None, step):
        yield chunk


class Metrics:
    """Serves metrics.k8s.io from a provider."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest
        self.provider: UsageProvider | None = None

    def answer(
        self, resource: Resource, namespace: str | None, name: str, query: Mapping[str, str], now: datetime
    ) -> Object:
        """One object's usage, or a list of them."""
        if self.provider is None:
            raise ApiError(503, "ServiceUnavailable", "no usage is measured here")
        stored = self._rest.registry.find("", "v1", resource.plural)
        chosen = predicate(stored, query, name) if stored else None
        found: list[Object] = []
        for (space, key), usage in self._usage(resource):
            obj = self._rest.store.get(resource.plural, space, key)
            if obj is None or (namespace is not None and space != namespace) or (chosen and not chosen(obj)):
                continue
            used = {"cpu": format_cpu(usage.cpu_millis), "memory": format_memory(usage.memory_bytes)}
            body: Object = {
                "kind": resource.kind, "apiVersion": resource.api_version,
                "metadata": {k: v for k, v in obj["metadata"].items() if k in ("name", "namespace", "labels")},
                "timestamp": stamp(now), "window": _WINDOW,
            }  # fmt: skip
            if resource.namespaced:
                body["containers"] = [{"name": obj["spec"]["containers"][0]["name"], "usage": used}]
            else:
                body["usage"] = used
            found.append(body)
        if name:
            if not found:
                raise not_found(resource, name)
            return found[0]
        kind = f"{resource.kind}List"
        return {"kind": kind, "apiVersion": resource.api_version, "metadata": {}, "items": found}

    def _usage(self, resource: Resource) -> list[tuple[tuple[str, str], Usage]]:
        if self.provider is None:
            return []
        if resource.namespaced:
            return list(self.provider.pods().items())
        return [(("", node), usage) for node, usage in self.provider.nodes().items()]
