# SPDX-License-Identifier: Apache-2.0
"""Credentials that expire, or may be used from some networks only: refusals and what they tell, announcements."""

import json
from datetime import datetime, timedelta, timezone

import pytest

from admin_factory import AdminFactory
from admin_pages import CONF as PAGES, AdminPages
from client import Api, ok, refused
from conftest import remove
from ctl_instance import Ctl
from deployment import Instance
from test_jobs import run_jobs
from wait import eventually

PROXY = """
LoadModule remoteip_module "${MODULES}/mod_remoteip.so"
RemoteIPHeader X-Forwarded-For
RemoteIPInternalProxy 127.0.0.1
"""
EXPIRED, NETWORK, INVALID = "unauthorized.expired_credential", "forbidden.network", "unauthorized.invalid_credential"


@pytest.fixture(scope="module")
def behind_proxy(tmp_path_factory):
    """An instance that trusts X-Forwarded-For of 127.0.0.1."""
    place = tmp_path_factory.mktemp("limits")
    (place / "server").write_text(PAGES + PROXY)
    made = Instance("limits", SERVER_CONF=str(place / "server"))
    try:
        yield made.up()
    finally:
        remove(made)


@pytest.fixture(scope="module")
def factory(behind_proxy):
    return AdminFactory(behind_proxy)


@pytest.fixture
def ctl(behind_proxy):
    return Ctl(behind_proxy)


def in_days(days):
    return (datetime.now(timezone.utc) + timedelta(days=days)).isoformat()


def me_from(api, address):
    return api.get("me", headers={"X-Forwarded-For": address})


def wrong(secret):
    """Another secret with the id, whose checksum is not right."""
    return secret[:40] + ("x" if secret[40] != "x" else "y") + secret[41:]


# ---------------------------------------------------------------- expiry


def test_an_expired_credential_is_refused_with_its_own_code(behind_proxy, factory):
    organization = factory.organization()
    user = factory.user(factory.tenants[organization])
    for expired in (factory.key(organization, expires_at=in_days(-1)), factory.token(user, organization, expires_at=in_days(-1))):
        problem = refused(Api(behind_proxy, expired).get("brokers"), 401, EXPIRED)
        assert "expired at 20" in problem["detail"]
        refused(Api(behind_proxy, wrong(expired.secret)).get("me"), 401, INVALID)  # without the secret, nothing is learnt


def test_a_credential_works_until_it_expires(behind_proxy, factory):
    key = factory.key(expires_at=in_days(1))
    api = Api(behind_proxy, key)
    assert ok(api.get("me"))["expires_at"].endswith("Z")
    assert "expires_at" not in ok(Api(behind_proxy, factory.key()).get("me"))
    behind_proxy.sql("update neoapi.credential set expires_at = clock_timestamp() where id = %s", key.id)
    eventually(lambda: api.get("me").status_code == 401, "the processes have heard of it")
    refused(api.post("brokers", json={"name": "Ana"}), 401, EXPIRED)


def test_an_expiry_ends_a_wait(behind_proxy, factory):
    api = Api(behind_proxy, factory.key(expires_at=in_days(2 / 86400)))
    refused(api.get("events", params={"order": "asc", "after": "now", "wait": 4}), 401, EXPIRED)


# ---------------------------------------------------------------- networks


@pytest.mark.parametrize("networks, admitted, refused_addresses", [
    ("203.0.113.0/24", ["203.0.113.0", "203.0.113.255", "::ffff:203.0.113.9"], ["203.0.112.255", "203.0.114.0", "2001:db8::1", "::203.0.113.1"]),
    ("2001:db8:a::/48", ["2001:db8:a::1", "2001:db8:a:ffff::"], ["2001:db8:b::1", "203.0.113.7"]),
    ("::/0", ["2001:db8::1", "fe80::1"], ["203.0.113.7", "127.0.0.1"]),
    ("0.0.0.0/0", ["203.0.113.7"], ["2001:db8::1"]),
    ("198.51.100.7/32,2001:db8::7/128", ["198.51.100.7", "2001:db8::7"], ["198.51.100.8", "2001:db8::8"]),
])
def test_a_credential_works_from_its_networks_only(behind_proxy, factory, networks, admitted, refused_addresses):
    api = Api(behind_proxy, factory.key(allowed_networks="{" + networks + "}"))
    for address in admitted:
        ok(me_from(api, address))
    for address in refused_addresses:
        problem = refused(me_from(api, address), 403, NETWORK)
        assert address in problem["detail"] and networks.partition("/")[0] not in problem["detail"]


