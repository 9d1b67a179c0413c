"""For everyone: axe, keyboard, screen readers, small screens."""

import re
from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.pages import BUSY, addresses
from tests.browser.stack import Stack, until

WCAG = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_serious_fault_of_access(open_page: Callable[..., Page], stack: Stack, pair: list[str], theme: str) -> None:
    page = open_page("/", color_scheme=theme)
    found = []
    asked = addresses(pair)
    # Every view once; the second theme has the same parts in other colours, so four pages show them all.
    for name in asked if theme == "light" else ("experiments", "new", "compare", "run decisions"):
        page.goto(stack.url + asked[name])
        expect(page.locator("h1")).to_be_visible()
        until(lambda: page.locator(BUSY).count() == 0, 15, f"{name} is there")
        found += [
            (name, fault["id"], fault["nodes"][0]["html"][:200])
            for fault in Axe().run(page, options=WCAG).response["violations"]
            if fault["impact"] in ("serious", "critical")
        ]
    assert found == []


def test_every_graph_has_a_name_a_sentence_and_a_table(open_page: Callable[..., Page], pair: list[str]) -> None:
    page = open_page(addresses(pair)["compare"])
    for view in ("dumbbell", "ecdf", "pair", "areas"):
        panel = page.locator(".panel", has=page.locator(f'[id*=\'"view":"{view}"\']'))
        figure = panel.locator(".figure")
        expect(figure).to_have_attribute("role", "img")
        expect(figure).to_have_attribute("aria-label", re.compile(r".+\. .+\..*View as table"))
        panel.get_by_role("switch").check()
        expect(panel.locator("table caption")).to_be_visible()
        panel.get_by_role("switch").uncheck()
        expect(panel.locator(".main-svg").first).to_be_visible()


def test_keys_are_listed_and_off_while_writing(open_page: Callable[..., Page]) -> None:
    page = open_page("/")
    expect(page.locator("#connection")).to_contain_text("Live")
    page.keyboard.press("/")
    page.keyboard.type("n?")
    expect(page.get_by_label("Search experiments")).to_have_value("n?")
    page.keyboard.press("Tab")
    page.locator("h1").click()
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("New experiment")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.keyboard.press("n")
    expect(page.locator("h1")).to_have_text("New experiment")


@pytest.mark.parametrize("width", [390, 640, 1280])
def test_no_page_scrolls_sideways(open_page: Callable[..., Page], pair: list[str], width: int) -> None:
    page = open_page("/", viewport={"width": width, "height": 720})
    base = page.url.rstrip("/")
    for name in ("experiments", "new", "compare", "run placement", "run decisions"):
        page.goto(base + addresses(pair)[name])
        expect(page.locator("h1")).to_be_visible()
        until(lambda: page.locator(BUSY).count() == 0, 15, f"{name} is there")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
