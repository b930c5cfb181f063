# SPDX-License-Identifier: Apache-2.0
"""Brokers: create, read, PATCH, PUT, delete, unique values, authors and timestamps."""

import re
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from client import ULID, Api, moment, ok, refused
from wait import together

pytestmark = pytest.mark.smoke

BANK = {"bank_code": "341", "bank_name": "Itaú Unibanco", "agency": "0423", "account_number": "18765-4",
        "account_type": "checking", "pix_key": "ana@example.com.br"}
FULL = {"name": "Ana Paula Ribeiro", "creci": "CRECI-SP 123456-F", "document_number": "529.982.247-25",
        "email": "Ana.Ribeiro@example.com.br", "phone": "+55 (11) 98765-4321", "bank_account": BANK, "visibility": "public"}
FIELDS = ["id", "name", "creci", "document_number", "email", "phone", "bank_account", "tenant_id", "organization_id",
          "visibility", "created_at", "updated_at", "created_by", "updated_by"]
SERVER = {"id", "tenant_id", "organization_id", "created_at", "updated_at", "created_by", "updated_by"}
DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"


def given(broker):
    return {name: value for name, value in broker.items() if name not in SERVER}


def full(**changes):
    """A body with every field and a unique registration number."""
    return {**FULL, "creci": "SP " + uuid.uuid4().hex[:12], **changes}


# ---------------------------------------------------------------- create and read


def test_a_name_is_enough(api, principals):
    response = api.post("brokers", json={"name": "Ana"})
    broker = ok(response, 201)
    assert given(broker) == {"name": "Ana", "visibility": "restricted"}
    assert set(broker) == {"name", "visibility"} | SERVER
    assert re.fullmatch("brk_" + ULID, broker["id"])
    assert (broker["tenant_id"], broker["organization_id"]) == (principals.tenant, principals.organization)
    assert broker["created_by"] == broker["updated_by"] == principals.admin.id
    assert broker["created_at"] == broker["updated_at"]


def test_fields_are_stored_and_returned_in_the_documented_order(api):
    body = full()
    created = ok(api.post("brokers", json=dict(reversed(body.items()))), 201)
    assert given(created) == body
    assert list(created) == FIELDS and list(created["bank_account"]) == list(BANK)
    read = api.get("brokers/" + created["id"])
    assert ok(read) == created and list(read.json()) == FIELDS


def test_the_response_has_the_location_of_the_broker(api, instance):
    response = api.post("brokers", json={"name": "Ana"})
    assert response.headers["Location"] == instance.url + "brokers/" + response.json()["id"]
    assert ok(api.get(response.headers["Location"])) == response.json()


def test_the_id_contains_the_creation_time(api):
    broker = api.broker()
    milliseconds = 0
    for digit in broker["id"][4:14]:
        milliseconds = milliseconds * 32 + DIGITS.index(digit)
    assert milliseconds == round(moment(broker["created_at"]) * 1000)


def test_ids_of_one_connection_increase(api):
    ids = [api.broker()["id"] for _ in range(20)]
    assert ids == sorted(set(ids))


def test_concurrent_creates_get_different_ids(own_api):
    with ThreadPoolExecutor(16) as pool:
        ids = list(pool.map(lambda n: own_api.broker(name=f"Broker {n}")["id"], range(160)))
    assert len(set(ids)) == 160
    assert [item["id"] for item in own_api.walk(limit=100)] == sorted(ids, reverse=True)


@pytest.mark.parametrize("name", [
    "Zoë D'Ávila \"Zé\" \\ / <b>&amp;", "株式会社 🏠 \U0001f468\u200d\U0001f469\u200d\U0001f467", "ﬀ İ ß Ǆ",
    "'; drop table neoapi.broker; --", "null", "\u00a0x\u2028y", "  inner   spaces  ", "%s%n {name} $1"])
def test_text_is_stored_unchanged(api, name):
    broker = api.broker(name=name)
    assert broker["name"] == name and ok(api.get("brokers/" + broker["id"]))["name"] == name


