# SPDX-License-Identifier: Apache-2.0
"""Reading conversations and messages, and PATCH of conversations.

Isolation of organizations is tested in test_isolation.py.
"""

import time

import pytest

from client import Api, moment, ok, refused
from event_log import events
from whatsapp import (PHONE, WhatsAppOrg, description, meta, module_admin_factory, module_instance, org,  # fixtures among them
                      provider)

from callbacks import message, preference, status, system, text
from meta import error

OTHERS = [f"55119876543{n:02}" for n in range(30, 35)]
UNKNOWN = "wac_00000000000000000000000000"


def read(org, path, operation, **params):
    """A response, which must match the OpenAPI document."""
    answer = org.api.get(path, params=params)
    description(org.instance).operation("get", operation).check(answer)
    return ok(answer)


def conversations(org, **params):
    return read(org, "whatsapp/conversations", "/whatsapp/conversations", **params)


def conversation(org, id):
    return read(org, f"whatsapp/conversations/{id}", "/whatsapp/conversations/{id}")


def messages(org, id, **params):
    return read(org, f"whatsapp/conversations/{id}/messages", "/whatsapp/conversations/{id}/messages", **params)


def test_a_reply_can_be_read(org):
    made, send = org.begin()
    id = made["conversation"]["id"]
    assert conversation(org, id) == made["conversation"] and messages(org, id)["items"] == [made["message"]]
    org.notify(status(send.id, "delivered", PHONE), text("Quero visitar.", PHONE, at=int(time.time()) + 1))
    found = conversation(org, id)
    reply, template = messages(org, id)["items"]
    assert template == {**made["message"], "status": "delivered", "status_at": template["status_at"]}
    assert (reply["direction"], reply["source"], reply["type"], reply["body"], reply["status"], reply["conversation_id"]) == (
        "inbound", "webhook", "text", "Quero visitar.", "received", id)
    assert found["unread_count"] == 1 and found["window_open"] and found["last_inbound_at"] == reply["occurred_at"]
    assert found["last_message"] == {name: reply[name] for name in found["last_message"]}
    assert moment(found["updated_at"]) > moment(made["conversation"]["updated_at"])
    assert conversations(org)["items"] == [found]


def test_an_edit_changes_the_message_and_is_not_listed(org):
    first = text("Sábado", PHONE)
    org.notify(first)
    org.notify(message("edit", PHONE, content={"original_message_id": first["id"],
                                               "message": {"type": "text", "text": {"body": "Domingo"}}}))
    id = conversations(org)["items"][0]["id"]
    assert [one["body"] for one in messages(org, id)["items"]] == ["Domingo"]


def test_a_conversation_without_messages_can_be_read(org):
    """The contact has sent a preference only."""
    org.notify(preference("stop", PHONE))
    found, = conversations(org)["items"]
    assert found == conversation(org, found["id"]) and messages(org, found["id"])["items"] == []
    assert found["opted_out_at"] and "last_message" not in found and "last_message_at" not in found


def test_conversations_are_listed_by_pages_and_filtered(org):
    lead = org.lead()
    org.begin(lead)
    for phone in OTHERS:
        org.notify(text("Olá", phone))
    all_of_them = conversations(org)["items"]
    assert len(all_of_them) == 6 and all_of_them == sorted(all_of_them, key=lambda one: one["id"], reverse=True)
    found, params = [], {"limit": 4}
    while params:
        page = conversations(org, **params)
        found += page["items"]
        params = page["page_info"]["has_next_page"] and {"limit": 4, "cursor": page["page_info"]["end_cursor"]}
    assert found == all_of_them
    of_lead = [one for one in all_of_them if one.get("lead_id") == lead]
    assert len(of_lead) == 1 and conversations(org, lead_id=lead)["items"] == of_lead
    assert conversations(org, triage="assigned")["items"] == of_lead
    assert len(conversations(org, triage="pending")["items"]) == 5
    chosen = [all_of_them[1], all_of_them[4]]
    assert conversations(org, ids=[one["id"] for one in reversed(chosen)])["items"] == chosen
    response = org.api.get("whatsapp/conversations", params={"sort": "created_at", "limit": 4, "count": "true", "fields": "id"})
    assert ok(response)["items"] == [{"id": one["id"]} for one in all_of_them[:1:-1]] and response.headers["X-Total-Count"] == "6"
    assert len(ok(org.api.get(response.links["next"]["url"]))["items"]) == 2
    refused(org.api.get("whatsapp/conversations?sort=updated_at"), 400, "validation.parameter_invalid")


