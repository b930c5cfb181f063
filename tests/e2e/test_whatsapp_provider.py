"""POST /whatsapp/conversations where Meta refuses, is away, is slow, or nobody knows what it did."""

import contextlib
import re
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import psycopg2
import pytest

for module in ("hooks", "whatsapp"):
    pytest.register_assert_rewrite(module)

from client import ok, refused  # noqa: E402
from receiver import ENDLESS  # noqa: E402
from waiting import LIMIT, eventually  # noqa: E402
from whatsapp import PHONE, TIMEOUT, Office, make_there, meta, office, provider, there  # noqa: E402 (fixtures among them)

from callbacks import failure, preference, status, text  # noqa: E402
from meta import (Meta, accept, accepting, after, answering, drip, error, hang, huge, lose, lose_in_the_middle,  # noqa: E402
                  one_after_the_other, slowly)

JSON = "application/json"


def new_key():
    return str(uuid.uuid4())


# ---------------------------------------------------------------- Meta refuses


@pytest.mark.parametrize("code", [132000, 132001, 132012, 132015, 132016, 100, 131008, 131009])
def test_a_template_that_meta_does_not_take_is_the_callers_to_mend(office, code):
    lead, key = office.lead(), new_key()
    office.meta.behave(error(code, details="body: one thing too few"))
    answer = office.start(lead, key=key)
    problem = refused(answer, 400, "validation.whatsapp.template_rejected")
    assert {item["field"] for item in problem["errors"]} <= {"template_name", "template_parameters"}
    message, = office.messages()
    assert (message["status"], message["error_code"]) == ("failed", code) and message["error_title"]
    office.meta.behave(accept)
    made, _ = office.begin(lead, key=key, template="boas_vindas", template_parameters=["a", "b"])  # mended, under the same key
    assert made["created"] is True and [one["status"] for one in office.messages()] == ["failed", "accepted"]


@pytest.mark.parametrize("given, field", [
    ({"template": "unbekannt"}, "template_name"), ({"template_language": "fr"}, "template_name"),
    ({"template": "boas_vindas"}, "template_parameters"), ({"template": "pausado"}, "template_name"),
    ({"template": "desativado"}, "template_name"), ({"template_parameters": ["zu viel"]}, "template_parameters")])
def test_the_field_to_mend_is_named(office, given, field):
    problem = refused(office.start(office.lead(), **given), 400, "validation.whatsapp.template_rejected")
    assert [item["field"] for item in problem["errors"]] == [field], problem
    office.meta.wrong.clear()  # as meant


@pytest.mark.parametrize("code", [131026, 131047, 131048, 131049, 131042, 368, 999999])
def test_what_the_caller_cannot_mend_is_a_message_that_has_failed(office, code):
    lead, key = office.lead(), new_key()
    office.meta.behave(error(code, status=400) if code in (131026, 131047, 131048, 131049) else
                       answering(400, b'{"error": {"message": "(#%d) Strange", "code": %d}}' % (code, code), JSON))
    first = office.start(lead, key=key)
    message = ok(first, 201)["message"]
    assert (message["status"], message["error_code"]) == ("failed", code) and message["error_title"]
    assert "provider_message_id" not in message
    again = office.start(lead, key=key)
    assert (again.status_code, again.content) == (201, first.content) and again.headers["Idempotent-Replayed"] == "true"
    assert len(office.meta.sends) == 1


def test_a_contact_who_has_stopped_at_meta_has_stopped_here(office):
    lead = office.lead()
    office.meta.behave(error(131050))
    refused(office.start(lead), 409, "conflict.opted_out")
    assert office.conversation()["opted_out_at"]
    office.meta.behave(accept)
    refused(office.start(lead), 409, "conflict.opted_out")
    assert len(office.meta.sends) == 1
    office.tell(preference("resume", PHONE, at=time.time() + 1))
    office.begin(lead)


# ---------------------------------------------------------------- Meta is away: nothing was sent, and it can be sent again


@pytest.mark.parametrize("behaviour", [
    *map(error, [4, 80007, 130429, 131056, 2, 131016]), error(130429, status=400), error(2, status=500),
    answering(429, b"slow down"), answering(429, b"{}", JSON),
], ids=["4", "80007", "130429", "131056", "2", "131016", "130429 with 400", "2 with 500", "429 html", "429 json"])
def test_what_meta_does_not_take_now_can_be_sent_again_with_the_same_key(office, behaviour):
    lead, key = office.lead(), new_key()
    office.meta.behave(behaviour)
    for _ in range(2):
        refused(office.start(lead, key=key), 503, "internal.provider_unavailable")
    office.meta.behave(accept)
    made, _ = office.begin(lead, key=key)
    assert made["created"] is True and len(office.meta.sends) == 3
    assert [one["status"] for one in office.messages()] == ["failed", "failed", "accepted"]
    assert len(office.conversations()) == 1


