# SPDX-License-Identifier: Apache-2.0
"""Proposals: amounts, terms of payment, validation and filters. Statuses: test_transitions.py."""

import pytest
from client import Api, ok, wrong_fields
from factories import UNKNOWN_ULID, ResourceFactory

MAX_CENTS = 2**53 - 1


@pytest.fixture
def factory(own_api):
    return ResourceFactory(own_api)


@pytest.fixture
def body(own_api, factory):
    """body(**fields): the body of a proposal for a property by a party."""
    property, party = factory.offered()["id"], factory.party()["id"]
    return lambda **fields: factory.body("proposals", property_id=property, proponent_ids=[party], **fields)


def invalid(response, *paths, what="invalid"):
    found = wrong_fields(response)
    assert set(found) == set(paths) and all(code.endswith("_" + what) for code in found.values()), found


def test_the_terms_of_payment_sum_to_the_amount(own_api, body):
    def terms(*amounts, **fields):
        return own_api.post("proposals",
                            json=body(payment_terms=[{"kind": "cash", "amount": one} for one in amounts], **fields))

    for amount, amounts in ((100, [100]), (100, [0, 1, 99]), (MAX_CENTS, [MAX_CENTS - 1, 1]), (0, [0])):
        ok(terms(*amounts, amount=amount), 201)
    for amount, amounts in ((100, [99]), (100, [100, 1]), (100, [MAX_CENTS, MAX_CENTS]), (MAX_CENTS, [MAX_CENTS, 1])):
        invalid(terms(*amounts, amount=amount), "payment_terms")
    made = ok(terms(60, 40, amount=100), 201)
    invalid(own_api.patch("proposals/" + made["id"], json={"amount": 101}), "payment_terms")
    ok(own_api.patch("proposals/" + made["id"], json={"amount": 101, "payment_terms": None}))


def test_an_invalid_term_is_named_by_its_index(own_api, body):
    terms = [{"kind": "cash", "amount": 100}, {"kind": "gold", "amount": 1.5}, {"amount": -1}]
    found = wrong_fields(own_api.post("proposals", json=body(amount=100, payment_terms=terms)))
    assert found == {"payment_terms[1].kind": "validation.proposal.payment_terms_kind_invalid",
                     "payment_terms[1].amount": "validation.proposal.payment_terms_amount_invalid",
                     "payment_terms[2].kind": "validation.proposal.payment_terms_kind_required",
                     "payment_terms[2].amount": "validation.proposal.payment_terms_amount_invalid"}


@pytest.mark.parametrize("kind", ["down_payment", "cash", "financing", "fgts", "installment", "exchange", "consortium"])
def test_every_kind_of_payment_is_accepted(own_api, body, kind):
    term = {"kind": kind, "amount": 5, "due_date": "2026-03-01", "installments": 360, "index": "igpm"}
    assert ok(own_api.post("proposals", json=body(amount=5, payment_terms=[term])), 201)["payment_terms"] == [term]


def test_proponents_are_required_and_unique(own_api, factory, body):
    invalid(own_api.post("proposals", json={**body(), "proponent_ids": []}), "proponent_ids")
    one = factory.party()["id"]
    assert set(wrong_fields(own_api.post("proposals", json={**body(), "proponent_ids": [one, one]}))) <= {"proponent_ids",
                                                                                                           "proponent_ids[1]"}
    assert "recipient_ids" not in ok(own_api.post("proposals", json=body(recipient_ids=None)), 201)
    ok(own_api.post("proposals", json=body(recipient_ids=[one])), 201)


