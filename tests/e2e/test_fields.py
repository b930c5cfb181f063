# SPDX-License-Identifier: Apache-2.0
"""Fields of all resources: limits, normal forms, rules between fields, and errors. tests/unit/test_every_field.c and
test_body_rules.c check every field and every rule without servers."""

import pytest
from client import ok, refused, wrong_fields
from factories import ADDRESS, BANK, FILE, NAMES, PLACE, cnpj, cpf, unique

MAX_CENTS = 2**53 - 1
TERM = {"start_date": "2026-03-01", "end_date": "2028-08-31"}


def text(most):
    return ["é" * most, "🏠" * most], ["x" * (most + 1), "", 5]


def place(**changes):
    return {**ADDRESS, **changes}


MONEY = [0, 9_007_199_254_740_881, MAX_CENTS], [-1, 1.0, 1e3, "1", MAX_CENTS + 1, True]
AREA = [0, 92.5, 0.1, 148.75, 1234567.89, 1_000_000], [-1, -0.01, "92.5", True, 10**15, [1]]
COUNT = [2], [1.5, 2.0, "2", True, 10**9, -100]
DAY = ["2026-02-28", "2028-02-29", "9999-12-31"], ["2026-02-29", "2026-2-1", "28/02/2026", "2026-02-28T00:00:00Z", 20260228, "0000-01-01"]
YES_OR_NO = [True, False], ["true", 0]

