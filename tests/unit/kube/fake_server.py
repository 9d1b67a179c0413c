"""A scripted API server at the level of JSON: lists, watches, bind, evict, delete, and faults on demand. It has no
kubelet: tests say what pods do."""

import copy
import itertools
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Json = dict[str, Any]

POD = re.compile(r"/api/v1/namespaces/([^/]+)/pods/([^/]+)(?:/(binding|eviction|log))?")
PODS = re.compile(r"/api/v1/namespaces/([^/]+)/pods")
LEASES = re.compile(r"(/apis/coordination.k8s.io/v1/namespaces/[^/]+/leases)(?:/([^/]+))?")
TOO_OLD = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}


def node(name: str, cpu: str = "4", memory: str = "16Gi", **status: Any) -> Json:
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": {},
        "status": {
            "allocatable": {"cpu": cpu, "memory": memory, "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
            **status,
        },
    }


def pod(name: str, namespace: str = "default", *, scheduler: str = "podshift", **spec: Any) -> Json:
    requests = {"requests": {"cpu": "500m", "memory": "1Gi"}}
    containers = [{"name": "main", "image": "toy:1", "resources": requests}]
    return {
        "metadata": {"name": name, "namespace": namespace, "labels": {}},
        "spec": {"schedulerName": scheduler, "containers": containers} | spec,
        "status": {"phase": "Pending"},
    }


