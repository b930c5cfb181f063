# SPDX-License-Identifier: Apache-2.0
"""Tests for all resources: every operation, authors, unique values, external_id, metadata, scopes and events."""

import re
import uuid
from concurrent.futures import ThreadPoolExecutor

import psycopg2
import pytest
from client import ULID, Api, moment, ok, refused, wrong_fields
from event_log import deliveries
from factories import BANK, NAMES, PREFIXES, SERVER, UNKNOWN_ULID, ResourceFactory, cpf, given, unique
from wait import together

DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
UNREACHABLE_URL = "https://127.0.0.1:9/"  # the courier does not deliver to this machine
PRIVATE_FIELDS = {"bank_account", "rg", "birth_date"}
OF_BROKERS = {"phone", "document_number", "visibility", "created_by", "updated_by"}  # private, too
DEFAULTS = {"brokers": {"visibility": "restricted"}, "properties": {"status": "draft"}, "parties": {}, "proposals": {"status": "draft"},
            "contracts": {"status": "draft"}, "documents": {"status": "pending"}, "leads": {"source": "other", "status": "new"}}
# A change that is valid for every body of the kind.
CHANGE = {"brokers": {"email": "a@b.br", "visibility": "private"}, "properties": {"title": "Outro"}, "parties": {"profession": "Médica"},
          "proposals": {"notes": "Outra"}, "contracts": {"notes": "Outra"}, "documents": {"issuer": "Outro"}, "leads": {"message": "Outra"}}

every = pytest.mark.parametrize("collection", [pytest.param(one, marks=[pytest.mark.smoke][:one == "brokers"]) for one in PREFIXES])


def resource_path(collection, resource):
    return f"{collection}/{resource['id']}"


# ---------------------------------------------------------------- create and read


@every
def test_a_minimal_body_is_accepted(own_api, factory, collection):
    body = factory.body(collection)
    response = own_api.post(collection, json=body)
    made = ok(response, 201)
    assert given(made) == {**body, **DEFAULTS[collection]}
    assert re.fullmatch(PREFIXES[collection] + ULID, made["id"])
    assert (made["tenant_id"], made["organization_id"]) == (own_api.credential.tenant, own_api.credential.organizations[0])
    assert made["created_by"] == made["updated_by"] == own_api.credential.id and made["created_at"] == made["updated_at"]
    assert response.headers["Location"] == own_api.url + resource_path(collection, made) and response.headers["ETag"]
    assert ok(own_api.get(response.headers["Location"])) == made


@every
def test_fields_are_stored_and_returned_in_the_documented_order(own_api, factory, collection):
    body = factory.full(collection)
    made = ok(own_api.post(collection, json=dict(reversed(body.items()))), 201)
    assert str(given(made)) == str(body)  # also in the order of members
    last = ["tenant_id", "organization_id", *["visibility"][:collection == "brokers"], "created_at", "updated_at", "created_by", "updated_by"]
    assert list(made)[0] == "id" and list(made)[-len(last):] == last
    read = own_api.get(resource_path(collection, made))
    assert ok(read) == made and list(read.json()) == list(made)


@every
def test_a_field_without_a_value_is_absent(own_api, factory, collection):
    body = factory.full(collection)
    small = factory.body(collection)
    optional = {name: None for name in body if name not in small and name != "status"}
    made = ok(own_api.post(collection, json={**small, **optional}), 201)
    assert set(given(made)) == {*small, *DEFAULTS[collection]}


@every
def test_all_missing_fields_are_reported_at_once(own_api, factory, collection):
    required = set(factory.body(collection)) - {"sale_price"}
    missing = {"phone" if name == "email" else name for name in required}  # a lead needs one of them
    expected = {name: f"validation.{NAMES[collection]}.{name}_required" for name in missing}
    made = factory.create(collection)
    for response in (own_api.post(collection, json={}), own_api.put(resource_path(collection, made), json={})):
        assert wrong_fields(response) == expected
    assert wrong_fields(own_api.patch(resource_path(collection, made), json=dict.fromkeys(required))) == expected
    assert own_api.walk(collection) == [made]