def test_an_address_that_the_client_claims_does_not_count(behind_proxy, factory):
    """127.0.0.2 is not the proxy, so that its X-Forwarded-For is ignored."""
    api = Api(behind_proxy, factory.key(allowed_networks="{203.0.113.0/24}"), source="127.0.0.2")
    refused(me_from(api, "203.0.113.7"), 403, NETWORK)


def test_a_wrong_network_reveals_nothing_else(behind_proxy, factory, ctl):
    key = factory.key(allowed_networks="{203.0.113.0/24}", expires_at=in_days(-1))
    api = Api(behind_proxy, key)
    refused(me_from(api, "198.51.100.1"), 403, NETWORK)  # not that it has expired
    refused(me_from(api, "203.0.113.1"), 401, EXPIRED)
    ctl.ok("key", "revoke", key.id)
    refused(me_from(api, "198.51.100.1"), 403, NETWORK)  # nor that it was revoked
    refused(me_from(api, "203.0.113.1"), 401, "unauthorized.revoked_credential")
    refused(me_from(Api(behind_proxy, wrong(key.secret)), "198.51.100.1"), 401, INVALID)  # and without the secret, no network
    log = eventually(lambda: [line for line in behind_proxy.error_log.splitlines() if "NEO0502" in line], "it is logged")
    assert not any(key.secret[31:] in line for line in log)


def test_writes_and_exports_are_refused_from_other_networks(behind_proxy, factory):
    api = Api(behind_proxy, factory.key(allowed_networks="{203.0.113.0/24}"))
    for answer in (api.post("brokers", json={"name": "Ana"}), api.get("brokers/export"), api.get("nothing")):
        refused(answer, 403, NETWORK)
    assert behind_proxy.sql("select count(*) from neoapi.broker where organization_id = %s", api.credential.organizations[0]) == [(0,)]


# ---------------------------------------------------------------- neoapictl


def row(ctl, what, id):
    return next(row for row in ctl.json(what, "list") if row["id"] == id)


def test_limits_are_set_listed_changed_and_removed(behind_proxy, factory, ctl):
    organization, expiry = factory.organization(), in_days(100)
    made = ctl.json("key", "create", "ERP", "--organization", organization, "--role", "org_viewer", "--expires-at", expiry,
                    "--allowed-networks", "203.0.113.0/24, 2001:db8::/32", "--description", "of the finance department")
    shown = row(ctl, "key", made["id"])
    assert shown["expires_at"][:19] == expiry[:19] and shown["allowed_networks"] == ["203.0.113.0/24", "2001:db8::/32"]
    assert shown["description"] == "of the finance department"
    api = Api(behind_proxy, made["secret"])
    refused(me_from(api, "198.51.100.1"), 403, NETWORK)
    ctl.ok("key", "change", made["id"], "--any-network", "--no-expiry")
    assert ok(me_from(api, "198.51.100.1")).get("expires_at") is None
    shown = row(ctl, "key", made["id"])
    assert shown["expires_at"] is None and shown["allowed_networks"] is None
    ctl.ok("key", "change", made["id"], "--allowed-networks", "198.51.100.1")
    assert row(ctl, "key", made["id"])["allowed_networks"] == ["198.51.100.1/32"]
    refused(me_from(api, "198.51.100.2"), 403, NETWORK)
    user = factory.user(factory.tenants[organization])
    token = ctl.json("token", "create", "Ana", "--user", user, "--organization", organization, "--expires-at", expiry,
                     "--allowed-networks", "203.0.113.7")
    refused(me_from(Api(behind_proxy, token["secret"]), "203.0.113.8"), 403, NETWORK)
    ctl.ok("token", "change", token["id"], "--allowed-networks", "203.0.113.8")
    ok(me_from(Api(behind_proxy, token["secret"]), "203.0.113.8"))


