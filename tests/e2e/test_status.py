"""The status page and its text: what is counted is what happened, in all processes, whatever becomes of them."""

import os
import re
import signal
from concurrent.futures import ThreadPoolExecutor

import psycopg2
import pytest

pytest.register_assert_rewrite("hooks", "seeing")

import receiver as behaviours  # noqa: E402
from client import Api, ok  # noqa: E402
from hooks import admin, deliveries, make_there, receiver, subscribe, there, until  # noqa: E402, F401 (fixtures among them)
from httpd import Httpd  # noqa: E402
from seeing import CONF as SEEING  # noqa: E402
from seeing import PLACES, Seeing  # noqa: E402
from waiting import LIMIT, eventually  # noqa: E402

CONF = SEEING + """
<Location "/whatsapp/callback">
    SetHandler neoapi-whatsapp
</Location>
NeoAPIWebhookTimeout 2
NeoAPIWebhookRetryDelays 0
LogFormat "%U%q %{NEOAPI_DB_TIME}e" times
CustomLog "${INSTANCE}/log/times.log" times
"""


@pytest.fixture
def seeing(there):
    return Seeing(there)


@pytest.fixture
def grown(seeing):
    """grown(key, by): waits until that line of the text is so much more than at the beginning of the test; not a bit more."""
    before = seeing.figures()

    def wait(key, by):
        eventually(lambda: seeing.figures().get(key, 0) - before.get(key, 0) >= by, f"{key} grows by {by}")
        assert seeing.figures()[key] - before.get(key, 0) == by
    return wait


# ---------------------------------------------------------------- requests

def test_requests_are_counted_by_route_and_status(admin, seeing):
    names = ("POST /brokers", "GET /brokers/{id}", "PATCH /brokers/{id}", "- -")
    before = {name: seeing.route(name) for name in names}
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
        now = {name: seeing.route(name) for name in names}
        return [{status: count - before[name].get(status, 0) for status, count in now[name].items()
                 if count != before[name].get(status, 0)} for name in names]
    eventually(lambda: counted() == wanted, f"{wanted}")


def test_nothing_is_lost_between_processes(admin, grown):
    clients = [admin.with_() for _ in range(8)]
    with ThreadPoolExecutor(len(clients)) as pool:
        for done in [pool.submit(lambda api=api: [ok(api.get("me")) for _ in range(50)]) for api in clients]:
            done.result()
    grown("Requests", 400)
    grown("Requests2xx", 400)


def test_what_was_counted_outlives_a_graceful_restart_and_a_killed_child(there, admin, seeing, grown):
    since = seeing.figures()["CountedSince"]
    ok(admin.get("me"))
    there.command("graceful")
    ok(admin.with_().get("me"))
    grown("Requests", 2)
    os.kill(there.children()[0], signal.SIGKILL)
    eventually(lambda: seeing.figures()["Processes"] == 2, "another child takes its place")
    grown("Requests", 2)
    assert seeing.figures()["CountedSince"] == since


def test_what_httpd_refuses_by_itself_is_counted_as_well(admin, grown):
    assert admin.raw(b"GET /public/v1/brokers HTTP/1.1\r\nHost: localhost\r\nBroken\r\n\r\n").status_code == 400
    grown("Requests4xx", 1)


def test_callbacks_are_counted_with_their_time_in_the_database(there, admin, seeing, grown):
    before = seeing.route("- neoapi-whatsapp")
    callback = admin.with_(url=admin.url.replace("/public/v1/", "/whatsapp/"))
    asked = callback.session.get(callback.url + "callback", timeout=LIMIT, params={
        "hub.mode": "subscribe", "hub.challenge": "1", "hub.verify_token": "nobodys"})
    assert asked.status_code == 403
    grown("Requests4xx", 1)
    assert seeing.route("- neoapi-whatsapp").get(403, 0) == before.get(403, 0) + 1

    def times():
        return re.findall(r"^/whatsapp/callback (\S+)$", (there.state / "log/times.log").read_text(), re.M)
    assert re.fullmatch(r"[1-9]\d*", eventually(times, "a line of the access log")[0])


def test_rate_limited_requests_are_counted(there, make_there, grown):
    api = Api(there, make_there.key(make_there.organization(make_there.tenant(make_there.plan(2, 3600)))))
    assert [api.get("me").status_code for _ in range(5)] == [200, 200, 429, 429, 429]
    grown("RateLimited", 3)


