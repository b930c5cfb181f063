# SPDX-License-Identifier: Apache-2.0
"""Opt-outs by a stop word, in WhatsApp's settings, or reported by Meta when it refuses a message."""

import itertools
import json
import time

import pytest

from client import ok, refused
from event_log import events
from whatsapp import (PHONE, SHORT, description, meta, module_admin_factory, module_instance, org,  # fixtures among them
                      provider)

from callbacks import failure, message, preference, status, system, text
from meta import error

BSUID = "BR.13491208655302741918"


def seconds(instant):
    """A timestamp of the database."""
    return instant.timestamp()


# ---------------------------------------------------------------- stop words and preferences

CONF = 'NeoAPIWhatsAppStopTexts "Chega de Mensagens!" "Обманщики"'
WORDS = ["STOP", "PARAR", "SAIR", "CANCELAR", "DESCADASTRAR", "stop", "Parar", "  sair ", "cancelar\n", "STOP!", "PARAR!",
         "Parar promoções", "Parar promoc\u0327o\u0303es", "Unsubscribe", "*Sair.* 🙏", "«cancelar»", "chega de mensagens", "Обманщики!"]
NO_WORDS = ["Não quero parar", "PARAR?", "¿parar", "sair daqui", "", "S T O P", "cancelaram", "STOP STOP"]


@pytest.mark.parametrize("word", WORDS)
def test_a_stop_word_opts_out(org, word):
    lead = org.lead()
    org.begin(lead)
    org.notify(text(word, PHONE))
    assert org.conversation()["opted_out_at"]
    problem = refused(org.start(lead), 409, "conflict.opted_out")
    assert PHONE not in problem["detail"] and len(org.meta.sends) == 1 and len(org.messages()) == 2


def test_a_refused_request_changes_nothing(org):
    lead = org.lead()
    org.begin(lead)
    org.notify(text("PARAR", PHONE))
    path = "whatsapp/conversations/" + org.conversation()["id"]
    before = ok(org.api.get(path))
    refused(org.start(lead), 409, "conflict.opted_out")
    assert ok(org.api.get(path)) == before


@pytest.mark.parametrize("words", NO_WORDS)
def test_a_stop_word_in_a_sentence_does_not_opt_out(org, words):
    lead = org.lead()
    org.notify(text(words, PHONE))
    assert org.conversation()["opted_out_at"] is None
    org.begin(lead, 200)


def test_a_stop_word_in_a_caption_or_a_button_does_not_opt_out(org):
    org.notify(message("image", PHONE, content={"id": "1", "mime_type": "image/png", "caption": "STOP"}))
    assert org.conversation()["opted_out_at"] is None


REPLIES = {
    "button": {"payload": "x", "text": "Cancelar"},
    "interactive": {"type": "button_reply", "button_reply": {"id": "x", "title": "Cancelar"}},
    "list": {"type": "list_reply", "list_reply": {"id": "x", "title": "PARAR"}},
}


@pytest.mark.parametrize("kind", REPLIES)
def test_a_button_or_list_reply_does_not_opt_out(org, kind):
    """A template that confirms a visit has a button "Cancelar"."""
    lead = org.lead()
    org.notify(message("interactive" if kind == "list" else kind, PHONE, content=REPLIES[kind]))
    assert org.conversation()["opted_out_at"] is None
    org.begin(lead, 200)


def test_a_message_to_a_group_neither_opts_out_nor_opens_the_window(org):
    lead = org.lead()
    org.notify(text("PARAR", PHONE, group_id="Y2FwaV9ncm91cDox"))
    found = org.conversation()
    assert (found["opted_out_at"], found["last_inbound_at"], found["unread_count"]) == (None, None, 1)
    shown, = ok(org.api.get(f"whatsapp/conversations/{found['id']}/messages"))["items"]
    assert shown["is_group"] is True
    assert org.begin(lead, 200)[0]["conversation"]["window_open"] is False


def test_a_signup_ends_an_opt_out(org):
    lead = org.lead()
    org.notify(preference("stop", PHONE, at=time.time() - 20))
    org.notify(preference("signup", PHONE, at=time.time() - 10))
    assert org.conversation()["opted_out_at"] is None
    org.begin(lead, 200)


def test_the_time_of_an_opt_out_is_the_earliest_stop_since_the_last_resume(org):
    """In any order of arrival; each permutation has its own contact."""
    now = int(time.time()) - 100
    orders = {f"55119711100{n:02}": order for n, order in enumerate(
        itertools.permutations([("stop", 10), ("resume", 20), ("stop", 30), ("stop", 40)]))}
    for nth in range(4):
        org.notify(*[preference(order[nth][0], phone, at=now + order[nth][1]) for phone, order in orders.items()])
    found = {one["contact_wa_id"]: seconds(one["opted_out_at"]) - now for one in org.conversations()}
    assert found == dict.fromkeys(orders, 30)


