# SPDX-License-Identifier: Apache-2.0
"""GET /me: the principal of an API key and of a personal access token."""

import re

import pytest
from client import ULID, Api, ok, refused

RESOURCES = ["brokers", "properties", "parties", "proposals", "contracts", "documents", "leads", "webhooks", "whatsapp", "privacy"]
EVERY = {f"{resource}:{access}" for resource in RESOURCES for access in ("read", "write")}
OF_ROLES = {
    "org_admin": EVERY | {"audit:read", "usage:read"},
    "org_editor": EVERY - {"webhooks:write", "privacy:read", "privacy:write"},
    "org_viewer": {scope for scope in EVERY if scope.endswith(":read")} - {"privacy:read"},
}


@pytest.mark.parametrize("role", OF_ROLES)
def test_a_key_sees_its_role_and_scopes(instance, principals, role):
    credential = {"org_admin": principals.admin, "org_editor": principals.editor, "org_viewer": principals.viewer}[role]
    principal = ok(Api(instance, credential).get("me"))
    scopes = principal.pop("scopes")
    assert principal == {"type": "api_key", "principal_id": credential.id, "tenant_id": principals.tenant,
                         "organization_id": principals.organization, "role": role}
    assert set(scopes) == OF_ROLES[role] and len(scopes) == len(set(scopes))


def test_a_key_with_fewer_scopes_than_its_role_has_only_those(instance, admin_factory, principals):
    credential = admin_factory.key(principals.organization, "org_editor", ["parties:write", "brokers:read"])
    principal = ok(Api(instance, credential).get("me"))
    assert principal["role"] == "org_editor" and set(principal["scopes"]) == {"parties:write", "brokers:read"}


def test_a_token_sees_its_user_and_organizations(instance, principals):
    assert ok(Api(instance, principals.token_one).get("me")) == {
        "type": "personal_access_token", "principal_id": principals.token_one.id, "tenant_id": principals.tenant,
        "organization_id": principals.organization, "user_id": principals.user, "email": principals.token_one.email,
        "allowed_organization_ids": [principals.organization]}


def test_a_token_with_several_organizations_sees_them(instance, principals):
    principal = ok(Api(instance, principals.token_both).get("me"))
    assert principal["allowed_organization_ids"] == [principals.organization_2, principals.organization]
    assert principal["organization_id"] == principals.organization_2


def test_the_header_chooses_the_organization_of_a_token(instance, principals):
    for organization in principals.token_both.organizations:
        principal = ok(Api(instance, principals.token_both, organization).get("me"))
        assert principal["organization_id"] == organization
        assert set(principal["allowed_organization_ids"]) == set(principals.token_both.organizations)


def test_an_organization_without_access_is_forbidden(instance, principals):
    for credential, foreign in [(principals.admin, principals.organization_2),
                                (principals.admin, principals.other_organization),
                                (principals.token_one, principals.organization_2),
                                (principals.token_both, principals.other_organization)]:
        refused(Api(instance, credential, foreign).get("me"), 403, "forbidden.organization")


def test_the_prefixes_of_ids_are_those_of_the_contract(api):
    principal = ok(api.get("me"))
    for name, prefix in [("principal_id", "nbr"), ("tenant_id", "tnt"), ("organization_id", "org")]:
        assert re.fullmatch(f"{prefix}_{ULID}", principal[name])


def test_me_needs_no_scope(instance, admin_factory, principals):
    assert ok(Api(instance, admin_factory.key(principals.organization, "org_viewer", ["whatsapp:read"])).get("me"))


def test_me_has_no_parameters(api):
    refused(api.get("me", params={"limit": "1"}), 400, "validation.unknown_parameter", limit="validation.unknown_parameter")
