# SPDX-License-Identifier: Apache-2.0
"""POST /whatsapp/conversations with an Idempotency-Key: Meta is called once, also during failures; a call in flight does not block
other requests."""

import contextlib
import os
import signal
import threading
import time
import uuid

import pytest

import requests
from client import Api, ok, refused
from wait import TIMEOUT_S, eventually, together
from whatsapp import (PHONE, WhatsAppOrg, meta, module_admin_factory, module_instance, org,  # fixtures among them
                      provider)

from callbacks import status
from meta import accept, after, close_before_response, slowly, after_event

# A second virtual host with two database connections. MinSpareThreads needs two children, so that a killed one is replaced
# immediately.
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
    """The client with the virtual host that has two connections."""
    return api.with_(url=f"https://127.0.0.3:{api.instance.port}/public/v1/")


# ---------------------------------------------------------------- one key, one call


def test_a_repeated_request_is_replayed_without_a_second_call(org):
    lead, key = org.lead(), new_key()
    first, again = (org.start(lead, key=key) for _ in range(2))
    assert (again.status_code, again.content) == (first.status_code, first.content) == (201, first.content)
    assert "Idempotent-Replayed" not in first.headers and again.headers["Idempotent-Replayed"] == "true"
    assert len(org.meta.sends) == 1 and len(org.messages()) == 1


def test_without_a_key_every_request_is_a_message(org):
    lead = org.lead()
    org.begin(lead)
    org.begin(lead, 200)
    assert len(org.meta.sends) == 2


@pytest.mark.parametrize("behaviour", [accept, slowly(0.5), close_before_response], ids=["at once", "slowly", "lost"])
def test_one_of_fifty_concurrent_copies_is_sent(org, behaviour):
    lead, key = org.lead(), new_key()
    org.meta.behave(behaviour)
    answers = together(*[lambda: org.start(lead, key=key, api=org.api.with_())] * 50)
    assert {answer.status_code for answer in answers} == {201}, {answer.content for answer in answers}
    assert len(org.meta.sends) == 1 and len(org.messages()) == 1
    assert len({answer.json()["message"]["id"] for answer in answers}) == 1
    assert sum("Idempotent-Replayed" not in answer.headers for answer in answers) == 1
    final = org.start(lead, key=key).json()["message"]["status"]
    assert final == ("pending" if behaviour is close_before_response else "accepted") and len(org.meta.sends) == 1


def test_concurrent_requests_to_one_lead_use_one_conversation(org):
    lead = org.lead()
    answers = together(*[lambda: org.start(lead, api=org.api.with_())] * 20)
    assert sorted(answer.status_code for answer in answers) == [200] * 19 + [201]
    assert len(org.meta.sends) == 20 and len(org.conversations()) == 1


def test_another_body_with_the_same_key_is_refused_and_not_sent(org):
    lead, key = org.lead(), new_key()
    org.begin(lead, key=key)
    refused(org.start(lead, "boas_vindas", key, template_parameters=["a", "b"]), 409, "conflict.idempotency_key_reused")
    refused(org.start(lead, template_language="en", key=key), 409, "conflict.idempotency_key_reused")
    assert len(org.meta.sends) == 1


def test_another_body_with_the_same_key_is_refused_while_the_first_is_in_flight(org):
    lead, key, go = org.lead(), new_key(), threading.Event()
    org.meta.behave(after_event(go))

    def second():
        eventually(lambda: org.meta.sends, "the first at Meta")
        try:
            return org.start(lead, template_language="en", key=key, api=org.api.with_())
        finally:
            go.set()

    first, other = together(lambda: org.start(lead, key=key, api=org.api.with_()), second)
    ok(first, 201)
    refused(other, 409, "conflict.idempotency_key_reused")
    assert len(org.meta.sends) == 1


@pytest.mark.parametrize("key", ["", "x", "00000000-0000-0000-0000-000000000000", "f47ac10b58cc4372a5670e02b2c3d479"])
def test_a_key_is_a_uuid_of_version_4(org, key):
    answer = org.api.post(PATH, {"lead_id": org.lead(), "template_name": "visita"}, headers={"Idempotency-Key": key})
    refused(answer, 400, "validation.idempotency_key_invalid")
    assert not org.meta.sends


def test_the_key_of_a_request_refused_before_the_call_can_be_used_again(org):
    lead, key = org.lead(), new_key()
    refused(org.start("led_00000000000000000000000000", key=key), 404, "not_found.lead")
    refused(org.start(lead, "VISITA", key=key), 400, "validation.whatsapp.template_name_invalid")
    org.begin(lead, key=key)


def test_every_credential_has_its_own_keys(org, module_admin_factory):
    lead, key = org.lead(), new_key()
    org.begin(lead, key=key)
    org.begin(lead, 200, key=key, api=Api(org.instance, module_admin_factory.key(org.organization)))
    assert len(org.meta.sends) == 2


# ---------------------------------------------------------------- httpd ends during the call


def children_of(module_instance):
    return eventually(module_instance.children, "children of Apache")


def kill_all(module_instance):
    for child in children_of(module_instance):
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)


