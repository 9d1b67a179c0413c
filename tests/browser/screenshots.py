"""Pictures of the four pages in both themes: `python -m tests.browser.screenshots` writes docs/screenshots/*.png."""

import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tests.browser.stack import ARGUMENTS, CHROMIUM, ROOT, running, until

FOLDER = ROOT / "docs" / "screenshots"
WIDTH, HEIGHT = 1280, 720


def main() -> None:
    """Run the seven-jobs example and picture what it gives."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home, running(Path(home)) as stack, sync_playwright() as playwright:
        example = stack.api("GET", "examples")["items"][0]
        runs = stack.finished(stack.api("POST", "experiments", {"yaml": example["yaml"]})["runs"], 300)
        arms: dict[str, list[str]] = {}
        for run in runs:
            arms.setdefault(stack.api("GET", f"runs/{run}")["arm"], []).append(run)
        a, b = list(arms.values())[:2]
        edge = next(example for example in stack.api("GET", "examples")["items"] if example["name"] == "edge-images")
        at_once = {name: value for name, value in edge["specification"].items() if name != "speed"}
        placed = next(run for run in stack.finished(stack.launch(at_once), 300) if ".skippy." in run)
        decision = stack.api("GET", f"runs/{placed}/tables/decisions")["columns"]["seq"][10]
        pages = {
            "experiments": "/",
            "new": f"/experiments/new?from={example['name']}",
            "run": f"/runs/{b[0]}",
            "run-nodes": f"/runs/{b[0]}?tab=nodes",
            "run-progress": f"/runs/{b[0]}?tab=progress",
            "run-decisions": f"/runs/{b[0]}?tab=decisions&kind=migrations",
            "run-placement-decision": f"/runs/{placed}?tab=decisions&decision=d{decision}",
            "compare": f"/compare?a={','.join(a)}&b={','.join(b)}",
        }
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        for theme in ("light", "dark"):
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=theme)
            for name, address in pages.items():
                page.goto(stack.url + address)
                _settled(page)
                # As tall as its content: a picture of the whole page would cut the fixed navigation.
                tall = page.evaluate("document.documentElement.scrollHeight")
                page.set_viewport_size({"width": WIDTH, "height": max(HEIGHT, tall)})
                page.wait_for_timeout(500)  # graphs follow the new size
                page.screenshot(path=FOLDER / f"{name}-{theme}.png")
                page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
            page.close()
        browser.close()


def _settled(page: Page) -> None:
    """Until everything is drawn and the top bar says that data are live."""
    page.wait_for_selector("h1")
    page.wait_for_selector("#connection.chip-live")
    page.wait_for_selector('[data-state="ready"], .form')
    busy = page.locator('[data-state="loading"], [data-dash-is-loading="true"]')
    until(lambda: busy.count() == 0, 30, "the page is drawn")
    page.wait_for_timeout(500)


if __name__ == "__main__":
    main()
