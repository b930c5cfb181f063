# SPDX-License-Identifier: Apache-2.0
"""Filters of subscriptions: only the changes that match before or after get a delivery."""

import json

import pytest
from batching import create, results, send, update
from client import ok, wrong_fields
from factories import PLACE, ResourceFactory
from wait import together
from webhook_fixtures import (FAST, activate, admin, complete, deliveries, module_admin_factory, module_instance,  # noqa: F401
                              recover, subscribe)

CONF = FAST
URL = "http://127.0.0.1:9/"
INVALID = "validation.webhook.filters_invalid"


@pytest.fixture
def make(admin):
    return ResourceFactory(admin)


def filtered(api, kind, *events, **filters):
    return subscribe(api, URL, *events or [f"{kind}.*"], filters={kind: filters})


def types(api, subscription):
    """The types of all deliveries so far, oldest first. The statement of a change writes its deliveries, so nothing is waited for."""
    return [one["event_type"].split(".")[1] for one in reversed(deliveries(api, subscription))]


def patch(api, resource, **fields):
    return ok(api.patch(f"properties/{resource['id']}", json=fields))


def test_a_change_matches_before_or_after(admin, make):
    active = filtered(admin, "property", status=["active"])
    whole = subscribe(admin, URL, "property.*")
    one = make.property(status="draft")
    assert types(admin, active) == []
    patch(admin, one, status="active")
    patch(admin, one, title="A better title")
    patch(admin, one, status="on_hold")
    assert types(admin, active) == ["updated"] * 3
    patch(admin, one, title="Without a reader")
    assert admin.delete("properties/" + one["id"]).status_code == 204
    assert types(admin, active) == ["updated"] * 3
    other = make.property(status="active")
    assert admin.delete("properties/" + other["id"]).status_code == 204
    assert types(admin, active) == ["updated"] * 3 + ["created", "deleted"]
    assert len(types(admin, whole)) == 8


def test_no_row_is_written_without_a_match(admin, make, module_instance):
    rows = lambda: module_instance.sql("select (select count(*) from neoapi.webhook_delivery), (select count(*) from neoapi.webhook_queue)")  # noqa: E731
    filtered(admin, "property", status=["sold"])
    before = rows()
    one = make.property(status="active")
    patch(admin, one, title="Another title")
    assert rows() == before


def test_updates_match_by_the_fields_that_change(admin, make):
    changed = filtered(admin, "property", status=["active"], changed=["sale_price", "status"])
    updates = filtered(admin, "property", "property.updated", changed=["title"])
    one = make.property(status="active", sale_price=100)
    patch(admin, one, sale_price=200)
    patch(admin, one, title="Another title")
    patch(admin, one, sale_price=300, title="A third title", status="on_hold")
    patch(admin, one, sale_price=400)
    assert types(admin, changed) == ["created", "updated", "updated"]
    assert types(admin, updates) == ["updated"] * 2


def test_all_filters_of_a_kind_must_match_and_one_value_of_each(admin, make):
    both = filtered(admin, "property", status=["active", "sold"], transaction_type=["rent"])
    make.property(status="active", transaction_type="sale")
    make.property(status="draft", transaction_type="rent", rent_price=1000)
    assert types(admin, both) == []
    make.property(status="active", transaction_type="rent", rent_price=1000)
    assert types(admin, both) == ["created"]


def test_a_change_before_and_after_is_not_mixed(admin, make):
    """The status matches only before, the city only after."""
    both = filtered(admin, "property", status=["active"], city=["Santos"])
    one = make.property(status="active", address={**PLACE, "city": "São Paulo"})
    patch(admin, one, status="on_hold", address={"city": "Santos"})
    assert types(admin, both) == []
    patch(admin, one, status="active")
    assert types(admin, both) == ["updated"]


def test_filters_follow_paths_and_ignore_case_and_accents(admin, make):
    owner, other, broker = make.party(), make.party(), admin.broker()
    subscriptions = [filtered(admin, "property", city=["SAO PAULO", "Santos"]), filtered(admin, "property", state=["SP"]),
                     filtered(admin, "property", owner_id=[owner["id"]]), filtered(admin, "property", broker_id=[broker["id"]]),
                     filtered(admin, "party", role=["guarantor"])]
    one = make.property(address={**PLACE, "neighborhood": "Vila Mariana"}, owners=[{"party_id": owner["id"], "share_bps": 10000}],
                        broker_id=broker["id"])
    make.party(roles=["tenant", "guarantor"])
    make.party(roles=["tenant"])
    assert [types(admin, one) for one in subscriptions] == [["created"]] * 5
    only = filtered(admin, "property", ids=[one["id"]])
    patch(admin, one, owners=[{"party_id": other["id"], "share_bps": 10000}])
    make.property()
    assert types(admin, only) == types(admin, subscriptions[2])[1:] == ["updated"]


def test_other_kinds_of_events_are_not_restricted(admin, make):
    some = subscribe(admin, URL, "*", filters={"property": {"status": ["active"]}})
    listed = subscribe(admin, URL, "property.created", "property.*", "broker.created", filters={"property": {"status": ["active"]}})
    admin.broker()
    make.property(status="draft")
    make.property(status="active")
    assert [one["event_type"] for one in deliveries(admin, some)] == ["property.created", "broker.created"]
    assert [one["event_type"] for one in deliveries(admin, listed)] == ["property.created", "broker.created"]


