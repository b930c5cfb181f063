"""What Meta's callbacks mean: messages of every type, what became of ours, and who a contact is.

Who wants to hear no more is in test_whatsapp_optout.py.
"""

import time

import pytest

for module in ("hooks", "whatsapp"):
    pytest.register_assert_rewrite(module)

from client import moment, ok, refused  # noqa: E402
from whatsapp import PHONE, SHORT, Office, make_there, meta, office, provider, there  # noqa: E402 (fixtures among them)

from callbacks import (CONTENT, change, contact, envelope, failure, message, preference, status, system, text,  # noqa: E402
                       told)
from meta import accepting  # noqa: E402

DAY = 24 * 3600
BSUID, NEW_BSUID = "BR.13491208655302741918", "BR.99999999999999999999"
LANDLINE, LANDLINE_9 = "551132654321", "5511932654321"


def seconds(instant):
    """A timestamp of the database."""
    return instant.timestamp()


# ---------------------------------------------------------------- messages


def test_a_text_begins_a_conversation(office):
    now = int(time.time()) - 5
    told_of = text("Quero visitar.", PHONE, at=now)
    office.deliver(envelope(office.number, change(office.number, contacts=[contact(PHONE, "Bia")], messages=[told_of])))
    found, row = office.conversation(), office.messages()[0]
    assert (found["contact_wa_id"], found["contact_name"], found["number_id"]) == (PHONE, "Bia", office.number_id)
    assert (found["triage"], found["lead_id"], found["unread_count"]) == ("pending", None, 1)
    assert seconds(found["last_inbound_at"]) == seconds(row["occurred_at"]) == now
    assert {name: row[name] for name in ("direction", "source", "type", "body", "status", "provider_message_id")} == {
        "direction": "inbound", "source": "webhook", "type": "text", "body": "Quero visitar.", "status": "received",
        "provider_message_id": told_of["id"]}


# What people read of a message that is no text, where there is something.
BODIES = {"text": "Quero visitar o apartamento.", "image": "A fachada", "document": "Minha proposta",
          "button": "Agendar visita", "interactive": "Sim, quero", "reaction": "👍", "location": "Praça da Sé",
          "contacts": "Bia Souza"}
INTERACTIVE = {
    "a list": ({"type": "list_reply", "list_reply": {"id": "1", "title": "Sábado", "description": "de manhã"}}, "Sábado"),
    "a flow": ({"type": "nfm_reply", "nfm_reply": {"name": "flow", "body": "Sent", "response_json": '{"a":1}'}}, None),
    "something new": ({"type": "what_nobody_knows_yet", "what_nobody_knows_yet": {}}, None),
}


@pytest.mark.parametrize("kind", CONTENT)
def test_every_type_of_message_is_taken(office, kind):
    office.tell(message(kind, PHONE))
    row, = office.messages()
    assert (row["type"], row["direction"], row["status"]) == (kind, "inbound", "received")
    if kind in BODIES:
        assert row["body"] == BODIES[kind]


@pytest.mark.parametrize("content, body", INTERACTIVE.values(), ids=INTERACTIVE.keys())
def test_every_interactive_answer_is_taken(office, content, body):
    office.tell(message("interactive", PHONE, content=content))
    row, = office.messages()
    assert row["type"] == "interactive" and body in (None, row["body"])


def test_a_type_that_nobody_knows_yet_is_taken(office):
    office.tell({**message("unsupported", PHONE), "type": "hologram", "hologram": {"id": "1"}})
    assert office.messages()[0]["direction"] == "inbound" and office.conversation()["unread_count"] == 1


def test_media_are_told_apart(office, there):
    office.tell(message("document", PHONE), text("Oi", PHONE))
    found = there.sql("select type, has_media, media_mime_type, media_filename from neoapi.whatsapp_message"
                      " where organization_id = %s order by type", office.organization)
    assert found == [("document", True, "application/pdf", "proposta.pdf"), ("text", False, None, None)]


