# SPDX-License-Identifier: Apache-2.0
"""Deliveries: the schedule of attempts, their recorded results, and limits on receivers."""

import re
import statistics
import subprocess
import threading
import time

import pytest

import receiver as behaviours
from client import Api, moment, ok
from webhook_fixtures import (DELAYS, FAST, TIMEOUT, admin, attempted, deliveries, detail, module_admin_factory,
                              add_pending_deliveries, queued,
                              receiver, row_of, subscribe, module_instance, until)
from receiver import Receiver, ClosedPort, one_after_the_other, status
from wait import eventually

CONF = FAST
TOLERANCE_S = 0.9  # of attempts on a busy machine, beyond a tenth of the delay
RECORD = ["id", "subscription_id", "event_id", "event_type", "resource_id", "status", "http_status", "attempt_count", "created_at",
          "completed_at"]


def gaps(arrivals):
    return [later.at - earlier.at for earlier, later in zip(arrivals, arrivals[1:])]


def check_gaps(found, delays):
    """Checks that attempts are not early, and late by at most a tenth and TOLERANCE_S."""
    assert len(found) == len(delays), found
    for gap, delay in zip(found, delays):
        assert delay - 0.01 <= gap <= delay * 1.1 + TOLERANCE_S, (found, delays)


def one_delivery(api, url):
    """A subscription with the delivery of one broker's creation."""
    subscription = subscribe(api, url)
    api.broker()
    return subscription


# ---------------------------------------------------------------- success and failure

@pytest.mark.parametrize("answer", [200, 201, 202, 204, 206, 299])
@pytest.mark.smoke
def test_any_2xx_is_success(admin, receiver, answer):
    receiver.behave(status(answer))
    subscription = one_delivery(admin, receiver.url)
    found = until(admin, subscription, "success")
    assert (found["http_status"], found["attempt_count"], len(found["attempts"])) == (answer, 1, 1)
    assert len(receiver.arrivals) == 1


def test_a_success_is_recorded_exactly(admin, receiver):
    receiver.behave(behaviours.slowly(0.2, status(200, b"thanks")))
    subscription = one_delivery(admin, receiver.url)
    found = until(admin, subscription, "success")
    listed, = deliveries(admin, subscription)
    assert list(listed) == RECORD and listed["resource_id"] == found["payload"]["id"] and {name: found[name] for name in RECORD} == listed
    arrival, = receiver.arrivals
    attempt, = found["attempts"]
    assert set(attempt) == {"number", "started_at", "duration_ms", "http_status", "response_excerpt"}
    assert (attempt["number"], attempt["http_status"], attempt["response_excerpt"]) == (1, 200, "thanks")
    assert 200 <= attempt["duration_ms"] <= 1000 * TIMEOUT
    assert moment(found["created_at"]) <= moment(attempt["started_at"]) <= arrival.at + 0.001
    ended = moment(attempt["started_at"]) + attempt["duration_ms"] / 1000
    assert moment(found["completed_at"]) == pytest.approx(ended, abs=0.0011)
    assert arrival.json == {name: found[name] for name in ("id", "event_type", "created_at", "payload")}


def test_the_first_attempt_is_made_at_once(admin, receiver):
    subscribe(admin, receiver.url)
    waits = []
    for count in range(1, 31):
        admin.broker()
        answered = time.time()
        waits.append(receiver.wait_for(count)[-1].at - answered)
    assert sorted(waits)[15] < 0.1, sorted(waits)


@pytest.mark.slow
def test_attempts_follow_the_schedule_and_the_last_failure_is_final(admin, receiver):
    receiver.behave(status(500, b"broken"))
    subscription = one_delivery(admin, receiver.url)
    between = attempted(admin, subscription, 2)
    assert between["status"] == "pending" and "completed_at" not in between and between["http_status"] == 500
    found = until(admin, subscription, "failed")
    check_gaps(gaps(receiver.arrivals), DELAYS[1:])
    assert (found["http_status"], found["attempt_count"]) == (500, len(DELAYS))
    assert [attempt["number"] for attempt in found["attempts"]] == list(range(1, len(DELAYS) + 1))
    assert all(attempt["response_excerpt"] == "broken" for attempt in found["attempts"])
    last = found["attempts"][-1]
    assert moment(found["completed_at"]) == pytest.approx(moment(last["started_at"]) + last["duration_ms"] / 1000, abs=0.0011)
    assert len({(arrival.id, arrival.body) for arrival in receiver.arrivals}) == 1
    time.sleep(2)  # longer than the poll interval
    assert len(receiver.arrivals) == len(DELAYS) and queued(admin.instance, subscription) == 0


