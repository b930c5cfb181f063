# SPDX-License-Identifier: Apache-2.0
"""Subscriptions with batch: several deliveries in one request, signed as one and recorded singly."""

import base64
import hashlib
import hmac
import time

import pytest

import receiver as behaviours
from client import Api, ok, wrong_fields
from httpd import Httpd
from receiver import Receiver, one_after_the_other, status
from wait import eventually
from webhook_fixtures import (HERE, admin, deliveries, detail, hold, module_admin_factory, module_instance,  # noqa: F401
                              queued, receiver, resume, subscribe)

CONF = HERE + "NeoAPIWebhookRetryDelays 0 1 1 2 2\nNeoAPIWebhookTimeout 5\n"
WAIT_MS = 10000  # the longest; a full request is sent at once


@pytest.fixture(scope="module")
def second(module_instance, tmp_path_factory):
    """Another host on the same database."""
    with Httpd(module_instance, tmp_path_factory.mktemp("second"),
               ("DocumentRoot .*", CONF.replace("${INSTANCE}", str(module_instance.state)))) as httpd:
        yield httpd


def batched(api, url, max_items, max_wait_ms=WAIT_MS, **more):
    return subscribe(api, url, "broker.*", batch={"max_items": max_items, "max_wait_ms": max_wait_ms}, **more)


def create(api, count, **more):
    operations = [{"method": "create", "data": {"name": f"B{n}", **more}} for n in range(count)]
    results = ok(api.post("brokers/batch", json={"operations": operations}))["results"]
    return [one["resource"] for one in results]


def items(arrivals):
    return [item for one in arrivals for item in one.json["deliveries"]]


def wait_for(receiver, count):
    return eventually(lambda: len(items(receiver.arrivals)) >= count and receiver.arrivals, f"{count} deliveries")


def test_batch_is_a_field_of_a_subscription(admin, receiver):
    made = batched(admin, receiver.url, 100, 10000)
    path = "webhooks/" + made["id"]
    assert made["batch"] == ok(admin.get(path))["batch"] == {"max_items": 100, "max_wait_ms": 10000}
    assert ok(admin.patch(path, json={"batch": {"max_items": 1, "max_wait_ms": 0}}))["batch"] == {"max_items": 1, "max_wait_ms": 0}
    assert "batch" not in ok(admin.patch(path, json={"batch": None}))
    for batch, field in (({"max_items": 101, "max_wait_ms": 0}, "batch.max_items"), ({"max_items": 5}, "batch.max_wait_ms"),
                         ({"max_items": 0, "max_wait_ms": 0}, "batch.max_items"),
                         ({"max_items": 5, "max_wait_ms": 10001}, "batch.max_wait_ms"),
                         ({"max_items": 5, "max_wait_ms": 0, "size": 1}, "batch.size")):
        assert wrong_fields(admin.patch(path, json={"batch": batch})).keys() == {field}
    assert "batch" not in subscribe(admin, receiver.url)


def test_a_batch_has_the_usual_bodies_and_one_signature(admin, receiver, module_instance):
    subscription = batched(admin, receiver.url, 20)
    with Receiver() as single:
        usual = subscribe(admin, single.url, "broker.*")
        create(admin, 20)
        single.wait_for(20)
        wait_for(receiver, 20)
    arrival, = receiver.arrivals
    assert list(arrival.json) == ["deliveries"]
    bodies = {one.event_id: one.json for one in single.arrivals}
    assert len(bodies) == 20
    for item in arrival.json["deliveries"]:
        body = bodies[item["event_id"]]
        assert {**item, "id": body["id"]} == {**body, "event_id": item["event_id"]}
    check_signatures(arrival, subscription["secret"])
    eventually(lambda: queued(module_instance) == 0, "an empty queue")
    found = deliveries(admin, subscription)
    assert {one["id"] for one in found} == {item["id"] for item in arrival.json["deliveries"]}
    assert {(one["status"], one["http_status"], one["attempt_count"]) for one in found} == {("success", 204, 1)}
    assert len(deliveries(admin, usual)) == 20


