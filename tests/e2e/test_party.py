# SPDX-License-Identifier: Apache-2.0
"""Parties: tax numbers, validation, filters and spouses."""

import pytest
from client import Api, ok, refused, wrong_fields
from event_log import deliveries, events
from factories import UNKNOWN_ULID, ResourceFactory, cnpj, cpf


@pytest.fixture
def factory(own_api):
    return ResourceFactory(own_api)


def post(own_api, factory, **fields):
    return own_api.post("parties", json=factory.body("parties", **fields))


def invalid(response, *paths, what="invalid"):
    found = wrong_fields(response)
    assert set(found) == set(paths) and all(code.endswith("_" + what) for code in found.values()), found


# ---------------------------------------------------------------- CPF and CNPJ


@pytest.mark.parametrize("kind, sent, kept", [
    ("person", "52998224725", "52998224725"), ("person", "529.982.247-25", "52998224725"),
    ("person", "111.444.777-35", "11144477735"), ("company", "11222333000181", "11222333000181"),
    ("company", "11.222.333/0001-81", "11222333000181"), ("company", "12.ABC.345/01DE-35", "12ABC34501DE35"),
    ("company", "12abc34501de35", "12ABC34501DE35"), ("company", "6A3EDMWP000168", "6A3EDMWP000168"),
    ("company", "6a.3ed.mwp/0001-68", "6A3EDMWP000168")])
def test_a_tax_number_is_stored_without_punctuation(own_api, factory, kind, sent, kept):
    made = factory.party(kind=kind, document_number=sent)
    assert made["document_number"] == kept
    assert ok(own_api.put("parties/" + made["id"], json=factory.body("parties", kind=kind, document_number=sent)))[
        "document_number"] == kept


@pytest.mark.parametrize("kind, wrong", [
    ("person", ["52998224724", "52998224735", "5299822472", "529982247250", "00000000000", "11111111111", "99999999999",
                "5299822472A", "529 982 247 25", "", 52998224725, "11222333000181", "..........."]),
    ("company", ["11222333000182", "11222333000191", "1122233300018", "112223330001811", "00000000000000", "12ABC34501DE36",
                 "12ABC34501DEA5", "12ABC34501D!35", "É2ABC34501DE35", "52998224725", 11222333000181])])
def test_an_invalid_tax_number_is_refused(own_api, factory, kind, wrong):
    for number in wrong:
        invalid(post(own_api, factory, kind=kind, document_number=number), "document_number")


def test_check_digits_of_tax_numbers_are_verified(own_api, factory):
    for kind, make in (("person", cpf), ("company", cnpj)):
        for _ in range(20):
            number = make()
            assert factory.party(kind=kind, document_number=number)["document_number"] == number
            for place in (-1, -2):
                digit = str((int(number[place]) + 1) % 10)
                broken = number[:place] + digit + (number[place + 1:] if place < -1 else "")
                invalid(post(own_api, factory, kind=kind, document_number=broken), "document_number")


def test_a_tax_number_must_match_the_kind(own_api, factory):
    made = factory.party(document_number=cpf())
    invalid(own_api.patch("parties/" + made["id"], json={"kind": "company"}), "document_number")
    assert ok(own_api.patch("parties/" + made["id"], json={"kind": "company", "document_number": cnpj()}))["kind"] == "company"


def test_a_tax_number_is_unique_in_any_spelling(own_api, principals, instance, factory):
    first = factory.party(document_number="529.982.247-25")
    problem = refused(post(own_api, factory, document_number="52998224725"), 409, "conflict.duplicate")
    assert problem["detail"] == "Another party of the organization has this document_number."
    second = factory.party()
    refused(own_api.patch("parties/" + second["id"], json={"document_number": "529.982.24725"}), 409, "conflict.duplicate")
    ok(own_api.delete("parties/" + first["id"]), 204)
    ok(own_api.patch("parties/" + second["id"], json={"document_number": "52998224725"}))
    other_factory = ResourceFactory(Api(instance, principals.other))
    ok(other_factory.api.delete("parties/" + other_factory.party(document_number="52998224725")["id"]), 204)


# ---------------------------------------------------------------- other fields


