# SPDX-License-Identifier: Apache-2.0
"""The status page and its text format: counts are correct over all processes, also after a process has ended."""

import os
import re
import signal
from concurrent.futures import ThreadPoolExecutor

import psycopg2
import pytest

import receiver as behaviours
from client import Api, ok
from webhook_fixtures import (admin, deliveries, module_admin_factory,  # noqa: F401 (fixtures among them)
                              module_instance, receiver, subscribe, until)
from httpd import Httpd
from admin_pages import CONF as ADMIN_PAGES_CONF
from admin_pages import LOCATIONS, AdminPages
from wait import TIMEOUT_S, eventually

CONF = ADMIN_PAGES_CONF + """
<Location "/whatsapp/callback">
    SetHandler neoapi-whatsapp
</Location>
NeoAPIWebhookTimeout 2
NeoAPIWebhookRetryDelays 0
LogFormat "%U%q %{NEOAPI_DB_TIME}e" times
CustomLog "${INSTANCE}/log/times.log" times
"""


@pytest.fixture
def admin_pages(module_instance):
    return AdminPages(module_instance)


@pytest.fixture
def wait_for_increase(admin_pages):
    """wait_for_increase(key, by): waits until a counter has increased by this number since the test began."""
    before = admin_pages.counters()

    def wait(key, by):
        eventually(lambda: admin_pages.counters().get(key, 0) - before.get(key, 0) >= by, f"{key} grows by {by}")
        assert admin_pages.counters()[key] - before.get(key, 0) == by
    return wait


# ---------------------------------------------------------------- requests

def test_requests_are_counted_by_route_and_status(admin, admin_pages):
    names = ("POST /brokers", "GET /brokers/{id}", "PATCH /brokers/{id}", "- -")
    before = {name: admin_pages.route(name) for name in names}
    broker = admin.broker()
    path = f"brokers/{broker['id']}"
    for _ in range(3):
        ok(admin.get(path))
    admin.get(path, headers={"If-None-Match": admin.get(path).headers["ETag"]})
    admin.head(path)
    assert admin.get("brokers/brk_" + "0" * 26).status_code == 404
    assert admin.patch(path, json={"name": ""}).status_code == 400
    assert admin.get("nothing/here").status_code == 404
    wanted = [{201: 1}, {200: 5, 304: 1, 404: 1}, {400: 1}, {404: 1}]

    def counted():
        now = {name: admin_pages.route(name) for name in names}
        return [{status: count - before[name].get(status, 0) for status, count in now[name].items()
                 if count != before[name].get(status, 0)} for name in names]
    eventually(lambda: counted() == wanted, f"{wanted}")


def test_all_processes_share_the_counters(admin, wait_for_increase):
    clients = [admin.with_() for _ in range(8)]
    with ThreadPoolExecutor(len(clients)) as pool:
        for done in [pool.submit(lambda api=api: [ok(api.get("me")) for _ in range(50)]) for api in clients]:
            done.result()
    wait_for_increase("Requests", 400)
    wait_for_increase("Requests2xx", 400)


def test_counts_survive_a_graceful_restart_and_a_killed_child(module_instance, admin, admin_pages, wait_for_increase):
    since = admin_pages.counters()["CountedSince"]
    ok(admin.get("me"))
    module_instance.command("graceful")
    ok(admin.with_().get("me"))
    wait_for_increase("Requests", 2)
    killed = module_instance.children()[0]
    os.kill(killed, signal.SIGKILL)

    def is_replaced():  # prefork changes the number of processes
        children = module_instance.children()
        return killed not in children and admin_pages.counters()["Processes"] == len(children)
    eventually(is_replaced, "another child takes its place")
    wait_for_increase("Requests", 2)
    assert admin_pages.counters()["CountedSince"] == since


def test_requests_that_httpd_refuses_are_counted(admin, wait_for_increase):
    assert admin.raw(b"GET /public/v1/brokers HTTP/1.1\r\nHost: localhost\r\nBroken\r\n\r\n").status_code == 400
    wait_for_increase("Requests4xx", 1)


