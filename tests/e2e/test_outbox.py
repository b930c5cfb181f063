# SPDX-License-Identifier: Apache-2.0
"""The outbox: a write queues its deliveries in the same statement."""

import json
import re
import uuid

import pytest
from client import MOMENT, ULID, Api, ok, refused
from event_log import deliveries
from wait import together

PAYLOAD = ["id", "name", "creci", "email", "tenant_id", "organization_id", "created_at", "updated_at"]
FULL = {"name": "Ana Lúcia \"Z\"", "creci": "SP 1", "email": "ana@example.com", "phone": "+55 11 1", "document_number": "1",
        "visibility": "public", "bank_account": {"pix_key": "secret@example.com", "bank_code": "341"}}
# Deliveries fail: the courier does not deliver to this machine.
UNREACHABLE_URL = "https://127.0.0.1:9/"


@pytest.fixture
def subscribe(own_api):
    """subscribe(*events, active=True, api=own): the id of a new subscription."""
    made = []

    def new(*events, active=True, api=own_api):
        body = {"url": UNREACHABLE_URL, "events": list(events), "is_active": active}
        made.append((api, ok(api.post("webhooks", json=body), 201)["id"]))
        return made[-1][1]

    yield new
    for api, id in made:
        ok(api.delete("webhooks/" + id), 204)


def events(instance, subscription):
    return [event for event, _ in deliveries(instance, subscription)]


def live(api):
    """Creates, changes twice and deletes. Returns the body of each response except the last."""
    created = ok(api.post("brokers", json=FULL), 201)
    path = "brokers/" + created["id"]
    answers = [created, ok(api.patch(path, json={"name": "Bia"})), ok(api.put(path, json={"name": "Caio"}))]
    ok(api.delete(path), 204)
    return answers


def expected_payload(broker):
    return {name: broker[name] for name in PAYLOAD if name in broker}


LIFE = ["broker.created", "broker.updated", "broker.updated", "broker.deleted"]


def test_every_write_queues_an_event_with_exactly_eight_fields(own_api, instance, subscribe):
    subscription = subscribe("broker.created", "broker.updated", "broker.deleted")
    created, changed, replaced = live(own_api)
    delivered = deliveries(instance, subscription)
    assert [event for event, _ in delivered] == LIFE
    deleted = {**expected_payload(replaced), "updated_at": delivered[-1][1]["updated_at"]}
    assert [payload for _, payload in delivered] == [expected_payload(created), expected_payload(changed), expected_payload(replaced), deleted]
    assert deleted["updated_at"] > replaced["updated_at"]
    assert list(delivered[0][1]) == PAYLOAD


def test_a_delivery_is_pending_and_belongs_to_the_organization(own_api, instance, subscribe):
    subscription = subscribe("*")
    broker = own_api.broker()
    rows = instance.sql("select d.organization_id, d.id, d.event_type, neoapi.format_timestamp(d.created_at), q.subscription_id"
                        " from neoapi.webhook_delivery d join neoapi.webhook_queue q using (organization_id, id)"
                        " where d.subscription_id = %s", subscription)
    (organization, id, event, at, queued), = rows
    assert (organization, event, queued) == (own_api.credential.organizations[0], "broker.created", subscription)
    assert re.fullmatch("whd_" + ULID, id) and re.fullmatch(MOMENT, at) and at == broker["created_at"]
    assert ok(own_api.get(f"webhooks/{subscription}/deliveries/{id}"))["status"] == "pending"


def test_events_never_have_bank_account_data(own_api, instance, subscribe):
    subscription = subscribe("*")
    live(own_api)
    assert "secret@example.com" not in json.dumps(deliveries(instance, subscription))


@pytest.mark.parametrize("wanted, delivered", [
    (["*"], LIFE),
    (["broker.created"], ["broker.created"]),
    (["broker.updated"], ["broker.updated"] * 2),
    (["broker.deleted"], ["broker.deleted"]),
    (["broker.deleted", "broker.created", "property.created"], ["broker.created", "broker.deleted"]),
    (["property.created", "party.updated"], []),
])
def test_a_subscription_gets_the_events_that_it_lists(own_api, instance, subscribe, wanted, delivered):
    subscription = subscribe(*wanted)
    live(own_api)
    assert events(instance, subscription) == delivered


