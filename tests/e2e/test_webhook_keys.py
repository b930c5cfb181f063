# SPDX-License-Identifier: Apache-2.0
"""Asymmetric signatures: libraries verify them with the public keys, also during a rotation; keys are encrypted and separate."""

import base64
import hashlib
import json
import uuid

import pytest
from client import Api, moment, ok, refused
from ctl_instance import Ctl
from test_webhook_signatures import changed, receive_test_delivery
from webhook_fixtures import HERE, admin, module_admin_factory, module_instance, receiver, row_of, subscribe  # fixtures among them

jwt = pytest.importorskip("jwt", reason="python3-jwt is not installed")
pytest.importorskip("cryptography", reason="python3-cryptography is not installed")
from cryptography.exceptions import InvalidSignature  # noqa: E402
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: E402

CONF = HERE
WITH_KEY = {"asymmetric_signature": "ed25519"}


@pytest.fixture
def public(module_instance):
    return Api(module_instance)


def load_key(text):
    prefix, _, encoded = text.partition("_")
    assert prefix == "whpk"
    return Ed25519PublicKey.from_public_bytes(base64.b64decode(encoded, validate=True))


def kinds(arrival):
    return [one.partition(",")[0] for one in arrival.headers["webhook-signature"].split()]


def is_signed(key, arrival):
    """Whether one of the asymmetric signatures is of this key."""
    message = f"{arrival.headers['webhook-id']}.{arrival.headers['webhook-timestamp']}.".encode() + arrival.body
    for one in arrival.headers["webhook-signature"].split():
        kind, _, signature = one.partition(",")
        try:
            if kind == "v1a":
                key.verify(base64.b64decode(signature, validate=True), message)
                return True
        except InvalidSignature:
            pass
    return False


def webhook_path(subscription, action=""):
    return f"webhooks/{subscription['id']}{action}"


def rotated(api, subscription, hours, **more):
    return ok(api.post(webhook_path(subscription, "/rotate-key"), json={"overlap_hours": hours}, **more))


def jwks(public, organization):
    return public.get(".well-known/jwks.json", params={"organization_id": organization})


def organization_of(api):
    return api.credential.organizations[0]


# ---------------------------------------------------------------- signatures


def test_a_delivery_has_an_asymmetric_signature_beside_the_others(admin, receiver):
    subscription = subscribe(admin, receiver.url, **WITH_KEY)
    assert subscription["asymmetric_signature"] == "ed25519"
    key = load_key(subscription["public_key"])
    admin.broker(name="Íris Conceição")
    arrival, = receiver.wait_for(1)
    assert kinds(arrival) == ["v1", "v1a"] and arrival.headers["x-webhook-signature"]
    assert is_signed(key, arrival)
    signed_at = int(arrival.headers["webhook-timestamp"])
    for forged in (changed(arrival, body=arrival.body.replace(b"created", b"deleted")),
                   changed(arrival, webhook_id="evt_" + "0" * 26), changed(arrival, webhook_timestamp=str(signed_at + 1))):
        assert not is_signed(key, forged)


def test_without_the_option_deliveries_and_subscriptions_are_as_before(admin, receiver):
    subscription = subscribe(admin, receiver.url)
    assert not [name for name in subscription if "key" in name or "asymmetric" in name]
    assert kinds(receive_test_delivery(admin, receiver, subscription)) == ["v1"]


def test_the_option_is_switched_on_and_off_and_keeps_its_key(admin, receiver):
    subscription = subscribe(admin, receiver.url)
    on = ok(admin.patch(webhook_path(subscription), json=WITH_KEY))
    assert is_signed(load_key(on["public_key"]), receive_test_delivery(admin, receiver, subscription))
    off = ok(admin.patch(webhook_path(subscription), json={"asymmetric_signature": None}))
    assert "asymmetric_signature" not in off and off["public_key"] == on["public_key"]
    assert kinds(receive_test_delivery(admin, receiver, subscription)) == ["v1"]
    again = ok(admin.put(webhook_path(subscription), json={"url": receiver.url, "events": ["*"], **WITH_KEY, "public_key": "whpk_forged"}))
    assert again["public_key"] == on["public_key"]
    assert is_signed(load_key(on["public_key"]), receive_test_delivery(admin, receiver, subscription))
    unchanged = ok(admin.patch(webhook_path(subscription), json=WITH_KEY))
    assert unchanged == again
    refused(admin.patch(webhook_path(subscription), json={"asymmetric_signature": "rsa"}), 400,
            "validation.webhook.asymmetric_signature_invalid")


