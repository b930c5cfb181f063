# SPDX-License-Identifier: Apache-2.0
"""neoapictl webhook: listing, retrying and following deliveries."""

import json
import re
import signal

import pytest

from client import Api, ok
from ctl_instance import Ctl
from webhook_fixtures import (HERE, admin, attempted, deliveries, detail, module_admin_factory,  # fixtures too
                              module_instance, receiver, subscribe, until)
from receiver import ClosedPort, one_after_the_other, status
from wait import TIMEOUT_S, eventually

CONF = HERE + "NeoAPIWebhookRetryDelays 0 1\nNeoAPIWebhookTimeout 2\n"
UNKNOWN_ULID = "00000000000000000000000000"  # the last part of an unused id


@pytest.fixture
def ctl(module_instance):
    return Ctl(module_instance)


def organization_of(api):
    return api.credential.organizations[0]


def failed(api, url):
    """A subscription whose only delivery has failed."""
    subscription = subscribe(api, url)
    api.broker()
    return subscription, until(api, subscription, "failed")


# ---------------------------------------------------------------- list


def test_subscriptions_are_listed_by_organization_and_all_together(ctl, module_instance, module_admin_factory, admin):
    mine = subscribe(admin, "http://127.0.0.1:9/mine", "broker.created", "broker.deleted")
    others = subscribe(Api(module_instance, module_admin_factory.key()), "http://127.0.0.1:9/others")
    listed, = ctl.json("webhook", "list", "--organization", organization_of(admin))
    assert listed == {"id": mine["id"], "organization_id": organization_of(admin), "url": "http://127.0.0.1:9/mine",
                      "description": None,
                      "events": ["broker.created", "broker.deleted"], "is_active": True, "health": "healthy",
                      "last_success_at": None, "failing_since": None, "disabled_at": None, "disabled_reason": None,
                      "limited_until": None, "paused_until": None, "ordering": None, "batch": None, "max_per_second": None, "max_in_flight": None,
                      "payload": None, "is_masked": None, "pending": 0}
    assert {mine["id"], others["id"]} <= {row["id"] for row in ctl.json("webhook", "list")}


def test_the_list_shows_the_reason_for_inactivity_and_the_queue_length(ctl, admin, receiver):
    receiver.behave(status(410))
    subscription = subscribe(admin, receiver.url)
    admin.broker()

    def listed():
        row, = ctl.json("webhook", "list", "--organization", organization_of(admin))
        return not row["is_active"] and row
    row = eventually(listed, "a subscription that is inactive")
    assert row["id"] == subscription["id"] and row["pending"] == 1
    assert (row["health"], row["disabled_reason"]) == ("disabled", "gone") and row["disabled_at"]


def test_the_list_shows_since_when_a_subscription_fails(ctl, admin):
    with ClosedPort() as port:
        failed(admin, port.url)
        eventually(lambda: ctl.json("webhook", "list", "--organization", organization_of(admin))[0]["failing_since"],
                   "a failure")


def test_the_list_shows_no_secret(ctl, admin):
    secret = subscribe(admin, "http://127.0.0.1:9/")["secret"]
    assert secret.removeprefix("whsec_") not in ctl.ok("webhook", "list") + ctl.ok("webhook", "list", "--json")


# ---------------------------------------------------------------- deliveries


def test_deliveries_are_shown_newest_first_with_their_last_result(ctl, admin, receiver):
    receiver.behave(one_after_the_other(status(204), status(500)))
    subscription = subscribe(admin, receiver.url)
    admin.broker()
    first = until(admin, subscription, "success")
    admin.broker()
    second = until(admin, subscription, "failed")
    rows = ctl.json("webhook", "deliveries", subscription["id"])
    assert rows == [{"id": one["id"], "event_id": one["event_id"], "event_type": "broker.created", "status": one["status"],
                     "attempt_count": one["attempt_count"], "http_status": code, "error": None,
                     "created_at": one["created_at"], "completed_at": one["completed_at"], "due_at": None}
                    for one, code in ((second, 500), (first, 204))]
    assert second["attempt_count"] == 2
    for chosen, found in (("success", first), ("failed", second)):
        row, = ctl.json("webhook", "deliveries", subscription["id"], "--status", chosen)
        assert row["id"] == found["id"]
    assert ctl.json("webhook", "deliveries", subscription["id"], "--status", "pending") == []
    assert [row["id"] for row in ctl.json("webhook", "deliveries", subscription["id"], "--limit", "1")] == [second["id"]]


