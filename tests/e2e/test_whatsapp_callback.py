# SPDX-License-Identifier: Apache-2.0
"""Meta's callback: signatures, limits, malformed bodies; an accepted callback is never lost or counted twice.

The contents of callbacks are tested in test_whatsapp_contacts.py and test_whatsapp_optout.py.
"""

import hashlib
import hmac
import json
import threading
import time
from pathlib import Path

import pytest

import requests
from client import Adapter, Api
from conftest import addresses
from wait import TIMEOUT_S, eventually, together
from whatsapp import (PHONE, WhatsAppOrg, at_callback, meta, module_admin_factory,  # fixtures among them
                      module_instance, org, provider)
from raw_http import RawConnection, chunked

from callbacks import change, message, signature, status, text, notification
from meta import Number

MAX_BODY = 4 << 20  # bytes of a callback
START = int(time.time()) - 60
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def caller(module_instance):
    """A client of the callback with its own address."""
    return Caller(module_instance)


class Caller:
    def __init__(self, module_instance, source=None):
        self.instance, self.url = module_instance, at_callback(module_instance)
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.verify = module_instance.ca
        self.session.mount("https://", Adapter(source or next(addresses), Path(module_instance.ca).read_text()))

    def ask(self, method, **more):
        answer = self.session.request(method, self.url, allow_redirects=False, timeout=TIMEOUT_S, **more)
        assert answer.headers.get("Content-Type", "text/plain").startswith("text/plain"), answer.headers
        assert len(answer.content) < 300 and b"<" not in answer.content, answer.content
        return answer

    def send(self, body, secret, given=None, **headers):
        """Sends a body, signed with the secret unless a signature is given ("" for none). Returns the status."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        signed = signature(secret, data) if given is None else given
        more = {"X-Hub-Signature-256": signed} if signed else {}
        return self.ask("POST", data=data, headers={**JSON, **more, **headers}).status_code

    def handshake(self, token, challenge="1158201444", mode="subscribe", **more):
        return self.ask("GET", params={"hub.mode": mode, "hub.challenge": challenge, "hub.verify_token": token, **more})


def count(org):
    return len(org.messages())


# ---------------------------------------------------------------- the handshake


@pytest.mark.parametrize("challenge", ["1158201444", "0", "abc-DEF_9", "a b&c=d", "%25"])
def test_the_challenge_is_returned_unchanged(org, caller, challenge):
    answer = caller.handshake(org.verify_token, challenge)
    assert (answer.status_code, answer.text) == (200, challenge)


@pytest.mark.parametrize("token", ["", "x", "null"])
def test_a_wrong_token_gets_no_challenge(org, caller, token):
    answer = caller.handshake(token)
    assert answer.status_code == 403 and "1158201444" not in answer.text


def test_a_handshake_needs_all_three_parameters(org, caller):
    token = org.verify_token
    for asked in ({}, {"hub.mode": "subscribe"}, {"hub.mode": "subscribe", "hub.verify_token": token},
                  {"hub.mode": "unsubscribe", "hub.verify_token": token, "hub.challenge": "1"},
                  {"hub.verify_token": token, "hub.challenge": "1"}, {"hub.mode": "subscribe", "hub.challenge": "1"}):
        assert caller.ask("GET", params=asked).status_code == 403, asked


def test_a_challenge_is_plain_text(org, caller):
    """A browser must not run a script in the challenge, even with the right token."""
    answer = caller.session.get(caller.url, params={"hub.mode": "subscribe", "hub.verify_token": org.verify_token,
                                                    "hub.challenge": "<script>alert(1)</script>"}, timeout=TIMEOUT_S)
    assert answer.status_code in (200, 403) and answer.headers["Content-Type"].startswith("text/plain")
    assert answer.headers.get("X-Content-Type-Options") == "nosniff"


def test_every_number_has_its_own_token(org, caller, module_instance, module_admin_factory, meta):
    other = WhatsAppOrg(module_instance, module_admin_factory, meta)
    assert other.verify_token != org.verify_token
    for token in (org.verify_token, other.verify_token):
        assert caller.handshake(token).status_code == 200


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH"])
def test_other_methods_are_refused(caller, method):
    answer = caller.ask(method)
    assert answer.status_code == 405 and {"GET", "POST"} <= set(answer.headers["Allow"].replace(" ", "").split(","))


# ---------------------------------------------------------------- signatures


def test_a_callback_signed_by_meta_is_accepted(org, caller):
    body = notification(org.number, text("Oi", PHONE))
    answer = caller.ask("POST", data=json.dumps(body), headers={
        **JSON, "X-Hub-Signature-256": signature(org.number.secret, json.dumps(body).encode())})
    assert (answer.status_code, answer.text.strip()) == (200, "ok") and count(org) == 1


def wrong_signatures(secret, body):
    right = signature(secret, body)
    return {"none": "", "another secret": signature("x" * 32, body), "another body": signature(secret, body + b" "),
            "cut": right[:-1], "longer": right + "0", "without its name": right.removeprefix("sha256="),
            "another name": "sha1=" + right[7:], "empty": "sha256=", "no hexadecimal": "sha256=" + "z" * 64,
            "one digit differs": right[:-1] + ("0" if right[-1] != "0" else "1"), "all zero": "sha256=" + "0" * 64,
            "two in one": right + ", " + right, "quoted": f'"{right}"'}


@pytest.mark.parametrize("kind", wrong_signatures("", b""))
def test_a_wrong_signature_is_refused(org, caller, kind):
    data = json.dumps(notification(org.number, text("Oi", PHONE))).encode()
    assert caller.send(data, org.number.secret, wrong_signatures(org.number.secret, data)[kind]) == 403
    assert not org.conversations()


def test_a_sha_1_signature_is_refused(org, caller):
    data = json.dumps(notification(org.number, text("Oi", PHONE))).encode()
    old = "sha1=" + hmac.new(org.number.secret.encode(), data, hashlib.sha1).hexdigest()
    assert caller.send(data, org.number.secret, "", **{"X-Hub-Signature": old}) == 403


def test_the_signature_covers_the_raw_bytes(org, caller):
    data = json.dumps(notification(org.number, text("Olá, João 🏠", PHONE)), ensure_ascii=True, indent=3).encode()
    assert caller.send(data, org.number.secret) == 200
    assert org.messages()[0]["body"] == "Olá, João 🏠"


def test_another_organizations_secret_is_refused(org, module_instance, module_admin_factory, meta, caller):
    other = WhatsAppOrg(module_instance, module_admin_factory, meta)
    assert caller.send(notification(org.number, text("Oi", PHONE)), other.number.secret) == 403
    assert not org.conversations() and not other.conversations()


def test_a_callback_for_two_organizations_needs_both_secrets(org, module_instance, module_admin_factory, meta, caller):
    """A signature is valid only for numbers with that app secret."""
    other = WhatsAppOrg(module_instance, module_admin_factory, meta)
    both = {"object": "whatsapp_business_account", "entry": [
        {"id": one.number.account, "changes": [change(one.number, messages=[text("Oi", PHONE)])]} for one in (org, other)]}
    assert caller.send(both, org.number.secret) == 403  # Meta repeats it until the secrets are corrected
    assert count(org) == 1 and not other.conversations()
    assert caller.send(both, org.number.secret) == 403
    assert count(org) == 1 and org.conversation()["unread_count"] == 1


def test_a_callback_for_a_number_with_a_wrong_secret_is_refused_and_not_lost(org, caller):
    """Two numbers of one account, one with a mistyped secret: its callbacks must not be lost."""
    right, wrong = org.number, org.add_number(account=org.number.account)[0]
    body = notification(wrong, text("Oi", PHONE))
    assert caller.send(body, right.secret) == 403
    assert not org.conversations()
    assert caller.send(body, wrong.secret) == 200
    assert count(org) == 1


def test_an_unknown_number_of_a_known_account_does_not_block_a_callback(org, caller):
    unknown = Number("999000111222333", "+55 11 4000-0000", org.number.account, "EAAx", "1" * 32)
    both = {"object": "whatsapp_business_account", "entry": [{"id": org.number.account, "changes": [
        change(one, messages=[text("Oi", PHONE)]) for one in (org.number, unknown)]}]}
    assert caller.send(both, org.number.secret) == 200 and count(org) == 1


def test_organizations_that_share_an_app_get_their_own_messages(module_instance, module_admin_factory, meta, caller):
    one, other = (WhatsAppOrg(module_instance, module_admin_factory, meta, with_number=False) for _ in range(2))
    one.number, one.number_id, _ = one.add_number(secret="5" * 32)
    other.number, other.number_id, _ = other.add_number(secret="5" * 32)
    both = {"object": "whatsapp_business_account", "entry": [
        {"id": o.number.account, "changes": [change(o.number, messages=[text(f"To {o.organization}", PHONE)])]}
        for o in (one, other)]}
    assert caller.send(both, "5" * 32) == 200
    for o in (one, other):
        assert [row["body"] for row in o.messages()] == [f"To {o.organization}"]


UNKNOWN = Number("999000111222333", "+55 11 4000-0000", "999000111", "EAAx", "1" * 32)


def test_callbacks_for_an_unknown_number_are_ignored(org, caller):
    """Meta repeats a callback for days until the response is 200. They do not limit those of other numbers."""
    assert {caller.send(notification(UNKNOWN, text("Oi", PHONE)), UNKNOWN.secret) for _ in range(650)} == {200}
    assert not org.conversations()
    assert caller.send(notification(org.number, text("Oi", PHONE)), org.number.secret) == 200 and count(org) == 1


def test_an_unknown_number_of_a_known_account_is_ignored_with_any_signature(org, caller):
    """Callbacks of another app of the account can be sent here."""
    unknown = Number("999000111222334", "+55 11 4000-0001", org.number.account, "EAAx", "1" * 32)
    body = notification(unknown, text("Oi", PHONE))
    assert caller.send(body, "x" * 32) == 200 and not org.conversations()
    body["entry"][0]["changes"] = [{"field": "account_update", "value": {"event": "VERIFIED_ACCOUNT"}}]
    assert caller.send(body, "x" * 32) == 403  # without a number, it could be that of the account


def test_an_unknown_number_of_a_known_app_does_not_count_as_a_refusal(org, caller):
    """Nor do large callbacks: the secret of another number authenticates them."""
    big = padded(notification(UNKNOWN, text("Oi", PHONE)), 3_000_000)
    assert {caller.send(big, org.number.secret) for _ in range(40)} == {200}
    assert caller.send(notification(org.number, text("Oi", PHONE)), org.number.secret) == 200


@pytest.mark.parametrize("known", [True, False])
def test_large_callbacks_without_a_valid_signature_are_limited(org, caller, known):
    """By their size, before the body is read."""
    big = padded(notification(org.number if known else UNKNOWN, text("Oi", PHONE)), 3_000_000)
    found = []
    while 429 not in found:
        found.append(caller.send(big, "x" * 32))
        assert found[-1] in (403 if known else 200, 429) and len(found) < 40
    answer = caller.ask("POST", data=big, headers={**JSON, "X-Hub-Signature-256": signature("x" * 32, big)})
    assert answer.status_code == 429 and 0 < int(answer.headers["Retry-After"]) <= 61
    assert Caller(org.instance).send(notification(org.number, text("Oi", PHONE)), org.number.secret) == 200


def test_only_a_client_with_many_refusals_is_limited(org, caller):
    """Meta's callbacks from another address are still accepted."""
    found = []
    while 429 not in found:
        found.append(caller.send(b"{}", "", "sha256=" + "0" * 64))
        assert found[-1] in (403, 429) and len(found) < 3000
    assert len(found) > 20
    limited = caller.ask("POST", data=b"{}", headers={**JSON, "X-Hub-Signature-256": "sha256=" + "0" * 64})
    assert limited.status_code == 429 and 0 < int(limited.headers["Retry-After"]) <= 61
    assert caller.send(notification(org.number, text("Oi", PHONE)), org.number.secret) == 429
    assert Caller(org.instance).send(notification(org.number, text("Oi", PHONE)), org.number.secret) == 200


