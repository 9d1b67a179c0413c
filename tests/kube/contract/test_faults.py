"""The embedded server's bad days."""

import pytest
import urllib3

from backend.embedded.apiserver import ApiServer
from tests.kube.contract.waiting import until
from tests.kube.contract.watching import Watching
from tests.kube.contract.world import World, config_map


@pytest.fixture
def maps(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps"


def test_a_server_that_is_away_breaks_connections_and_comes_back(world: World, maps: str, server: ApiServer) -> None:
    with Watching(world, maps) as events:
        server.faults.pause(600)
        with pytest.raises(urllib3.exceptions.HTTPError):
            list(events)
    with pytest.raises(urllib3.exceptions.HTTPError):
        world.call("GET", maps)
    server.faults.resume()
    assert world.call("GET", maps)[0] == 200


def test_a_pause_ends_by_itself(world: World, maps: str, server: ApiServer) -> None:
    server.faults.pause(0.2)

    def back() -> bool:
        try:
            return world.call("GET", maps)[0] == 200
        except urllib3.exceptions.HTTPError:
            return False

    assert not back()
    until(back, "the server's return")


def test_a_slow_server_answers_late(world: World, maps: str, server: ApiServer) -> None:
    server.faults.slow(0.3)
    api = world.api.rest_client.pool_manager
    headers: dict[str, str] = {}
    world.api.update_params_for_auth(headers, [], ["BearerToken"], maps, "GET", None)
    with pytest.raises(urllib3.exceptions.ReadTimeoutError):
        api.request("GET", world.api.configuration.host + maps, headers=headers, timeout=0.1, retries=False)
    server.faults.slow(0)
    assert world.call("GET", maps)[0] == 200


def test_some_requests_fail_and_the_same_ones_with_the_same_seed(world: World, maps: str, server: ApiServer) -> None:
    def codes() -> list[int]:
        server.faults.fail(rate=0.5, seed=7)
        return [world.call("GET", maps)[0] for _ in range(40)]

    first, second = codes(), codes()
    assert first == second
    assert 0 < sum(code == 200 for code in first) < 40
    assert set(first) <= {200, 500, 503, 504}


def test_a_number_of_requests_fails(world: World, maps: str, server: ApiServer) -> None:
    server.faults.fail(n=3)
    assert [world.call("GET", maps)[0] >= 500 for _ in range(5)] == [True, True, True, False, False]


def test_an_answer_that_is_lost_was_carried_out(world: World, maps: str, server: ApiServer) -> None:
    server.faults.fail(n=1, lost=True)
    with pytest.raises(urllib3.exceptions.HTTPError):
        world.call("POST", maps, config_map("c"))
    assert world.call("GET", f"{maps}/c")[0] == 200
