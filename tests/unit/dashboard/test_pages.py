"""Layouts as data: what a page holds for a state, without a browser."""

import json

import pytest
from flask import Flask
from flask_caching import Cache

from dashboard.callbacks.run import migration_name, reach, tab
from dashboard.components import badges
from dashboard.pages import compare, decision, experiments, missing, run, run_tables
from dashboard.source import Problem, Source
from dashboard.urlstate import CompareState, Links, Listing, RunState
from tests.unit.dashboard import sample
from tests.unit.dashboard.fake_backend import SPECIFICATION, FakeBackend

LINKS = Links("/")
HOSTILE = '<img src=x onerror="alert(1)">'


def text(component: object) -> str:
    """The whole component tree as JSON text."""
    return json.dumps(component, default=lambda part: part.to_plotly_json())


@pytest.fixture
def backend():
    backend = FakeBackend()
    yield backend
    backend.close()


def test_an_experiment_is_one_row_with_both_arms(backend: FakeBackend) -> None:
    item = backend.answer("/api/v1/experiments", {})[1]["items"][0]
    row = experiments.row(LINKS, item)
    assert row["href"] == "/runs/seven-jobs-7k3f.default.s1"
    assert row["compare"] == "/compare?a=seven-jobs-7k3f.default.s1&b=seven-jobs-7k3f.migrated.s1"
    assert row["makespan"] == {"text": "2:00 → 1:50", "change": "−8.3 %", "tone": "better"}
    assert row["completion"]["tone"] == "none"


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (Listing(), "No experiments yet"),
        (Listing(q="xyz"), "No experiment matches \\u201cxyz\\u201d."),
        (Listing(status="failed"), "No experiment matches status failed."),
    ],
    ids=["none", "search", "status"],
)
def test_an_empty_list_says_why_it_is_empty(state: Listing, words: str) -> None:
    assert words in text(experiments.listing(LINKS, state, {"items": [], "total": 0}))


def test_a_lost_backend_is_named_where_the_list_would_be() -> None:
    problem = Problem(
        "the list of experiments", "GET http://x/api", "the backend cannot be reached", "2026-12-01T10:00:00+00:00"
    )
    shown = text(experiments.listing(LINKS, Listing(), problem))
    for part in ("the list of experiments", "GET http://x/api", "cannot be reached", "2026-12-01 10:00:00 UTC"):
        assert part in shown


@pytest.mark.parametrize(("seeds", "count"), [([1, 2, 3], 3), ("1..20", 20), (5, 5), ("x..y", 1)], ids=str)
def test_seeds_are_counted(seeds: object, count: int) -> None:
    assert experiments.seed_count(seeds) == count


@pytest.mark.parametrize("status", ["queued", "running", "stopping", "finished"])
def test_only_a_run_under_way_can_be_stopped(backend: FakeBackend, status: str) -> None:
    shown = text(run.header(LINKS, {**backend.run("default"), "status": status}))
    hidden = '"style": {"display": "none"}' in shown
    assert hidden == (status not in badges.ACTIVE)


def test_the_stop_dialog_names_run_and_jobs(backend: FakeBackend) -> None:
    page = text(run.layout(LINKS, {**backend.run("default"), "status": "running"}, RunState()))
    assert "seven-jobs-7k3f.default.s1" in page
    assert " on the simulator with its 3 jobs." in page


def test_a_run_leads_to_the_comparison_of_its_arms(backend: FakeBackend) -> None:
    row = backend.answer("/api/v1/runs/seven-jobs-7k3f.migrated.s1", {})[1]
    shown = text(run.header(LINKS, row))
    assert "/compare?a=seven-jobs-7k3f.default.s1&b=seven-jobs-7k3f.migrated.s1" in shown


def test_no_numbers_before_there_are_any(backend: FakeBackend) -> None:
    assert run.tiles({**backend.run("default"), "summary": None}) is None
    partial = text(run.tiles({"summary": {"jobs": 3}}))
    assert '"children": "0' not in partial


