# SPDX-License-Identifier: Apache-2.0
"""A business that also uses its telephone: messages that it sends there, and the history of the telephone."""

import time

import pytest

from client import ok
from event_log import events
from whatsapp import PHONE, SHORT, meta, module_admin_factory, module_instance, org, provider  # fixtures among them

from callbacks import CONTENT, change, echo, echoes, envelope, history, message, old, priced, status, system, text
from test_whatsapp_account import read

DAY, START = 86400, int(time.time()) - 10 * 86400
MOVED = "5531987654321"


def messages(org, id):
    """The messages of a conversation, oldest first."""
    found = read(org, f"whatsapp/conversations/{id}/messages", "/whatsapp/conversations/{id}/messages", limit=100)["items"]
    return sorted(found, key=lambda one: (one["occurred_at"], one["id"]))


def conversation(org):
    found, = read(org, "whatsapp/conversations")["items"]
    return found


def said(org):
    return [(one["direction"], one["source"], one["type"], one.get("body"), one["status"]) for one in messages(org, conversation(org)["id"])]


def logged(org):
    return [one for one in events(org.instance, org.organization) if one["type"].startswith("whatsapp.")]


def event_types(org):
    return [one["type"] for one in logged(org)]


# ---------------------------------------------------------------- the telephone


def test_a_message_of_the_telephone_is_stored_and_an_event(org):
    id = org.opened()
    sent = echo(org.number, to=PHONE, content={"body": "Sábado às 10h?"})
    for _ in range(2):
        org.deliver(echoes(org.number, sent))
    assert said(org) == [("inbound", "webhook", "text", "Oi!", "received"), ("outbound", "device", "text", "Sábado às 10h?", "sent")]
    found = messages(org, id)[-1]
    assert found["provider_message_id"] == sent["id"] and "actor_id" not in found and conversation(org)["unread_count"] == 1
    assert event_types(org) == ["whatsapp.message.received", "whatsapp.message.sent"]
    assert logged(org)[-1]["payload"] == found
    org.notify(status(sent["id"], "read", PHONE, pricing=priced("service", False)))
    assert said(org)[-1][-1] == "read" and messages(org, id)[-1]["pricing"]["category"] == "service"


def test_a_message_of_the_telephone_begins_a_conversation_and_opens_no_window(org):
    lead = org.lead()
    org.deliver(echoes(org.number, echo(org.number, "image", to=PHONE), echo(org.number, to=PHONE, content={"body": "PARAR"})))
    found = conversation(org)
    assert (found["lead_id"], found["window_open"], found["unread_count"], found["contact_name"]) == (lead, False, 0, "Carla Dias")
    assert "opted_out_at" not in found and {one[1] for one in said(org)} == {"device"}
    ok(org.start(lead), 200)
    assert len(org.conversations()) == 1


def test_a_status_before_the_message_of_the_telephone_is_applied(org):
    sent = echo(org.number, to=PHONE)
    org.notify(status(sent["id"], "delivered", PHONE, pricing=priced()))
    org.deliver(echoes(org.number, sent))
    assert said(org)[0][-1] == "delivered" and messages(org, conversation(org)["id"])[0]["pricing"] == priced()
    assert read(org, "whatsapp/usage")["items"][0]["messages"] == 1


def test_an_edit_and_a_revocation_on_the_telephone_change_its_message(org):
    first, second = echo(org.number, to=PHONE), echo(org.number, to=PHONE)
    org.deliver(echoes(org.number, first, second))
    org.deliver(echoes(org.number, echo(org.number, "edit", to=PHONE, content={
        "original_message_id": first["id"], "message": {"type": "text", "text": {"body": "Domingo"}}})))
    org.deliver(echoes(org.number, echo(org.number, "revoke", to=PHONE, content={"original_message_id": second["id"]})))
    found = {one["provider_message_id"]: one for one in messages(org, conversation(org)["id"])}
    assert found[first["id"]]["body"] == "Domingo" and found[second["id"]]["revoked_at"] and "body" not in found[second["id"]]
    assert event_types(org) == ["whatsapp.message.sent"] * 2 + ["whatsapp.message.updated"] * 2


def test_a_contact_cannot_edit_a_message_of_the_telephone(org):
    sent = echo(org.number, to=PHONE, content={"body": "Sábado"})
    org.deliver(echoes(org.number, sent))
    org.notify(message("revoke", PHONE, content={"original_message_id": sent["id"]}))
    assert said(org)[0][3] == "Sábado"


def test_a_message_to_a_user_id_joins_the_contact(org):
    org.notify(text("Oi", PHONE, "BR.1"))
    org.deliver(echoes(org.number, echo(org.number, user_id="BR.1")))
    assert len(said(org)) == 2


# ---------------------------------------------------------------- history


