"""Addresses of the pages, and what tests do with any of them."""

from playwright.sync_api import Page, expect

from tests.browser.stack import until

COLOUR = "document.querySelector('.js-plotly-plot').layout.font.color"
TABS = ("placement", "nodes", "progress", "jobs", "decisions", "config")
BUSY = '[data-state="loading"], [data-dash-is-loading="true"]'
RANGE = "document.querySelector('.js-plotly-plot').layout.xaxis.range"


def drawn(page: Page) -> None:
    expect(page.locator(".main-svg").first).to_be_visible()


def zoom(page: Page) -> list[float]:
    """Drag a range in the first graph; answer what is in sight then."""
    whole = page.evaluate(RANGE)
    box = page.locator(".nsewdrag").first.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + 30)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 32, steps=5)
    page.mouse.up()
    until(lambda: page.evaluate(RANGE) != whole, 5, "it is zoomed")
    found: list[float] = page.evaluate(RANGE)
    return found


def addresses(pair: list[str]) -> dict[str, str]:
    a = ",".join(run for run in pair if ".default." in run)
    b = ",".join(run for run in pair if ".migrated." in run)
    run = b.split(",")[0]
    return {
        "experiments": "/",
        "new": "/experiments/new",
        "compare": f"/compare?a={a}&b={b}",
        "help": "/help",
        **{f"run {tab}": f"/runs/{run}?tab={tab}" for tab in TABS},
    }


PAGES = ["experiments", "new", "compare", "help", *(f"run {tab}" for tab in TABS)]