def test_invalid_limits_are_refused(factory, ctl):
    key = factory.key().id
    for args, said in ((("--expires-at", "2020-01-01T00:00:00Z"), "in the future"),
                       (("--expires-at", "tomorrow"), "date-time"),
                       (("--allowed-networks", "203.0.113.1/24"), "bits after its prefix"),
                       (("--allowed-networks", "203.0.113.0/33"), "networks"),
                       (("--allowed-networks", "10.1"), "networks"),
                       (("--allowed-networks", ","), "1 to 100"),
                       (("--allowed-networks", "10.0.0.0/8", "--any-network"), "cannot be combined"),
                       (("--expires-at", in_days(1), "--no-expiry"), "cannot be combined")):
        assert said in ctl.refused("key", "change", key, *args, code=2), args


# ---------------------------------------------------------------- announcements


def expiring(api):
    return [event["payload"] for event in ok(api.get("events", params={"type": "credential.*"}))["items"]]


def test_an_expiry_is_announced_once_for_each_threshold(behind_proxy, factory):
    organization = factory.organization()
    other = factory.organization(factory.tenants[organization])
    api, other_api = Api(behind_proxy, factory.key(organization)), Api(behind_proxy, factory.key(other))
    api.post("webhooks", json={"url": "https://hooks.example.com/all", "events": ["*"]})
    named = [ok(api.post("webhooks", json={"url": f"https://hooks.example.com/{len(events)}", "events": events}), 201)["id"]
             for events in (["credential.expiring"], ["*", "credential.expiring"])]
    key = factory.key(organization, expires_at=in_days(29))
    token = factory.token(factory.user(factory.tenants[organization]), organization, other, expires_at=in_days(6))
    factory.key(organization, expires_at=in_days(31))
    factory.key(organization, expires_at=in_days(-1))
    for _ in range(2):
        run_jobs(behind_proxy, "announce_expiring")
        assert sorted((one["id"], one["type"], one["threshold_days"]) for one in expiring(api)) == sorted(
            [(key.id, "api_key", 30), (token.id, "personal_access_token", 7)])
        assert [(one["id"], one["organization_id"]) for one in expiring(other_api)] == [(token.id, other)]
    behind_proxy.sql("update neoapi.credential set expires_at = now() + interval '5 days' where id = %s", key.id)
    run_jobs(behind_proxy, "announce_expiring")
    assert [one["threshold_days"] for one in expiring(api) if one["id"] == key.id] == [7, 30]  # newest first
    queued = behind_proxy.sql("select subscription_id, count(*) from neoapi.webhook_delivery where organization_id = %s"
                              " group by 1 order by 1", organization)
    assert queued == [(id, 3) for id in sorted(named)]  # "*" does not include it
    behind_proxy.sql("delete from neoapi.webhook_queue where organization_id = %s", organization)


def test_doctor_and_status_show_what_expires(behind_proxy, factory, ctl):
    key = factory.key(expires_at=in_days(3))
    found = next(row for row in json.loads(ctl.run("--json", "doctor")[1]) if row["check"] == "expiring credentials")
    assert found["result"] == "pending" and "within 7" in found["found"], found
    warnings = json.loads(ctl.run("--json", "status")[1])["warnings"]
    assert any("expire within 30 days" in warning for warning in warnings)
    page = AdminPages(behind_proxy).page
    eventually(lambda: "expire within 30 days" in page().text, "the page has read it")
    assert key.id not in page().text
