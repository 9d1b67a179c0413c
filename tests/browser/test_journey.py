"""From the start page to a comparison, launching, stopping, importing."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.stack import Stack, seven_jobs, until

DATA = Path(__file__).resolve().parents[1] / "data"


def test_two_clicks_lead_from_the_start_page_to_a_comparison(open_page: Callable[..., Page]) -> None:
    page = open_page("/")
    page.locator("article").first.get_by_role("button", name=re.compile("^Run ")).click()
    page.wait_for_url(re.compile(r"/runs/"))
    expect(page).to_have_title(re.compile("^SIM · "))
    page.locator("#compare-arms").click()
    page.wait_for_url(re.compile(r"/compare\?a=.+&b=.+"))
    expect(page.locator("h1")).to_contain_text("default")
    expect(page.locator("h1")).to_contain_text("migrated")
    expect(page.locator(".headline").first).to_be_visible()
    for view in ("dumbbell", "ecdf", "pair", "areas"):
        # The example is paced, so that one can watch it: it takes some ten seconds an arm.
        expect(page.locator(f'[id*=\'"view":"{view}"\'] .main-svg').first).to_be_visible(timeout=90_000)
    for check in ("workload", "schedule", "initial placement", "seed"):
        expect(page.locator(".validity")).to_contain_text(f"same {check}")
    expect(page.locator(".reading")).to_contain_text("negative = B is faster")


def test_the_examples_are_ready(open_page: Callable[..., Page]) -> None:
    page = open_page("/")
    expect(page.locator("article")).to_have_count(4)
    for card in page.locator("article").all():
        expect(card).to_contain_text(re.compile(r"\d+ jobs"))
        expect(card.get_by_role("button", name=re.compile("^Run "))).to_be_enabled()


def test_a_launch_of_someone_else_appears_in_the_list(open_page: Callable[..., Page], stack: Stack) -> None:
    page = open_page("/?q=from-elsewhere")
    expect(page.locator(".state")).to_contain_text("No experiment matches “from-elsewhere”")
    stack.finished(stack.launch(seven_jobs(name="from-elsewhere")))
    row = page.locator(".ag-row", has_text="from-elsewhere")
    expect(row).to_contain_text("finished")
    expect(row.get_by_role("link", name=re.compile("Compare the arms"))).to_be_visible()


def test_two_ticked_experiments_are_compared(open_page: Callable[..., Page], stack: Stack) -> None:
    for name in ("ticked-one", "ticked-two"):
        stack.finished(stack.launch(seven_jobs(name=name)))
    page = open_page("/?q=ticked")
    button = page.get_by_role("button", name="Compare two selected")
    expect(button).to_be_disabled()
    boxes = page.locator(".ag-row input[type=checkbox]")
    expect(boxes).to_have_count(2)
    for box in boxes.all():
        box.check()
    button.click()
    page.wait_for_url(re.compile(r"/compare\?a=ticked-two[^&]+&b=ticked-one"))
    expect(page.locator(".headline").first).to_be_visible()


def test_a_run_can_be_watched_without_reload_and_stopped_after_a_question(
    open_page: Callable[..., Page], stack: Stack
) -> None:
    # 20 simulated seconds a second: some 40 s if nobody stopped it.
    run = stack.launch(seven_jobs(name="slow", speed=20))[0]
    page = open_page(f"/runs/{run}")
    own = page.locator(".own-progress .progress")
    expect(own).to_be_visible()
    words = page.locator(".progress-words")
    first = words.inner_text()
    until(lambda: words.inner_text() != first, 15, "the progress moves")
    expect(page.locator('[id*=\'"view":"placement"\'] .main-svg').first).to_be_visible()

    page.locator("#stop-button").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(run)
    expect(dialog).to_contain_text("7 jobs")
    dialog.get_by_role("button", name="Keep it running").click()
    expect(dialog).to_be_hidden()
    assert stack.api("GET", f"runs/{run}")["status"] in ("queued", "running")

    page.locator("#stop-button").click()
    page.get_by_role("dialog").get_by_role("button", name="Stop this run").click()
    expect(page.locator(".lead .badge").first).to_contain_text("stopped")
    expect(page.locator("#stop-button")).to_be_hidden()
    expect(page.locator('[id*=\'"view":"placement"\'] .main-svg').first).to_be_visible()
    for other in stack.api("GET", f"runs/{run}")["siblings"]:
        stack.api("POST", f"runs/{other['id']}/stop", {})


def test_the_original_migration_log_shows_what_it_has_and_says_what_it_lacks(
    open_page: Callable[..., Page], stack: Stack
) -> None:
    log = (DATA / "specon_migration_log.csv").read_bytes()
    run = stack.api("POST", "import?kind=migration-log&name=specon_migration_log.csv", data=log)["runs"][0]
    page = open_page(f"/runs/{run}")
    expect(page).to_have_title(re.compile("^REC · "))
    expect(page.locator("#source-chip")).to_contain_text("REC")
    page.get_by_role("link", name="Node CPU").click()
    expect(page.locator(".state").first).to_contain_text("no CPU samples")
    page.get_by_role("link", name="Job progress").click()
    expect(page.locator(".state").first).to_contain_text("no progress reports")
    page.get_by_role("link", name="Decisions").click()
    page.get_by_role("link", name="Migrations considered").click()
    expect(page.locator(".ag-row").first).to_be_visible()
    expect(page.locator(".panel-title").first).to_contain_text("29 decisions")
    page.get_by_role("link", name="Configuration").click()
    expect(page.locator(".state").first).to_contain_text("imported")


def test_the_original_completion_table_shows_as_a_comparison(open_page: Callable[..., Page], stack: Stack) -> None:
    table = (DATA / "specon_completion_50jobs.csv").read_bytes()
    runs = stack.api("POST", "import?kind=completion-table&name=specon_completion_50jobs.csv", data=table)["runs"]
    page = open_page(f"/compare?a={runs[0]}&b={runs[1]}")
    expect(page.locator(".headline", has_text="Mean completion")).to_contain_text("%")
    expect(page.locator('[id*=\'"view":"ecdf"\'] .main-svg').first).to_be_visible()
    expect(page.locator('[id*=\'"view":"areas"\'] .state')).to_contain_text("no CPU samples")
    expect(page.locator('[id*=\'"view":"pair"\'] .state')).to_contain_text("does not say where jobs were")


def test_a_file_is_imported_by_choosing_it(open_page: Callable[..., Page]) -> None:
    page = open_page("/")
    page.locator("#import-button").click()
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name=re.compile("Migration log")).click()
    chooser.value.set_files(DATA / "specon_migration_log.csv")
    page.wait_for_url(re.compile("/runs/"))
    expect(page.locator("#source-chip")).to_contain_text("REC")


def test_a_file_that_is_something_else_is_refused_with_a_reason(open_page: Callable[..., Page]) -> None:
    page = open_page("/", tolerant=True)  # the browser reports the refused request as an error
    page.locator("#import-button").click()
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name=re.compile("Migration log")).click()
    chooser.value.set_files({"name": "x.csv", "mimeType": "text/csv", "buffer": b"\x00\x01 nonsense"})
    expect(page.locator("#toast")).to_contain_text("x.csv was not imported.")


@pytest.mark.parametrize("tab", ["placement", "nodes", "progress", "jobs", "decisions", "config"])
def test_every_tab_of_a_run_has_content(open_page: Callable[..., Page], pair: list[str], tab: str) -> None:
    page = open_page(f"/runs/{_of(pair, 'migrated')}?tab={tab}")
    expect(page.locator('#run-content [data-state="ready"]').first).to_be_visible()
    expect(page.locator("#run-content .state")).to_have_count(0)


def test_a_decision_explains_itself(open_page: Callable[..., Page], pair: list[str]) -> None:
    page = open_page(f"/runs/{_of(pair, 'default')}?tab=decisions")
    page.locator(".ag-row").first.click()
    detail = page.locator("#decision-detail")
    expect(detail.locator(".sentence")).not_to_be_empty()
    expect(detail.locator(".ag-row .mark", has_text="chosen")).to_have_count(1)
    for heading in ("Rank", "Total", "PodTopologySpread × 2"):
        expect(detail.locator(".ag-header")).to_contain_text(heading)


def _of(runs: list[str], arm: str) -> str:
    return next(run for run in runs if f".{arm}." in run)
