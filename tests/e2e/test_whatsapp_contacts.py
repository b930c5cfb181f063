# SPDX-License-Identifier: Apache-2.0
"""The contents of Meta's callbacks: messages of every type, statuses of sent messages, the identity of contacts, and the number.

Opt-outs are tested in test_whatsapp_optout.py.
"""

import dataclasses
import itertools
import time

import pytest

from client import moment, ok, refused
from whatsapp import (PHONE, SHORT, WhatsAppOrg, meta, module_admin_factory,  # fixtures among them
                      module_instance, org, provider)

from callbacks import (CONTENT, change, contact, envelope, failure, message, preference, status, system, text,
                       notification)
from meta import accepting

DAY = 24 * 3600
BSUID, NEW_BSUID = "BR.13491208655302741918", "BR.99999999999999999999"
LANDLINE, LANDLINE_9 = "551132654321", "5511932654321"


def seconds(instant):
    """A timestamp of the database."""
    return instant.timestamp()


# ---------------------------------------------------------------- messages


def test_a_text_starts_a_conversation(org):
    now = int(time.time()) - 5
    update = text("Quero visitar.", PHONE, at=now)
    org.deliver(envelope(org.number, change(org.number, contacts=[contact(PHONE, "Bia")], messages=[update])))
    found, row = org.conversation(), org.messages()[0]
    assert (found["contact_wa_id"], found["contact_name"], found["number_id"]) == (PHONE, "Bia", org.number_id)
    assert (found["triage"], found["lead_id"], found["unread_count"]) == ("pending", None, 1)
    assert seconds(found["last_inbound_at"]) == seconds(row["occurred_at"]) == now
    assert {name: row[name] for name in ("direction", "source", "type", "body", "status", "provider_message_id")} == {
        "direction": "inbound", "source": "webhook", "type": "text", "body": "Quero visitar.", "status": "received",
        "provider_message_id": update["id"]}


# The readable text of a message of another type, if it has one.
BODIES = {"text": "Quero visitar o apartamento.", "image": "A fachada", "document": "Minha proposta",
          "button": "Agendar visita", "interactive": "Sim, quero", "reaction": "👍", "location": "Praça da Sé",
          "contacts": "Bia Souza"}
INTERACTIVE = {
    "a list": ({"type": "list_reply", "list_reply": {"id": "1", "title": "Sábado", "description": "de manhã"}}, "Sábado"),
    "a flow": ({"type": "nfm_reply", "nfm_reply": {"name": "flow", "body": "Sent", "response_json": '{"a":1}'}}, None),
    "something new": ({"type": "what_nobody_knows_yet", "what_nobody_knows_yet": {}}, None),
}


@pytest.mark.parametrize("kind", CONTENT)
def test_every_type_of_message_is_stored(org, kind):
    org.notify(message(kind, PHONE))
    row, = org.messages()
    assert (row["type"], row["direction"], row["status"]) == (kind, "inbound", "received")
    if kind in BODIES:
        assert row["body"] == BODIES[kind]


@pytest.mark.parametrize("content, body", INTERACTIVE.values(), ids=INTERACTIVE.keys())
def test_every_interactive_answer_is_stored(org, content, body):
    org.notify(message("interactive", PHONE, content=content))
    row, = org.messages()
    assert row["type"] == "interactive" and body in (None, row["body"])


def test_an_unknown_type_of_message_is_stored(org):
    org.notify({**message("unsupported", PHONE), "type": "hologram", "hologram": {"id": "1"}})
    assert org.messages()[0]["direction"] == "inbound" and org.conversation()["unread_count"] == 1


def test_media_types_are_distinguished(org, module_instance):
    org.notify(message("document", PHONE), text("Oi", PHONE))
    found = module_instance.sql("select type, has_media, media_mime_type, media_filename from neoapi.whatsapp_message"
                                " where organization_id = %s order by type", org.organization)
    assert found == [("document", True, "application/pdf", "proposta.pdf"), ("text", False, None, None)]