def test_fields_set_by_the_service_are_ignored_in_a_body(api, principals):
    broker = api.broker(id="brk_x", tenant_id=5, organization_id=principals.other_organization, created_at=None,
                        updated_at="never",
                        created_by=[], updated_by={"x": 1})
    assert broker["id"] != "brk_x" and broker["organization_id"] == principals.organization
    assert broker["created_by"] == principals.admin.id


@pytest.mark.parametrize("field", [name for name in FULL if name not in ("name", "visibility")])
def test_an_optional_field_without_a_value_is_absent(api, field):
    assert field not in ok(api.post("brokers", json=full(**{field: None})), 201)


def test_null_leaves_the_default_visibility(api):
    assert api.broker(visibility=None)["visibility"] == "restricted"


def test_an_empty_bank_account_is_absent(api):
    assert "bank_account" not in api.broker(bank_account={})
    assert "bank_account" not in api.broker(bank_account={"pix_key": None})


@pytest.mark.parametrize("field, values", [("visibility", ["private", "restricted", "public"]),
                                           ("account_type", ["checking", "savings", "salary", "payment"])])
def test_every_documented_value_is_accepted(api, field, values):
    for value in values:
        made = api.broker(**({field: value} if field in FULL else {"bank_account": {field: value}}))
        assert made.get(field, made.get("bank_account", {}).get(field)) == value


UNKNOWN_ULID = "01" + 24 * "0"


@pytest.mark.parametrize("id", ["brk_" + UNKNOWN_ULID, "brk_" + UNKNOWN_ULID[:-1], "brk_" + UNKNOWN_ULID + "0", "brk_",
                                "org_" + UNKNOWN_ULID, "nbr_" + UNKNOWN_ULID, UNKNOWN_ULID, "BRK_" + UNKNOWN_ULID,
                                "brk_" + "z" * 26, "brk_" + "u" * 26, "x" * 2000, "1", "null", "%27", "brk_%00", "%C3%A9", "*"])
def test_an_unknown_id_is_not_found(api, id):
    for response in (api.get("brokers/" + id), api.delete("brokers/" + id), api.patch("brokers/" + id, json={"phone": "1"}),
                     api.put("brokers/" + id, json={"name": "Ana"})):
        assert response.status_code in ((404,) if "%00" not in id else (400, 404)), response.text
        if response.status_code == 404:
            refused(response, 404, "not_found.broker" if "%00" not in id else response.json()["code"])


def test_an_id_is_case_sensitive(api):
    broker = api.broker()
    refused(api.get("brokers/" + broker["id"].upper()), 404, "not_found.broker")
    refused(api.get("brokers/brk_" + broker["id"][4:].upper()), 404, "not_found.broker")


# ---------------------------------------------------------------- PATCH


def patched(api, body, **changes):
    created = ok(api.post("brokers", json=body), 201)
    answer = ok(api.patch("brokers/" + created["id"], json=changes))
    assert ok(api.get("brokers/" + created["id"])) == answer
    return given(answer)


def test_a_patch_changes_only_the_given_fields(api):
    body = full()
    assert patched(api, body, phone="0800", visibility="private") == {**body, "phone": "0800", "visibility": "private"}


@pytest.mark.parametrize("field", [name for name in FULL if name not in ("name", "visibility")])
def test_null_in_a_patch_clears_an_optional_field(api, field):
    body = full()
    assert patched(api, body, **{field: None}) == {name: value for name, value in body.items() if name != field}


def test_null_in_a_patch_cannot_clear_the_name(api):
    broker = api.broker()
    refused(api.patch("brokers/" + broker["id"], json={"name": None}), 400, "validation.broker.name_required",
            name="validation.broker.name_required")
    assert ok(api.get("brokers/" + broker["id"])) == broker


