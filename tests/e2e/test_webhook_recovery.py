# SPDX-License-Identifier: Apache-2.0
"""POST /webhooks/{id}/recover: sends a subscription each event of the log that has not arrived once."""

import json
from contextlib import closing

import psycopg2
import pytest

from client import ok, wrong_fields
from factories import ResourceFactory
from receiver import status
from wait import eventually, together
from webhook_fixtures import (ALL, FAST, activate, admin, attempted, complete, deliveries, module_admin_factory, module_instance,
                              queued, receiver, recover, subscribe)

CONF = FAST
URL = "http://127.0.0.1:9/"


def inactive(api, url=URL, *events):
    return subscribe(api, url, *events or ["broker.created"], is_active=False)


def end_all(instance, subscription, outcome):
    """Ends all pending deliveries of the subscription."""
    instance.sql("with gone as (delete from neoapi.webhook_queue where subscription_id = %s returning *)"
                 " insert into neoapi.webhook_attempt (organization_id, delivery_id, subscription_id, number, started_at,"
                 " duration_ms, outcome) select organization_id, id, subscription_id, 5, now(), 1, %s from gone",
                 subscription["id"], outcome)


def add_events(instance, subscription, count, created_at="now()"):
    instance.sql("insert into neoapi.event (organization_id, type, resource_id, created_at, actor, payload)"
                 f" select organization_id, 'broker.created', '', {created_at}, '', '{{}}'"
                 " from neoapi.webhook_subscription, generate_series(1, %s) where id = %s", count, subscription["id"])


def test_events_missed_while_inactive_are_sent_once(admin, receiver, module_instance):
    other = subscribe(admin, receiver.url)
    subscription = inactive(admin, receiver.url)
    brokers = [admin.broker() for _ in range(3)]
    ok(admin.patch("brokers/" + brokers[0]["id"], json={"name": "Not listed by the subscription"}))
    activate(admin, subscription)
    arrived = receiver.wait_for(4)
    assert recover(admin, subscription, event_types=["broker.updated"]) == complete(0)
    assert recover(admin, subscription, statuses=["failed", "pending"]) == complete(0)
    assert recover(admin, subscription, until=ALL["since"]) == complete(0)
    assert recover(admin, subscription) == complete(3)
    assert recover(admin, subscription) == complete(0)  # although some may be in flight
    arrived = receiver.wait_for(7)
    eventually(lambda: queued(module_instance) == 0, "nothing pending")
    assert recover(admin, subscription) == recover(admin, other) == complete(0)
    assert {one.json["payload"]["id"] for one in arrived[4:]} == {broker["id"] for broker in brokers}
    assert {one.event_id for one in arrived[4:]} < {one.event_id for one in arrived[:4]}
    assert len(receiver.arrivals) == 7


def test_failed_deliveries_are_repeated_once_however_often_they_failed(admin, module_instance):
    """A regression test: copies of failed deliveries were copied as well, so that six calls made 256 of four."""
    subscription = inactive(admin)
    for _ in range(4):
        admin.broker()
    for times in range(6):
        assert recover(admin, subscription) == complete(4)
        assert recover(admin, subscription) == complete(0)
        assert queued(module_instance, subscription) == 4
        end_all(module_instance, subscription, "failed")
    assert len(deliveries(admin, subscription)) == 6 * 4
    assert recover(admin, subscription, statuses=["missed", "pending"]) == complete(0)
    failed = deliveries(admin, subscription)[-1]
    ok(admin.post(f"webhooks/{subscription['id']}/deliveries/{failed['id']}/retry"), 201)
    end_all(module_instance, subscription, "success")
    assert recover(admin, subscription, statuses=["failed"]) == complete(3)