def test_refusals_are_decisions_too() -> None:
    rows = run_tables.considered(sample.CONSIDERATIONS)
    assert [(row["job"], row["verdict"], row["target"]) for row in rows] == [
        ("a", "migrates", "n2"),
        ("b", "stays: nobody at home would gain", "none"),
    ]


def test_a_placement_explains_itself_with_scores_and_refusals() -> None:
    first, second = (text(decision.placement(made)) for made in sample.IN_FULL.values())
    assert "n1 has the highest score" in first
    assert "least-allocated \\u00d7 1" in first
    assert "Nodes with much left." in first
    assert "No filter refused a node." in first
    assert "Nodes with enough left." in second


GIVEN = {
    **sample.LISTED[0],
    "node": "n1",
    "needed_images": ["img:1"],
    "nodes": ["n2", "n1", "n3"],
    "totals": [30.0, 30.0, 12.5],
    "ranks": [1, 1, 3],
    "scores": [
        {"plugin": "A", "description": "What A does.", "weight": 2.5, "raw": [7, 7, 3.5], "normalised": [10, 10, 5],
         "weighted": [25.0, 25.0, 12.5]},
        {"plugin": "own", "description": "", "weight": 1, "raw": [5, 5, 0], "normalised": [5, 5, 0],
         "weighted": [5, 5, 0]},
    ],
    "refusals": [
        {"filter": "Fit", "description": "Nodes with enough left.", "count": 1002, "nodes": ["n4", "n5"]},
        {"filter": "Mine", "description": "", "count": 3, "nodes": []},
    ],
}  # fmt: skip


def test_nodes_by_scores() -> None:
    rows = decision.score_rows(GIVEN)
    assert [(row["node"], row["rank"], row["total"], row["chosen"]) for row in rows] == [
        ("n2", 1, 30.0, False),
        ("n1", 1, 30.0, True),
        ("n3", 3, 12.5, False),
    ]
    assert [(row["raw0"], row["value0"], row["part0"], row["raw1"], row["part1"]) for row in rows] == [
        (7, 10, 25.0, 5, 5),
        (7, 10, 25.0, 5, 5),
        (3.5, 5, 12.5, 0, 0),
    ]
    groups = decision.score_columns(GIVEN["scores"])[3:]
    assert [(group["headerName"], [part["headerName"] for part in group["children"]]) for group in groups] == [
        ("A × 2.5", ["Raw", "Score", "× weight"]),
        ("own × 1", ["Score"]),
    ]
    assert [group["headerTooltip"] for group in groups] == ["What A does.", decision.UNDESCRIBED]


def test_equals_and_nodes_that_are_not_listed_are_said() -> None:
    shown = text(decision.placement({**GIVEN, "feasible": 1200}))
    assert "1,197 that fit as well are not listed" in shown
    assert "2 of them share the highest total" in shown
    assert "img:1" in shown


def test_a_refused_pod_says_per_filter_how_many_and_which() -> None:
    nothing = {"node": None, "nodes": [], "totals": [], "ranks": [], "scores": [], "feasible": 0, "permanent": True}
    shown = text(decision.placement({**GIVEN, **nothing}))
    assert "none, and none could ever take it" in shown
    assert "No node was scored." in shown
    for words in ('"Fit"', '"1,002"', "Nodes with enough left.", '"Mine"', '"3"', decision.UNDESCRIBED):
        assert words in shown
    assert decision.refused_rows(GIVEN["refusals"]) == [
        {"id": "Fit/n4", "node": "n4", "filter": "Fit"},
        {"id": "Fit/n5", "node": "n5", "filter": "Fit"},
    ]


def test_a_decision_of_a_thousand_nodes_is_one_page_of_rows_at_a_time() -> None:
    nodes = [f"n{k}" for k in range(1000)]
    many = [float(k) for k in range(1000, 0, -1)]
    score = {"plugin": "A", "description": "", "weight": 2, "raw": many, "normalised": many, "weighted": many}
    made = {**GIVEN, "nodes": nodes, "totals": many, "ranks": list(range(1, 1001)), "scores": [score] * 5}
    assert len(decision.score_rows(made)) == 1000
    shown = text(decision.placement(made))
    assert '"pagination": true, "paginationPageSize": 20' in shown