def test_what_is_slow_is_seen_in_the_percentiles(there, make_there, seeing):
    """Of requests that wait a second for a lock, and of the connections that they have meanwhile."""
    api = Api(there, make_there.key())
    connection = psycopg2.connect(there.admin_dsn)
    try:
        connection.cursor().execute("lock table neoapi.document in access exclusive mode")
        with ThreadPoolExecutor(20) as pool:
            waiting = [pool.submit(lambda: api.with_().get("documents")) for _ in range(20)]
            eventually(lambda: seeing.figures()["ConnectionsInUse"] >= 20, "the requests have connections")
            there.sql("select pg_sleep(1.1)")
            connection.rollback()
            assert all(done.result().status_code == 200 for done in waiting)
    finally:
        connection.close()
    slow = eventually(lambda: re.search(r"200=20 p50=([\d.]+)", str(seeing.figures().get("Route GET /documents"))), "all of them")
    assert 1000 <= float(slow[1]) <= 15000
    assert eventually(lambda: seeing.figures()["ConnectionsInUse"] <= 4, "they are given back")


def test_the_access_log_is_told_how_long_the_database_took(there, admin):
    def times(query):
        lines = (there.state / "log/times.log").read_text().splitlines()
        return [line.split()[-1] for line in lines if f"/public/v1/brokers?{query} " in line]
    ok(admin.get("brokers?limit=1"))
    eventually(lambda: times("limit=1") and re.fullmatch(r"[1-9]\d*", times("limit=1")[0]), "microseconds")
    Api(there).get("brokers?limit=2")
    eventually(lambda: times("limit=2") == ["-"], "no time, where the database was not asked")


# ---------------------------------------------------------------- webhooks

def test_attempts_are_counted_by_how_they_end(admin, receiver, grown):
    receiver.behave(behaviours.one_after_the_other(behaviours.status(200), behaviours.status(500), behaviours.hang))
    whole = [subscribe(admin, receiver.url + "the/path?token=secret", "broker.created")]
    for status in ("success", "failed", "failed"):
        admin.broker()
        until(admin, whole[0], status)
    grown("WebhookAttempts success", 1)
    grown("WebhookAttempts http_error", 1)
    grown("WebhookAttempts timeout", 1)
    grown("WebhooksDelivered", 1)
    grown("WebhooksFailed", 2)


def test_the_slowest_receivers_are_named_by_their_hosts_alone(admin, seeing):
    with behaviours.Receiver(behaviours.slowly(0.5)) as slow, behaviours.Receiver() as quick:
        made = [subscribe(admin, one.url + "the/path?token=secret", "broker.created") for one in (slow, quick)]
        admin.broker()
        for one in made:
            until(admin, one, "success")
        hosts = [one.url.split("/")[2] for one in (slow, quick)]
        eventually(lambda: all(f"WebhookReceiver {host}" in seeing.figures() for host in hosts), "both are counted")
        found = seeing.figures()
        assert re.match(r"attempts=1 failures=0 mean=[5-9]\d\d\.", found[f"WebhookReceiver {hosts[0]}"])
        page = seeing.page().text
        assert page.index(hosts[0]) < page.index(hosts[1])
        assert "secret" not in page and "/the/path" not in page


def test_what_is_in_flight_is_seen(admin, receiver, seeing):
    receiver.behave(behaviours.slowly(1.5))
    subscription = subscribe(admin, receiver.url, "broker.created")
    admin.broker()
    admin.broker()
    eventually(lambda: seeing.figures()["WebhooksInFlight"] == 2, "two attempts under way")
    eventually(lambda: {one["status"] for one in deliveries(admin, subscription)} == {"success"}, "both arrive")
    eventually(lambda: seeing.figures()["WebhooksInFlight"] == 0, "none is under way")


@pytest.fixture
def queue(there, admin):
    """queue(count, due): puts rows into the queue of a subscription that claims get nothing of; they are removed at the end."""
    subscription = subscribe(admin, "http://127.0.0.1:9/", "broker.created")

    def fill(count, due):
        there.sql("insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at)"
                  " select 'whd_01jd3x' || lpad(n::text, 20, '0'), s.organization_id, s.id, now() + %s::interval"
                  " from neoapi.webhook_subscription s, generate_series(1, %s) n where s.id = %s", due, count, subscription["id"])
        return subscription
    yield fill
    there.sql("delete from neoapi.webhook_queue where subscription_id = %s", subscription["id"])
    there.sql("analyze neoapi.webhook_queue")


def test_the_queue_is_seen_with_what_waits_longest(there, queue, seeing):
    subscription = queue(7, "1 hour")
    found = eventually(lambda: (now := seeing.figures())["QueuePending"] == 7 and now, "seven that wait")
    assert found["QueueDue"] == found["QueueOverdueSeconds"] == found["QueuePendingIsEstimate"] == 0
    assert found["QueueOldestSeconds"] > 86400  # by its id, which is of 2024
    there.sql("update neoapi.webhook_subscription set is_active = false where id = %s", subscription["id"])
    there.sql("update neoapi.webhook_queue set due_at = now() - interval '5 minutes'")
    for _ in range(2):  # deliveries of a subscription that is inactive wait, and are not late
        there.sql("select pg_sleep(1.1)")
        assert seeing.figures()["QueueDue"] == 0
    assert seeing.figures()["QueuePending"] == 7