def test_a_delivery_shows_its_last_error(ctl, admin):
    with ClosedPort() as port:
        subscription, _ = failed(admin, port.url)
        row, = ctl.json("webhook", "deliveries", subscription["id"])
        assert (row["error"], row["http_status"]) == ("connection_failed", None)


def test_a_pending_delivery_shows_when_it_is_due(ctl, module_instance, admin):
    subscription = subscribe(admin, "http://127.0.0.1:9/")
    ok(admin.patch(f"webhooks/{subscription['id']}", json={"is_active": False}))
    made = ok(admin.post(f"webhooks/{subscription['id']}/test"), 201)
    row, = ctl.json("webhook", "deliveries", subscription["id"], "--status", "pending")
    assert (row["id"], row["attempt_count"], row["completed_at"]) == (made["id"], 0, None) and row["due_at"]


def test_text_tables_have_headings(ctl, admin, receiver):
    subscription = subscribe(admin, receiver.url)
    admin.broker()
    until(admin, subscription, "success")
    assert ctl.ok("webhook", "list").startswith("ID ")
    head, row = ctl.ok("webhook", "deliveries", subscription["id"]).splitlines()
    assert re.match(r"ID +EVENT ID +EVENT TYPE +STATUS +ATTEMPT COUNT +HTTP STATUS +ERROR +CREATED AT", head)
    assert row[head.index("STATUS"):].startswith("success")


# ---------------------------------------------------------------- retries


def test_a_retry_sends_the_same_payload_as_a_new_delivery(ctl, admin, receiver):
    receiver.behave(one_after_the_other(status(500), status(500), status(204)))
    subscription, first = failed(admin, receiver.url)
    made = ctl.json("webhook", "retry", first["id"])
    assert made["id"] != first["id"] and made["status"] == "pending" and made["subscription_id"] == subscription["id"]
    again = until(admin, subscription, "success")
    assert again["id"] == made["id"] and again["payload"] == first["payload"]
    assert receiver.arrivals[-1].id == made["id"] and len(deliveries(admin, subscription)) == 2


def test_recover_sends_only_later_failed_deliveries(ctl, admin, receiver):
    receiver.behave(one_after_the_other(*[status(500)] * 2, *[status(204)], *[status(500)] * 4, status(204)))
    subscription = subscribe(admin, receiver.url)
    found = []
    for outcome in ("failed", "success", "failed", "failed"):
        if found:
            admin.wait_until_after(found[-1]["completed_at"])
        admin.broker()
        eventually(lambda: len(deliveries(admin, subscription)) == len(found) + 1, "a delivery")
        found.append(until(admin, subscription, outcome))
    since = ["recover", subscription["id"], "--since", found[1]["created_at"]]
    for more in (["--until", found[0]["created_at"]], ["--status", "missed", "--status", "pending"], ["--event", "party.created"]):
        assert ctl.json("webhook", *since, *more) == {"recovered": 0, "is_complete": True}
    assert ctl.json("webhook", *since, "--status", "failed", "--event", "broker.created") == {"recovered": 2, "is_complete": True}
    eventually(lambda: len(deliveries(admin, subscription, status="success")) == 3, "what was sent again")
    again = deliveries(admin, subscription)[:2]
    payloads = [arrival.json["payload"] for arrival in receiver.arrivals[-2:]]
    assert {one["id"] for one in again} == {arrival.id for arrival in receiver.arrivals[-2:]}
    assert sorted(one["id"] for one in payloads) == sorted(one["payload"]["id"] for one in found[2:])