def test_a_meta_that_nobody_can_reach_can_be_asked_again_with_the_same_key(office):
    lead, key = office.lead(), new_key()
    office.begin(lead)  # with a connection that could be kept
    with office.meta.away():
        refused(office.start(lead, key=key), 503, "internal.provider_unavailable")
    assert office.begin(lead, 200, key=key)[0]["message"]["status"] == "accepted"
    assert len(office.meta.sends) == 2


def told_administrator(there, before):
    """The one line about WhatsApp in the error log since then."""
    line, = [one for one in there.error_log[before:].splitlines() if re.search(r"\bNEO04\d\d\b", one)]
    return line


@pytest.mark.parametrize("code", [0, 190, 3, 10, 200, 230, 299])
def test_what_only_an_administrator_can_mend_stands_in_the_error_log(office, there, code):
    before, lead = len(there.error_log), office.lead()
    office.meta.behave(error(code))
    problem = refused(office.start(lead), 503, "internal.provider_unavailable")
    line = told_administrator(there, before)
    assert str(code) in line and (office.number_id in line or office.number.id in line)
    for private in (office.number.token, office.number.secret, PHONE):
        assert private not in line
    assert "token" not in problem["detail"].lower()


def test_a_number_that_the_token_may_not_use_is_an_administrators_to_mend(office, there):
    """Meta answers with the code for a wrong parameter: the client has sent none, and is not told Meta's id of the number."""
    before, lead, key = len(there.error_log), office.lead(), new_key()
    office.meta.behave(error(100, details=f"Object with ID '{office.number.id}' does not exist", error_subcode=33))
    answer = office.start(lead, key=key)
    refused(answer, 503, "internal.provider_unavailable")
    assert office.number.id not in answer.text and "NEO0412" in told_administrator(there, before)
    office.meta.behave(accept)
    office.begin(lead, key=key)


def test_what_meta_says_cannot_forge_lines_of_the_log(office, there):
    before = len(there.error_log)
    office.meta.behave(answering(401, b'{"error": {"code": 190, "message": "x\\n[Sat] forged\\u001b[31m"}}', JSON))
    refused(office.start(office.lead()), 503, "internal.provider_unavailable")
    assert "\n[Sat] forged" not in there.error_log[before:] and "\x1b" not in there.error_log[before:]


# ---------------------------------------------------------------- nobody knows whether it was sent: it is never sent again

UNKNOWN = {
    "lost": lose, "lost in the middle": lose_in_the_middle, "never answered": hang, "a byte a second": drip, "huge": huge,
    "no JSON": answering(200, b"<html>ok</html>"), "half of the JSON": answering(200, b'{"messages": [{"id": "wami', JSON),
    "nothing": answering(200), "an array": answering(200, b"[]", JSON), "null": answering(200, b"null", JSON),
    "no messages": answering(200, b'{"messages": []}', JSON), "no id": answering(200, b'{"messages": [{}]}', JSON),
    "an id that is none": answering(200, b'{"messages": [{"id": 7}]}', JSON),
    "an empty id": answering(200, b'{"messages": [{"id": ""}]}', JSON), "an error with 200": error(4, status=200),
    "deep": answering(200, b'{"a":' * 5000 + b"1" + b"}" * 5000, JSON),
    "not UTF-8": answering(200, b'{"messages": "\xff"}', JSON),
    "500": answering(500, b"<html>Sorry"), "502": answering(502), "503": answering(503, b"{}", JSON, Retry_After="1"),
    "504": answering(504, b"null", JSON), "500 with another code": answering(500, b'{"error": {"code": 1}}', JSON),
    "500 with a code that is none": answering(500, b'{"error": {"code": "x"}}', JSON),
}


