"""The decisions of a run: every placement explains itself, and its address can be sent to somebody."""

import re
from collections.abc import Callable
from pathlib import Path

import yaml
from playwright.sync_api import Page, expect

from tests.browser.stack import Stack

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