def test_a_number_with_a_wrong_secret_does_not_limit_others(org, caller):
    """Callbacks for all numbers come from the same addresses of Meta, and those for a mistyped secret are repeated."""
    refusals = 0
    while caller.send(b"{}", "", "sha256=" + "0" * 64) == 403:
        refusals += 1
        assert refusals < 3000
    other = Caller(org.instance)
    assert {other.send(notification(org.number, text("Oi", PHONE)), "x" * 32) for _ in range(refusals + 5)} == {403}
    assert other.send(notification(org.number, text("Oi", PHONE)), org.number.secret) == 200


# ---------------------------------------------------------------- sizes and malformed callbacks


def padded(body, size):
    data = json.dumps(body).encode()
    return data + b" " * (size - len(data))


def test_three_megabytes_are_accepted(org, caller):
    big = notification(org.number, *[text(f"{n} " + "é" * 1000, PHONE) for n in range(1400)])
    data = json.dumps(big, ensure_ascii=False).encode()
    assert 2_900_000 < len(data) < MAX_BODY
    assert caller.send(data, org.number.secret) == 200
    assert count(org) == 1400 and org.conversation()["unread_count"] == 1400


def test_thousands_of_statuses_are_accepted(org, module_instance, caller):
    """Their messages are unknown, so that each could be one whose response from Meta is in flight."""
    body = notification(org.number, *[status(f"wamid.{n}", "sent", PHONE) for n in range(25_000)])
    assert caller.send(body, org.number.secret) == 200
    assert module_instance.sql("select count(*) from neoapi.whatsapp_status where organization_id = %s",
                               org.organization) == [(25_000,)]


