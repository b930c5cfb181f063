"""GET /me: both shapes of the principal."""

import re

import pytest
from client import ULID, Api, ok, refused

RESOURCES = ["brokers", "properties", "parties", "proposals", "contracts", "documents", "webhooks", "whatsapp"]
EVERY = {f"{resource}:{access}" for resource in RESOURCES for access in ("read", "write")}
OF_ROLES = {
    "org_admin": EVERY,
    "org_editor": EVERY - {"webhooks:write"},
    "org_viewer": {scope for scope in EVERY if scope.endswith(":read")},
}


@pytest.mark.parametrize("role", OF_ROLES)
def test_a_key_is_told_its_role_and_the_scopes_of_it(instance, realm, role):
    credential = {"org_admin": realm.admin, "org_editor": realm.editor, "org_viewer": realm.viewer}[role]
    principal = ok(Api(instance, credential).get("me"))
    scopes = principal.pop("scopes")
    assert principal == {"type": "api_key", "principal_id": credential.id, "tenant_id": realm.tenant,
                         "organization_id": realm.organization, "role": role}
    assert set(scopes) == OF_ROLES[role] and len(scopes) == len(set(scopes))


def test_a_key_that_was_made_narrower_has_only_those_scopes(instance, make, realm):
    credential = make.key(realm.organization, "org_editor", ["parties:write", "brokers:read"])
    principal = ok(Api(instance, credential).get("me"))
    assert principal["role"] == "org_editor" and set(principal["scopes"]) == {"parties:write", "brokers:read"}


def test_a_token_is_told_its_user_and_organizations(instance, realm):
    assert ok(Api(instance, realm.token_one).get("me")) == {
        "type": "personal_access_token", "principal_id": realm.token_one.id, "tenant_id": realm.tenant,
        "organization_id": realm.organization, "user_id": realm.user, "email": realm.token_one.email,
        "allowed_organization_ids": [realm.organization]}


def test_a_token_that_reaches_several_learns_here_which_it_can_choose(instance, realm):
    principal = ok(Api(instance, realm.token_both).get("me"))
    assert principal["allowed_organization_ids"] == [realm.organization_2, realm.organization]
    assert principal["organization_id"] == realm.organization_2


def test_the_header_chooses_the_organization_of_a_token(instance, realm):
    for organization in realm.token_both.organizations:
        principal = ok(Api(instance, realm.token_both, organization).get("me"))
        assert principal["organization_id"] == organization
        assert set(principal["allowed_organization_ids"]) == set(realm.token_both.organizations)


def test_an_organization_that_the_credential_does_not_reach_is_forbidden(instance, realm):
    for credential, foreign in [(realm.admin, realm.organization_2), (realm.admin, realm.other_organization),
                                (realm.token_one, realm.organization_2), (realm.token_both, realm.other_organization)]:
        refused(Api(instance, credential, foreign).get("me"), 403, "forbidden.organization")


def test_the_prefixes_of_ids_are_those_of_the_contract(api):
    principal = ok(api.get("me"))
    for name, prefix in [("principal_id", "nbr"), ("tenant_id", "tnt"), ("organization_id", "org")]:
        assert re.fullmatch(f"{prefix}_{ULID}", principal[name])


def test_every_credential_may_ask_whatever_its_scopes(instance, make, realm):
    assert ok(Api(instance, make.key(realm.organization, "org_viewer", ["whatsapp:read"])).get("me"))


def test_it_takes_no_parameters(api):
    refused(api.get("me", params={"limit": "1"}), 400, "validation.unknown_parameter", limit="validation.unknown_parameter")