def test_late_messages_do_not_change_the_last_message(org):
    now = int(time.time())
    org.notify(text("new", PHONE, at=now))
    org.notify(text("old", PHONE, at=now - 500))
    found = org.conversation()
    assert seconds(found["last_inbound_at"]) == now and found["unread_count"] == 2
    made = org.begin(status=200)[0]["conversation"]
    assert moment(made["last_inbound_at"]) == now and made["last_message"]["direction"] == "outbound"
    assert made["last_message_at"] == made["last_message"]["occurred_at"]


def test_the_last_message_is_the_latest(org):
    """An outbound message is the last one until the contact replies, even within the same second."""
    lead = org.lead()
    org.begin(lead)
    org.notify(text("Quero!", PHONE, at=time.time() + 2))
    last = ok(org.start(lead), 200)["conversation"]["last_message"]
    newest = max(org.messages(), key=lambda row: (row["occurred_at"], row["id"]))
    assert (last["id"], last.get("body")) == (newest["id"], newest["body"])


def test_a_message_from_the_future_does_not_extend_the_window(org):
    org.notify(text("Oi", PHONE, at=time.time() + 10 * 365 * DAY))
    assert seconds(org.conversation()["last_inbound_at"]) < time.time() + 2 * DAY


# ---------------------------------------------------------------- edits and revocations


def edit(item, body, at):
    return message("edit", PHONE, content={"original_message_id": item["id"], "message": {"type": "text", "text": {"body": body}}}, at=at)


def revocation(item, at):
    return message("revoke", PHONE, content={"original_message_id": item["id"]}, at=at)


def test_edits_update_the_message_in_any_order(org):
    now = int(time.time()) - 100
    for order in itertools.permutations(range(3)):
        item = text("Quero visitr", PHONE, at=now)
        events = [item, edit(item, "Quero visita", now + 10), edit(item, "Quero visitar", now + 20)]
        before = org.conversation()["unread_count"] if org.conversations() else 0
        for n in order:
            org.notify(events[n])
        assert org.message(item)["body"] == "Quero visitar", order
        assert org.conversation()["unread_count"] == before + 1 and seconds(org.conversation()["last_inbound_at"]) == now


@pytest.mark.parametrize("revoked_first", [True, False])
def test_a_revocation_removes_the_text(org, revoked_first):
    now = int(time.time()) - 100
    item = text("Oi", PHONE, at=now)
    events = [item, edit(item, "Olá", now + 10), revocation(item, now + 20)]
    for one in events[::-1] if revoked_first else events:
        org.notify(one)
    assert org.message(item)["body"] is None and org.conversation()["unread_count"] == 1
    made = org.begin(status=200)[0]["conversation"]
    assert made["last_message"]["direction"] == "outbound"


def test_only_the_sender_can_edit_a_message(org):
    item = text("Oi", PHONE)
    org.notify(item)
    org.notify({**edit(item, "forged", int(time.time())), "from": "5521987654321"})
    assert org.message(item)["body"] == "Oi"


# ---------------------------------------------------------------- the window of 24 hours


@pytest.mark.parametrize("age, is_open", [(0, True), (DAY - 120, True), (DAY + 1, False), (30 * DAY, False)])
def test_the_window_is_open_for_24_hours(org, age, is_open):
    lead, then = org.lead(), int(time.time()) - age
    org.notify(text("Oi", PHONE, at=then))
    made = org.begin(lead, 200)[0]["conversation"]
    assert made["window_open"] is is_open
    assert moment(made["window_expires_at"]) == then + DAY and moment(made["last_inbound_at"]) == then


def test_without_an_answer_there_is_no_window(org):
    made = org.begin()[0]["conversation"]
    assert made["window_open"] is False and "window_expires_at" not in made and "last_inbound_at" not in made


