# SPDX-License-Identifier: Apache-2.0
"""POST /whatsapp/conversations when Meta refuses, is unreachable, is slow, or its response is lost."""

import contextlib
import json
import re
import subprocess
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import psycopg2
import pytest

from admin_pages import LOCATIONS
from client import ok, refused
from receiver import ENDLESS
from wait import TIMEOUT_S, eventually
from whatsapp import (PHONE, TIMEOUT, WhatsAppOrg, meta, module_admin_factory,  # fixtures among them
                      module_instance, org, provider)

import jsonschema
import specification
from callbacks import CONTENT, failure, message, preference, status, text
from meta import (Meta, accept, accepting, after, answering, drip, error, hang, huge, close_before_response,
                  close_within_response,
                  one_after_the_other, slowly)

CONF = LOCATIONS
JSON = "application/json"


def new_key():
    return str(uuid.uuid4())


# ---------------------------------------------------------------- Meta refuses


@pytest.mark.parametrize("code", [132000, 132001, 132012, 132015, 132016, 100, 131008, 131009])
def test_a_template_refused_by_meta_is_a_400(org, code):
    lead, key = org.lead(), new_key()
    org.meta.behave(error(code, details="body: one thing too few"))
    answer = org.start(lead, key=key)
    problem = refused(answer, 400, "validation.whatsapp.template_rejected")
    assert {item["field"] for item in problem["errors"]} <= {"template_name", "template_parameters"}
    message, = org.messages()
    assert (message["status"], message["error_code"]) == ("failed", code) and message["error_title"]
    org.meta.behave(accept)
    made, _ = org.begin(lead, key=key, template="boas_vindas", template_parameters=["a", "b"])  # corrected, with the same key
    assert made["created"] is True and [one["status"] for one in org.messages()] == ["failed", "accepted"]


@pytest.mark.parametrize("given, field", [
    ({"template": "unbekannt"}, "template_name"), ({"template_language": "fr"}, "template_name"),
    ({"template": "boas_vindas", "template_parameters": ["a"]}, "template_parameters[1]"), ({"template": "pausado"}, "template_name"),
    ({"template": "desativado"}, "template_name"), ({"template_parameters": ["zu viel"]}, "template_parameters[0]")])
def test_a_refused_template_names_the_field(org, given, field):
    problem = refused(org.start(org.lead(), **given), 400, "validation.whatsapp.template_rejected")
    assert [item["field"] for item in problem["errors"]] == [field], problem
    org.meta.wrong.clear()  # errors that this test expects


@pytest.mark.parametrize("code", [130497, 131026, 131047, 131048, 131049, 999999])
def test_other_refusals_are_failed_messages(org, code):
    lead, key = org.lead(), new_key()
    org.meta.behave(error(code) if code != 999999 else
                    answering(400, b'{"error": {"message": "(#%d) Strange", "code": %d}}' % (code, code), JSON))
    first = org.start(lead, key=key)
    message = ok(first, 201)["message"]
    assert (message["status"], message["error_code"]) == ("failed", code) and message["error_title"]
    assert "provider_message_id" not in message
    again = org.start(lead, key=key)
    assert (again.status_code, again.content) == (201, first.content) and again.headers["Idempotent-Replayed"] == "true"
    assert len(org.meta.sends) == 1


def test_an_opt_out_at_meta_is_stored(org):
    lead = org.lead()
    org.meta.behave(error(131050))
    refused(org.start(lead), 409, "conflict.opted_out")
    assert org.conversation()["opted_out_at"]
    org.meta.behave(accept)
    refused(org.start(lead), 409, "conflict.opted_out")
    assert len(org.meta.sends) == 1
    org.notify(preference("resume", PHONE, at=time.time() + 1))
    org.begin(lead)


# ---------------------------------------------------------------- Meta is unreachable: the message was not sent and can be retried


