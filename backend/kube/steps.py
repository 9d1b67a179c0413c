"""The calls behind the actions. Each may be made twice, after an answer that got lost, and has happened once.

All raise ApiError, transient where the same call may succeed later.
"""

from collections.abc import Callable

from backend.kube.client import Api, ApiError, Json
from backend.kube.manifests import binding, deletion, eviction, is_incarnation
from backend.kube.names import located, pod_path, pods_path
from backend.model.objects import Pod


def create(api: Api, manifest: Json, pod: Pod, run: str, before: set[str], uids: Callable[[], set[str]]) -> Json | None:
    """Create a pod; the pod, or None if it was seen meanwhile: an answer that got lost had created it.

    `before` are the uids of the pods of this name that were there when it was asked for, `uids` gives those known now.
    """
    if uids() - before:
        return None
    namespace, own = located(pod.name)
    try:
        return api.post(pods_path(namespace), manifest)
    except ApiError as error:
        if error.status != 409:
            raise
        refusal = error
    try:
        existing = api.get(pod_path(pod.name))
    except ApiError as error:
        if error.status == 404:  # it went in between: the name is free
            raise ApiError(0, "Conflict", refusal.message) from None
        raise
    if is_incarnation(existing, pod, run) and _uid(existing) not in before:
        return existing
    message = f"a pod called '{own}' exists in {namespace} already and is not pod {pod.incarnation} of job '{pod.job}'"
    raise ApiError(409, "AlreadyExists", message)


def bind(api: Api, pod: str, uid: str, node: str) -> None:
    """Bind a pod; done if it is bound to this node already."""
    try:
        api.post(f"{pod_path(pod)}/binding", binding(pod, uid, node))
    except ApiError as error:
        if error.status != 409:
            raise
        existing = api.get(pod_path(pod))
        if _uid(existing) != uid or (existing.get("spec") or {}).get("nodeName") != node:
            raise


def delete(api: Api, pod: str, uid: str, grace_s: float, *, evict: bool) -> None:
    """Ask a pod to stop; done if it is gone. `evict`: only if its disruption budget allows it (else 429)."""
    try:
        if evict:
            api.post(f"{pod_path(pod)}/eviction", eviction(pod, uid, grace_s))
        else:
            api.delete(pod_path(pod), deletion(uid, grace_s))
    except ApiError as error:
        if error.status not in (404, 409):  # 409: the pod of this name is another one
            raise


def delete_created(api: Api, pod: Pod, run: str, grace_s: float) -> None:
    """Delete a pod that we created and have not seen, if it is there and is that one."""
    try:
        existing = api.get(pod_path(pod.name))
    except ApiError as error:
        if error.status == 404:
            return
        raise
    if is_incarnation(existing, pod, run):
        delete(api, pod.name, _uid(existing), grace_s, evict=False)


def _uid(item: Json) -> str:
    return str((item.get("metadata") or {}).get("uid") or "")