# ---------------------------------------------------------------- statuses of sent messages

ORDERS = [["sent", "delivered", "read"], ["read", "delivered", "sent"], ["delivered", "sent", "read"], ["read"],
          ["sent", "sent", "read", "sent"], ["delivered", "played"], ["played", "read", "sent"]]


@pytest.mark.parametrize("order", ORDERS, ids=" ".join)
def test_statuses_only_advance_in_any_order_of_arrival(org, order):
    made, send = org.begin()
    for state in order:
        org.notify(status(send, state, PHONE))
    assert org.status_of(made) == "read"
    made = org.start(made["conversation"]["lead_id"]).json()
    assert made["conversation"]["last_message"]["id"] == made["message"]["id"]


@pytest.mark.parametrize("order", ORDERS, ids=" ".join)
def test_statuses_only_advance_within_one_callback(org, order):
    made, send = org.begin()
    org.notify(*[status(send, state, PHONE) for state in order])
    assert org.status_of(made) == "read"


@pytest.mark.parametrize("order, final", [
    (["failed"], "failed"), (["sent", "failed"], "failed"), (["delivered", "failed"], "delivered"),
    (["read", "failed"], "read"), (["failed", "sent"], "failed"), (["failed", "delivered"], "delivered")], ids=str)
def test_a_delivered_message_cannot_fail(org, order, final):
    made, send = org.begin()
    for state in order:
        org.notify(status(send, state, PHONE, errors=failure(131026) if state == "failed" else None))
    row = org.message(made)
    assert row["status"] == final
    assert (row["error_code"], bool(row["error_title"])) == ((131026, True) if final == "failed" else (None, False))


def test_the_time_of_a_status_is_its_timestamp(org):
    made, send = org.begin()
    then = int(time.time()) - 3
    org.notify(status(send, "delivered", PHONE, at=then))
    assert seconds(org.message(made)["status_at"]) == then


def test_the_conversation_shows_the_last_messages_status(org):
    lead = org.lead()
    key = "f47ac10b-58cc-4372-a567-0e02b2c3d479"
    made, send = org.begin(lead, key=key)
    org.notify(status(send, "read", PHONE))
    assert org.start(lead, key=key).json() == made  # the replayed response
    assert org.status_of(made) == "read"


def test_a_status_of_an_unknown_message_has_no_effect(org):
    made, send = org.begin()
    org.notify(status("wamid.unknown", "read", PHONE))
    assert org.status_of(made) == "accepted" and len(org.messages()) == 1


def test_a_status_of_another_organizations_message_changes_nothing(org, module_instance, module_admin_factory, meta):
    made, send = org.begin()
    other = WhatsAppOrg(module_instance, module_admin_factory, meta)
    other.notify(status(send, "failed", PHONE, errors=failure(131026)))
    other.notify(status(send.id, "read", PHONE))
    assert org.status_of(made) == "accepted"


def test_a_held_message_stays_held_until_it_is_sent(org):
    org.meta.behave(accepting(message_status="held_for_quality_assessment"))
    made, send = org.begin()
    assert org.conversation()["held"] is True
    org.notify(status(send, "sent", PHONE))
    assert org.conversation()["held"] is False


def test_a_held_message_is_not_changed_by_another_status(org):
    lead = org.lead()
    _, earlier = org.begin(lead)
    org.meta.behave(accepting(message_status="held_for_quality_assessment"))
    _, held = org.begin(lead, 200)
    for update in (status(earlier, "delivered", PHONE), status(earlier, "read", PHONE), text("Oi", PHONE)):
        org.notify(update)
        assert org.conversation()["held"] is True
    org.notify(status(held, "sent", PHONE), status(earlier, "read", PHONE))
    assert org.conversation()["held"] is False


# ---------------------------------------------------------------- unread messages