@pytest.mark.parametrize("field, right, wrong", [
    ("kind", ["person", "company"], ["firm", "Person"]), ("name", ["é" * 200], ["x" * 201, "", "a\nb"]),
    ("roles", [["attorney"], ["buyer", "seller", "landlord", "tenant", "guarantor"]],
     [[], ["owner"], ["buyer", "buyer"], "buyer", [5], [None]]),
    ("email", ["a@example.com", "A.b+c@example.com.br"], ["a", "a@", "@b.c", "a b@c.d", 5]),
    ("phone", ["+5511987654321", "+12025550123"],
     ["11987654321", "(11) 98765-4321", "+55 11 98765x4321", "+0123456789", "+1", "+1234567890123456"]),
    ("birth_date", ["1984-02-29", "1900-01-01"], ["1983-02-29", "29/02/1984", 1984]),
    ("marital_status", ["single", "married", "divorced", "separated", "widowed", "stable_union"], ["other"]),
    ("property_regime", ["partial_community", "universal_community", "separation", "mandatory_separation",
                         "final_participation"], ["none"]),
    ("lgpd_consent_at", ["2026-01-31T13:45:10.123Z"], ["2026-01-31", "now", 5]),
    ("rg", [{"number": "1"}, {"issuer": "SSP", "state": "SP"}], [{"state": "sp"}, {"number": 5}, "1", {"x": 1}]),
    ("address", [{"city": "Rio"}, {"postal_code": "04101300"}], [{"postal_code": "1"}, {"state": "XX"}, "x"]),
    ("bank_account", [{"pix_key": "x"}, {"account_type": "salary"}], [{"account_type": "gold"}, {"x": "y"}, "x"]),
    ("nationality", ["brasileira"], ["x" * 61]), ("profession", ["Médica"], ["x" * 101]), ("trade_name", ["X"], ["x" * 201])])
def test_every_field_is_validated(own_api, factory, field, right, wrong):
    for value in right:
        assert factory.party(**{field: value})[field] == value
    for value in wrong:
        found = wrong_fields(post(own_api, factory, **{field: value}))
        assert found and all(path.startswith(field) for path in found), (value, found)


def test_a_timestamp_is_returned_in_utc(factory):
    assert factory.party(lgpd_consent_at="2026-01-31T10:45:10.1239-03:00")["lgpd_consent_at"] == "2026-01-31T13:45:10.123Z"


def test_an_address_may_be_partial_or_empty(own_api, factory):
    assert "address" not in factory.party(address={}) and "bank_account" not in factory.party(bank_account={"pix_key": None})
    assert factory.party(address={"street": "Rua A"})["address"] == {"street": "Rua A"}


def test_private_fields_are_returned_to_readers(own_api, factory):
    private = {"rg": {"number": "1"}, "birth_date": "1984-02-29", "bank_account": {"pix_key": "x"}}
    made = factory.party(**private)
    assert {name: made[name] for name in private} == private == {
        name: ok(own_api.get("parties/" + made["id"]))[name] for name in private}


# ---------------------------------------------------------------- filters


@pytest.fixture(scope="module")
def sample_parties(instance, admin_factory, principals):
    api = Api(instance, admin_factory.key(admin_factory.organization(principals.tenant)))
    factory = ResourceFactory(api)
    people = {
        "a": {"name": "Ana Lúcia Souza", "roles": ["buyer", "tenant"], "document_number": "52998224725",
              "email": "Ana@Example.com", "phone": "+5511987654321"},
        "b": {"name": "Imóveis Ávila Ltda", "trade_name": "Lar 100%", "kind": "company", "roles": ["seller"],
              "document_number": "12ABC34501DE35", "external_id": "x-1"},
        "c": {"name": "Caio", "roles": ["seller", "attorney"], "email": "caio@example.com", "phone": "+12025550123"},
        "d": {"name": "Souza e Filhos", "kind": "company", "roles": ["landlord"]},
    }
    api.ids = {factory.party(**fields)["id"]: name for name, fields in people.items()}
    return api


@pytest.mark.parametrize("params, names", [
    ({"kind": "person"}, "ac"), ({"kind": "company,person"}, "abcd"), ({"role": "buyer"}, "a"), ({"role": "seller"}, "bc"),
    ({"role": "attorney,landlord,tenant"}, "acd"), ({"role": "guarantor"}, ""), ({"document_number": "529.982.247-25"}, "a"),
    ({"document_number": "12abc34501de35,52998224725"}, "ab"), ({"document_number": "1"}, ""),
    ({"email": "ANA@example.com"}, "a"),
    ({"email": "caio@example.com,x"}, "c"), ({"phone": "+5511987654321"}, "a"),
    ({"phone": "+12025550123,+5511987654321"}, "ac"),
    ({"q": "souza"}, "ad"), ({"q": "AVILA"}, "b"), ({"q": "lar 100%"}, "b"), ({"q": "lucia s"}, "a"), ({"q": "xyz"}, ""),
    ({"external_id": "x-1"}, "b"), ({"role": "seller", "kind": "company"}, "b"),
    ({"q": "souza", "role": "landlord,buyer"}, "ad"),
    ({"created_lte": "2020-01-01T00:00:00Z"}, ""), ({"updated_gte": "2020-01-01T00:00:00Z"}, "abcd")])
def test_filters_find(sample_parties, params, names):
    whole = [sample_parties.ids[item["id"]] for item in sample_parties.walk("parties", **params)]
    paged = [sample_parties.ids[item["id"]] for item in sample_parties.walk("parties", limit=1, **params)]
    assert whole == paged == sorted(names, reverse=True)


def test_an_unencoded_plus_sign_of_a_phone_is_accepted(sample_parties):
    assert [sample_parties.ids[item["id"]] for item in ok(sample_parties.get("parties?phone=+5511987654321"))["items"]] == ["a"]