# By collection and field: values that are stored as they are, and values that are refused.
FIELDS = {
    "brokers": {
        "name": text(200), "creci": (["1" + "é" * 31], ["1" + "é" * 32, "-", "é"]), "document_number": text(32), "phone": text(32),
        "email": (["a.b+c@x-y.example.com.br", "x" * 64 + "@a.br"], ["ana", "x" * 65 + "@a.br"]),
        "bank_account": ([BANK, {"account_type": "savings"}, {"account_type": "salary"}, {"account_type": "payment"}, {"bank_code": "é" * 10},
                          {"bank_name": "é" * 100}, {"agency": "é" * 20}, {"account_number": "é" * 30}, {"pix_key": "é" * 140}],
                         ["x", [{}], {"account_type": "gold"}, {"iban": "x"}, {"bank_code": "x" * 11}, {"bank_name": "x" * 101},
                          {"agency": "x" * 21}, {"account_number": "x" * 31}, {"pix_key": "x" * 141}, {"pix_key": "a\nb"}]),
        "visibility": (["private", "restricted", "public"], ["PUBLIC", "restricted,public", "x"])},
    "properties": {
        "sale_price": MONEY, "condo_fee": MONEY, "iptu_amount": MONEY, "private_area": AREA, "total_area": AREA, "lot_area": AREA,
        "bedrooms": COUNT, "suites": COUNT, "bathrooms": COUNT, "parking_spaces": COUNT,
        "floor": ([-20, 0, 300], [-21, 301, 1.5, "2", True]), "year_built": ([2014], [1.5, 2014.0, "2014", True, 10**9, -100]),
        "code": (["x" * 50, "AP 1/é"], ["x" * 51, "", 5]), "title": (["é" * 100], ["x" * 101, "a\nb"]),
        "description": (["é\n\t" * 1000], ["x" * 3001, "a\x07"]), "usage_type": (["residential", "commercial", "mixed"], ["x"]),
        "property_type": (["village_house", "kitnet", "hotel", "farm_ranch"], ["castle", "Apartment", ["house"]]),
        "transaction_type": (["sale"], ["lease", "SALE", None]), "iptu_period": (["monthly", "yearly"], ["weekly"]),
        "address_display": (["full", "street", "neighborhood"], ["none"]), "status": (["on_hold", "withdrawn"], ["gone", 1]),
        "exclusive": YES_OR_NO, "accepts_fgts": YES_OR_NO, "exclusive_until": DAY,
        "features": ([["x"] * 100, ["é" * 100]], [["x"] * 101, ["x" * 101], "x", {"x": 1}]),
        "registry": ([{"matricula": "1"}], [[], "x", {"matricula": 5}]),
        "address": ([PLACE, ADDRESS], [{}, *({**PLACE, name: None} for name in PLACE), place(postal_code="0410130"), place(state="sp"),
                                       place(ibge_code="355030"), place(latitude=-90.1), place(longitude=181), place(city="x" * 101),
                                       place(street="x" * 201), place(number="x" * 21), place(complement="x" * 101),
                                       place(neighborhood="x" * 101)]),
        "media": ([[{"url": "https://img.example.com/1.jpg"}, {"url": "https://img.example.com/1.jpg", "position": 3}]],
                  [[{"url": "http://img.example.com/1.jpg"}], [{}], [{"url": "https://img.example.com/", "mime_type": "jpeg"}]])},
    "parties": {
        "kind": (["person", "company"], ["firm", "Person"]), "name": (["é" * 200], ["x" * 201, "", "a\nb"]),
        "roles": ([["attorney"], ["buyer", "seller", "landlord", "tenant", "guarantor"]],
                  [[], ["owner"], ["buyer", "buyer"], "buyer", [5], [None]]),
        "document_number": ([cpf() for _ in range(3)], ["52998224724", "00000000000", "", 52998224725, cnpj()]),
        "email": (["a@example.com", "A.b+c@example.com.br"], ["a@", "a b@c.d", 5]),
        "phone": (["+5511987654321", "+12025550123"], ["11987654321", "(11) 98765-4321", "+0123456789", "+1234567890123456"]),
        "birth_date": (["1984-02-29", "1900-01-01"], ["1983-02-29", "29/02/1984", 1984]),
        "marital_status": (["single", "married", "divorced", "separated", "widowed", "stable_union"], ["other"]),
        "property_regime": (["partial_community", "universal_community", "separation", "mandatory_separation", "final_participation"], ["none"]),
        "lgpd_consent_at": (["2026-01-31T13:45:10.123Z"], ["2026-01-31", "now", 5]),
        "rg": ([{"number": "1"}, {"issuer": "SSP", "state": "SP"}], [{"state": "sp"}, {"number": 5}, "1", {"x": 1}]),
        "address": ([{"city": "Rio"}, {"postal_code": "04101300"}, {"street": "Rua A"}], [{"postal_code": "1"}, {"state": "XX"}, "x"]),
        "bank_account": ([{"pix_key": "x"}, {"account_type": "salary"}], [{"account_type": "gold"}, {"x": "y"}, "x"]),
        "nationality": (["brasileira"], ["x" * 61]), "profession": (["Médica"], ["x" * 101]), "trade_name": (["X"], ["x" * 201])},
    "proposals": {
        "kind": (["purchase", "rental"], ["gift"]), "amount": MONEY,
        "valid_until": (["2026-12-31", "2020-01-01"], ["2026-12-32", "tomorrow", "2026-12-31T00:00:00Z"]),
        "notes": (["a\nb", "é" * 3000], ["x" * 3001, 5]), "decision_reason": (["x" * 1000], ["x" * 1001]),
        "rental_terms": ([{"start_date": "2026-04-01", "months": 30, "guarantee_kind": "deposit"}, {"months": 1}],
                         [{"months": 0}, {"months": 1.5}, {"guarantee_kind": "gold"}, {"start_date": "x"}, [], {"x": 1}]),
        "payment_terms": ([[{"kind": kind, "amount": 95_000_000, "due_date": "2026-03-01", "installments": 360, "index": "igpm"}] for kind in
                           ("down_payment", "cash", "financing", "fgts", "installment", "exchange", "consortium")],
                          [[{"kind": "gold", "amount": 95_000_000}], [{"kind": "cash", "amount": 1.5}], [{"amount": 95_000_000}],
                           [{"kind": "cash", "amount": 1}]]),
        "proponent_ids": ([], [[], "x"]), "status": (["draft", "submitted"], ["open", 5])},
    "contracts": {
        "kind": (["sale", "management"], ["lease"]), "number": (["x" * 50], ["x" * 51, "", 5]), "amount": MONEY,
        "payment_day": ([1, 31], [0, 32, 1.5, "5"]), "adjustment_index": (["igpm", "ipca", "inpc", "none"], ["cpi"]),
        "management_fee_bps": ([0, 10000], [-1, 10001, 1.5]), "start_date": (["2026-02-28"], ["2026-02-30", "x"]),
        "notes": (["a\nb"], ["x" * 3001]), "termination_reason": (["x" * 1000], ["x" * 1001]),
        "status": (["draft", "pending_signature"], ["signed"]), "parties": ([], [[], {}, "x", [{}], [{"role": "buyer"}]]),
        "guarantee": ([{"kind": kind, "amount": 301} for kind in ("deposit", "guarantor", "surety_insurance", "fund_pledge")],
                      [[{"kind": "deposit"}], {"amount": 5}])},
    "documents": {
        "kind": (["matricula", "encumbrance_certificate", "tax_clearance", "condo_clearance", "cndt", "protest_certificate", "civil_actions",
                  "iptu_bill", "habite_se", "floor_plan", "rg", "cpf", "cnh", "marriage_certificate", "birth_certificate",
                  "proof_of_address", "proof_of_income", "articles_of_association", "power_of_attorney", "proposal", "contract", "deed",
                  "inspection_report", "other"], ["passport", "Deed", 5]),
        "file": ([FILE, {"url": FILE["url"]}, {"url": "https://files.example.com/a?b=c#d", "filename": "matrícula 187.442.pdf"},
                  {**FILE, "mime_type": "image/svg+xml", "size": 0}, {**FILE, "size": MAX_CENTS}],
                 [{**FILE, "url": None}, {**FILE, "url": "file:///etc/passwd"}, {**FILE, "filename": "x" * 256}, {**FILE, "mime_type": "pdf"},
                  {**FILE, "size": -1}, {**FILE, "size": 2**53}, {**FILE, "sha256": "0" * 63}]),
        "title": (["é" * 200], ["x" * 201, ""]), "number": (["12/2026"], ["x" * 101]), "issuer": (["14º Oficial"], ["x" * 201]),
        "issued_at": (["2026-01-31T13:45:10.123Z", "1965-03-20T12:30:00.000Z", "1800-01-01T00:00:00.000Z"],
                      ["2026-01-31", "x", "1799-12-31T23:59:59.999Z"]),
        "expires_at": (["2099-01-31T13:45:10.000Z"], ["soon", 5]), "status": (["pending", "valid", "rejected", "expired"], ["ok"]),
        "related": ([], [{"type": "party"}, {"type": "lead", "id": "x"}, "x"])},
}


