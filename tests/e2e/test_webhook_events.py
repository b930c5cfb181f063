# SPDX-License-Identifier: Apache-2.0
"""What subscriptions can choose: all events of a kind, and what deliveries include; when a delivery is sent next."""

import pytest

from client import moment, ok, refused
from factories import ResourceFactory
from wait import eventually
from webhook_fixtures import (HERE, activate, admin, complete, deliveries, detail, module_admin_factory, module_instance, queued,
                              receiver, recover, subscribe)

CONF = HERE + "NeoAPIWebhookRetryDelays 0 600\n"
BODY = ["id", "event_type", "created_at", "payload"]
UNREACHABLE = "http://127.0.0.1:9/"


def bodies(receiver, count):
    return [one.json for one in receiver.wait_for(count)]


def test_deliveries_include_what_the_log_has(admin, receiver):
    subscription = subscribe(admin, receiver.url, "broker.*", include=["changed", "previous"])
    assert subscription["include"] == ["changed", "previous"]
    path = "brokers/" + admin.broker(name="Ana", phone="+5511987654321")["id"]
    assert list(bodies(receiver, 1)[0]) == BODY
    ok(admin.patch(path, json={"name": "Bia", "document_number": "529.982.247-25"}))
    updated = bodies(receiver, 2)[1]
    assert list(updated) == ["id", "event_type", "created_at", "changed", "previous", "payload"]
    assert updated["changed"] == ["name", "document_number"] and updated["previous"] == {"name": "Ana"}
    logged = ok(admin.get("events", params={"type": "broker.updated"}))["items"][0]
    assert {name: logged[name] for name in ("changed", "previous", "payload")} == {
        name: updated[name] for name in ("changed", "previous", "payload")}
    ok(admin.patch("webhooks/" + subscription["id"], json={"include": ["changed"]}))
    ok(admin.patch(path, json={"name": "Clara"}))
    assert list(bodies(receiver, 3)[2]) == ["id", "event_type", "created_at", "changed", "payload"]
    assert "include" not in ok(admin.patch("webhooks/" + subscription["id"], json={"include": None}))
    ok(admin.patch(path, json={"name": "Diana"}))
    assert list(bodies(receiver, 4)[3]) == BODY


@pytest.mark.parametrize("include", [["payload"], [], "changed"])
def test_only_what_the_log_has_can_be_included(admin, include):
    refused(admin.post("webhooks", json={"url": UNREACHABLE, "events": ["*"], "include": include}), 400,
            "validation.webhook.include_invalid")


def test_a_pattern_subscribes_to_all_events_of_a_kind(admin, receiver):
    subscribe(admin, receiver.url, "property.*", "broker.deleted")
    broker, path = "brokers/" + admin.broker()["id"], "properties/" + ResourceFactory(admin).property()["id"]
    ok(admin.patch(path, json={"title": "Casa"}))
    ok(admin.delete(path), 204)
    ok(admin.delete(broker), 204)
    assert sorted(one["event_type"] for one in bodies(receiver, 4)) == [
        "broker.deleted", "property.created", "property.deleted", "property.updated"]


def test_a_subscription_gets_no_events_about_itself(admin, receiver, module_instance):
    watching = subscribe(admin, receiver.url, "webhook.*")
    other = subscribe(admin, UNREACHABLE, "broker.created")
    ok(admin.post(f"webhooks/{other['id']}/test"), 201)
    for subscription in (other, watching):
        activate(admin, subscription, False)
    activate(admin, watching)
    assert [one["payload"]["id"] for one in bodies(receiver, 1)] == [other["id"]]
    eventually(lambda: queued(module_instance, watching) == 0, "it has arrived")
    assert recover(admin, watching) == complete(0)
    assert len(receiver.arrivals) == 1


def test_a_recovery_finds_events_by_pattern(admin, module_instance):
    subscription = subscribe(admin, UNREACHABLE, "broker.*", is_active=False)
    everything = subscribe(admin, UNREACHABLE, is_active=False)
    ok(admin.patch("brokers/" + admin.broker()["id"], json={"name": "Bia"}))
    ResourceFactory(admin).property()
    assert recover(admin, subscription, event_types=["property.*"]) == complete(0)
    assert recover(admin, subscription) == complete(2)
    assert recover(admin, everything, event_types=["broker.*"]) == complete(2)
    assert recover(admin, everything) == complete(1)
    assert {one["event_type"] for one in deliveries(admin, subscription)} == {"broker.created", "broker.updated"}


def test_the_list_of_deliveries_shows_the_last_error_and_the_next_attempt(admin, receiver, module_instance):
    subscription = subscribe(admin, UNREACHABLE, "broker.created")
    admin.broker()

    def after_an_attempt():
        delivery = deliveries(admin, subscription)[0]
        return delivery["attempt_count"] and delivery

    delivery = eventually(after_an_attempt, "an attempt")
    assert delivery["status"] == "pending" and delivery["error"] == "connection_failed" and "http_status" not in delivery
    assert 300 < moment(delivery["next_attempt_at"]) - moment(delivery["created_at"]) < 1200
    assert detail(admin, subscription, delivery)["next_attempt_at"] == delivery["next_attempt_at"]
    activate(admin, subscription, False)
    assert "next_attempt_at" not in deliveries(admin, subscription)[0]
    ok(admin.patch("webhooks/" + subscription["id"], json={"url": receiver.url, "is_active": True}))
    assert recover(admin, subscription, statuses=["pending"]) == complete(1)
    delivery = eventually(lambda: deliveries(admin, subscription, status="success"), "a success")[0]
    assert not {"error", "next_attempt_at"} & set(delivery) and delivery["http_status"] == 204
