# SPDX-License-Identifier: Apache-2.0
"""Properties: validation, rules between fields, and filters."""

import json

import pytest
from client import Api, ok, refused, wrong_fields
from factories import ADDRESS, PLACE, UNKNOWN_ULID, ResourceFactory

MAX_CENTS = 2**53 - 1
MONEY = ["sale_price", "rent_price", "condo_fee", "iptu_amount"]
AREAS = ["private_area", "total_area", "lot_area"]
COUNTS = ["bedrooms", "suites", "bathrooms", "parking_spaces", "floor", "year_built"]


@pytest.fixture
def factory(own_api):
    return ResourceFactory(own_api)


def invalid(response, *paths, what="invalid"):
    """Asserts that these fields and no others are wrong."""
    found = wrong_fields(response)
    assert set(found) == set(paths), found
    for path, code in found.items():
        assert code.startswith("validation.property.") and code.endswith("_" + what), found


# ---------------------------------------------------------------- money and other numbers


def test_money_is_exact_up_to_2_to_the_53rd(own_api, factory):
    made = factory.property(transaction_type="sale_rent", **dict.fromkeys(MONEY, MAX_CENTS))
    assert {made[name] for name in MONEY} == {MAX_CENTS} == {ok(own_api.get("properties/" + made["id"]))[name]
                                                             for name in MONEY}
    assert factory.property(sale_price=0)["sale_price"] == 0
    odd = 9_007_199_254_740_881
    assert ok(own_api.patch("properties/" + made["id"], json={"condo_fee": odd}))["condo_fee"] == odd


@pytest.mark.parametrize("field", MONEY)
@pytest.mark.parametrize("text", ["9007199254740992", "9007199254740993", "18446744073709551616", "1e3", "1E2", "1.0", "100.50",
                                  "0.1", "-1", "-0.0", '"100"', '"1.0"', "true", "[100]", '{"cents":100}', "1" + "0" * 40,
                                  "1e400"])
def test_an_invalid_amount_is_refused(own_api, factory, field, text):
    body = {**factory.body("properties", transaction_type="sale_rent", rent_price=1), field: "AMOUNT"}
    sent = json.dumps(body).replace('"AMOUNT"', text)
    response = own_api.post("properties", data=sent, headers={"Content-Type": "application/json"})
    if response.json()["code"] == "validation.malformed_json":  # not a number that JSON libraries can represent
        assert len(text) > 15 or text == "1e400"
        return
    invalid(response, field)
    assert "integer" in response.json()["errors"][0]["message"]


@pytest.mark.parametrize("field", AREAS)
def test_an_area_may_have_a_fraction(own_api, factory, field):
    for value in (0, 92.5, 0.1, 148.75, 1234567.89, 1_000_000):
        assert factory.property(**{field: value})[field] == value
    for wrong in (-1, -0.01, "92.5", True, 10**15, [1]):
        invalid(own_api.post("properties", json=factory.body("properties", **{field: wrong})), field)


@pytest.mark.parametrize("field", COUNTS)
def test_a_count_is_an_integer(own_api, factory, field):
    some = 2014 if field == "year_built" else 2
    assert factory.property(**{field: some})[field] == some
    for wrong in (1.5, 2.0, "2", True, 10**9, -100):
        invalid(own_api.post("properties", json=factory.body("properties", **{field: wrong})), field)
    assert factory.property(floor=0, bedrooms=0)["floor"] == 0


# ---------------------------------------------------------------- rules between fields


@pytest.mark.parametrize("transaction_type, needed", [("sale", ["sale_price"]), ("rent", ["rent_price"]),
                                                      ("sale_rent", ["sale_price", "rent_price"])])
def test_the_price_for_the_transaction_type_is_required(own_api, factory, transaction_type, needed):
    body = factory.body("properties", transaction_type=transaction_type, sale_price=None)
    response = own_api.post("properties", json=body)
    invalid(response, *needed, what="required")
    made = ok(own_api.post("properties", json={**body, **dict.fromkeys(needed, 100)}), 201)
    for name in needed:
        invalid(own_api.patch("properties/" + made["id"], json={name: None}), name, what="required")