@pytest.mark.parametrize("collection", FIELDS)
def test_every_field_takes_its_values_and_no_others(own_api, factory, collection):
    body = factory.body(collection)
    for field, (valid, invalid) in FIELDS[collection].items():
        for value in valid:
            sent = {**body, **({"code": unique()} if collection == "properties" else {}), field: value}
            assert ok(own_api.post(collection, json=sent), 201)[field] == value, (field, value)
        for value in invalid:
            found = wrong_fields(own_api.post(collection, json={**body, field: value}))
            assert found and all(path.startswith(field) for path in found), (value, found)


def test_money_is_exact_in_reads_and_changes(own_api, factory):
    made = factory.property(transaction_type="sale_rent", sale_price=MAX_CENTS, rent_price=MAX_CENTS)
    path = "properties/" + made["id"]
    assert ok(own_api.get(path)) == made and made["rent_price"] == MAX_CENTS
    assert ok(own_api.patch(path, json={"rent_price": MAX_CENTS - 2}))["rent_price"] == MAX_CENTS - 2


@pytest.mark.parametrize("collection, field, sent, stored", [
    ("properties", "address", {**PLACE, "postal_code": "04101-300"}, PLACE), ("parties", "document_number", "529.982.247-25", "52998224725"),
    ("parties", "lgpd_consent_at", "2026-01-31T10:45:10.1239-03:00", "2026-01-31T13:45:10.123Z"), ("parties", "address", {}, None),
    ("parties", "bank_account", {"pix_key": None}, None), ("parties", "phone", " +55 (11) 98765-4321", "+5511987654321"),
    ("documents", "file", {**FILE, "sha256": FILE["sha256"].upper()}, FILE)])
def test_a_value_is_stored_in_its_normal_form(own_api, factory, collection, field, sent, stored):
    body = factory.body(collection)
    path = f"{collection}/{ok(own_api.post(collection, json=body), 201)['id']}"
    made = ok(own_api.post(collection, json={**body, field: sent, **({"code": unique()} if collection == "properties" else {})}), 201)
    assert made.get(field) == stored
    ok(own_api.delete(f"{collection}/{made['id']}"), 204)
    for method in ("PATCH", "PUT"):
        assert ok(own_api.request(method, path, json={**body, field: sent})).get(field) == stored