def test_batches_are_filtered_row_by_row(admin, make):
    active = filtered(admin, "property", status=["active"])
    bodies = [make.body("properties", status=status) for status in ("active", "draft", "active")]
    made = results(send(admin, *[create(**body) for body in bodies], collection="properties"), 201, 201, 201)
    assert types(admin, active) == ["created"] * 2
    results(send(admin, *[update(one["resource"], title="New") for one in made], collection="properties"), 200, 200, 200)
    assert types(admin, active) == ["created"] * 2 + ["updated"] * 2


def test_concurrent_creates_are_filtered_one_by_one(admin):
    names = [f"Name {n}" for n in range(12)]
    nothing = filtered(admin, "broker", ids=["brk_" + "0" * 26])
    together(*[lambda name=name: admin.broker(name=name) for name in names])
    assert types(admin, nothing) == []


def test_effects_on_other_resources_are_filtered(admin, make):
    """An accepted proposal puts the property under contract."""
    subscription = filtered(admin, "property", status=["under_contract"])
    make.accepted()
    assert types(admin, subscription) == ["updated"]


def test_leads_and_messages_are_filtered(admin, make, module_instance):
    new = filtered(admin, "lead", status=["new"])
    lead = make.lead()
    ok(admin.patch("leads/" + lead["id"], json={"status": "contacted"}))
    ok(admin.patch("leads/" + lead["id"], json={"message": "Called"}))
    assert types(admin, new) == ["created", "updated"]
    inbound = filtered(admin, "whatsapp", "whatsapp.message.received", "whatsapp.message.updated", direction=["inbound"])
    for direction in "inbound", "outbound":
        module_instance.sql("select neoapi.add_event(%s, 'whatsapp.message.updated', 'wam_x', %s)",
                            admin.credential.organizations[0], json.dumps({"direction": direction}))
    assert len(deliveries(admin, inbound)) == 1


def test_a_recovery_sends_only_what_matches(admin, make):
    active = filtered(admin, "property", status=["active"], changed=["sale_price"])
    activate(admin, active, False)
    one = make.property(status="active", sale_price=100)
    patch(admin, one, sale_price=200)
    patch(admin, one, title="Another title")
    patch(admin, one, status="on_hold", sale_price=300)
    patch(admin, one, sale_price=400)
    assert types(admin, active) == []
    assert recover(admin, active) == complete(3)
    assert types(admin, active) == ["created", "updated", "updated"]


def test_a_retry_sends_what_the_filter_no_longer_matches(admin, make):
    active = filtered(admin, "property", status=["active"])
    make.property(status="active")
    ok(admin.patch("webhooks/" + active["id"], json={"filters": {"property": {"status": ["sold"]}}}))
    delivery, = deliveries(admin, active)
    ok(admin.post(f"webhooks/{active['id']}/deliveries/{delivery['id']}/retry"), 201)


def test_a_change_of_filters_applies_at_once(admin, make, module_instance):
    one = filtered(admin, "property", status=["active"])
    assert one["filters"] == {"property": {"status": ["active"]}}
    changed = ok(admin.patch("webhooks/" + one["id"], json={"filters": {"property": {"status": ["sold"], "state": ["RJ"]}}}))
    assert changed["filters"] == {"property": {"status": ["sold"], "state": ["RJ"]}}
    make.property(status="active")
    assert types(admin, one) == []
    assert "filters" not in ok(admin.patch("webhooks/" + one["id"], json={"filters": None}))
    make.property(status="draft")
    assert types(admin, one) == ["created"]
    shapes = lambda: module_instance.sql("select kind, shape, subscriptions from neoapi.webhook_shape where organization_id = %s",  # noqa: E731
                                         admin.credential.organizations[0])
    assert shapes() == []
    whole = ok(admin.put("webhooks/" + one["id"], json={"url": URL, "events": ["*"], "filters": {"property": {"status": ["sold"]}}}))
    filtered(admin, "property", status=["active"])
    assert shapes() == [("property", "status", 2)]
    ok(admin.patch("webhooks/" + one["id"], json={"is_active": False}))
    make.property(status="sold")
    assert types(admin, whole) == ["created"]
    assert admin.delete("webhooks/" + one["id"]).status_code == 204
    assert shapes() == [("property", "status", 1)]
    assert module_instance.sql("select 1 from neoapi.webhook_route where subscription_id = %s", one["id"]) == []


@pytest.mark.parametrize("filters, field", [
    ({"property": {"status": ["open"]}}, "filters.property.status"),
    ({"property": {"status": "active"}}, "filters.property.status"),
    ({"property": {"status": []}}, "filters.property.status"),
    ({"property": {"changed": ["updated_at"]}}, "filters.property.changed"),
    ({"property": {"owner_id": ["me"]}}, "filters.property.owner_id[0]"),
    ({"property": {"city": [1]}}, "filters.property.city[0]"),
    ({"property": {"sale_price_gte": [1]}}, "filters.property.sale_price_gte"),
    ({"house": {}}, "filters.house"),
    ({"broker": {"changed": ["name"]}}, "filters.broker"),
    ({"property": ["status"]}, "filters.property"),
    ({"property": {"city": [str(n) for n in range(50)], "status": ["sold", "active", "draft", "rented", "on_hold"]}}, "filters.property"),
    ([], "filters"),
])
def test_errors_name_the_member(admin, filters, field):
    response = admin.post("webhooks", json={"url": URL, "events": ["property.*"], "filters": filters})
    assert list(wrong_fields(response)) == [field]


def test_another_organization_s_subscriptions_match_nothing(admin, module_instance, module_admin_factory, make):
    other = type(admin)(module_instance, module_admin_factory.key())
    theirs = filtered(other, "property", status=["active"])
    mine = filtered(admin, "property", status=["active"])
    make.property(status="active")
    assert (types(other, theirs), types(admin, mine)) == ([], ["created"])
