# SPDX-License-Identifier: Apache-2.0
"""Which payload a subscription gets: the whole resource, some fields of it, or only where it is found."""

import hmac

import pytest
from client import ok, refused
from factories import ResourceFactory
from wait import eventually
from webhook_fixtures import (HERE, activate, admin, complete, deliveries, detail, module_admin_factory,  # noqa: F401
                              module_instance, receiver, recover, subscribe)

CONF = HERE
UNREACHABLE_URL = "https://127.0.0.1:9/"
IDENTITY = ["id", "organization_id", "updated_at"]
THIN = ["id", "event_type", "created_at", "resource_id", "url"]


def bodies(receiver, count):
    return [one.json for one in receiver.wait_for(count)]


def test_a_thin_delivery_says_where_the_resource_is(admin, receiver):
    subscription = subscribe(admin, receiver.url, "broker.*", payload="thin", ordering="resource")
    assert subscription["payload"] == "thin"
    broker = admin.broker(name="Ana")
    path = "brokers/" + broker["id"]
    ok(admin.patch(path, json={"name": "Bia"}))
    ok(admin.delete(path), 204)
    events = ok(admin.get("events", params={"resource_id": broker["id"]}))["items"]
    for body, arrival, event in zip(bodies(receiver, 3), receiver.arrivals, events[::-1], strict=True):
        assert list(body) == THIN and b"Ana" not in arrival.body and b"Bia" not in arrival.body
        assert (body["event_type"], body["created_at"], body["resource_id"]) == (event["type"], event["created_at"], broker["id"])
        assert body["url"].startswith("http") and body["url"].endswith("/public/v1/" + path)
        signature = hmac.digest(subscription["secret"].encode(), arrival.body, "sha256").hex()
        assert arrival.headers["x-webhook-signature"] == "sha256=" + signature
    refused(admin.get(path), 404, "not_found.broker")


def test_every_resource_has_its_url(admin, receiver):
    subscribe(admin, receiver.url, "*", "lead.*", payload="thin")
    factory = ResourceFactory(admin)
    made = {factory.contract()["id"], factory.document()["id"], factory.lead()["id"]}
    kinds = {"property", "party", "contract", "document", "lead"}
    eventually(lambda: made <= {one.json["resource_id"] for one in receiver.arrivals}, "the last events have arrived")
    seen = {body["event_type"].split(".")[0]: body for body in (one.json for one in receiver.arrivals)}
    assert kinds <= set(seen)
    for body in seen.values():
        assert ok(admin.get(body["url"].split("/public/v1/")[1]))["id"] == body["resource_id"]


def test_a_test_and_what_is_sent_again_are_thin(admin, receiver):
    subscription = subscribe(admin, receiver.url, "broker.created", payload="thin", is_active=False)
    broker = admin.broker()
    activate(admin, subscription)
    assert recover(admin, subscription) == complete(1)
    assert bodies(receiver, 1)[0]["resource_id"] == broker["id"]
    delivery, = deliveries(admin, subscription)
    ok(admin.post(f"webhooks/{subscription['id']}/deliveries/{delivery['id']}/retry"), 201)
    assert {**bodies(receiver, 2)[1], "id": delivery["id"]} == bodies(receiver, 2)[0]
    ok(admin.post(f"webhooks/{subscription['id']}/test"), 201)
    tested = bodies(receiver, 3)[2]
    assert list(tested) == THIN and tested["url"].endswith("/public/v1/webhooks/" + subscription["id"])
    ok(admin.patch("webhooks/" + subscription["id"], json={"payload": "full"}))
    ok(admin.post(f"webhooks/{subscription['id']}/test"), 201)
    assert bodies(receiver, 4)[3]["payload"] == {"subscription_id": subscription["id"]}


def test_fields_limit_the_payload_and_former_values(admin, receiver):
    subscription = subscribe(admin, receiver.url, "broker.*", fields=["name", "creci"], include=["changed", "previous"],
                             ordering="resource")
    broker = admin.broker(name="Ana", email="ana@example.com", creci="SP-123456")
    path = "brokers/" + broker["id"]
    ok(admin.patch(path, json={"name": "Bia", "email": "bia@example.com"}))
    created, updated = bodies(receiver, 2)
    assert set(created["payload"]) == {*IDENTITY, "name", "creci"} and list(created["payload"]) == [
        name for name in broker if name in created["payload"]]
    assert {name: broker[name] for name in created["payload"]} == created["payload"]
    assert updated["changed"] == ["name", "email"] and updated["previous"] == {"name": "Ana"}
    assert b"example.com" not in receiver.arrivals[1].body
    shown = [detail(admin, subscription, one)["payload"] for one in deliveries(admin, subscription)]
    assert shown == [updated["payload"], created["payload"]]
    ok(admin.post(f"webhooks/{subscription['id']}/test"), 201)
    assert bodies(receiver, 3)[2]["payload"] == {"subscription_id": subscription["id"]}
    assert "fields" not in ok(admin.patch("webhooks/" + subscription["id"], json={"fields": None}))
    ok(admin.patch(path, json={"email": "clara@example.com"}))
    assert bodies(receiver, 4)[3]["payload"]["email"] == "clara@example.com"


def test_fields_are_limited_after_masking(admin, receiver):
    subscribe(admin, receiver.url, "party.*", fields=["email"], is_masked=True)
    ResourceFactory(admin).party(email="ana@example.com")
    payload = bodies(receiver, 1)[0]["payload"]
    assert set(payload) == {*IDENTITY, "email"} and payload["email"] == "***"


@pytest.mark.parametrize("events, fields, wrong", [
    (["broker.*"], ["name", "sale_price"], "fields[1]"),
    (["broker.created", "property.*"], ["name", "sale_price"], None),
    (["lead.created"], ["name", "nothing"], "fields[1]"),
    (["*"], ["message"], "fields[0]"),
    (["party.*"], ["bank_account"], "fields[0]"),
    (["webhook.*"], ["health"], None),
    (["webhook.*"], ["secret"], "fields[0]"),
    (["whatsapp.*"], ["direction", "status"], None)])
def test_fields_are_those_of_the_payloads(admin, events, fields, wrong):
    answer = admin.post("webhooks", json={"url": UNREACHABLE_URL, "events": events, "fields": fields})
    if wrong:
        problem = refused(answer, 400, "validation.webhook.fields_invalid")
        assert [one["field"] for one in problem["errors"]] == [wrong]
    else:
        assert ok(answer, 201)["fields"] == fields


@pytest.mark.parametrize("more, wrong", [({"fields": ["name"]}, "fields"), ({"include": ["changed"]}, "include")])
def test_a_thin_payload_has_neither_fields_nor_former_values(admin, more, wrong):
    body = {"url": UNREACHABLE_URL, "events": ["broker.*"]}
    subscription = ok(admin.post("webhooks", json={**body, **more}), 201)
    for answer in (admin.post("webhooks", json={**body, **more, "payload": "thin"}),
                   admin.patch("webhooks/" + subscription["id"], json={"payload": "thin"})):
        assert [one["field"] for one in refused(answer, 400, f"validation.webhook.{wrong}_invalid")["errors"]] == [wrong]
    ok(admin.patch("webhooks/" + subscription["id"], json={"payload": "thin", wrong: None}))


def test_other_payloads_are_refused(admin):
    refused(admin.post("webhooks", json={"url": UNREACHABLE_URL, "events": ["*"], "payload": "empty"}), 400,
            "validation.webhook.payload_invalid")