def test_messages_that_come_late_do_not_move_the_conversation_back(office):
    now = int(time.time())
    office.tell(text("new", PHONE, at=now))
    office.tell(text("old", PHONE, at=now - 500))
    found = office.conversation()
    assert seconds(found["last_inbound_at"]) == now and found["unread_count"] == 2
    made = office.begin(status=200)[0]["conversation"]
    assert moment(made["last_inbound_at"]) == now and made["last_message"]["direction"] == "outbound"
    assert made["last_message_at"] == made["last_message"]["occurred_at"]


def test_the_last_message_is_the_latest(office):
    """Of ours, until the contact has answered; also where both are in the same second."""
    lead = office.lead()
    office.begin(lead)
    office.tell(text("Quero!", PHONE, at=time.time() + 2))
    last = ok(office.start(lead), 200)["conversation"]["last_message"]
    newest = max(office.messages(), key=lambda row: (row["occurred_at"], row["id"]))
    assert (last["id"], last.get("body")) == (newest["id"], newest["body"])


def test_a_message_from_the_future_opens_no_window_that_lasts_for_ever(office):
    office.tell(text("Oi", PHONE, at=time.time() + 10 * 365 * DAY))
    assert seconds(office.conversation()["last_inbound_at"]) < time.time() + 2 * DAY


# ---------------------------------------------------------------- the window of 24 hours


@pytest.mark.parametrize("age, is_open", [(0, True), (DAY - 120, True), (DAY + 1, False), (30 * DAY, False)])
def test_the_window_is_open_for_24_hours(office, age, is_open):
    lead, then = office.lead(), int(time.time()) - age
    office.tell(text("Oi", PHONE, at=then))
    made = office.begin(lead, 200)[0]["conversation"]
    assert made["window_open"] is is_open
    assert moment(made["window_expires_at"]) == then + DAY and moment(made["last_inbound_at"]) == then


def test_without_an_answer_there_is_no_window(office):
    made = office.begin()[0]["conversation"]
    assert made["window_open"] is False and "window_expires_at" not in made and "last_inbound_at" not in made


# ---------------------------------------------------------------- what became of ours

ORDERS = [["sent", "delivered", "read"], ["read", "delivered", "sent"], ["delivered", "sent", "read"], ["read"],
          ["sent", "sent", "read", "sent"], ["delivered", "played"], ["played", "read", "sent"]]


@pytest.mark.parametrize("order", ORDERS, ids=" ".join)
def test_statuses_lead_upward_in_whatever_order_they_come(office, order):
    made, send = office.begin()
    for state in order:
        office.tell(status(send, state, PHONE))
    assert office.status_of(made) == "read"
    made = office.start(made["conversation"]["lead_id"]).json()
    assert made["conversation"]["last_message"]["id"] == made["message"]["id"]


@pytest.mark.parametrize("order", ORDERS, ids=" ".join)
def test_statuses_lead_upward_also_in_one_callback(office, order):
    made, send = office.begin()
    office.tell(*[status(send, state, PHONE) for state in order])
    assert office.status_of(made) == "read"


@pytest.mark.parametrize("order, final", [
    (["failed"], "failed"), (["sent", "failed"], "failed"), (["delivered", "failed"], "delivered"),
    (["read", "failed"], "read"), (["failed", "sent"], "failed"), (["failed", "delivered"], "delivered")], ids=str)
def test_a_message_fails_before_it_is_delivered_or_not_at_all(office, order, final):
    made, send = office.begin()
    for state in order:
        office.tell(status(send, state, PHONE, errors=failure(131026) if state == "failed" else None))
    row = office.message(made)
    assert row["status"] == final
    assert (row["error_code"], bool(row["error_title"])) == ((131026, True) if final == "failed" else (None, False))


def test_the_moment_of_a_status_is_metas(office):
    made, send = office.begin()
    then = int(time.time()) - 3
    office.tell(status(send, "delivered", PHONE, at=then))
    assert seconds(office.message(made)["status_at"]) == then