def test_the_owners_shares_sum_to_the_whole(own_api, factory):
    parties = [factory.party()["id"] for _ in range(3)]

    def owned(*shares):
        owners = [{"party_id": id, "share_bps": share} for id, share in zip(parties, shares)]
        return own_api.post("properties", json=factory.body("properties", owners=owners))

    for shares in ((10000,), (3333, 3333, 3334), (1, 9999)):
        ok(owned(*shares), 201)
    for shares in ((9999,), (5000, 5001), (3333, 3333, 3333)):
        invalid(owned(*shares), "owners")
    invalid(owned(0, 10000), "owners[0].share_bps")
    invalid(owned(10001, 5.5), "owners[0].share_bps", "owners[1].share_bps")


def test_a_property_address_needs_postal_code_city_and_state(own_api, factory):
    for name in PLACE:
        invalid(own_api.post("properties", json=factory.body("properties", address={**ADDRESS, name: None})), "address." + name,
                what="required")
    invalid(own_api.post("properties", json=factory.body("properties", address={})), "address.postal_code", "address.city",
            "address.state", what="required")


@pytest.mark.parametrize("field, wrong", [
    ("postal_code", ["0410130", "041013000", "04101-30", "0410-1300", "ABCDEFGH", 4101300, ""]),
    ("state", ["sp", "XX", "São Paulo", ""]), ("ibge_code", ["355030", "35503080", "abcdefg", 3550308]),
    ("latitude", [-90.1, 91, "-23.5", True]), ("longitude", [-180.5, 181, "x"]), ("city", ["", " ", "x" * 101, "a\nb"]),
    ("street", ["x" * 201, 5]), ("number", ["x" * 21, 2045]), ("complement", ["x" * 101]), ("neighborhood", ["x" * 101])])
def test_an_invalid_address_is_refused(own_api, factory, field, wrong):
    for value in wrong:
        response = own_api.post("properties", json=factory.body("properties", address={**ADDRESS, field: value}))
        invalid(response, "address." + field)


def test_the_dash_of_a_postal_code_is_dropped(own_api, factory):
    made = factory.property(address={**PLACE, "postal_code": "01310-100"})
    assert made["address"]["postal_code"] == "01310100"
    assert ok(own_api.patch("properties/" + made["id"], json={"address": {"postal_code": "04101-300"}}))["address"] == PLACE


@pytest.mark.parametrize("field, right, wrong", [
    ("code", ["x" * 50, "AP 1/é"], ["x" * 51, "", 5]), ("title", ["é" * 100], ["x" * 101, "a\nb"]),
    ("description", ["é\n\t" * 1000], ["x" * 3001, "a\x07"]), ("usage_type", ["residential", "commercial", "mixed"], ["x"]),
    ("property_type", ["village_house", "kitnet", "hotel", "farm_ranch"], ["castle", "Apartment", ["house"]]),
    ("transaction_type", ["sale"], ["lease", "SALE", None]), ("iptu_period", ["monthly", "yearly"], ["weekly"]),
    ("address_display", ["full", "street", "neighborhood"], ["none"]), ("status", ["on_hold", "withdrawn"], ["gone", 1]),
    ("exclusive", [True, False], ["true", 0]), ("accepts_fgts", [True, False], ["yes"]),
    ("exclusive_until", ["2026-02-28", "2028-02-29", "9999-12-31"],
     ["2026-02-29", "2026-2-1", "28/02/2026", "2026-02-28T00:00:00Z",
       20260228, "0000-01-01"]),
    ("features", [["x"] * 100, ["é" * 100]], [["x"] * 101, ["x" * 101], "x", {"x": 1}]),
    ("registry", [{"matricula": "1"}], [[], "x", {"matricula": 5}])])
def test_every_field_is_validated(own_api, factory, field, right, wrong):
    for value in right:
        assert factory.property(**{field: value})[field] == value
    for value in wrong:
        found = wrong_fields(own_api.post("properties", json=factory.body("properties", **{field: value})))
        assert all(path.startswith(field) for path in found) and found, (value, found)


