# SPDX-License-Identifier: Apache-2.0
"""Opt-outs: by a word, in WhatsApp's settings, or reported by Meta when it refuses a message."""

import itertools
import time

import pytest

from client import ok, refused
from whatsapp import (PHONE, SHORT, meta, module_admin_factory, module_instance, org,  # fixtures among them
                      provider)

from callbacks import failure, message, preference, status, text

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
    """In any order of arrival; each permutation has a contact of its own."""
    now = int(time.time()) - 100
    orders = {f"55119711100{n:02}": order for n, order in enumerate(
        itertools.permutations([("stop", 10), ("resume", 20), ("stop", 30), ("stop", 40)]))}
    for nth in range(4):
        org.notify(*[preference(order[nth][0], phone, at=now + order[nth][1]) for phone, order in orders.items()])
    found = {one["contact_wa_id"]: seconds(one["opted_out_at"]) - now for one in org.conversations()}
    assert found == dict.fromkeys(orders, 30)


@pytest.mark.parametrize("word", ["RESUME", "VOLTAR", "voltar"])
def test_a_start_word_opts_in_again(org, word):
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
    """Meta may repeat and reorder callbacks: an older one that arrives later has no effect."""
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


def test_the_refusal_says_since_when_the_contact_has_opted_out(org):
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


def test_a_repeated_refusal_does_not_undo_a_resume(org):
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