@pytest.mark.parametrize("collection, fields, change, errors", [
    ("properties", {}, {"sale_price": None}, {"sale_price": "required"}),
    ("properties", {}, {"transaction_type": "sale_rent"}, {"rent_price": "required"}),
    ("parties", {"document_number": cpf()}, {"kind": "company"}, {"document_number": "invalid"}),
    ("proposals", {"payment_terms": [{"kind": "cash", "amount": 100}], "amount": 100}, {"amount": 101}, {"payment_terms": "invalid"}),
    ("contracts", {}, {"kind": "rental"}, {"start_date": "required", "end_date": "required"}),
    ("contracts", TERM, {"end_date": "2026-02-28"}, {"end_date": "invalid"}),
    ("contracts", {"kind": "rental", "amount": 100, **TERM, "guarantee": {"kind": "deposit", "amount": 300}}, {"amount": 99},
     {"guarantee_amount": "invalid"})])
def test_rules_between_fields_apply_to_creates_and_changes(own_api, factory, collection, fields, change, errors):
    body = factory.body(collection, **fields)
    path = f"{collection}/{ok(own_api.post(collection, json=body), 201)['id']}"
    expected = sorted(f"validation.{NAMES[collection]}.{field}_{what}" for field, what in errors.items())
    for response in (own_api.post(collection, json={**body, **change}), own_api.patch(path, json=change),
                     own_api.put(path, json={**body, **change})):
        assert sorted(wrong_fields(response).values()) == expected


@pytest.fixture(params=["create", "put", "patch"])
def send(request, api):
    """send(body) with each method that has a body."""
    if request.param == "create":
        return lambda sent: api.post("brokers", json=sent)
    path = "brokers/" + api.broker()["id"]
    return lambda sent: (api.put if request.param == "put" else api.patch)(path, json=sent)


def test_all_errors_are_reported_at_once(send):
    response = send({"name": 5, "creci": "-", "email": "x", "visibility": "all", "color": "red",
                     "bank_account": {"account_type": "gold", "iban": "x", "agency": ["1"], "bank_code": "1" * 11}})
    refused(response, 400, "validation.failed")
    invalid = ["name", "creci", "email", "visibility", "bank_account.account_type", "bank_account.agency", "bank_account.bank_code"]
    assert wrong_fields(response) == {
        **{path: f"validation.broker.{path.replace('.', '_')}_invalid" for path in invalid},
        "color": "validation.unknown_field", "bank_account.iban": "validation.unknown_field"}


@pytest.mark.parametrize("key", ["nobody", "Name", "name ", "", "é", "bank_account.pix_key", "__proto__", "\u0001", "x" * 100_000,
                                 "😀" * 1000, "representation", "organization_id); --"], ids=lambda key: ascii(key)[:40])
def test_an_unknown_field_is_refused_even_if_null_and_its_name_truncated(send, key):
    for body in ({"name": "x", key: 1}, {"name": "x", "bank_account": {key: None}}):
        response = send(body)
        refused(response, 400, "validation.unknown_field")
        assert len(response.json()["errors"]) == 1 and len(response.content) < 2000


def test_a_thousand_unknown_fields_have_a_readable_response(api):
    response = api.post("brokers", {"name": "x", **{f"field_{n}": n for n in range(1000)}})
    refused(response, 400, "validation.failed")
    assert len(response.content) < 1_000_000


def test_fields_set_by_the_service_are_ignored_in_a_body(api, principals):
    made = api.broker(id=5, tenant_id=["x"], organization_id=principals.other_organization, created_at={}, updated_at="never",
                      created_by=True, updated_by=None)
    assert (made["organization_id"], made["tenant_id"]) == (principals.organization, principals.tenant)
    assert made["created_by"] == principals.admin.id


@pytest.mark.parametrize("name", [
    "Zoë D'Ávila \"Zé\" \\ / <b>&amp;", "株式会社 🏠 \U0001f468\u200d\U0001f469\u200d\U0001f467", "ﬀ İ ß Ǆ", "null", "\u00a0x\u2028y",
    "  inner   spaces  ", "e\u0301\u0327", "\u202eolleh", "\ufffe\uffff\ufdd0", "\U0010ffff", "\u2028\u2029\u200b",
    "'; drop table neoapi.broker; --", "%s%n {name} $1 \\ \\u0041 \"", "</script><b>", "../../x"])
def test_text_is_stored_unchanged(own_api, name):
    made = own_api.broker(name=name)
    assert made["name"] == name and [one["name"] for one in own_api.walk()] == [name]