@pytest.mark.parametrize("word", ["RESUME", "VOLTAR", "voltar"])
def test_a_start_word_ends_an_opt_out(org, word):
    lead = org.lead()
    org.notify(text("PARAR", PHONE, at=time.time() - 2))
    refused(org.start(lead), 409, "conflict.opted_out")
    org.notify(text(word, PHONE))
    assert org.conversation()["opted_out_at"] is None
    org.begin(lead, 200)


def test_preferences_stop_and_resume(org):
    lead = org.lead()
    org.begin(lead)
    then = int(time.time()) - 5
    org.notify(preference("stop", PHONE, at=then))
    assert seconds(org.conversation()["opted_out_at"]) == then
    refused(org.start(lead), 409, "conflict.opted_out")
    org.notify(preference("resume", PHONE))
    assert org.conversation()["opted_out_at"] is None
    org.begin(lead, 200)


def test_preferences_apply_in_the_order_of_their_timestamps(org):
    """Meta can repeat and reorder callbacks: an older one that arrives later has no effect."""
    org.begin()
    now = int(time.time())
    org.notify(preference("stop", PHONE, at=now - 50))
    org.notify(preference("resume", PHONE, at=now - 100))
    assert org.conversation()["opted_out_at"]
    org.notify(preference("resume", PHONE, at=now - 40))
    org.notify(preference("stop", PHONE, at=now - 50))
    assert org.conversation()["opted_out_at"] is None


def test_preferences_of_a_contact_without_a_conversation_are_kept(org):
    lead = org.lead()
    org.notify(preference("stop", PHONE))
    refused(org.start(lead), 409, "conflict.opted_out")
    assert not org.meta.sends


def test_preferences_of_a_contact_without_a_phone_apply(org):
    org.notify(text("Oi", user_id=BSUID))
    org.notify(preference("stop", user_id=BSUID))
    assert org.conversation()["opted_out_at"]


@pytest.mark.parametrize("stopped", [PHONE, SHORT])
def test_an_opt_out_applies_with_and_without_the_ninth_digit(org, stopped):
    lead = org.lead(PHONE)
    org.notify(text("PARAR", stopped))
    refused(org.start(lead), 409, "conflict.opted_out")
    assert not org.meta.sends


def test_messages_of_an_opted_out_contact_are_stored(org):
    org.notify(text("PARAR", PHONE), text("mas tenho uma pergunta", PHONE))
    found = org.conversation()
    assert found["unread_count"] == 2 and found["opted_out_at"]


def test_the_refusal_has_the_time_of_the_opt_out(org):
    """If a lead has two numbers, an opt-out applies to one conversation."""
    lead = org.lead()
    second, second_id, _ = org.add_number()
    org.notify(text("PARAR", PHONE))
    refused(org.start(lead, number_id=org.number_id), 409, "conflict.opted_out")
    assert org.begin(lead, number_id=second_id)[0]["message"]["status"] == "accepted"


# ---------------------------------------------------------------- opt-outs at Meta that a status reports


def refusal(send, at):
    return status(send, "failed", PHONE, at=at, errors=failure(131050, "User has stopped receipt of marketing messages"))


def test_an_opt_out_at_meta_has_its_timestamp(org):
    lead, then = org.lead(), int(time.time()) - 60
    _, send = org.begin(lead)
    org.notify(refusal(send, then))
    assert seconds(org.conversation()["opted_out_at"]) == then
    refused(org.start(lead), 409, "conflict.opted_out")


def test_a_repeated_refusal_does_not_revert_a_resume(org):
    lead, now = org.lead(), int(time.time())
    _, send = org.begin(lead)
    org.notify(refusal(send, now - 60))
    org.notify(preference("resume", PHONE, at=now - 30))
    org.notify(refusal(send, now - 60))
    assert org.conversation()["opted_out_at"] is None
    org.begin(lead, 200)


@pytest.mark.parametrize("refused_at, resumed_at, is_out", [(-60, -30, False), (-30, -60, True), (-30, -30, True)],
                         ids=["resumed later", "resumed before", "at the same time"])
@pytest.mark.parametrize("refused_first", [True, False], ids=["in order", "out of order"])
def test_refusals_apply_by_timestamp_in_any_order_of_arrival(org, refused_at, resumed_at, is_out, refused_first):
    now = int(time.time())
    _, send = org.begin()
    both = [refusal(send, now + refused_at), preference("resume", PHONE, at=now + resumed_at)]
    for one in both if refused_first else reversed(both):
        org.notify(one)
    assert (org.conversation()["opted_out_at"] is not None) is is_out


def test_a_refusal_that_is_repeated_changes_nothing(org):
    _, send = org.begin()
    again = refusal(send, time.time() - 60)
    org.notify(again)
    before = org.conversation()
    org.notify(again)
    assert org.conversation() == before


# ---------------------------------------------------------------- opt-outs that a client records


def iso(at):
    """A whole second as the API writes it."""
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(at))


def record(org, at):
    """The response to a client that sets opted_out_at, or withdraws it, in the only conversation."""
    answer = org.api.patch(f"whatsapp/conversations/{org.conversation()['id']}", {"opted_out_at": at and iso(at)})
    description(org.instance).operation("patch", "/whatsapp/conversations/{id}").check(answer)
    return answer


