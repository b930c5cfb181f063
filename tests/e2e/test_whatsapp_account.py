# SPDX-License-Identifier: Apache-2.0
"""What WhatsApp reports about an account: how messages are billed, numbers."""

import pytest

from client import Api, ok
from event_log import events
from whatsapp import PHONE, description, meta, module_admin_factory, module_instance, org, provider  # fixtures among them

from callbacks import account_change, echo, echoes, failure, priced, status, text
from meta import after, error

CONF = "NeoAPIWhatsAppTimeout 60\n"  # no test waits for it, whatever the load
MARKETING = priced()
FREE = priced("service", billable=False, kind="free_customer_service")


def read(org, path, operation=None, **params):
    """A response, which must match the OpenAPI document."""
    answer = org.api.get(path, params=params)
    description(org.instance).operation("get", operation or f"/{path}").check(answer)
    return ok(answer)


def usage(org):
    """The sums of all months together: a test can begin in one month and end in the next."""
    found = {}
    for one in read(org, "whatsapp/usage")["items"]:
        row = found.setdefault((one["number_id"], one["category"]),
                               {"number_id": one["number_id"], "category": one["category"], "messages": 0, "billable": 0})
        for name in ("messages", "billable"):
            row[name] += one[name]
    return [found[key] for key in sorted(found)]


def sums(org, category="marketing", count=1, billable=1):
    return {"number_id": org.number_id, "category": category, "messages": count, "billable": billable}


def pricing(org, made):
    items = read(org, f"whatsapp/conversations/{made['conversation']['id']}/messages", "/whatsapp/conversations/{id}/messages")["items"]
    return next(one.get("pricing") for one in items if one["id"] == made["message"]["id"])


# ---------------------------------------------------------------- pricing


@pytest.mark.parametrize("states", [["sent", "delivered", "read"], ["read", "delivered", "sent"], ["read", "sent"]])
def test_a_message_has_the_pricing_of_its_statuses_in_any_order(org, states):
    made, send = org.begin()
    assert pricing(org, made) is None and not usage(org)
    for state in states:
        org.notify(status(send, state, PHONE, pricing=None if state == "read" else MARKETING))
    assert org.status_of(made) == "read" and pricing(org, made) == MARKETING and usage(org) == [sums(org)]


def test_statuses_of_one_callback_share_the_pricing(org):
    made, send = org.begin()
    org.notify(status(send, "read", PHONE), status(send, "delivered", PHONE, pricing=MARKETING), status(send, "sent", PHONE))
    assert org.status_of(made) == "read" and pricing(org, made) == MARKETING and usage(org) == [sums(org)]


def test_a_repeated_status_is_counted_once(org):
    _, send = org.begin()
    for _ in range(3):
        org.notify(status(send, "delivered", PHONE, pricing=MARKETING))
    assert usage(org) == [sums(org)]


def test_a_pricing_that_arrives_before_the_response_is_stored(org):
    """The status has another opaque id, so that it cannot be applied before the message has WhatsApp's id."""
    org.meta.behave(after(lambda send: org.notify(status(send.id, "sent", PHONE, opaque="other", pricing=MARKETING))))
    made, _ = org.begin()
    assert made["message"]["pricing"] == MARKETING and usage(org) == [sums(org)]


def test_another_pricing_replaces_the_first(org):
    made, send = org.begin()
    org.notify(status(send, "sent", PHONE, pricing=MARKETING))
    org.notify(status(send, "delivered", PHONE, pricing=FREE))
    assert pricing(org, made) == FREE and usage(org) == [sums(org, "service", billable=0)]
    org.notify(status(send, "read", PHONE, pricing={**FREE, "billable": True}))
    assert usage(org) == [sums(org, "service")]


def test_a_repeated_or_earlier_status_does_not_change_the_pricing(org):
    made, send = org.begin()
    for state, cost in (("delivered", FREE), ("sent", MARKETING), ("delivered", MARKETING), ("sent", MARKETING)):
        org.notify(status(send, state, PHONE, pricing=cost))
        assert pricing(org, made) == FREE and usage(org) == [sums(org, "service", billable=0)]
    assert [one["type"] for one in events(org.instance, org.organization)].count("whatsapp.message.updated") == 1