def test_recover_succeeds_without_failed_deliveries(ctl, admin):
    subscription = subscribe(admin, "http://127.0.0.1:9/")
    assert ctl.json("webhook", "recover", subscription["id"], "--since", "2026-01-01T00:00:00-03:00")["recovered"] == 0


def test_a_retry_to_an_inactive_subscription_waits_with_a_notice(ctl, admin, receiver):
    receiver.behave(one_after_the_other(status(500), status(500), status(204)))
    subscription, first = failed(admin, receiver.url)
    path = f"webhooks/{subscription['id']}"
    ok(admin.patch(path, json={"is_active": False}))
    assert "inactive" in ctl.ok("webhook", "retry", first["id"])
    assert deliveries(admin, subscription)[0]["status"] == "pending"
    ok(admin.patch(path, json={"is_active": True}))
    until(admin, subscription, "success")


def test_pending_deliveries_can_be_retried_with_or_without_attempts(ctl, admin, receiver):
    receiver.behave(status(410))
    subscription = subscribe(admin, receiver.url)
    admin.broker()
    attempted(admin, subscription)
    eventually(lambda: not ok(admin.get(f"webhooks/{subscription['id']}"))["is_active"], "a subscription that is inactive")
    ok(admin.post(f"webhooks/{subscription['id']}/test"), 201)
    first = deliveries(admin, subscription)
    assert [(one["status"], one["attempt_count"]) for one in first] == [("pending", 0), ("pending", 1)]
    for one in first:
        made = ctl.json("webhook", "retry", one["id"])
        assert (made["subscription_id"], made["event_type"]) == (subscription["id"], one["event_type"])
        assert deliveries(admin, subscription)[0]["id"] == made["id"]
        assert detail(admin, subscription, made)["payload"] == detail(admin, subscription, one)["payload"]
    assert len(deliveries(admin, subscription)) == 4


def test_a_retry_for_a_deleted_subscription_is_refused(ctl, admin):
    subscription = subscribe(admin, "http://127.0.0.1:9/")
    ok(admin.patch(f"webhooks/{subscription['id']}", json={"is_active": False}))
    made = ok(admin.post(f"webhooks/{subscription['id']}/test"), 201)
    ok(admin.delete(f"webhooks/{subscription['id']}"), 204)
    assert "deleted" in ctl.refused("webhook", "retry", made["id"])


def test_missing_subscriptions_and_deliveries_are_refused(ctl, admin):
    nothing = "whs_" + UNKNOWN_ULID
    assert "no such subscription" in ctl.refused("webhook", "deliveries", nothing)
    assert "no such subscription" in ctl.refused("webhook", "recover", nothing, "--since", "2026-01-01T00:00:00Z")
    assert "no such delivery" in ctl.refused("webhook", "retry", "whd_" + UNKNOWN_ULID)
    with ClosedPort() as port:
        subscription, delivery = failed(admin, port.url)
    ok(admin.delete(f"webhooks/{subscription['id']}"), 204)
    assert "deleted" in ctl.refused("webhook", "retry", delivery["id"])


@pytest.mark.parametrize("args", [
    ["deliveries"],
    ["deliveries", "brk_" + UNKNOWN_ULID],
    ["deliveries", "whs_" + UNKNOWN_ULID, "--status", "lost"],
    ["deliveries", "whs_" + UNKNOWN_ULID, "--limit", "0"],
    ["retry", "whs_" + UNKNOWN_ULID],
    ["recover", "whs_" + UNKNOWN_ULID],
    ["recover", "whs_" + UNKNOWN_ULID, "--since", "yesterday"],
    ["recover", "whs_" + UNKNOWN_ULID, "--since", "2026-02-30T00:00:00Z"],
    ["recover", "whs_" + UNKNOWN_ULID, "--since", "2026-02-03T00:00:00Z", "--status", "success"],
    ["recover", "whs_" + UNKNOWN_ULID, "--since", "2026-02-03T00:00:00Z", "--event", "*"],
    ["tail", "--for", "0"],
    ["tail", "--organization", "all"],
    ["listen"],
])
def test_invalid_arguments_are_refused(ctl, args):
    ctl.refused("webhook", *args, code=2)