def opt_out_events(org, happened="opted_out"):
    return [one for one in events(org.instance, org.organization) if one["type"] == "whatsapp.contact." + happened]


def test_a_client_records_an_opt_out_and_withdraws_it(org):
    lead, now = org.lead(), int(time.time())
    before = org.begin(lead)[0]["conversation"]
    answer = record(org, now - 60)
    found = ok(answer)
    assert found == {**before, "opted_out_at": iso(now - 60), "updated_at": found["updated_at"]}
    assert found["updated_at"] > before["updated_at"] and ok(org.api.get("whatsapp/conversations/" + found["id"])) == found
    event, = opt_out_events(org)
    assert (event["actor"], event["request_id"]) == (org.api.credential.id, answer.headers["X-Request-ID"])
    assert event["payload"] == found
    refused(org.start(lead), 409, "conflict.opted_out")
    assert ok(record(org, now - 60)) == found and ok(record(org, now - 90))["opted_out_at"] == iso(now - 90)
    answer = record(org, None)
    event, = opt_out_events(org, "opted_in")
    assert (event["actor"], event["request_id"]) == (org.api.credential.id, answer.headers["X-Request-ID"])
    assert event["payload"] == ok(answer) and "opted_out_at" not in ok(answer) and len(opt_out_events(org)) == 1
    org.begin(lead, 200)
    assert org.instance.sql("select id from neoapi.whatsapp_opt_out where organization_id = %s", org.organization) == []


@pytest.mark.parametrize("own", ["a message", "a status", "an import"])
def test_a_client_cannot_withdraw_the_contacts_own_opt_out(org, own):
    lead, now = org.lead(), int(time.time())
    _, send = org.begin(lead)
    ok(record(org, now - 60))
    if own == "an import":
        row = {"whatsapp_opt_out": {"id": "1", "contact_phone": PHONE, "phone_number_id": org.number.id, "opted_out_at": iso(now - 30)}}
        org.ctl("import", "-", "--organization", org.organization, given=json.dumps(row))
    else:
        org.notify(text("PARAR", PHONE, at=now - 30) if own == "a message" else refusal(send, now - 30))
    assert len(opt_out_events(org)) == 1
    problem = refused(record(org, None), 409, "conflict.opted_out")
    assert "VOLTAR" in problem["detail"] and seconds(org.conversation()["opted_out_at"]) == now - 60
    assert ok(record(org, now - 10))["opted_out_at"] == iso(now - 30)  # the contact's own is earlier
    refused(org.start(lead), 409, "conflict.opted_out")


def test_the_contact_ends_an_opt_out_that_a_client_recorded(org):
    lead, now = org.lead(), int(time.time())
    org.begin(lead)
    ok(record(org, now - 60))
    org.notify(text("VOLTAR", PHONE, at=now - 30))
    assert org.conversation()["opted_out_at"] is None
    problem = refused(record(org, now - 60), 400, "validation.conversation.opted_out_at_invalid")
    assert [one["field"] for one in problem["errors"]] == ["opted_out_at"]
    ok(record(org, now - 10))
    assert ok(record(org, None)) and org.begin(lead, 200)
    assert org.instance.sql("select id from neoapi.whatsapp_opt_out where organization_id = %s", org.organization) == []


def test_another_change_keeps_the_contacts_opt_out(org):
    """Which Meta's response has revealed, so that it has more digits than are shown."""
    org.meta.behave(error(131050))
    refused(org.start(org.lead()), 409, "conflict.opted_out")
    before = org.conversation()
    ok(org.api.patch("whatsapp/conversations/" + before["id"], {"triage": "dismissed"}))
    assert org.conversation()["opted_out_at"] == before["opted_out_at"] and before["opted_out_at"].microsecond % 1000


@pytest.mark.parametrize("first", ["the old number's", "the new number's"])
def test_a_recorded_opt_out_stays_when_conversations_become_one(org, first):
    now, new = int(time.time()), "5511987654399"
    org.notify(text("Oi", PHONE, at=now - 90))
    if first == "the old number's":
        ok(record(org, now - 60))
    org.notify(text("Oi", new, at=now - 20))
    if first == "the new number's":
        later, = [one for one in org.conversations() if one["contact_wa_id"] == new]
        ok(org.api.patch("whatsapp/conversations/" + later["id"], {"opted_out_at": iso(now - 60)}))
    org.notify(system("user_changed_number", PHONE, new={"wa_id": new}, at=now - 30))
    assert seconds(org.conversation()["opted_out_at"]) == now - 60 and len(opt_out_events(org)) == 1


def test_a_recorded_opt_out_is_exported_and_can_still_be_withdrawn(org, tmp_path):
    file, now = str(tmp_path / "all.ndjson"), int(time.time())
    org.begin()
    before = ok(record(org, now - 60))
    org.ctl("export", org.organization, "--output", file)
    org.ctl("purge", "organization", org.organization, "--data-only", "--yes")
    org.ctl("import", file, "--organization", org.organization)
    assert ok(org.api.get("whatsapp/conversations/" + before["id"])) == before
    assert "opted_out_at" not in ok(record(org, None))