def test_a_long_queue_is_estimated_and_said_to_be(there, queue, seeing):
    queue(30000, "1 hour")
    there.sql("analyze neoapi.webhook_queue")
    found = eventually(lambda: (now := seeing.figures())["QueuePendingIsEstimate"] == 1 and now, "an estimate")
    assert 25000 < found["QueuePending"] < 35000
    assert re.search(r"≈&nbsp;\d\d,\d{3}", seeing.page().text)


# ---------------------------------------------------------------- the page itself

def test_the_page_is_the_same_from_wherever_it_is_asked(there, admin, seeing):
    ok(admin.get("me"))
    inner, outer = seeing.page(), admin.session.get(admin.url.replace("public/v1/", "neoapi-status"))
    for response, name in ((inner, "127.0.0.5"), (outer, "localhost")):
        assert response.status_code == 200 and response.headers["Content-Type"] == "text/html; charset=utf-8"
        assert response.headers["Cache-Control"] == "no-store"
        assert "default-src 'none'" in response.headers["Content-Security-Policy"]
        assert f"Status of {name}" in response.text and "GET</b> /me" in response.text


def test_the_page_says_nothing_of_tenants(there, admin, seeing):
    broker = admin.broker(name="Maria Segredo")
    page = seeing.page().text + seeing.page("?auto").text + seeing.metrics()
    for word in (broker["id"], "Segredo", admin.credential.id, *admin.credential.organizations, admin.credential.tenant):
        assert word not in page


@pytest.mark.parametrize("query, header", [("", None), ("?refresh=7", "7"), ("?refresh", "10"), ("?auto&refresh=3600", "3600"),
                                           ("?refresh=5&nobody=knows", "5")])
def test_it_comes_again_as_often_as_it_is_asked_to(seeing, query, header):
    response = seeing.page(query)
    assert response.status_code == 200 and response.headers.get("Refresh") == header


@pytest.mark.parametrize("value", ["0", "-1", "3601", "soon", "", "1.5", "99999999999999999999"])
def test_a_refresh_that_is_no_number_is_refused(seeing, value):
    response = seeing.page(f"?refresh={value}")
    assert response.status_code == 400 and "refresh must be a number of seconds from 1 to 3600" in response.text


@pytest.mark.parametrize("path", ["neoapi-status", "neoapi-metrics", "neoapi-health"])
def test_it_is_only_read(seeing, path):
    response = seeing.get(path, "POST", data="x")
    assert response.status_code == 405 and "GET" in response.headers["Allow"]
    head = seeing.get(path, "HEAD")
    assert head.status_code == 200 and head.content == b""


def test_mod_status_has_a_section_of_it(admin, seeing):
    ok(admin.get("me"))
    page, lines = seeing.get("server-status").text, seeing.get("server-status?auto").text
    assert "Public Integration API (mod_neoapi" in page and "waits for a connection" in page
    assert re.search(r"^NeoAPIRequests: [1-9]\d*$", lines, re.M) and "NeoAPIConnectionsInUse: " in lines


def test_without_the_database_the_page_says_so_and_shows_the_rest(there, admin, seeing):
    ok(admin.get("me"))
    there.command("stop-db")
    try:
        eventually(lambda: "cannot be reached" in str(seeing.figures().get("QueueTrouble")), "the trouble")
        page = seeing.page().text
        assert "cannot be reached" in page and "GET</b> /me" in page
        admin.get("brokers")
        eventually(lambda: seeing.figures()["ConnectionsFailed"] >= 1, "what found no connection is counted")
    finally:
        there.command("start-db")
    eventually(lambda: "QueuePending" in seeing.figures(), "the queue is seen again")


# ---------------------------------------------------------------- where the API is not

@pytest.fixture
def unused(instance, tmp_path):
    """An Apache that has loaded the module and uses it nowhere."""
    one = Httpd(instance, tmp_path, ("NeoAPI On", "NeoAPI Off"), (r"DocumentRoot .*", PLACES.replace("\\", "") + r"Listen 127.0.0.6:${PORT}"))
    one.start()
    yield one
    one.stop()


def test_where_the_api_is_nowhere_they_say_so(unused):
    seeing = Seeing(unused, "127.0.0.6")
    for path in ("neoapi-status", "neoapi-status?auto", "neoapi-metrics", "neoapi-health"):
        response = seeing.get(path)
        assert response.status_code == 503 and "NeoAPI On" in response.text, path
    assert seeing.health("?live") == (200, "alive\n")
    assert "mod_neoapi" not in seeing.get("server-status").text
    assert re.search(r"neoapi:notice.* NEO0116: the module is loaded", unused.log)
