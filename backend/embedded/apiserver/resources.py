"""Which kinds exist: the built-in ones, and those that CustomResourceDefinitions add while the server runs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
CREATE_ONLY = ("create",)
READ_ONLY = ("get", "list")


_SUBRESOURCE_VERBS: Mapping[str, tuple[str, ...]] = {
    "binding": ("create",),
    "eviction": ("create",),
    "token": ("create",),
    "log": ("get",),
    "finalize": ("update",),
}


def subresource_verbs(name: str) -> tuple[str, ...]:
    """What can be done with a subresource: for most, to read and to change it."""
    return _SUBRESOURCE_VERBS.get(name, ("get", "patch", "update"))


@dataclass(frozen=True, slots=True, eq=False)
class Resource:
    """One kind in one version. Resources of one `collection` are views of the same stored objects."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    short: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    collection: str = ""
    verbs: tuple[str, ...] = ALL_VERBS
    categories: tuple[str, ...] = ()
    singular: str = ""
    # The apiVersion of the stored objects, where that is another than this one.
    stored_version: str = ""
    # Whether an update without a resourceVersion is taken, as the real server does for its older kinds.
    unconditional: bool = True
    custom: bool = False
    # Of a custom kind: its version's entry in the definition (schema, columns).
    definition: Mapping[str, Any] = field(default_factory=dict)

    @property
    def api_version(self) -> str:
        """`v1` or `group/version`, as in an object."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """`pods` or `jobs.batch`, as in messages."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def stored_as(self) -> str:
        """The collection in the store."""
        return self.collection or self.qualified


STATUS = ("status",)
SCALED = ("status", "scale")
IN_ALL = ("all",)

BUILTIN = (
    Resource("", "v1", "bindings", "Binding", verbs=CREATE_ONLY),
    Resource("", "v1", "configmaps", "ConfigMap", short=("cm",)),
    Resource("", "v1", "events", "Event", short=("ev",), collection="events"),
    Resource("", "v1", "namespaces", "Namespace", False, ("ns",), ("status", "finalize")),
    Resource("", "v1", "nodes", "Node", False, ("no",), STATUS),
    Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", short=("pvc",), subresources=STATUS),
    Resource("", "v1", "persistentvolumes", "PersistentVolume", False, ("pv",), STATUS),
    Resource(
        "", "v1", "pods", "Pod", short=("po",), subresources=("status", "binding", "eviction", "log"), categories=IN_ALL
    ),
    Resource("", "v1", "replicationcontrollers", "ReplicationController", short=("rc",), subresources=STATUS),
    Resource("", "v1", "secrets", "Secret"),
    Resource("", "v1", "serviceaccounts", "ServiceAccount", short=("sa",), subresources=("token",)),
    Resource("", "v1", "services", "Service", short=("svc",), subresources=STATUS, categories=IN_ALL),
    Resource("apps", "v1", "daemonsets", "DaemonSet", short=("ds",), subresources=STATUS, categories=IN_ALL),
    Resource("apps", "v1", "deployments", "Deployment", short=("deploy",), subresources=SCALED, categories=IN_ALL),
    Resource("apps", "v1", "replicasets", "ReplicaSet", short=("rs",), subresources=SCALED, categories=IN_ALL),
    Resource("apps", "v1", "statefulsets", "StatefulSet", short=("sts",), subresources=SCALED, categories=IN_ALL),
    Resource("batch", "v1", "jobs", "Job", subresources=STATUS, categories=IN_ALL),
    Resource("coordination.k8s.io", "v1", "leases", "Lease", unconditional=False),
    Resource("events.k8s.io", "v1", "events", "Event", short=("ev",), collection="events", stored_version="v1"),
    Resource(
        "policy",
        "v1",
        "poddisruptionbudgets",
        "PodDisruptionBudget",
        short=("pdb",),
        subresources=STATUS,
        unconditional=False,
    ),
    # kubectl 1.20 looks for budgets here.
    Resource(
        "policy",
        "v1beta1",
        "poddisruptionbudgets",
        "PodDisruptionBudget",
        short=("pdb",),
        subresources=STATUS,
        unconditional=False,
        stored_version="policy/v1",
    ),
    Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", False, ("pc",)),
    Resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", False, ("sc",)),
    Resource("rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", False),
    Resource("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", False),
    Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding"),
    Resource("rbac.authorization.k8s.io", "v1", "roles", "Role"),
    Resource(
        "apiextensions.k8s.io",
        "v1",
        "customresourcedefinitions",
        "CustomResourceDefinition",
        False,
        ("crd", "crds"),
        STATUS,
        unconditional=False,
    ),
    Resource("authentication.k8s.io", "v1", "tokenreviews", "TokenReview", False, verbs=CREATE_ONLY),
    Resource("authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", False, verbs=CREATE_ONLY),
    Resource(
        "authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", False, verbs=CREATE_ONLY
    ),
    Resource(
        "authorization.k8s.io", "v1", "selfsubjectrulesreviews", "SelfSubjectRulesReview", False, verbs=CREATE_ONLY
    ),
    Resource("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", False, verbs=CREATE_ONLY),
    Resource("authorization.k8s.io", "v1", "localsubjectaccessreviews", "LocalSubjectAccessReview", verbs=CREATE_ONLY),
)