@pytest.mark.parametrize("is_device", [False, True])
def test_the_latest_status_that_arrives_before_the_message_has_its_pricing(org, is_device):
    sent = echo(org.number, to=PHONE)

    def report(id):
        for state, cost in (("read", FREE), ("delivered", MARKETING)):
            org.notify(status(id, state, PHONE, opaque="other", pricing=cost))
    if is_device:
        report(sent["id"])
        org.deliver(echoes(org.number, sent))
    else:
        org.meta.behave(after(lambda send: report(send.id)))
        org.begin()
    assert usage(org) == [sums(org, "service", billable=0)]


def test_a_message_that_fails_is_not_counted(org):
    made, send = org.begin()
    org.notify(status(send, "sent", PHONE, pricing=MARKETING))
    org.notify(status(send, "failed", PHONE, errors=failure(131026)))
    assert org.status_of(made) == "failed" and pricing(org, made) == MARKETING and not usage(org)
    org.notify(status(send, "delivered", PHONE))
    assert usage(org) == [sums(org)]


# ---------------------------------------------------------------- usage


def test_usage_has_the_sums_by_number_and_category(org):
    id = org.opened()
    for category, billable in (("marketing", True), ("marketing", True), ("marketing", False), ("utility", True)):
        ok(org.send(id, text="Oi"), 201)
        org.notify(status(org.meta.sends[-1], "delivered", PHONE, pricing=priced(category, billable)))
    number, other, _ = org.add_number()
    org.notify(text("Oi!", PHONE, at=1), number=number)
    second = max(one["id"] for one in org.conversations() if one["number_id"] == other)
    ok(org.send(second, type="template", template_name="visita"), 201)
    org.notify(status(org.meta.sends[-1], "delivered", PHONE, pricing=MARKETING), number=number)
    assert usage(org) == sorted([sums(org, count=3, billable=2), sums(org, "utility"), {**sums(org), "number_id": other}],
                                key=lambda one: (one["number_id"], one["category"]))


def test_usage_is_read_by_months(org):
    for month, count in (("2025-12", 1), ("2026-01", 2), ("2026-02", 3)):
        org.instance.sql("insert into neoapi.whatsapp_usage values (%s, to_date(%s, 'YYYY-MM'), %s, 'utility', %s, 0)", org.organization,
                         month, org.number_id, count)
    for params, expected in (({}, [3, 2, 1]), ({"from": "2026-01"}, [3, 2]), ({"to": "2026-01"}, [2, 1]),
                             ({"from": "2026-01", "to": "2026-01"}, [2]), ({"from": "2026-03"}, []), ({"from": "2026-02", "to": "2026-01"}, [])):
        assert [one["messages"] for one in read(org, "whatsapp/usage", **params)["items"]] == expected, params
    assert read(org, "whatsapp/usage")["items"][0]["month"] == "2026-02"


@pytest.mark.parametrize("params, field", [({"from": "2026-13"}, "from"), ({"to": "2026-1"}, "to"), ({"from": "2026-01-01"}, "from"),
                                           ({"month": "2026-01"}, "month")])
def test_a_wrong_month_is_refused(org, params, field):
    answer = org.api.get("whatsapp/usage", params=params)
    assert answer.status_code == 400 and [item["field"] for item in answer.json()["errors"]] == [field]


@pytest.mark.parametrize("scopes, expected", [(["whatsapp:read"], 200), (["leads:read"], 403)])
def test_usage_needs_the_scope_and_the_organization(org, module_admin_factory, scopes, expected):
    _, send = org.begin()
    org.notify(status(send, "sent", PHONE, pricing=MARKETING))
    assert Api(org.instance, module_admin_factory.key(org.organization, scopes=scopes)).get("whatsapp/usage").status_code == expected
    assert ok(Api(org.instance, module_admin_factory.key()).get("whatsapp/usage"))["items"] == []