def test_unread_messages_are_counted(org):
    lead = org.lead()
    for expected in (1, 2, 3):
        org.notify(text(f"{expected}", PHONE))
        assert org.conversation()["unread_count"] == expected
    org.notify(status("wamid.x", "read", PHONE))
    assert org.begin(lead, 200)[0]["conversation"]["unread_count"] == 3


# ---------------------------------------------------------------- identity of contacts: phones


@pytest.mark.parametrize("known, inbound", [(PHONE, SHORT), (SHORT, PHONE), ("5585999887766", "558599887766")])
def test_a_brazilian_mobile_is_the_same_with_and_without_the_ninth_digit(org, known, inbound):
    made, _ = org.begin(org.lead(known))
    org.notify(text("Oi", inbound))
    assert org.conversation()["unread_count"] == 1 and org.conversation()["id"] == made["conversation"]["id"]
    org.notify(text("Oi", known))
    assert org.conversation()["unread_count"] == 2


@pytest.mark.parametrize("known, other", [
    (LANDLINE_9, LANDLINE),  # without the 9 it is not a mobile number
    ("5511187654321", "55111" + "7654321"), ("351912345678", "35191345678"), ("14155550123", "141555550123"),
    (PHONE, "551187654322"), (PHONE, "552187654321"), ("541187654321", "5411987654321")])
def test_other_numbers_are_not_confused(org, known, other):
    org.notify(text("Oi", known))
    org.notify(text("Oi", other))
    assert len(org.conversations()) == 2


@pytest.mark.parametrize("inbound", [PHONE, SHORT])
def test_a_contact_who_is_a_lead_is_recognised(org, inbound):
    lead = org.lead(PHONE)
    org.notify(text("Oi", inbound))
    assert org.conversation()["lead_id"] == lead and org.conversation()["triage"] == "assigned"
    assert org.begin(lead, 200)[0]["conversation"]["id"] == org.conversation()["id"]


def test_a_lead_of_another_organization_is_not_recognised(org, module_instance, module_admin_factory, meta):
    other = WhatsAppOrg(module_instance, module_admin_factory, meta)
    other.lead(PHONE)
    org.notify(text("Oi", PHONE))
    assert org.conversation()["lead_id"] is None and not other.conversations()


def test_two_numbers_of_an_organization_have_separate_conversations(org):
    second, second_id, _ = org.add_number()
    org.notify(text("Oi", PHONE))
    org.notify(text("Oi", PHONE), number=second)
    assert sorted(one["number_id"] for one in org.conversations()) == sorted([org.number_id, second_id])
    assert [one["unread_count"] for one in org.conversations()] == [1, 1]


def test_the_name_is_the_one_that_the_contact_has_chosen(org):
    lead = org.lead(PHONE, "Carla (site)")
    assert org.begin(lead)[0]["conversation"]["contact_name"] == "Carla (site)"
    org.deliver(envelope(org.number, change(org.number, contacts=[contact(PHONE, "Carlinha 🌻")],
                                            messages=[text("Oi", PHONE)])))
    assert org.conversation()["contact_name"] == "Carlinha 🌻"
    org.deliver(envelope(org.number, change(org.number, messages=[text("Oi", PHONE)])))
    assert org.conversation()["contact_name"] == "Carlinha 🌻"


# ---------------------------------------------------------------- identity of contacts: business-scoped user ids


def test_a_contact_may_have_no_phone(org):
    org.notify(text("Oi", user_id=BSUID), text("De novo", user_id=BSUID))
    found = org.conversation()
    assert (found["contact_wa_id"], found["contact_bsuid"], found["unread_count"]) == (None, BSUID, 2)


def test_a_contact_with_both_ids_is_recognised_by_either(org):
    org.notify(text("both", PHONE, BSUID))
    org.notify(text("by phone", PHONE))
    org.notify(text("by id", user_id=BSUID))
    org.notify(text("without the ninth digit", SHORT))
    found = org.conversation()
    assert found["contact_wa_id"] in (PHONE, SHORT) and (found["contact_bsuid"], found["unread_count"]) == (BSUID, 4)


