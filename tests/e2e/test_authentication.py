# SPDX-License-Identifier: Apache-2.0
"""Authentication and authorization: credentials, roles, scopes, X-Organization-ID, isolation of organizations, revocation."""

import zlib

import pytest
from client import Api, ok, refused
from admin_factory import AdminFactory
from wait import eventually, together

BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
UNKNOWN_ULID = "01" + 24 * "0"  # the last part of an unused id


def with_check(text):
    """A secret with the correct checksum."""
    check, digits = zlib.crc32(text.encode()), ""
    for _ in range(6):
        check, digit = divmod(check, 62)
        digits = BASE62[digit] + digits
    return text + digits


def changed(text, at):
    return text[:at] + ("x" if text[at] != "x" else "y") + text[at + 1:]


# ---------------------------------------------------------------- credentials


def test_a_request_without_a_credential_is_refused(anonymous):
    for path in ("me", "brokers", "brokers/brk_" + UNKNOWN_ULID):
        refused(anonymous.get(path), 401, "unauthorized.auth_required")
    refused(anonymous.post("brokers", json={"name": "Ana"}), 401, "unauthorized.auth_required")


def test_lists_show_the_hour_of_the_last_use(instance, admin_factory):
    key = admin_factory.key()
    api = Api(instance, key)

    def last_used():
        return next(row for row in admin_factory.ctl("key", "list") if row["id"] == key.id)["last_used_at"]

    assert last_used() is None
    ok(api.get("me"))
    admin_factory.key()  # a change makes processes record uses before their next heartbeat
    assert eventually(last_used, "the use is recorded").endswith(":00:00.000Z")
    before = instance.sql("select xmin from neoapi.credential_use where credential_id = %s", key.id)
    for _ in range(10):
        ok(api.get("me"))
    admin_factory.key()
    assert instance.sql("select xmin from neoapi.credential_use where credential_id = %s", key.id) == before


def test_a_credential_outside_its_header_is_ignored(anonymous, principals):
    secret = principals.admin.secret
    refused(anonymous.get("me", headers={"Authorization": "Bearer " + secret}), 401, "unauthorized.invalid_credential")
    assert anonymous.get("me", params={"api_key": secret}).status_code == 401
    refused(anonymous.get("me", headers={"Cookie": "X-API-Key=" + secret}), 401, "unauthorized.auth_required")


@pytest.mark.parametrize("spoil", [
    lambda key, principals: with_check(changed(key.secret, 40)[:-6]),
    lambda key, principals: with_check("nbr_" + UNKNOWN_ULID + key.secret[30:-6]),
    lambda key, principals: with_check("pat_" + key.secret[4:-6]),
    lambda key, principals: with_check(principals.editor.id + key.secret[30:-6]),
    lambda key, principals: key.id,
    lambda key, principals: "brk_" + key.secret[4:],
    lambda key, principals: "%00" + key.secret,
], ids=["another secret", "unknown id", "a token's prefix", "another key's id", "the id alone", "another kind", "percent"])
def test_a_wrong_credential_is_refused(anonymous, principals, spoil):
    key = spoil(principals.admin, principals).encode()
    refused(anonymous.get("me", headers={"X-API-Key": key}), 401, "unauthorized.invalid_credential")


def test_an_empty_credential_is_refused(anonymous):
    assert anonymous.get("me", headers={"X-API-Key": ""}).status_code == 401


def test_two_credentials_at_once_are_refused(anonymous, principals):
    line = f"X-API-Key: {principals.admin.secret}\r\n".encode()
    head = anonymous.head_of("GET", "me")[:-2]
    assert anonymous.raw(head + line + line + b"\r\n").status_code in (400, 401)


def test_an_error_does_not_repeat_the_secret(api, principals, log_since):
    response = api.get("me", headers={"X-API-Key": changed(principals.admin.secret, -1)})
    assert principals.admin.secret[31:60] not in response.text
    assert principals.admin.secret[31:60] not in log_since()


# ---------------------------------------------------------------- scopes


def attempts(api, broker):
    """The statuses of one request of each kind."""
    path = "brokers/" + broker["id"]
    return {
        "list": api.get("brokers").status_code,
        "get": api.get(path).status_code,
        "head": api.head(path).status_code,
        "create": api.post("brokers", json={"name": "Bia"}).status_code,
        "patch": api.patch(path, json={"phone": "1"}).status_code,
        "put": api.put(path, json={"name": "Caio"}).status_code,
        "delete": api.delete(path).status_code,
    }