def test_a_patch_merges_objects(api):
    body = full()
    merged = {**BANK, "agency": "9999"}
    del merged["pix_key"]
    assert patched(api, body, bank_account={"agency": "9999", "pix_key": None})["bank_account"] == merged


def test_a_patch_can_create_and_clear_an_object(api):
    assert patched(api, {"name": "Ana"}, bank_account={"pix_key": "a@b.br"})["bank_account"] == {"pix_key": "a@b.br"}
    assert "bank_account" not in patched(api, {"name": "Ana", "bank_account": {"pix_key": "x"}}, bank_account={"pix_key": None})


def test_an_empty_patch_changes_no_field(api):
    body = full()
    assert patched(api, body) == body


def test_a_patch_can_have_the_media_type_of_merge_patches(api):
    broker = api.broker()
    for media_type in ("application/merge-patch+json", "application/merge-patch+json; charset=utf-8", "application/json"):
        ok(api.patch("brokers/" + broker["id"], data=b'{"phone": "1"}', headers={"Content-Type": media_type}))


def test_a_response_can_be_sent_back(api):
    broker = ok(api.post("brokers", json=full()), 201)
    for send in (api.patch, api.put):
        answer = ok(send("brokers/" + broker["id"], json=broker))
        assert given(answer) == given(broker) and answer["created_at"] == broker["created_at"]


# ---------------------------------------------------------------- PUT and DELETE


def test_a_put_replaces_every_writable_field(api, principals):
    created = ok(api.post("brokers", json=full()), 201)
    answer = ok(api.put("brokers/" + created["id"], json={"name": "Bia", "phone": "0800"}))
    assert given(answer) == {"name": "Bia", "phone": "0800", "visibility": "restricted"}
    for name in ("id", "tenant_id", "organization_id", "created_at", "created_by"):
        assert answer[name] == created[name]
    assert ok(api.get("brokers/" + created["id"])) == answer


def test_a_put_is_validated_like_a_create(api):
    broker = ok(api.post("brokers", json=full()), 201)
    refused(api.put("brokers/" + broker["id"], json={"creci": "1"}), 400, "validation.broker.name_required",
            name="validation.broker.name_required")
    assert ok(api.get("brokers/" + broker["id"])) == broker


def test_a_put_does_not_create_a_resource(own_api):
    refused(own_api.put("brokers/brk_" + UNKNOWN_ULID, json={"name": "Ana"}), 404, "not_found.broker")
    assert ok(own_api.get("brokers"))["items"] == []


def test_a_deleted_resource_is_not_found(own_api):
    broker = own_api.broker()
    response = own_api.delete("brokers/" + broker["id"])
    assert response.status_code == 204 and not response.content and "Content-Type" not in response.headers
    for again in (own_api.get, own_api.delete):
        refused(again("brokers/" + broker["id"]), 404, "not_found.broker")
    refused(own_api.patch("brokers/" + broker["id"], json={"phone": "1"}), 404, "not_found.broker")
    refused(own_api.put("brokers/" + broker["id"], json={"name": "Ana"}), 404, "not_found.broker")
    assert ok(own_api.get("brokers"))["items"] == []


def test_one_of_concurrent_deletions_succeeds(api):
    for _ in range(5):
        path = "brokers/" + api.broker()["id"]
        statuses = [answer.status_code for answer in together(*[lambda: api.with_().delete(path)] * 6)]
        assert sorted(statuses) == [204] + [404] * 5


# ---------------------------------------------------------------- authors and timestamps


def test_a_change_records_time_and_author(instance, principals, api):
    broker = api.broker()
    api.wait_until_after(broker["updated_at"])
    changed = ok(Api(instance, principals.editor).patch("brokers/" + broker["id"], json={"phone": "1"}))
    assert moment(changed["updated_at"]) > moment(broker["updated_at"]) and changed["updated_by"] == principals.editor.id
    assert (changed["created_at"], changed["created_by"]) == (broker["created_at"], principals.admin.id)
    api.wait_until_after(changed["updated_at"])
    replaced = ok(Api(instance, principals.token_one).put("brokers/" + broker["id"], json={"name": "Bia"}))
    assert moment(replaced["updated_at"]) > moment(changed["updated_at"]) and replaced["updated_by"] == principals.user
    assert (replaced["created_at"], replaced["created_by"]) == (broker["created_at"], principals.admin.id)