METRICS = (
    Resource("metrics.k8s.io", "v1beta1", "nodes", "NodeMetrics", False, verbs=READ_ONLY),
    Resource("metrics.k8s.io", "v1beta1", "pods", "PodMetrics", verbs=READ_ONLY),
)


class Registry:
    """The kinds that this server serves now."""

    def __init__(self) -> None:
        self._resources: dict[tuple[str, str, str], Resource] = {}
        for resource in BUILTIN:
            self.add(resource)

    def add(self, resource: Resource) -> None:
        """Serve a kind."""
        self._resources[resource.group, resource.version, resource.plural] = resource

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        """The kind at /apis/group/version/plural."""
        return self._resources.get((group, version, plural))

    def named(self, name: str) -> Resource:
        """The kind called `pods` or `jobs.batch`, in its first version.

        Raises:
            KeyError: no such kind.
        """
        for resource in self._resources.values():
            if name in (resource.qualified, resource.plural):
                return resource
        raise KeyError(f"no resource {name!r}; there are {sorted({r.qualified for r in self._resources.values()})}")

    def __iter__(self) -> Iterator[Resource]:
        return iter(list(self._resources.values()))

    def served(self, group: str, version: str) -> list[Resource]:
        """The kinds of one group and version."""
        return [r for r in self._resources.values() if r.group == group and r.version == version]

    def collections(self, *, namespaced: bool) -> list[Resource]:
        """One resource for each stored collection whose objects can be listed."""
        once: dict[str, Resource] = {}
        for resource in self._resources.values():
            if resource.namespaced == namespaced and "delete" in resource.verbs:
                once.setdefault(resource.stored_as, resource)
        return list(once.values())

    def of_kind(self, api_version: str, kind: str) -> Resource | None:
        """The resource of an object's apiVersion and kind; owner references name them so."""
        for resource in self._resources.values():
            if resource.kind == kind and resource.api_version == api_version:
                return resource
        return None

    def define(self, crd: Mapping[str, Any]) -> None:
        """Serve the versions of a CustomResourceDefinition, and forget the ones it no longer has."""
        self.forget(crd)
        spec = crd["spec"]
        names = spec["names"]
        for version in spec["versions"]:
            if not version.get("served", True):
                continue
            declared = version.get("subresources") or {}
            self.add(
                Resource(
                    spec["group"],
                    version["name"],
                    names["plural"],
                    names["kind"],
                    spec["scope"] == "Namespaced",
                    tuple(names.get("shortNames") or ()),
                    tuple(name for name in ("status", "scale") if name in declared),
                    categories=tuple(names.get("categories") or ()),
                    singular=names.get("singular", ""),
                    unconditional=False,
                    custom=True,
                    definition=version,
                )
            )

    def forget(self, crd: Mapping[str, Any]) -> None:
        """Stop serving a definition's kinds."""
        spec = crd["spec"]
        for key in [k for k in self._resources if k[0] == spec["group"] and k[2] == spec["names"]["plural"]]:
            if self._resources[key].custom:
                del self._resources[key]
