"""Alerts and dashboard: of metrics that exist, that fire when they should, with a page each."""

import json
import re
import shutil
import subprocess
import urllib.request
from pathlib import Path

import pytest
import yaml
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

import spark_streaming.metrics
import workers.process.metrics
from tests.helm.chart import CHART, of_kind
from tests.helm.conftest import program
from workers.process.health import Health, serve

RULES = CHART / "files" / "alerts.yaml"
DASHBOARD = CHART / "files" / "dashboard.json"
CASES_OF_ALERTS = Path(__file__).with_name("alerts_test.yaml")
RUNBOOK = Path(__file__).parents[2] / "docs" / "runbook.md"

NAME = re.compile(r"\b(?:podium|process)_[a-z_]+")
SELECTOR = re.compile(r"(\b[a-z_]+)\{([^}]*)\}")
GROUPING = re.compile(r"\b(?:by|on) \(([^)]*)\)")
# What Prometheus adds, and what a histogram's buckets have.
ADDED = {"namespace", "pod", "le"}


def alerts() -> list[dict]:
    return yaml.safe_load(RULES.read_text())["groups"][0]["rules"]


def panels() -> list[dict]:
    return [panel for panel in json.loads(DASHBOARD.read_text())["panels"] if "targets" in panel]


def expressions() -> list[str]:
    of_panels = [target["expr"] for panel in panels() for target in panel["targets"]]
    return [rule["expr"] for rule in alerts()] + of_panels


@pytest.fixture(scope="module")
def live() -> dict[str, str]:
    """The type of every metric that a process with all of ours serves, by its name."""
    # Both modules have said what they count by being imported.
    assert workers.process.metrics.EVENTS
    assert spark_streaming.metrics.BASES
    port = serve(Health([]), "127.0.0.1", 0)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as reply:
        families = text_string_to_metric_families(reply.read().decode())
        return {
            f"{one.name}_total" if one.type == "counter" else one.name: one.type for one in families
        }


@pytest.fixture(scope="module")
def labels() -> dict[str, set[str]]:
    """Labels of every metric of ours."""
    found = {}
    for module in (workers.process.metrics, spark_streaming.metrics):
        for one in vars(module).values():
            # Those of prometheus_client, and our own histogram of events.
            names = getattr(one, "_labelnames", getattr(one, "_labels", None))
            if isinstance(names, tuple):
                found |= {name: set(names) for name in REGISTRY._collector_to_names[one]}
    assert len(found) > 50
    return found


def family(name: str, live: dict[str, str]) -> str:
    """The histogram that a series such as `…_seconds_bucket` is of, or the name itself."""
    of = re.sub(r"_(bucket|sum|count)$", "", name)
    return of if live.get(of) == "histogram" else name


def test_every_name_is_in_a_live_metrics_page(live):
    names = {name for text in expressions() for name in NAME.findall(text)}
    assert len(names) > 30
    assert {name for name in names if family(name, live) not in live} == set()


def test_a_name_that_does_not_exist_is_found(live):
    assert family("podium_no_such_total", live) not in live


def test_every_label_is_one_that_the_metric_has(labels):
    for text in expressions():
        names = [name for name in NAME.findall(text) if name in labels]
        known = set().union(ADDED, *(labels[name] for name in names))
        for name, inside in SELECTOR.findall(text):
            used = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", inside))
            own = labels.get(name, set()) | ADDED
            assert used <= own, text
        for group in GROUPING.findall(text):
            assert set(re.split(r",\s*", group)) <= known, text


def test_prometheus_reads_the_rules_and_they_fire_when_they_should(tmp_path):
    promtool = program("promtool")
    shutil.copy(RULES, tmp_path)
    shutil.copy(CASES_OF_ALERTS, tmp_path)
    for command in (
        ["check", "rules", "--lint=all", RULES.name],
        ["test", "rules", CASES_OF_ALERTS.name],
    ):
        run = subprocess.run(
            [promtool, *command], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert run.returncode == 0, run.stdout + run.stderr


def test_prometheus_reads_every_expression_of_the_dashboard(tmp_path):
    promtool = program("promtool")
    rules = [
        {"record": f"panel:{number}", "expr": text.replace("$__rate_interval", "1m")}
        for number, text in enumerate(expressions())
    ]
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    run = subprocess.run(
        [promtool, "check", "rules", "--lint=none", file],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr


def test_every_alert_has_its_page_and_every_page_its_alert():
    pages = re.findall(r"^## (\w+)$", RUNBOOK.read_text(), re.MULTILINE)
    assert [rule["alert"] for rule in alerts()] == pages
    for rule in alerts():
        assert rule["annotations"]["runbook_url"] == f"docs/runbook.md#{rule['alert'].lower()}"
        assert rule["labels"]["severity"] in ("critical", "warning")


def test_the_chart_brings_both(cases):
    (rules,) = of_kind(cases["monitored"], "PrometheusRule")
    told = rules["spec"]["groups"][0]["rules"]
    assert [rule["expr"] for rule in told] == [rule["expr"] for rule in alerts()]
    assert all(
        rule["annotations"]["runbook_url"].startswith("https://")
        and rule["annotations"]["runbook_url"].endswith(f"runbook.md#{rule['alert'].lower()}")
        for rule in told
    )
    (dashboard,) = (
        one
        for one in of_kind(cases["monitored"], "ConfigMap")
        if one["metadata"]["name"].endswith("-dashboard")
    )
    assert json.loads(dashboard["data"]["podium.json"]) == json.loads(DASHBOARD.read_text())
    monitors = of_kind(cases["monitored"], "PodMonitor", "ServiceMonitor")
    assert len(monitors) == 2


def test_panels_do_not_lie_on_each_other():
    taken = set()
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not cells & taken, panel["title"]
        assert at["x"] + at["w"] <= 24
        taken |= cells