def test_the_conversation_shows_the_last_messages_status(office):
    lead = office.lead()
    key = "f47ac10b-58cc-4372-a567-0e02b2c3d479"
    made, send = office.begin(lead, key=key)
    office.tell(status(send, "read", PHONE))
    assert office.start(lead, key=key).json() == made  # as it was answered
    assert office.status_of(made) == "read"


def test_a_status_of_a_message_that_is_not_ours_is_taken_and_changes_nothing(office):
    made, send = office.begin()
    office.tell(status("wamid.unknown", "read", PHONE))
    assert office.status_of(made) == "accepted" and len(office.messages()) == 1


def test_a_status_of_another_organizations_message_changes_nothing(office, there, make_there, meta):
    made, send = office.begin()
    other = Office(there, make_there, meta)
    other.tell(status(send, "failed", PHONE, errors=failure(131026)))
    other.tell(status(send.id, "read", PHONE))
    assert office.status_of(made) == "accepted"


def test_a_message_that_was_held_is_so_until_it_is_sent(office):
    office.meta.behave(accepting(message_status="held_for_quality_assessment"))
    made, send = office.begin()
    assert office.conversation()["held"] is True
    office.tell(status(send, "sent", PHONE))
    assert office.conversation()["held"] is False


def test_a_message_that_is_held_stays_so_whatever_is_told_of_another(office):
    lead = office.lead()
    _, earlier = office.begin(lead)
    office.meta.behave(accepting(message_status="held_for_quality_assessment"))
    _, held = office.begin(lead, 200)
    for told_of in (status(earlier, "delivered", PHONE), status(earlier, "read", PHONE), text("Oi", PHONE)):
        office.tell(told_of)
        assert office.conversation()["held"] is True
    office.tell(status(held, "sent", PHONE), status(earlier, "read", PHONE))
    assert office.conversation()["held"] is False


# ---------------------------------------------------------------- unread


def test_what_is_unread_counts_up(office):
    lead = office.lead()
    for expected in (1, 2, 3):
        office.tell(text(f"{expected}", PHONE))
        assert office.conversation()["unread_count"] == expected
    office.tell(status("wamid.x", "read", PHONE))
    assert office.begin(lead, 200)[0]["conversation"]["unread_count"] == 3


# ---------------------------------------------------------------- who a contact is: phones


@pytest.mark.parametrize("known, inbound", [(PHONE, SHORT), (SHORT, PHONE), ("5585999887766", "558599887766")])
def test_a_brazilian_mobile_is_the_same_with_and_without_the_ninth_digit(office, known, inbound):
    made, _ = office.begin(office.lead(known))
    office.tell(text("Oi", inbound))
    assert office.conversation()["unread_count"] == 1 and office.conversation()["id"] == made["conversation"]["id"]
    office.tell(text("Oi", known))
    assert office.conversation()["unread_count"] == 2


@pytest.mark.parametrize("known, other", [
    (LANDLINE_9, LANDLINE),  # no mobile without its 9
    ("5511187654321", "55111" + "7654321"), ("351912345678", "35191345678"), ("14155550123", "141555550123"),
    (PHONE, "551187654322"), (PHONE, "552187654321"), ("541187654321", "5411987654321")])
def test_no_other_number_is_taken_for_another(office, known, other):
    office.tell(text("Oi", known))
    office.tell(text("Oi", other))
    assert len(office.conversations()) == 2


@pytest.mark.parametrize("inbound", [PHONE, SHORT])
def test_a_contact_who_is_a_lead_is_recognised(office, inbound):
    lead = office.lead(PHONE)
    office.tell(text("Oi", inbound))
    assert office.conversation()["lead_id"] == lead and office.conversation()["triage"] == "assigned"
    assert office.begin(lead, 200)[0]["conversation"]["id"] == office.conversation()["id"]


