# SPDX-License-Identifier: Apache-2.0
"""POST /whatsapp/conversations/{id}/messages: types of messages, the 24-hour window, replies, and that nothing is sent twice. POST …/{id}/read."""

import contextlib
import os
import signal
import time
import uuid

import pytest
import requests

from client import Api, moment, ok, refused
from event_log import events
from wait import eventually, together
from whatsapp import (PHONE, WhatsAppOrg, description, meta, module_admin_factory, module_instance, org,  # fixtures among them
                      provider)

from callbacks import message, preference, status, system, text
from meta import accept, after, answering, close_before_response, error

URL = "https://cdn.example.com/plan.pdf"
DAY = 24 * 3600
PATH = "whatsapp/conversations/{}/messages"


def new_key():
    return str(uuid.uuid4())


def last_message(org, id):
    return ok(org.api.get(PATH.format(id)))["items"][0]


# ---------------------------------------------------------------- types


def test_a_text_is_sent_within_the_window(org):
    id = org.opened()
    sent = ok(org.send(id, text="Bom dia!\nSábado às 10h?"), 201)
    send, = org.meta.sends
    assert sent == {
        "id": sent["id"], "conversation_id": id, "direction": "outbound", "source": "api", "provider_message_id": send.id,
        "type": "text", "body": "Bom dia!\nSábado às 10h?", "has_media": False, "status": "accepted",
        "status_at": sent["status_at"], "actor_id": org.api.credential.id, "actor_type": "api_key",
        "occurred_at": sent["occurred_at"]}
    assert send.path == f"/v23.0/{org.number.id}/messages" and send.headers["authorization"] == f"Bearer {org.number.token}"
    assert send.json == {"messaging_product": "whatsapp", "recipient_type": "individual", "to": PHONE, "type": "text",
                         "text": {"body": "Bom dia!\nSábado às 10h?"}, "biz_opaque_callback_data": sent["id"]}
    assert last_message(org, id) == sent
    found = ok(org.api.get(f"whatsapp/conversations/{id}"))
    assert found["last_message"]["id"] == sent["id"] and found["triage"] == "pending" and found["unread_count"] == 1
    assert moment(found["window_expires_at"]) == moment(found["last_inbound_at"]) + DAY


@pytest.mark.parametrize("type, content, sent, stored", [
    ("image", {"media_url": URL, "caption": "A planta"}, {"link": URL, "caption": "A planta"},
     {"body": "A planta", "media_url": URL, "has_media": True}),
    ("image", {"media_url": URL}, {"link": URL}, {"media_url": URL, "has_media": True}),
    ("document", {"media_url": URL, "media_filename": "planta.pdf", "caption": "A planta"},
     {"link": URL, "filename": "planta.pdf", "caption": "A planta"},
     {"body": "A planta", "media_url": URL, "media_filename": "planta.pdf", "has_media": True}),
])
def test_images_and_documents_are_sent_by_url(org, type, content, sent, stored):
    id = org.opened()
    made = ok(org.send(id, type=type, **content), 201)
    assert org.meta.sends[-1].json[type] == sent and org.meta.sends[-1].json["type"] == made["type"] == type
    assert {name: made.get(name) for name in stored} == stored and last_message(org, id) == made
    assert ("body" in made) == ("body" in stored)


def test_a_template_is_sent_at_any_time(org):
    made, _ = org.begin()
    sent = ok(org.send(made["conversation"]["id"], type="template", template_name="boas_vindas",
                       template_parameters=["Carla", "Horizonte"]), 201)
    assert sent["body"].startswith("Olá, Carla! Aqui é da Horizonte.") and sent["template_language"] == "pt_BR"
    assert org.meta.sends[-1].parameters == ["Carla", "Horizonte"] and len(org.conversations()) == 1


def test_replies_and_reactions_name_their_message(org):
    first = text("Posso visitar?", PHONE)
    org.notify(first)
    id = org.conversation()["id"]
    theirs = last_message(org, id)["id"]
    reply = ok(org.send(id, text="Pode!", reply_to_id=theirs), 201)
    assert reply["reply_to_id"] == theirs and org.meta.sends[-1].json["context"] == {"message_id": first["id"]}
    for emoji in ("👍🏽", ""):
        reaction = ok(org.send(id, type="reaction", emoji=emoji, reply_to_id=theirs), 201)
        assert org.meta.sends[-1].json["reaction"] == {"message_id": first["id"], "emoji": emoji}
        assert reaction["reply_to_id"] == theirs and reaction.get("body") == (emoji or None)
    assert "context" not in org.meta.sends[-1].json


