# SPDX-License-Identifier: Apache-2.0
"""The health of subscriptions in responses, and its events for other subscriptions."""

import re

import pytest

from client import MOMENT, ok
from receiver import Receiver, status
from receiver import ok as well
from wait import eventually
from webhook_fixtures import (FAST, admin, module_admin_factory, module_instance, queued, receiver, row_of, subscribe)


CONF = FAST
EVENTS = ["webhook.failing", "webhook.disabled", "webhook.recovered"]


def read_health(api, subscription):
    """The subscription's health, without the members that every subscription has."""
    found = ok(api.get("webhooks/" + subscription["id"]))
    return {name: found[name] for name in ("health", "last_success_at", "failing_since", "disabled_at", "disabled_reason")
            if name in found}


def until(api, subscription, health):
    eventually(lambda: read_health(api, subscription)["health"] == health, f"a subscription that is {health}")
    found = read_health(api, subscription)
    assert all(re.fullmatch(MOMENT, value) for name, value in found.items() if name.endswith(("_at", "_since")))
    return found


def fail_since(instance, subscription, interval):
    instance.sql("update neoapi.webhook_subscription set failing_since = now() - %s::interval where id = %s", interval,
                 subscription["id"])


def test_the_health_follows_the_last_attempt(admin, receiver, module_instance):
    subscription = subscribe(admin, receiver.url)
    assert read_health(admin, subscription) == {"health": "healthy"} and subscription["health"] == "healthy"
    admin.broker()
    eventually(lambda: "last_success_at" in read_health(admin, subscription), "a success")
    assert set(read_health(admin, subscription)) == {"health", "last_success_at"}
    before = row_of(module_instance, subscription, "xmin::text, updated_at")
    admin.broker()
    eventually(lambda: queued(module_instance, subscription) == 0, "another success")
    assert row_of(module_instance, subscription, "xmin::text, updated_at") == before  # recorded once a minute
    receiver.behave(status(500))
    admin.broker()
    failing = until(admin, subscription, "failing")
    assert set(failing) == {"health", "last_success_at", "failing_since"}
    receiver.behave(well)
    healthy = until(admin, subscription, "healthy")
    assert set(healthy) == {"health", "last_success_at"} and healthy["last_success_at"] >= failing["failing_since"]
    assert row_of(module_instance, subscription, "updated_at") == before[1:]


def test_an_inactive_subscription_shows_since_when_and_why(admin, receiver):
    subscription = subscribe(admin, receiver.url, is_active=False)
    assert set(until(admin, subscription, "disabled")) == {"health", "disabled_at", "disabled_reason"}
    path = "webhooks/" + subscription["id"]
    assert "disabled_at" not in ok(admin.patch(path, json={"is_active": True}))
    changed = ok(admin.patch(path, json={"is_active": False, "health": "healthy", "disabled_reason": "gone"}))
    assert (changed["health"], changed["disabled_reason"]) == ("disabled", "owner")
    again = ok(admin.patch(path, json={"url": receiver.url + "x"}))
    assert {**again, "url": "", "updated_at": ""} == {**changed, "url": "", "updated_at": ""}
    ok(admin.patch(path, json={"is_active": True}))
    receiver.behave(status(410))
    admin.broker()
    assert until(admin, subscription, "disabled")["disabled_reason"] == "gone"


@pytest.mark.slow
def test_changes_of_health_are_events_for_other_subscriptions(admin, receiver, module_instance):
    with Receiver() as bad, Receiver() as other:
        watching, everything = subscribe(admin, receiver.url, *EVENTS), subscribe(admin, other.url)
        subject = subscribe(admin, bad.url, "broker.created", *EVENTS)
        bad.behave(status(500))
        admin.broker()
        until(admin, subject, "failing")
        fail_since(module_instance, subject, "9 minutes")
        assert not module_instance.sql("select from neoapi.event where resource_id = %s", subject["id"])
        fail_since(module_instance, subject, "11 minutes")
        receiver.wait_for(1)
        bad.behave(well)
        admin.broker()
        receiver.wait_for(2)
        bad.behave(status(410))
        admin.broker()
        receiver.wait_for(3)
        bad.behave(well)  # before the activation, after which what waited is sent
        ok(admin.patch("webhooks/" + subject["id"], json={"is_active": True}))
        arrived = receiver.wait_for(4)
        ok(admin.patch("webhooks/" + subject["id"], json={"is_active": False}))
        arrived = receiver.wait_for(5)
    assert [one.json["event_type"] for one in arrived] == [EVENTS[n] for n in (0, 2, 1, 2, 1)]
    payloads = [one.json["payload"] for one in arrived]
    assert [one["health"] for one in payloads] == ["failing", "healthy", "disabled", "healthy", "disabled"]
    assert [one.get("disabled_reason") for one in payloads] == [None, None, "gone", None, "owner"]
    assert all(one["id"] == subject["id"] and "secret" not in one for one in payloads)
    assert not {one.json["event_type"] for one in [*bad.arrivals, *other.arrivals]} & set(EVENTS)
    logged = module_instance.sql("select distinct actor, request_id, payload::json->>'id' from neoapi.event where resource_id = %s",
                                 subject["id"])
    assert logged == [("system", None, subject["id"])]
    for one in (watching, everything, subject):
        ok(admin.delete("webhooks/" + one["id"]), 204)
