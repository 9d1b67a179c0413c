"""Of two candidates one leads."""

import threading

import pytest

from backend.kube.client import Api
from backend.kube.lease import Lease
from tests.unit.kube.fake_server import FakeServer


class Clock:
    def __init__(self) -> None:
        self.time = 1000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


def candidate(api: Api, name: str, clock: Clock, **options: object) -> Lease:
    return Lease(api, "podshift", name, clock=clock, wall=lambda: 1_767_225_600 + clock.time, **options)  # type: ignore[arg-type]


def test_the_first_leads_and_the_second_waits(server: FakeServer, api: Api, clock: Clock) -> None:
    one, two = candidate(api, "one", clock), candidate(api, "two", clock)
    assert one.attempt()
    assert not two.attempt()
    assert two.holder == "one"
    spec = server.leases["podshift"]["spec"]
    assert (spec["holderIdentity"], spec["leaseDurationSeconds"], spec["leaseTransitions"]) == ("one", 15, 0)


def test_a_leader_that_renews_stays(api: Api, clock: Clock) -> None:
    one, two = candidate(api, "one", clock), candidate(api, "two", clock)
    for _ in range(20):
        clock.time += 2.0
        assert one.attempt()
        assert not two.attempt()


def test_a_leader_that_is_gone_is_followed_when_its_lease_has_run_out(
    server: FakeServer, api: Api, clock: Clock
) -> None:
    one, two = candidate(api, "one", clock), candidate(api, "two", clock)
    one.attempt()
    two.attempt()
    clock.time += 14.9
    assert not two.attempt()
    assert not one.leads, "it stops acting before the other may begin"
    clock.time += 0.2
    assert two.attempt()
    assert not one.attempt()
    assert server.leases["podshift"]["spec"]["leaseTransitions"] == 1


def test_only_a_renewal_that_we_saw_counts(api: Api, clock: Clock) -> None:
    """The times in the lease are of other clocks: a candidate that comes late waits for the whole duration."""
    candidate(api, "one", clock).attempt()
    clock.time += 100.0
    two = candidate(api, "two", clock)
    assert not two.attempt()
    clock.time += 15.0
    assert two.attempt()


def test_a_lease_that_was_given_up_is_free(api: Api, clock: Clock) -> None:
    told: list[bool] = []
    one, two = candidate(api, "one", clock, changed=told.append), candidate(api, "two", clock)
    one.attempt()
    one.release()
    assert told == [True, False]
    assert two.attempt()
    two.attempt()
    one.release()
    assert two.attempt()


def test_a_leader_that_cannot_reach_the_server_leads_on_for_a_while(server: FakeServer, api: Api, clock: Clock) -> None:
    one = candidate(api, "one", clock)
    one.attempt()
    server.away = True
    clock.time += 9.9
    assert one.attempt()
    assert one.error
    clock.time += 0.2
    assert not one.leads
    assert not one.attempt()


def test_of_two_that_write_at_a_time_one_leads(server: FakeServer, api: Api, clock: Clock) -> None:
    server.fault("POST .*", 1, 409)
    one = candidate(api, "one", clock)
    assert not one.attempt()
    assert one.attempt()


def test_two_started_at_once(api: Api) -> None:
    begin = threading.Barrier(2)
    leases = [Lease(api, "podshift", name) for name in ("one", "two")]

    def run(lease: Lease) -> None:
        begin.wait(10)
        lease.attempt()

    threads = [threading.Thread(target=run, args=(lease,)) for lease in leases]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert sum(lease.leads for lease in leases) == 1


def test_its_thread_takes_and_gives_up(server: FakeServer, api: Api) -> None:
    led = threading.Event()
    lease = Lease(api, "podshift", "one", changed=lambda leads: led.set() if leads else led.clear())
    lease.start()
    assert led.wait(10)
    lease.stop()
    assert not led.is_set()
    assert server.leases["podshift"]["spec"]["holderIdentity"] == ""


@pytest.mark.parametrize("times", [(15, 15, 2), (15, 10, 10), (5, 10, 2), (15, 10, 0)])
def test_times_that_make_no_sense(api: Api, times: tuple[float, float, float]) -> None:
    duration_s, renew_within_s, retry_s = times
    with pytest.raises(ValueError, match="each must be less"):
        Lease(api, "x", "y", duration_s=duration_s, renew_within_s=renew_within_s, retry_s=retry_s)
