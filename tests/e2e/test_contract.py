# SPDX-License-Identifier: Apache-2.0
"""Contracts: rules between fields, validation and filters. Statuses: test_transitions.py."""

import pytest
from client import Api, ok, refused, wrong_fields
from factories import UNKNOWN_ULID, ResourceFactory, unique

MAX_CENTS = 2**53 - 1
TERM = {"start_date": "2026-03-01", "end_date": "2028-08-31"}


@pytest.fixture
def factory(own_api):
    return ResourceFactory(own_api)


@pytest.fixture
def body(factory):
    """body(**fields): the body of a contract for a sale."""
    property, parties = factory.offered()["id"], factory.signed("sale")
    return lambda **fields: {**factory.body("contracts", property_id=property, parties=parties), **fields}


@pytest.fixture
def post(own_api, body):
    return lambda **fields: own_api.post("contracts", json=body(**fields))


def invalid(response, *paths, what="invalid"):
    found = wrong_fields(response)
    assert set(found) == set(paths) and all(code.endswith("_" + what) for code in found.values()), found


@pytest.mark.parametrize("kind, needed",
                         [("sale", False), ("management", False), ("rental", True), ("exclusive_listing", True)])
def test_start_and_end_are_required_for_kinds_with_a_term(own_api, post, kind, needed):
    ok(post(kind=kind, **TERM), 201)
    if not needed:
        ok(post(kind=kind), 201)
        return
    invalid(post(kind=kind), "start_date", "end_date", what="required")
    invalid(post(kind=kind, start_date="2026-03-01"), "end_date", what="required")
    made = ok(post(kind=kind, **TERM), 201)
    invalid(own_api.patch("contracts/" + made["id"], json={"end_date": None}), "end_date", what="required")


def test_a_term_does_not_end_before_it_begins(post):
    ok(post(start_date="2026-03-01", end_date="2026-03-01"), 201)
    invalid(post(start_date="2026-03-01", end_date="2026-02-28"), "end_date")


def test_a_deposit_is_at_most_three_rents(post):
    rental = {"kind": "rental", "amount": 100, **TERM}
    for amount in (0, 299, 300):
        ok(post(**rental, guarantee={"kind": "deposit", "amount": amount}), 201)
    for amount in (301, MAX_CENTS):
        invalid(post(**rental, guarantee={"kind": "deposit", "amount": amount}), "guarantee.amount")
    for kind in ("guarantor", "surety_insurance", "fund_pledge"):
        ok(post(**rental, guarantee={"kind": kind, "amount": 301}), 201)


def test_a_contract_has_at_most_one_guarantee(post):
    invalid(post(guarantee=[{"kind": "deposit"}]), "guarantee")
    invalid(post(guarantee={"amount": 5}), "guarantee.kind", what="required")


def test_the_parts_of_a_commission_sum_to_the_whole(post, factory):
    brokers = [factory.broker()["id"] for _ in range(2)]

    def split(*shares):
        return post(commission={"total_amount": 100,
                                "splits": [{"broker_id": id, "bps": one} for id, one in zip(brokers, shares)]})

    for shares in ((10000,), (1, 9999)):
        ok(split(*shares), 201)
    for shares in ((9999,), (5000, 5001)):
        invalid(split(*shares), "commission.splits")
    ok(post(commission={"total_amount": 100}), 201)
    invalid(split(0, 10000), "commission.splits[0].bps")


def test_a_number_is_unique_in_the_organization(own_api, instance, principals, factory):
    number = unique()
    factory.contract(number=number)
    problem = refused(own_api.post("contracts", json=factory.body("contracts", number=number)), 409, "conflict.duplicate")
    assert problem["detail"] == "Another contract of the organization has this number."
    for _ in range(2):
        factory.contract(number=None)
    ResourceFactory(Api(instance, principals.other)).contract(number=number)


@pytest.mark.parametrize("field, right, wrong", [
    ("kind", ["sale", "management"], ["lease"]), ("number", ["x" * 50], ["x" * 51, "", 5]),
    ("amount", [0, MAX_CENTS], [-1, 1.0, 1e3, "1", MAX_CENTS + 1]), ("payment_day", [1, 31], [0, 32, 1.5, "5"]),
    ("adjustment_index", ["igpm", "ipca", "inpc", "none"], ["cpi"]), ("management_fee_bps", [0, 10000], [-1, 10001, 1.5]),
    ("start_date", ["2026-02-28"], ["2026-02-30", "x"]), ("notes", ["a\nb"], ["x" * 3001]),
    ("termination_reason", ["x" * 1000], ["x" * 1001]), ("status", ["draft", "pending_signature"], ["signed"]),
    ("parties", [], [[], {}, "x", [{}], [{"role": "buyer"}]])])