def test_a_lead_of_another_organization_is_not(office, there, make_there, meta):
    other = Office(there, make_there, meta)
    other.lead(PHONE)
    office.tell(text("Oi", PHONE))
    assert office.conversation()["lead_id"] is None and not other.conversations()


def test_two_numbers_of_an_organization_have_conversations_of_their_own(office):
    second, second_id, _ = office.add_number()
    office.tell(text("Oi", PHONE))
    office.tell(text("Oi", PHONE), number=second)
    assert sorted(one["number_id"] for one in office.conversations()) == sorted([office.number_id, second_id])
    assert [one["unread_count"] for one in office.conversations()] == [1, 1]


def test_the_name_is_the_one_that_the_contact_has_chosen(office):
    lead = office.lead(PHONE, "Carla (site)")
    assert office.begin(lead)[0]["conversation"]["contact_name"] == "Carla (site)"
    office.deliver(envelope(office.number, change(office.number, contacts=[contact(PHONE, "Carlinha 🌻")],
                                                  messages=[text("Oi", PHONE)])))
    assert office.conversation()["contact_name"] == "Carlinha 🌻"
    office.deliver(envelope(office.number, change(office.number, messages=[text("Oi", PHONE)])))
    assert office.conversation()["contact_name"] == "Carlinha 🌻"


# ---------------------------------------------------------------- who a contact is: business-scoped user ids


def test_a_contact_may_have_no_phone_at_all(office):
    office.tell(text("Oi", user_id=BSUID), text("De novo", user_id=BSUID))
    found = office.conversation()
    assert (found["contact_wa_id"], found["contact_bsuid"], found["unread_count"]) == (None, BSUID, 2)


def test_a_contact_with_both_is_known_by_either(office):
    office.tell(text("both", PHONE, BSUID))
    office.tell(text("by phone", PHONE))
    office.tell(text("by id", user_id=BSUID))
    office.tell(text("without the ninth digit", SHORT))
    found = office.conversation()
    assert found["contact_wa_id"] in (PHONE, SHORT) and (found["contact_bsuid"], found["unread_count"]) == (BSUID, 4)


def test_a_contact_becomes_known_by_an_id(office):
    lead = office.lead()
    office.begin(lead)
    office.tell(text("now with an id", PHONE, BSUID))
    office.tell(text("and without the phone", user_id=BSUID))
    assert office.conversation()["unread_count"] == 2 and office.conversation()["contact_bsuid"] == BSUID
    assert office.begin(lead, 200)[1].to in (PHONE, BSUID)


def test_a_status_tells_the_id_of_a_contact(office):
    made, send = office.begin()
    office.tell(status(send, "delivered", PHONE, BSUID))
    assert office.status_of(made) == "delivered"
    office.tell(text("PARAR", user_id=BSUID))
    assert office.conversation()["contact_bsuid"] == BSUID and office.conversation()["contact_wa_id"] == PHONE
    refused(office.start(made["conversation"]["lead_id"]), 409, "conflict.opted_out")


def test_a_status_that_comes_late_does_not_bring_back_the_id_of_before(office):
    _, send = office.begin()
    office.tell(text("Oi", PHONE, BSUID))
    office.tell(system("user_changed_number", PHONE, BSUID, new={"wa_id": "5521987651234", "user_id": NEW_BSUID}))
    office.tell(status(send, "read", PHONE, BSUID))
    assert office.conversation()["contact_bsuid"] == NEW_BSUID


def test_who_has_stopped_by_an_id_has_stopped_once_a_status_tells_whose_it_is(office):
    """The contact is known twice by then: by the number, as a lead, and by the id."""
    lead = office.lead()
    _, send = office.begin(lead)
    office.tell(text("PARAR", user_id=BSUID))
    assert len(office.conversations()) == 2
    office.tell(status(send, "delivered", PHONE, BSUID))
    refused(office.start(lead), 409, "conflict.opted_out")
    office.tell(preference("resume", user_id=BSUID, at=time.time() + 1))
    office.tell(status(send, "read", PHONE, BSUID))
    office.begin(lead, 200)