def test_a_contacts_replies_and_reactions_name_their_message(org):
    made, send = org.begin()
    org.notify(text("Sim", PHONE, context={"from": org.number.id, "id": send.id}),
               message("reaction", PHONE, content={"message_id": send.id, "emoji": "👍"}))
    found = ok(org.api.get(PATH.format(made["conversation"]["id"])))["items"]
    assert [one.get("reply_to_id") for one in found] == [made["message"]["id"]] * 2 + [None]


def test_a_message_can_go_to_a_user_id(org):
    org.notify(text("Oi", user_id="BR.1"))
    ok(org.send(org.conversation()["id"]), 201)
    assert org.meta.sends[-1].to == "BR.1"


# ---------------------------------------------------------------- requests that are refused before Meta is called


@pytest.mark.parametrize("type, content, wrong", [
    ("text", {"caption": "a"}, {"text": "required", "caption": "invalid"}),
    ("text", {"text": ""}, {"text": "invalid"}), ("text", {"text": "x" * 4097}, {"text": "invalid"}),
    ("text", {"text": "a", "media_url": URL, "template_name": "visita"},
     {"media_url": "invalid", "template_name": "invalid"}),
    ("template", {"template_language": "en"}, {"template_name": "required"}),
    ("image", {"caption": "a", "media_filename": "x"}, {"media_url": "required", "media_filename": "invalid"}),
    ("image", {"media_url": "http://example.com/a.png"}, {"media_url": "invalid"}),
    ("document", {"media_url": URL, "caption": "x" * 1025}, {"caption": "invalid"}),
    ("reaction", {"text": "👍"}, {"text": "invalid", "emoji": "required", "reply_to_id": "required"}),
    ("video", {"media_url": URL}, {"type": "invalid"}),
    ("text", {"text": "a", "reply_to_id": "wam_00000000000000000000000000"}, {"reply_to_id": "not_found"}),
])
def test_a_wrong_content_names_its_fields(org, type, content, wrong):
    id = org.opened()
    problem = org.send(id, type=type, **content).json()
    assert {item["field"]: item["code"] for item in problem["errors"]} == {
        name: f"validation.conversation.{name}_{kind}" for name, kind in wrong.items()}
    assert not org.meta.sends and len(org.messages()) == 1


def test_a_reply_must_be_to_a_message_of_the_conversation(org):
    id, other = org.opened(), org.opened(phone="5521987654321")
    for content in ({"text": "a"}, {"type": "image", "media_url": URL}, {"type": "document", "media_url": URL},
                    {"type": "reaction", "emoji": "👍"}, {"type": "template", "template_name": "visita"}):
        refused(org.send(id, reply_to_id=last_message(org, other)["id"], **content), 400,
                "validation.conversation.reply_to_id_not_found", reply_to_id="validation.conversation.reply_to_id_not_found")
    assert not org.meta.sends
    org.meta.behave(close_before_response)
    pending = ok(org.send(id), 201)
    assert pending["status"] == "pending"
    refused(org.send(id, text="a", reply_to_id=pending["id"]), 400, "validation.conversation.reply_to_id_not_found",
            reply_to_id="validation.conversation.reply_to_id_not_found")


@pytest.mark.parametrize("id", ["wac_00000000000000000000000000", "x"])
def test_an_unknown_conversation_is_not_found(org, id):
    refused(org.send(id), 404, "not_found.conversation")


def test_another_organizations_conversation_is_not_found(org, module_admin_factory, meta):
    other = WhatsAppOrg(org.instance, module_admin_factory, meta)
    refused(org.send(other.opened()), 404, "not_found.conversation")
    assert not meta.sends