def test_a_contact_can_get_a_user_id_later(org):
    lead = org.lead()
    org.begin(lead)
    org.notify(text("now with an id", PHONE, BSUID))
    org.notify(text("and without the phone", user_id=BSUID))
    assert org.conversation()["unread_count"] == 2 and org.conversation()["contact_bsuid"] == BSUID
    assert org.begin(lead, 200)[1].to in (PHONE, BSUID)


def test_a_status_sets_the_user_id_of_a_contact(org):
    made, send = org.begin()
    org.notify(status(send, "delivered", PHONE, BSUID))
    assert org.status_of(made) == "delivered"
    org.notify(text("PARAR", user_id=BSUID))
    assert org.conversation()["contact_bsuid"] == BSUID and org.conversation()["contact_wa_id"] == PHONE
    refused(org.start(made["conversation"]["lead_id"]), 409, "conflict.opted_out")


def test_a_late_status_does_not_restore_an_old_user_id(org):
    _, send = org.begin()
    org.notify(text("Oi", PHONE, BSUID))
    org.notify(system("user_changed_number", PHONE, BSUID, new={"wa_id": "5521987651234", "user_id": NEW_BSUID}))
    org.notify(status(send, "read", PHONE, BSUID))
    assert org.conversation()["contact_bsuid"] == NEW_BSUID


def test_an_opt_out_by_user_id_applies_once_a_status_links_the_phone(org):
    """Until then there are two conversations, by the phone of a lead and by the user id."""
    lead = org.lead()
    _, send = org.begin(lead)
    org.notify(text("PARAR", user_id=BSUID))
    assert len(org.conversations()) == 2
    org.notify(status(send, "delivered", PHONE, BSUID))
    refused(org.start(lead), 409, "conflict.opted_out")
    org.notify(preference("resume", user_id=BSUID, at=time.time() + 1))
    org.notify(status(send, "read", PHONE, BSUID))
    org.begin(lead, 200)


def test_user_ids_differ_between_businesses(org, module_instance, module_admin_factory, meta):
    other = WhatsAppOrg(module_instance, module_admin_factory, meta)
    org.notify(text("Oi", user_id=BSUID))
    other.notify(text("Oi", user_id=BSUID))
    assert org.conversation()["id"] != other.conversation()["id"]


@pytest.mark.parametrize("before", [(PHONE, BSUID), (None, BSUID), (PHONE, None)], ids=["both", "id", "phone"])
def test_a_contact_who_changes_the_number_stays_the_same(org, before):
    phone, id = before
    org.notify(text("Oi", phone, id))
    first = org.conversation()
    org.notify(system("user_changed_number", phone, id, new={"wa_id": "5521987651234", "user_id": NEW_BSUID}))
    org.notify(text("Sou eu", "5521987651234", NEW_BSUID))
    found = org.conversation()
    assert (found["id"], found["contact_wa_id"], found["contact_bsuid"]) == (first["id"], "5521987651234", NEW_BSUID)


@pytest.mark.parametrize("named", [PHONE, SHORT])
def test_a_system_message_with_the_old_number_keeps_the_user_id(org, named):
    org.notify(text("Oi", PHONE, BSUID))
    org.notify(system("customer_identity_changed", PHONE, new={"wa_id": named}))
    assert (org.conversation()["contact_wa_id"], org.conversation()["contact_bsuid"]) == (named, BSUID)


def test_a_contact_whose_id_changes_stays_the_same(org):
    org.notify(text("Oi", user_id=BSUID))
    first = org.conversation()
    org.notify(system("user_changed_user_id", user_id=BSUID, new={"user_id": NEW_BSUID}))
    org.notify(text("Sou eu", user_id=NEW_BSUID))
    found = org.conversation()
    assert (found["id"], found["contact_bsuid"]) == (first["id"], NEW_BSUID)