def test_a_callback_with_a_thousand_contacts_is_accepted(org, caller):
    body = notification(org.number, *[text("Oi", f"55119{70_000_000 + n}") for n in range(1000)])
    assert caller.send(body, org.number.secret) == 200
    assert len(org.conversations()) == 1000


@pytest.mark.alone
@pytest.mark.slow
def test_a_callback_with_nine_thousand_contacts_is_accepted(org, caller):
    """It is stored in several statements, each within the timeout; a repetition changes nothing."""
    body = notification(org.number, *[text("Oi", f"55119{70_000_000 + n}", at=START) for n in range(9000)])
    assert len(json.dumps(body)) < MAX_BODY
    assert caller.send(body, org.number.secret) == 200
    assert caller.send(body, org.number.secret) == 200
    assert org.instance.sql("select count(*), sum(unread_count) from neoapi.whatsapp_conversation where organization_id = %s",
                            org.organization) == [(9000, 9000)]


@pytest.mark.parametrize("extra, expected", [(0, 200), (1, 413), (1_000_000, 413)])
def test_a_callback_has_a_maximum_size(org, caller, extra, expected):
    data = padded(notification(org.number, text("Oi", PHONE)), MAX_BODY + extra)
    assert caller.send(data, org.number.secret) == expected
    assert len(org.conversations()) == (expected == 200)


