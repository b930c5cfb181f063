"""Metrics for Prometheus: promtool has nothing to say against them, and they count what happened."""

import json
import re
import subprocess
import time

import pytest
import yaml

pytest.register_assert_rewrite("hooks", "seeing")

from client import ok  # noqa: E402
from deployment import ROOT  # noqa: E402
from hooks import admin, make_there, receiver, subscribe, there, until  # noqa: E402, F401 (fixtures among them)
from seeing import CONF as SEEING  # noqa: E402
from seeing import Seeing  # noqa: E402
from waiting import LIMIT, eventually  # noqa: E402

CONF = SEEING


@pytest.fixture
def seeing(there):
    return Seeing(there)


@pytest.fixture
def busy(admin, receiver):
    """Something of everything has happened."""
    subscription = subscribe(admin, receiver.url, "broker.created")
    broker = admin.broker()
    ok(admin.get(f"brokers/{broker['id']}"))
    admin.get("nothing")
    admin.patch(f"brokers/{broker['id']}", json={"name": 1})
    until(admin, subscription, "success")


@pytest.mark.plain
def test_promtool_finds_nothing_wrong(busy, seeing):
    eventually(lambda: "neoapi_webhook_deliveries_total{outcome=\"success\"} 0" not in seeing.metrics(), "a delivery is counted")
    checked = subprocess.run(["promtool", "check", "metrics"], input=seeing.metrics(), text=True, capture_output=True, timeout=LIMIT)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")


def expressions():
    """What the dashboard asks Prometheus for, its variables filled in."""
    dashboard = json.loads((ROOT / "conf/grafana-dashboard.json").read_text())
    found = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    assert len(found) > 20
    return [one.replace("$__rate_interval", "5m").replace("$job", ".*").replace("$instance", ".*") for one in found]


def test_the_dashboard_asks_for_metrics_that_there_are(busy, seeing):
    told = set(re.findall(r"^# TYPE (\w+)", seeing.metrics(), re.M))
    asked = {re.sub("_bucket$", "", name) for one in expressions() for name in re.findall(r"neoapi_\w+", one)}
    assert asked <= told


@pytest.mark.plain
def test_what_the_dashboard_asks_is_promql(tmp_path):
    rules = [{"record": f"neoapi:panel_{number}", "expr": one} for number, one in enumerate(expressions())]
    (tmp_path / "rules.yml").write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    checked = subprocess.run(["promtool", "check", "rules", tmp_path / "rules.yml"], text=True, capture_output=True, timeout=LIMIT)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_counters_count_what_happened(admin, seeing):
    name = 'neoapi_http_requests_total{method="GET",route="/me",code="200"}'
    duration = 'neoapi_http_request_duration_seconds_count{method="GET",route="/me",status="2xx"}'
    before = seeing.samples()
    for _ in range(5):
        ok(admin.get("me"))
    eventually(lambda: seeing.samples().get(name, 0) - before.get(name, 0) == 5, "five requests")
    now = seeing.samples()
    assert now[duration] == now[name] == before.get(name, 0) + 5
    assert 0 < now[duration.replace("count", "sum")] < 5 * LIMIT


def test_histograms_are_cumulative_and_end_in_their_count(busy, seeing):
    samples = seeing.samples()
    series = {}
    for name, value in samples.items():
        found = re.fullmatch(r'(\w+)_bucket\{(.*)le="([^"]+)"\}', name)
        if found:
            series.setdefault((found[1], found[2].rstrip(",")), []).append((float(found[3]), value))
    assert len(series) > 4
    for (name, labels), buckets in series.items():
        assert buckets == sorted(buckets) and [v for _, v in buckets] == sorted(v for _, v in buckets), name
        assert buckets[-1] == (float("inf"), samples[f"{name}_count{{{labels}}}" if labels else f"{name}_count"])


def test_no_counter_ever_falls(there, busy, seeing):
    before = {name: value for name, value in seeing.samples().items() if re.match(r"\w+_(total|count|bucket)\b", name)}
    there.command("graceful")
    now = seeing.samples()
    assert before and all(now[name] >= value for name, value in before.items())


def test_gauges_tell_what_is_now(there, seeing):
    def is_calm(now):
        return now["neoapi_database_connections_in_use"] >= 2 and now["neoapi_processes"] == 2
    samples = eventually(lambda: is_calm(now := seeing.samples()) and now, "two processes, and two that listen")
    assert samples["neoapi_database_connections_max"] == 2 * 27
    assert samples["neoapi_webhook_in_flight_max"] == 2 * 256
    assert samples["neoapi_webhook_queue_up"] == 1
    assert 0 < time.time() - samples["neoapi_start_time_seconds"] < 3600
    eventually(lambda: time.time() - seeing.samples()["neoapi_cleanup_last_run_timestamp_seconds"] < 120, "the janitor was through")


def test_however_often_they_are_asked_for_the_database_is_asked_once_a_second(seeing):
    """Beside the couriers, who look for work every 1.25 seconds, and what they do with it."""
    used = "neoapi_database_use_seconds_count"
    before, began = seeing.samples()[used], time.monotonic()
    for _ in range(100):
        seeing.metrics()
    seconds = time.monotonic() - began
    assert seeing.samples()[used] - before <= 12 + 6 * seconds
