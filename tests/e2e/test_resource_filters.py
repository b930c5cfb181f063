# SPDX-License-Identifier: Apache-2.0
"""Filters of the lists of properties, parties, proposals, contracts and documents. Those of brokers: test_filters.py."""

import pytest
from client import Api, ok, wrong_fields
from factories import UNKNOWN_ULID, ResourceFactory

TERM = {"start_date": "2026-03-01", "end_date": "2028-08-31"}


def place(state, city, neighborhood=None):
    return {"postal_code": "04101300", "state": state, "city": city, **({"neighborhood": neighborhood} if neighborhood else {})}


def owners(*ids):
    return [{"party_id": id, "share_bps": 10000 // len(ids)} for id in ids]


def buyers(*ids):
    return [{"party_id": id, "role": "buyer"} for id in ids]


def splits(*ids):
    return {"splits": [{"broker_id": id, "bps": 10000 // len(ids)} for id in ids]}


def related(type, id):
    return {"type": type, "id": id}


OTHERS = {"flat": "properties", "house": "properties", "ana": "parties", "bia": "parties", "caio": "brokers", "duda": "brokers"}
# By collection: bodies by name, with the ids of resources of other collections.
SAMPLES = {
    "properties": lambda n: {
        "a": {"code": "A-1", "title": "Casa na Praia 100%", "sale_price": 100, "status": "active", "bedrooms": 2,
              "address": place("SP", "São Paulo", "Vila Mariana"), "owners": owners(n["ana"])},
        "b": {"code": "B-1", "title": "Apartamento ÁGUA", "transaction_type": "rent", "sale_price": ..., "rent_price": 50,
              "property_type": "house", "address": place("SP", "SAO PAULO", "Água Verde"), "broker_id": n["caio"]},
        "c": {"code": "C-1", "transaction_type": "sale_rent", "sale_price": 300, "rent_price": 70, "status": "sold", "bedrooms": 3,
              "address": place("RJ", "Rio"), "external_id": "x-1", "broker_id": n["caio"], "owners": owners(n["ana"], n["bia"])},
        "d": {"code": "D-1", "sale_price": 200, "bedrooms": 0, "property_type": "hotel", "address": place("AC", "Rio Branco"),
              "owners": owners(n["bia"])},
        "e": {"code": "E-1", "title": "praia", "sale_price": 2**53 - 1, "address": place("AC", "Rio Branco")}},
    "parties": lambda n: {
        "a": {"name": "Ana Lúcia Souza", "roles": ["buyer", "tenant"], "document_number": "52998224725",
              "email": "Ana@Example.com", "phone": "+5511987654321"},
        "b": {"name": "Imóveis Ávila Ltda", "trade_name": "Lar 100%", "kind": "company", "roles": ["seller"],
              "document_number": "12ABC34501DE35", "external_id": "x-1"},
        "c": {"name": "Caio", "roles": ["seller", "attorney"], "email": "caio@example.com", "phone": "+12025550123"},
        "d": {"name": "Souza e Filhos", "kind": "company", "roles": ["landlord"]}},
    "proposals": lambda n: {
        "a": {"property_id": n["flat"], "proponent_ids": [n["ana"]], "valid_until": "2026-01-31", "broker_id": n["caio"]},
        "b": {"property_id": n["flat"], "proponent_ids": [n["bia"]], "recipient_ids": [n["ana"]], "kind": "rental",
              "status": "submitted"},
        "c": {"property_id": n["house"], "proponent_ids": [n["bia"], n["ana"]], "valid_until": "2026-02-28",
              "external_id": "x"}},
    "contracts": lambda n: {
        "a": {"property_id": n["flat"], "parties": buyers(n["ana"]), "number": "1/26", "commission": splits(n["caio"])},
        "b": {"property_id": n["house"], "parties": [{"party_id": n["bia"], "role": "landlord"},
                                                     {"party_id": n["ana"], "role": "tenant"}], "kind": "rental", **TERM,
              "status": "pending_signature",
              "commission": splits(n["duda"], n["caio"])},
        "c": {"property_id": n["house"], "parties": buyers(n["bia"]), "kind": "exclusive_listing", "start_date": "2026-01-01",
              "end_date": "2026-06-30", "guarantee": {"kind": "guarantor", "party_id": n["ana"]}, "external_id": "x"}},
    "documents": lambda n: {
        "a": {"related": related("property", n["flat"]), "kind": "deed", "expires_at": "2026-03-01T12:00:00Z"},
        "b": {"related": related("property", n["flat"]), "kind": "cndt", "status": "valid", "external_id": "x"},
        "c": {"related": related("party", n["ana"]), "kind": "rg", "expires_at": "2026-04-01T12:00:00Z"},
        "d": {"related": related("party", n["bia"]), "kind": "cnh", "status": "expired", "expires_at": "1965-03-20T12:30:00Z"}},
}


@pytest.fixture(scope="module")
def samples(instance, admin_factory, principals):
    """samples(collection): a client of an organization with its samples, `names` of their ids, and `others` of other resources."""
    made = {}

    def sample(collection):
        if collection not in made:
            api = Api(instance, admin_factory.key(admin_factory.organization(principals.tenant)))
            factory = ResourceFactory(api)
            api.others = {name: (factory.offered() if other == "properties" else factory.create(other))["id"]
                          for name, other in OTHERS.items() if other != collection}
            api.names = {factory.create(collection, **body)["id"]: name for name, body in SAMPLES[collection](api.others).items()}
            made[collection] = api
        return made[collection]

    return sample


def find(api, collection, **params):
    """The names of what is found, as one page and as several. The name of another resource stands for its id."""
    params = {name: ",".join(api.others.get(one, one) for one in value.split(",")) for name, value in params.items()}
    whole, paged = ([api.names[item["id"]] for item in api.walk(collection, limit=limit, **params)] for limit in (100, 1))
    assert whole == paged == sorted(whole, reverse=True)
    return "".join(whole[::-1])


# By collection: filters, and what they find.
FOUND = {
    "properties": [
        ({"code": "A-1"}, "a"), ({"code": "A-1,C-1,X"}, "ac"), ({"code": "a-1"}, ""), ({"status": "draft"}, "bde"),
        ({"status": "active,sold"}, "ac"), ({"status": "rented"}, ""), ({"transaction_type": "sale"}, "ade"),
        ({"transaction_type": "rent,sale_rent"}, "bc"), ({"property_type": "house,hotel"}, "bd"), ({"state": "SP,RJ"}, "abc"),
        ({"state": "TO"}, ""), ({"city": "são paulo"}, "ab"), ({"city": "rio"}, "c"), ({"city": "RIO BRANCO,Rio"}, "cde"),
        ({"neighborhood": "agua verde"}, "b"), ({"neighborhood": "vila"}, ""), ({"broker_id": "caio"}, "bc"),
        ({"broker_id": "brk_" + UNKNOWN_ULID}, ""), ({"owner_id": "ana"}, "ac"), ({"owner_id": "bia"}, "cd"),
        ({"owner_id": "pty_" + UNKNOWN_ULID}, ""), ({"owner_id": "caio"}, ""),
        ({"sale_price_gte": "200"}, "cde"), ({"sale_price_lte": "200"}, "ad"),
        ({"sale_price_gte": "101", "sale_price_lte": "300"}, "cd"), ({"sale_price_gte": str(2**53 - 1)}, "e"),
        ({"rent_price_gte": "51"}, "c"), ({"rent_price_lte": "69"}, "b"), ({"bedrooms_gte": "0"}, "acd"), ({"bedrooms_gte": "3"}, "c"),
        ({"q": "PRAIA"}, "ae"), ({"q": "agua"}, "b"), ({"q": "00%"}, "a"), ({"q": "d-1"}, "d"), ({"q": "a_r"}, ""),
        ({"external_id": "x-1"}, "c"), ({"external_id": "X-1"}, ""), ({"created_gte": "2020-01-01T00:00:00Z"}, "abcde"),
        ({"created_lte": "2020-01-01T00:00:00Z"}, ""),
        ({"updated_gte": "2020-01-01T00:00:00Z", "state": "AC", "sale_price_lte": "1000"}, "d"),
        ({"owner_id": "ana", "status": "sold", "broker_id": "caio"}, "c"), ({"owner_id": "ana", "q": "praia"}, "a"),
        ({"owner_id": "ana,bia,pty_" + UNKNOWN_ULID}, "acd")],
    "parties": [
        ({"kind": "person"}, "ac"), ({"kind": "company,person"}, "abcd"), ({"role": "buyer"}, "a"), ({"role": "seller"}, "bc"),
        ({"role": "attorney,landlord,tenant"}, "acd"), ({"role": "guarantor"}, ""), ({"document_number": "529.982.247-25"}, "a"),
        ({"document_number": "12abc34501de35,52998224725"}, "ab"), ({"document_number": "1"}, ""), ({"email": "ANA@example.com"}, "a"),
        ({"email": "caio@example.com,x"}, "c"), ({"phone": "+5511987654321"}, "a"), ({"phone": "+12025550123,+5511987654321"}, "ac"),
        ({"q": "souza"}, "ad"), ({"q": "AVILA"}, "b"), ({"q": "lar 100%"}, "b"), ({"q": "lucia s"}, "a"), ({"q": "xyz"}, ""),
        ({"external_id": "x-1"}, "b"), ({"role": "seller", "kind": "company"}, "b"), ({"q": "souza", "role": "landlord,buyer"}, "ad"),
        ({"created_lte": "2020-01-01T00:00:00Z"}, ""), ({"updated_gte": "2020-01-01T00:00:00Z"}, "abcd")],
    "proposals": [
        ({"kind": "rental"}, "b"), ({"kind": "rental,purchase"}, "abc"), ({"status": "draft"}, "ac"), ({"status": "accepted"}, ""),
        ({"property_id": "flat"}, "ab"), ({"property_id": "ana"}, ""), ({"proponent_id": "ana"}, "ac"), ({"proponent_id": "bia"}, "bc"),
        ({"proponent_id": "house"}, ""), ({"broker_id": "caio"}, "a"), ({"broker_id": "brk_" + UNKNOWN_ULID}, ""),
        ({"valid_until_lte": "2026-01-31"}, "a"), ({"valid_until_lte": "2026-02-28"}, "ac"), ({"valid_until_lte": "2020-01-01"}, ""),
        ({"external_id": "x"}, "c"), ({"proponent_id": "ana", "property_id": "flat"}, "a"),
        ({"proponent_id": "bia", "status": "draft,submitted", "valid_until_lte": "2099-12-31"}, "bc")],
    "contracts": [
        ({"kind": "sale,rental"}, "ab"), ({"status": "draft"}, "ac"), ({"status": "active"}, ""), ({"property_id": "house"}, "bc"),
        ({"party_id": "ana"}, "ab"), ({"party_id": "bia"}, "bc"), ({"party_id": "caio"}, ""), ({"party_id": "pty_" + UNKNOWN_ULID}, ""),
        ({"broker_id": "caio"}, "ab"), ({"broker_id": "duda"}, "b"), ({"number": "1/26"}, "a"), ({"number": "1"}, ""),
        ({"end_date_lte": "2026-06-30"}, "c"), ({"end_date_lte": "2028-08-31"}, "bc"), ({"end_date_lte": "2026-06-29"}, ""),
        ({"external_id": "x"}, "c"), ({"party_id": "ana", "broker_id": "duda"}, "b"), ({"party_id": "bia", "broker_id": "caio"}, "b"),
        ({"party_id": "bia", "property_id": "house", "kind": "exclusive_listing"}, "c")],
    "documents": [
        ({"kind": "deed,rg"}, "ac"), ({"kind": "cpf"}, ""), ({"status": "pending"}, "ac"), ({"status": "valid,expired"}, "bd"),
        ({"related_id": "flat"}, "ab"), ({"related_id": "ana"}, "c"), ({"related_id": "bia"}, "d"),
        ({"related_id": "ctr_" + UNKNOWN_ULID}, ""), ({"related_id": "doc_" + UNKNOWN_ULID}, ""),
        ({"expires_lte": "2026-03-01T12:00:00Z"}, "ad"), ({"expires_lte": "2026-03-01T09:00:00.001-03:00"}, "ad"),
        ({"expires_lte": "2026-03-01T11:59:59.999Z"}, "d"), ({"expires_lte": "1965-03-20T09:30:00-03:00"}, "d"),
        ({"expires_lte": "1965-03-20T12:29:59.999Z"}, ""), ({"external_id": "x"}, "b"),
        ({"related_id": "flat", "status": "pending"}, "a"), ({"related_id": "flat,ana,bia,brk_" + UNKNOWN_ULID}, "abcd")],
}


@pytest.mark.parametrize("collection, params, names", [(name, *row) for name, rows in FOUND.items() for row in rows])
def test_filters_find(samples, collection, params, names):
    assert find(samples(collection), collection, **params) == names


INVALID = {
    "properties": [("status", "Active"), ("status", "active,"), ("state", "XX"), ("transaction_type", "lease"), ("property_type", ""),
                   ("sale_price_gte", "1.5"), ("sale_price_gte", "1e3"), ("rent_price_lte", "x"), ("bedrooms_gte", "99999999999999999999"),
                   ("bedrooms_gte", "1,2"), ("owner_id", ""), ("city", ""), ("q", ""), ("q", "%5"), ("q", "ã\u0303")],
    "parties": [("kind", "x"), ("role", "owner"), ("role", "buyer,,seller"), ("email", ""), ("q", ""), ("q", "so"), ("q", "s o")],
    "proposals": [("kind", "x"), ("status", "open"), ("valid_until_lte", "2026-02-30"), ("valid_until_lte", "2026-01-01T00:00:00Z"),
                  ("valid_until_lte", "0000-01-01"), ("valid_until_lte", "2026-01-01,2026-01-02"), ("property_id", "")],
    "contracts": [("kind", "x"), ("status", "signed"), ("end_date_lte", "soon"), ("number", "")],
    "documents": [("kind", "passport"), ("status", "ok"), ("expires_lte", "2026-03-01"), ("related_id", "")],
}
UNKNOWN = {"properties": ["role", "party_id", "title", "description", "sale_price", "id", "suites_gte"],
           "parties": ["spouse_party_id", "broker_id", "rg", "status"]}


@pytest.mark.parametrize("collection", INVALID)
def test_invalid_and_unknown_filters_are_refused(own_api, collection):
    for name, value in INVALID[collection]:
        assert wrong_fields(own_api.get(collection, params={name: value})) == {name: "validation.parameter_invalid"}
    for name in UNKNOWN.get(collection, []):
        assert wrong_fields(own_api.get(collection, params={name: "1"})) == {name: "validation.unknown_parameter"}


def test_an_unencoded_plus_sign_of_a_phone_is_accepted(samples):
    api = samples("parties")
    assert [api.names[item["id"]] for item in ok(api.get("parties?phone=+5511987654321"))["items"]] == ["a"]


def test_other_organizations_are_not_searched(samples, own_api):
    others = samples("properties").others
    for name, value in (("state", "SP"), ("owner_id", others["ana"]), ("broker_id", others["caio"]), ("q", "praia"),
                        ("external_id", "x-1"), ("sale_price_gte", "0")):
        assert own_api.walk("properties", **{name: value}) == []
