"""Who wants to hear no more: by a word, in WhatsApp itself, or as Meta tells of it when it refuses a message."""

import time

import pytest

for module in ("hooks", "whatsapp"):
    pytest.register_assert_rewrite(module)

from client import refused  # noqa: E402
from whatsapp import PHONE, SHORT, make_there, meta, office, provider, there  # noqa: E402 (fixtures among them)

from callbacks import failure, message, preference, status, text  # noqa: E402

BSUID = "BR.13491208655302741918"


def seconds(instant):
    """A timestamp of the database."""
    return instant.timestamp()


# ---------------------------------------------------------------- words and preferences

WORDS = ["STOP", "PARAR", "SAIR", "CANCELAR", "DESCADASTRAR", "stop", "Parar", "  sair ", "cancelar\n"]
NO_WORDS = ["Não quero parar", "STOP!", "PARAR?", "sair daqui", "", "S T O P", "cancelaram", "STOP STOP"]


@pytest.mark.parametrize("word", WORDS)
def test_a_word_ends_it(office, word):
    lead = office.lead()
    office.begin(lead)
    office.tell(text(word, PHONE))
    assert office.conversation()["opted_out_at"]
    problem = refused(office.start(lead), 409, "conflict.opted_out")
    assert PHONE not in problem["detail"] and len(office.meta.sends) == 1 and len(office.messages()) == 2


@pytest.mark.parametrize("words", NO_WORDS)
def test_a_word_in_a_sentence_does_not(office, words):
    lead = office.lead()
    office.tell(text(words, PHONE))
    assert office.conversation()["opted_out_at"] is None
    office.begin(lead, 200)


def test_a_word_in_a_caption_or_a_button_counts_as_little(office):
    office.tell(message("image", PHONE, content={"id": "1", "mime_type": "image/png", "caption": "STOP"}))
    assert office.conversation()["opted_out_at"] is None


@pytest.mark.parametrize("word", ["RESUME", "VOLTAR", "voltar"])
def test_another_word_begins_it_again(office, word):
    lead = office.lead()
    office.tell(text("PARAR", PHONE, at=time.time() - 2))
    refused(office.start(lead), 409, "conflict.opted_out")
    office.tell(text(word, PHONE))
    assert office.conversation()["opted_out_at"] is None
    office.begin(lead, 200)


def test_preferences_stop_and_resume(office):
    lead = office.lead()
    office.begin(lead)
    then = int(time.time()) - 5
    office.tell(preference("stop", PHONE, at=then))
    assert seconds(office.conversation()["opted_out_at"]) == then
    refused(office.start(lead), 409, "conflict.opted_out")
    office.tell(preference("resume", PHONE))
    assert office.conversation()["opted_out_at"] is None
    office.begin(lead, 200)


def test_preferences_count_in_the_order_of_their_moments(office):
    """Meta repeats and disorders: an older one that comes later changes nothing."""
    office.begin()
    now = int(time.time())
    office.tell(preference("stop", PHONE, at=now - 50))
    office.tell(preference("resume", PHONE, at=now - 100))
    assert office.conversation()["opted_out_at"]
    office.tell(preference("resume", PHONE, at=now - 40))
    office.tell(preference("stop", PHONE, at=now - 50))
    assert office.conversation()["opted_out_at"] is None


def test_preferences_of_somebody_who_has_no_conversation_count_when_one_begins(office):
    lead = office.lead()
    office.tell(preference("stop", PHONE))
    refused(office.start(lead), 409, "conflict.opted_out")
    assert not office.meta.sends


def test_preferences_of_a_contact_without_a_phone_count(office):
    office.tell(text("Oi", user_id=BSUID))
    office.tell(preference("stop", user_id=BSUID))
    assert office.conversation()["opted_out_at"]


@pytest.mark.parametrize("stopped", [PHONE, SHORT])
def test_who_has_stopped_has_stopped_with_and_without_the_ninth_digit(office, stopped):
    lead = office.lead(PHONE)
    office.tell(text("PARAR", stopped))
    refused(office.start(lead), 409, "conflict.opted_out")
    assert not office.meta.sends


def test_who_has_stopped_may_still_write(office):
    office.tell(text("PARAR", PHONE), text("mas tenho uma pergunta", PHONE))
    found = office.conversation()
    assert found["unread_count"] == 2 and found["opted_out_at"]


def test_the_answer_says_since_when_nobody_wants_to_hear(office):
    """Where the lead is known under another number as well, each number's conversation counts for itself."""
    lead = office.lead()
    second, second_id, _ = office.add_number()
    office.tell(text("PARAR", PHONE))
    refused(office.start(lead, number_id=office.number_id), 409, "conflict.opted_out")
    assert office.begin(lead, number_id=second_id)[0]["message"]["status"] == "accepted"


# ---------------------------------------------------------------- who has stopped at Meta, which a status tells


def refusal(send, at):
    return status(send, "failed", PHONE, at=at, errors=failure(131050, "User has stopped receipt of marketing messages"))


def test_who_has_stopped_at_meta_has_stopped_at_that_moment(office):
    lead, then = office.lead(), int(time.time()) - 60
    _, send = office.begin(lead)
    office.tell(refusal(send, then))
    assert seconds(office.conversation()["opted_out_at"]) == then
    refused(office.start(lead), 409, "conflict.opted_out")


def test_a_refusal_that_is_repeated_stops_nobody_again_who_has_resumed(office):
    lead, now = office.lead(), int(time.time())
    _, send = office.begin(lead)
    office.tell(refusal(send, now - 60))
    office.tell(preference("resume", PHONE, at=now - 30))
    office.tell(refusal(send, now - 60))
    assert office.conversation()["opted_out_at"] is None
    office.begin(lead, 200)


@pytest.mark.parametrize("refused_at, resumed_at, is_out", [(-60, -30, False), (-30, -60, True), (-30, -30, True)],
                         ids=["resumed later", "resumed before", "at the same time"])
@pytest.mark.parametrize("refused_first", [True, False], ids=["told in order", "told in disorder"])
def test_a_refusal_counts_by_its_moment_in_whatever_order_it_is_told(office, refused_at, resumed_at, is_out, refused_first):
    now = int(time.time())
    _, send = office.begin()
    both = [refusal(send, now + refused_at), preference("resume", PHONE, at=now + resumed_at)]
    for one in both if refused_first else reversed(both):
        office.tell(one)
    assert (office.conversation()["opted_out_at"] is not None) is is_out


def test_a_refusal_that_is_repeated_changes_nothing(office):
    _, send = office.begin()
    again = refusal(send, time.time() - 60)
    office.tell(again)
    before = office.conversation()
    office.tell(again)
    assert office.conversation() == before