def test_media_are_https_addresses(own_api, factory):
    good = {"url": "https://img.example.com/1.jpg"}
    assert factory.property(media=[good, {**good, "position": 3}])["media"][1]["position"] == 3
    for wrong in ({"url": "http://img.example.com/1.jpg"}, {"url": "ftp://x/y"}, {"url": "https://u:p@img.example.com/"},
                  {"url": "javascript:alert(1)"}, {"url": "//img.example.com/"}):
        invalid(own_api.post("properties", json=factory.body("properties", media=[good, wrong])), "media[1].url")
    invalid(own_api.post("properties", json=factory.body("properties", media=[{}])), "media[0].url", what="required")
    invalid(own_api.post("properties", json=factory.body("properties", media=[{**good, "mime_type": "jpeg"}])),
            "media[0].mime_type")


def test_a_code_is_unique_in_the_organization(own_api, instance, principals, factory):
    factory.property(code="AP-1")
    problem = refused(own_api.post("properties", json=factory.body("properties", code="AP-1")), 409, "conflict.duplicate")
    assert problem["detail"] == "Another property of the organization has this code."
    other = factory.property(code="ap-1")
    refused(own_api.patch("properties/" + other["id"], json={"code": "AP-1"}), 409, "conflict.duplicate")
    other_factory = ResourceFactory(Api(instance, principals.other))
    ok(other_factory.api.delete("properties/" + other_factory.property(code="AP-1")["id"]), 204)


# ---------------------------------------------------------------- filters


@pytest.fixture(scope="module")
def sample_properties(instance, admin_factory, principals):
    """found(**filters): the names of those of five properties that match."""
    api = Api(instance, admin_factory.key(admin_factory.organization(principals.tenant)))
    factory = ResourceFactory(api)
    owner, other, broker = factory.party()["id"], factory.party()["id"], factory.broker()["id"]

    def place(state, city, neighborhood=None):
        return {"postal_code": "04101300", "state": state, "city": city,
                **({"neighborhood": neighborhood} if neighborhood else {})}

    people = {
        "a": {"code": "A-1", "title": "Casa na Praia 100%", "sale_price": 100, "status": "active", "bedrooms": 2,
              "address": place("SP", "São Paulo", "Vila Mariana"), "owners": [{"party_id": owner, "share_bps": 10000}]},
        "b": {"code": "B-1", "title": "Apartamento ÁGUA", "transaction_type": "rent", "sale_price": ..., "rent_price": 50,
              "property_type": "house", "address": place("SP", "SAO PAULO", "Água Verde"), "broker_id": broker},
        "c": {"code": "C-1", "transaction_type": "sale_rent", "sale_price": 300, "rent_price": 70, "status": "sold",
              "bedrooms": 3,
              "address": place("RJ", "Rio"), "external_id": "x-1", "broker_id": broker,
              "owners": [{"party_id": owner, "share_bps": 5000}, {"party_id": other, "share_bps": 5000}]},
        "d": {"code": "D-1", "sale_price": 200, "bedrooms": 0, "property_type": "hotel", "address": place("AC", "Rio Branco"),
              "owners": [{"party_id": other, "share_bps": 10000}]},
        "e": {"code": "E-1", "title": "praia", "sale_price": 2**53 - 1, "address": place("AC", "Rio Branco")},
    }
    api.ids = {factory.property(**fields)["id"]: name for name, fields in people.items()}
    api.names = {"owner": owner, "other": other, "broker": broker}
    return api


def found(api, **params):
    params = {name: api.names.get(value, value) for name, value in params.items()}
    whole = [api.ids[item["id"]] for item in api.walk("properties", **params)]
    paged = [api.ids[item["id"]] for item in api.walk("properties", limit=1, **params)]
    assert whole == paged == sorted(whole, reverse=True)
    return "".join(sorted(whole))