def test_conversations_are_filtered_by_unread_messages_and_open_windows(org):
    """Each contact has written, today or two days ago, and been read or not."""
    now, found = int(time.time()), {}
    for phone, age, is_read in zip(OTHERS, (0, 0, 2, 2), (True, False) * 2):
        org.notify(text("Olá", phone, at=now - age * 86400))
        id = org.conversations()[-1]["id"]
        found[id] = {"unread": str(not is_read).lower(), "window_open": str(age == 0).lower()}
        if is_read:
            ok(org.api.post(f"whatsapp/conversations/{id}/read", {"up_to_id": messages(org, id)["items"][0]["id"]}))
    lead = org.lead()
    found[org.begin(lead)[0]["conversation"]["id"]] = {"unread": "false", "window_open": "false"}
    every = sorted(found, reverse=True)
    values = ("true", "false", "true,false", None)
    for unread in values:
        for window_open in values:
            asked = {name: value for name, value in (("unread", unread), ("window_open", window_open)) if value}
            expected = [id for id in every if all(found[id][name] in value.split(",") for name, value in asked.items())]
            pages, params = [], {**asked, "limit": 2}
            while params:
                page = conversations(org, **params)
                pages += [one["id"] for one in page["items"]]
                params = page["page_info"]["has_next_page"] and {**params, "cursor": page["page_info"]["end_cursor"]}
            assert pages == expected, asked
            if asked:
                response = org.api.get("whatsapp/conversations", params={**asked, "count": "true", "sort": "created_at"})
                assert [one["id"] for one in ok(response)["items"]] == expected[::-1]
                assert response.headers["X-Total-Count"] == str(len(expected))
    assert [one["lead_id"] for one in conversations(org, lead_id=lead, window_open="false")["items"]] == [lead]
    assert conversations(org, lead_id=lead, window_open="true")["items"] == []
    refused(org.api.get("whatsapp/conversations?unread=yes"), 400, "validation.parameter_invalid")


def list_ids(org, **params):
    return [one["id"] for one in conversations(org, **params)["items"]]


def test_conversations_are_found_by_the_contact_and_the_texts_of_messages(org, module_admin_factory, meta):
    ids = {}
    for name, phone, body in (("João Araújo", OTHERS[0], "Tem churrasqueira?"), ("Bia", OTHERS[1], "100% à vista?"),
                              ("Caio", OTHERS[2], "Olá")):
        org.notify_named(name, text(body, phone))
        ids[name] = org.conversations()[-1]["id"]
    ok(org.send(ids["Caio"], text="A churrasqueira é nova."), 201)
    for q, expected in (("joao ara", ["João Araújo"]), ("CHURRASQ", ["Caio", "João Araújo"]), ("100% a", ["Bia"]), ("1_0%", []),
                        (OTHERS[1][-6:], ["Bia"]), ("caio", ["Caio"]), ("churrascaria", [])):
        assert list_ids(org, q=q) == [ids[name] for name in expected], q
    assert list_ids(org, q="churrasqueira", unread="true", limit=1) == [ids["Caio"]]
    assert list_ids(org, q="churrasqueira", sort="created_at", window_open="true") == [ids["João Araújo"], ids["Caio"]]
    refused(org.api.get("whatsapp/conversations?q=ol"), 400, "validation.parameter_invalid")
    stranger = WhatsAppOrg(org.instance, module_admin_factory, meta)
    assert list_ids(stranger, q="churrasqueira") == []


def test_an_edited_text_is_found_and_a_deleted_one_is_not(org):
    first = text("Sábado de manhã", PHONE)
    org.notify(first)
    id, = list_ids(org, q="manhã")
    org.notify(message("edit", PHONE, content={"original_message_id": first["id"],
                                               "message": {"type": "text", "text": {"body": "Domingo à tarde"}}}))
    assert (list_ids(org, q="manhã"), list_ids(org, q="tarde")) == ([], [id])
    org.notify(message("revoke", PHONE, content={"original_message_id": first["id"]}))
    assert list_ids(org, q="tarde") == []


