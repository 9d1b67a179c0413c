"""The parts of an object that have a door of their own: binding, scale, token."""

from collections.abc import Mapping
from typing import Any

from backend.embedded.apiserver.auth import Tokens, service_account
from backend.embedded.apiserver.clock import stamp
from backend.embedded.apiserver.errors import Object, bad_request, conflict, invalid, required
from backend.embedded.apiserver.resources import Resource
from backend.embedded.apiserver.rest import PLAIN, Options, Rest

# Seconds that a token lives when the request names no time.
_TOKEN_S = 3600


def bind(rest: Rest, pods: Resource, namespace: str, name: str, body: Object, options: Options = PLAIN) -> None:
    """Give a pod its node, once.

    Raises:
        ApiError: 400 for a body without a target, 404, 409 when the pod has a node, is going, or is another one.
    """
    target = body.get("target")
    if not isinstance(target, dict) or not (node := target.get("name")):
        raise invalid(rest.registry.named("bindings"), name, [required("target.name")])
    if target.get("kind") not in (None, "", "Node"):
        raise bad_request(f"target.kind {target['kind']!r} is no Node")
    wanted = (body.get("metadata") or {}).get("uid")
    with rest.store.lock:
        pod = rest.get(pods, namespace, name)
        metadata, spec = pod["metadata"], pod["spec"]
        if wanted and wanted != metadata["uid"]:
            why = f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {metadata['uid']}"
            raise conflict(pods, name, why)
        if metadata.get("deletionTimestamp"):
            raise conflict(pods, name, f"pod {name} is being deleted, cannot be assigned to a host")
        if spec.get("nodeName"):
            raise conflict(pods, name, f'pod {name} is already assigned to node "{spec["nodeName"]}"')
        if spec.get("schedulingGates"):
            raise conflict(pods, name, f"pod {name} has non-empty .spec.schedulingGates")
        if options.dry_run:
            return
        status = pod["status"]
        scheduled = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": rest.now()}
        others = [c for c in status.get("conditions") or () if c["type"] != "PodScheduled"]
        annotations = (body.get("metadata") or {}).get("annotations")
        bound = {
            **pod,
            "metadata": {**metadata},
            "spec": {**spec, "nodeName": node},
            "status": {**status, "conditions": [*others, scheduled]},
        }
        if annotations:
            bound["metadata"]["annotations"] = {**(metadata.get("annotations") or {}), **annotations}
        rest.store.replace("pods", bound, pod)


def scale_of(obj: Object) -> Object:
    """An object's Scale."""
    metadata = {k: obj["metadata"][k] for k in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")}
    labels = (obj["spec"].get("selector") or {}).get("matchLabels") or {}
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": metadata,
        "spec": {"replicas": obj["spec"].get("replicas", 0)},
        "status": {
            "replicas": (obj.get("status") or {}).get("replicas", 0),
            "selector": ",".join(f"{k}={v}" for k, v in sorted(labels.items())),
        },
    }


def rescale(
    rest: Rest, resource: Resource, namespace: str, name: str, scale: Mapping[str, Any], options: Options
) -> Object:
    """Set an object's number of replicas. Returns its Scale."""
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    with rest.store.lock:
        old = rest.get(resource, namespace, name)
        version = (scale.get("metadata") or {}).get("resourceVersion") or old["metadata"]["resourceVersion"]
        new = {
            **old,
            "metadata": {**old["metadata"], "resourceVersion": version},
            "spec": {**old["spec"], "replicas": replicas},
        }
        return scale_of(rest.update(resource, namespace, name, new, options=options))


def token(rest: Rest, tokens: Tokens, resource: Resource, namespace: str, name: str, body: Object) -> Object:
    """A token for a service account."""
    account = rest.get(resource, namespace, name)
    spec = dict(body.get("spec") or {})
    seconds = spec.setdefault("expirationSeconds", _TOKEN_S)
    text, expires = tokens.issue(service_account(namespace, name, account["metadata"]["uid"]), seconds)
    status = {"token": text, "expirationTimestamp": stamp(expires) if expires else None}
    metadata = {"name": name, "namespace": namespace, "creationTimestamp": rest.now()}
    return {
        "kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "metadata": metadata, "spec": spec,
        "status": status,
    }  # fmt: skip