@every
def test_unknown_fields_are_refused_at_every_depth(own_api, factory, collection):
    body = factory.full(collection)
    for name, value in body.items():
        if isinstance(value, dict) and name != "metadata":
            refused(own_api.post(collection, json={**body, name: {**value, "x": 1}}), 400, "validation.unknown_field",
                    **{f"{name}__x": "validation.unknown_field"})
        elif isinstance(value, list) and isinstance(value[0], dict):
            problem = refused(own_api.post(collection, json={**body, name: [{**value[0], "x": 1}, *value[1:]]}), 400,
                              "validation.unknown_field")
            assert [item["field"] for item in problem["errors"]] == [name + "[0].x"]
    refused(own_api.post(collection, json={**body, "x": 1}), 400, "validation.unknown_field", x="validation.unknown_field")


@every
def test_unknown_ids_and_ids_of_other_kinds_are_not_found(own_api, factory, collection):
    body, made = factory.body(collection), factory.create(collection)
    for id in (PREFIXES[collection] + UNKNOWN_ULID, (factory.party if collection == "brokers" else factory.broker)()["id"],
               PREFIXES[collection], "x", made["id"].upper(), made["id"][:4] + made["id"][4:].upper()):
        for response in (own_api.get(f"{collection}/{id}"), own_api.delete(f"{collection}/{id}"),
                         own_api.patch(f"{collection}/{id}", json=CHANGE[collection]),
                         own_api.put(f"{collection}/{id}", json=body)):
            refused(response, 404, "not_found." + NAMES[collection])
    assert made in own_api.walk(collection)


def test_ids_contain_the_creation_time_and_increase(api):
    made = [api.broker() for _ in range(20)]
    for one in made:
        milliseconds = 0
        for digit in one["id"][4:14]:
            milliseconds = milliseconds * 32 + DIGITS.index(digit)
        assert milliseconds == round(moment(one["created_at"]) * 1000)
    ids = [one["id"] for one in made]
    assert ids == sorted(set(ids))


@pytest.mark.smoke
def test_concurrent_creates_get_different_ids(own_api):
    with ThreadPoolExecutor(16) as pool:
        ids = list(pool.map(lambda n: own_api.broker(name=f"Broker {n}")["id"], range(160)))
    assert len(set(ids)) == 160
    assert [item["id"] for item in own_api.walk(limit=100)] == sorted(ids, reverse=True)


# ---------------------------------------------------------------- change, replace, delete


@every
def test_a_patch_changes_only_the_given_fields(own_api, factory, collection):
    body = factory.full(collection)
    made = ok(own_api.post(collection, json=body), 201)
    own_api.wait_until_after(made["updated_at"])
    changed = ok(own_api.patch(resource_path(collection, made), json=CHANGE[collection]))
    assert given(changed) == {**body, **CHANGE[collection]}
    assert moment(changed["updated_at"]) > moment(made["updated_at"]) and changed["created_at"] == made["created_at"]
    assert ok(own_api.get(resource_path(collection, made))) == changed
    assert given(ok(own_api.patch(resource_path(collection, made), json={}))) == given(changed)


def test_a_patch_merges_objects(api):
    path = "brokers/" + api.broker(bank_account=BANK)["id"]
    merged = {name: value for name, value in BANK.items() if name != "pix_key"}
    changed = ok(api.patch(path, json={"bank_account": {"agency": "9999", "pix_key": None}}))
    assert changed["bank_account"] == {**merged, "agency": "9999"} and ok(api.get(path)) == changed
    assert "bank_account" not in ok(api.patch(path, json={"bank_account": dict.fromkeys(merged)}))
    assert ok(api.patch(path, json={"bank_account": {"pix_key": "x"}}))["bank_account"] == {"pix_key": "x"}


@every
def test_null_in_a_patch_clears_every_optional_field(own_api, factory, collection):
    body, small = factory.full(collection), factory.body(collection)
    made = ok(own_api.post(collection, json=body), 201)
    needed = {*small, *DEFAULTS[collection], *({"start_date", "end_date", "rent_price", "lost_reason"} & set(body))}
    for name in set(body) - needed:
        changed = ok(own_api.patch(resource_path(collection, made), json={name: None}))
        assert name not in changed
    assert set(given(changed)) == needed