def await_children(org):
    """Waits until Apache's parent has replaced its children."""
    def answers():
        with contextlib.suppress(requests.ConnectionError, requests.Timeout):
            return org.api.with_().get("me").status_code == 200
    eventually(answers, "Apache answers again")


@pytest.mark.parametrize("then", [accept, close_before_response], ids=["accepted", "lost as well"])
def test_a_message_is_not_sent_again_when_apache_is_killed_before_the_answer(org, module_instance, then):
    lead, key = org.lead(), new_key()
    org.meta.behave(after(lambda send: kill_all(module_instance), then))
    with pytest.raises(requests.ConnectionError):
        org.start(lead, key=key, api=org.api.with_())
    await_children(org)
    org.meta.behave(accept)
    again = ok(org.start(lead, key=key, api=org.api.with_()), 201)
    assert again["message"]["status"] == "pending" and len(org.meta.sends) == 1 and len(org.messages()) == 1
    org.notify(status(org.meta.sends[0], "read", PHONE))
    message = org.message(again)
    assert (message["status"], message["provider_message_id"]) == ("read", org.meta.sends[0].id)
    assert org.start(lead, key=key, api=org.api.with_()).json()["message"]["id"] == again["message"]["id"]
    assert len(org.meta.sends) == 1


def test_copies_that_wait_when_apache_is_killed_do_not_send_again(org, module_instance):
    """Copies in other processes than the one that calls Meta, and later copies."""
    lead, key = org.lead(), new_key()
    org.meta.behave(after(lambda send: (time.sleep(0.5), kill_all(module_instance))))

    def copy():
        with contextlib.suppress(requests.ConnectionError):
            return org.start(lead, key=key, api=org.api.with_())

    together(*[copy] * 20)
    await_children(org)
    org.meta.behave(accept)
    answers = [answer for answer in together(*[copy] * 20) if answer is not None]
    assert answers and len(org.meta.sends) == 1 and len(org.messages()) == 1
    assert {answer.json()["message"]["id"] for answer in answers} == {org.messages()[0]["id"]}


def test_a_graceful_restart_waits_for_a_call(org, module_instance):
    go = threading.Event()
    org.meta.behave(after_event(go))

    def restart():
        eventually(lambda: org.meta.sends, "the message at Meta")
        module_instance.command("graceful")
        go.set()

    answer, _ = together(lambda: org.start(org.lead(), api=org.api.with_()), restart)
    assert ok(answer, 201)["message"]["status"] == "accepted" and len(org.meta.sends) == 1


# ---------------------------------------------------------------- waiting for Meta


def test_a_call_in_flight_holds_no_database_connection(org, module_instance):
    """Twenty concurrent calls in a virtual host with two connections in each process."""
    lead, go = org.lead(), threading.Event()
    org.meta.behave(after_event(go))

    def others():
        try:
            eventually(lambda: len(org.meta.sends) == 20, "twenty messages at Meta")
            eventually(lambda: module_instance.sql("select count(*) from pg_stat_activity where application_name in ('narrow', 'neoapi')"
                                                   " and state <> 'idle' and query not ilike '%pg_stat_activity%'") == [(0,)],
                       "no connection is busy, not even with a claim or a heartbeat")
            begun = time.monotonic()
            asked = together(*[lambda: narrow(org.api).get("brokers").status_code] * 10)
            made = narrow(org.api).broker()
            return asked, made, time.monotonic() - begun
        finally:
            go.set()

    *answers, (asked, made, took) = together(
        *[lambda: org.start(lead, api=narrow(org.api))] * 20, others)
    assert asked == [200] * 10 and made["id"] and took < TIMEOUT_S / 4
    assert sorted(answer.status_code for answer in answers) == [200] * 19 + [201]
    assert {answer.json()["message"]["status"] for answer in answers} == {"accepted"}


def test_an_outage_during_the_call_loses_no_message(org, module_instance):
    """The message was committed before the call, so that a status can complete it. It is not sent again."""
    lead, key = org.lead(), new_key()
    org.meta.behave(after(lambda send: module_instance.command("stop-db")))
    try:
        first = org.start(lead, key=key)
    finally:
        module_instance.command("start-db")
    assert first.status_code in (201, 503), first.content
    org.meta.behave(accept)

    def repeated():
        answer = org.start(lead, key=key)
        return answer if answer.status_code != 503 else None

    again = ok(eventually(repeated, "the database"), 201)
    assert len(org.meta.sends) == 1 and again["message"]["status"] in ("pending", "accepted")
    org.notify(status(org.meta.sends[0], "delivered", PHONE))
    assert org.status_of(again) == "delivered"


def test_organizations_do_not_block_each_other(org, module_admin_factory, meta):
    """Meta is slow for one number only."""
    other, go = WhatsAppOrg(org.instance, module_admin_factory, meta), threading.Event()
    meta.behave(lambda handler, send: (after_event(go) if send.number_id == org.number.id else accept)(handler, send))

    def quick():
        try:
            eventually(lambda: meta.sends, "the slow one at Meta")
            return other.start(other.lead())
        finally:
            go.set()

    slow, fast = together(lambda: org.start(org.lead(), api=org.api.with_()), quick)
    assert {ok(one, 201)["message"]["status"] for one in (slow, fast)} == {"accepted"}