READ = {"list": 200, "get": 200, "head": 200}
NO_READ = dict.fromkeys(READ, 403)
WRITE = {"create": 201, "patch": 200, "put": 200, "delete": 204}
NO_WRITE = dict.fromkeys(WRITE, 403)


@pytest.mark.parametrize("role, scopes, may", [
    ("org_admin", [], {**READ, **WRITE}),
    ("org_editor", [], {**READ, **WRITE}),
    ("org_viewer", [], {**READ, **NO_WRITE}),
    ("org_admin", ["brokers:read"], {**READ, **NO_WRITE}),
    ("org_admin", ["brokers:write"], {**NO_READ, **WRITE}),
    ("org_editor", ["properties:read", "properties:write", "webhooks:read"], {**NO_READ, **NO_WRITE}),
])
def test_a_key_has_the_permissions_of_its_scopes(instance, admin_factory, principals, api, role, scopes, may):
    key = admin_factory.key(principals.organization, role, scopes)
    assert attempts(Api(instance, key), api.broker()) == may


@pytest.mark.parametrize("role, may", [("org_editor", {**READ, **WRITE}), ("org_viewer", {**READ, **NO_WRITE})])
def test_a_token_has_the_permissions_of_its_users_role(instance, admin_factory, principals, api, role, may):
    token = admin_factory.token(admin_factory.user(principals.tenant, role), principals.organization)
    assert attempts(Api(instance, token), api.broker()) == may


def test_a_forbidden_request_names_the_scope_it_lacks(instance, principals):
    problem = refused(Api(instance, principals.viewer).post("brokers", json={"name": "Ana"}), 403,
                      "forbidden.insufficient_permissions")
    assert "brokers:write" in problem["detail"]


def test_permission_is_checked_before_the_body(instance, principals):
    viewer = Api(instance, principals.viewer)
    for more in ({"data": b"{"}, {"data": b""}, {"data": b"x", "headers": {"Content-Type": "text/plain"}}):
        refused(viewer.post("brokers", **more), 403, "forbidden.insufficient_permissions")
    refused(viewer.delete("brokers/brk_" + UNKNOWN_ULID), 403, "forbidden.insufficient_permissions")


# ---------------------------------------------------------------- organizations


def test_a_key_can_select_its_own_organization_only(instance, principals):
    ok(Api(instance, principals.admin, principals.organization).get("brokers"))
    for foreign in (principals.organization_2, principals.other_organization, "org_" + UNKNOWN_ULID):
        refused(Api(instance, principals.admin, foreign).get("brokers"), 403, "forbidden.organization")
        refused(Api(instance, principals.admin, foreign).post("brokers", json={"name": "Ana"}), 403, "forbidden.organization")


def test_a_token_of_one_organization_need_not_select_it(instance, principals):
    broker = Api(instance, principals.token_one).broker()
    assert broker["organization_id"] == principals.organization
    assert ok(Api(instance, principals.token_one, principals.organization).get("brokers/" + broker["id"])) == broker


def test_a_token_of_several_organizations_must_select_one(instance, principals):
    both = Api(instance, principals.token_both)
    refused(both.get("brokers"), 400, "validation.organization_required")
    refused(both.post("brokers", json={"name": "Ana"}), 400, "validation.organization_required")
    refused(both.get("brokers/brk_" + UNKNOWN_ULID), 400, "validation.organization_required")


def test_a_token_works_in_the_selected_organization(instance, principals):
    for organization in principals.token_both.organizations:
        assert Api(instance, principals.token_both, organization).broker()["organization_id"] == organization
    refused(Api(instance, principals.token_both, principals.other_organization).get("brokers"), 403, "forbidden.organization")
    refused(Api(instance, principals.token_one, principals.organization_2).get("brokers"), 403, "forbidden.organization")


def assert_cannot_be_seen(other_org_api, broker):
    path, before = "brokers/" + broker["id"], broker
    refused(other_org_api.get(path), 404, "not_found.broker")
    assert other_org_api.head(path).status_code == 404
    for etag in ({}, {"If-Match": "*"}):
        refused(other_org_api.delete(path, headers=etag), 404, "not_found.broker")
        refused(other_org_api.patch(path, json={"name": "Mine"}, headers=etag), 404, "not_found.broker")
        refused(other_org_api.put(path, json={"name": "Mine"}, headers=etag), 404, "not_found.broker")
    listed = ok(other_org_api.get("brokers", params={"creci": before["creci"]}))
    assert before["id"] not in [item["id"] for item in listed["items"]]


