"""POST /whatsapp/conversations with an Idempotency-Key: whatever happens, Meta is called once for it. And while Meta is waited
for, others are served."""

import contextlib
import os
import signal
import threading
import time
import uuid

import pytest

for module in ("hooks", "whatsapp"):
    pytest.register_assert_rewrite(module)

import requests  # noqa: E402
from client import Api, ok, refused  # noqa: E402
from waiting import LIMIT, eventually, together  # noqa: E402
from whatsapp import PHONE, Office, make_there, meta, office, provider, there  # noqa: E402 (fixtures among them)

from callbacks import status  # noqa: E402
from meta import accept, after, lose, slowly, waiting_for  # noqa: E402

# A second virtual host with two connections to the database. Idle threads are wanted of two children, so that one that is
# killed is replaced at once.
CONF = """
NeoAPIWhatsAppTimeout 30
MinSpareThreads 26
Listen 127.0.0.3:${PORT} https
<VirtualHost 127.0.0.3:${PORT}>
    ServerName 127.0.0.3
    SSLEngine On
    SSLCertificateFile "${INSTANCE}/tls/server.pem"
    SSLCertificateKeyFile "${INSTANCE}/tls/server.key"
    NeoAPIKeyFile "${INSTANCE}/neoapi.key"
    NeoAPIBaseURL https://127.0.0.3/public/v1/
    DBDriver pgsql
    DBDParams "host=${INSTANCE}/socket dbname=neoapi user=neoapi application_name=narrow options='-c statement_timeout=5s'"
    DBDMin 0
    DBDKeep 2
    DBDMax 2
    <Location "/public/v1/">
        NeoAPI On
    </Location>
</VirtualHost>
"""
PATH = "whatsapp/conversations"


def new_key():
    return str(uuid.uuid4())


def narrow(api):
    """The same client to the virtual host with two connections."""
    return api.with_(url=f"https://127.0.0.3:{api.instance.port}/public/v1/")


# ---------------------------------------------------------------- one key, one call


def test_a_repeated_request_gets_the_first_ones_answer_and_meta_no_second_call(office):
    lead, key = office.lead(), new_key()
    first, again = (office.start(lead, key=key) for _ in range(2))
    assert (again.status_code, again.content) == (first.status_code, first.content) == (201, first.content)
    assert "Idempotent-Replayed" not in first.headers and again.headers["Idempotent-Replayed"] == "true"
    assert len(office.meta.sends) == 1 and len(office.messages()) == 1


def test_without_a_key_every_request_is_a_message(office):
    lead = office.lead()
    office.begin(lead)
    office.begin(lead, 200)
    assert len(office.meta.sends) == 2


@pytest.mark.parametrize("behaviour", [accept, slowly(0.5), lose], ids=["at once", "slowly", "lost"])
def test_of_fifty_copies_at_once_one_is_sent(office, behaviour):
    lead, key = office.lead(), new_key()
    office.meta.behave(behaviour)
    answers = together(*[lambda: office.start(lead, key=key, api=office.api.with_())] * 50)
    assert {answer.status_code for answer in answers} == {201}, {answer.content for answer in answers}
    assert len(office.meta.sends) == 1 and len(office.messages()) == 1
    assert len({answer.json()["message"]["id"] for answer in answers}) == 1
    assert sum("Idempotent-Replayed" not in answer.headers for answer in answers) == 1
    final = office.start(lead, key=key).json()["message"]["status"]
    assert final == ("pending" if behaviour is lose else "accepted") and len(office.meta.sends) == 1


def test_different_requests_at_once_to_one_lead_are_one_conversation(office):
    lead = office.lead()
    answers = together(*[lambda: office.start(lead, api=office.api.with_())] * 20)
    assert sorted(answer.status_code for answer in answers) == [200] * 19 + [201]
    assert len(office.meta.sends) == 20 and len(office.conversations()) == 1


def test_another_body_under_the_key_is_refused_and_not_sent(office):
    lead, key = office.lead(), new_key()
    office.begin(lead, key=key)
    refused(office.start(lead, "boas_vindas", key, template_parameters=["a", "b"]), 409, "conflict.idempotency_key_reused")
    refused(office.start(lead, template_language="en", key=key), 409, "conflict.idempotency_key_reused")
    assert len(office.meta.sends) == 1


def test_another_body_under_the_key_is_refused_also_while_the_first_is_under_way(office):
    lead, key, go = office.lead(), new_key(), threading.Event()
    office.meta.behave(waiting_for(go))

    def second():
        eventually(lambda: office.meta.sends, "the first at Meta")
        try:
            return office.start(lead, template_language="en", key=key, api=office.api.with_())
        finally:
            go.set()

    first, other = together(lambda: office.start(lead, key=key, api=office.api.with_()), second)
    ok(first, 201)
    refused(other, 409, "conflict.idempotency_key_reused")
    assert len(office.meta.sends) == 1


@pytest.mark.parametrize("key", ["", "x", "00000000-0000-0000-0000-000000000000", "f47ac10b58cc4372a5670e02b2c3d479"])
def test_a_key_is_a_uuid_of_version_4(office, key):
    answer = office.api.post(PATH, {"lead_id": office.lead(), "template_name": "visita"}, headers={"Idempotency-Key": key})
    refused(answer, 400, "validation.idempotency_key_invalid")
    assert not office.meta.sends


def test_what_was_refused_before_meta_heard_of_it_leaves_its_key_free(office):
    lead, key = office.lead(), new_key()
    refused(office.start("led_00000000000000000000000000", key=key), 404, "not_found.lead")
    refused(office.start(lead, "VISITA", key=key), 400, "validation.whatsapp.template_name_invalid")
    office.begin(lead, key=key)


