# SPDX-License-Identifier: Apache-2.0
"""What a subscription adds to its deliveries: description, metadata, own headers."""

import pytest
from client import ok, wrong_fields
from webhook_fixtures import (FAST, activate, admin, module_admin_factory, module_instance, receiver,  # noqa: F401
                              subscribe, until)

CONF = FAST
URL = "https://crm.example.com/hooks"
HIDDEN = "********"
INVALID = "validation.webhook.headers_invalid"
TOKEN = {"X-Gateway-Token": "4c9f 8b2e!"}


def new(api, **fields):
    return api.post("webhooks", json={"url": URL, "events": ["broker.created"], **fields})


def path(subscription):
    return "webhooks/" + subscription["id"]


def stored(instance, subscription):
    return dict(instance.sql("select name, value from neoapi.webhook_header where subscription_id = %s", subscription["id"]))


def test_a_subscription_has_a_description_and_metadata(admin):
    kept = {"description": "Brokers for the website", "metadata": {"team": "website", "empty": ""}}
    subscription = ok(new(admin, **kept), 201)
    assert {name: subscription[name] for name in kept} == kept
    assert ok(admin.get(path(subscription)))["metadata"] == kept["metadata"]
    assert ok(admin.get("webhooks"))["items"][0]["description"] == kept["description"]
    changed = ok(admin.patch(path(subscription), json={"description": None, "metadata": {"empty": None}}))
    assert "description" not in changed and changed["metadata"] == {"team": "website"}
    assert "metadata" not in ok(admin.put(path(subscription), json={"url": URL, "events": ["*"]}))


def test_deliveries_have_the_headers_of_their_subscription(admin, receiver):
    headers = {**TOKEN, "Authorization": "Bearer eyJ.x.y", "x-tenant": "a", "X-4": "4", "X-5": "5"}
    plain = subscribe(admin, receiver.url, "broker.created")
    subscription = subscribe(admin, receiver.url + "/own", "broker.created", headers=headers)
    admin.broker()
    for one in plain, subscription:
        until(admin, one, "success")
    arrivals = {arrival.path: arrival for arrival in receiver.wait_for(2)}
    own = arrivals.pop("/own")
    assert {name: own.headers[name.lower()] for name in headers} == headers
    other, = arrivals.values()
    assert set(other.headers) == set(own.headers) - {name.lower() for name in headers}


def test_values_of_headers_are_encrypted_and_never_returned(admin, module_instance):
    subscription = ok(new(admin, headers=TOKEN), 201)
    hidden = {name: HIDDEN for name in TOKEN}
    assert subscription["headers"] == hidden
    assert ok(admin.get(path(subscription)))["headers"] == hidden
    sealed = stored(module_instance, subscription)
    assert list(sealed) == list(TOKEN) and TOKEN["X-Gateway-Token"] not in sealed["X-Gateway-Token"]
    assert "4c9f" not in str(module_instance.sql("select s::text from neoapi.webhook_subscription s where id = %s",
                                                 subscription["id"]))
    assert admin.delete(path(subscription)).status_code == 204
    assert stored(module_instance, subscription) == {}


def test_a_response_can_be_sent_back(admin, receiver, module_instance):
    subscription = subscribe(admin, receiver.url, "broker.created", headers={**TOKEN, "X-Other": "1"})
    sealed = stored(module_instance, subscription)
    whole = ok(admin.get(path(subscription)))
    assert ok(admin.put(path(subscription), json=whole)) == whole
    assert stored(module_instance, subscription) == sealed
    changed = ok(admin.patch(path(subscription), json={"headers": {"X-Other": None, "X-New": "2"}}))
    assert changed["headers"] == {"X-Gateway-Token": HIDDEN, "X-New": HIDDEN}
    admin.broker()
    until(admin, subscription, "success")
    headers = receiver.wait_for(1)[0].headers
    assert (headers["x-gateway-token"], headers["x-new"]) == (TOKEN["X-Gateway-Token"], "2") and "x-other" not in headers
    assert "headers" not in ok(admin.patch(path(subscription), json={"headers": None}))
    assert stored(module_instance, subscription) == {}


def test_a_hidden_value_without_a_stored_one_is_refused(admin):
    for name in "create", "patch", "put":
        body = {"url": URL, "events": ["*"], "headers": {"X-New": HIDDEN}}
        subscription = None if name == "create" else ok(new(admin, headers=TOKEN), 201)
        response = (new(admin, **body) if name == "create" else
                    getattr(admin, name)(path(subscription), json=body if name == "put" else {"headers": body["headers"]}))
        assert wrong_fields(response) == {"headers.X-New": INVALID}


@pytest.mark.parametrize("name", ["Host", "connection", "Keep-Alive", "Transfer-Encoding", "TE", "Upgrade", "Proxy-Authorization",
                                  "Content-Type", "content-length", "X-Webhook-Signature", "webhook-id", "Webhook-Signature",
                                  "traceparent", "Expect", "a b", "ä", "x:y", "User-Agent", "X_Webhook_Signature", "Content_length"])
def test_some_headers_cannot_be_set(admin, name):
    response = new(admin, headers={name: "1"})
    assert wrong_fields(response) == {f"headers.{name}": INVALID}


@pytest.mark.parametrize("value", ["", " a", "a ", "a\r\nX-B: c", "a\tb", "é", "x" * 2001, 1])
def test_values_of_headers_are_visible_text(admin, value):
    response = new(admin, headers={"X-A": value})
    assert wrong_fields(response) == {"headers.X-A": INVALID}


def test_a_subscription_has_five_headers_of_different_names(admin):
    six = {f"X-{n}": "1" for n in range(6)}
    assert wrong_fields(new(admin, headers=six)) == {"headers": INVALID}
    assert wrong_fields(new(admin, headers={"X-A": "1", "x-a": "2"})) == {"headers.x-a": INVALID}
    assert wrong_fields(new(admin, headers={"X-A": "1", "X_A": "2"})) == {"headers.X_A": INVALID}


def test_a_subscription_can_be_disabled_with_its_headers(admin, receiver):
    subscription = subscribe(admin, receiver.url, "broker.created", headers=TOKEN)
    activate(admin, subscription, False)
    admin.broker()
    activate(admin, subscription)
    admin.broker()
    until(admin, subscription, "success")
    assert receiver.wait_for(1)[0].headers["x-gateway-token"] == TOKEN["X-Gateway-Token"]