@pytest.mark.parametrize("behaviour", [
    *map(error, [4, 80007, 130429, 131056, 2, 131016]), error(130429, status=400), error(2, status=500),
    answering(429, b"slow down"), answering(429, b"{}", JSON),
], ids=["4", "80007", "130429", "131056", "2", "131016", "130429 with 400", "2 with 500", "429 html", "429 json"])
def test_a_temporary_refusal_can_be_retried_with_the_same_key(org, behaviour):
    lead, key = org.lead(), new_key()
    org.meta.behave(behaviour)
    for _ in range(2):
        refused(org.start(lead, key=key), 503, "internal.provider_unavailable")
    org.meta.behave(accept)
    made, _ = org.begin(lead, key=key)
    assert made["created"] is True and len(org.meta.sends) == 3
    assert [one["status"] for one in org.messages()] == ["failed", "failed", "accepted"]
    assert len(org.conversations()) == 1


def test_an_unreachable_provider_can_be_retried_with_the_same_key(org):
    lead, key = org.lead(), new_key()
    org.begin(lead)  # leaves a persistent connection
    with org.meta.unreachable():
        refused(org.start(lead, key=key), 503, "internal.provider_unavailable")
    assert org.begin(lead, 200, key=key)[0]["message"]["status"] == "accepted"
    assert len(org.meta.sends) == 2


def logged_error(module_instance, before):
    """The only line about WhatsApp in the error log since then."""
    line, = [one for one in module_instance.error_log[before:].splitlines() if re.search(r"\bNEO04\d\d\b", one)]
    return line


@pytest.mark.parametrize("code", [0, 190, 3, 10, 200, 230, 299, 368, 131031, 131042])
def test_configuration_errors_are_logged(org, module_instance, code):
    before, lead = len(module_instance.error_log), org.lead()
    org.meta.behave(error(code))
    problem = refused(org.start(lead), 503, "internal.provider_unavailable")
    line = logged_error(module_instance, before)
    assert str(code) in line and (org.number_id in line or org.number.id in line)
    for private in (org.number.token, org.number.secret, PHONE):
        assert private not in line
    assert "administrator" in problem["detail"] and "token" not in problem["detail"].lower()


def test_a_token_that_cannot_be_decrypted_is_logged(org, module_instance):
    before = len(module_instance.error_log)
    module_instance.sql("update neoapi.whatsapp_number set access_token = 'x' where id = %s", org.number_id)
    problem = refused(org.start(org.lead()), 503, "internal.provider_unavailable")
    assert "administrator" in problem["detail"] and "NEO0411" in logged_error(module_instance, before)


def test_a_copied_token_is_useless_for_another_number(org, module_instance):
    """The row's id is authenticated together with the token."""
    before, (_, other, _) = len(module_instance.error_log), org.add_number()
    module_instance.sql("update neoapi.whatsapp_number set access_token = n.access_token from neoapi.whatsapp_number n"
                        " where whatsapp_number.id = %s and n.id = %s", org.number_id, other)
    refused(org.start(org.lead(), number_id=org.number_id), 503, "internal.provider_unavailable")
    assert "NEO0411" in logged_error(module_instance, before) and not org.meta.sends and not org.meta.reads


def test_a_token_without_access_to_the_number_is_logged(org, module_instance):
    """Meta's code is that of an invalid parameter, but the client has sent none, and must not get Meta's id of the number."""
    before, lead, key = len(module_instance.error_log), org.lead(), new_key()
    org.meta.behave(error(100, details=f"Object with ID '{org.number.id}' does not exist", error_subcode=33))
    answer = org.start(lead, key=key)
    refused(answer, 503, "internal.provider_unavailable")
    assert org.number.id not in answer.text and "NEO0412" in logged_error(module_instance, before)
    org.meta.behave(accept)
    org.begin(lead, key=key)