def test_each_subscription_has_its_own_key(admin, receiver):
    one, other = (subscribe(admin, receiver.url, "broker.deleted", **WITH_KEY) for _ in range(2))
    arrival = receive_test_delivery(admin, receiver, one)
    assert is_signed(load_key(one["public_key"]), arrival) and not is_signed(load_key(other["public_key"]), arrival)


# ---------------------------------------------------------------- rotation


def test_during_the_overlap_both_keys_verify(admin, receiver, module_instance, public):
    subscription = subscribe(admin, receiver.url, **WITH_KEY)
    now = rotated(admin, subscription, 168)
    assert now["previous_public_key"] == subscription["public_key"] != now["public_key"]
    assert abs(moment(now["previous_public_key_until"]) - moment(now["updated_at"]) - 7 * 86400) < 60
    assert now["updated_at"] > subscription["updated_at"] and ok(admin.get(webhook_path(subscription))) == now
    old, new = (load_key(one["public_key"]) for one in (subscription, now))
    arrival = receive_test_delivery(admin, receiver, subscription)
    assert kinds(arrival) == ["v1", "v1a", "v1a"] and is_signed(old, arrival) and is_signed(new, arrival)
    assert len(jwks(public, organization_of(admin)).json()["keys"]) == 2

    module_instance.sql("update neoapi.webhook_subscription set previous_public_key_until = now() where id = %s", subscription["id"])
    arrival = receive_test_delivery(admin, receiver, subscription)
    assert kinds(arrival) == ["v1", "v1a"] and is_signed(new, arrival) and not is_signed(old, arrival)
    assert len(jwks(public, organization_of(admin)).json()["keys"]) == 1


def test_without_an_overlap_the_former_key_is_not_used_any_more(admin, receiver):
    subscription = subscribe(admin, receiver.url, **WITH_KEY)
    rotated(admin, subscription, 24)
    now = rotated(admin, subscription, 0)
    assert not {"previous_public_key", "previous_public_key_until"} & set(now)
    arrival = receive_test_delivery(admin, receiver, subscription)
    assert kinds(arrival) == ["v1", "v1a"] and is_signed(load_key(now["public_key"]), arrival)


def test_a_repeated_rotation_with_the_same_idempotency_key_rotates_once(admin):
    subscription = subscribe(admin, "https://crm.example.com/", **WITH_KEY)
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    first = rotated(admin, subscription, 24, headers=headers)
    repeated = admin.post(webhook_path(subscription, "/rotate-key"), json={"overlap_hours": 24}, headers=headers)
    assert repeated.headers["Idempotent-Replayed"] == "true" and ok(repeated) == first == ok(admin.get(webhook_path(subscription)))


def test_the_first_key_can_be_made_before_it_is_used(admin, receiver):
    subscription = subscribe(admin, receiver.url)
    made = rotated(admin, subscription, 24)
    assert "previous_public_key" not in made
    assert kinds(receive_test_delivery(admin, receiver, subscription)) == ["v1"]
    assert ok(admin.patch(webhook_path(subscription), json=WITH_KEY))["public_key"] == made["public_key"]


@pytest.mark.parametrize("body, code", [({}, "required"), ({"overlap_hours": 169}, "invalid"), ({"overlap_hours": -1}, "invalid"),
                                        ({"overlap_hours": "24"}, "invalid")])
def test_the_overlap_is_at_most_seven_days(admin, body, code):
    subscription = subscribe(admin, "https://crm.example.com/", **WITH_KEY)
    refused(admin.post(webhook_path(subscription, "/rotate-key"), json=body), 400, f"validation.webhook.overlap_hours_{code}")
    assert ok(admin.get(webhook_path(subscription)))["public_key"] == subscription["public_key"]


def test_a_rotation_needs_the_scope_and_the_subscription(admin, module_admin_factory, module_instance):
    subscription = subscribe(admin, "https://crm.example.com/", **WITH_KEY)
    organization = organization_of(admin)
    viewer = Api(module_instance, module_admin_factory.key(organization, role="org_viewer"))
    refused(viewer.post(webhook_path(subscription, "/rotate-key"), json={"overlap_hours": 0}), 403, "forbidden.insufficient_permissions")
    stranger = Api(module_instance, module_admin_factory.key())
    refused(stranger.post(webhook_path(subscription, "/rotate-key"), json={"overlap_hours": 0}), 404, "not_found.webhook")


