"""What every cluster has from the start: its namespaces, its roles, the service of the API itself."""

from collections.abc import Iterator

from backend.embedded.apiserver.errors import Object
from backend.embedded.apiserver.rest import Rest

_READ = ["get", "list", "watch"]
_WRITE = [*_READ, "create", "update", "patch", "delete", "deletecollection"]
_DISCOVERY = [
    "/api",
    "/api/*",
    "/apis",
    "/apis/*",
    "/openapi",
    "/openapi/*",
    "/healthz",
    "/livez",
    "/readyz",
    "/version",
]
_WORK: list[tuple[list[str], list[str]]] = [
    (
        [""],
        ["pods", "pods/log", "pods/status", "configmaps", "services", "serviceaccounts", "persistentvolumeclaims",
         "replicationcontrollers"],
    ),
    (["apps"], ["deployments", "deployments/scale", "replicasets", "replicasets/scale", "statefulsets", "daemonsets"]),
    (["batch"], ["jobs"]),
    (["policy"], ["poddisruptionbudgets"]),
    (["metrics.k8s.io"], ["pods", "nodes"]),
]  # fmt: skip


def _rules(verbs: list[str]) -> list[Object]:
    return [{"apiGroups": groups, "resources": resources, "verbs": verbs} for groups, resources in _WORK]


def _objects() -> Iterator[tuple[str, str, Object]]:
    """Kind, namespace and body of each."""
    for name in ("default", "kube-node-lease", "kube-public", "kube-system"):
        yield "namespaces", "", {"metadata": {"name": name}}
    everything = [
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
        {"nonResourceURLs": ["*"], "verbs": ["*"]},
    ]
    events = {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": _READ}
    seen = {"apiGroups": [""], "resources": ["namespaces"], "verbs": _READ}
    more = {
        "apiGroups": [""],
        "resources": ["secrets", "pods/eviction", "serviceaccounts/token"],
        "verbs": _WRITE,
    }
    rights = {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles", "rolebindings"], "verbs": _WRITE}
    selves = [
        {
            "apiGroups": ["authorization.k8s.io"],
            "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
            "verbs": ["create"],
        },
        {"apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"], "verbs": ["create"]},
    ]
    roles: dict[str, list[Object]] = {
        "cluster-admin": everything,
        "admin": [*_rules(_WRITE), events, seen, more, rights],
        "edit": [*_rules(_WRITE), events, seen, more],
        "view": [*_rules(_READ), events, seen],
        "system:basic-user": selves,
        "system:discovery": [{"nonResourceURLs": _DISCOVERY, "verbs": ["get"]}],
    }
    for name, rules in roles.items():
        yield "clusterroles", "", {"metadata": {"name": name}, "rules": rules}
    for role, group in (
        ("cluster-admin", "system:masters"),
        ("system:basic-user", "system:authenticated"),
        ("system:discovery", "system:authenticated"),
    ):
        body = {
            "metadata": {"name": role},
            "roleRef": {"kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "Group", "name": group}],
        }
        yield "clusterrolebindings", "", body
    for name, value in (("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)):
        yield "priorityclasses", "", {"metadata": {"name": name}, "value": value}
    ports = [{"name": "https", "port": 443, "targetPort": 6443}]
    yield (
        "services",
        "default",
        {"metadata": {"name": "kubernetes"}, "spec": {"clusterIP": "10.96.0.1", "ports": ports}},
    )


def furnish(rest: Rest) -> None:
    """Create it all."""
    for kind, namespace, body in _objects():
        rest.create(rest.registry.named(kind), namespace, body)