@every
def test_a_put_replaces_every_writable_field(own_api, factory, collection):
    made = ok(own_api.post(collection, json=factory.body(collection)), 201)
    full = factory.full(collection)
    replaced = ok(own_api.put(resource_path(collection, made), json=full))
    assert given(replaced) == full
    for name in ("id", "tenant_id", "organization_id", "created_at", "created_by"):
        assert replaced[name] == made[name]
    small = {name: value for name, value in full.items() if name in {*factory.body(collection), *DEFAULTS[collection],
                                                                     "rent_price", "start_date", "end_date", "lost_reason"}}
    again = ok(own_api.put(resource_path(collection, made), json=small))
    assert given(again) == small and ok(own_api.get(resource_path(collection, made))) == again


@every
def test_a_response_can_be_sent_back(own_api, factory, collection):
    made = ok(own_api.post(collection, json=factory.full(collection)), 201)
    for send in (own_api.patch, own_api.put):
        answer = ok(send(resource_path(collection, made), json=made))
        assert given(answer) == given(made) and answer["created_at"] == made["created_at"]


@every
def test_a_conditional_change_needs_a_matching_tag(own_api, factory, collection):
    response = own_api.post(collection, json=factory.body(collection))
    path, etag = resource_path(collection, response.json()), response.headers["ETag"]
    assert own_api.get(path, headers={"If-None-Match": etag}).status_code == 304
    changed = own_api.patch(path, json=CHANGE[collection], headers={"If-Match": etag})
    ok(changed)
    for stale in (own_api.patch(path, json={}, headers={"If-Match": etag}), own_api.delete(path, headers={"If-Match": etag}),
                  own_api.put(path, json=factory.body(collection), headers={"If-Match": etag})):
        refused(stale, 412, "conflict.precondition_failed")
    ok(own_api.delete(path, headers={"If-Match": changed.headers["ETag"]}), 204)


@every
def test_a_deleted_resource_is_not_found(own_api, instance, factory, collection):
    made = ok(own_api.post(collection, json=factory.full(collection)), 201)
    response = own_api.delete(resource_path(collection, made))
    assert response.status_code == 204 and not response.content and "Content-Type" not in response.headers
    for method in ("GET", "DELETE", "PATCH", "PUT"):
        refused(own_api.request(method, resource_path(collection, made), json=CHANGE[collection]), 404, "not_found." + NAMES[collection])
    assert made not in own_api.walk(collection)
    assert instance.sql("select count(*) from neoapi.reference where source_id = %s", made["id"]) == [(0,)]


def test_one_of_concurrent_deletions_succeeds(api):
    for _ in range(5):
        path = "brokers/" + api.broker()["id"]
        statuses = [answer.status_code for answer in together(*[lambda: api.with_().delete(path)] * 6)]
        assert sorted(statuses) == [204] + [404] * 5


@pytest.mark.smoke
def test_a_change_records_time_and_author(instance, principals, api):
    broker = api.broker()
    for send, credential, author in (("PATCH", principals.editor, principals.editor.id), ("PUT", principals.token_one, principals.user)):
        api.wait_until_after(broker["updated_at"])
        changed = ok(Api(instance, credential).request(send, "brokers/" + broker["id"], json={"name": "Bia"}))
        assert moment(changed["updated_at"]) > moment(broker["updated_at"]) and changed["updated_by"] == author
        assert (changed["created_at"], changed["created_by"]) == (broker["created_at"], principals.admin.id)
        broker = ok(Api(instance, credential).patch("brokers/" + broker["id"], json={"name": "Caio"}))
    made = Api(instance, principals.token_one).broker()
    assert made["created_by"] == made["updated_by"] == principals.user


@every
def test_concurrent_changes_are_all_kept(own_api, factory, collection):
    made = factory.create(collection)
    keys = [f"k{n}" for n in range(6)]
    together(*[lambda key=key: ok(own_api.with_().patch(resource_path(collection, made), json={"metadata": {key: key}}))
               for key in keys])
    assert ok(own_api.get(resource_path(collection, made)))["metadata"] == {key: key for key in keys}


