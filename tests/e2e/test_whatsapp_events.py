# SPDX-License-Identifier: Apache-2.0
"""WhatsApp events: the events that callbacks write, and their delivery."""

import pytest

from client import Api, ok, refused
from event_log import events
from receiver import Receiver
from wait import eventually
from webhook_fixtures import HERE, deliveries, subscribe
from whatsapp import PHONE, description, meta, module_admin_factory, module_instance, org, provider  # noqa: F401

from callbacks import failure, message, preference, status, system, text
from meta import after, error

CONF = HERE
RECEIVED, UPDATED = "whatsapp.message.received", "whatsapp.message.updated"
OPTED_OUT, OPTED_IN = "whatsapp.contact.opted_out", "whatsapp.contact.opted_in"
OTHER = "5511987654399"


@pytest.fixture
def receiver(module_instance):
    with Receiver() as one:
        yield one


def logged(org, after=0):
    """The organization's WhatsApp events as (type, payload)."""
    found = [one for one in events(org.instance, org.organization) if one["type"].startswith("whatsapp.")]
    for one in found:
        assert (one["actor"], one["request_id"], one["changed"], one["previous"]) == ("system", None, None, None)
        assert one["payload"]["id"] == one["resource_id"]
    return [(one["type"], one["payload"]) for one in found][after:]


def types(org):
    return [happened for happened, _ in logged(org)]


def test_events_are_delivered_to_subscriptions_that_list_them(org, receiver):
    document = description(org.instance)
    everything = subscribe(org.api, receiver.url + "all", "*")
    one = subscribe(org.api, receiver.url + "one", "*", OPTED_OUT)
    both = subscribe(org.api, receiver.url + "both", RECEIVED, UPDATED)
    made, send = org.begin()
    org.notify(status(send, "delivered", PHONE), text("Quero visitar.", PHONE))
    org.notify(text("PARAR", PHONE))
    eventually(lambda: len(receiver.arrivals) == 4, "four deliveries")
    arrived = {name: [arrival.json for arrival in receiver.arrivals if arrival.path == "/" + name] for name in ("all", "one", "both")}
    assert arrived["all"] == [] == deliveries(org.api, everything)
    path = "whatsapp/conversations/" + made["conversation"]["id"]
    conversation = ok(org.api.get(path))
    assert [(one["event_type"], one["payload"]) for one in arrived["one"]] == [(OPTED_OUT, conversation)]
    assert "opted_out_at" in conversation and len(deliveries(org.api, one)) == 1
    items = ok(org.api.get(path + "/messages"))["items"]
    found = {one["payload"]["id"]: one for one in arrived["both"]}
    assert [found[one["id"]]["payload"] for one in items] == items
    assert [found[one["id"]]["event_type"] for one in items] == [RECEIVED, RECEIVED, UPDATED]
    assert [one["event_type"] for one in deliveries(org.api, both)].count(RECEIVED) == 2
    for event in (*arrived["one"], *arrived["both"]):
        described = document.resolve(document.whole["webhooks"][event["event_type"]]["post"]["requestBody"])
        assert not document.wrong(event, described["content"]["application/json"]["schema"])


def test_a_repeated_callback_causes_no_event(org):
    _, send = org.begin()
    items = status(send, "delivered", PHONE), text("Olá", PHONE), text("PARAR", PHONE), preference("stop", PHONE)
    for _ in range(2):
        org.notify(*items)
    assert sorted(types(org)) == [OPTED_OUT, RECEIVED, RECEIVED, UPDATED]


def test_a_status_is_an_event_only_if_the_message_changes(org):
    made, send = org.begin()
    for state in ("read", "delivered", "sent", "read"):
        org.notify(status(send, state, PHONE))
    (happened, payload), = logged(org)
    assert (happened, payload["id"], payload["status"]) == (UPDATED, made["message"]["id"], "read")


def test_edits_and_revocations_update_their_message(org):
    first, second = text("Sábado", PHONE), text("Adeus", PHONE)
    edit = message("edit", PHONE, content={"original_message_id": first["id"],
                                           "message": {"type": "text", "text": {"body": "Domingo"}}})
    revoke = message("revoke", PHONE, content={"original_message_id": second["id"]})
    org.notify(edit)
    assert logged(org) == []
    org.notify(first, second)
    assert [(happened, payload["body"]) for happened, payload in logged(org)] == [(RECEIVED, "Domingo"), (RECEIVED, "Adeus")]
    assert ["edited_at" in payload for _, payload in logged(org)] == [True, False]
    org.notify(revoke)
    org.notify(revoke, edit)
    (happened, payload), = logged(org, after=2)
    assert happened == UPDATED and payload["provider_message_id"] == second["id"] and "body" not in payload
    assert "revoked_at" in payload and "edited_at" not in payload


def test_an_edit_after_a_revocation_changes_nothing(org):
    item = text("Adeus", PHONE)
    org.notify(item)
    org.notify(message("revoke", PHONE, content={"original_message_id": item["id"]}))
    for body in ("Domingo", "Segunda"):
        org.notify(message("edit", PHONE, content={"original_message_id": item["id"],
                                                   "message": {"type": "text", "text": {"body": body}}}))
    assert types(org) == [RECEIVED, UPDATED]


