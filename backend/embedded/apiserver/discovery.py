"""What clients ask before anything else: which groups, versions and kinds there are."""

from backend.embedded.apiserver.errors import Object
from backend.embedded.apiserver.resources import Registry, Resource, subresource_verbs

# The version that is claimed. kubectl warns from a distance of more than one minor version, in stderr only.
VERSION = "v1.35.0"
_SCALE = {"group": "autoscaling", "version": "v1", "kind": "Scale"}
# What a subresource takes and gives, where that is not the kind itself.
_KINDS: dict[str, Object] = {
    "binding": {"kind": "Binding"},
    "eviction": {"group": "policy", "version": "v1", "kind": "Eviction"},
    "scale": _SCALE,
    "token": {"group": "authentication.k8s.io", "version": "v1", "kind": "TokenRequest"},
}


def version() -> Object:
    """/version."""
    major, minor, _ = VERSION.removeprefix("v").split(".")
    return {
        "major": major, "minor": minor, "gitVersion": f"{VERSION}+podshift", "gitCommit": "", "gitTreeState": "clean",
        "buildDate": "2026-01-01T00:00:00Z", "goVersion": "none", "compiler": "none", "platform": "podshift/embedded",
    }  # fmt: skip


def core_versions(address: str) -> Object:
    """/api."""
    places = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": places}


def _group(name: str, versions: list[str]) -> Object:
    listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def _versions(registry: Registry) -> dict[str, list[str]]:
    found: dict[str, dict[str, None]] = {}
    for resource in registry:
        if resource.group:
            found.setdefault(resource.group, {})[resource.version] = None
    return {group: list(versions) for group, versions in found.items()}


def groups(registry: Registry) -> Object:
    """/apis."""
    return {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [_group(name, versions) for name, versions in _versions(registry).items()],
    }


def group(registry: Registry, name: str) -> Object | None:
    """/apis/GROUP; None when there is no such group."""
    versions = _versions(registry).get(name)
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions)} if versions else None


def kinds(registry: Registry, group: str, version: str) -> Object | None:
    """/api/v1 or /apis/GROUP/VERSION; None when there is none."""
    served = registry.served(group, version)
    if not served:
        return None
    listed = [entry for resource in served for entry in _entries(resource)]
    name = f"{group}/{version}" if group else version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": name, "resources": listed}


def _entries(resource: Resource) -> list[Object]:
    entry: Object = {
        "name": resource.plural,
        "singularName": resource.singular or resource.kind.lower(),
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short:
        entry["shortNames"] = list(resource.short)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    entries = [entry]
    for name in resource.subresources:
        inner = {"name": f"{resource.plural}/{name}", "singularName": "", "namespaced": resource.namespaced}
        kind = _KINDS.get(name, {"kind": resource.kind})
        entries.append({**inner, **kind, "verbs": list(subresource_verbs(name))})
    return entries