def test_callbacks_are_counted_with_their_time_in_the_database(module_instance, admin, admin_pages, wait_for_increase):
    before = admin_pages.route("- neoapi-whatsapp")
    callback = admin.with_(url=admin.url.replace("/public/v1/", "/whatsapp/"))
    asked = callback.session.get(callback.url + "callback", timeout=TIMEOUT_S, params={
        "hub.mode": "subscribe", "hub.challenge": "1", "hub.verify_token": "nobodys"})
    assert asked.status_code == 403
    wait_for_increase("Requests4xx", 1)
    assert admin_pages.route("- neoapi-whatsapp").get(403, 0) == before.get(403, 0) + 1

    def times():
        return re.findall(r"^/whatsapp/callback (\S+)$", (module_instance.state / "log/times.log").read_text(), re.M)
    assert re.fullmatch(r"[1-9]\d*", eventually(times, "a line of the access log")[0])


def test_rate_limited_requests_are_counted(module_instance, module_admin_factory, wait_for_increase):
    tenant = module_admin_factory.tenant(module_admin_factory.plan(2, 3600))
    api = Api(module_instance, module_admin_factory.key(module_admin_factory.organization(tenant)))
    assert [api.get("me").status_code for _ in range(5)] == [200, 200, 429, 429, 429]
    wait_for_increase("RateLimited", 3)


def test_slow_requests_show_in_the_percentiles(module_instance, module_admin_factory, admin_pages):
    """For requests that wait a second for a lock, and for the connections that they use."""
    api = Api(module_instance, module_admin_factory.key())
    connection = psycopg2.connect(module_instance.admin_dsn)
    try:
        connection.cursor().execute("lock table neoapi.document in access exclusive mode")
        with ThreadPoolExecutor(20) as pool:
            waiting = [pool.submit(lambda: api.with_().get("documents")) for _ in range(20)]
            eventually(lambda: admin_pages.counters()["ConnectionsInUse"] >= 20, "the requests have connections")
            module_instance.sql("select pg_sleep(1.1)")
            connection.rollback()
            assert all(done.result().status_code == 200 for done in waiting)
    finally:
        connection.close()
    slow = eventually(lambda: re.search(r"200=20 p50=([\d.]+)", str(admin_pages.counters().get("Route GET /documents"))),
                      "all of them")
    assert 1000 <= float(slow[1]) <= 15000
    assert eventually(lambda: admin_pages.counters()["ConnectionsInUse"] <= 4, "they are given back")


def test_the_access_log_has_the_database_time(module_instance, admin):
    def times(query):
        lines = (module_instance.state / "log/times.log").read_text().splitlines()
        return [line.split()[-1] for line in lines if f"/public/v1/brokers?{query} " in line]
    ok(admin.get("brokers?limit=1"))
    eventually(lambda: times("limit=1") and re.fullmatch(r"[1-9]\d*", times("limit=1")[0]), "microseconds")
    Api(module_instance).get("brokers?limit=2")
    eventually(lambda: times("limit=2") == ["-"], "no time without a database query")


# ---------------------------------------------------------------- webhooks

def test_attempts_are_counted_by_result(admin, receiver, wait_for_increase):
    receiver.behave(behaviours.one_after_the_other(behaviours.status(200), behaviours.status(500), behaviours.hang))
    whole = [subscribe(admin, receiver.url + "the/path?token=secret", "broker.created")]
    for status in ("success", "failed", "failed"):
        admin.broker()
        until(admin, whole[0], status)
    wait_for_increase("WebhookAttempts success", 1)
    wait_for_increase("WebhookAttempts http_error", 1)
    wait_for_increase("WebhookAttempts timeout", 1)
    wait_for_increase("WebhooksDelivered", 1)
    wait_for_increase("WebhooksFailed", 2)