def check_signatures(arrival, secret):
    own = hmac.new(secret.encode(), arrival.body, hashlib.sha256).hexdigest()
    assert arrival.headers["x-webhook-signature"] == "sha256=" + own
    signed = f"{arrival.headers['webhook-id']}.{arrival.headers['webhook-timestamp']}.".encode() + arrival.body
    mac = hmac.new(base64.b64decode(secret.removeprefix("whsec_")), signed, hashlib.sha256).digest()
    assert arrival.headers["webhook-signature"].split()[0] == "v1," + base64.b64encode(mac).decode()


def test_a_full_batch_is_sent_at_once_and_another_one_after_its_time(admin, receiver):
    subscription = batched(admin, receiver.url, 10)
    began = time.time()
    create(admin, 10)
    first, = wait_for(receiver, 10)
    assert first.at - began < WAIT_MS / 1000
    ok(admin.patch("webhooks/" + subscription["id"], json={"batch": {"max_items": 10, "max_wait_ms": 1000}}))
    began = time.time()
    create(admin, 3)
    _, second = wait_for(receiver, 13)
    assert len(second.json["deliveries"]) == 3 and second.at - began >= 0.99


def test_deliveries_of_two_hosts_are_sent_together(admin, second, receiver, module_instance):
    batched(admin, receiver.url, 30)
    for api in (admin, Api(second, admin.credential)) * 3:
        create(api, 5)
    wait_for(receiver, 30)
    eventually(lambda: queued(module_instance) == 0, "an empty queue")
    arrival, = receiver.arrivals
    assert len({item["id"] for item in arrival.json["deliveries"]}) == 30


def test_a_batch_that_fails_is_repeated_in_smaller_ones(admin, receiver, module_instance):
    receiver.behave(one_after_the_other(status(413), behaviours.ok))
    subscription = batched(admin, receiver.url, 20)
    create(admin, 20)
    wait_for(receiver, 40)
    eventually(lambda: queued(module_instance) == 0, "an empty queue")
    assert sorted(len(one.json["deliveries"]) for one in receiver.arrivals) == [5, 5, 5, 5, 20]
    assert len({one.headers["webhook-id"] for one in receiver.arrivals}) == 5
    assert all(one.headers["webhook-id"].startswith("bat_") for one in receiver.arrivals)
    for one in deliveries(admin, subscription):
        assert [attempt.get("http_status") for attempt in detail(admin, subscription, one)["attempts"]] == [413, 204]


def test_an_event_that_the_receiver_refuses_does_not_let_others_fail(admin, receiver, module_instance):
    def refuse_one(handler, arrival):
        names = [item["payload"]["name"] for item in arrival.json["deliveries"]]
        (status(500) if "B3" in names else behaviours.ok)(handler, arrival)

    receiver.behave(refuse_one)
    subscription = batched(admin, receiver.url, 20)
    create(admin, 20)
    eventually(lambda: queued(module_instance) == 0, "an empty queue", 60)
    assert sorted(one["status"] for one in deliveries(admin, subscription)) == ["failed"] + 19 * ["success"]


def test_the_same_events_have_the_same_webhook_id_when_they_are_repeated(admin, receiver, module_instance):
    receiver.behave(one_after_the_other(status(500), behaviours.ok))
    batched(admin, receiver.url, 1)
    create(admin, 1)
    first, second = receiver.wait_for(2)
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert first.json == second.json


def test_a_request_has_at_most_a_megabyte(admin, receiver, module_instance):
    batched(admin, receiver.url, 100, max_in_flight=2)
    metadata = {f"k{n}": 400 * "x" for n in range(30)}
    for _ in range(2):
        create(admin, 50, metadata=metadata)
    wait_for(receiver, 100)
    eventually(lambda: queued(module_instance) == 0, "an empty queue")
    assert len({item["id"] for item in items(receiver.arrivals)}) == len(items(receiver.arrivals)) == 100
    assert len(receiver.arrivals) == 2 and max(len(one.body) for one in receiver.arrivals) < 1 << 20


def test_deliveries_that_do_not_fit_into_a_request_wait_only_once(admin, receiver, module_instance):
    """Otherwise a subscription with large payloads would have a request in ten seconds, whatever is due."""
    subscription = batched(admin, receiver.url, 100)
    hold(module_instance, subscription)
    for _ in range(4):
        create(admin, 24, metadata={f"k{n}": 500 * "x" for n in range(50)})
    resume(module_instance, subscription)
    wait_for(receiver, 96)
    assert len(receiver.arrivals) >= 3
    assert receiver.arrivals[-1].at - receiver.arrivals[0].at < WAIT_MS / 1000