def test_the_list_of_decisions() -> None:
    rows = run_tables.placements([sample.LISTED[0], {**sample.LISTED[1], "node": None}])
    assert [(row["id"], row["time"], row["node"], row["refused"]) for row in rows] == [
        ("d3", "0:00", "n1", 0),
        ("d9", "0:35", "none", 1),
    ]


@pytest.mark.parametrize(
    ("identity", "seq"), [("d9", 9), ("d0", 0), ("", None), ("9", None), ("d", None), ("d-1", None), ("c9", None),
                          ("d٣", None), ("d" + "9" * 40, None)],
)  # fmt: skip
def test_the_number_of_a_placement_is_read_from_its_address(identity: str, seq: int | None) -> None:
    assert run_tables.placement_seq(identity) == seq


@pytest.mark.parametrize(
    ("address", "inside", "outside"),
    [
        ("?tab=decisions&decision=d9", "c at 0:35", "a at 0:00"),
        ("?tab=decisions&decision=d8", "2 decisions", "at 0:"),
        ("?tab=decisions&kind=migrations&decision=d9", "migrates", "c at 0:35"),
        ("?tab=jobs", "/runs/seven-jobs-7k3f.default.s1?tab=decisions&decision=d3", "decision=d4"),
    ],
)
def test_the_address_says_which_decision_is_shown(
    backend: FakeBackend, address: str, inside: str, outside: str
) -> None:
    source = Source(backend.url, Cache(Flask("test"), config={"CACHE_TYPE": "SimpleCache"}))
    shown = text(tab(source, LINKS, "seven-jobs-7k3f.default.s1", address))
    assert inside in shown
    assert outside not in shown


def test_jobs_lead_to_the_decision_of_their_first_node_or_to_the_last_refusal() -> None:
    jobs = {"job": ["a", "b", "c"], "first_node": ["n1", None, "n3"]}
    made = [(1, "a", None), (2, "a", "n1"), (3, "a", "n2"), (4, "b", None), (5, "b", None)]
    rows = run_tables.job_rows(jobs, [dict(zip(("seq", "job", "node"), one, strict=True)) for one in made], str)
    assert [row["decision"] for row in rows] == ["2", "5", None]


@pytest.mark.parametrize(
    ("migration", "words"),
    [("none", "Migration is off"), ("specon", "Migration is on (specon)"), ("", "does not hold migration decisions")],
)
def test_without_considerations_the_page_says_why(migration: str, words: str) -> None:
    state = RunState(tab="decisions", kind="migrations")
    nothing = sample.empty(sample.CONSIDERATIONS)
    assert words in text(run_tables.decisions_tab("", state, run_tables.listed(nothing), migration, None))


def test_the_migration_policy_is_read_from_the_arm() -> None:
    assert migration_name({"arm": "migrated", "specification": SPECIFICATION}) == "specon"
    assert migration_name({"arm": "default", "specification": SPECIFICATION}) == "none"
    assert migration_name({"arm": "x", "specification": None}) == ""


def test_an_imported_run_without_specification_says_so() -> None:
    assert "imported from a record that holds none" in text(run_tables.config_tab({"id": "x", "specification": None}))


def test_hostile_names_are_text_in_tables_and_details() -> None:
    table = {name: [HOSTILE] for name in sample.JOBS}
    assert "dangerously" not in text(run_tables.jobs_tab(run_tables.job_rows(table, [], str)))
    shown = text(missing.run_missing(LINKS, HOSTILE))
    assert "href" in shown
    assert 'href": "<' not in shown