@pytest.mark.parametrize("name, value", [("kind", "x"), ("role", "owner"), ("role", "buyer,,seller"), ("email", ""), ("q", ""), ("q", "so"), ("q", "s o")])
def test_invalid_filter_values_are_refused(sample_parties, name, value):
    assert wrong_fields(sample_parties.get("parties", params={name: value})) == {name: "validation.parameter_invalid"}


def test_references_of_a_party_cannot_be_filtered(sample_parties):
    for name in ("spouse_party_id", "broker_id", "rg", "status"):
        assert wrong_fields(sample_parties.get("parties",
                                               params={name: "pty_" + UNKNOWN_ULID})) == {name: "validation.unknown_parameter"}


def test_a_phone_is_stored_without_punctuation(own_api, factory):
    for phone in ("+55 (11) 98765-4321", "+55.11.98765-4321", " +55 11 987654321"):
        assert factory.party(phone=phone)["phone"] == "+5511987654321"


def couple(factory):
    first = factory.party()["id"]
    second = factory.party(spouse_party_id=first)["id"]
    ok(factory.api.patch("parties/" + first, json={"spouse_party_id": second}))
    return first, second


def test_one_of_two_spouses_is_deleted_and_the_other_changes(own_api, instance, factory):
    organization = own_api.credential.organizations[0]
    subscription = ok(own_api.post("webhooks", json={"url": "https://127.0.0.1:9/", "events": ["*"]}), 201)["id"]
    for is_batch in (False, True):
        first, second = couple(factory)
        before = ok(own_api.get("parties/" + second))
        if is_batch:
            operations = [{"method": "delete", "id": first}, {"method": "update", "id": second, "data": {"name": "Viúva"}}]
            done = ok(own_api.post("parties/batch", json={"operations": operations}))["results"]
            assert [one["status"] for one in done] == [204, 200]
        else:
            ok(own_api.delete("parties/" + first), 204)
        left = ok(own_api.get("parties/" + second))
        assert "spouse_party_id" not in left and left["updated_at"] > before["updated_at"]
        logged = [one for one in events(instance, organization) if one["resource_id"] in (first, second)]
        ends = [(one["type"], one["resource_id"]) for one in logged[3:]]
        assert sorted(ends[:2]) == [("party.deleted", first), ("party.updated", second)] and len(ends) == 2 + is_batch
        change = next(one for one in logged[3:] if one["resource_id"] == second)
        assert change["changed"] == ["spouse_party_id"] and change["previous"] == {"spouse_party_id": first}
        delivered = [event for event, payload in deliveries(instance, subscription) if payload["id"] in (first, second)]
        assert sorted(delivered[3:]) == ["party.deleted", *["party.updated"] * (1 + is_batch)]
        ok(own_api.delete("parties/" + second), 204)


@pytest.mark.parametrize("keeps", ["first", "second"])
def test_a_spouse_that_is_not_deleted_is_not_cleared(own_api, factory, keeps):
    """Another resource refers to the first, or the second refers to it by another field as well."""
    first, second = couple(factory)
    if keeps == "first":
        factory.proposal(proponent_ids=[first])
    else:
        ok(own_api.patch("parties/" + second, json={"legal_representatives": [{"party_id": first}]}))
    before = [ok(own_api.get("parties/" + id)) for id in (first, second)]
    refused(own_api.delete("parties/" + first), 409, "conflict.in_use")
    done = ok(own_api.post("parties/batch", json={"operations": [{"method": "delete", "id": first}]}))
    assert [one["status"] for one in done["results"]] == [409]
    assert [ok(own_api.get("parties/" + id)) for id in (first, second)] == before


def test_a_reference_that_is_not_mutual_is_not_cleared(own_api, factory):
    first = factory.party()["id"]
    second = factory.party(spouse_party_id=first)["id"]
    refused(own_api.delete("parties/" + first), 409, "conflict.in_use")
    ok(own_api.patch("parties/" + first, json={"spouse_party_id": first}))
    refused(own_api.delete("parties/" + first), 409, "conflict.in_use")
    ok(own_api.delete("parties/" + second), 204)
    ok(own_api.delete("parties/" + first), 204)


def test_parties_that_refer_to_each_other_are_deleted_together(own_api, factory):
    first, second = couple(factory)
    operations = [{"method": "delete", "id": id} for id in (first, second)]
    done = ok(own_api.post("parties/batch", json={"operations": operations}))
    assert [one["status"] for one in done["results"]] == [204, 204]


def test_a_party_that_others_refer_to_is_not_deleted_with_its_spouse(own_api, factory):
    first, second = couple(factory)
    factory.proposal(proponent_ids=[second])
    operations = [{"method": "delete", "id": id} for id in (first, second)]
    refused(own_api.post("parties/batch", json={"operations": operations, "atomic": True}), 409, "conflict.in_use")
    assert ok(own_api.get("parties/" + first))["spouse_party_id"] == second
    done = ok(own_api.post("parties/batch", json={"operations": operations}))
    assert [one["status"] for one in done["results"]] == [204, 409]
    assert "spouse_party_id" not in ok(own_api.get("parties/" + second))
