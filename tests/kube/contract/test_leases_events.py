"""Leases, with the client's leader election; events, with their two faces."""

import threading
from datetime import UTC, datetime

import pytest
from kubernetes import client
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock

from tests.kube.contract.world import Json, World, pod


def test_a_lease_lives_in_microseconds(world: World, namespace: str) -> None:
    api = client.CoordinationV1Api(world.api)
    moment = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
    spec = client.V1LeaseSpec(holder_identity="me", lease_duration_seconds=15, renew_time=moment)
    made = api.create_namespaced_lease(namespace, client.V1Lease(metadata=client.V1ObjectMeta(name="l"), spec=spec))
    assert made.spec.renew_time == moment
    made.spec.holder_identity = "you"
    assert api.replace_namespaced_lease("l", namespace, made).spec.holder_identity == "you"


def test_of_two_holders_one_writes(world: World, namespace: str) -> None:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
    free = world.must("POST", path, {"metadata": {"name": "l"}, "spec": {}})
    codes = [world.call("PUT", f"{path}/l", free | {"spec": {"holderIdentity": who}})[0] for who in ("a", "b")]
    assert codes == [200, 409]
    assert world.must("GET", f"{path}/l")["spec"]["holderIdentity"] == "a"


def test_the_clients_leader_election_finds_a_leader(
    world: World, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The lock builds its client from the client library's global configuration.
    monkeypatch.setattr(client.Configuration, "_default", world.api.configuration)
    leads = threading.Event()

    class Leading(Exception):
        pass

    def lead() -> None:
        leads.set()

    lock = LeaseLock("election", namespace, "me")
    config = electionconfig.Config(
        lock, lease_duration=3, renew_deadline=2, retry_period=1, onstarted_leading=lead, onstopped_leading=None
    )
    election = leaderelection.LeaderElection(config)
    assert election.try_acquire_or_renew()
    lease = client.CoordinationV1Api(world.api).read_namespaced_lease("election", namespace)
    assert lease.spec.holder_identity == "me"
    other = electionconfig.Config(
        LeaseLock("election", namespace, "you"), lease_duration=3, renew_deadline=2, retry_period=1,
        onstarted_leading=lead, onstopped_leading=None,
    )  # fmt: skip
    assert not leaderelection.LeaderElection(other).try_acquire_or_renew()


def event(namespace: str, about: Json) -> Json:
    return {
        "metadata": {"name": "e", "namespace": namespace},
        "involvedObject": {"kind": "Pod", "namespace": namespace, "name": about["metadata"]["name"],
                           "uid": about["metadata"]["uid"]},
        "reason": "Scheduled", "message": "Successfully assigned it", "type": "Normal",
        "source": {"component": "podshift"}, "reportingComponent": "podshift", "reportingInstance": "one",
        "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:00Z", "count": 1,
    }  # fmt: skip


def test_an_event_is_one_object_with_two_faces(world: World, namespace: str) -> None:
    about = world.must("POST", f"/api/v1/namespaces/{namespace}/pods", pod("p"))
    world.must("POST", f"/api/v1/namespaces/{namespace}/events", event(namespace, about))
    other = world.must("GET", f"/apis/events.k8s.io/v1/namespaces/{namespace}/events/e")
    assert (other["apiVersion"], other["note"]) == ("events.k8s.io/v1", "Successfully assigned it")
    assert other["regarding"]["name"] == "p"
    assert (other["reportingController"], other["deprecatedCount"]) == ("podshift", 1)


def test_an_event_of_the_newer_face_is_read_through_the_older(world: World, namespace: str) -> None:
    body = {
        "metadata": {"name": "e"}, "eventTime": "2026-01-01T00:00:00.000000Z", "reason": "Scheduled", "type": "Normal",
        "action": "Binding", "note": "assigned", "reportingController": "podshift", "reportingInstance": "one",
        "regarding": {"kind": "Pod", "namespace": namespace, "name": "p"},
    }  # fmt: skip
    world.must("POST", f"/apis/events.k8s.io/v1/namespaces/{namespace}/events", body)
    old = world.core.read_namespaced_event("e", namespace)
    assert (old.message, old.involved_object.name, old.reporting_component) == ("assigned", "p", "podshift")
    assert old.event_time


@pytest.mark.parametrize("selector", ["involvedObject.name=p", "reason=Scheduled", "type=Normal", "source=podshift"])
def test_events_are_found_by_what_they_are_about(world: World, namespace: str, selector: str) -> None:
    about = world.must("POST", f"/api/v1/namespaces/{namespace}/pods", pod("p"))
    world.must("POST", f"/api/v1/namespaces/{namespace}/events", event(namespace, about))
    found = world.core.list_namespaced_event(namespace, field_selector=f"{selector},involvedObject.kind=Pod").items
    assert [e.metadata.name for e in found] == ["e"]


def test_an_event_about_another_namespace_is_refused(world: World, namespace: str) -> None:
    about = {"metadata": {"name": "p", "uid": "u"}}
    body = event(namespace, about) | {"involvedObject": {"kind": "Pod", "namespace": "elsewhere", "name": "p"}}
    code, answer = world.call("POST", f"/api/v1/namespaces/{namespace}/events", body)
    assert (code, answer["reason"]) == (422, "Invalid")