def test_a_resource_created_with_a_token_has_its_user_as_author(instance, principals):
    broker = Api(instance, principals.token_one).broker()
    assert broker["created_by"] == broker["updated_by"] == principals.user


def test_a_refused_change_changes_nothing(api):
    broker = ok(api.post("brokers", json=full()), 201)
    for body in ({"name": 5}, {"name": "Bia", "email": "no"}, {"unknown": 1}):
        assert api.patch("brokers/" + broker["id"], json=body).status_code == 400
    assert ok(api.get("brokers/" + broker["id"])) == broker


# ---------------------------------------------------------------- unique


SAME = ["CRECI-SP 123456-F", "crecisp123456f", " CRECI/SP 123.456-F ", "c-r-e-c-i-s-p-1-2-3-4-5-6-f",
        "CRECI\\SP[123]456º–F😀"]
OTHERS = ["ÇRECI-SP 123456-F", "CRECI-SP 123457-F", "CRECI-SP 12345-F", "CRECI-SP １23456-F"]


@pytest.mark.parametrize("other", SAME)
def test_a_creci_is_unique_in_any_spelling(own_api, other):
    first = own_api.broker(creci=SAME[0])
    problem = refused(own_api.post("brokers", json={"name": "Bia", "creci": other}), 409, "conflict.duplicate")
    assert "creci" in problem["detail"]
    second = own_api.broker(creci="RJ 1")
    for send in (own_api.patch, own_api.put):
        refused(send("brokers/" + second["id"], json={"name": "Bia", "creci": other}), 409, "conflict.duplicate")
    assert ok(own_api.get("brokers"))["items"] == [second, first]


def test_crecis_with_other_letters_or_digits_are_different(own_api):
    """Only ASCII letters and digits count, not similar characters."""
    assert len({own_api.broker(creci=creci)["id"] for creci in SAME[:1] + OTHERS}) == 1 + len(OTHERS)


def test_a_creci_is_returned_as_given(own_api):
    assert [own_api.broker(creci=creci)["creci"] for creci in ("sp-1/f", " Sp.2 ")] == ["sp-1/f", " Sp.2 "]


def test_an_unchanged_creci_is_not_a_duplicate(own_api):
    broker = own_api.broker(creci="SP 1")
    assert ok(own_api.patch("brokers/" + broker["id"], json={"creci": "sp-1"}))["creci"] == "sp-1"
    assert ok(own_api.put("brokers/" + broker["id"], json={"name": "Ana", "creci": "SP 1"}))["creci"] == "SP 1"


def test_every_organization_has_its_own_crecis(instance, principals, own_api):
    creci = "UNIQUE " + uuid.uuid4().hex[:8]
    own_api.broker(creci=creci)
    Api(instance, principals.token_both, principals.organization_2).broker(creci=creci)
    Api(instance, principals.other).broker(creci=creci)


def test_a_released_creci_can_be_used_again(own_api):
    first = own_api.broker(creci="SP 1")
    ok(own_api.patch("brokers/" + first["id"], json={"creci": None}))
    second = own_api.broker(creci="SP 1")
    ok(own_api.delete("brokers/" + second["id"]), 204)
    own_api.broker(creci="SP 1")


def test_several_brokers_can_have_no_creci(own_api):
    for _ in range(3):
        own_api.broker()


def test_one_of_concurrent_creates_with_the_same_creci_succeeds(own_api):
    for number in range(5):
        answers = together(*[lambda: own_api.with_().post("brokers", json={"name": "Ana", "creci": f"SP {number}"})] * 8)
        assert sorted(answer.status_code for answer in answers) == [201] + [409] * 7
