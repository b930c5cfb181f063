# SPDX-License-Identifier: Apache-2.0
"""Prometheus metrics, the dashboard and the alert rules: promtool accepts them, and counters are correct."""

import json
import re
import subprocess
import time

import pytest
import yaml

from client import ok
from deployment import ROOT
from webhook_fixtures import (admin, module_admin_factory, module_instance, receiver,  # noqa: F401 (fixtures among them)
                              subscribe, until)
from admin_pages import CONF as SEEING
from admin_pages import AdminPages
from wait import TIMEOUT_S, eventually

CONF = SEEING


@pytest.fixture
def admin_pages(module_instance):
    return AdminPages(module_instance)


@pytest.fixture
def with_traffic(admin, receiver):
    """Causes every kind of counted event."""
    subscription = subscribe(admin, receiver.url, "broker.created")
    broker = admin.broker()
    ok(admin.get(f"brokers/{broker['id']}"))
    admin.get("nothing")
    admin.patch(f"brokers/{broker['id']}", json={"name": 1})
    until(admin, subscription, "success")


@pytest.mark.unsanitized
def test_promtool_accepts_the_metrics(with_traffic, admin_pages):
    eventually(lambda: "neoapi_webhook_deliveries_total{outcome=\"success\"} 0" not in admin_pages.metrics(),
               "a delivery is counted")
    checked = subprocess.run(["promtool", "check", "metrics"], input=admin_pages.metrics(), text=True, capture_output=True,
                             timeout=TIMEOUT_S)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")


def expressions():
    """The dashboard's queries with its variables filled in."""
    dashboard = json.loads((ROOT / "conf/grafana-dashboard.json").read_text())
    found = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    assert len(found) > 20
    return [one.replace("$__rate_interval", "5m").replace("$job", ".*").replace("$instance", ".*") for one in found]


def test_the_dashboard_uses_existing_metrics(with_traffic, admin_pages):
    exposed = set(re.findall(r"^# TYPE (\w+)", admin_pages.metrics(), re.M))
    asked = {re.sub("_bucket$", "", name) for one in expressions() for name in re.findall(r"neoapi_\w+", one)}
    assert asked <= exposed


@pytest.mark.unsanitized
def test_the_dashboard_queries_are_promql(tmp_path):
    rules = [{"record": f"neoapi:panel_{number}", "expr": one} for number, one in enumerate(expressions())]
    (tmp_path / "rules.yml").write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    checked = subprocess.run(["promtool", "check", "rules", tmp_path / "rules.yml"], text=True, capture_output=True,
                             timeout=TIMEOUT_S)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_counters_count_what_happened(admin, admin_pages):
    name = 'neoapi_http_requests_total{method="GET",route="/me",code="200"}'
    duration = 'neoapi_http_request_duration_seconds_count{method="GET",route="/me",code="2xx"}'
    before = admin_pages.samples()
    for _ in range(5):
        ok(admin.get("me"))
    eventually(lambda: admin_pages.samples().get(name, 0) - before.get(name, 0) == 5, "five requests")
    now = admin_pages.samples()
    assert now[duration] == now[name] == before.get(name, 0) + 5
    assert 0 < now[duration.replace("count", "sum")] < 5 * TIMEOUT_S


def test_histograms_are_cumulative_and_end_in_their_count(with_traffic, admin_pages):
    samples = admin_pages.samples()
    series = {}
    for name, value in samples.items():
        found = re.fullmatch(r'(\w+)_bucket\{(.*)le="([^"]+)"\}', name)
        if found:
            series.setdefault((found[1], found[2].rstrip(",")), []).append((float(found[3]), value))
    assert len(series) > 4
    for (name, labels), buckets in series.items():
        assert buckets == sorted(buckets) and [v for _, v in buckets] == sorted(v for _, v in buckets), name
        assert buckets[-1] == (float("inf"), samples[f"{name}_count{{{labels}}}" if labels else f"{name}_count"])


def test_counters_never_decrease(module_instance, with_traffic, admin_pages):
    before = {name: value for name, value in admin_pages.samples().items() if re.match(r"\w+_(total|count|bucket)\b", name)}
    module_instance.command("graceful")
    now = admin_pages.samples()
    assert before and all(now[name] >= value for name, value in before.items())


def test_gauges_show_the_current_state(module_instance, admin_pages):
    def is_idle(now):
        return now["neoapi_database_connections_listening"] == 2 and now["neoapi_processes"] == 2
    samples = eventually(lambda: is_idle(now := admin_pages.samples()) and now, "two processes, and two that listen")
    assert samples["neoapi_database_connections_max"] == 2 * 27
    assert samples["neoapi_webhook_in_flight_max"] == 2 * 256
    assert samples["neoapi_webhook_queue_up"] == 1
    assert 0 < time.time() - samples["neoapi_start_time_seconds"] < 3600
    eventually(lambda: time.time() - admin_pages.samples().get('neoapi_job_last_success_timestamp_seconds{name="cleanup"}', 0) < 120,
               "the cleanup has run")


def test_frequent_scrapes_query_the_database_once_a_second(admin_pages):
    """Apart from the queries of the couriers, which poll every 1.25 seconds."""
    used = "neoapi_database_use_seconds_count"
    before, began = admin_pages.samples()[used], time.monotonic()
    for _ in range(100):
        admin_pages.metrics()
    seconds = time.monotonic() - began
    assert admin_pages.samples()[used] - before <= 12 + 6 * seconds


@pytest.mark.unsanitized
def test_the_alert_rules_fire_for_their_faults_only(tmp_path):
    tests = tmp_path / "alerts.yml"
    tests.write_text((ROOT / "tests/e2e/alerts.yml").read_text().replace("RULES", str(ROOT / "conf/prometheus-alerts.yml")))
    checked = subprocess.run(["promtool", "test", "rules", tests], text=True, capture_output=True, timeout=TIMEOUT_S)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_alert_rules_use_existing_metrics(admin_pages):
    exposed = set(re.findall(r"^# TYPE (\w+)", admin_pages.metrics(), re.M))
    assert set(re.findall(r"neoapi_\w+", (ROOT / "conf/prometheus-alerts.yml").read_text())) <= exposed
