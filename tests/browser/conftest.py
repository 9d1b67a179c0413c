"""One backend, one dashboard and one Chromium for all browser tests; a fresh context for each."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser.stack import ARGUMENTS, CHROMIUM, Stack, running, seven_jobs

PATIENCE_MS = 20_000
"""For everything a test waits for: ample on a machine that does other things as well."""


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with running(tmp_path_factory.mktemp("home")) as stack:
        yield stack


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def pair(stack: Stack) -> list[str]:
    """Finished runs of one experiment, both arms, three seeds: default s1 ..., migrated s1 ..."""
    return stack.finished(stack.launch(seven_jobs(name="pair", seeds=[1, 2, 3])))


@pytest.fixture
def open_page(browser: Browser, stack: Stack) -> Iterator[Callable[..., Page]]:
    """Opens a page at an address. Afterwards: no console error, no page error, no request to another host.

    `tolerant` is for tests that break something on purpose, which the browser reports as failed requests.
    """
    opened: list[tuple[Page, dict[str, list[str]], bool]] = []

    def open_it(path: str = "/", *, tolerant: bool = False, **options: Any) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 720}, **options})
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        seen: dict[str, list[str]] = {"errors": [], "outside": []}
        page.on("console", lambda message: seen["errors"].append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: seen["errors"].append(str(error)))
        page.on("request", lambda request: _note_outside(request.url, stack.url, seen["outside"]))
        opened.append((page, seen, tolerant))
        page.goto(stack.url + path)
        page.wait_for_selector("h1, .state")
        return page

    yield open_it
    for page, seen, tolerant in opened:
        page.context.close()
        assert seen["outside"] == []
        assert tolerant or seen["errors"] == []


def _note_outside(url: str, own: str, outside: list[str]) -> None:
    if not url.startswith((own, "data:", "blob:")):
        outside.append(url)