def test_history_is_imported_without_events(org):
    mine = [old(echo(org.number, to=PHONE, content={"body": "Bom dia"}, at=START + 20), "READ"),
            old(text("Tem vaga?", PHONE, at=START + 10), "READ"), old(echo(org.number, to=PHONE, at=START + 30), "ERROR"),
            old({key: value for key, value in echo(org.number, content={"body": "Tem"}, at=START + 15).items()}, "PLAYED")]
    other = [old(text("Obrigada", MOVED, at=START + 5))]
    for _ in range(2):
        org.deliver(history(org.number, {PHONE: mine, MOVED: other}))
    first, = read(org, "whatsapp/conversations", count="true", ids=",".join(
        one["id"] for one in org.conversations() if one["contact_wa_id"] == PHONE))["items"]
    assert [(one["direction"], one["source"], one["status"]) for one in messages(org, first["id"])] == [
        ("inbound", "webhook", "received"), ("outbound", "device", "read"), ("outbound", "device", "read"), ("outbound", "device", "failed")]
    assert first["unread_count"] == 0 and first["last_read_at"] == first["last_inbound_at"] and not first["window_open"]
    assert len(org.conversations()) == 2 and not event_types(org)


def test_history_leaves_unread_messages_unread(org):
    id = org.opened()
    org.deliver(history(org.number, {PHONE: [text("Antes", PHONE, at=START)]}))
    found = conversation(org)
    assert found["id"] == id and found["unread_count"] == 1 and found["window_open"]


def test_history_that_arrives_before_messages_are_marked_as_read_is_not_unread(org):
    id = org.opened()
    seen, = messages(org, id)
    org.deliver(history(org.number, {PHONE: [text("Antes", PHONE, at=START + n) for n in range(3)]}))
    assert ok(org.api.post(f"whatsapp/conversations/{id}/read", {"up_to_id": seen["id"]}))["unread_count"] == 0


def test_media_of_old_messages_follow(org):
    placeholder = message("media_placeholder", PHONE, content={}, at=START)
    org.deliver(history(org.number, {PHONE: [placeholder]}))
    assert said(org)[0][2] == "media_placeholder"
    org.deliver(envelope(org.number, change(org.number, "history", messages=[
        {**message("image", PHONE, at=START), "id": placeholder["id"]}])))
    found, = messages(org, conversation(org)["id"])
    assert (found["type"], found["has_media"], found["media_mime_type"], found["body"]) == (
        "image", True, "image/jpeg", CONTENT["image"]["caption"])
    assert conversation(org)["unread_count"] == 0 and not event_types(org)


def test_an_opt_out_in_the_history_counts(org):
    lead = org.lead()
    org.deliver(history(org.number, {PHONE: [text("PARAR", PHONE, at=int(time.time()) - DAY)]}))
    assert conversation(org)["opted_out_at"] and event_types(org) == ["whatsapp.contact.opted_out"]
    assert org.start(lead).status_code == 409


def test_a_declined_history_changes_nothing(org):
    org.deliver(envelope(org.number, change(org.number, "history", history=[{"errors": [
        {"code": 2593109, "title": "History sync is turned off by the business from the WhatsApp Business App"}]}])))
    assert not org.conversations()


def test_a_callback_with_history_and_new_messages_has_the_events_of_the_new_ones(org):
    both = history(org.number, {PHONE: [text("Antes", PHONE, at=START)]})
    both["entry"][0]["changes"] += echoes(org.number, echo(org.number, to=PHONE))["entry"][0]["changes"]
    org.deliver(both)
    assert len(said(org)) == 2 and event_types(org) == ["whatsapp.message.sent"]


# ---------------------------------------------------------------- changes of the contact


@pytest.mark.parametrize("is_history", [False, True])
def test_messages_of_the_telephone_follow_a_change_of_number(org, is_history):
    sent = [echo(org.number, to=SHORT, at=START), echo(org.number, to=MOVED, at=START + 200)]
    org.notify(system("user_changed_number", PHONE, at=START + 100, new={"wa_id": MOVED}))
    if is_history:
        org.deliver(history(org.number, {SHORT: sent[:1], MOVED: sent[1:]}))
    else:
        org.deliver(echoes(org.number, *sent))
    assert len([one for one in said(org) if one[1] == "device"]) == 2


def test_messages_of_the_telephone_follow_a_change_of_the_user_id(org):
    org.deliver(echoes(org.number, echo(org.number, user_id="BR.1", at=START)))
    org.notify(system("user_changed_user_id", user_id="BR.1", at=START + 100, new={"user_id": "BR.2"}))
    org.deliver(echoes(org.number, echo(org.number, user_id="BR.2", at=START + 200)))
    assert conversation(org)["contact_bsuid"] == "BR.2" and len([one for one in said(org) if one[1] == "device"]) == 2