class FakeServer:
    """Objects by path, one version, and all that happened since the beginning."""

    def __init__(self) -> None:
        self.change = threading.Condition()
        self.objects: dict[str, dict[str, Json]] = {"nodes": {}, "pods": {}}
        self.leases: dict[str, Json] = {}
        self.logs: dict[str, str] = {}
        self.events: list[Json] = []
        self.history: list[tuple[int, str, str, Json]] = []
        self.requests: list[tuple[str, str]] = []
        self.queries: list[tuple[str, dict[str, str]]] = []
        self.bodies: list[Json] = []
        self.version = 0
        self.oldest = 0
        """Watches from before this version get a 410."""
        self.away = False
        self.forbid_eviction = False
        self.faults: list[tuple[str, Callable[[], bool], Any]] = []
        self._cut = self._ended = 0
        self._uids = itertools.count(1)
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = 1 << 16
            disable_nagle_algorithm = True

            def log_message(self, *_: Any) -> None:
                pass

            def do_any(self) -> None:
                server.answer(self)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_any

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 64

            def handle_error(self, *_: Any) -> None:
                pass

        self.http = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        self._thread = threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.cut()
        self.http.shutdown()
        self.http.server_close()

    # -- what tests do to it

    def put(self, kind: str, item: Json) -> Json:
        """Create or replace an object."""
        with self.change:
            key = f"{item['metadata'].get('namespace', '')}/{item['metadata']['name']}"
            before = self.objects[kind].get(key)
            item = copy.deepcopy(item)
            item["metadata"].setdefault("uid", f"uid-{next(self._uids)}")
            self._happened("MODIFIED" if before else "ADDED", kind, key, item)
            return item

    def remove(self, kind: str, name: str, namespace: str = "") -> None:
        with self.change:
            key = f"{namespace}/{name}"
            item = self.objects[kind].get(key)
            if item is not None:
                self._happened("DELETED", kind, key, copy.deepcopy(item))

    def get(self, name: str, namespace: str = "default") -> Json | None:
        return self.objects["pods"].get(f"{namespace}/{name}")

    def status(self, name: str, phase: str, namespace: str = "default", **status: Any) -> None:
        """A pod gets another phase, unless it is gone."""
        with self.change:
            item = self.get(name, namespace)
            if item is not None:
                item = copy.deepcopy(item)
                state = {"running": {}} if phase == "Running" else {"terminated": {"exitCode": 0}}
                item["status"] = {"phase": phase, "containerStatuses": [{"name": "main", "state": state}]} | status
                self.put("pods", item)

    def cut(self) -> None:
        """Break all watches off."""
        with self.change:
            self._cut += 1
            self.change.notify_all()

    def end(self) -> None:
        """End all watches properly, as their timeout does."""
        with self.change:
            self._ended += 1
            self.change.notify_all()

    def expire(self) -> None:
        """Forget the past: watches from before now get a 410."""
        with self.change:
            self.oldest = self.version
        self.cut()

    def bookmark(self, kind: str) -> int:
        """The version goes on by something that no watcher of this kind sees, and a bookmark says so."""
        with self.change:
            self.version += 1
            self.history.append((self.version, kind, "BOOKMARK", {"metadata": {"resourceVersion": str(self.version)}}))
            self.change.notify_all()
            return self.version

    def break_watch(self, kind: str, line: str) -> None:
        """Something that is no event."""
        with self.change:
            self.version += 1
            self.history.append((self.version, kind, "RAW", {"line": line}))
            self.change.notify_all()

    @contextmanager
    def outage(self) -> Iterator[None]:
        self.away = True
        self.cut()
        yield
        self.away = False

    def fault(self, request: str, times: int, answer: Any) -> None:
        """Requests that match "METHOD path" get another answer: a status, a Status body, or "lost" (done, not told)."""
        left = itertools.count(times, -1)
        self.faults.append((request, lambda: next(left) > 0, answer))

    def wait(self, condition: Callable[[], Any], timeout: float = 10.0) -> Any:
        with self.change:
            assert self.change.wait_for(condition, timeout), "it did not come to that"
            return condition()

    def count(self, request: str) -> int:
        return sum(1 for method, path in list(self.requests) if re.fullmatch(request, f"{method} {path}"))

    # -- what it answers

    def _happened(self, kind: str, resource: str, key: str, item: Json) -> None:
        self.version += 1
        item["metadata"]["resourceVersion"] = str(self.version)
        if kind == "DELETED":
            del self.objects[resource][key]
        else:
            self.objects[resource][key] = item
        self.history.append((self.version, resource, kind, item))
        self.change.notify_all()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        url = urlsplit(request.path)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        length = int(request.headers.get("Content-Length") or 0)
        body = json.loads(request.rfile.read(length) or b"{}") if length else {}
        with self.change:
            self.requests.append((request.command, url.path))
            self.queries.append((url.path, query))
            if body:
                self.bodies.append(body)
            self.change.notify_all()
        if self.away:
            request.close_connection = True
            return
        lost = False
        for pattern, due, answer in self.faults:
            if re.fullmatch(pattern, f"{request.command} {url.path}") and due():
                if answer == "lost":
                    lost = True
                    break
                status, content = answer if isinstance(answer, tuple) else (answer, {})
                self._send(request, status, content)
                return
        if query.get("watch") == "true":
            self._watch(request, url.path, query)
            return
        with self.change:
            status, content = self._do(request.command, url.path, query, body)
        if lost:
            request.close_connection = True
        else:
            self._send(request, status, content)

    def _send(self, request: BaseHTTPRequestHandler, status: int, content: Any) -> None:
        data = content.encode() if isinstance(content, str) else json.dumps(content).encode()
        request.send_response(status)
        request.send_header("Content-Length", str(len(data)))
        request.end_headers()
        request.wfile.write(data)

    def _do(self, method: str, path: str, query: dict[str, str], body: Json) -> tuple[int, Any]:
        if path in ("/api/v1/nodes", "/api/v1/pods"):
            return self._list(path.rpartition("/")[2], query)
        if (match := LEASES.fullmatch(path)) is not None:
            return self._lease(method, match[2] or body["metadata"]["name"], body)
        if path.endswith("/events"):
            self.events.append(body)
            return 201, body
        if (match := PODS.fullmatch(path)) is not None:
            if method == "GET":
                return self._list("pods", query)
            key = f"{match[1]}/{body['metadata']['name']}"
            if key in self.objects["pods"]:
                return 409, {"reason": "AlreadyExists", "message": f'pods "{body["metadata"]["name"]}" already exists'}
            body.setdefault("status", {"phase": "Pending"})
            return 201, self.put("pods", body)
        match = POD.fullmatch(path)
        item = self.objects["pods"].get(f"{match[1]}/{match[2]}") if match else None
        if match is None or item is None:
            return 404, {"reason": "NotFound", "message": f"{path} not found"}
        return self._pod(method, match[3], copy.deepcopy(item), body)

    def _pod(self, method: str, part: str | None, item: Json, body: Json) -> tuple[int, Any]:
        about = item["metadata"]
        if part == "log":
            return 200, self.logs.get(about["name"], "")
        if part == "binding":
            if item["spec"].get("nodeName") or body["metadata"].get("uid", about["uid"]) != about["uid"]:
                return 409, {"reason": "Conflict", "message": f"pod {about['name']} is already assigned to a node"}
            item["spec"]["nodeName"] = body["target"]["name"]
            self.put("pods", item)
            return 201, {"kind": "Status", "status": "Success"}
        if part == "eviction" or method == "DELETE":
            if part == "eviction" and self.forbid_eviction:
                return 429, {"reason": "TooManyRequests", "message": "it would violate the disruption budget"}
            options = body.get("deleteOptions", body)
            uid = (options.get("preconditions") or {}).get("uid")
            if uid not in (None, about["uid"]):
                return 409, {"reason": "Conflict", "message": "the UID in the precondition is not the pod's"}
            if options.get("gracePeriodSeconds") == 0 or not item["spec"].get("nodeName"):
                self.remove("pods", about["name"], about["namespace"])
            else:
                about["deletionTimestamp"] = "2030-01-01T00:00:30Z"
                about["deletionGracePeriodSeconds"] = options.get("gracePeriodSeconds", 30)
                self.put("pods", item)
            return 200, item
        return 200, item

    def _list(self, kind: str, query: dict[str, str]) -> tuple[int, Any]:
        items = list(self.objects[kind].values())
        begin, limit = int(query.get("continue") or 0), int(query.get("limit") or 0) or len(items)
        about = {"resourceVersion": str(self.version)}
        if begin + limit < len(items):
            about["continue"] = str(begin + limit)
        return 200, {"metadata": about, "items": items[begin : begin + limit]}

    def _lease(self, method: str, name: str, body: Json) -> tuple[int, Any]:
        lease = self.leases.get(name)
        if method == "GET":
            return (200, lease) if lease else (404, {"reason": "NotFound"})
        given = body["metadata"].get("resourceVersion")
        if (method == "POST") == (lease is not None) or (lease and given != lease["metadata"]["resourceVersion"]):
            return 409, {"reason": "Conflict"}
        self.version += 1
        body["metadata"]["resourceVersion"] = str(self.version)
        self.leases[name] = copy.deepcopy(body)
        return 200, body

    def _watch(self, request: BaseHTTPRequestHandler, path: str, query: dict[str, str]) -> None:
        kind, at, cut = path.rpartition("/")[2], int(query["resourceVersion"]), self._cut
        ended = self._ended
        request.send_response(200)
        request.send_header("Transfer-Encoding", "chunked")
        request.end_headers()

        def write(event: Json | str) -> None:
            line = (event if isinstance(event, str) else json.dumps(event)).encode() + b"\n"
            request.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
            request.wfile.flush()

        if at < self.oldest:
            write({"type": "ERROR", "object": TOO_OLD})
            request.wfile.write(b"0\r\n\r\n")
            return
        request.wfile.flush()
        while True:
            with self.change:
                new = [entry for entry in self.history if entry[0] > at and entry[1] == kind]
                if not new and self._cut == cut and self._ended == ended:
                    self.change.wait(1.0)
                    continue
            if self._cut != cut:
                request.close_connection = True
                return  # without the last chunk: the stream breaks off
            for version, _, happened, item in new:
                write(item["line"] if happened == "RAW" else {"type": happened, "object": item})
                at = version
            if self._ended != ended and not new:
                request.wfile.write(b"0\r\n\r\n")
                return
