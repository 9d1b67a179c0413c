"""Lists: selectors, pages of one moment, one global version."""

import pytest
from kubernetes.client.exceptions import ApiException

from backend.embedded.apiserver import ApiServer
from tests.kube.contract.world import World, config_map, pod

LABELLED = {
    "a": {"app": "web", "tier": "front"},
    "b": {"app": "web", "tier": "back"},
    "c": {"app": "db"},
    "d": {},
}


@pytest.fixture
def labelled(world: World, namespace: str) -> str:
    for name, labels in LABELLED.items():
        world.core.create_namespaced_pod(namespace, pod(name, labels=labels))
    return namespace


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("app=web", "ab"),
        ("app==web", "ab"),
        ("app!=web", "cd"),
        ("app in (web,db)", "abc"),
        ("app in (web, db),tier", "ab"),
        ("app notin (web)", "cd"),
        ("tier", "ab"),
        ("!tier", "cd"),
        ("app=web,tier=back", "b"),
        ("app=nothing", ""),
    ],
)
def test_label_selectors(world: World, labelled: str, selector: str, names: str) -> None:
    found = world.core.list_namespaced_pod(labelled, label_selector=selector).items
    assert [item.metadata.name for item in found] == list(names)


def test_field_selectors_of_pods(world: World, labelled: str, node_name: str) -> None:
    world.bind(labelled, "b", node_name)
    by = {
        f"spec.nodeName={node_name}": "b",
        "spec.nodeName=": "acd",
        "metadata.name=c": "c",
        "status.phase=Pending,spec.nodeName=": "acd",
        "status.phase!=Pending": "",
        "spec.schedulerName=podshift-contract": "abcd",
    }
    found = {
        selector: "".join(
            p.metadata.name for p in world.core.list_namespaced_pod(labelled, field_selector=selector).items
        )
        for selector in by
    }
    assert found == by


@pytest.mark.parametrize("query", [{"field_selector": "spec.priority=1"}, {"label_selector": "a in (b"}])
def test_a_selector_that_cannot_be_used_is_a_400(world: World, namespace: str, query: dict[str, str]) -> None:
    with pytest.raises(ApiException) as refused:
        world.core.list_namespaced_pod(namespace, **query)
    assert refused.value.status == 400


def test_pages_show_the_moment_of_the_first_one(world: World, labelled: str) -> None:
    first = world.core.list_namespaced_pod(labelled, limit=2)
    assert first.metadata.remaining_item_count == 2
    world.core.create_namespaced_pod(labelled, pod("bb"))
    world.core.delete_namespaced_pod("c", labelled)
    rest = world.core.list_namespaced_pod(labelled, limit=10, _continue=first.metadata._continue)
    assert [p.metadata.name for p in first.items + rest.items] == ["a", "b", "c", "d"]
    assert rest.metadata._continue in (None, "")
    assert rest.metadata.resource_version == first.metadata.resource_version


def test_pages_with_a_selector(world: World, labelled: str) -> None:
    names, token = [], ""
    while True:
        page = world.core.list_namespaced_pod(labelled, label_selector="app", limit=1, _continue=token)
        names += [p.metadata.name for p in page.items]
        token = page.metadata._continue
        if not token:
            break
    assert names == ["a", "b", "c"]


def test_a_page_that_is_too_old_is_a_410(world: World, labelled: str, server: ApiServer) -> None:
    token = world.core.list_namespaced_pod(labelled, limit=1).metadata._continue
    server.faults.expire()
    with pytest.raises(ApiException) as refused:
        world.core.list_namespaced_pod(labelled, limit=1, _continue=token)
    assert (refused.value.status, "Expired" in refused.value.body) == (410, True)


def test_a_token_that_is_none_is_a_400(world: World, namespace: str) -> None:
    code, _ = world.call("GET", f"/api/v1/namespaces/{namespace}/pods", **{"limit": 1, "continue": "nonsense"})
    assert code == 400


def test_one_version_counts_the_writes_of_all_kinds(world: World, namespace: str) -> None:
    versions = [
        int(world.core.create_namespaced_pod(namespace, pod("p")).metadata.resource_version),
        int(world.core.create_namespaced_config_map(namespace, config_map("c")).metadata.resource_version),
        int(world.core.list_namespaced_secret(namespace).metadata.resource_version),
    ]
    assert versions == sorted(versions)
    assert versions[0] < versions[1]


def test_a_list_from_version_0_is_any_and_of_the_future_is_refused(world: World, namespace: str) -> None:
    assert world.core.list_namespaced_pod(namespace, resource_version="0").items == []
    now = int(world.core.list_namespaced_pod(namespace).metadata.resource_version)
    code, body = world.call("GET", f"/api/v1/namespaces/{namespace}/pods", resourceVersion=now + 10**9)
    assert (code, body["details"]["causes"][0]["reason"]) == (504, "ResourceVersionTooLarge")


def test_a_list_across_namespaces(world: World, labelled: str) -> None:
    found = world.core.list_pod_for_all_namespaces(label_selector="tier=back").items
    assert (labelled, "b") in {(p.metadata.namespace, p.metadata.name) for p in found}


def test_a_table_has_the_columns_that_kubectl_shows(world: World, labelled: str) -> None:
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
    table = world.must("GET", f"/api/v1/namespaces/{labelled}/pods", accept=accept)
    assert table["kind"] == "Table"
    assert [c["name"] for c in table["columnDefinitions"]][:5] == ["Name", "Ready", "Status", "Restarts", "Age"]
    assert table["rows"][0]["cells"][:3] == ["a", "0/1", "Pending"]
    assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"


def test_metadata_alone(world: World, labelled: str) -> None:
    accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
    body = world.must("GET", f"/api/v1/namespaces/{labelled}/pods", accept=accept)
    assert body["kind"] == "PartialObjectMetadataList"
    assert "spec" not in body["items"][0]