# ---------------------------------------------------------------- lists, keys, scopes


@every
def test_a_list_is_newest_first_and_paginated(own_api, factory, collection):
    made = [factory.create(collection) for _ in range(5)]
    assert own_api.walk(collection, limit=2) == made[::-1]
    page = ok(own_api.get(collection, params={"limit": 2}))
    assert page["page_info"]["has_next_page"] and not page["page_info"]["has_previous_page"]
    assert own_api.head(collection).status_code == 200


@every
def test_a_repeated_create_is_replayed(own_api, factory, collection):
    key, body = {"Idempotency-Key": str(uuid.uuid4())}, factory.full(collection)
    answers = together(*[lambda: own_api.with_().post(collection, json=body, headers=key)] * 6)
    assert {answer.status_code for answer in answers} == {201} and len({answer.text for answer in answers}) == 1
    assert sum(answer.headers.get("Idempotent-Replayed") == "true" for answer in answers) == 5
    assert len(own_api.walk(collection, external_id=body["external_id"])) == 1


@every
def test_the_key_of_a_refused_request_can_be_used_again(own_api, factory, collection):
    key = {"Idempotency-Key": str(uuid.uuid4())}
    assert own_api.post(collection, json={}, headers=key).status_code == 400
    ok(own_api.post(collection, json=factory.body(collection), headers=key), 201)


@every
def test_every_resource_has_its_scopes(instance, admin_factory, own_api, factory, collection):
    organization, made, body = own_api.credential.organizations[0], factory.create(collection), factory.body(collection)
    reader = Api(instance, admin_factory.key(organization, scopes=[collection + ":read"]))
    writer = Api(instance, admin_factory.key(organization, scopes=[collection + ":write"]))
    another = "parties" if collection == "brokers" else "brokers"
    other = Api(instance, admin_factory.key(organization, scopes=[another + ":read", another + ":write"]))
    ok(reader.get(collection)), ok(reader.get(resource_path(collection, made)))
    ok(writer.post(collection, json=body if collection != "properties" else {**body, "code": uuid.uuid4().hex}), 201)
    for denied in (writer.get(collection), other.get(resource_path(collection, made)), reader.post(collection, json=body),
                   reader.delete(resource_path(collection, made)), other.patch(resource_path(collection, made), json={})):
        refused(denied, 403, "forbidden.insufficient_permissions")


# ---------------------------------------------------------------- unique values

CRECI = "CRECI-SP 123456-F"
# By collection: the field, the same value in other spellings, and values that are different.
UNIQUE = {
    "brokers": ("creci", [CRECI, "crecisp123456f", " CRECI/SP 123.456-F ", "c-r-e-c-i-s-p-1-2-3-4-5-6-f", "CRECI\\SP[123]456º–F😀"],
                ["ÇRECI-SP 123456-F", "CRECI-SP 123457-F", "CRECI-SP 12345-F", "CRECI-SP １23456-F"]),  # only ASCII letters and digits count
    "properties": ("code", ["AP-1"], ["ap-1"]),
    "parties": ("document_number", ["529.982.247-25", "52998224725", "529.982.24725"], [cpf()]),
    "contracts": ("number", ["1/26"], ["1/26 "]),
}
unique_values = pytest.mark.parametrize("collection, field, same, others", [(name, *row) for name, row in UNIQUE.items()])


@unique_values
def test_a_value_is_unique_in_the_organization_in_any_spelling(own_api, factory, instance, principals, collection, field, same, others):
    first, second = factory.create(collection, **{field: same[0]}), factory.create(collection, **{field: None} if field != "code" else {})
    foreign = []
    for credential, organization in ((principals.token_both, principals.organization_2), (principals.other, None)):
        other = ResourceFactory(Api(instance, credential, organization))
        foreign.append((other.api, other.create(collection, **{field: same[0]})))
    for value in same:
        body = factory.body(collection, **{field: value})
        for response in (own_api.post(collection, json=body), own_api.patch(resource_path(collection, second), json={field: value}),
                         own_api.put(resource_path(collection, second), json=body)):
            problem = refused(response, 409, "conflict.duplicate")
            assert problem["detail"] == f"Another {NAMES[collection]} of the organization has this {field}."
            assert (problem["field"], problem["existing_id"]) == (field, first["id"])
        assert field in ok(own_api.patch(resource_path(collection, first), json={field: value}))  # its own
    assert [one["id"] for one in own_api.walk(collection)] == [second["id"], first["id"]]
    made = [factory.create(collection, **{field: value}) for value in others]
    assert len({one["id"] for one in made}) == len(others)
    for other_api, resource in foreign:
        ok(other_api.delete(resource_path(collection, resource)), 204)