def compared(**changed) -> dict:
    metric = {"name": "makespan_s", "label": "Makespan", "unit": "s", "a": 100.0, "b": 90.0, "difference": -10.0,
              "percent": -10.0, "ci95": None, "n": 1, "better": "lower", "note": "single run, no interval"}  # fmt: skip
    given = {
        "a": {"label": "default", "experiments": ["x"]},
        "b": {"label": "migrated"},
        "validity": [
            {"check": "workload", "ok": True, "detail": ""},
            {"check": "schedule", "ok": False, "detail": "7 of 9"},
        ],
        "metrics": [metric],
        "jobs": [],
        "faster": 3,
        "slower": 1,
        "equal": 0,
        "mean_of_changes_percent": -4.2,
        "sign": "difference = B - A; negative = B is faster",
        "notes": ["single run, no interval"],
        "configuration": [{"field": "migration.name", "a": "none", "b": "specon", "differs": True},
                          {"field": "seed", "a": 1, "b": 1, "differs": False}],
    }  # fmt: skip
    return {**given, **changed}


def test_a_difference_carries_sign_convention_interval_or_its_absence() -> None:
    shown = text(compare.numbers(compared()))
    assert "difference = B \\u2212 A; negative = B is faster" in shown
    assert "single run, no interval" in shown
    assert "B faster" in shown


def test_a_failed_check_says_what_differs() -> None:
    shown = text(compare.numbers(compared()))
    assert "same workload" in shown
    assert "not the same schedule" in shown
    assert "7 of 9" in shown


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ({"difference": -1.0, "unit": "s", "better": "lower"}, ("better", "▼ B faster")),
        ({"difference": 1.0, "unit": "s", "better": "lower"}, ("worse", "▲ B slower")),
        ({"difference": 0.1, "unit": "share", "better": "higher"}, ("better", "▲ B better")),
        ({"difference": 2.0, "unit": "", "better": "lower", "name": "migrations"}, ("none", "more in B")),
        ({"difference": 0.0, "unit": "s", "better": "lower"}, ("none", "no difference")),
        ({"difference": None}, ("none", "not known on both sides")),
    ],
    ids=["faster", "slower", "higher is better", "neutral", "equal", "unknown"],
)
def test_verdicts_are_words(metric: dict, expected: tuple[str, str]) -> None:
    assert compare.verdict(metric) == expected


@pytest.mark.parametrize(("only", "rows"), [(True, 1), (False, 2)])
def test_settings_show_differences_unless_asked_for_all(only: bool, rows: int) -> None:
    state = CompareState(("a",), ("b",), only_differences=only)
    shown = text(compare.settings("?a=a&b=b", state, compared()))
    assert shown.count('"scope": "row"') == rows
    assert "Only differences (1)" in shown


def test_both_sides_of_one_name_are_told_apart() -> None:
    assert compare.labels({"a": {"label": "x"}, "b": {"label": "x"}}) == ("x (A)", "x (B)")


def test_data_reach_as_far_as_the_clock_while_running_and_as_the_tables_afterwards(backend: FakeBackend) -> None:
    class Answers:
        def __init__(self, status: str) -> None:
            self.status = status

        def run(self, _: str) -> dict:
            return {"status": self.status, "progress": {"time_s": 500.0}}

    assert reach(Answers("running"), "r", sample.SEGMENTS) == 500.0
    assert reach(Answers("finished"), "r", sample.SEGMENTS, sample.JOBS) == 500.0, "a segment has no end"
    ended = {**sample.SEGMENTS, "end_s": [end or 120.0 for end in sample.SEGMENTS["end_s"]]}
    assert reach(Answers("finished"), "r", ended, sample.JOBS) == 120.0


def test_a_card_says_what_it_is_and_the_run_what_to_look_at(backend: FakeBackend) -> None:
    words = "Seven jobs arrive. Look at: the arrows."
    assert experiments.what_it_is(words) == "Seven jobs arrive."
    row = {**backend.run("default"), "specification": {"name": "x", "description": words}}
    assert "the arrows." in text(run.layout(LINKS, row, RunState()))
    assert experiments.what_to_look_at("Seven jobs arrive.") == ""


def test_a_decision_that_the_run_does_not_have_is_named() -> None:
    shown = text(run_tables.no_such_decision("d999"))
    assert "d999" in shown
    assert "choose a row" in shown