def test_provider_texts_are_escaped_in_the_log(org, module_instance):
    before = len(module_instance.error_log)
    org.meta.behave(answering(401, b'{"error": {"code": 190, "message": "x\\n[Sat] forged\\u001b[31m"}}', JSON))
    refused(org.start(org.lead()), 503, "internal.provider_unavailable")
    assert "\n[Sat] forged" not in module_instance.error_log[before:] and "\x1b" not in module_instance.error_log[before:]


@pytest.mark.parametrize("status", [401, 403, 429])
@pytest.mark.parametrize("code", [17, 104, 131005, 987654])
def test_the_http_status_determines_the_result_of_an_unknown_code(org, module_instance, code, status):
    """The key can be used again, and the log has the number."""
    before, lead, key = len(module_instance.error_log), org.lead(), new_key()
    org.meta.behave(answering(status, b'{"error": {"message": "No.", "code": %d}}' % code, JSON))
    answer = org.start(lead, key=key)
    problem = refused(answer, 503, "internal.provider_unavailable")
    assert int(answer.headers["Retry-After"]) > 0
    line = logged_error(module_instance, before)
    assert ":error]" in line and org.number_id in line and str(code) in line
    is_temporary = code == 17 or (code == 987654 and status == 429)
    assert ("administrator" in problem["detail"]) is not is_temporary
    org.meta.behave(accept)
    assert org.begin(lead, key=key)[0]["created"] is True


def test_a_number_in_maintenance_leaves_no_pending_message(org):
    lead, key = org.lead(), new_key()
    org.meta.behave(error(131057, status=503))
    refused(org.start(lead, key=key), 503, "internal.provider_unavailable")
    org.meta.behave(accept)
    org.begin(lead, key=key)


def test_an_unregistered_number_is_no_template_error(org, module_instance):
    before, lead = len(module_instance.error_log), org.lead()
    org.meta.behave(error(100, details="Phone number not registered", error_subcode=2207051))
    refused(org.start(lead), 503, "internal.provider_unavailable")
    assert org.number_id in logged_error(module_instance, before)


def test_refusals_and_old_pending_messages_are_reported(org, module_instance):
    def ctl(*words):
        run = subprocess.run([module_instance.env["NEOAPI_CTL"], "--json", *words], text=True, capture_output=True,
                             timeout=TIMEOUT_S)
        return json.loads(run.stdout)

    def report():
        shown, refusals = ctl("status"), doctor()["WhatsApp numbers"]
        is_refused = org.number_id in (shown.get("whatsapp_refusals") or "")
        assert is_refused == (org.number_id in refusals["found"])
        assert (refusals["result"] == "failed") == (shown["whatsapp_refused"] > 0)
        return shown["whatsapp_stalled"], is_refused, " ".join(shown["warnings"])

    def doctor():
        return {row["check"]: row for row in ctl("doctor", "--httpd-conf", "/nowhere")}

    def stalled_metric():
        text = org.api.session.get(module_instance.url.split("/public/")[0] + "/neoapi-metrics").text
        return int(re.search(r"^neoapi_whatsapp_messages_stalled (\d+)$", text, re.M)[1])

    lead = org.lead()
    org.meta.behave(error(190))
    org.start(lead)
    assert report()[1] and org.number_id in report()[2]
    with org.meta.unreachable():
        org.start(lead)
    assert f"{org.number_id} (Meta is not reachable: connection_failed)" in report()[2]
    org.meta.behave(answering(404, b"<html>"))
    org.start(lead)
    assert f"{org.number_id} (The server at NeoAPIWhatsAppURL is not Meta's: HTTP status 404)" in report()[2]
    refused_before = ctl("status")["whatsapp_refused"]
    for behaviour, reason in ((error(130429), "130429: "), (answering(429), "Meta accepts no messages at the moment: ")):
        org.meta.behave(behaviour)
        org.start(lead)
        assert f"{org.number_id} (temporarily; {reason}" in doctor()["WhatsApp numbers"]["found"] and report()[1]
        assert ctl("status")["whatsapp_refused"] == refused_before - 1  # no action needed
    org.meta.behave(close_before_response)
    before = report()[0]
    made = ok(org.start(lead), 201)
    module_instance.sql("update neoapi.whatsapp_message set occurred_at = now() - interval '20 minutes' where id = %s",
                        made["message"]["id"])
    assert report()[0] == before + 1 and "pending for over ten minutes" in report()[2]
    found = doctor()["WhatsApp messages"]
    assert found["result"] == "failed" and found["found"].startswith(f"{before + 1} pending for over ten minutes, the oldest, wam_")
    eventually(lambda: stalled_metric() == before + 1, "the metric of stalled messages")
    org.meta.behave(accept)
    org.begin(lead, 200)
    assert not report()[1]
    org.notify(status(org.meta.sends[-2], "delivered", PHONE))
    assert report()[0] == before
    assert (doctor()["WhatsApp messages"]["result"] == "ok") == (before == 0)
    eventually(lambda: stalled_metric() == before, "the metric after the status")