def test_another_tenant_sees_nothing(instance, principals, api):
    broker = api.broker(creci="SEEN 1")
    assert_cannot_be_seen(Api(instance, principals.other), broker)
    assert ok(api.get("brokers/" + broker["id"])) == broker


def test_another_organization_of_the_tenant_sees_nothing(instance, principals, api):
    broker = api.broker(creci="SEEN 2")
    assert_cannot_be_seen(Api(instance, principals.token_both, principals.organization_2), broker)
    assert ok(Api(instance, principals.token_both, principals.organization).get("brokers/" + broker["id"])) == broker


def test_a_404_does_not_reveal_whether_the_id_exists_in_another_organization(instance, principals, api):
    other_org_api, broker = Api(instance, principals.other), api.broker()
    existing, unknown = (other_org_api.get("brokers/" + id).json() for id in (broker["id"], "brk_" + UNKNOWN_ULID))
    assert existing["detail"].replace(broker["id"], "") == unknown["detail"].replace("brk_" + UNKNOWN_ULID, "")


# ---------------------------------------------------------------- changes apply immediately in all processes


def statuses_over_fresh_connections(api, credential, count=24):
    """The statuses of requests over concurrent connections, so that all processes get some."""
    return [response.json().get("code", 200) for response in
            together(*[lambda: Api(api.instance, credential, source=api.source).get("me")] * count)]


def test_a_revoked_credential_is_refused_at_once_everywhere(anonymous, admin_factory, principals):
    for made in (lambda: admin_factory.key(principals.organization),
                 lambda: admin_factory.token(principals.user, principals.organization)):
        for _ in range(3):
            credential = made()
            assert set(statuses_over_fresh_connections(anonymous, credential)) == {200}
            admin_factory.revoke(credential)
            assert set(statuses_over_fresh_connections(anonymous, credential)) == {"unauthorized.revoked_credential"}


def test_a_kept_connection_does_not_keep_a_revoked_credential(instance, admin_factory, principals):
    kept = [Api(instance, admin_factory.key(principals.organization)) for _ in range(4)]
    for one in kept:
        ok(one.get("brokers"))
        admin_factory.revoke(one.credential)
        refused(one.get("brokers"), 401, "unauthorized.revoked_credential")
        refused(one.post("brokers", json={"name": "Ana"}), 401, "unauthorized.revoked_credential")


def test_a_new_credential_works_at_once_everywhere(anonymous, admin_factory, principals):
    key = admin_factory.key(principals.organization)
    assert set(statuses_over_fresh_connections(anonymous, key)) == {200}


def test_a_removed_role_has_no_effect_in_any_process(instance, admin_factory, principals):
    user = admin_factory.user(principals.tenant)
    clients = [Api(instance, admin_factory.token(user, principals.organization)) for _ in range(6)]
    for api in clients:
        api.broker()
    instance.sql("update neoapi.app_user set role = 'org_viewer' where id = %s", user)
    for api in clients:
        eventually(lambda: api.post("brokers", json={"name": "Ana"}).status_code == 403, "the process has heard of it", limit=2)
        refused(api.post("brokers", json={"name": "Ana"}), 403, "forbidden.insufficient_permissions")


def test_a_revocation_without_a_notification_takes_effect(new_instance):
    """The connections of the processes are terminated, so that they get no notification."""
    instance = new_instance()
    admin_factory = AdminFactory(instance)
    for _ in range(5):
        credential = admin_factory.key()
        clients = [Api(instance, credential) for _ in range(8)]
        for client in clients:
            ok(client.get("me"))
        instance.sql("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'neoapi'")
        admin_factory.revoke(credential)
        for client in clients:
            refused(client.get("me"), 401, "unauthorized.revoked_credential")


# ---------------------------------------------------------------- logs


def test_the_access_log_has_the_credential_and_the_request_id(instance, api, anonymous, principals):
    def await_line(response):
        id = response.headers["X-Request-ID"]
        found = eventually(lambda: [line for line in instance.access_log.splitlines() if line.endswith(id)], "a line of " + id)
        return found[0]

    assert f" {principals.admin.id} " in await_line(api.get("me"))
    assert " - " in await_line(anonymous.get("me")) and " 401 " in await_line(anonymous.get("me"))