def test_an_opt_out_is_an_event_once_until_the_contact_resumes(org):
    def at(second, kind="stop"):
        org.notify(preference(kind, PHONE, at=1_760_000_000 + second))
        return types(org)[logged_before[-1]:]
    logged_before = [0]
    for second, kind, expected in ((10, "resume", []), (100, "stop", [OPTED_OUT]), (200, "stop", []), (50, "stop", []), (20, "resume", []),
                                   (300, "signup", [OPTED_IN]), (250, "stop", []), (320, "resume", []), (400, "stop", [OPTED_OUT]),
                                   (350, "stop", [])):
        assert at(second, kind) == expected, second
        logged_before.append(len(types(org)))


def test_a_contact_that_opts_in_again_is_an_event(org, receiver):
    everything, one = subscribe(org.api, receiver.url + "all", "*"), subscribe(org.api, receiver.url, OPTED_IN)
    document = description(org.instance)
    org.notify(text("PARAR", PHONE, at=1_760_000_000))
    for _ in range(2):
        org.notify(text("VOLTAR", PHONE, at=1_760_000_100, id="wamid.1"))
    eventually(lambda: receiver.arrivals, "the notification")
    event, = [arrival.json for arrival in receiver.arrivals]
    conversation, = ok(org.api.get("whatsapp/conversations"))["items"]
    assert (event["event_type"], event["payload"]) == (OPTED_IN, conversation) and "opted_out_at" not in conversation
    described = document.resolve(document.whole["webhooks"][OPTED_IN]["post"]["requestBody"])
    assert not document.wrong(event, described["content"]["application/json"]["schema"])
    assert len(deliveries(org.api, one)) == 1 and deliveries(org.api, everything) == []
    assert [one["payload"] for one in ok(org.api.get("events", params={"type": OPTED_IN}))["items"]] == [conversation]


def test_an_opt_out_that_a_status_without_our_id_reveals_before_the_response_is_an_event(org):
    def refuse(send):
        item = status(send, "failed", PHONE, errors=failure(131050))
        org.notify({name: value for name, value in item.items() if name != "biz_opaque_callback_data"})
    org.meta.behave(after(refuse))
    org.begin()
    assert types(org) == [OPTED_OUT] and org.conversation()["opted_out_at"]


def test_an_opt_out_stays_one_event_through_a_change_of_number(org):
    org.notify(text("PARAR", PHONE, at=1_760_000_000))
    org.notify(system("user_changed_number", PHONE, new={"wa_id": OTHER}, at=1_760_000_100))
    org.notify(text("Olá", OTHER, at=1_760_000_200))
    assert types(org).count(OPTED_OUT) == 1 and types(org).count(RECEIVED) == 3


def test_an_opt_out_that_a_status_reveals_is_an_event(org):
    made, send = org.begin()
    org.notify(status(send, "failed", PHONE, errors=failure(131050)))
    found = dict(logged(org))
    assert found[UPDATED]["error_code"] == 131050 and found[OPTED_OUT]["id"] == made["conversation"]["id"]


@pytest.mark.parametrize("is_first", [False, True])
def test_an_opt_out_that_a_response_reveals_is_an_event(org, is_first):
    lead = org.lead()
    if not is_first:
        org.begin(lead)
    org.meta.behave(error(131050))
    refused(org.start(lead), 409, "conflict.opted_out")
    (happened, payload), = logged(org)
    assert happened == OPTED_OUT and payload["opted_out_at"] and payload["lead_id"] == lead
    assert ok(org.api.get("whatsapp/conversations/" + payload["id"])) == payload
    refused(org.start(lead), 409, "conflict.opted_out")
    assert types(org) == [OPTED_OUT]


def test_events_stay_in_their_organization(org, receiver, module_instance, module_admin_factory):
    stranger = Api(module_instance, module_admin_factory.key())
    subscription = subscribe(stranger, receiver.url, RECEIVED, UPDATED, OPTED_OUT)
    org.notify(text("Olá", PHONE))
    assert types(org) == [RECEIVED] and deliveries(stranger, subscription) == []


def test_a_reply_and_an_opt_out_are_delivered_as_events(org, receiver):
    subscribe(org.api, receiver.url, RECEIVED, OPTED_OUT)
    lead = org.lead()
    made, _ = org.begin(lead, template="boas_vindas", template_parameters=["Carla", "Horizonte"])
    org.notify(text("Quero visitar no sábado.", PHONE))
    eventually(lambda: receiver.arrivals, "the notification of the reply")
    notified = receiver.arrivals[0].json["payload"]
    items = ok(org.api.get(f"whatsapp/conversations/{notified['conversation_id']}/messages"))["items"]
    assert items == [notified, made["message"]] and notified["body"] == "Quero visitar no sábado."
    org.notify(text("PARAR", PHONE))
    eventually(lambda: OPTED_OUT in {one.json["event_type"] for one in receiver.arrivals}, "the notification of the opt-out")
    refused(org.start(lead), 409, "conflict.opted_out")
    assert len(org.meta.sends) == 1