# ---------------------------------------------------------------- delivery unconfirmed: not retried

UNKNOWN = {
    "lost": close_before_response, "lost in the middle": close_within_response, "never answered": hang,
    "a byte a second": drip, "huge": huge,
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
def test_a_message_with_a_lost_response_is_not_resent_and_completed_by_its_status(org, behaviour):
    lead, key = org.lead(), new_key()
    org.meta.behave(behaviour)
    begun = time.monotonic()
    first = org.start(lead, key=key)
    assert time.monotonic() - begun < TIMEOUT + 5
    made = ok(first, 201)
    assert made["message"]["status"] == "pending" and "provider_message_id" not in made["message"]
    assert made["conversation"]["last_message"]["status"] == "pending"
    again = org.start(lead, key=key)
    assert again.json()["message"]["id"] == made["message"]["id"] and len(org.meta.sends) == 1
    send, = org.meta.sends
    org.notify(status(send, "delivered", PHONE))
    message = org.message(made)
    assert (message["status"], message["provider_message_id"]) == ("delivered", send.id)
    assert org.start(lead, key=key).json()["message"]["id"] == made["message"]["id"] and len(org.meta.sends) == 1


@pytest.mark.parametrize("name", ENDLESS)
def test_an_endless_response_is_aborted_in_bounded_memory(org, module_instance, name):
    org.meta.behave(ENDLESS[name][0])
    lead, begun = org.lead(), time.monotonic()
    with module_instance.memory_limited():
        made = ok(org.start(lead), 201)
    assert made["message"]["status"] == "pending" and len(org.meta.sends) == 1
    assert name == "chunk extension" or time.monotonic() - begun < TIMEOUT / 2  # only the timeout ends it


def test_a_lost_response_on_a_kept_connection_is_not_retried(org):
    """HTTP clients often retry such requests automatically."""
    lead = org.lead()
    org.begin(lead)
    for _ in range(20):
        org.begin(lead, 200)
    org.meta.behave(close_before_response)
    before = len(org.meta.sends)
    for count in range(1, 11):
        assert org.start(lead).json()["message"]["status"] == "pending"
        assert len(org.meta.sends) == before + count


def test_a_failed_status_completes_a_message(org):
    org.meta.behave(close_before_response)
    made = ok(org.start(org.lead()), 201)
    org.notify(status(org.meta.sends[0], "failed", PHONE, errors=failure(131026)))
    message = org.message(made)
    assert (message["status"], message["error_code"]) == ("failed", 131026) and message["error_title"]


def test_opaque_data_of_other_organizations_is_ignored(org, module_instance, module_admin_factory, meta):
    """biz_opaque_callback_data identifies only messages of that number's organization."""
    org.meta.behave(close_before_response)
    made = ok(org.start(org.lead()), 201)
    WhatsAppOrg(module_instance, module_admin_factory,
                meta).notify(status("wamid.x", "delivered", PHONE, opaque=made["message"]["id"]))
    org.notify(status("wamid.y", "read", PHONE, opaque="wam_00000000000000000000000000"))
    org.notify(status("wamid.z", "read", PHONE, opaque="' or 1=1 --"))
    assert org.status_of(made) == "pending"


def test_a_slow_response_is_awaited(org):
    org.meta.behave(slowly(TIMEOUT / 3))
    assert org.begin()[0]["message"]["status"] == "accepted"


NOT_META_ANSWERS = {"html": (400, b"<html>Bad Request</html>"), "nothing": (404, b""), "an empty object": (400, b"{}"),
                    "another error": (403, b'{"error": "denied"}'), "no code": (400, b'{"error": {"code": null}}'),
                    "a proxy's": (407, b"<html>"), "a method": (405, b"")}


@pytest.mark.parametrize("answer", NOT_META_ANSWERS.values(), ids=NOT_META_ANSWERS.keys())
def test_a_response_that_is_not_metas_is_logged(org, module_instance, answer):
    """Any 4xx means that nothing was sent."""
    before, lead, key = len(module_instance.error_log), org.lead(), new_key()
    org.meta.behave(answering(*answer))
    refused(org.start(lead, key=key), 503, "internal.provider_unavailable")
    assert str(answer[0]) in logged_error(module_instance, before)
    org.meta.behave(accept)
    org.begin(lead, key=key)


@pytest.mark.parametrize("number", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(org, module_instance, number):
    with Meta() as other:
        before, lead, key = len(module_instance.error_log), org.lead(), new_key()
        org.meta.behave(answering(number, Location=f"{other.url}/v23.0/{org.number.id}/messages"))
        refused(org.start(lead, key=key), 503, "internal.provider_unavailable")
        assert str(number) in logged_error(module_instance, before)
        org.meta.behave(accept)
        org.begin(lead, key=key)
        assert len(org.meta.sends) == 2 and not other.sends


# ---------------------------------------------------------------- concurrent events


@pytest.mark.parametrize("opaque", [True, False], ids=["by the opaque data", "by the id alone"])
def test_a_status_may_come_before_the_response(org, opaque):
    def notify(send):
        update = status(send, "delivered", PHONE)
        org.notify(update if opaque else {name: one for name, one in update.items() if name != "biz_opaque_callback_data"})

    org.meta.behave(after(notify))
    made, send = org.begin()
    message = org.message(made)
    assert (message["status"], message["provider_message_id"]) == ("delivered", send.id)
    assert made["message"]["status"] in ("accepted", "delivered")


def test_a_failed_status_may_come_before_the_response(org):
    org.meta.behave(after(lambda send: org.notify(status(send, "failed", PHONE, errors=failure(131049)))))
    made, _ = org.begin()
    message = org.message(made)
    assert (message["status"], message["error_code"]) == ("failed", 131049)


def test_an_opt_out_while_a_message_is_in_flight_applies(org):
    lead = org.lead()
    org.meta.behave(one_after_the_other(after(lambda send: org.notify(preference("stop", PHONE))), accept))
    ok(org.start(lead), 201)
    refused(org.start(lead), 409, "conflict.opted_out")
    assert org.conversation()["opted_out_at"]


def test_a_contact_can_change_to_one_that_has_a_conversation_already(org):
    """Meta returns the number without its ninth digit, and the contact has started a conversation with that number
    meanwhile."""
    lead = org.lead()
    org.meta.behave(after(lambda send: org.notify(text("Oi", "551187654321")), accepting(wa_id="551187654321")))
    made, _ = org.begin(lead, 201)
    assert len(org.conversations()) == 1 and org.conversation()["unread_count"] == 1
    assert org.message(made)["conversation_id"] == org.conversation()["id"]


def test_a_message_is_recorded_when_another_contact_gets_its_user_id_concurrently(org, module_instance):
    """The other conversation, of the same contact, is committed while recording the message waits for it."""
    with contextlib.closing(psycopg2.connect(module_instance.admin_dsn)) as other, ThreadPoolExecutor(1) as pool:
        def receive(_):
            other.cursor().execute(
                "select neoapi.whatsapp_lock_numbers(array[%(number)s]);"
                " insert into neoapi.whatsapp_conversation (organization_id, id, number_id, contact_bsuid, triage, created_at,"
                " updated_at) values (%(org)s, 'wac_01jd3x0000000000000000000a', %(number)s, 'BR.1', 'pending', now(), now());"
                " insert into neoapi.whatsapp_identity (organization_id, number_id, conversation_id, source, kind, at, bsuid)"
                " values (%(org)s, %(number)s, 'wac_01jd3x0000000000000000000a', 'test', 'seen', now(), 'BR.1')",
                {"org": org.organization, "number": org.number_id})

        org.meta.behave(after(receive, accepting(user_id="BR.1")))
        answer = pool.submit(org.start, org.lead())
        eventually(lambda: module_instance.sql("select true from pg_stat_activity where wait_event_type = 'Lock'"
                                               " and query like '%%whatsapp_finish%%'"), "an end that waits")
        other.commit()
        made = ok(answer.result(TIMEOUT_S), 201)
    assert org.message(made)["provider_message_id"] == org.meta.sends[-1].id
    assert made["message"]["status"] == "accepted" and made["conversation"]["contact_bsuid"] == "BR.1"
    assert org.conversation()["id"] == made["conversation"]["id"]


# ---------------------------------------------------------------- secrets


def quoting(code):
    """Refuses a message and quotes the header with the access token in every field."""
    def behave(handler, send):
        header = send.headers["authorization"]
        handler.answer(400, {"error": {"code": code, "message": f"Malformed access token {header}", "fbtrace_id": header,
                                       "error_data": {"details": f"{'x' * 250} {header}"}}})
    return behave


def test_a_token_quoted_by_meta_is_not_returned(org):
    org.meta.behave(quoting(100))
    answer = org.start(org.lead())
    assert answer.status_code == 400 and org.number.token not in answer.text and "Bearer" in answer.text


def test_no_secret_is_in_the_error_log_or_in_the_database(org, module_instance):
    lead = org.lead()
    for behaviour in (accept, close_before_response, error(190), error(131026), answering(500), quoting(190), quoting(131026),
                      quoting(100),
                      quoting(1)):
        org.meta.behave(behaviour)
        org.start(lead, key=new_key())
    tables = [name for name, in module_instance.sql("select tablename from pg_tables where schemaname = 'neoapi'")]
    kept = [row for table in tables for row, in module_instance.sql(f'select t::text from neoapi."{table}" t')]
    assert len(kept) > 10
    for private in (org.number.token, org.number.secret, org.verify_token):
        assert private not in module_instance.error_log
        assert not [row for row in kept if private in row]
        assert not [row for row in kept if private.encode().hex() in row]


# ---------------------------------------------------------------- Meta's OpenAPI document (META_OPENAPI=file)

@pytest.mark.skipif(not specification.given(), reason="META_OPENAPI is not set")
def test_the_stand_in_follows_metas_openapi_document(org):
    """All tests validate requests with it; this one checks that the validation detects errors."""
    _, send = org.begin(template="boas_vindas", template_parameters=["Carla", "Horizonte"])
    for wrong in ({"to": 7}, {"template": {}}, {"colour": "red"}, {"recipient_type": "nobody"}):
        with pytest.raises((AssertionError, jsonschema.ValidationError)):
            specification.check("request", {**send.json, **wrong})
    for kind in CONTENT:
        org.notify(message(kind, PHONE))
    for state in ("sent", "delivered", "read", "failed"):
        org.notify(status(send, state, PHONE, errors=failure(131026) if state == "failed" else None))
    with pytest.raises((AssertionError, jsonschema.ValidationError)):
        org.notify(status(send, "burned", PHONE))
