import pytest

from dashboard import urlstate
from dashboard.urlstate import Links


@pytest.mark.parametrize(
    ("search", "expected", "notices"),
    [
        ("", ("", "", 1, 0), 0),
        ("?q=seven&status=running&page=3", ("seven", "running", 3, 100), 0),
        ("?unknown=1", ("", "", 1, 0), 0),
        ("?status=sleeping", ("", "", 1, 0), 1),
        ("?page=0", ("", "", 1, 0), 1),
        ("?page=abc&status=x", ("", "", 1, 0), 2),
        ("?page=99999999999999999999", ("", "", 1, 0), 1),
    ],
    ids=["empty", "all", "unknown", "bad status", "page 0", "two bad", "huge page"],
)
def test_a_listing_is_read_and_bad_values_are_named(search: str, expected: tuple, notices: int) -> None:
    state = urlstate.listing(search)
    assert (state.q, state.status, state.page, state.offset) == expected
    assert len(state.notices) == notices


@pytest.mark.parametrize(
    ("search", "tab", "notices"),
    [("?tab=nodes", "nodes", 0), ("", "placement", 0), ("?tab=<script>", "placement", 1)],
    ids=["given", "default", "bad"],
)
def test_the_tab_of_a_run_is_in_its_address(search: str, tab: str, notices: int) -> None:
    state = urlstate.run_state(search)
    assert (state.tab, len(state.notices)) == (tab, notices)


def test_a_comparison_keeps_order_and_shows_differences_first() -> None:
    state = urlstate.compare_state("?a=x.s2,x.s1&b=y.s1&only=all")
    assert (state.a, state.b, state.only_differences) == (("x.s2", "x.s1"), ("y.s1",), False)
    assert urlstate.compare_state("?a=x&b=y").only_differences


def test_one_parameter_changes_and_the_others_stay() -> None:
    search = "?a=x,z&b=y&colour=job"
    assert urlstate.changed(search, only="all") == "?a=x,z&b=y&colour=job&only=all"
    assert urlstate.changed(search, colour=None) == "?a=x,z&b=y"


@pytest.mark.parametrize("prefix", ["/", "/dash/"])
@pytest.mark.parametrize(
    "name", ["seven-jobs-7k3f.default.s1", "a/b?c#d", '<img src=x onerror="1">', "javascript:alert(1)"]
)
def test_names_come_back_from_the_addresses_they_are_put_into(prefix: str, name: str) -> None:
    links = Links(prefix)
    address = links.run(name, "jobs")
    path, _, query = address.partition("?")
    assert links.page(path) == ("run", name)
    assert query == "tab=jobs"
    assert not set("<>\"' ") & set(address)


@pytest.mark.parametrize(
    ("path", "page"),
    [
        ("/", "experiments"), ("/experiments", "experiments"), ("/experiments/new", "new"), ("/compare", "compare"),
        ("/help", "help"), ("/runs/", "missing"), ("/nothing/here", "missing"),
    ],
)  # fmt: skip
def test_paths_name_pages(path: str, page: str) -> None:
    assert Links("/").page(path)[0] == page