def test_conversations_are_filtered_by_the_status_of_their_lead(org):
    ids = {}
    for phone in OTHERS[:2]:
        lead = org.lead(phone, name=phone)
        ids[lead] = org.begin(lead)[0]["conversation"]["id"]
    org.notify(text("Oi", OTHERS[2]))
    first, second = ids
    ok(org.api.patch(f"leads/{second}", {"status": "contacted"}))
    assert list_ids(org, lead_status="contacted") == [ids[second]] and list_ids(org, lead_status="lost") == []
    assert list_ids(org, lead_status="contacted,new") == [ids[second], ids[first]]
    refused(org.api.get("whatsapp/conversations?lead_status=busy"), 400, "validation.parameter_invalid")


def test_messages_are_listed_by_pages(org):
    org.notify(*[text(f"{n}", PHONE) for n in range(5)])
    id = conversations(org)["items"][0]["id"]
    first = messages(org, id, limit=3)
    rest = messages(org, id, limit=3, cursor=first["page_info"]["end_cursor"])
    assert [len(first["items"]), len(rest["items"])] == [3, 2]
    assert first["items"] + rest["items"] == messages(org, id)["items"]
    assert messages(org, id, ids=[first["items"][1]["id"], id.replace("wac_", "wam_")])["items"] == [first["items"][1]]
    assert messages(org, id, limit=2, sort="created_at")["items"] == messages(org, id)["items"][:2:-1]


@pytest.mark.parametrize("path", ["", "/messages"])
@pytest.mark.parametrize("id", [UNKNOWN, "x", "brk_00000000000000000000000000"])
def test_an_unknown_conversation_is_not_found(org, id, path):
    refused(org.api.get(f"whatsapp/conversations/{id}{path}"), 404, "not_found.conversation")


def test_a_conversation_that_no_response_has_had_is_not_listed(org):
    org.meta.behave(error(130429))
    assert org.start(org.lead()).status_code == 503
    assert conversations(org)["items"] == []
    hidden, = org.conversations()
    refused(org.api.get(f"whatsapp/conversations/{hidden['id']}"), 404, "not_found.conversation")


@pytest.mark.parametrize("scopes, expected", [(["whatsapp:read"], 200), (["whatsapp:write"], 403), (["brokers:read"], 403)])
def test_reading_needs_its_scope(org, scopes, expected):
    org.notify(text("Olá", PHONE))
    id = org.conversation()["id"]
    api = Api(org.instance, org.admin_factory.key(org.organization, scopes=scopes))
    for path in ("", f"/{id}", f"/{id}/messages"):
        assert api.get("whatsapp/conversations" + path).status_code == expected


def test_a_templates_text_is_stored_with_the_message(org):
    parameters = ["Carla", "Horizonte {{1}}"]
    made, _ = org.begin(template="boas_vindas", template_parameters=parameters)
    text_sent = "Olá, Carla! Aqui é da Horizonte {{1}}. Recebemos seu interesse e queremos ajudar."
    assert made["message"]["body"] == made["conversation"]["last_message"]["body"] == text_sent
    assert messages(org, made["conversation"]["id"])["items"] == [made["message"]]


def test_a_templates_text_is_read_once_for_all_languages(org):
    lead = org.lead()
    bodies = [org.start(lead, template_language=language).json()["message"]["body"] for language in ("pt_BR", "en") * 2]
    assert bodies == ["Podemos agendar a sua visita?", "May we arrange your visit?"] * 2
    assert [read.partition("?")[0].rpartition("/")[2] for read in org.meta.reads] == ["message_templates"]


def test_without_the_templates_text_the_message_is_sent_once_and_has_none(org):
    org.meta.reading = lambda handler: error(200)(handler, None)
    lead, before = org.lead(), len(org.instance.error_log)
    for status_code in (201, 200):
        assert "body" not in ok(org.start(lead), status_code)["message"]
    assert len(org.meta.sends) == 2 and len(org.meta.reads) == 1
    assert org.instance.error_log[before:].count("NEO0418") == 1


# ---------------------------------------------------------------- PATCH