def test_the_slowest_receivers_are_shown_by_host_only(admin, admin_pages):
    with behaviours.Receiver(behaviours.slowly(0.5)) as slow, behaviours.Receiver() as quick:
        made = [subscribe(admin, one.url + "the/path?token=secret", "broker.created") for one in (slow, quick)]
        admin.broker()
        for one in made:
            until(admin, one, "success")
        hosts = [one.url.split("/")[2] for one in (slow, quick)]
        eventually(lambda: all(f"WebhookReceiver {host}" in admin_pages.counters() for host in hosts), "both are counted")
        found = admin_pages.counters()
        assert re.match(r"attempts=1 failures=0 mean=[5-9]\d\d\.", found[f"WebhookReceiver {hosts[0]}"])
        page = admin_pages.page().text
        assert page.index(hosts[0]) < page.index(hosts[1])
        assert "secret" not in page and "/the/path" not in page


def test_attempts_in_flight_are_shown(admin, receiver, admin_pages):
    receiver.behave(behaviours.slowly(1.5))
    subscription = subscribe(admin, receiver.url, "broker.created")
    admin.broker()
    admin.broker()
    eventually(lambda: admin_pages.counters()["WebhooksInFlight"] == 2, "two attempts in flight")
    eventually(lambda: {one["status"] for one in deliveries(admin, subscription)} == {"success"}, "both arrive")
    eventually(lambda: admin_pages.counters()["WebhooksInFlight"] == 0, "no attempt in flight")


@pytest.fixture
def queue(module_instance, admin):
    """queue(count, due): adds queue rows of a subscription that is excluded from claims, and removes them at the end."""
    subscription = subscribe(admin, "http://127.0.0.1:9/", "broker.created")

    def fill(count, due):
        module_instance.sql("insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at)"
                            " select 'whd_01jd3x' || lpad(n::text, 20, '0'), s.organization_id, s.id, now() + %s::interval"
                            " from neoapi.webhook_subscription s, generate_series(1, %s) n where s.id = %s", due, count,
                            subscription["id"])
        return subscription
    yield fill
    module_instance.sql("delete from neoapi.webhook_queue where subscription_id = %s", subscription["id"])
    module_instance.sql("analyze neoapi.webhook_queue")


def test_the_queue_length_and_the_oldest_delivery_are_shown(module_instance, queue, admin_pages):
    subscription = queue(7, "1 hour")
    found = eventually(lambda: (now := admin_pages.counters())["QueuePending"] == 7 and now, "seven that wait")
    assert found["QueueDue"] == found["QueueOverdueSeconds"] == found["QueuePendingIsEstimate"] == 0
    assert found["QueueOldestSeconds"] > 86400  # its id is of 2024
    module_instance.sql("update neoapi.webhook_subscription set is_active = false where id = %s", subscription["id"])
    module_instance.sql("update neoapi.webhook_queue set due_at = now() - interval '5 minutes'")
    for _ in range(2):  # deliveries of an inactive subscription are not overdue
        module_instance.sql("select pg_sleep(1.1)")
        assert admin_pages.counters()["QueueDue"] == 0
    assert admin_pages.counters()["QueuePending"] == 7


def test_the_length_of_a_long_queue_is_marked_as_an_estimate(module_instance, queue, admin_pages):
    queue(30000, "1 hour")
    module_instance.sql("analyze neoapi.webhook_queue")
    found = eventually(lambda: (now := admin_pages.counters())["QueuePendingIsEstimate"] == 1 and now, "an estimate")
    assert 25000 < found["QueuePending"] < 35000
    assert re.search(r"≈&nbsp;\d\d,\d{3}", admin_pages.page().text)


# ---------------------------------------------------------------- the page

def test_the_page_is_the_same_on_every_virtual_host(module_instance, admin, admin_pages):
    ok(admin.get("me"))
    inner, outer = admin_pages.page(), admin.session.get(admin.url.replace("public/v1/", "neoapi-status"))
    for response, name in ((inner, "inner.example.com"), (outer, "localhost")):
        assert response.status_code == 200 and response.headers["Content-Type"] == "text/html; charset=utf-8"
        assert response.headers["Cache-Control"] == "no-store"
        assert "default-src 'none'" in response.headers["Content-Security-Policy"]
        assert f"Status of {name}" in response.text and "GET</b> /me" in response.text
    other = admin.session.get(admin.url.replace("public/v1/", "neoapi-status"), headers={"Host": "other.example.com"})
    assert "Status of localhost" in other.text and "other.example.com" not in other.text