def test_every_credential_has_its_own_keys(office, make_there):
    lead, key = office.lead(), new_key()
    office.begin(lead, key=key)
    office.begin(lead, 200, key=key, api=Api(office.there, make_there.key(office.organization)))
    assert len(office.meta.sends) == 2


# ---------------------------------------------------------------- httpd ends in between


def children_of(there):
    return eventually(there.children, "children of Apache")


def kill_all(there):
    for child in children_of(there):
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)


def there_again(office):
    """Apache's parent has seen that its children are gone."""
    def answers():
        with contextlib.suppress(requests.ConnectionError, requests.Timeout):
            return office.api.with_().get("me").status_code == 200
    eventually(answers, "Apache answers again")


@pytest.mark.parametrize("then", [accept, lose], ids=["accepted", "lost as well"])
def test_a_message_is_not_sent_again_when_apache_is_killed_before_the_answer(office, there, then):
    lead, key = office.lead(), new_key()
    office.meta.behave(after(lambda send: kill_all(there), then))
    with pytest.raises(requests.ConnectionError):
        office.start(lead, key=key, api=office.api.with_())
    there_again(office)
    office.meta.behave(accept)
    again = ok(office.start(lead, key=key, api=office.api.with_()), 201)
    assert again["message"]["status"] == "pending" and len(office.meta.sends) == 1 and len(office.messages()) == 1
    office.tell(status(office.meta.sends[0], "read", PHONE))
    message = office.message(again)
    assert (message["status"], message["provider_message_id"]) == ("read", office.meta.sends[0].id)
    assert office.start(lead, key=key, api=office.api.with_()).json()["message"]["id"] == again["message"]["id"]
    assert len(office.meta.sends) == 1


def test_copies_that_wait_when_apache_is_killed_do_not_send_again(office, there):
    """Copies in another process than the one that calls Meta, and copies that come later."""
    lead, key = office.lead(), new_key()
    office.meta.behave(after(lambda send: (time.sleep(0.5), kill_all(there))))

    def copy():
        with contextlib.suppress(requests.ConnectionError):
            return office.start(lead, key=key, api=office.api.with_())

    together(*[copy] * 20)
    there_again(office)
    office.meta.behave(accept)
    answers = [answer for answer in together(*[copy] * 20) if answer is not None]
    assert answers and len(office.meta.sends) == 1 and len(office.messages()) == 1
    assert {answer.json()["message"]["id"] for answer in answers} == {office.messages()[0]["id"]}


def test_a_graceful_restart_lets_a_call_end(office, there):
    go = threading.Event()
    office.meta.behave(waiting_for(go))

    def restart():
        eventually(lambda: office.meta.sends, "the message at Meta")
        there.command("graceful")
        go.set()

    answer, _ = together(lambda: office.start(office.lead(), api=office.api.with_()), restart)
    assert ok(answer, 201)["message"]["status"] == "accepted" and len(office.meta.sends) == 1


# ---------------------------------------------------------------- while Meta is waited for


def test_a_call_that_is_waited_for_holds_no_connection_to_the_database(office, there):
    """Twenty calls under way in a virtual host that has two connections in each process."""
    lead, go = office.lead(), threading.Event()
    office.meta.behave(waiting_for(go))

    def others():
        try:
            eventually(lambda: len(office.meta.sends) == 20, "twenty messages at Meta")
            busy = there.sql("select count(*) from pg_stat_activity where application_name in ('narrow', 'neoapi')"
                             " and state <> 'idle' and query not ilike '%pg_stat_activity%'")[0][0]
            begun = time.monotonic()
            asked = together(*[lambda: narrow(office.api).get("brokers").status_code] * 10)
            made = narrow(office.api).broker()
            return busy, asked, made, time.monotonic() - begun
        finally:
            go.set()

    *answers, (busy, asked, made, took) = together(
        *[lambda: office.start(lead, api=narrow(office.api))] * 20, others)
    assert busy == 0 and asked == [200] * 10 and made["id"] and took < LIMIT / 4
    assert sorted(answer.status_code for answer in answers) == [200] * 19 + [201]
    assert {answer.json()["message"]["status"] for answer in answers} == {"accepted"}


def test_a_database_that_goes_away_during_the_call_loses_nothing(office, there):
    """The message was committed before, so that it can be completed by its status; nothing is sent again."""
    lead, key = office.lead(), new_key()
    office.meta.behave(after(lambda send: there.command("stop-db")))
    try:
        first = office.start(lead, key=key)
    finally:
        there.command("start-db")
    assert first.status_code in (201, 503), first.content
    office.meta.behave(accept)

    def repeated():
        answer = office.start(lead, key=key)
        return answer if answer.status_code != 503 else None

    again = ok(eventually(repeated, "the database"), 201)
    assert len(office.meta.sends) == 1 and again["message"]["status"] in ("pending", "accepted")
    office.tell(status(office.meta.sends[0], "delivered", PHONE))
    assert office.status_of(again) == "delivered"


def test_offices_do_not_wait_for_each_other(office, make_there, meta):
    """One number is slow at Meta; another is not."""
    other, go = Office(office.there, make_there, meta), threading.Event()
    meta.behave(lambda handler, send: (waiting_for(go) if send.number_id == office.number.id else accept)(handler, send))

    def quick():
        try:
            eventually(lambda: meta.sends, "the slow one at Meta")
            return other.start(other.lead())
        finally:
            go.set()

    slow, fast = together(lambda: office.start(office.lead(), api=office.api.with_()), quick)
    assert {ok(one, 201)["message"]["status"] for one in (slow, fast)} == {"accepted"}
