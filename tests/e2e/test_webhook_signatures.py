# SPDX-License-Identifier: Apache-2.0
"""Signatures: third-party libraries verify every delivery, also after a rotation of the secret or of the encryption key."""

import base64
import json
import shutil
import subprocess

import pytest

from client import ok
from deployment import ROOT
from webhook_fixtures import (admin, module_admin_factory, module_instance, receiver,  # fixtures among them
                              subscribe)

pytestmark = pytest.mark.unsanitized  # the libraries come from npm
TOOLS = ROOT / "build" / "webhook-tools"
TIMEOUT_S = 300  # for npm and node
NOT_SIGNED = "No matching signature found"
TOO_OLD = "Message timestamp too old"


@pytest.fixture(scope="module")
def verify_signatures():
    """verify_signatures(secret, arrival, …): for each arrival, whether both libraries accept the signature."""
    TOOLS.parent.mkdir(exist_ok=True)
    subprocess.run(["sh", ROOT / "tests/deploy/npm.sh", ROOT / "tests/webhooks", TOOLS], check=True, timeout=TIMEOUT_S)
    shutil.copy(ROOT / "tests/webhooks/verify.mjs", TOOLS)

    def verify(secret, *arrivals):
        asked = [{"secret": secret, "headers": one.headers, "body": base64.b64encode(one.body).decode()} for one in arrivals]
        done = subprocess.run(["node", TOOLS / "verify.mjs"], input=json.dumps(asked), text=True, capture_output=True,
                              timeout=TIMEOUT_S)
        assert done.returncode == 0, done.stderr
        return [(found["octokit"], found["standard"]) for found in json.loads(done.stdout)]

    return verify


def receive_test_delivery(admin, receiver, subscription):
    before = len(receiver.arrivals)
    ok(admin.post(f"webhooks/{subscription['id']}/test"), 201)
    return receiver.wait_for(before + 1)[-1]


def changed(arrival, **fields):
    """A copy of an arrival with forged headers or a forged body."""
    body = fields.pop("body", arrival.body)
    headers = {**arrival.headers, **{name.replace("_", "-"): value for name, value in fields.items()}}
    return type(arrival)(arrival.at, arrival.path, headers, body, arrival.port)


def test_both_libraries_accept_every_delivery(admin, receiver, verify_signatures):
    subscription = subscribe(admin, receiver.url)
    for name in ("Ana", "Íris Conceição", "\U0001F3E0 \\ \" </script> \u2028"):
        admin.broker(name=name)
    arrivals = receiver.wait_for(3)
    assert verify_signatures(subscription["secret"], *arrivals) == [(True, True)] * 3


def test_both_libraries_refuse_a_changed_delivery(admin, receiver, verify_signatures):
    subscription = subscribe(admin, receiver.url)
    genuine = receive_test_delivery(admin, receiver, subscription)
    hexadecimal = genuine.headers["x-webhook-signature"]
    forged = [changed(genuine, body=genuine.body.replace(b"webhook.test", b"webhook.tost")),
              changed(genuine, x_webhook_signature=hexadecimal[:-1] + ("0" if hexadecimal[-1] != "0" else "1"),
                      webhook_signature="v1," + base64.b64encode(bytes(32)).decode())]
    assert verify_signatures(subscription["secret"], *forged) == [(False, NOT_SIGNED)] * 2
    other = subscribe(admin, receiver.url, "broker.deleted")
    assert verify_signatures(other["secret"], genuine) == [(False, NOT_SIGNED)]


def test_both_libraries_accept_a_delivery_that_has_an_asymmetric_signature_as_well(admin, receiver, verify_signatures):
    subscription = subscribe(admin, receiver.url, asymmetric_signature="ed25519")
    arrival = receive_test_delivery(admin, receiver, subscription)
    assert " v1a," in arrival.headers["webhook-signature"]
    assert verify_signatures(subscription["secret"], arrival) == [(True, True)]


def test_the_standard_signature_covers_id_and_time_as_well(admin, receiver, verify_signatures):
    subscription = subscribe(admin, receiver.url)
    genuine = receive_test_delivery(admin, receiver, subscription)
    moment = int(genuine.headers["webhook-timestamp"])
    assert abs(moment - genuine.at) < 5 and genuine.event_id.startswith("evt_")
    found = verify_signatures(subscription["secret"], changed(genuine, webhook_id="evt_" + "0" * 26),
                              changed(genuine, webhook_timestamp=str(moment + 1)),
                              changed(genuine, webhook_timestamp=str(moment - 3600)))
    assert [standard for _, standard in found] == [NOT_SIGNED, NOT_SIGNED, TOO_OLD]


def test_after_a_rotation_both_secrets_verify_the_standard_signature_for_a_day(admin, receiver, module_instance,
                                                                               verify_signatures):
    subscription = subscribe(admin, receiver.url)
    old = subscription["secret"]
    new = ok(admin.post(f"webhooks/{subscription['id']}/rotate-secret"))["secret"]
    arrival = receive_test_delivery(admin, receiver, subscription)
    assert verify_signatures(new, arrival) == [(True, True)] and verify_signatures(old, arrival) == [(False, True)]
    module_instance.sql("update neoapi.webhook_subscription set previous_secret_until = now() where id = %s",
                        subscription["id"])
    arrival = receive_test_delivery(admin, receiver, subscription)
    assert verify_signatures(new, arrival) == [(True, True)] and verify_signatures(old, arrival) == [(False, NOT_SIGNED)]


def test_a_new_encryption_key_encrypts_new_secrets_and_old_secrets_stay_valid(admin, receiver, module_instance,
                                                                              verify_signatures):
    old = subscribe(admin, receiver.url, "broker.deleted")
    file = module_instance.state / "neoapi.key"
    kept = file.read_text()
    try:
        fresh = subprocess.run(["openssl", "rand", "-base64", "32"], check=True, text=True, capture_output=True).stdout
        file.write_text(fresh + kept)
        module_instance.command("graceful")
        new = subscribe(admin, receiver.url, "broker.deleted")
        for subscription in (old, new):
            arrival = receive_test_delivery(admin, receiver, subscription)
            assert verify_signatures(subscription["secret"], arrival) == [(True, True)]
    finally:
        file.write_text(kept)
        module_instance.command("graceful")