@pytest.mark.parametrize("behaviour", UNKNOWN.values(), ids=UNKNOWN.keys())
def test_a_message_whose_answer_is_lost_is_never_sent_again_and_completed_by_its_status(office, behaviour):
    lead, key = office.lead(), new_key()
    office.meta.behave(behaviour)
    begun = time.monotonic()
    first = office.start(lead, key=key)
    assert time.monotonic() - begun < TIMEOUT + 5
    made = ok(first, 201)
    assert made["message"]["status"] == "pending" and "provider_message_id" not in made["message"]
    assert made["conversation"]["last_message"]["status"] == "pending"
    again = office.start(lead, key=key)
    assert again.json()["message"]["id"] == made["message"]["id"] and len(office.meta.sends) == 1
    send, = office.meta.sends
    office.tell(status(send, "delivered", PHONE))
    message = office.message(made)
    assert (message["status"], message["provider_message_id"]) == ("delivered", send.id)
    assert office.start(lead, key=key).json()["message"]["id"] == made["message"]["id"] and len(office.meta.sends) == 1


@pytest.mark.parametrize("name", ENDLESS)
def test_an_answer_that_does_not_end_is_aborted_in_bounded_memory(office, there, name):
    behaviour, error = ENDLESS[name]
    office.meta.behave(behaviour)
    lead, begun = office.lead(), time.monotonic()
    with there.memory_limited():
        made = ok(office.start(lead), 201)
    assert made["message"]["status"] == "pending" and len(office.meta.sends) == 1
    assert error == "timeout" or time.monotonic() - begun < TIMEOUT / 2


def test_an_answer_that_is_lost_on_a_connection_that_was_kept_is_no_reason_to_send_again(office):
    """Clients of HTTP like to repeat by themselves what ended that way."""
    lead = office.lead()
    office.begin(lead)
    for _ in range(20):
        office.begin(lead, 200)
    office.meta.behave(lose)
    before = len(office.meta.sends)
    for count in range(1, 11):
        assert office.start(lead).json()["message"]["status"] == "pending"
        assert len(office.meta.sends) == before + count


def test_a_status_tells_of_a_message_also_where_it_failed(office):
    office.meta.behave(lose)
    made = ok(office.start(office.lead()), 201)
    office.tell(status(office.meta.sends[0], "failed", PHONE, errors=failure(131026)))
    message = office.message(made)
    assert (message["status"], message["error_code"]) == ("failed", 131026) and message["error_title"]


def test_the_opaque_data_of_others_changes_nothing(office, there, make_there, meta):
    """What comes back as biz_opaque_callback_data finds messages of that number's organization alone."""
    office.meta.behave(lose)
    made = ok(office.start(office.lead()), 201)
    Office(there, make_there, meta).tell(status("wamid.x", "delivered", PHONE, opaque=made["message"]["id"]))
    office.tell(status("wamid.y", "read", PHONE, opaque="wam_00000000000000000000000000"))
    office.tell(status("wamid.z", "read", PHONE, opaque="' or 1=1 --"))
    assert office.status_of(made) == "pending"


def test_slow_is_not_lost(office):
    office.meta.behave(slowly(TIMEOUT / 3))
    assert office.begin()[0]["message"]["status"] == "accepted"


NOBODY_OF_METAS = {"html": (400, b"<html>Bad Request</html>"), "nothing": (404, b""), "an empty object": (400, b"{}"),
                   "another error": (403, b'{"error": "denied"}'), "no code": (400, b'{"error": {"code": null}}'),
                   "a proxy's": (407, b"<html>"), "a method": (405, b"")}


@pytest.mark.parametrize("answer", NOBODY_OF_METAS.values(), ids=NOBODY_OF_METAS.keys())
def test_what_is_not_metas_answer_at_all_is_an_administrators_to_mend(office, there, answer):
    """Whoever it was has refused: nothing was sent."""
    before, lead, key = len(there.error_log), office.lead(), new_key()
    office.meta.behave(answering(*answer))
    refused(office.start(lead, key=key), 503, "internal.provider_unavailable")
    assert str(answer[0]) in told_administrator(there, before)
    office.meta.behave(accept)
    office.begin(lead, key=key)