@pytest.mark.parametrize("params, names", [
    ({"code": "A-1"}, "a"), ({"code": "A-1,C-1,X"}, "ac"), ({"code": "a-1"}, ""), ({"status": "draft"}, "bde"),
    ({"status": "active,sold"}, "ac"), ({"status": "rented"}, ""), ({"transaction_type": "sale"}, "ade"),
    ({"transaction_type": "rent,sale_rent"}, "bc"), ({"property_type": "house,hotel"}, "bd"), ({"state": "SP,RJ"}, "abc"),
    ({"state": "TO"}, ""), ({"city": "são paulo"}, "ab"), ({"city": "rio"}, "c"), ({"city": "RIO BRANCO,Rio"}, "cde"),
    ({"neighborhood": "agua verde"}, "b"), ({"neighborhood": "vila"}, ""), ({"broker_id": "broker"}, "bc"),
    ({"broker_id": "brk_" + UNKNOWN_ULID}, ""), ({"owner_id": "owner"}, "ac"), ({"owner_id": "other"}, "cd"),
    ({"owner_id": "pty_" + UNKNOWN_ULID}, ""), ({"owner_id": "x"}, ""), ({"owner_id": "broker"}, ""),
    ({"sale_price_gte": "200"}, "cde"),
    ({"sale_price_lte": "200"}, "ad"), ({"sale_price_gte": "101", "sale_price_lte": "300"}, "cd"),
    ({"sale_price_gte": str(2**53 - 1)}, "e"), ({"rent_price_gte": "51"}, "c"), ({"rent_price_lte": "69"}, "b"),
    ({"bedrooms_gte": "0"}, "acd"), ({"bedrooms_gte": "3"}, "c"), ({"q": "PRAIA"}, "ae"), ({"q": "agua"}, "b"),
    ({"q": "00%"}, "a"),
    ({"q": "d-1"}, "d"), ({"q": "a_r"}, ""), ({"external_id": "x-1"}, "c"), ({"external_id": "X-1"}, ""),
    ({"created_gte": "2020-01-01T00:00:00Z"}, "abcde"), ({"created_lte": "2020-01-01T00:00:00Z"}, ""),
    ({"updated_gte": "2020-01-01T00:00:00Z", "state": "AC", "sale_price_lte": "1000"}, "d"),
    ({"owner_id": "owner", "status": "sold", "broker_id": "broker"}, "c"), ({"owner_id": "owner", "q": "praia"}, "a")])
def test_filters_find(sample_properties, params, names):
    assert found(sample_properties, **params) == names


def test_a_filter_takes_several_owners(sample_properties):
    owners = f"{sample_properties.names['owner']},{sample_properties.names['other']},pty_{UNKNOWN_ULID},x"
    assert found(sample_properties, owner_id=owners) == "acd"


@pytest.mark.parametrize("name, value", [
    ("status", "Active"), ("status", "active,"), ("state", "XX"), ("transaction_type", "lease"), ("property_type", ""),
    ("sale_price_gte", "1.5"), ("sale_price_gte", "1e3"), ("rent_price_lte", "x"), ("bedrooms_gte", "99999999999999999999"),
    ("bedrooms_gte", "1,2"), ("owner_id", ""), ("city", ""), ("q", ""), ("q", "%5"), ("q", "ã\u0303")])
def test_invalid_filter_values_are_refused(sample_properties, name, value):
    assert wrong_fields(sample_properties.get("properties", params={name: value})) == {name: "validation.parameter_invalid"}


@pytest.mark.parametrize("name", ["role", "party_id", "title", "description", "sale_price", "id", "suites_gte"])
def test_other_parameters_are_refused(sample_properties, name):
    assert wrong_fields(sample_properties.get("properties", params={name: "1"})) == {name: "validation.unknown_parameter"}


def test_other_organizations_are_not_searched(sample_properties, own_api):
    for name, value in (("state", "SP"), ("owner_id", sample_properties.names["owner"]),
                        ("broker_id", sample_properties.names["broker"]), ("q", "praia"),
                        ("external_id", "x-1"), ("sale_price_gte", "0")):
        assert own_api.walk("properties", **{name: value}) == []