def test_sending_needs_the_scope(org, module_admin_factory):
    id = org.opened()
    for scopes, expected in ((["whatsapp:read"], 403), (["whatsapp:write"], 201)):
        api = Api(org.instance, module_admin_factory.key(org.organization, scopes=scopes))
        assert org.send(id, api=api).status_code == expected


# ---------------------------------------------------------------- the window


def test_outside_the_window_only_templates_are_sent(org):
    key, begun = new_key(), int(time.time()) - DAY
    id = org.opened(at=begun - 60)
    answer = org.send(id, key=key)
    problem = refused(answer, 409, "conflict.window_closed")
    assert moment(problem["window_expires_at"]) == begun - 60 + DAY
    for content in ({"type": "image", "media_url": URL},
                    {"type": "reaction", "emoji": "👍", "reply_to_id": last_message(org, id)["id"]}):
        refused(org.send(id, **content), 409, "conflict.window_closed")
    assert not org.meta.sends and len(org.messages()) == 1
    ok(org.send(id, type="template", template_name="visita"), 201)
    org.notify(text("Sim", PHONE))
    ok(org.send(id, key=key), 201)  # the key of the refused request


def test_without_a_message_of_the_contact_the_window_was_never_open(org):
    made, _ = org.begin()
    assert "window_expires_at" not in refused(org.send(made["conversation"]["id"]), 409, "conflict.window_closed")


def test_an_opted_out_contact_gets_no_message(org):
    id = org.opened()
    org.notify(preference("stop", PHONE))
    for content in ({"text": "a"}, {"type": "template", "template_name": "visita"}):
        refused(org.send(id, **content), 409, "conflict.opted_out")
    assert not org.meta.sends


# ---------------------------------------------------------------- Meta's responses, and idempotency


def test_a_repeated_request_is_replayed_without_a_second_call(org):
    id, key = org.opened(), new_key()
    first, again = (org.send(id, key=key) for _ in range(2))
    assert (again.status_code, again.content) == (first.status_code, first.content) == (201, first.content)
    assert again.headers["Idempotent-Replayed"] == "true" and len(org.meta.sends) == 1
    refused(org.send(id, key=key, text="Outro"), 409, "conflict.idempotency_key_reused")


@pytest.mark.parametrize("behaviour", [accept, close_before_response], ids=["accepted", "lost"])
def test_one_of_fifty_concurrent_copies_is_sent(org, behaviour):
    id, key = org.opened(), new_key()
    org.meta.behave(behaviour)
    answers = together(*[lambda: org.send(id, key=key, api=org.api.with_())] * 50)
    assert {answer.status_code for answer in answers} == {201} and len({answer.json()["id"] for answer in answers}) == 1
    assert len(org.meta.sends) == 1 and len(org.messages()) == 2


def test_a_message_is_not_sent_again_when_apache_is_killed_before_the_answer(org, module_instance):
    id, key = org.opened(), new_key()

    def kill_all(send):
        for child in eventually(module_instance.children, "children of Apache"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)

    def repeated():
        with contextlib.suppress(requests.ConnectionError):
            return org.send(id, key=key, api=org.api.with_())

    org.meta.behave(after(kill_all))
    with pytest.raises(requests.ConnectionError):
        org.send(id, key=key, api=org.api.with_())
    org.meta.behave(accept)
    again = ok(eventually(repeated, "Apache answers again"), 201)
    assert again["status"] == "pending" and len(org.meta.sends) == 1
    org.notify(status(org.meta.sends[0], "delivered", PHONE))
    assert last_message(org, id)["status"] == "delivered"


@pytest.mark.parametrize("content, field", [
    ({"text": "a"}, "text"), ({"type": "image", "media_url": URL}, "media_url"),
    ({"type": "template", "template_name": "unbekannt"}, "template_name")])
def test_a_content_that_meta_rejects_names_the_field(org, content, field):
    id, key = org.opened(), new_key()
    org.meta.behave(error(131009))
    problem = org.send(id, key=key, **content).json()
    code = "whatsapp.template_rejected" if field == "template_name" else f"conversation.{field}_invalid"
    assert problem["code"] == "validation." + code and [item["field"] for item in problem["errors"]] in (
        [field], ["template_parameters"])
    org.meta.wrong.clear()
    org.meta.behave(accept)
    ok(org.send(id, key=key, type="template", template_name="visita"), 201)