def test_a_success_after_failures_is_success(admin, receiver):
    receiver.behave(one_after_the_other(status(500), status(404), status(201)))
    subscription = one_delivery(admin, receiver.url)
    found = until(admin, subscription, "success")
    assert (found["http_status"], found["attempt_count"]) == (201, 3)
    assert [attempt["http_status"] for attempt in found["attempts"]] == [500, 404, 201]
    eventually(lambda: row_of(admin.instance, subscription, "failing_since") == (None,), "failing_since is cleared")


@pytest.mark.parametrize("answer", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(admin, receiver, answer):
    with Receiver() as elsewhere:
        receiver.behave(status(answer, Location=elsewhere.url))
        subscription = one_delivery(admin, receiver.url)
        found = attempted(admin, subscription)
        assert found["status"] == "pending" and found["http_status"] == answer
        attempted(admin, subscription, 2)
        assert elsewhere.connections == 0


@pytest.mark.parametrize("behaviour, error", [
    (behaviours.hang, "timeout"), (behaviours.drip, "timeout"), (behaviours.close_within_response, "connection_closed"),
    (behaviours.close_without_response, "connection_closed"), (behaviours.not_http, "response_invalid"),
    *((behaviours.status_line(line), "response_invalid") for line in (b"HTTP/2 204010", b"HTTP/2 20", b"HTTP/1.1 2040 OK")),
], ids=["hang", "drip", "close in the middle", "close", "not HTTP", "long status", "short status", "long status of HTTP/1.1"])
def test_an_incomplete_response_is_a_failure_with_its_reason(admin, receiver, behaviour, error):
    receiver.behave(behaviour)
    subscription = one_delivery(admin, receiver.url)
    found = attempted(admin, subscription)
    attempt = found["attempts"][0]
    assert attempt["error"] == error and found["status"] == "pending"
    assert "http_status" not in attempt and "http_status" not in found and "response_excerpt" not in attempt
    if error == "timeout":
        assert 1000 * TIMEOUT - 5 <= attempt["duration_ms"] < 1000 * (TIMEOUT + TOLERANCE_S)
    receiver.behave(behaviours.ok)
    assert until(admin, subscription, "success")["http_status"] == 204


def test_a_refused_connection_is_a_failure(admin):
    with ClosedPort() as refusing:
        subscription = one_delivery(admin, refusing.url)
        assert attempted(admin, subscription)["attempts"][0]["error"] == "connection_failed"


def test_an_unknown_host_name_is_a_failure(admin):
    subscription = one_delivery(admin, "http://nowhere.invalid/")
    assert attempted(admin, subscription)["attempts"][0]["error"] in ("no_public_address", "timeout")


# ---------------------------------------------------------------- certificates

def test_a_receiver_with_a_valid_certificate_gets_deliveries(admin, module_instance):
    files = module_instance.state / "tls/server.pem", module_instance.state / "tls/server.key"
    with Receiver(certificate=files) as secure:
        subscription = one_delivery(admin, secure.url)
        assert until(admin, subscription, "success")["attempt_count"] == 1


def test_a_receiver_with_an_invalid_certificate_gets_nothing(admin, tmp_path):
    with Receiver(certificate=behaviours.untrusted_certificate(tmp_path)) as bad:
        subscription = one_delivery(admin, bad.url)
        assert attempted(admin, subscription)["attempts"][0]["error"] == "certificate_not_trusted"
        assert bad.arrivals == []


def test_a_certificate_without_alternative_names_is_not_trusted(admin, module_instance, tmp_path):
    files = behaviours.untrusted_certificate(tmp_path, names=None)
    with open(module_instance.ca, "a") as bundle:
        bundle.write(files[0].read_text())
    module_instance.command("stop-httpd")  # libcurl caches the file
    module_instance.command("start-httpd")
    with Receiver(certificate=files) as bad:
        subscription = one_delivery(admin, f"https://localhost:{bad.port}/")
        assert attempted(admin, subscription)["attempts"][0]["error"] == "certificate_not_trusted"
        assert bad.arrivals == []


def test_http_2_is_not_used_with_a_libcurl_that_empty_frames_stall(admin, module_instance):
    version = re.search(r"libcurl/(\d+)\.(\d+)", subprocess.run(["curl", "-V"], capture_output=True, text=True, check=True).stdout)
    if (int(version[1]), int(version[2])) >= (8, 14):
        pytest.skip("this libcurl may use HTTP/2")
    files = module_instance.state / "tls/server.pem", module_instance.state / "tls/server.key"
    with Receiver(certificate=files, protocols=["h2", "http/1.1"]) as secure:
        until(admin, one_delivery(admin, secure.url), "success")


# ---------------------------------------------------------------- Retry-After

@pytest.mark.parametrize("answer, asked, delay", [
    (503, "0", 1), (503, "1", 1), (429, "2", 2), (502, "2", 2), (503, "3", 3), (504, "2", 2), (503, "soon", 1), (500, "2", 1),
    (501, "2", 1), (404, "2", 1),
])
def test_retry_after_of_an_overloaded_receiver_postpones_the_attempt(admin, receiver, answer, asked, delay):
    """The second attempt is after one second, or later if a 429, 502, 503 or 504 has Retry-After."""
    receiver.behave(one_after_the_other(status(answer, Retry_After=asked), behaviours.ok))
    subscription = one_delivery(admin, receiver.url)
    until(admin, subscription, "success")
    check_gaps(gaps(receiver.arrivals), [delay])


# ---------------------------------------------------------------- deactivation of subscriptions

def test_a_410_deactivates_the_subscription_with_a_reason(admin, receiver, module_instance):
    receiver.behave(one_after_the_other(status(410), behaviours.ok))
    subscription = one_delivery(admin, receiver.url)
    eventually(lambda: not ok(admin.get("webhooks/" + subscription["id"]))["is_active"], "an inactive subscription")
    is_active, reason = row_of(module_instance, subscription, "is_active, disabled_reason")
    assert (is_active, reason) == (False, "gone")
    eventually(lambda: re.search(subscription["id"] + ".*410", module_instance.error_log), "a line in the log")
    admin.broker()
    time.sleep(2)  # longer than the next attempt's delay
    assert len(receiver.arrivals) == 1 and len(deliveries(admin, subscription)) == 1
    found = detail(admin, subscription, receiver.arrivals[0].id)
    assert found["status"] == "pending" and found["http_status"] == 410
    ok(admin.patch("webhooks/" + subscription["id"], json={"is_active": True}))
    assert until(admin, subscription, "success")["attempt_count"] == 2
    assert row_of(module_instance, subscription, "disabled_reason, failing_since") == (None, None)


def fail_for(admin, receiver, module_instance, interval):
    """A subscription with a failed delivery whose failures began that long ago."""
    receiver.behave(status(500))
    subscription = one_delivery(admin, receiver.url)
    attempted(admin, subscription, 1)
    eventually(lambda: row_of(module_instance, subscription, "failing_since")[0], "a record of the failure")
    module_instance.sql("update neoapi.webhook_subscription set failing_since = now() - %s::interval where id = %s",
                        interval, subscription["id"])
    until(admin, subscription, "failed")
    return subscription


@pytest.mark.slow
def test_five_days_of_failures_deactivate_the_subscription(admin, receiver, module_instance):
    subscription = fail_for(admin, receiver, module_instance, "5 days 1 hour")
    eventually(lambda: row_of(module_instance, subscription, "is_active") == (False,), "an inactive subscription")
    assert row_of(module_instance, subscription, "disabled_reason") == ("failing",)
    eventually(lambda: re.search(subscription["id"] + ".*five days", module_instance.error_log), "a line in the log")


@pytest.mark.slow
def test_failures_of_less_than_five_days_leave_it_active(admin, receiver, module_instance):
    subscription = fail_for(admin, receiver, module_instance, "4 days 23 hours")
    assert row_of(module_instance, subscription, "is_active, disabled_reason") == (True, None)


# ---------------------------------------------------------------- response bodies

@pytest.mark.parametrize("said, kept", [
    (b"", None), (b"no", "no"), ("ã".encode() * 511, "ã" * 511), (b"x" * 1024, "x" * 1024), (b"x" * 5000, "x" * 1024),
    (b"x" + "ã".encode() * 1000, "x" + "ã" * 511), ("😀".encode() * 400, "😀" * 256), (b"x\0y", None), (b"\xff\xfe", None),
    (b'"\\\n\t\x01</script>', '"\\\n\t\x01</script>'),
], ids=["nothing", "short", "two bytes a character", "1 KiB", "more", "cut in a character", "emoji", "NUL", "not UTF-8",
        "control"])
def test_the_beginning_of_a_response_is_kept(admin, receiver, said, kept):
    receiver.behave(status(200, said))
    subscription = one_delivery(admin, receiver.url)
    attempt, = until(admin, subscription, "success")["attempts"]
    assert attempt.get("response_excerpt") == kept
    assert len((kept or "").encode()) <= 1024


def test_an_endless_response_is_cut_off(admin, receiver):
    receiver.behave(behaviours.huge)
    subscription = one_delivery(admin, receiver.url)
    found = until(admin, subscription, "success")
    assert found["http_status"] == 200 and found["attempts"][0]["response_excerpt"] == "a" * 1024
    assert receiver.server.was_cut_off.wait(10)


@pytest.mark.parametrize("name", behaviours.ENDLESS)
@pytest.mark.parametrize("is_secure", [False, True], ids=["http", "https"])
def test_a_response_that_does_not_end_is_aborted_in_bounded_memory(admin, module_instance, name, is_secure):
    behaviour, error = behaviours.ENDLESS[name]
    files = module_instance.state / "tls/server.pem", module_instance.state / "tls/server.key"
    with Receiver(behaviour, certificate=files if is_secure else None) as endless, module_instance.memory_limited():
        attempt = attempted(admin, one_delivery(admin, endless.url))["attempts"][0]
    assert attempt["error"] == error and "http_status" not in attempt and "response_excerpt" not in attempt
    assert attempt["duration_ms"] < 1000


# ---------------------------------------------------------------- requests and connections

def test_connections_are_kept_and_used_again(admin, receiver, module_instance):
    subscribe(admin, receiver.url)
    for count in range(1, 51):
        admin.broker()
        receiver.wait_for(count)
    assert receiver.connections <= 2 * len(module_instance.children())


def test_the_request_is_what_receivers_expect(admin, receiver):
    subscription = one_delivery(admin, receiver.url + "hooks/brokers?from=neo&x=%20y")
    record = until(admin, subscription, "success")
    arrival, = receiver.arrivals
    assert arrival.path == "/hooks/brokers?from=neo&x=%20y"
    assert arrival.headers["content-type"] == "application/json" and "expect" not in arrival.headers
    assert re.fullmatch(r"sha256=[0-9a-f]{64}", arrival.headers["x-webhook-signature"])
    assert (arrival.event_id, arrival.id) == (record["event_id"], record["id"])
    assert abs(int(arrival.headers["webhook-timestamp"]) - arrival.at) < 5
    assert list(arrival.json) == ["id", "event_type", "created_at", "payload"]


@pytest.fixture
def in_flight_at(admin, receiver, module_instance):
    """in_flight_at(count, then): delivers `count` events to a receiver that responds to arrival n after 200 ms with then(n).
    Returns the number of deliveries in flight at each arrival, and the number of processes."""
    def measure(count, then):
        lock, now, found = threading.Lock(), [0], []

        def behave(handler, arrival):
            with lock:
                now[0] += 1
                found.append(now[0])
                answer = then(len(found))
            handler.server.closing.wait(0.2)
            with lock:
                now[0] -= 1
            answer(handler, arrival)

        receiver.behave(behave)
        subscription = subscribe(admin, receiver.url, is_active=False)
        add_pending_deliveries(module_instance, subscription, count)
        ok(admin.patch(f"webhooks/{subscription['id']}", json={"is_active": True}))
        eventually(lambda: len(found) >= count, f"{count} deliveries")
        ok(admin.delete(f"webhooks/{subscription['id']}"), 204)
        return found[:count], len(module_instance.children())
    return measure


def test_a_subscription_has_a_maximum_of_deliveries_in_flight(in_flight_at):
    """A slow receiver gets 32 concurrent deliveries from each process."""
    found, processes = in_flight_at(300, lambda n: behaviours.ok)
    assert max(found) <= 32 * processes


def test_a_dead_receiver_gets_few_deliveries_at_a_time(in_flight_at):
    found, processes = in_flight_at(300, lambda n: behaviours.status(500))
    assert max(found[150:]) <= 2 * processes


def test_occasional_failures_do_not_slow_down_a_backlog(in_flight_at):
    found, processes = in_flight_at(600, lambda n: behaviours.status(500) if n % 20 == 0 else behaviours.ok)
    assert statistics.mean(found[150:]) > 21 * processes, statistics.mean(found[150:])


def test_queued_deliveries_are_sent_as_fast_as_the_receiver_responds(admin, receiver, module_instance):
    """With many more than the limit of attempts in flight: each response frees a slot immediately, without waiting for a
    poll."""
    count = 1600
    polls = count / (32 * len(module_instance.children())) * 1.25  # seconds, if each process claimed 32 at each poll
    subscription = subscribe(admin, receiver.url, is_active=False)
    add_pending_deliveries(module_instance, subscription, count)
    began = time.monotonic()
    ok(admin.patch(f"webhooks/{subscription['id']}", json={"is_active": True}))
    receiver.wait_for(count)
    assert time.monotonic() - began < polls / 2
    assert len({arrival.id for arrival in receiver.arrivals}) == len(receiver.arrivals) == count


def test_claims_use_primary_keys_while_the_partitions_of_a_day_have_no_statistics(admin, receiver, module_instance):
    """As at midnight. With another index each look-up reads all entries of the subscription, and other subscriptions wait."""
    count = 500
    for table in ("webhook_delivery", "event"):
        module_instance.sql(f"drop table neoapi.{table}_{module_instance.sql('select to_char(current_date, $$YYYYMMDD$$)')[0][0]}")
    module_instance.sql("select neoapi.maintain_partitions(30, 30)")
    subscription = subscribe(admin, receiver.url, is_active=False)
    add_pending_deliveries(module_instance, subscription, count)
    module_instance.sql("select pg_stat_reset()")
    ok(admin.patch(f"webhooks/{subscription['id']}", json={"is_active": True}))
    receiver.wait_for(count)

    def scans():
        rows = module_instance.sql("""select regexp_replace(s.relname, '_[0-9]+$', ''), i.indisprimary, sum(s.idx_scan)
            from pg_stat_user_indexes s join pg_index i using (indexrelid)
            where s.relname ~ '^(webhook_delivery|event)_[0-9]+$' group by 1, 2""")
        found = {(table, is_primary): number for table, is_primary, number in rows}
        return found if found["webhook_delivery", True] + found["webhook_delivery", False] >= count else None
    found = eventually(scans, "the statistics")
    assert found["webhook_delivery", False] + found["event", False] < count / 10, found


def test_a_backlog_is_not_read_as_a_whole_by_plans_of_an_empty_queue(admin, receiver, module_instance):
    """Vacuum has recorded that the queue is empty, and its statistics are not updated yet."""
    count = 3000
    subscribe(admin, receiver.url, "broker.created")
    later = subscribe(admin, receiver.url, is_active=False)

    def deliver(brokers):
        """One after the other, so that each process executes its statements often enough to use a generic plan."""
        for _ in range(brokers):
            before = len(receiver.arrivals)
            admin.broker()
            receiver.wait_for(before + 1)
    deliver(40)
    module_instance.sql("alter table neoapi.webhook_queue set (autovacuum_enabled = off)")
    eventually(lambda: queued(module_instance) == 0, "an empty queue")
    module_instance.sql("vacuum analyze neoapi.webhook_queue")
    deliver(20)
    add_pending_deliveries(module_instance, later, count)
    module_instance.sql("select pg_stat_reset()")
    before = len(receiver.arrivals)
    ok(admin.patch(f"webhooks/{later['id']}", json={"is_active": True}))
    receiver.wait_for(before + count)

    def rows_read():
        (scanned, deleted), = module_instance.sql("""select seq_tup_read, n_tup_del from pg_stat_user_tables
            where relname = 'webhook_queue'""")
        return (scanned,) if deleted >= count else None
    scanned, = eventually(rows_read, "the statistics of all processes")
    module_instance.sql("alter table neoapi.webhook_queue reset (autovacuum_enabled)")
    assert scanned < 10 * count, scanned


def test_a_secret_that_cannot_be_decrypted_is_logged(module_instance, module_admin_factory, receiver):
    """The delivery is sent once the secret can be decrypted again."""
    api = Api(module_instance, module_admin_factory.key())
    subscription = subscribe(api, receiver.url)
    sealed, = row_of(module_instance, subscription, "secret")
    module_instance.sql("update neoapi.webhook_subscription set secret = 'AAAA' where id = %s", subscription["id"])
    api.broker()
    assert attempted(api, subscription)["attempts"][0]["error"] == "not_sent"
    eventually(lambda: subscription["id"] + " cannot be decrypted" in module_instance.error_log, "a line in the log")
    module_instance.sql("update neoapi.webhook_subscription set secret = %s where id = %s", sealed, subscription["id"])
    assert until(api, subscription, "success")["http_status"] == 204