# ---------------------------------------------------------------- public keys


def test_the_key_set_verifies_with_another_library(admin, receiver, public):
    subscription = subscribe(admin, receiver.url, **WITH_KEY)
    arrival = receive_test_delivery(admin, receiver, subscription)
    response = jwks(public, organization_of(admin))
    assert response.status_code == 200 and response.headers["Content-Type"] == "application/jwk-set+json"
    key, = jwt.PyJWKSet.from_dict(response.json()).keys
    assert is_signed(key.key, arrival) and key.public_key_use == "sig"
    written, = response.json()["keys"]
    thumbprint = json.dumps({name: written[name] for name in ("crv", "kty", "x")}, separators=(",", ":")).encode()
    assert key.key_id == base64.urlsafe_b64encode(hashlib.sha256(thumbprint).digest()).decode().rstrip("=")


def test_the_key_set_is_public_and_cacheable(admin, public):
    subscribe(admin, "https://crm.example.com/", **WITH_KEY)
    response = jwks(public, organization_of(admin))
    assert response.headers["Cache-Control"] == "public, max-age=300"
    again = public.get(".well-known/jwks.json", params={"organization_id": organization_of(admin)},
                       headers={"If-None-Match": response.headers["ETag"]})
    assert again.status_code == 304 and again.headers["Cache-Control"] == "public, max-age=300"
    assert jwks(public.with_(credential="nonsense"), organization_of(admin)).content == response.content


def test_the_key_set_has_the_used_keys_of_one_organization_only(admin, public, module_admin_factory, module_instance):
    other = Api(module_instance, module_admin_factory.key())
    subscribe(other, "https://crm.example.com/", **WITH_KEY)
    assert jwks(public, organization_of(admin)).json() == {"keys": []}
    mine = subscribe(admin, "https://crm.example.com/", **WITH_KEY)
    off = subscribe(admin, "https://crm.example.com/", **WITH_KEY)
    ok(admin.patch(webhook_path(off), json={"asymmetric_signature": None}))
    found, = jwks(public, organization_of(admin)).json()["keys"]
    assert base64.urlsafe_b64decode(found["x"] + "=") == base64.b64decode(mine["public_key"].removeprefix("whpk_"))
    assert jwks(public, "org_" + "0" * 26).json() == {"keys": []}


@pytest.mark.parametrize("query", ["", "?organization_id=", "?organization_id=brk_" + "0" * 26, "?organization_id=org_1"])
def test_a_key_set_is_of_an_organization(public, query):
    problem = refused(public.get(".well-known/jwks.json" + query), 400, "validation.parameter_invalid")
    assert problem["errors"][0]["field"] == "organization_id"


# ---------------------------------------------------------------- storage


def test_a_private_key_is_encrypted_and_useless_in_another_column_or_row(admin, receiver, module_instance):
    one, other = (subscribe(admin, receiver.url, "broker.deleted", **WITH_KEY) for _ in range(2))
    stored, secret = row_of(module_instance, one, "private_key, secret")
    assert "whsk_" not in stored and b"whsk_" not in base64.urlsafe_b64decode(stored + "==")
    for column, value in (("private_key", secret), ("private_key", row_of(module_instance, other, "private_key")[0])):
        module_instance.sql(f"update neoapi.webhook_subscription set {column} = %s where id = %s", value, one["id"])
        ok(admin.post(webhook_path(one, "/test")), 201)
    assert receive_test_delivery(admin, receiver, other).json["payload"]["subscription_id"] == other["id"]
    assert {arrival.json["payload"]["subscription_id"] for arrival in receiver.arrivals} == {other["id"]}
    module_instance.sql("update neoapi.webhook_subscription set private_key = %s where id = %s", stored, one["id"])
    assert is_signed(load_key(one["public_key"]), receive_test_delivery(admin, receiver, one))


def test_a_stored_response_has_no_private_key_and_an_export_neither(admin, module_instance):
    made = ok(admin.post("webhooks", json={"url": "https://crm.example.com/", "events": ["*"], **WITH_KEY},
                         headers={"Idempotency-Key": str(uuid.uuid4())}), 201)
    stored = module_instance.sql("select response_body from neoapi.idempotency_key where organization_id = %s", organization_of(admin))
    exported = Ctl(module_instance).ok("export", organization_of(admin))
    private, = row_of(module_instance, made, "private_key")
    for text in (stored[0][0], exported):
        assert made["public_key"] in text and private not in text and "whsk_" not in text