def test_one_person_has_another_id_at_every_business(office, there, make_there, meta):
    other = Office(there, make_there, meta)
    office.tell(text("Oi", user_id=BSUID))
    other.tell(text("Oi", user_id=BSUID))
    assert office.conversation()["id"] != other.conversation()["id"]


@pytest.mark.parametrize("before", [(PHONE, BSUID), (None, BSUID), (PHONE, None)], ids=["both", "id", "phone"])
def test_a_contact_who_changes_the_number_stays_the_same(office, before):
    phone, id = before
    office.tell(text("Oi", phone, id))
    first = office.conversation()
    office.tell(system("user_changed_number", phone, id, new={"wa_id": "5521987651234", "user_id": NEW_BSUID}))
    office.tell(text("Sou eu", "5521987651234", NEW_BSUID))
    found = office.conversation()
    assert (found["id"], found["contact_wa_id"], found["contact_bsuid"]) == (first["id"], "5521987651234", NEW_BSUID)


@pytest.mark.parametrize("named", [PHONE, SHORT])
def test_a_system_message_that_names_the_number_of_before_leaves_the_id(office, named):
    office.tell(text("Oi", PHONE, BSUID))
    office.tell(system("customer_identity_changed", PHONE, new={"wa_id": named}))
    assert (office.conversation()["contact_wa_id"], office.conversation()["contact_bsuid"]) == (named, BSUID)


def test_a_contact_whose_id_changes_stays_the_same(office):
    office.tell(text("Oi", user_id=BSUID))
    first = office.conversation()
    office.tell(system("user_changed_user_id", user_id=BSUID, new={"user_id": NEW_BSUID}))
    office.tell(text("Sou eu", user_id=NEW_BSUID))
    found = office.conversation()
    assert (found["id"], found["contact_bsuid"]) == (first["id"], NEW_BSUID)


def test_a_change_of_number_that_is_told_twice_is_one_change(office):
    office.tell(text("Oi", PHONE))
    twice = told(office.number, system("user_changed_number", PHONE, new={"wa_id": "5521987651234"}))
    for _ in range(3):
        office.deliver(twice)
    assert office.conversation()["contact_wa_id"] == "5521987651234" and len(office.messages()) == 2


def test_a_number_that_somebody_else_had_before_belongs_to_the_new_one(office):
    """A contact changes to a number that another conversation has: then there is one for it, and nothing fails."""
    office.tell(text("old owner", "5521987651234"))
    office.tell(text("Oi", PHONE))
    office.tell(system("user_changed_number", PHONE, new={"wa_id": "5521987651234"}))
    office.tell(text("which?", "5521987651234"))
    assert sum(one["contact_wa_id"] == "5521987651234" for one in office.conversations()) == 1
    assert "which?" in [row["body"] for row in office.messages()]


def test_the_old_system_message_of_a_changed_number_is_understood(office):
    """As it was before version 12 of the API: new_wa_id, and another type."""
    old = {"body": "changed", "type": "customer_changed_number", "new_wa_id": "5521987651234"}
    office.tell(text("Oi", PHONE), message("system", PHONE, content=old))
    assert len(office.messages()) == 2


# ---------------------------------------------------------------- all at once


def test_a_callback_with_everything_is_taken_in_one(office):
    lead = office.lead()
    made, send = office.begin(lead)
    everything = told(office.number, *[message(kind, PHONE) for kind in CONTENT if kind != "system"],
                      status(send, "sent", PHONE), status(send, "read", PHONE),
                      preference("stop", PHONE, at=time.time() - 2), preference("resume", PHONE, at=time.time() - 1))
    office.deliver(everything)
    assert office.conversation()["unread_count"] == len(CONTENT) - 1 and office.status_of(made) == "read"
    assert office.conversation()["opted_out_at"] is None