# ---------------------------------------------------------------- tail


class Tail:
    """neoapictl webhook tail, which has started to follow attempts."""

    def __init__(self, ctl, *args):
        begun = ctl.instance.sql("select now()")[0][0]
        self.process = ctl.start("webhook", "tail", *args)
        eventually(lambda: ctl.instance.sql(
            "select 1 from pg_stat_activity where application_name = 'neoapictl' and state = 'idle' and backend_start > %s"
            " and query like '%%pg_snapshot_xmax%%'", begun), "a look")

    def end(self, number=signal.SIGINT):
        if number:
            self.process.send_signal(number)
        out, err = self.process.communicate(timeout=TIMEOUT_S)
        assert (self.process.returncode, err) == (0, ""), (out, err)
        return out.splitlines()


def read_attempts(lines):
    return [(row["event_type"], row["attempt"], row["result"], row["http_status"]) for row in map(json.loads, lines)]


def test_tail_prints_every_later_attempt_once(ctl, admin, receiver):
    receiver.behave(one_after_the_other(status(204), status(503), status(204), status(500)))
    subscription = subscribe(admin, receiver.url)
    admin.broker()
    before = until(admin, subscription, "success")
    tail = Tail(ctl, "--json", "--organization", organization_of(admin))
    path = "brokers/" + admin.broker()["id"]
    eventually(lambda: len(receiver.arrivals) == 3, "the second attempt")
    ok(admin.delete(path), 204)
    until(admin, subscription, "failed")
    lines = tail.end()
    assert read_attempts(lines) == [("broker.created", 1, "retry", 503), ("broker.created", 2, "success", 204),
                                  ("broker.deleted", 1, "retry", 500), ("broker.deleted", 2, "failed", 500)]
    assert before["id"] not in "".join(lines)
    assert all(json.loads(line)["subscription_id"] == subscription["id"] for line in lines)


def test_tail_prints_each_of_many_attempts_exactly_once(ctl, module_instance, module_admin_factory, admin, receiver):
    other = Api(module_instance, module_admin_factory.key())
    subscribe(admin, receiver.url)
    subscribe(other, receiver.url)
    tail, everything = Tail(ctl, "--json", "--organization", organization_of(admin)), Tail(ctl, "--json")
    for _ in range(100):
        admin.broker()
        other.broker()
    receiver.wait_for(200)
    eventually(lambda: not module_instance.sql("select 1 from neoapi.webhook_queue where organization_id in (%s, %s)",
                                               organization_of(admin), organization_of(other)), "everything is recorded")
    rows = [json.loads(line) for line in tail.end()]
    assert len(rows) == 100 == len({row["delivery_id"] for row in rows})
    assert {row["organization_id"] for row in rows} == {organization_of(admin)}
    ids = [row["delivery_id"] for row in map(json.loads, everything.end())]
    assert len(ids) == len(set(ids)) and {arrival.id for arrival in receiver.arrivals} <= set(ids)


def test_tail_has_a_text_format(ctl, admin):
    with ClosedPort() as port:
        tail = Tail(ctl, "--organization", organization_of(admin))
        failed(admin, port.url)
        head, first, second = tail.end(signal.SIGTERM)
    assert "Ctrl-C" in head
    assert re.match(r"\d{4}-\d\d-\d\dT[\d:.]+Z  retry    connection_failed  attempt 1, \d+ ms  broker\.created  whd_\w+  whs_",
                    first)
    assert "  failed  " in second and "attempt 2" in second


def test_tail_ends_after_the_given_time(ctl):
    assert Tail(ctl, "--json", "--for", "1").end(None) == []


def test_tail_ends_if_its_output_cannot_be_written(ctl):
    with open("/dev/full", "w") as full:
        assert "could not be written" in ctl.refused("webhook", "tail", "--for", "20", stdout=full)