@unique_values
def test_a_released_value_can_be_used_again(own_api, factory, collection, field, same, others):
    first = factory.create(collection, **{field: same[0]})
    ok(own_api.patch(resource_path(collection, first), json={field: unique() if field == "code" else None}))
    second = factory.create(collection, **{field: same[0]})
    ok(own_api.delete(resource_path(collection, second)), 204)
    factory.create(collection, **{field: same[0]})
    if field != "code":
        for _ in range(3):
            factory.create(collection, **{field: None})


@pytest.mark.smoke
def test_one_of_concurrent_creates_with_the_same_value_succeeds(own_api):
    for number in range(5):
        answers = together(*[lambda: own_api.with_().post("brokers", json={"name": "Ana", "creci": f"SP {number}"})] * 8)
        assert sorted(answer.status_code for answer in answers) == [201] + [409] * 7


def test_a_creci_is_returned_as_given(own_api):
    assert [own_api.broker(creci=creci)["creci"] for creci in ("sp-1/f", " Sp.2 ")] == ["sp-1/f", " Sp.2 "]


# ---------------------------------------------------------------- external_id and metadata


@every
def test_an_external_id_is_unique_within_organization_and_kind(own_api, principals, instance, factory, collection):
    first, second = factory.create(collection, external_id="crm-1"), factory.create(collection)
    body = factory.body(collection, external_id="crm-1")
    for response in (own_api.post(collection, json=body), own_api.put(resource_path(collection, second), json=body),
                     own_api.patch(resource_path(collection, second), json={"external_id": "crm-1"})):
        problem = refused(response, 409, "conflict.duplicate")
        assert "external_id" in problem["detail"] and (problem["field"], problem["existing_id"]) == ("external_id", first["id"])
    ok(own_api.patch(resource_path(collection, first), json={"external_id": "crm-1"}))
    for other in PREFIXES:
        if other != collection:
            factory.create(other, external_id="crm-1")
    factory.create(collection, external_id="CRM-1")
    other = ResourceFactory(Api(instance, principals.other))
    ok(other.api.delete(resource_path(collection, other.create(collection, external_id="crm-1"))), 204)
    assert [one["id"] for one in own_api.walk(collection, external_id="crm-1")] == [first["id"]]
    assert own_api.walk(collection, external_id="crm-2") == []


@every
def test_an_external_id_has_at_most_100_characters(own_api, factory, collection):
    assert factory.create(collection, external_id="é" * 100)["external_id"] == "é" * 100
    code = f"validation.{NAMES[collection]}.external_id_invalid"
    for value in ("x" * 101, "", 5, ["x"]):
        refused(own_api.post(collection, json=factory.body(collection, external_id=value)), 400, code, external_id=code)


@every
def test_metadata_values_are_texts_with_any_keys(own_api, factory, collection):
    most = {f"key {n} é".ljust(40, "x"): "🏠" * 500 for n in range(50)}
    assert factory.create(collection, metadata=most)["metadata"] == most
    made = factory.create(collection, metadata={"a": "1", "b": "null", "__proto__": "\\\" \n"})
    changed = ok(own_api.patch(resource_path(collection, made), json={"metadata": {"a": None, "c": "3"}}))
    assert changed["metadata"] == {"b": "null", "__proto__": "\\\" \n", "c": "3"}


@every
def test_invalid_metadata_is_refused(own_api, factory, collection):
    code = f"validation.{NAMES[collection]}.metadata_invalid"
    for value in ({"x": 5}, {"x": {}}, {"x": ["y"]}, {"x": True}, {"x" * 41: "y"}, {"": "y"}, {"x": "y" * 501},
                  {str(n): "" for n in range(51)}, [], "x", 5):
        response = own_api.post(collection, json=factory.body(collection, metadata=value))
        assert response.status_code == 400, value
        assert {item["code"] for item in response.json()["errors"]} == {code}, response.json()