def test_a_message_that_meta_does_not_deliver_is_failed(org):
    """Also if the window has closed at Meta meanwhile."""
    id = org.opened()
    org.meta.behave(error(131047))
    sent = ok(org.send(id), 201)
    assert (sent["status"], sent["error_code"], sent["body"]) == ("failed", 131047, "Bom dia!")
    assert ok(org.api.get(f"whatsapp/conversations/{id}"))["last_message"]["status"] == "failed"


def test_a_number_that_cannot_send_leaves_the_key_free(org):
    id, key = org.opened(), new_key()
    org.meta.behave(error(130429))
    refused(org.send(id, key=key), 503, "internal.provider_unavailable")
    assert ok(org.api.get(f"whatsapp/conversations/{id}"))["id"] == id  # it stays visible
    org.meta.behave(accept)
    assert ok(org.send(id, key=key), 201)["status"] == "accepted"


def test_statuses_are_events_and_requests_are_not(org):
    id = org.opened()
    before = len(events(org.instance, org.organization))
    sent = ok(org.send(id), 201)
    org.notify(status(org.meta.sends[-1], "delivered", PHONE))
    update, = events(org.instance, org.organization)[before:]
    assert (update["type"], update["payload"]) == ("whatsapp.message.updated", last_message(org, id))
    assert (update["payload"]["id"], update["payload"]["status"]) == (sent["id"], "delivered")


def test_a_message_follows_its_contact_when_a_late_change_splits_the_conversation(org):
    """The number went to another contact before the message was sent."""
    now, other = int(time.time()), "5521987654321"
    org.notify(text("Oi", PHONE, at=now - 100))
    org.notify(text("Outra pessoa", PHONE, at=now - 10))
    sent = ok(org.send(org.conversation()["id"]), 201)
    org.notify(system("user_changed_number", PHONE, new={"wa_id": other}, at=now - 50))
    found = {one["contact_wa_id"]: one["id"] for one in org.conversations()}
    assert set(found) == {PHONE, other}
    assert org.message({"message": sent})["conversation_id"] == found[PHONE]


# ---------------------------------------------------------------- marking as read


def mark(org, id, up_to=None):
    """Marks the messages up to this one, or all."""
    answer = org.api.post(f"whatsapp/conversations/{id}/read", {"up_to_id": up_to or last_message(org, id)["id"]})
    description(org.instance).operation("post", "/whatsapp/conversations/{id}/read").check(answer)
    return answer


def test_messages_are_marked_as_read_at_meta_and_here(org):
    now = int(time.time())
    last = text("E você?", PHONE, at=now - 1)
    org.notify(text("Oi", PHONE, at=now - 2), last)
    id = org.conversation()["id"]
    ok(org.send(id), 201)
    answer = mark(org, id)
    found = ok(answer)
    assert [(one.number_id, one.json) for one in org.meta.marks] == [
        (org.number.id, {"messaging_product": "whatsapp", "status": "read", "message_id": last["id"]})]
    assert found["unread_count"] == 0 and moment(found["last_read_at"]) == now - 1
    read = org.api.get(f"whatsapp/conversations/{id}")
    assert read.json() == found and read.headers["ETag"] == answer.headers["ETag"]
    assert ok(mark(org, id)) == found and len(org.meta.marks) == 1  # nothing is left to mark
    org.notify(text("Alô?", PHONE))
    assert ok(org.api.get(f"whatsapp/conversations/{id}"))["unread_count"] == 1


@pytest.mark.parametrize("later", [5, 0, -5])
def test_a_message_that_the_client_has_not_seen_stays_unread(org, later):
    """Also if the contact wrote it no later than those that were seen."""
    at = int(time.time()) - 10
    first = text("Oi", PHONE, at=at)
    org.notify(first)
    id = org.conversation()["id"]
    seen = last_message(org, id)["id"]
    org.notify(text("Alô?", PHONE, at=at + later))
    assert ok(mark(org, id, seen))["unread_count"] == 1
    assert [one.json["message_id"] for one in org.meta.marks] == [first["id"]]
    assert ok(mark(org, id, seen))["unread_count"] == 1 and len(org.meta.marks) == 1
    assert ok(mark(org, id))["unread_count"] == 0 and len(org.meta.marks) == 2
    assert ok(mark(org, id, seen))["unread_count"] == 0 and len(org.meta.marks) == 2


