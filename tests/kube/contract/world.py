"""A cluster under test, embedded or real, and what all tests do with it."""

import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kubernetes import client, config

from backend.embedded.apiserver import ApiServer

Json = dict[str, Any]
SCHEDULER = "podshift-contract"
"""No scheduler has this name, so that on a real cluster nobody touches the pods either."""


def pod(name: str = "", *, labels: Json | None = None, **spec: Any) -> Json:
    metadata: Json = {"name": name} if name else {"generateName": "pod-"}
    if labels:
        metadata["labels"] = labels
    container = {"name": "main", "image": "registry.k8s.io/pause:3.9"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"schedulerName": SCHEDULER, "containers": [container], **spec},
    }


def config_map(name: str, *, labels: Json | None = None, **data: str) -> Json:
    metadata: Json = {"name": name} | ({"labels": labels} if labels else {})
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def node(name: str) -> Json:
    resources = {"cpu": "8", "memory": "16Gi", "pods": "110"}
    condition = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is ready"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"capacity": resources, "allocatable": resources, "conditions": [condition]},
    }


@dataclass
class World:
    kubeconfig: Path
    server: ApiServer | None
    api: client.ApiClient

    @property
    def core(self) -> client.CoreV1Api:
        return client.CoreV1Api(self.api)

    def with_token(self, token: str) -> client.ApiClient:
        """A client of somebody else."""
        mine = self.api.configuration
        other = client.Configuration(host=mine.host)
        other.ssl_ca_cert = mine.ssl_ca_cert
        other.api_key = {"BearerToken": f"Bearer {token}"}
        return client.ApiClient(other)

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        media_type: str = "application/json",
        accept: str = "application/json",
        api: client.ApiClient | None = None,
        **query: Any,
    ) -> tuple[int, Any]:
        """A request through the client's transport, without its models. Returns the code and the body."""
        api = api or self.api
        headers = {"Accept": accept, "Content-Type": media_type}
        api.update_params_for_auth(headers, [], ["BearerToken"], path, method, body)
        text = "&".join(f"{k}={v}" for k, v in query.items())
        url = f"{api.configuration.host}{path}" + (f"?{text}" if text else "")
        raw = None if body is None else json.dumps(body)
        answer = api.rest_client.pool_manager.request(method, url, body=raw, headers=headers, timeout=30, retries=False)
        text = answer.data.decode()
        return answer.status, json.loads(text) if text.startswith(("{", "[")) else text

    def must(self, method: str, path: str, body: Any = None, **rest: Any) -> Any:
        code, answer = self.call(method, path, body, **rest)
        assert code < 300, answer
        return answer

    def bind(self, namespace: str, name: str, node_name: str) -> None:
        body = {"metadata": {"name": name}, "target": {"kind": "Node", "name": node_name}}
        self.core.create_namespaced_pod_binding(name, namespace, body, _preload_content=False)

    def run(self, namespace: str, name: str, node_name: str, *, phase: str = "Running") -> Json:
        """Bind a pod and have it run, as a kubelet would report."""
        self.bind(namespace, name, node_name)
        return self.report(namespace, name, phase)

    def report(self, namespace: str, name: str, phase: str) -> Json:
        up = "True" if phase == "Running" else "False"
        conditions = [{"type": "Ready", "status": up}]
        patch = {"status": {"phase": phase, "conditions": conditions}}
        path = f"/api/v1/namespaces/{namespace}/pods/{name}/status"
        return self.must("PATCH", path, patch, media_type="application/strategic-merge-patch+json")

    @contextmanager
    def kubelet(self, namespace: str) -> Iterator[None]:
        """Finish the pods that are being deleted, as the kubelet of a node that is none would."""
        done = threading.Event()

        def finish() -> None:
            while not done.wait(0.02):
                for item in self.must("GET", f"/api/v1/namespaces/{namespace}/pods")["items"]:
                    if item["metadata"].get("deletionTimestamp"):
                        self.call(
                            "DELETE",
                            f"/api/v1/namespaces/{namespace}/pods/{item['metadata']['name']}",
                            {"gracePeriodSeconds": 0},
                        )

        thread = threading.Thread(target=finish)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


@dataclass(frozen=True)
class Kubectl:
    program: str
    kubeconfig: Path
    namespace: str
    cache: Path

    def command(self, *arguments: str) -> list[str]:
        # A discovery cache of its own: the one in the home folder would remember another server's kinds.
        where = ["--kubeconfig", str(self.kubeconfig), "--cache-dir", str(self.cache), "-n", self.namespace]
        return [self.program, *where, *arguments]

    def run(self, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments), input=stdin, capture_output=True, text=True, timeout=60, check=False
        )

    def __call__(self, *arguments: str, stdin: str | None = None) -> str:
        """The output of a command that has to succeed."""
        done = self.run(*arguments, stdin=stdin)
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stdout}{done.stderr}"
        return done.stdout


def load(kubeconfig: Path) -> client.ApiClient:
    return config.new_client_from_config(str(kubeconfig))
