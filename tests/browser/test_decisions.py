"""The decisions of a run: every placement explains itself, and its address can be sent to somebody."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from playwright.sync_api import Page, expect

from tests.browser.stack import Stack, seven_jobs, until

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SCORES = '[aria-label="Scores of the nodes"]'


def edge_run(stack: Stack, arm: str) -> str:
    text = (EXAMPLES / "edge-images.yaml").read_text()
    specification = yaml.safe_load(text)
    del specification["speed"]
    runs = stack.launch(specification)
    stack.finished(runs)
    return next(run for run in runs if f".{arm}." in run)


def cells(page: Page, column: str) -> list[str]:
    found = page.locator(f'{SCORES} .ag-cell[col-id="{column}"]')
    expect(found.first).to_be_visible()
    return [text.strip() for text in found.all_inner_texts()]


def test_a_placement_shows_all_scores_and_refusals(open_page: Callable[..., Page], stack: Stack) -> None:
    page = open_page(f"/runs/{edge_run(stack, 'skippy')}?tab=decisions")
    page.locator(".ag-row", has_text="train-2").first.click()
    detail = page.locator("#decision-detail")
    expect(detail.locator("h2")).to_contain_text("train-2 at")
    for score in ("BalancedResource", "LatencyAwareImageLocality"):
        expect(detail.locator(SCORES)).to_contain_text(f"{score} × 1")
    expect(detail.locator(f"{SCORES} .ag-row", has_text="chosen")).to_contain_text("tegra-1")
    expect(detail.locator('[aria-label="Refused nodes"] .ag-row')).to_contain_text("CheckNodeLabelPresence")
    detail.locator("summary").click()
    expect(detail.locator("dl.plugin-words")).to_contain_text("Nodes at the edge.")


def test_the_table_of_scores_sorts(open_page: Callable[..., Page], stack: Stack) -> None:
    page = open_page(f"/runs/{edge_run(stack, 'skippy')}?tab=decisions")
    page.locator(".ag-row").first.click()
    totals = [float(text) for text in cells(page, "total")]
    assert totals == sorted(totals, reverse=True)
    header = page.locator(f'{SCORES} .ag-header-cell[col-id="total"]')
    header.click()
    expect(header).to_have_attribute("aria-sort", "ascending")
    assert [float(text) for text in cells(page, "total")] == sorted(totals)


def test_the_address_of_a_decision_opens_it(open_page: Callable[..., Page], stack: Stack) -> None:
    run = edge_run(stack, "default")
    page = open_page(f"/runs/{run}?tab=decisions")
    page.locator(".ag-row").nth(4).click()
    heading = page.locator("#decision-detail h2")
    expect(heading).to_be_visible()
    page.wait_for_url(re.compile(r"decision=d\d+"))
    said = heading.inner_text()
    page.reload()
    expect(heading).to_have_text(said)
    expect(page.locator(".ag-row-selected")).to_have_count(1)
    page.goto(re.sub(r"decision=d\d+", "decision=d999999", page.url))
    expect(page.locator(".ag-row").first).to_be_visible()
    expect(heading).to_have_count(0)
    expect(page.locator("#decision-detail")).to_contain_text("There is no decision “d999999” in this list")


@pytest.fixture(scope="module")
def tight(stack: Stack) -> str:
    """A run in which jobs wait for memory: decisions that found no node, more than one page of them."""
    small = seven_jobs(
        name="tight",
        cluster={"nodes": {"count": 3, "cpu": "4", "memory": "4Gi"}},
        workload={"models": ["lenet", "vae", "gru"], "jobs": 20, "submissions": {"at": list(range(1, 21))}},
    )
    del small["both"]
    return stack.finished(stack.launch({**small, "arms": [{"name": "only", "scheduler": "default"}]}))[0]


def decisions(stack: Stack, run: str, **asked: Any) -> list[dict[str, Any]]:
    query = "&".join(f"{name}={value}" for name, value in asked.items())
    found: list[dict[str, Any]] = stack.api("GET", f"runs/{run}/decisions?{query}")["items"]
    return found


def test_a_pod_that_found_no_node_says_which_filter_refused_which(
    open_page: Callable[..., Page], stack: Stack, tight: str
) -> None:
    last = decisions(stack, tight, placed="false")[-1]
    page = open_page(f"/runs/{tight}?tab=decisions&decision=d{last['seq']}")
    detail = page.locator("#decision-detail")
    expect(detail.locator(".inline-facts")).to_contain_text("none")
    expect(detail).to_contain_text("No node was scored.")
    expect(detail.locator(".filters tbody tr")).to_have_count(1)
    expect(detail.locator(".filters tbody tr")).to_contain_text("NodeResourcesFit")
    expect(detail.locator('[aria-label="Refused nodes"] .ag-center-cols-container .ag-row')).to_have_count(3)
    # The list opens where the decision of the address stands.
    expect(page.locator(".ag-row-selected")).to_contain_text(last["pod"])


def test_the_list_sorts_by_time_as_a_number_and_filters(open_page: Callable[..., Page], tight: str) -> None:
    page = open_page(f"/runs/{tight}?tab=decisions")
    header = page.locator('.ag-header-cell[col-id="time_s"]')
    header.locator(".ag-header-cell-label").click()
    header.locator(".ag-header-cell-label").click()
    expect(header).to_have_attribute("aria-sort", "descending")
    times = [seconds(text) for text in page.locator('.ag-cell[col-id="time_s"]').all_inner_texts()]
    assert len(times) == 15
    assert times == sorted(times, reverse=True)
    page.locator('.ag-header-cell[col-id="node"] .ag-header-cell-filter-button').click()
    page.locator(".ag-filter input[type=text]").first.fill("none")
    nodes = page.locator('.ag-center-cols-container .ag-cell[col-id="node"]')
    expect(nodes.filter(has_not_text="none")).to_have_count(0)
    expect(nodes.first).to_have_text("none")


def seconds(text: str) -> float:
    total = 0.0
    for part in text.strip().split(":"):
        total = total * 60 + float(part)
    return total


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_decision_is_reached_by_keyboard_on_a_narrow_screen(
    open_page: Callable[..., Page], stack: Stack, theme: str
) -> None:
    run = edge_run(stack, "skippy")
    page = open_page(f"/runs/{run}?tab=decisions", viewport={"width": 390, "height": 720}, color_scheme=theme)
    page.locator('.ag-header-cell[col-id="time_s"]').focus()
    for key in ("ArrowDown", "ArrowDown", "Space"):
        page.keyboard.press(key)
    heading = page.locator("#decision-detail h2")
    expect(heading).to_contain_text("train-2 at")
    page.wait_for_url(re.compile(r"decision=d\d+"))
    score = page.locator(f'{SCORES} .ag-header-cell[col-id="total"]')
    score.focus()
    page.keyboard.press("Enter")
    expect(score).to_have_attribute("aria-sort", "ascending")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_job_leads_to_the_decision_that_placed_it(open_page: Callable[..., Page], tight: str) -> None:
    page = open_page(f"/runs/{tight}?tab=jobs")
    page.get_by_role("link", name=re.compile("^Why vae-2 was placed on")).click()
    expect(page.locator("#decision-detail h2")).to_contain_text("vae-2 at")
    expect(page.locator("#current-tab")).to_have_text("Decisions")
    page.go_back()
    expect(page.locator("#current-tab")).to_have_text("Jobs")


def test_a_decision_stays_open_while_its_run_goes_on(open_page: Callable[..., Page], stack: Stack) -> None:
    run = stack.launch(seven_jobs(name="going-on", speed=20))[0]
    try:
        until(lambda: bool(decisions(stack, run)), 30, "something is decided")
        first = decisions(stack, run)[0]
        page = open_page(f"/runs/{run}?tab=decisions&decision=d{first['seq']}")
        heading = page.locator("#decision-detail h2")
        expect(heading).to_contain_text(f"{first['pod']} at")
        rows = page.locator("#row-count")
        before = rows.inner_text()
        expect(rows).not_to_have_text(before)
        expect(heading).to_contain_text(f"{first['pod']} at")
        expect(page.locator(".ag-row-selected")).to_have_count(1)
    finally:
        stack.api("POST", f"runs/{run}/stop", {})


def test_rows_that_did_not_change_are_not_sent_again(open_page: Callable[..., Page], tight: str) -> None:
    """Replaced rows would undo a choice that is made at the same moment."""
    page = open_page("/")
    replaced: list[str] = []

    def note(response: Any) -> None:
        if "_dash-update-component" in response.url and response.status == 200 and "sideUpdate" in response.text():
            replaced.append(response.text()[:200])

    page.on("requestfinished", lambda request: note(request.response()))
    with page.expect_response(lambda response: "revision.data" in (response.request.post_data or "")):
        page.goto(f"{page.url}runs/{tight}?tab=decisions")
    expect(page.locator(".ag-row").first).to_be_visible()
    page.wait_for_timeout(1500)  # the poller has asked again
    assert replaced == []


def test_a_decision_of_a_thousand_nodes_opens_and_sorts(open_page: Callable[..., Page], stack: Stack) -> None:
    specification = {
        "name": "thousand",
        "cluster": {"nodes": {"count": 1000, "cpu": "16", "memory": "64Gi"}},
        "workload": {"models": ["lenet"], "jobs": 2, "submissions": {"at": [1, 2]}},
        "arms": [{"name": "only", "scheduler": {"name": "default", "explain_nodes": 1000}}],
        "seeds": [1],
    }
    run = stack.finished(stack.launch(specification))[0]
    page = open_page(f"/runs/{run}?tab=decisions")
    page.locator(".ag-row").first.click()
    detail = page.locator("#decision-detail")
    expect(detail).to_contain_text("1,000 nodes by total")
    expect(detail.locator(".ag-paging-panel")).to_contain_text("1,000")
    assert len(cells(page, "total")) == 20