def test_the_page_shows_no_tenant_data(module_instance, admin, admin_pages):
    broker = admin.broker(name="Maria Segredo")
    page = admin_pages.page().text + admin_pages.page("?auto").text + admin_pages.metrics()
    for word in (broker["id"], "Segredo", admin.credential.id, *admin.credential.organizations, admin.credential.tenant):
        assert word not in page


@pytest.mark.parametrize("query, header", [("", None), ("?refresh=7", "7"), ("?refresh", "10"), ("?auto&refresh=3600", "3600"),
                                           ("?refresh=5&nobody=knows", "5")])
def test_the_page_refreshes_at_the_requested_interval(admin_pages, query, header):
    response = admin_pages.page(query)
    assert response.status_code == 200 and response.headers.get("Refresh") == header


@pytest.mark.parametrize("value", ["0", "-1", "3601", "soon", "", "1.5", "99999999999999999999"])
def test_a_refresh_that_is_no_number_is_refused(admin_pages, value):
    response = admin_pages.page(f"?refresh={value}")
    assert response.status_code == 400 and "refresh must be a number of seconds from 1 to 3600" in response.text


@pytest.mark.parametrize("path", ["neoapi-status", "neoapi-metrics", "neoapi-health"])
def test_only_get_and_head_are_allowed(admin_pages, path):
    response = admin_pages.get(path, "POST", data="x")
    assert response.status_code == 405 and "GET" in response.headers["Allow"]
    head = admin_pages.get(path, "HEAD")
    assert head.status_code == 200 and head.content == b""


def test_mod_status_has_a_section(admin, admin_pages):
    ok(admin.get("me"))
    page, lines = admin_pages.get("server-status").text, admin_pages.get("server-status?auto").text
    assert "Public Integration API (mod_neoapi" in page and "database connection waits" in page
    assert re.search(r"^NeoAPIRequests: [1-9]\d*$", lines, re.M) and "NeoAPIConnectionsInUse: " in lines


def test_without_the_database_the_page_shows_the_outage_and_the_rest(module_instance, admin, admin_pages):
    ok(admin.get("me"))
    module_instance.command("stop-db")
    try:
        eventually(lambda: "cannot be reached" in str(admin_pages.counters().get("QueueError")), "the trouble")
        page = admin_pages.page().text
        assert "cannot be reached" in page and "GET</b> /me" in page
        admin.get("brokers")
        eventually(lambda: admin_pages.counters()["ConnectionsFailed"] >= 1, "requests without a connection are counted")
    finally:
        module_instance.command("start-db")
    eventually(lambda: "QueuePending" in admin_pages.counters(), "the queue is seen again")


# ---------------------------------------------------------------- servers without the API

@pytest.fixture
def unused_httpd(instance, tmp_path):
    """An httpd that has loaded the module and does not use it."""
    one = Httpd(instance, tmp_path, ("NeoAPI On", "NeoAPI Off"),
                (r"DocumentRoot .*", LOCATIONS.replace("\\", "") + r"Listen 127.0.0.6:${PORT}"))
    one.start()
    yield one
    one.stop(signal.SIGWINCH)  # gracefully: at SIGTERM the event MPM may crash if a worker closes its socket at the same time


def test_the_pages_report_that_the_api_is_not_enabled(unused_httpd):
    pages = AdminPages(unused_httpd, "127.0.0.6")
    for path in ("neoapi-status", "neoapi-status?auto", "neoapi-metrics", "neoapi-health"):
        response = pages.get(path)
        assert response.status_code == 503 and "NeoAPI On" in response.text, path
    assert pages.health("?live") == (200, "alive\n")
    assert "mod_neoapi" not in pages.get("server-status").text
    assert re.search(r"neoapi:notice.* NEO0116: the module is loaded", unused_httpd.log)
