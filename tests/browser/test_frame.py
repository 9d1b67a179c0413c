"""Themes and addresses."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pages import BUSY, COLOUR, PAGES, RANGE, addresses, drawn, zoom
from tests.browser.stack import Stack, until


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_theme_follows_the_system_and_the_choice_stays(
    open_page: Callable[..., Page], pair: list[str], theme: str
) -> None:
    page = open_page(f"/runs/{pair[0]}", color_scheme=theme)
    other = {"light": "dark", "dark": "light"}[theme]
    drawn(page)
    root = page.locator("html")
    expect(root).to_have_attribute("data-mantine-color-scheme", theme)
    before = page.evaluate(COLOUR)
    in_sight = zoom(page)
    page.locator("#theme-toggle").click()
    expect(root).to_have_attribute("data-mantine-color-scheme", other)
    until(lambda: page.evaluate(COLOUR) != before, 10, "the figure changes with the theme")
    assert page.evaluate(RANGE) == in_sight
    page.reload()
    drawn(page)
    expect(root).to_have_attribute("data-mantine-color-scheme", other)


def test_the_first_paint_has_the_colours_of_the_theme(open_page: Callable[..., Page]) -> None:
    page = open_page("/", color_scheme="dark", tolerant=True)
    page.route(re.compile("dash-renderer"), lambda route: route.abort())
    page.goto(page.url, wait_until="domcontentloaded")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(16, 20, 29)"


@pytest.mark.parametrize("name", PAGES)
def test_an_address_opens_the_same_page_again(open_page: Callable[..., Page], pair: list[str], name: str) -> None:
    page = open_page(addresses(pair)[name])
    expect(page.locator("h1")).to_be_visible()
    until(lambda: page.locator(BUSY).count() == 0, 15, f"{name} is there")
    title, address, heading = page.title(), page.url, page.locator("h1").text_content()
    page.reload()
    expect(page.locator("h1")).to_have_text(heading or "")
    expect(page).to_have_title(title)
    assert page.url == address


def test_back_undoes_one_view_at_a_time(open_page: Callable[..., Page], pair: list[str]) -> None:
    page = open_page(f"/runs/{pair[0]}")
    drawn(page)
    page.get_by_role("link", name="By job").click()
    expect(page.locator(".choice.current")).to_have_text("By job")
    page.get_by_role("link", name="Job progress").click()
    expect(page.locator(".viewtab.current")).to_have_text("Job progress")
    page.go_back()
    expect(page.locator(".viewtab.current")).to_have_text("Placement")
    expect(page.locator(".choice.current")).to_have_text("By job")
    page.go_back()
    expect(page.locator(".choice.current")).to_have_text("By category")


def test_differences_only_and_the_order_of_sides_are_in_the_address(
    open_page: Callable[..., Page], pair: list[str]
) -> None:
    page = open_page(addresses(pair)["compare"])
    settings = page.locator("#compare-settings tbody tr")
    expect(settings.first).to_be_visible()
    few = settings.count()
    page.get_by_role("link", name=re.compile(r"^All \(")).click()
    expect(page).to_have_url(re.compile("only=all"))
    until(lambda: settings.count() > few, 10, "all settings are listed")
    page.locator("#swap").click()
    expect(page.locator("h1 .arm-a")).to_contain_text("migrated")
    expect(page).to_have_url(re.compile(r"a=pair-\w+\.migrated.*&b=pair-\w+\.default"))


@pytest.mark.parametrize("address", ["/?status=asleep", "/?page=-1", "/runs/PAIR?tab=nowhere"])
def test_unusable_values_in_an_address_are_named(open_page: Callable[..., Page], pair: list[str], address: str) -> None:
    page = open_page(address.replace("PAIR", pair[0]))
    expect(page.locator(".notice")).to_be_visible()
    expect(page.locator("h1")).to_be_visible()


@pytest.mark.parametrize("address", ["/nowhere", "/runs/no-such-run", "/compare?a=no-such&b=run"])
def test_what_is_not_there_is_said(open_page: Callable[..., Page], address: str) -> None:
    page = open_page(address)
    expect(page.locator(".state").first).to_be_visible()


def test_hostile_names_stay_text(open_page: Callable[..., Page], stack: Stack) -> None:
    page = open_page("/runs/" + "%3Cimg%20src%3Dx%20onerror%3D%22window.hacked%3D1%22%3E")
    expect(page.locator(".state")).to_contain_text('<img src=x onerror="window.hacked=1">')
    page.goto(f"{stack.url}/?q=%3Cimg%20src%3Dx%20onerror%3D%22window.hacked%3D1%22%3E")
    expect(page.locator(".state")).to_contain_text("<img src=x")
    assert page.evaluate("window.hacked") is None


def test_zoom_gives_round_ticks_and_reset_shows_everything(open_page: Callable[..., Page], pair: list[str]) -> None:
    page = open_page(f"/runs/{pair[0]}")
    drawn(page)
    whole = page.evaluate(RANGE)
    zoom(page)
    ticks = "document.querySelector('.js-plotly-plot').layout.xaxis.tickvals.length"
    until(lambda: page.evaluate(ticks) >= 3, 5, "ticks fit the zoom")
    page.get_by_role("button", name="Reset the zoom of Where each job ran").click()
    until(lambda: page.evaluate(RANGE) == whole, 5, "everything is shown again")