def test_only_the_contacts_messages_are_marked(org):
    """Up to a message that was sent, those before it; not the one that was sent."""
    first = text("Oi", PHONE, at=int(time.time()) - 10)
    org.notify(first)
    id = org.conversation()["id"]
    sent = ok(org.send(id), 201)
    org.notify(text("Alô?", PHONE))
    assert ok(mark(org, id, sent["id"]))["unread_count"] == 1
    assert [one.json["message_id"] for one in org.meta.marks] == [first["id"]]


def test_marking_names_a_message_of_the_conversation(org):
    id, other = org.opened(), org.opened(phone="5521987654321")
    edit = message("edit", PHONE, content={"original_message_id": "wamid.x", "message": {"type": "text", "text": {"body": "x"}}})
    org.notify(edit)
    for up_to in (last_message(org, other)["id"], "wam_" + "0" * 26, org.message(edit)["id"]):
        refused(mark(org, id, up_to), 400, "validation.conversation.up_to_id_not_found",
                up_to_id="validation.conversation.up_to_id_not_found")
    for body, code in (({}, "required"), ({"up_to_id": id}, "invalid"), ({"up_to_id": None}, "required")):
        refused(org.api.post(f"whatsapp/conversations/{id}/read", body), 400, f"validation.conversation.up_to_id_{code}",
                up_to_id=f"validation.conversation.up_to_id_{code}")
    assert not org.meta.marks and ok(org.api.get(f"whatsapp/conversations/{id}"))["unread_count"] == 1


@pytest.mark.parametrize("later", [5, 0, -5])
def test_a_message_that_arrives_while_others_are_marked_stays_unread(org, later):
    """Also if the contact wrote it no later than them. The next call marks it."""
    at = int(time.time()) - 10
    id = org.opened(at=at)
    org.meta.behave(after(lambda send: org.notify(text("Alô?", PHONE, at=at + later)), answering(200, b'{"success": true}', "application/json")))
    assert ok(mark(org, id))["unread_count"] == 1
    org.meta.behave(accept)
    assert ok(mark(org, id))["unread_count"] == 0 and len(org.meta.marks) == 2


def test_a_conversation_without_a_message_of_the_contact_is_not_marked_at_meta(org):
    made, _ = org.begin()
    assert ok(mark(org, made["conversation"]["id"])) == made["conversation"] and not org.meta.marks


@pytest.mark.parametrize("behaviour", [error(130429), error(190), close_before_response, answering(500), answering(200)],
                         ids=["busy", "token", "lost", "500", "empty"])
def test_nothing_is_marked_while_meta_is_unavailable(org, behaviour):
    id = org.opened()
    org.meta.behave(behaviour)
    refused(mark(org, id), 503, "internal.provider_unavailable")
    assert ok(org.api.get(f"whatsapp/conversations/{id}"))["unread_count"] == 1
    org.meta.behave(accept)
    assert ok(mark(org, id))["unread_count"] == 0


def test_a_message_that_meta_does_not_mark_is_marked_here(org):
    """It is too old."""
    id = org.opened()
    org.meta.behave(error(131009))
    assert ok(mark(org, id))["unread_count"] == 0


def test_marking_needs_a_conversation_and_the_scope(org, module_admin_factory, meta):
    id = org.opened()
    for unknown in ("wac_00000000000000000000000000", "x"):
        refused(mark(org, unknown, last_message(org, id)["id"]), 404, "not_found.conversation")
    other = WhatsAppOrg(org.instance, module_admin_factory, meta)
    seen = {"up_to_id": last_message(org, id)["id"]}
    refused(other.api.post(f"whatsapp/conversations/{id}/read", seen), 404, "not_found.conversation")
    reader = Api(org.instance, module_admin_factory.key(org.organization, scopes=["whatsapp:read"]))
    refused(reader.post(f"whatsapp/conversations/{id}/read", seen), 403, "forbidden.insufficient_permissions")
    assert not meta.marks