def test_every_field_is_validated(own_api, post, field, right, wrong):
    for value in right:
        assert ok(post(**{field: value}), 201)[field] == value
    for value in wrong:
        found = wrong_fields(post(**{field: value}))
        assert found and all(path.startswith(field) for path in found), (value, found)


def test_a_party_of_the_contract_is_validated(post, factory):
    party = {"party_id": factory.party()["id"], "role": "seller"}
    kept = {**party, "share_bps": 5000, "signed_at": "2026-02-11T18:30:00.000Z"}
    sent = {**kept, "signed_at": "2026-02-11T15:30:00-03:00"}
    assert ok(post(parties=[sent]), 201)["parties"] == [kept]
    for name, wrong in (("role", "king"), ("share_bps", 10001), ("share_bps", 0.5), ("signed_at", "yesterday")):
        invalid(post(parties=[party, {**party, name: wrong}]), f"parties[1].{name}")


# ---------------------------------------------------------------- filters


@pytest.fixture(scope="module")
def sample_contracts(instance, admin_factory, principals):
    api = Api(instance, admin_factory.key(admin_factory.organization(principals.tenant)))
    factory = ResourceFactory(api)
    n = api.names = {"flat": factory.property()["id"], "house": factory.property()["id"], "ana": factory.party()["id"],
                     "bia": factory.party()["id"], "caio": factory.broker()["id"], "duda": factory.broker()["id"]}

    def parties(*names):
        return [{"party_id": n[name], "role": "buyer"} for name in names]

    made = {
        "a": {"property_id": n["flat"], "parties": parties("ana"), "number": "1/26",
              "commission": {"splits": [{"broker_id": n["caio"], "bps": 10000}]}},
        "b": {"property_id": n["house"], "parties": [{"party_id": n["bia"], "role": "landlord"},
                                                     {"party_id": n["ana"], "role": "tenant"}], "kind": "rental", **TERM,
              "status": "pending_signature",
              "commission": {"splits": [{"broker_id": n["duda"], "bps": 5000}, {"broker_id": n["caio"], "bps": 5000}]}},
        "c": {"property_id": n["house"], "parties": parties("bia"), "kind": "exclusive_listing", "start_date": "2026-01-01",
              "end_date": "2026-06-30", "guarantee": {"kind": "guarantor", "party_id": n["ana"]}, "external_id": "x"},
    }
    api.ids = {factory.contract(**fields)["id"]: name for name, fields in made.items()}
    return api


@pytest.mark.parametrize("params, names", [
    ({"kind": "sale,rental"}, "ab"), ({"status": "draft"}, "ac"), ({"status": "active"}, ""), ({"property_id": "house"}, "bc"),
    ({"party_id": "ana"}, "ab"), ({"party_id": "bia"}, "bc"), ({"party_id": "caio"}, ""),
    ({"party_id": "pty_" + UNKNOWN_ULID}, ""),
    ({"broker_id": "caio"}, "ab"), ({"broker_id": "duda"}, "b"), ({"number": "1/26"}, "a"), ({"number": "1"}, ""),
    ({"end_date_lte": "2026-06-30"}, "c"), ({"end_date_lte": "2028-08-31"}, "bc"), ({"end_date_lte": "2026-06-29"}, ""),
    ({"external_id": "x"}, "c"), ({"party_id": "ana", "broker_id": "duda"}, "b"),
    ({"party_id": "bia", "broker_id": "caio"}, "b"),
    ({"party_id": "bia", "property_id": "house", "kind": "exclusive_listing"}, "c")])
def test_filters_find(sample_contracts, params, names):
    params = {name: sample_contracts.names.get(value, value) for name, value in params.items()}
    whole = [sample_contracts.ids[item["id"]] for item in sample_contracts.walk("contracts", **params)]
    paged = [sample_contracts.ids[item["id"]] for item in sample_contracts.walk("contracts", limit=1, **params)]
    assert whole == paged == sorted(names, reverse=True)


@pytest.mark.parametrize("name, value", [("kind", "x"), ("status", "signed"), ("end_date_lte", "soon"), ("number", "")])
def test_invalid_filter_values_are_refused(sample_contracts, name, value):
    assert wrong_fields(sample_contracts.get("contracts", params={name: value})) == {name: "validation.parameter_invalid"}