# ---------------------------------------------------------------- numbers


def numbers(org):
    return read(org, "whatsapp/numbers")["items"]


def reads(org):
    return len(org.meta.reads)


def age(org, kind, interval):
    """Makes what was read from Meta older."""
    org.instance.sql("update neoapi.whatsapp_report set read_at = read_at - %s::interval, tried_at = tried_at - %s::interval"
                     " where organization_id = %s and kind = %s", interval, interval, org.organization, kind)


def test_numbers_have_what_whatsapp_reports(org):
    first, = numbers(org)
    assert {name: first[name] for name in ("id", "phone_number_id", "account_id", "display_phone_number")} == {
        "id": org.number_id, "phone_number_id": org.number.id, "account_id": org.number.account, "display_phone_number": org.number.display}
    assert (first["verified_name"], first["quality_rating"], first["messaging_limit"]) == ("Horizonte Imóveis", "green", "tier_1k")
    org.meta.quality[org.number.id] = {"quality_rating": "YELLOW", "whatsapp_business_manager_messaging_limit": "TIER_2K"}
    assert numbers(org) == [first] and reads(org) == 1
    age(org, "numbers", "11 minutes")
    changed, = numbers(org)
    assert (changed["quality_rating"], changed["messaging_limit"]) == ("yellow", "tier_2k") and reads(org) == 2


def test_numbers_of_several_accounts_are_read_from_each(org):
    org.add_number(account=org.number.account)
    org.add_number()
    assert len(numbers(org)) == 3 and all(one["quality_rating"] == "green" for one in numbers(org)) and reads(org) == 2


@pytest.mark.parametrize("field", ["phone_number_quality_update", "phone_number_name_update"])
def test_a_callback_about_a_number_makes_it_be_read_again(org, field):
    numbers(org)
    org.meta.quality[org.number.id] = {"quality_rating": "RED"}
    org.deliver(account_change(org.number, field, display_phone_number="551140001234", event="DOWNGRADE", current_limit="TIER_250"))
    assert numbers(org)[0]["quality_rating"] == "red" and reads(org) == 2


def test_without_meta_the_last_known_numbers_are_returned(org):
    org.meta.reading = lambda handler: error(131016)(handler, None)
    for _ in range(2):  # the second request does not ask
        unknown, = numbers(org)
        assert unknown["id"] == org.number_id and "quality_rating" not in unknown and "reported_at" not in unknown
    assert reads(org) == 1 and "NEO0420" in org.instance.error_log
    org.meta.reading = None
    age(org, "numbers", "31 seconds")
    known = numbers(org)
    assert "quality_rating" in known[0]
    age(org, "numbers", "11 minutes")
    with org.meta.unreachable():
        assert numbers(org) == numbers(org) == known
    assert numbers(org) == known and reads(org) == 2


def test_a_field_that_meta_does_not_know_is_left_out(org):
    def refuse(handler):
        if "messaging_limit" in handler.path:
            return error(100)(handler, None)
        org.meta.reading = None
        handler.do_GET()
    org.meta.reading = refuse
    found, = numbers(org)
    assert found["quality_rating"] == "green" and "messaging_limit" not in found


def test_without_a_number_there_is_nothing_to_read(org, module_admin_factory):
    api = Api(org.instance, module_admin_factory.key())
    assert ok(api.get("whatsapp/numbers"))["items"] == ok(api.get("whatsapp/templates"))["items"] == []
    assert not org.meta.reads


def test_what_was_reported_is_removed_with_the_organization(org):
    numbers(org)
    ok(org.api.get("whatsapp/templates"))
    for args in (("whatsapp", "number", "remove", org.number_id), ("key", "revoke", org.api.credential.id),
                 ("organization", "remove", org.organization)):
        org.ctl(*args)
    for table in ("report", "template", "usage"):
        assert org.instance.sql(f"select count(*) from neoapi.whatsapp_{table} where organization_id = %s", org.organization) == [(0,)]