@pytest.mark.parametrize("field, right, wrong", [
    ("kind", ["purchase", "rental"], ["gift"]), ("amount", [0, MAX_CENTS], [-1, 1.0, "1", MAX_CENTS + 1, True]),
    ("valid_until", ["2026-12-31", "2020-01-01"], ["2026-12-32", "tomorrow", "2026-12-31T00:00:00Z"]),
    ("notes", ["a\nb", "é" * 3000], ["x" * 3001, 5]), ("decision_reason", ["x" * 1000], ["x" * 1001]),
    ("rental_terms", [{"start_date": "2026-04-01", "months": 30, "guarantee_kind": "deposit"}, {"months": 1}],
     [{"months": 0}, {"months": 1.5}, {"guarantee_kind": "gold"}, {"start_date": "x"}, [], {"x": 1}]),
    ("status", ["draft", "submitted"], ["open", 5])])
def test_every_field_is_validated(own_api, body, field, right, wrong):
    for value in right:
        assert ok(own_api.post("proposals", json={**body(), field: value}), 201)[field] == value
    for value in wrong:
        found = wrong_fields(own_api.post("proposals", json={**body(), field: value}))
        assert found and all(path.startswith(field) for path in found), (value, found)


# ---------------------------------------------------------------- filters


@pytest.fixture(scope="module")
def sample_proposals(instance, admin_factory, principals):
    api = Api(instance, admin_factory.key(admin_factory.organization(principals.tenant)))
    factory = ResourceFactory(api)
    api.names = {"flat": factory.offered()["id"], "house": factory.offered()["id"], "ana": factory.party()["id"],
                 "bia": factory.party()["id"], "broker": factory.broker()["id"]}
    n = api.names
    made = {
        "a": {"property_id": n["flat"], "proponent_ids": [n["ana"]], "valid_until": "2026-01-31", "broker_id": n["broker"]},
        "b": {"property_id": n["flat"], "proponent_ids": [n["bia"]], "recipient_ids": [n["ana"]], "kind": "rental",
              "status": "submitted"},
        "c": {"property_id": n["house"], "proponent_ids": [n["bia"], n["ana"]], "valid_until": "2026-02-28",
              "external_id": "x"},
    }
    api.ids = {factory.proposal(**fields)["id"]: name for name, fields in made.items()}
    return api


@pytest.mark.parametrize("params, names", [
    ({"kind": "rental"}, "b"), ({"kind": "rental,purchase"}, "abc"), ({"status": "draft"}, "ac"), ({"status": "accepted"}, ""),
    ({"property_id": "flat"}, "ab"), ({"property_id": "ana"}, ""), ({"proponent_id": "ana"}, "ac"),
    ({"proponent_id": "bia"}, "bc"),
    ({"proponent_id": "house"}, ""), ({"broker_id": "broker"}, "a"), ({"broker_id": "brk_" + UNKNOWN_ULID}, ""),
    ({"valid_until_lte": "2026-01-31"}, "a"), ({"valid_until_lte": "2026-02-28"}, "ac"),
    ({"valid_until_lte": "2020-01-01"}, ""),
    ({"external_id": "x"}, "c"), ({"proponent_id": "ana", "property_id": "flat"}, "a"),
    ({"proponent_id": "bia", "status": "draft,submitted", "valid_until_lte": "2099-12-31"}, "bc")])
def test_filters_find(sample_proposals, params, names):
    params = {name: sample_proposals.names.get(value, value) for name, value in params.items()}
    whole = [sample_proposals.ids[item["id"]] for item in sample_proposals.walk("proposals", **params)]
    paged = [sample_proposals.ids[item["id"]] for item in sample_proposals.walk("proposals", limit=1, **params)]
    assert whole == paged == sorted(names, reverse=True)


@pytest.mark.parametrize("name, value", [("kind", "x"), ("status", "open"), ("valid_until_lte", "2026-02-30"),
                                         ("valid_until_lte", "2026-01-01T00:00:00Z"), ("valid_until_lte", "0000-01-01"),
                                         ("valid_until_lte", "2026-01-01,2026-01-02"), ("property_id", "")])
def test_invalid_filter_values_are_refused(sample_proposals, name, value):
    assert wrong_fields(sample_proposals.get("proposals", params={name: value})) == {name: "validation.parameter_invalid"}