@pytest.mark.parametrize("number", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(office, there, number):
    with Meta() as other:
        before, lead, key = len(there.error_log), office.lead(), new_key()
        office.meta.behave(answering(number, Location=f"{other.url}/v23.0/{office.number.id}/messages"))
        refused(office.start(lead, key=key), 503, "internal.provider_unavailable")
        assert str(number) in told_administrator(there, before)
        office.meta.behave(accept)
        office.begin(lead, key=key)
        assert len(office.meta.sends) == 2 and not other.sends


# ---------------------------------------------------------------- what happens at the same time


@pytest.mark.parametrize("opaque", [True, False], ids=["by the opaque data", "by the id alone"])
def test_a_status_may_come_before_the_answer(office, opaque):
    def tell(send):
        told = status(send, "delivered", PHONE)
        office.tell(told if opaque else {name: one for name, one in told.items() if name != "biz_opaque_callback_data"})

    office.meta.behave(after(tell))
    made, send = office.begin()
    message = office.message(made)
    assert (message["status"], message["provider_message_id"]) == ("delivered", send.id)
    assert made["message"]["status"] in ("accepted", "delivered")


def test_a_failure_may_be_told_before_the_answer(office):
    office.meta.behave(after(lambda send: office.tell(status(send, "failed", PHONE, errors=failure(131049)))))
    made, _ = office.begin()
    message = office.message(made)
    assert (message["status"], message["error_code"]) == ("failed", 131049)


def test_a_contact_who_stops_while_a_message_is_under_way_has_stopped(office):
    lead = office.lead()
    office.meta.behave(one_after_the_other(after(lambda send: office.tell(preference("stop", PHONE))), accept))
    ok(office.start(lead), 201)
    refused(office.start(lead), 409, "conflict.opted_out")
    assert office.conversation()["opted_out_at"]


def test_a_contact_can_change_to_one_that_has_a_conversation_already(office):
    """Meta answers with the ninth digit taken, and such a conversation has been begun by the contact meanwhile."""
    lead = office.lead()
    office.meta.behave(after(lambda send: office.tell(text("Oi", "551187654321")), accepting(wa_id="551187654321")))
    made, _ = office.begin(lead, 201)
    assert len(office.conversations()) == 1 and office.conversation()["unread_count"] == 1
    assert office.message(made)["conversation_id"] == office.conversation()["id"]


def test_a_message_is_recorded_also_where_somebody_else_is_given_the_contacts_id_at_that_moment(office, there):
    """The other conversation is committed while the end of this one waits for it: that is no conflict of the client's."""
    with contextlib.closing(psycopg2.connect(there.admin_dsn)) as other, ThreadPoolExecutor(1) as pool:
        other.cursor().execute(
            "insert into neoapi.whatsapp_conversation (organization_id, id, number_id, contact_bsuid, triage, created_at,"
            " updated_at) values (%s, 'wac_01jd3x0000000000000000000a', %s, 'BR.1', 'pending', now(), now())",
            (office.organization, office.number_id))
        office.meta.behave(accepting(user_id="BR.1"))
        answer = pool.submit(office.start, office.lead())
        eventually(lambda: there.sql("select true from pg_stat_activity where wait_event_type = 'Lock'"
                                     " and query like '%%whatsapp_finish%%'"), "an end that waits")
        other.commit()
        made = ok(answer.result(LIMIT), 201)
    assert office.message(made)["provider_message_id"] == office.meta.sends[-1].id
    assert made["message"]["status"] == "accepted" and "contact_bsuid" not in made["conversation"]


# ---------------------------------------------------------------- secrets


def citing(code):
    """Refuses, and repeats the header with the access token in all that it says."""
    def behave(handler, send):
        header = send.headers["authorization"]
        handler.answer(400, {"error": {"code": code, "message": f"Malformed access token {header}", "fbtrace_id": header,
                                       "error_data": {"details": f"{'x' * 250} {header}"}}})
    return behave


def test_what_meta_cites_of_the_token_reaches_no_client(office):
    office.meta.behave(citing(100))
    answer = office.start(office.lead())
    assert answer.status_code == 400 and office.number.token not in answer.text and "Bearer" in answer.text


def test_no_secret_is_in_the_error_log_or_in_the_database(office, there):
    lead = office.lead()
    for behaviour in (accept, lose, error(190), error(131026), answering(500), citing(190), citing(131026), citing(100),
                      citing(1)):
        office.meta.behave(behaviour)
        office.start(lead, key=new_key())
    tables = [name for name, in there.sql("select tablename from pg_tables where schemaname = 'neoapi'")]
    kept = [row for table in tables for row, in there.sql(f'select t::text from neoapi."{table}" t')]
    assert len(kept) > 10
    for private in (office.number.token, office.number.secret, office.verify_token):
        assert private not in there.error_log
        assert not [row for row in kept if private in row]
        assert not [row for row in kept if private.encode().hex() in row]
