"""New experiment: checked while writing, both ways between form and YAML, launched once."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.stack import Stack

FORM = "/experiments/new"


def field(page: Page, name: str):
    return page.locator(f'input[id*=\'"name":"{name}"\'][id*=field]')


def ready(page: Page) -> None:
    expect(page.locator("#form-review")).to_contain_text("Ready to launch")
    expect(page.locator("#form-launch")).to_be_enabled()


def test_the_defaults_are_ready_to_launch_with_yaml_command_and_estimate(open_page: Callable[..., Page]) -> None:
    page = open_page(FORM)
    ready(page)
    expect(page.locator("#form-review")).to_contain_text("2 runs of 9 jobs on 3 nodes.")
    expect(page.locator("#form-yaml")).to_have_value(re.compile("name: my-experiment"))
    expect(page.locator("#form-command")).to_contain_text("podshift run")


def test_each_wrong_value_has_its_own_message_and_launch_waits(open_page: Callable[..., Page]) -> None:
    page = open_page(FORM)
    ready(page)
    field(page, "node_cpu").fill("-4")
    field(page, "name").fill("Not A Name!")
    expect(page.locator("#form-launch")).to_be_disabled()
    for name in ("node_cpu", "name"):
        box = field(page, name)
        expect(box).to_have_attribute("aria-invalid", "true")
        described = box.get_attribute("aria-describedby") or ""
        message = [part for part in described.split(" ") if part.endswith("-error")]
        assert message, described
        expect(page.locator(f"[id='{message[0]}']")).not_to_be_empty()
    expect(page.locator("#form-review")).to_contain_text("2 values must be changed before launch.")
    field(page, "node_cpu").fill("8")
    field(page, "name").fill("a-name")
    ready(page)
    expect(field(page, "name")).not_to_have_attribute("aria-invalid", "true")


def test_a_wrong_parameter_of_the_policy_is_named_at_its_input(open_page: Callable[..., Page]) -> None:
    page = open_page(FORM)
    ready(page)
    page.locator("#form-migration-parameters-box summary").click()
    box = page.locator('input[id*=\'"name":"interval"\'][id*=\'"slot":"migration"\']')
    box.fill("-1")
    expect(box).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#form-launch")).to_be_disabled()
    box.fill("20")
    ready(page)
    expect(page.locator("#form-yaml")).to_have_value(re.compile(r"interval: 20"))


def test_the_form_follows_the_yaml_and_leaves_its_text_alone(open_page: Callable[..., Page]) -> None:
    page = open_page(FORM)
    ready(page)
    written = """# my own words
name: written
cluster: {nodes: {count: 5, cpu: 8, memory: 32Gi}}
workload: {models: [vae], jobs: 4, submissions: {poisson: {mean_gap: 12}}}
arms: [{name: default, scheduler: {name: procon}, migration: {name: none}}]
seeds: [4, 5]
"""
    page.locator("#form-yaml").fill(written)
    expect(field(page, "name")).to_have_value("written")
    expect(field(page, "node_count")).to_have_value("5")
    expect(field(page, "submission_value")).to_have_value("12")
    expect(field(page, "seeds")).to_have_value("4, 5")
    expect(page.locator("#policy-migration")).to_be_hidden()
    ready(page)
    expect(page.locator("#form-review")).to_contain_text("2 runs of 4 jobs on 5 nodes.")
    expect(page.locator("#form-yaml")).to_have_value(written)


def test_broken_yaml_is_named_and_nothing_is_lost(open_page: Callable[..., Page]) -> None:
    page = open_page(FORM)
    ready(page)
    page.locator("#form-yaml").fill("name: [unclosed")
    expect(page.locator("#form-yaml")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#form-launch")).to_be_disabled()
    expect(field(page, "name")).to_have_value("my-experiment")


def test_a_double_click_launches_one_experiment(open_page: Callable[..., Page], stack: Stack) -> None:
    page = open_page(FORM)
    field(page, "name").fill("only-once")
    expect(page.locator("#form-yaml")).to_have_value(re.compile("only-once"))
    ready(page)
    page.locator("#form-launch").dblclick()
    page.wait_for_url(re.compile("/runs/only-once"))
    listed = stack.api("GET", "experiments?q=only-once")
    assert listed["total"] == 1
    assert sorted(run["arm"] for run in listed["items"][0]["runs"]) == ["default", "migrated"]


def test_a_failed_launch_keeps_the_form(open_page: Callable[..., Page]) -> None:
    page = open_page(FORM, tolerant=True)
    field(page, "name").fill("kept")
    expect(page.locator("#form-yaml")).to_have_value(re.compile("kept"))
    ready(page)
    page.route(
        re.compile(r"/api/v1/experiments$"),
        lambda route: route.fulfill(status=503, json={"error": {"message": "The store is full.", "errors": []}}),
    )
    page.locator("#form-launch").click()
    expect(page.locator("#form-failure")).to_contain_text("The store is full.")
    expect(field(page, "name")).to_have_value("kept")
    expect(page.locator("#form-launch")).to_be_enabled()


def test_a_run_is_cloned_into_the_form(open_page: Callable[..., Page], pair: list[str]) -> None:
    page = open_page(f"/runs/{pair[0]}")
    page.get_by_role("link", name="Clone").click()
    ready(page)
    expect(field(page, "name")).to_have_value("pair")
    expect(field(page, "submission_value")).to_have_value("25, 43, 50, 65, 86, 142, 192")
    expect(field(page, "seeds")).to_have_value("1, 2, 3")


def test_another_policy_brings_its_own_parameters(open_page: Callable[..., Page]) -> None:
    page = open_page(FORM)
    ready(page)
    field(page, "migration").click()
    page.get_by_role("option", name="least-loaded").click()
    expect(page.locator('input[id*=\'"name":"alpha"\']')).to_have_count(0)
    ready(page)
    expect(page.locator("#form-yaml")).to_have_value(re.compile("name: least-loaded"))