@pytest.mark.parametrize("is_first", [True, False])
def test_a_new_user_id_is_also_told_without_a_message(org, is_first):
    """The field user_id_update, before or after the system message about the same change."""
    now = int(time.time())
    told = [{"user_id_update": [{"wa_id": PHONE, "user_id": {"previous": BSUID, "current": NEW_BSUID}, "timestamp": str(now)}]},
            {"messages": [system("user_changed_user_id", PHONE, BSUID, at=now, new={"user_id": NEW_BSUID})]}]
    org.notify(text("Oi", PHONE, BSUID, at=now - 1))
    first = org.conversation()
    for one in told if is_first else told[::-1]:
        org.deliver(envelope(org.number, change(org.number, **one)))
        found = org.conversation()
        assert (found["id"], found["contact_bsuid"], found["contact_wa_id"]) == (first["id"], NEW_BSUID, PHONE)


def test_a_repeated_change_of_number_is_one_change(org):
    org.notify(text("Oi", PHONE))
    twice = notification(org.number, system("user_changed_number", PHONE, new={"wa_id": "5521987651234"}))
    for _ in range(3):
        org.deliver(twice)
    assert org.conversation()["contact_wa_id"] == "5521987651234" and len(org.messages()) == 2


def test_a_reassigned_number_belongs_to_its_new_contact(org):
    """If a contact changes to a number that has a conversation, one conversation with that number remains."""
    org.notify(text("old owner", "5521987651234"))
    org.notify(text("Oi", PHONE))
    org.notify(system("user_changed_number", PHONE, new={"wa_id": "5521987651234"}))
    org.notify(text("which?", "5521987651234"))
    assert sum(one["contact_wa_id"] == "5521987651234" for one in org.conversations()) == 1
    assert "which?" in [row["body"] for row in org.messages()]


def test_the_old_form_of_a_number_change_is_accepted(org):
    """Of versions of the API before 12: new_wa_id, and another type."""
    old = {"body": "changed", "type": "customer_changed_number", "new_wa_id": "5521987651234"}
    org.notify(text("Oi", PHONE), message("system", PHONE, content=old))
    assert len(org.messages()) == 2


# ---------------------------------------------------------------- callbacks with several items


def test_a_callback_with_every_kind_of_item_is_stored(org):
    lead = org.lead()
    made, send = org.begin(lead)
    everything = notification(org.number, *[message(kind, PHONE) for kind in CONTENT if kind != "system"],
                              status(send, "sent", PHONE), status(send, "read", PHONE),
                              preference("stop", PHONE, at=time.time() - 2), preference("resume", PHONE, at=time.time() - 1))
    org.deliver(everything)
    assert org.conversation()["unread_count"] == len(CONTENT) - 1 and org.status_of(made) == "read"
    assert org.conversation()["opted_out_at"] is None


# ---------------------------------------------------------------- numbers that change their account


def test_a_number_keeps_its_conversations_when_its_account_changes(org, meta):
    lead, other = org.lead(), org.lead("5521987654321", "Bia")
    made, send = org.begin(lead)
    org.notify(text("PARAR", "5521987654321"))
    moved = dataclasses.replace(org.number, account="29" + org.number.account[2:], display="+55 11 4000-9999")
    org.ctl("whatsapp", "number", "change", org.number_id, "--display", moved.display, "--waba-id", moved.account)
    meta.numbers[meta.numbers.index(org.number)] = moved
    org.number = moved
    org.notify(status(send, "read", PHONE), text("Oi", PHONE))
    assert org.status_of(made) == "read"
    again, _ = org.begin(lead, 200)
    assert again["conversation"]["id"] == made["conversation"]["id"]
    assert again["conversation"]["number_display_phone_number"] == "+55 11 4000-9999"
    refused(org.start(other), 409, "conflict.opted_out")
    assert len(org.meta.sends) == 2