def test_a_chunked_callback_has_the_same_maximum_size(org, module_instance):
    url = at_callback(module_instance)
    client = Api(module_instance, url=url.removesuffix("callback"))
    data = json.dumps(notification(org.number, text("Oi", PHONE))).encode()
    head = ("POST /whatsapp/callback HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"X-Hub-Signature-256: {signature(org.number.secret, data)}\r\nTransfer-Encoding: chunked\r\n\r\n").encode()
    with RawConnection(client) as connection:
        assert connection.send(head + chunked(data[:7], data[7:300], data[300:])).answer("POST").status_code == 200
    with RawConnection(client) as connection:
        connection.send(head + b"".join(b"10000\r\n" + b" " * 65536 + b"\r\n" for _ in range(70)) + b"0\r\n\r\n")
        assert connection.answer("POST").status_code == 413
    assert count(org) == 1


GARBAGE = {
    "nothing": b"", "no JSON": b"hello", "half": b'{"object": "whatsapp_business_account", "entry": [', "null": b"null",
    "a number": b"1", "a string": b'"x"', "an array": b"[]", "an empty object": b"{}", "bytes": bytes(range(256)) * 40,
    "zeros": b"\0" * 10_000, "not UTF-8": b'{"object": "\xff\xfe"}', "deep": b"[" * 100_000,
    "deep objects": b'{"a":' * 100_000,
    "another object": b'{"object": "page", "entry": []}',
    "entry is no array": b'{"object": "whatsapp_business_account", "entry": {}}',
}


@pytest.mark.parametrize("data", GARBAGE.values(), ids=GARBAGE.keys())
def test_malformed_callbacks_are_refused_even_if_signed(org, caller, data):
    for secret in (org.number.secret, "x"):
        assert caller.send(data, secret) in (400, 403)
    assert not org.conversations()


def odd_values(number):
    """Callbacks with valid metadata and invalid contents. None may fail, because Meta would repeat it."""
    good = change(number)["value"]["metadata"]

    def of(value, field="messages"):
        return {"object": "whatsapp_business_account", "entry": [{"id": number.account, "changes": [
            {"field": field, "value": {"messaging_product": "whatsapp", "metadata": good, **value}}]}]}

    return [
        of({}), of({"messages": []}), of({"messages": None, "statuses": None, "contacts": None}), of({"messages": {}}),
        of({"messages": [None, 1, "x", [], {}]}), of({"statuses": [None, 1, "x", [], {}]}), of({"contacts": [None, {}, 7]}),
        of({"messages": [{"from": 5511, "id": 7, "timestamp": 7, "type": 7}]}),
        of({"messages": [{"from": PHONE, "id": "", "timestamp": "x", "type": ""}]}),
        of({"messages": [{"from": PHONE, "id": "wamid." + "x" * 5000, "timestamp": "9" * 40, "type": "text"}]}),
        of({"messages": [{**text("x", PHONE), "timestamp": "-1"}]}), of({"messages": [{**text("x", PHONE), "text": "flat"}]}),
        of({"messages": [{**text("x", PHONE), "type": "x" * 300}]}), of({"messages": [text("x", "not a number")]}),
        of({"messages": [text("x")]}), of({"statuses": [status("wamid.1", "exploded", PHONE)]}),
        of({"statuses": [status("wamid.2", "failed", PHONE, errors=[None])]}),
        of({"statuses": [status("wamid.3", "failed", PHONE, errors={"code": "x"})]}),
        of({"statuses": [{**status("wamid.4", "read"), "timestamp": None}]}),
        of({"event": "PAUSED"}, "message_template_status_update"), of({"calls": [{"id": "x"}]}, "calls"),
        of({}, "nobody_knows"),
        of({"user_preferences": [None, {}, {"value": "stop"}, {"wa_id": 7, "value": 7, "timestamp": "x"}]}, "user_preferences"),
        of({"messages": [{**text("x" * 70_000, PHONE)}]}), of({"errors": [{"code": 130429, "title": "Rate limit hit"}]}),
    ]


def test_unknown_parts_are_skipped_and_the_rest_is_stored(org, caller):
    """Also in one callback with valid items before and after it."""
    for strange in odd_values(org.number):
        assert caller.send(strange, org.number.secret) == 200, strange
    mixed = {"object": "whatsapp_business_account", "entry": [
        *notification(org.number, text("first", PHONE))["entry"],
        *[one for strange in odd_values(org.number) for one in strange["entry"]],
        *notification(org.number, text("last", PHONE))["entry"], None, {}, {"changes": 7}]}
    assert caller.send(mixed, org.number.secret) == 200
    assert {"first", "last"} <= {row["body"] for row in org.messages()}


def test_nul_characters_do_not_lose_other_messages(org, caller):
    """PostgreSQL cannot store them, and they must not make Meta repeat the callback forever."""
    both = notification(org.number, text("a\0b", PHONE), text("after it", PHONE))
    assert caller.send(both, org.number.secret) in (200, 400)
    assert caller.send(notification(org.number, text("good", PHONE)), org.number.secret) == 200
    assert "good" in [row["body"] for row in org.messages()]


# ---------------------------------------------------------------- repeated, concurrent and failing callbacks


def test_a_repeated_callback_counts_once(org):
    made, send = org.begin()
    twice = notification(org.number, text("Oi", PHONE), status(send, "delivered", PHONE), message("image", PHONE))
    org.deliver(twice)
    before = org.conversation(), org.messages()
    for _ in range(3):
        org.deliver(twice)
    assert (org.conversation(), org.messages()) == before
    assert org.conversation()["unread_count"] == 2 and count(org) == 3


def test_concurrent_copies_of_a_callback_count_once(org):
    made, send = org.begin()
    twice = notification(org.number, *[text(f"Oi {n}", PHONE) for n in range(5)], status(send, "read", PHONE))
    together(*[lambda: org.deliver(twice)] * 20)
    assert org.conversation()["unread_count"] == 5 and count(org) == 6 and org.status_of(made) == "read"


def test_many_callbacks_about_one_contact_at_once_are_one_conversation(org):
    together(*[lambda n=n: org.notify(text(f"Oi {n}", PHONE)) for n in range(20)])
    assert len(org.conversations()) == 1 and org.conversation()["unread_count"] == 20


def test_callbacks_about_the_same_contacts_in_another_order_do_not_deadlock(org):
    """Each locks rows in the same order, independent of the order in the callback."""
    phones = [f"55119876500{n:02}" for n in range(20)]

    def notify(order):
        org.notify(*[text("Oi", phone) for phone in order])

    for _ in range(5):
        together(*[lambda order=order: notify(order) for order in (phones, phones[::-1], phones[5:] + phones[:5])] * 3)
    assert sum(one["unread_count"] for one in org.conversations()) == 5 * 9 * 20


def test_during_an_outage_callbacks_get_503_and_none_is_lost(org, module_instance, caller):
    made, send = org.begin()
    first, second = notification(org.number, text("Oi", PHONE)), notification(org.number, status(send, "delivered", PHONE))
    module_instance.command("stop-db")
    try:
        for body in (first, second):
            data = json.dumps(body).encode()
            signed = {"X-Hub-Signature-256": signature(org.number.secret, data)}
            answer = caller.ask("POST", data=data, headers={**JSON, **signed})
            assert answer.status_code == 503 and int(answer.headers["Retry-After"]) > 0
        assert caller.handshake(org.verify_token).status_code == 503
    finally:
        module_instance.command("start-db")
    for body in (first, second):
        eventually(lambda body=body: caller.send(body, org.number.secret) == 200, "an accepted callback")
    assert org.conversation()["unread_count"] == 1 and org.status_of(made) == "delivered"


def test_callbacks_are_not_lost_when_the_database_is_killed(org, module_instance):
    """The test repeats callbacks without a 200, as Meta does."""
    bodies = [notification(org.number, text(f"Oi {n}", PHONE)) for n in range(60)]
    here, done = threading.Event(), []

    def send(mine):
        sender = Caller(module_instance)
        for body in mine:
            eventually(lambda body=body: sender.send(body, org.number.secret) == 200, "an accepted callback")
            done.append(body)
            here.set()

    def kill():
        here.wait(TIMEOUT_S)
        module_instance.command("kill-db")
        eventually(lambda: "does not start" not in module_instance.command("start-db", check=False), "PostgreSQL starts")

    together(*[lambda mine=bodies[n::6]: send(mine) for n in range(6)], kill)
    assert len(done) == 60 and count(org) == 60 and org.conversation()["unread_count"] == 60


# ---------------------------------------------------------------- location of the callback


def test_the_callback_is_outside_the_api(org, caller, module_instance):
    """It needs no key and no rate limit applies."""
    before = org.api.get("me").headers["X-RateLimit-Remaining"]
    for _ in range(5):
        assert caller.send(notification(org.number, text("Oi", PHONE)), org.number.secret) == 200
    assert int(before) - int(org.api.get("me").headers["X-RateLimit-Remaining"]) == 1


def test_the_query_of_a_malformed_path_is_not_logged(org, module_instance):
    """httpd refuses it before the module sees it."""
    before, logged = len(module_instance.error_log), len(module_instance.access_log)
    with org.api.connect() as connection:
        connection.sendall(f"GET /../x?hub.verify_token={org.verify_token} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 400")
    line = eventually(lambda: [line for line in module_instance.access_log[logged:].splitlines() if " 400 " in line], "its line")
    assert org.verify_token not in module_instance.error_log[before:] + "".join(line)


def test_other_users_cannot_read_the_logs(module_instance):
    logs = [module_instance.state / "log" / name for name in ("access.log", "error.log", "postgresql.log")]
    assert {log.stat().st_mode & 0o777 for log in logs} == {0o640}


def test_message_contents_are_not_logged(org, caller, module_instance):
    before = len(module_instance.error_log)
    assert caller.send(notification(org.number, text("Meu CPF é 529.982.247-25", PHONE)), org.number.secret) == 200
    assert caller.send(notification(org.number, text("Meu CPF", PHONE)), "wrong") == 403
    assert caller.handshake("a wrong token").status_code == 403
    assert caller.handshake(org.verify_token).status_code == 200
    said = module_instance.error_log[before:]
    assert org.verify_token not in said + module_instance.access_log
    assert "CPF" not in said and PHONE not in said and org.number.secret not in said and "a wrong token" not in said