# ---------------------------------------------------------------- events


@every
def test_every_write_queues_an_event_without_private_fields(own_api, instance, factory, collection):
    body, name = factory.full(collection), NAMES[collection]
    events = [f"{name}.{what}" for what in ("created", "updated", "deleted")]
    subscription = ok(own_api.post("webhooks", json={"url": UNREACHABLE_URL, "events": events}), 201)["id"]
    made = ok(own_api.post(collection, json=body), 201)
    changed = ok(own_api.patch(resource_path(collection, made), json=CHANGE[collection]))
    ok(own_api.delete(resource_path(collection, made)), 204)
    delivered = deliveries(instance, subscription)
    ok(own_api.delete("webhooks/" + subscription), 204)
    deleted = {**changed, "updated_at": delivered[-1][1]["updated_at"]}
    assert deleted["updated_at"] > changed["updated_at"]
    private = PRIVATE_FIELDS | (OF_BROKERS if collection == "brokers" else set())
    public = [{key: value for key, value in one.items() if key not in private} for one in (made, changed, deleted)]
    assert delivered == list(zip(events, public))
    assert list(delivered[0][1]) == list(public[0]) and SERVER & set(made) - private <= set(delivered[0][1])


@every
def test_a_refused_write_queues_no_event_and_changes_nothing(own_api, instance, factory, collection):
    made, body = factory.create(collection, external_id="x"), factory.body(collection)
    subscription = ok(own_api.post("webhooks", json={"url": UNREACHABLE_URL, "events": ["*"]}), 201)["id"]
    refused(own_api.post(collection, json={**body, "external_id": "x"}), 409, "conflict.duplicate")
    assert own_api.post(collection, json={**body, "metadata": 5}).status_code == 400
    assert own_api.patch(resource_path(collection, made), json={"external_id": ""}).status_code == 400
    refused(own_api.delete(resource_path(collection, made), headers={"If-Match": '"x"'}), 412, "conflict.precondition_failed")
    assert deliveries(instance, subscription) == []
    assert ok(own_api.get(resource_path(collection, made))) == made
    ok(own_api.delete("webhooks/" + subscription), 204)


# ---------------------------------------------------------------- the schema


@every
def test_the_table_has_the_columns_of_responses(instance, factory, collection):
    columns = [name for name, in instance.sql("select column_name from information_schema.columns where table_schema = 'neoapi'"
                                              " and table_name = %s", NAMES[collection])]
    made = ok(factory.api.post(collection, json=factory.full(collection)), 201)
    later = {"decided_at", "signed_at", "terminated_at", "phone_at", "merged_lead_ids"} & set(columns)
    assert set(columns) == {*made, *later, "representation"}


@every
def test_the_table_refuses_malformed_ids(instance, factory, collection):
    """It checks prefix and length only. The module checks the characters, which would be slow in the database."""
    good = factory.create(collection)["id"]
    prefix, digits = good[:4], good[4:]
    for value in ("", prefix, digits, "xxx_" + digits, "." + good[1:], good[:-1], good + "0", good + "\n", " " + good[:-1]):
        with pytest.raises(psycopg2.errors.CheckViolation, match=f"{NAMES[collection]}_id_check"):
            instance.sql(f"update neoapi.{NAMES[collection]} set id = %s where id = %s", value, good)


def test_every_constraint_is_validated(instance):
    assert instance.sql(
        "select conrelid::regclass::text, conname from pg_constraint where connamespace = 'neoapi'::regnamespace"
        " and not convalidated") == []


@every
def test_the_response_reflects_any_change_of_the_columns(instance, own_api, factory, collection):
    made = factory.create(collection)
    instance.sql(f"update neoapi.{NAMES[collection]} set external_id = 'by hand' where id = %s", made["id"])
    assert ok(own_api.get(resource_path(collection, made))) == {**made, "external_id": "by hand"}