def test_every_subscription_gets_a_delivery_of_its_own(own_api, instance, subscribe):
    several = [subscribe("*") for _ in range(40)]
    own_api.broker()
    rows = instance.sql("select id, subscription_id, event_id from neoapi.webhook_delivery where organization_id = %s",
                        own_api.credential.organizations[0])
    assert len({id for id, _, _ in rows}) == 40 and {subscription for _, subscription, _ in rows} == set(several)
    assert len({event for _, _, event in rows}) == 1


def test_an_inactive_subscription_gets_no_events(own_api, instance, subscribe):
    inactive, active = subscribe("*", active=False), subscribe("*")
    live(own_api)
    assert events(instance, inactive) == [] and events(instance, active) == LIFE


def test_a_subscription_of_another_organization_gets_no_events(own_api, principals, instance, subscribe):
    other = Api(instance, principals.other)
    foreign = [subscribe("*", api=api) for api in (Api(instance, principals.token_both, principals.organization_2), other)]
    live(own_api)
    assert [events(instance, one) for one in foreign] == [[], []]
    other.broker()
    assert events(instance, foreign[1]) == ["broker.created"]


def test_a_failed_write_queues_no_event(own_api, instance, subscribe):
    broker, other = own_api.broker(creci="SP 1"), own_api.broker(creci="SP 2")
    subscription = subscribe("*")
    path, unknown = "brokers/" + other["id"], "brokers/brk_" + "0" * 26
    refused(own_api.post("brokers", json={"name": "Ana", "creci": "sp1"}), 409, "conflict.duplicate")
    refused(own_api.post("brokers", json={}), 400, "validation.broker.name_required")
    refused(own_api.patch(path, json={"creci": "sp1"}), 409, "conflict.duplicate")
    refused(own_api.put(path, json={"name": "Ana", "creci": "sp1"}), 409, "conflict.duplicate")
    for send in (own_api.patch, own_api.put):
        refused(send(path, json={"name": "Bia"}, headers={"If-Match": '"x"'}), 412, "conflict.precondition_failed")
        refused(send(unknown, json={"name": "Bia"}), 404, "not_found.broker")
    refused(own_api.delete(path, headers={"If-Match": '"x"'}), 412, "conflict.precondition_failed")
    refused(own_api.delete(unknown), 404, "not_found.broker")
    assert own_api.with_(credential="x").delete("brokers/" + broker["id"]).status_code == 401
    assert events(instance, subscription) == []


def test_a_replay_queues_no_event(own_api, instance, subscribe):
    subscription = subscribe("*")
    key = {"Idempotency-Key": str(uuid.uuid4())}
    for _ in range(3):
        ok(own_api.post("brokers", json={"name": "Ana"}, headers=key), 201)
    assert events(instance, subscription) == ["broker.created"]


def test_a_hundred_concurrent_copies_queue_one_event(own_api, instance, subscribe):
    subscription = subscribe("*")
    key = {"Idempotency-Key": str(uuid.uuid4())}
    together(*[lambda: ok(own_api.with_().post("brokers", json={"name": "Ana"}, headers=key), 201)] * 50)
    assert events(instance, subscription) == ["broker.created"]


def test_a_read_queues_no_event(own_api, instance, subscribe):
    path = "brokers/" + own_api.broker()["id"]
    subscription = subscribe("*")
    for method in (own_api.get, own_api.head, own_api.options):
        method(path)
    own_api.get("brokers")
    assert events(instance, subscription) == []


def test_a_conditional_write_queues_an_event(own_api, instance, subscribe):
    subscription = subscribe("*")
    response = own_api.post("brokers", json={"name": "Ana"})
    path, etag = "brokers/" + response.json()["id"], response.headers["ETag"]
    etag = own_api.patch(path, json={"phone": "1"}, headers={"If-Match": etag}).headers["ETag"]
    ok(own_api.delete(path, headers={"If-Match": etag}), 204)
    assert events(instance, subscription) == ["broker.created", "broker.updated", "broker.deleted"]