def test_a_pending_delivery_is_sent_at_once_and_only_once(admin, receiver, module_instance):
    receiver.behave(status(500))
    subscription = subscribe(admin, receiver.url, "broker.created")
    admin.broker()
    attempted(admin, subscription)
    activate(admin, subscription, False)
    eventually(lambda: module_instance.sql("update neoapi.webhook_queue set due_at = now() + interval '1 hour', number = 2"
                                           " where subscription_id = %s and claim is null returning 1", subscription["id"]),
               "no attempt is in flight")
    receiver.behave(status(204))
    arrived = len(receiver.arrivals)
    assert recover(admin, subscription, statuses=["failed", "missed"]) == complete(0)
    assert recover(admin, subscription, statuses=["pending"]) == complete(1)
    assert recover(admin, subscription) == complete(0)
    activate(admin, subscription)
    eventually(lambda: queued(module_instance, subscription) == 0, "it has arrived")
    assert len(receiver.arrivals) == arrived + 1 and len(deliveries(admin, subscription)) == 1


def test_a_call_is_bounded_and_continues_from_its_position(admin, module_instance):
    subscription = inactive(admin)
    add_events(module_instance, subscription, 1200)
    first = recover(admin, subscription)
    assert first["recovered"] == 1000 and set(first) == {"recovered", "is_complete", "position"} and not first["is_complete"]
    assert recover(admin, subscription, position=first["position"]) == complete(200)
    assert queued(module_instance, subscription) == 1200
    end_all(module_instance, subscription, "success")
    add_events(module_instance, subscription, 9000)
    end_all(module_instance, subscription, "success")
    first = recover(admin, subscription, statuses=["failed"])
    assert first["recovered"] == 0 and recover(admin, subscription, statuses=["failed"], **{"position": first["position"]}) == complete(0)


def test_concurrent_calls_send_each_event_once(admin, module_instance):
    subscription = inactive(admin)
    add_events(module_instance, subscription, 300)
    answers = together(*[lambda: recover(admin.with_(), subscription)["recovered"]] * 6)
    assert sum(answers) == 300 == queued(module_instance, subscription)


def test_a_call_that_waited_for_the_lock_does_not_count_what_another_sent(admin, module_instance):
    """Its transaction began before the other's, so that its now() is before the due time of those deliveries."""
    subscription = inactive(admin)
    add_events(module_instance, subscription, 3)
    with closing(psycopg2.connect(module_instance.admin_dsn)) as waited, waited.cursor() as cursor:
        cursor.execute("select now()")
        assert recover(admin, subscription) == complete(3)
        cursor.execute("select recovered from neoapi.webhook_subscription w, neoapi.webhook_recover(w.organization_id, w.id,"
                       " %s, '{}', null, 'evt_', now()) where w.id = %s", [json.dumps(ALL), subscription["id"]])
        assert cursor.fetchone() == (0,)


def test_events_that_were_not_for_the_subscription_are_not_missed(admin, module_instance):
    """Earlier events, imported history, and events whose deliveries may have been removed."""
    admin.broker()
    everything = inactive(admin, URL, "*")
    assert recover(admin, everything) == complete(0)
    factory = ResourceFactory(admin)
    property = factory.property(status="sold", transaction_type="rent", rent_price=1)
    body = factory.body("proposals", property_id=property["id"], status="rejected", valid_until="2019-03-31",
                        created_at="2019-03-01T12:00:00.000Z", updated_at="2019-04-01T12:00:00.000Z")
    assert recover(admin, everything)["recovered"] >= 1
    ok(admin.post("proposals", json=body, params={"import": "true"}), 201)
    assert recover(admin, everything) == complete(0)
    module_instance.sql("update neoapi.webhook_subscription set created_at = now() - interval '90 days' where id = %s",
                        everything["id"])
    add_events(module_instance, everything, 3, "now() - interval '60 days'")
    assert recover(admin, everything, since="2020-01-01T00:00:00Z")["recovered"] == 1  # the broker that is older than the subscription


@pytest.mark.parametrize("body, field", [({"until": "x"}, "until"), ({"statuses": ["success"]}, "statuses"),
                                         ({"statuses": []}, "statuses"), ({"event_types": ["*"]}, "event_types"),
                                         ({"event_types": "broker.created"}, "event_types"), ({"position": "evt_1"}, "position"),
                                         ({"since": None}, "since"), ({"before": "x"}, "before"),
                                         ({"until": "2026-01-01T01:59:59+02:00"}, "until")])
def test_invalid_requests_are_refused(admin, body, field):
    subscription = inactive(admin)
    assert set(wrong_fields(admin.post(f"webhooks/{subscription['id']}/recover", json={**ALL, **body}))) == {field}
