"""What every page has: theme, addresses, freshness, access."""

import re
from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, Route, expect

from tests.browser.stack import Stack, until

WCAG = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}
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


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_serious_fault_of_access(open_page: Callable[..., Page], stack: Stack, pair: list[str], theme: str) -> None:
    page = open_page("/", color_scheme=theme)
    found = []
    for name, address in addresses(pair).items():
        page.goto(stack.url + address)
        expect(page.locator("h1")).to_be_visible()
        until(lambda: page.locator(BUSY).count() == 0, 15, f"{name} is there")
        found += [
            (name, fault["id"], fault["nodes"][0]["html"][:200])
            for fault in Axe().run(page, options=WCAG).response["violations"]
            if fault["impact"] in ("serious", "critical")
        ]
    assert found == []


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


def test_a_killed_backend_is_told_within_ten_seconds_and_comes_back_by_itself(
    open_page: Callable[..., Page], stack: Stack, pair: list[str]
) -> None:
    page = open_page(f"/runs/{pair[0]}", tolerant=True)
    drawn(page)
    expect(page.locator("#connection")).to_contain_text("Live")
    in_sight = zoom(page)
    stack.kill_backend()
    try:
        banner = page.get_by_role("status").filter(has_text="Connection to the backend lost")
        expect(banner).to_be_visible(timeout=10_000)
        expect(banner).to_contain_text(re.compile(r"What you see is \d+ s old"))
        expect(page.locator("#connection")).to_contain_text("Lost")
        expect(page.locator(".main-svg").first).to_be_visible()
    finally:
        stack.start_backend()
        stack.wait_for(f"{stack.backend_url}/readyz", None)
    expect(banner).to_be_hidden(timeout=20_000)
    expect(page.locator("#connection")).to_contain_text("Live")
    assert page.evaluate(RANGE) == in_sight


def test_never_more_than_one_request_in_flight(open_page: Callable[..., Page]) -> None:
    page = open_page("/")
    expect(page.locator("#connection")).to_contain_text("Live")
    page.evaluate("""() => {
        const plain = window.fetch;
        window.flying = 0;
        window.most = 0;
        window.asked = 0;
        window.fetch = async (url, options) => {
            if (!String(url).includes("/feed/")) {
                return plain(url, options);
            }
            window.asked += 1;
            window.flying += 1;
            window.most = Math.max(window.most, window.flying);
            await new Promise((done) => setTimeout(done, 1500));
            try {
                return await plain(url, options);
            } finally {
                window.flying -= 1;
            }
        };
        window.podshift.askNow();
    }""")
    until(lambda: page.evaluate("window.asked") >= 3, 20, "three requests")
    assert page.evaluate("window.most") == 1


def test_a_hidden_tab_asks_nothing_and_once_when_it_is_shown(open_page: Callable[..., Page]) -> None:
    page = open_page("/")
    expect(page.locator("#connection")).to_contain_text("Live")
    hide = "Object.defineProperty(document, 'hidden', {{value: {}, configurable: true}});"
    page.evaluate(hide.format("true"))
    until(lambda: page.evaluate("window.podshift.poll.inFlight === null"), 10, "the last request is answered")
    page.evaluate("""() => {
        const plain = window.fetch;
        window.asked = 0;
        window.fetch = (url, options) => {
            window.asked += String(url).includes("/feed/") ? 1 : 0;
            return plain(url, options);
        };
        window.podshift.askNow();
    }""")
    page.wait_for_timeout(2500)  # ten ticks of the poller in which nothing may happen
    assert page.evaluate("window.asked") == 0
    page.evaluate(hide.format("false") + "document.dispatchEvent(new Event('visibilitychange'));")
    until(lambda: page.evaluate("window.asked") >= 1, 5, "one request")
    page.wait_for_timeout(500)
    assert page.evaluate("window.asked") == 1
    expect(page.locator("#connection")).to_contain_text("Live")


def test_an_error_of_one_panel_leaves_the_others_working(open_page: Callable[..., Page], pair: list[str]) -> None:
    page = open_page("/", tolerant=True)

    def refuse(route: Route) -> None:
        broken = '\\"view\\":\\"ecdf\\"' in (route.request.post_data or "") and '"view":"dumbbell"' not in (
            route.request.post_data or ""
        )
        if broken:
            route.fulfill(status=500, body="broken")
        else:
            route.continue_()

    page.route(re.compile("_dash-update-component"), refuse)
    page.goto(page.url.rstrip("/") + addresses(pair)["compare"])
    expect(page.locator('[id*=\'"view":"dumbbell"\'] .main-svg').first).to_be_visible()
    expect(page.locator(".headline").first).to_be_visible()


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


def test_zoom_gives_round_ticks_and_reset_shows_everything(open_page: Callable[..., Page], pair: list[str]) -> None:
    page = open_page(f"/runs/{pair[0]}")
    drawn(page)
    whole = page.evaluate(RANGE)
    zoom(page)
    ticks = "document.querySelector('.js-plotly-plot').layout.xaxis.tickvals.length"
    until(lambda: page.evaluate(ticks) >= 3, 5, "ticks fit the zoom")
    page.get_by_role("button", name="Reset the zoom of Where each job ran").click()
    until(lambda: page.evaluate(RANGE) == whole, 5, "everything is shown again")