def test_a_batch_has_what_the_filters_select_masked_and_signed_with_the_key(admin, receiver):
    keys = pytest.importorskip("test_webhook_keys", reason="python3-cryptography is not installed")
    brokers = create(admin, 3, email="maria@example.com")
    wanted = {broker["id"] for broker in brokers[:2]}
    subscription = batched(admin, receiver.url, 4, filters={"broker": {"ids": sorted(wanted)}}, is_masked=True, **keys.WITH_KEY)
    for name in "A", "B":
        for broker in brokers:
            ok(admin.patch("brokers/" + broker["id"], json={"name": name}))
    arrival, = wait_for(receiver, 4)
    assert sorted(item["payload"]["id"] for item in arrival.json["deliveries"]) == sorted(2 * list(wanted))
    assert b"maria@example.com" not in arrival.body
    assert keys.is_signed(keys.load_key(subscription["public_key"]), arrival)
    check_signatures(arrival, subscription["secret"])


def test_waiting_deliveries_follow_a_change_of_their_subscription(admin, receiver):
    subscription = batched(admin, receiver.url, 100, 10_000)
    path = "webhooks/" + subscription["id"]
    create(admin, 3)
    secret = ok(admin.post(path + "/rotate-secret"))["secret"]
    ok(admin.patch(path, json={"batch": {"max_items": 3, "max_wait_ms": WAIT_MS}}))
    requests = len(wait_for(receiver, 3))  # more than one if two processes claim at the same time
    for one in receiver.arrivals[:requests]:
        assert one.headers["x-webhook-signature"] == "sha256=" + hmac.new(secret.encode(), one.body, hashlib.sha256).hexdigest()
    ok(admin.patch(path, json={"is_active": False, "batch": {"max_items": 2, "max_wait_ms": 0}}))
    ok(admin.patch(path, json={"is_active": True, "batch": None}))
    create(admin, 2)
    for one in receiver.wait_for(requests + 2)[requests:]:
        assert one.json["event_type"] == "broker.created" and one.headers["webhook-id"].startswith("evt_")


def test_deliveries_that_wait_for_others_fail_when_their_subscription_is_deleted(admin, receiver, module_instance):
    subscription = batched(admin, receiver.url, 100)
    create(admin, 3)
    ok(admin.delete("webhooks/" + subscription["id"]), 204)
    eventually(lambda: queued(module_instance) == 0, "an empty queue")
    found = module_instance.sql("select distinct error, outcome from neoapi.webhook_attempt where subscription_id = %s", subscription["id"])
    assert [tuple(one) for one in found] == [("subscription_deleted", "failed")] and not receiver.arrivals


def test_a_batch_works_with_ordering_and_limits(admin, receiver, module_instance):
    batched(admin, receiver.url, 4, 50, ordering="resource", max_in_flight=1, max_per_second=20)
    began = time.time()
    brokers = create(admin, 6)
    for number in range(4):
        for broker in brokers:
            ok(admin.patch("brokers/" + broker["id"], json={"name": f"N{number}"}))
    wait_for(receiver, 30)
    eventually(lambda: queued(module_instance) == 0, "an empty queue")
    sent = items(receiver.arrivals)
    assert len({item["id"] for item in sent}) == len(sent) == 30
    for broker in brokers:
        versions = [item["payload"]["updated_at"] for item in sent if item["payload"]["id"] == broker["id"]]
        assert versions == sorted(versions) and len(versions) == 5
    assert all(len(one.json["deliveries"]) <= 4 for one in receiver.arrivals)
    assert receiver.arrivals[-1].at - began >= (len(receiver.arrivals) - 1) / 20 * 0.99


def test_a_subscription_without_batch_is_not_delayed(admin, receiver):
    with Receiver() as bulk:
        batched(admin, bulk.url, 100, 10000)
        subscribe(admin, receiver.url, "broker.*")
        admin.broker()
        receiver.wait_for(1, 8)
        assert "deliveries" not in receiver.arrivals[0].json and not bulk.arrivals
