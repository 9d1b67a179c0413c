"""How fresh data are is always told, and a lost backend comes back by itself."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, Route, expect

from tests.browser.pages import RANGE, addresses, drawn, zoom
from tests.browser.stack import Stack, until


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
            await new Promise((done) => setTimeout(done, 700));
            try {
                return await plain(url, options);
            } finally {
                window.flying -= 1;
            }
        };
        window.podshift.poll.pace = 100; // shorter than an answer takes
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