def patched(org, id, changes, **headers):
    answer = org.api.patch(f"whatsapp/conversations/{id}", changes, headers=headers)
    description(org.instance).operation("patch", "/whatsapp/conversations/{id}").check(answer)
    return answer


def test_a_conversation_is_dismissed_and_marked_as_read(org):
    now = int(time.time())
    org.notify(text("Olá", PHONE, at=now - 60), text("Alguém?", PHONE, at=now))
    before, = conversations(org)["items"]
    found = ok(patched(org, before["id"], {"triage": "dismissed"}))
    assert found == {**before, "triage": "dismissed", "updated_at": found["updated_at"]}
    assert moment(found["updated_at"]) > moment(before["updated_at"])
    earlier, later = [one["occurred_at"] for one in reversed(messages(org, before["id"])["items"])]
    for last_read_at, unread in ((later, 0), (earlier, 1), (None, 2)):
        found = ok(patched(org, before["id"], {"last_read_at": last_read_at}))
        assert (found.get("last_read_at"), found["unread_count"], found["triage"]) == (last_read_at, unread, "dismissed")
    assert conversation(org, before["id"]) == found
    org.notify(text("Ainda aí?", PHONE))
    assert conversation(org, before["id"])["unread_count"] == 3


def test_triage_set_by_a_client_is_not_changed_by_later_messages(org):
    lead = org.lead()
    id = org.begin(lead)[0]["conversation"]["id"]
    ok(patched(org, id, {"triage": "pending"}))
    org.notify(text("Olá", PHONE, user_id="BR.1234"))  # a new user id refreshes the contact's state
    assert conversation(org, id)["triage"] == "pending"
    assert ok(org.start(lead))["conversation"]["triage"] == "pending"


@pytest.mark.parametrize("expected", ["pending", "dismissed"])
def test_merged_conversations_have_the_latest_triage(org, expected):
    old, new = OTHERS[:2]
    ids = {}
    for phone, ago in ((old, 300), (new, 60)):
        org.notify(text("Olá", phone, at=int(time.time()) - ago))
        ids[phone] = conversations(org)["items"][0]["id"]
    choices = [(old, "dismissed"), (new, "assigned"), (new, "pending")]
    for phone, triage in choices if expected == "pending" else reversed(choices):
        ok(patched(org, ids[phone], {"triage": triage}))
    ok(patched(org, ids[old], {"last_read_at": "2026-01-01T00:00:00.000Z"}))
    org.notify(system("user_changed_number", old, new={"wa_id": new}, at=int(time.time()) - 120))
    found, = conversations(org)["items"]
    assert (found["triage"], found["last_read_at"]) == (expected, "2026-01-01T00:00:00.000Z")


def test_a_conversation_is_assigned_to_a_broker(org):
    made = [ok(org.api.post("brokers", {"name": name, "creci": creci, "external_id": creci}), 201)["id"]
            for name, creci in (("Ana", "SP-1"), ("Beto", "SP-2"))]
    org.notify(text("Olá", OTHERS[0]))
    org.notify(text("Olá", OTHERS[1]))
    other, id = list_ids(org)[::-1]
    assert list_ids(org, assigned="false") == [id, other] and list_ids(org, assigned="true") == []
    for value, expected in ((made[0], made[0]), ({"external_id": "SP-2"}, made[1])):
        answer = ok(patched(org, id, {"broker_id": value}))
        assert answer["broker_id"] == expected and conversation(org, id) == answer
        assert (list_ids(org, assigned="true"), list_ids(org, assigned="false")) == ([id], [other])
        assert list_ids(org, broker_id=f"{expected},{UNKNOWN}") == list_ids(org, assigned="true,false", broker_id=expected) == [id]
    org.notify(text("PARAR", OTHERS[1]))
    assert events(org.instance, org.organization)[-1]["payload"]["broker_id"] == made[1]
    before = conversation(org, id)
    for unknown in ("brk_00000000000000000000000000", {"external_id": "SP-3"}):
        refused(patched(org, id, {"triage": "dismissed", "broker_id": unknown}), 400, "validation.conversation.broker_id_not_found",
                broker_id="validation.conversation.broker_id_not_found")
    assert patched(org, id, {"broker_id": id}).json()["code"] == "validation.conversation.broker_id_invalid"
    assert conversation(org, id) == before
    assert "broker_id" not in ok(patched(org, id, {"broker_id": None})) and list_ids(org, assigned="true") == []
    ok(patched(org, id, {"broker_id": made[1]}))
    assert org.api.delete(f"brokers/{made[1]}").status_code == 204
    assert "broker_id" not in conversation(org, id) and list_ids(org, assigned="false") == [id, other]


