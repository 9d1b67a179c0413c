"""Settings to PromQL."""

import pytest
from pydantic import ValidationError

from backend.metrics.promql import QuerySettings, duration, queries, quoted, selector


def test_cpu_is_one_minus_idle_over_four_scrapes() -> None:
    idle = 'avg by (node) (rate(node_cpu_seconds_total{mode="idle"}[60s]))'
    assert queries(QuerySettings()).cpu == (
        f"1 - {idle} / (avg by (node) (sum without (mode) (rate(node_cpu_seconds_total[60s]))) "
        f'and on (node) (node_cpu_seconds_total{{mode!="idle"}})) or 1 - {idle}'
    )
    assert "[2s]" in queries(QuerySettings(scrape_interval_s=0.5)).cpu


def test_a_window_of_less_than_four_scrapes_is_refused() -> None:
    with pytest.raises(ValidationError, match="four scrape intervals"):
        QuerySettings(scrape_interval_s=15, window_s=59)
    assert "[90s]" in queries(QuerySettings(scrape_interval_s=15, window_s=90)).cpu


def test_the_name_can_come_from_node_uname_info() -> None:
    asked = queries(QuerySettings(mapping="uname", matchers={"job": "node"}), ["n.1"])
    join = (
        "* on (job, instance) group_left (nodename) max by (job, instance, nodename) "
        '(node_uname_info{job="node",nodename=~"n\\\\.1"})'
    )
    assert asked.cpu.endswith(
        f' or 1 - avg by (nodename) (rate(node_cpu_seconds_total{{job="node",mode="idle"}}[60s]) {join})'
    )
    assert asked.cpu.count(join) == 4
    assert asked.memory is not None and "group_left" in asked.memory


def test_cadvisor_gives_a_ratio_of_the_machine() -> None:
    asked = queries(QuerySettings(variant="cadvisor", node_label="kubernetes_node"))
    assert asked.cpu == (
        'max by (kubernetes_node) (rate(container_cpu_usage_seconds_total{id="/"}[60s]))'
        " / max by (kubernetes_node) (machine_cpu_cores)"
    )
    assert "working_set" in str(asked.memory)


def test_an_own_query_is_a_template_that_keeps_its_braces() -> None:
    settings = QuerySettings(
        variant="own",
        unit="cores",
        node_label="host",
        cpu_query='sum by ({node_label}) (rate(busy{mode!="idle",x="{other}"}[{window}]))',
    )
    assert queries(settings).cpu == 'sum by (host) (rate(busy{mode!="idle",x="{other}"}[60s]))'
    assert queries(settings).memory is None
    with pytest.raises(ValidationError, match="needs cpu_query"):
        QuerySettings(variant="own")
    with pytest.raises(ValidationError, match="needs cpu_query"):
        QuerySettings(unit="cores")


@pytest.mark.parametrize("label", ["", "0a", 'a"', "a-b", "a){"])
def test_what_is_no_label_is_refused(label: str) -> None:
    with pytest.raises(ValidationError):
        QuerySettings(node_label=label)
    with pytest.raises(ValidationError):
        QuerySettings(matchers={label: "x"})


def test_values_are_quoted() -> None:
    assert quoted('a"b\\c\nd\x00\ud800é') == '"a\\"b\\\\c\\x0ad\\x00\ufffdé"'
    assert selector("m", {"job": 'x"} or vector(1)'}) == 'm{job="x\\"} or vector(1)"}'
    assert selector("m", {}, "node", ["a.b|c"]) == 'm{node=~"a\\\\.b\\\\|c"}'
    assert selector("m", {}) == "m"
    assert selector("m", {}, "node", [f"n{k}" for k in range(101)]) == "m"


def test_an_instance_loses_its_port_and_may_have_another_name() -> None:
    settings = QuerySettings(node_label="instance", names={"10.0.0.1": "a", "10.0.0.2:9100": "b"})
    assert [settings.node(one) for one in ("10.0.0.1:9100", "10.0.0.2:9100", "c:9100", "[::1]:9100")] == [
        "a",
        "b",
        "c",
        "[::1]",
    ]
    assert QuerySettings().node("a:1") == "a:1"


def test_durations_are_exact() -> None:
    assert [duration(one) for one in (60, 0.25, 1.5, 0.0001)] == ["60s", "250ms", "1500ms", "1ms"]