def test_another_organizations_broker_is_unknown(org, module_admin_factory, meta):
    other = WhatsAppOrg(org.instance, module_admin_factory, meta)
    broker = ok(other.api.post("brokers", {"name": "Ana", "creci": "SP-1"}), 201)["id"]
    id = org.opened()
    assert patched(org, id, {"broker_id": broker}).json()["code"] == "validation.conversation.broker_id_not_found"


@pytest.mark.parametrize("assigned", [["Ana", None], [None, "Ana"], ["Ana", "Beto"]], ids=str)
def test_merged_conversations_have_a_broker_of_them(org, assigned):
    """That of the one that stays, if it has one."""
    now, ids = int(time.time()), []
    for name, phone, ago in zip(assigned, OTHERS, (300, 60)):
        org.notify(text("Olá", phone, at=now - ago))
        ids.append(list_ids(org)[0])
        if name:
            broker = ok(org.api.post("brokers", {"name": name, "creci": name}), 201)["id"]
            ok(patched(org, ids[-1], {"broker_id": broker}))
    before = [conversation(org, id).get("broker_id") for id in ids]
    org.notify(system("user_changed_number", OTHERS[0], new={"wa_id": OTHERS[1]}, at=now - 120))
    left, = conversations(org)["items"]
    assert left["broker_id"] == (before[ids.index(left["id"])] or next(filter(None, before)))


def test_a_changed_conversation_is_not_overwritten(org):
    org.notify(text("Olá", PHONE))
    id = conversations(org)["items"][0]["id"]
    plain = {"Accept-Encoding": "identity"}
    etag = org.api.get(f"whatsapp/conversations/{id}", headers=plain).headers["ETag"]
    assert org.api.get(f"whatsapp/conversations/{id}", headers={**plain, "If-None-Match": etag}).status_code == 304
    org.notify(text("Alô", PHONE))
    refused(patched(org, id, {"triage": "dismissed"}, **{"If-Match": etag}), 412, "conflict.precondition_failed")
    etag = org.api.get(f"whatsapp/conversations/{id}", headers=plain).headers["ETag"]
    changed = patched(org, id, {"triage": "dismissed"}, **{"If-Match": etag})
    assert ok(changed)["triage"] == "dismissed" and changed.headers["ETag"] != etag


@pytest.mark.parametrize("changes, field", [
    ({"triage": "done"}, "triage"), ({"triage": None}, "triage"), ({"triage": 7}, "triage"),
    ({"last_read_at": "2099-01-01T00:00:00Z"}, "last_read_at"), ({"last_read_at": "today"}, "last_read_at"),
    ({"opted_out_at": "2099-01-01T00:00:00Z"}, "opted_out_at"), ({"opted_out_at": True}, "opted_out_at"),
    ({"unread_count": 0}, "unread_count"), ({"lead_id": None}, "lead_id"),
])
def test_an_invalid_change_is_refused_and_changes_nothing(org, changes, field):
    org.notify(text("Olá", PHONE))
    before, = conversations(org)["items"]
    answer = patched(org, before["id"], {"triage": "dismissed", **changes})
    assert answer.status_code == 400 and [one["field"] for one in answer.json()["errors"]] == [field]
    assert conversation(org, before["id"]) == before


def test_a_change_needs_the_scope_and_the_organization(org, module_admin_factory):
    org.notify(text("Olá", PHONE))
    id, = [one["id"] for one in conversations(org)["items"]]
    key = org.admin_factory.key(org.organization, scopes=["whatsapp:read"])
    assert Api(org.instance, key).patch(f"whatsapp/conversations/{id}", {"triage": "dismissed"}).status_code == 403
    stranger = Api(org.instance, module_admin_factory.key())
    refused(stranger.patch(f"whatsapp/conversations/{id}", {"triage": "dismissed"}), 404, "not_found.conversation")
    assert conversation(org, id)["triage"] == "pending"
